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

// -----

// A group norm: what is found of groups, and that at each of their columns.
// CHECK-LABEL: @fuse_groups
// CHECK: tenon.fused_linear {{.*}} epilogue(%[[ACC:.*]]: tensor<?x12xf32>) -> (tensor<?x12xf32>, tensor<?x3xf32>)
// CHECK-NEXT: %[[MEAN:.*]] = tenon.reduce_row mean %[[ACC]] {groups = 3 : i64}
// CHECK-NEXT: %[[EACH:.*]] = tenon.repeat_columns %[[MEAN]] {times = 4 : i64}
// CHECK-NEXT: tenon.sub %[[ACC]], %[[EACH]]
// CHECK-NEXT: tenon.gelu %[[MEAN]] : tensor<?x3xf32>
// CHECK-NEXT: tenon.yield
// CHECK: }
// CHECK-NEXT: return
func.func @fuse_groups(%x: tensor<?x64xf32>, %w: tensor<12x64xf32>) -> (tensor<?x12xf32>, tensor<?x3xf32>) {
  %0 = tenon.linear %x, %w : (tensor<?x64xf32>, tensor<12x64xf32>) -> tensor<?x12xf32>
  %1 = tenon.reduce_row mean %0 {groups = 3} : tensor<?x12xf32>
  %2 = tenon.repeat_columns %1 {times = 4} : tensor<?x3xf32>
  %3 = tenon.sub %0, %2 : tensor<?x12xf32>, tensor<?x12xf32>
  %4 = tenon.gelu %1 : tensor<?x3xf32>
  return %3, %4 : tensor<?x12xf32>, tensor<?x3xf32>
}

// -----

// A kernel has one number of groups.
// CHECK-LABEL: @no_fuse_other_groups
// CHECK: tenon.reduce_row max
// CHECK: tenon.yield
// CHECK: }
// CHECK: tenon.reduce_row sum
func.func @no_fuse_other_groups(%x: tensor<8x64xf32>, %w: tensor<12x64xf32>) -> (tensor<8x3xf32>, tensor<8x1xf32>) {
  %0 = tenon.linear %x, %w : (tensor<8x64xf32>, tensor<12x64xf32>) -> tensor<8x12xf32>
  %1 = tenon.reduce_row max %0 {groups = 3} : tensor<8x12xf32>
  %2 = tenon.reduce_row sum %0 : tensor<8x12xf32>
  return %1, %2 : tensor<8x3xf32>, tensor<8x1xf32>
}

// -----

// What was found of groups is no row of the product.
// CHECK-LABEL: @no_fuse_of_groups
// CHECK: tenon.reduce_row max
// CHECK: tenon.yield
// CHECK: }
// CHECK: tenon.reduce_row sum
func.func @no_fuse_of_groups(%x: tensor<8x64xf32>, %w: tensor<12x64xf32>) -> tensor<8x1xf32> {
  %0 = tenon.linear %x, %w : (tensor<8x64xf32>, tensor<12x64xf32>) -> tensor<8x12xf32>
  %1 = tenon.reduce_row max %0 {groups = 3} : tensor<8x12xf32>
  %2 = tenon.reduce_row sum %1 : tensor<8x3xf32>
  return %2 : tensor<8x1xf32>
}
