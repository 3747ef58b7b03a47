// RUN: tenon-opt %s --tenon-fuse-epilogue | FileCheck %s

// Each linear gets its own ops.
// CHECK-LABEL: func.func @fuse_mlp(
// CHECK:         %[[H:.*]] = tenon.fused_linear
// CHECK-NEXT:      tenon.add
// CHECK-NEXT:      tenon.relu
// CHECK-NEXT:      tenon.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    tenon.fused_linear %[[H]]
// CHECK-NEXT:      tenon.add
// CHECK-NEXT:      tenon.sigmoid
// CHECK-NEXT:      tenon.yield
func.func @fuse_mlp(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.linear %x, %w, %b : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %1 = tenon.relu %0 : tensor<?x8xf32>
  %2 = tenon.linear %1, %w, %b : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %3 = tenon.sigmoid %2 : tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// What could join either joins the later one, with the earlier one's result as
// an operand, whatever its place in the op and whatever lies between.
// CHECK-LABEL: func.func @fuse_gate_into_later(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x16xf32>, %[[W1:[a-z0-9]+]]: tensor<8x16xf32>, %[[W2:[a-z0-9]+]]: tensor<8x16xf32>
// CHECK-NEXT:    %[[G:.*]] = tenon.fused_linear %[[X]], %[[W1]]
// CHECK-NEXT:      tenon.silu %acc
// CHECK-NEXT:      tenon.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    tenon.fused_linear %[[X]], %[[W2]] {{.*}} epilogue(%acc: tensor<4x8xf32>, %[[BG:.*]] = %[[G]]: tensor<4x8xf32>)
// CHECK-NEXT:      %[[T:.*]] = tenon.tanh %acc
// CHECK-NEXT:      %[[P:.*]] = tenon.mul %[[BG]], %[[T]]
// CHECK-NEXT:      tenon.yield %[[P]]
func.func @fuse_gate_into_later(%x: tensor<4x16xf32>, %w1: tensor<8x16xf32>, %w2: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w1 : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = tenon.linear %x, %w2 : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %2 = tenon.tanh %1 : tensor<4x8xf32>
  %3 = tenon.silu %0 : tensor<4x8xf32>
  %4 = tenon.mul %3, %2 : tensor<4x8xf32>, tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// Where the later one has another shape, the op joins the earlier one, and the
// later one moves up.
// CHECK-LABEL: func.func @fuse_into_earlier(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x16xf32>, %[[Y:[a-z0-9]+]]: tensor<1x16xf32>
// CHECK-NEXT:    %[[L:.*]] = tenon.linear %[[Y]]
// CHECK-NEXT:    tenon.fused_linear %[[X]], {{.*}} epilogue(%acc: tensor<4x8xf32>, %[[BL:.*]] = %[[L]]: tensor<1x8xf32>)
// CHECK-NEXT:      tenon.add %acc, %[[BL]]
func.func @fuse_into_earlier(%x: tensor<4x16xf32>, %y: tensor<1x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = tenon.linear %y, %w : (tensor<1x16xf32>, tensor<8x16xf32>) -> tensor<1x8xf32>
  %2 = tenon.add %0, %1 : tensor<4x8xf32>, tensor<1x8xf32>
  return %2 : tensor<4x8xf32>
}
