// RUN: tenon-opt %s --tenon-fuse-epilogue | FileCheck %s

// x * sigmoid(x)
// CHECK-LABEL: func.func @fuse_silu(
// CHECK-NEXT:    %[[Y:.*]] = tenon.fused_linear {{.*}} -> tensor<4x8xf32>
// CHECK-NEXT:      %[[S:.*]] = tenon.sigmoid %acc
// CHECK-NEXT:      %[[M:.*]] = tenon.mul %acc, %[[S]]
// CHECK-NEXT:      tenon.yield %[[M]]
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[Y]]
func.func @fuse_silu(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = tenon.sigmoid %0 : tensor<4x8xf32>
  %2 = tenon.mul %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// Two branches that join, and one value twice.
// CHECK-LABEL: func.func @fuse_diamond(
// CHECK-NEXT:    tenon.fused_linear {{.*}} -> tensor<4x8xf32>
// CHECK-NEXT:      %[[A:.*]] = tenon.relu %acc
// CHECK-NEXT:      %[[B:.*]] = tenon.tanh %acc
// CHECK-NEXT:      %[[C:.*]] = tenon.gelu %[[A]]
// CHECK-NEXT:      %[[D:.*]] = tenon.add %[[C]], %[[B]]
// CHECK-NEXT:      %[[E:.*]] = tenon.mul %[[D]], %[[D]]
// CHECK-NEXT:      tenon.yield %[[E]]
func.func @fuse_diamond(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = tenon.relu %0 : tensor<4x8xf32>
  %2 = tenon.tanh %0 : tensor<4x8xf32>
  %3 = tenon.gelu %1 : tensor<4x8xf32>
  %4 = tenon.add %3, %2 : tensor<4x8xf32>, tensor<4x8xf32>
  %5 = tenon.mul %4, %4 : tensor<4x8xf32>, tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}
