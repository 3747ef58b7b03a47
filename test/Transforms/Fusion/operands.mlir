// RUN: tenon-opt %s --tenon-fuse-epilogue --allow-unregistered-dialect | FileCheck %s

// An operand that is computed after the linear moves before it, with all that
// it depends on.
// CHECK-LABEL: func.func @fuse_late_operand(
// CHECK-SAME:    %[[B:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT:    %[[R:.*]] = tenon.relu %[[B]]
// CHECK-NEXT:    %[[S:.*]] = tenon.sigmoid %[[R]]
// CHECK-NEXT:    tenon.fused_linear {{.*}} = %[[S]]: tensor<8xf32>)
// CHECK-NEXT:      tenon.add %acc
func.func @fuse_late_operand(%b: tensor<8xf32>, %x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = tenon.relu %b : tensor<8xf32>
  %2 = tenon.sigmoid %1 : tensor<8xf32>
  %3 = tenon.add %0, %2 : tensor<4x8xf32>, tensor<8xf32>
  return %3 : tensor<4x8xf32>
}

// Ops that have side effects stay where they are, and ops without move past
// them.
// CHECK-LABEL: func.func @fuse_past_side_effect(
// CHECK-NEXT:    tenon.fused_linear
// CHECK-NEXT:      tenon.relu
// CHECK:         "test.effect"() : () -> ()
func.func @fuse_past_side_effect(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  "test.effect"() : () -> ()
  %1 = tenon.relu %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @no_fuse_operand_with_side_effect(
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    "test.read"
// CHECK-NEXT:    tenon.relu
// CHECK-NEXT:    tenon.add
func.func @no_fuse_operand_with_side_effect(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = "test.read"() : () -> tensor<8xf32>
  %2 = tenon.relu %1 : tensor<8xf32>
  %3 = tenon.add %0, %2 : tensor<4x8xf32>, tensor<8xf32>
  return %3 : tensor<4x8xf32>
}

// An op of another dialect ends the chain, also where a later op reads the
// product again.
// CHECK-LABEL: func.func @no_fuse_through_other_dialect(
// CHECK-NEXT:    %[[L:.*]] = tenon.fused_linear
// CHECK-NEXT:      tenon.relu
// CHECK-NEXT:      tenon.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[R:.*]] = tensor.expand_shape %[[L]]
// CHECK-NEXT:    %[[S:.*]] = tensor.collapse_shape %[[R]]
// CHECK-NEXT:    %[[T:.*]] = tenon.tanh %[[S]]
// CHECK-NEXT:    tenon.add %[[L]], %[[T]]
func.func @no_fuse_through_other_dialect(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = tenon.relu %0 : tensor<4x8xf32>
  %2 = tensor.expand_shape %1 [[0, 1], [2]] output_shape [1, 4, 8] : tensor<4x8xf32> into tensor<1x4x8xf32>
  %3 = tensor.collapse_shape %2 [[0, 1], [2]] : tensor<1x4x8xf32> into tensor<4x8xf32>
  %4 = tenon.tanh %3 : tensor<4x8xf32>
  %5 = tenon.add %1, %4 : tensor<4x8xf32>, tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @no_fuse_through_unregistered(
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    "test.op"
// CHECK-NEXT:    tenon.relu
func.func @no_fuse_through_unregistered(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = "test.op"(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = tenon.relu %1 : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
