// RUN: tenon-opt %s --split-input-file --tenon-fuse-epilogue | FileCheck %s

// All of a softmax, and what follows on one value a row.
// CHECK-LABEL: @fuse_softmax
// CHECK: tenon.fused_linear {{.*}} epilogue(%[[ACC:.*]]: tensor<?x10xf32>) -> (tensor<?x10xf32>, tensor<?x1xf32>)
// CHECK-NEXT: %[[MAX:.*]] = tenon.reduce_row max %[[ACC]]
// CHECK-NEXT: tenon.sub %[[ACC]], %[[MAX]]
// CHECK-NEXT: tenon.exp
// CHECK-NEXT: %[[SUM:.*]] = tenon.reduce_row sum
// CHECK-NEXT: tenon.div %{{.*}}, %[[SUM]]
// CHECK-NEXT: tenon.log %[[SUM]]
// CHECK-NEXT: tenon.yield
// CHECK: }
// CHECK-NEXT: return
func.func @fuse_softmax(%x: tensor<?x64xf32>, %w: tensor<10x64xf32>) -> (tensor<?x10xf32>, tensor<?x1xf32>) {
  %0 = tenon.linear %x, %w : (tensor<?x64xf32>, tensor<10x64xf32>) -> tensor<?x10xf32>
  %1 = tenon.reduce_row max %0 : tensor<?x10xf32>
  %2 = tenon.sub %0, %1 : tensor<?x10xf32>, tensor<?x1xf32>
  %3 = tenon.exp %2 : tensor<?x10xf32>
  %4 = tenon.reduce_row sum %3 : tensor<?x10xf32>
  %5 = tenon.div %3, %4 : tensor<?x10xf32>, tensor<?x1xf32>
  %6 = tenon.log %4 : tensor<?x1xf32>
  return %5, %6 : tensor<?x10xf32>, tensor<?x1xf32>
}

// -----

// A kernel reduces along one axis.
// CHECK-LABEL: @no_fuse_other_axis
// CHECK: tenon.batch_norm_training
// CHECK: tenon.yield
// CHECK: }
// CHECK: tenon.reduce_row
func.func @no_fuse_other_axis(%x: tensor<8x64xf32>, %w: tensor<16x64xf32>) -> tensor<8x1xf32> {
  %0 = tenon.linear %x, %w : (tensor<8x64xf32>, tensor<16x64xf32>) -> tensor<8x16xf32>
  %1 = tenon.batch_norm_training %0 : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = tenon.reduce_row sum %1 : tensor<8x16xf32>
  return %2 : tensor<8x1xf32>
}

// -----

// CHECK-LABEL: @no_fuse_other_axis_first
// CHECK: tenon.reduce_row
// CHECK: tenon.yield
// CHECK: }
// CHECK: tenon.batch_norm_training
func.func @no_fuse_other_axis_first(%x: tensor<8x64xf32>, %w: tensor<16x64xf32>) -> tensor<8x16xf32> {
  %0 = tenon.linear %x, %w : (tensor<8x64xf32>, tensor<16x64xf32>) -> tensor<8x16xf32>
  %1 = tenon.reduce_row sum %0 : tensor<8x16xf32>
  %2 = tenon.sub %0, %1 : tensor<8x16xf32>, tensor<8x1xf32>
  %3 = tenon.batch_norm_training %2 : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %3 : tensor<8x16xf32>
}
