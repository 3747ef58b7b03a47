// RUN: tenon-opt %s --tenon-fuse-epilogue | FileCheck %s

// A value that is also returned is one more result, in the order of the region.
// CHECK-LABEL: func.func @fuse_two_results(
// CHECK-NEXT:    %[[Y:.*]]:2 = tenon.fused_linear {{.*}} -> (tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK-NEXT:      %[[M:.*]] = tenon.mul %acc, 2.0
// CHECK-NEXT:      %[[R:.*]] = tenon.relu %[[M]]
// CHECK-NEXT:      tenon.yield %[[M]], %[[R]]
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[Y]]#1, %[[Y]]#0
func.func @fuse_two_results(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = tenon.mul %0, 2.0 : tensor<4x8xf32>
  %2 = tenon.relu %1 : tensor<4x8xf32>
  return %2, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// The product itself too.
// CHECK-LABEL: func.func @fuse_product_as_result(
// CHECK-NEXT:    %[[Y:.*]]:2 = tenon.fused_linear
// CHECK-NEXT:      %[[R:.*]] = tenon.relu %acc
// CHECK-NEXT:      tenon.yield %acc, %[[R]]
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[Y]]#0, %[[Y]]#1
func.func @fuse_product_as_result(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = tenon.relu %0 : tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// A use in another block, and by another linear.
// CHECK-LABEL: func.func @fuse_used_by_linear_and_block(
// CHECK:         %[[Y:.*]]:2 = tenon.fused_linear
// CHECK-NEXT:      %[[R:.*]] = tenon.relu %acc
// CHECK-NEXT:      %[[T:.*]] = tenon.tanh %[[R]]
// CHECK-NEXT:      tenon.yield %[[R]], %[[T]]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[Z:.*]] = tenon.linear %[[Y]]#0
// CHECK:           scf.yield %[[Y]]#1
func.func @fuse_used_by_linear_and_block(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %c: i1) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = tenon.relu %0 : tensor<4x8xf32>
  %2 = tenon.tanh %1 : tensor<4x8xf32>
  %3 = tenon.linear %1, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %4 = scf.if %c -> tensor<4x8xf32> {
    scf.yield %2 : tensor<4x8xf32>
  } else {
    scf.yield %3 : tensor<4x8xf32>
  }
  return %4 : tensor<4x8xf32>
}
