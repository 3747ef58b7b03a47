// RUN: tenon-opt %s --tenon-fuse-epilogue | FileCheck %s

// Batch norm, ops before and after it, and the new running statistics as
// results of the fused op.
// CHECK-LABEL: func.func @fuse_batch_norm_training(
// CHECK-NEXT:    %[[Y:.*]]:3 = tenon.fused_linear
// CHECK-SAME:      -> (tensor<8xf32>, tensor<8xf32>, tensor<4x8xf32>)
// CHECK-NEXT:      %[[M:.*]] = tenon.mul %acc, 2.0
// CHECK-NEXT:      %[[R:.*]], %[[S:.*]]:2 = tenon.batch_norm_training %[[M]] running(
// CHECK-NEXT:      %[[G:.*]] = tenon.gelu %[[R]]
// CHECK-NEXT:      tenon.yield %[[S]]#0, %[[S]]#1, %[[G]]
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[Y]]#2, %[[Y]]#0, %[[Y]]#1
func.func @fuse_batch_norm_training(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>)
    -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = tenon.mul %0, 2.0 : tensor<4x8xf32>
  %2, %3, %4 = tenon.batch_norm_training %1 running(%m, %v)
      : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  %5 = tenon.gelu %2 : tensor<4x8xf32>
  return %5, %3, %4 : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
}

// Moments leave the fused op beside what they are of.
// CHECK-LABEL: func.func @fuse_batch_moments(
// CHECK-NEXT:    %[[Y:.*]]:3 = tenon.fused_linear {{.*}} -> (tensor<?x8xbf16>, tensor<8xf32>, tensor<8xf32>)
// CHECK-NEXT:      %[[M:.*]] = tenon.mul %acc, 2.0
// CHECK-NEXT:      %[[MEAN:.*]], %[[M2:.*]] = tenon.batch_moments %[[M]]
// CHECK-NEXT:      tenon.yield %[[M]], %[[MEAN]], %[[M2]]
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[Y]]#0, %[[Y]]#1, %[[Y]]#2
func.func @fuse_batch_moments(%x: tensor<?x16xbf16>, %w: tensor<8x16xbf16>) -> (tensor<?x8xbf16>, tensor<8xf32>, tensor<8xf32>) {
  %0 = tenon.linear %x, %w : (tensor<?x16xbf16>, tensor<8x16xbf16>) -> tensor<?x8xbf16>
  %1 = tenon.mul %0, 2.0 : tensor<?x8xbf16>
  %2, %3 = tenon.batch_moments %1 : (tensor<?x8xbf16>) -> (tensor<8xf32>, tensor<8xf32>)
  return %1, %2, %3 : tensor<?x8xbf16>, tensor<8xf32>, tensor<8xf32>
}

// A statistic that nothing reads is no result.
// CHECK-LABEL: func.func @fuse_unread_statistic(
// CHECK-NEXT:    %[[Y:.*]]:2 = tenon.fused_linear {{.*}} -> (tensor<4x8xf32>, tensor<8xf32>)
// CHECK:           tenon.yield %{{.*}}, %statistics#1
func.func @fuse_unread_statistic(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>)
    -> (tensor<4x8xf32>, tensor<8xf32>) {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1, %2, %3 = tenon.batch_norm_training %0 running(%m, %v)
      : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %1, %3 : tensor<4x8xf32>, tensor<8xf32>
}

// Two batch norms, and a residual around the second.
// CHECK-LABEL: func.func @fuse_two_reductions(
// CHECK:         tenon.fused_linear
// CHECK-NEXT:      %[[A:.*]] = tenon.batch_norm_training %acc
// CHECK-NEXT:      %[[B:.*]] = tenon.batch_norm_training %[[A]]
// CHECK-NEXT:      tenon.add %[[A]], %[[B]]
func.func @fuse_two_reductions(%x: tensor<?x16xf32>, %w: tensor<8x16xf32>) -> tensor<?x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
  %1 = tenon.batch_norm_training %0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = tenon.batch_norm_training %1 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %3 = tenon.add %1, %2 : tensor<?x8xf32>, tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// A statistic of the batch is known only when the fused op has ended; so is
// what is computed from it.
// CHECK-LABEL: func.func @no_fuse_column_operand(
// CHECK:         tenon.fused_linear
// CHECK-NEXT:      tenon.batch_norm_training
// CHECK-NEXT:      tenon.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    tenon.relu %{{.*}} : tensor<8xf32>
// CHECK-NEXT:    tenon.mul
// CHECK-NEXT:    tenon.sub
func.func @no_fuse_column_operand(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1, %2, %3 = tenon.batch_norm_training %0 running(%m, %v)
      : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  %4 = tenon.relu %3 : tensor<8xf32>
  %5 = tenon.mul %1, %2 : tensor<4x8xf32>, tensor<8xf32>
  %6 = tenon.sub %1, %4 : tensor<4x8xf32>, tensor<8xf32>
  return %5, %6 : tensor<4x8xf32>, tensor<4x8xf32>
}
