// RUN: tenon-opt %s --tenon-fuse-epilogue | FileCheck %s

// A residual that skips a layer, and one that is the layer's own input.
// CHECK-LABEL: func.func @fuse_residual(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x8xf32>
// CHECK:         %[[A:.*]] = tenon.fused_linear %[[X]]
// CHECK-SAME:      epilogue(%acc: tensor<?x8xf32>, %[[BX:.*]] = %[[X]]: tensor<?x8xf32>)
// CHECK-NEXT:      tenon.add %acc, %[[BX]]
// CHECK:         %[[B:.*]] = tenon.fused_linear %[[A]]
// CHECK-NEXT:      tenon.relu
// CHECK:         tenon.fused_linear %[[B]]
// CHECK-SAME:      epilogue(%acc: tensor<?x8xf32>, %[[BA:.*]] = %[[A]]: tensor<?x8xf32>)
// CHECK-NEXT:      tenon.add %[[BA]], %acc
func.func @fuse_residual(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %1 = tenon.add %0, %x : tensor<?x8xf32>, tensor<?x8xf32>
  %2 = tenon.linear %1, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %3 = tenon.relu %2 : tensor<?x8xf32>
  %4 = tenon.linear %3, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %5 = tenon.add %1, %4 : tensor<?x8xf32>, tensor<?x8xf32>
  return %5 : tensor<?x8xf32>
}
