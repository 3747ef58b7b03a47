// Folders and canonicalization patterns; each @no_ function shows the guard that
// keeps a rewrite exact.
// RUN: tenon-opt %s --canonicalize --split-input-file | FileCheck %s

//===----------------------------------------------------------------------===//
// A constant that changes nothing
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @fold_neutral
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32>)
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
func.func @fold_neutral(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  %0 = tenon.add %x, -0.0 : tensor<?x4xf32>
  %1 = tenon.sub %x, 0.0 : tensor<?x4xf32>
  %2 = tenon.mul %x, 1.0 : tensor<?x4xf32>
  %3 = tenon.div %x, 1.0 : tensor<?x4xf32>
  %4 = tenon.min %x, 0x7FF0000000000000 : tensor<?x4xf32>
  %5 = tenon.max %x, 0xFFF0000000000000 : tensor<?x4xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// The constant is written second first, and folds then.
// CHECK-LABEL: @fold_neutral_first
// CHECK-SAME: (%[[X:.*]]: tensor<4xbf16>)
// CHECK-NEXT: return %[[X]], %[[X]]
func.func @fold_neutral_first(%x: tensor<4xbf16>) -> (tensor<4xbf16>, tensor<4xbf16>) {
  %0 = tenon.add -0.0, %x : tensor<4xbf16>
  %1 = tenon.mul 1.0, %x : tensor<4xbf16>
  return %0, %1 : tensor<4xbf16>, tensor<4xbf16>
}

// -----

// -0.0 + 0.0 is 0.0, and so is -0.0 - -0.0.
// CHECK-LABEL: @no_fold_zero_of_other_sign
func.func @no_fold_zero_of_other_sign(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  // CHECK: tenon.add %{{.*}}, 0.0
  %0 = tenon.add %x, 0.0 : tensor<?x4xf32>
  // CHECK: tenon.sub %{{.*}}, -0.0
  %1 = tenon.sub %x, -0.0 : tensor<?x4xf32>
  return %0, %1 : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// 0 - x, 1 / x: the constant stands first. min(x, -inf), max(x, inf): of the other sign.
// CHECK-LABEL: @no_fold_other_side
func.func @no_fold_other_side(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  // CHECK: tenon.sub 0.0{{.*}}, %
  %0 = tenon.sub 0.0, %x : tensor<?x4xf32>
  // CHECK: tenon.div 1.0{{.*}}, %
  %1 = tenon.div 1.0, %x : tensor<?x4xf32>
  // CHECK: tenon.min
  %2 = tenon.min %x, 0xFFF0000000000000 : tensor<?x4xf32>
  // CHECK: tenon.max
  %3 = tenon.max %x, 0x7FF0000000000000 : tensor<?x4xf32>
  return %0, %1, %2, %3 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// NaN and inf spread: x * 0 is not 0.
// CHECK-LABEL: @no_fold_zero_product
func.func @no_fold_zero_product(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  // CHECK: tenon.mul %{{.*}}, 0.0
  %0 = tenon.mul %x, 0.0 : tensor<?x4xf32>
  // CHECK: tenon.sub %[[X:.*]], %[[X]]
  %1 = tenon.sub %x, %x : tensor<?x4xf32>, tensor<?x4xf32>
  return %0, %1 : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Where a constant stands
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @move_constant_second
func.func @move_constant_second(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  // CHECK: tenon.add %{{.*}}, 2.0
  %0 = tenon.add 2.0, %x : tensor<?x4xf32>
  // CHECK: tenon.mul %{{.*}}, 2.0
  %1 = tenon.mul 2.0, %x : tensor<?x4xf32>
  // CHECK: tenon.min %{{.*}}, 2.0
  %2 = tenon.min 2.0, %x : tensor<?x4xf32>
  // CHECK: tenon.max %{{.*}}, 2.0
  %3 = tenon.max 2.0, %x : tensor<?x4xf32>
  return %0, %1, %2, %3 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: @no_move_constant_second
func.func @no_move_constant_second(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  // CHECK: tenon.sub 2.0{{.*}}, %
  %0 = tenon.sub 2.0, %x : tensor<?x4xf32>
  // CHECK: tenon.div 2.0{{.*}}, %
  %1 = tenon.div 2.0, %x : tensor<?x4xf32>
  return %0, %1 : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: @splat_to_constant
func.func @splat_to_constant(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %c = arith.constant dense<3.0> : tensor<4xf32>
  %s = arith.constant dense<5.0> : tensor<f32>
  // CHECK-NOT: arith.constant
  // CHECK: tenon.add %{{.*}}, 3.0{{.*}} : tensor<4x4xf32>
  %0 = tenon.add %x, %c : tensor<4x4xf32>, tensor<4xf32>
  // CHECK: tenon.sub 3.0{{.*}}, %{{.*}} : tensor<4x4xf32>
  %1 = tenon.sub %c, %x : tensor<4xf32>, tensor<4x4xf32>
  // CHECK: tenon.mul %{{.*}}, 5.0{{.*}} : tensor<4x4xf32>
  %2 = tenon.mul %s, %x : tensor<f32>, tensor<4x4xf32>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// An f32 constant keeps its value beside bf16 tensors; the sum is taken in f32.
// CHECK-LABEL: @splat_to_constant_mixed
func.func @splat_to_constant_mixed(%x: tensor<4x4xbf16>) -> tensor<4x4xbf16> {
  %c = arith.constant dense<1.0009765625> : tensor<4xf32>
  // CHECK: tenon.add %{{.*}}, 1.0009765625 : tensor<4x4xbf16>
  %0 = tenon.add %x, %c : tensor<4x4xbf16>, tensor<4xf32>
  return %0 : tensor<4x4xbf16>
}

// -----

// The splat gives the result its shape.
// CHECK-LABEL: @no_splat_to_constant_shape
func.func @no_splat_to_constant_shape(%x: tensor<4xf32>) -> tensor<2x4xf32> {
  %c = arith.constant dense<3.0> : tensor<2x4xf32>
  // CHECK: tenon.add %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<2x4xf32>
  %0 = tenon.add %x, %c : tensor<4xf32>, tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// The splat gives the result its element type.
// CHECK-LABEL: @no_splat_to_constant_element_type
func.func @no_splat_to_constant_element_type(%x: tensor<4x4xf32>) -> tensor<4x4xbf16> {
  %c = arith.constant dense<3.0> : tensor<4xbf16>
  // CHECK: tenon.add %{{.*}}, %{{.*}} : tensor<4xbf16>, tensor<4x4xf32>
  %0 = tenon.add %c, %x : tensor<4xbf16>, tensor<4x4xf32>
  return %0 : tensor<4x4xbf16>
}

// -----

// Nor do operands swap for a constant that is no splat (the trait Commutative would).
// CHECK-LABEL: @no_swap
func.func @no_swap(%x: tensor<?x2xf32>) -> tensor<?x2xbf16> {
  // CHECK: %[[C:.*]] = arith.constant
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xbf16>
  // CHECK: tenon.add %[[C]], %{{.*}} : tensor<2xbf16>, tensor<?x2xf32>
  %0 = tenon.add %c, %x : tensor<2xbf16>, tensor<?x2xf32>
  return %0 : tensor<?x2xbf16>
}

// -----

//===----------------------------------------------------------------------===//
// Division by a power of two
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @div_power_of_two
func.func @div_power_of_two(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  // CHECK-NOT: tenon.div
  // CHECK: tenon.mul %{{.*}}, 2.500000e-01 : tensor<?x4xf32>
  %0 = tenon.div %x, 4.0 : tensor<?x4xf32>
  // CHECK: tenon.mul %{{.*}}, -2.000000e+00 : tensor<?x4xf32>
  %1 = tenon.div %x, -0.5 : tensor<?x4xf32>
  // 2^126, the last whose reciprocal is normal in f32.
  // CHECK: tenon.mul %{{.*}}, 1.1754943508222875E-38 : tensor<?x4xf32>
  %2 = tenon.div %x, 0x47D0000000000000 : tensor<?x4xf32>
  return %0, %1, %2 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: @no_div_power_of_two
// CHECK-NOT: tenon.mul
func.func @no_div_power_of_two(%x: tensor<?x4xf32>, %n: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  // The reciprocal is inexact.
  %0 = tenon.div %x, 3.0 : tensor<?x4xf32>
  // 2^127: the reciprocal is subnormal in f32.
  %1 = tenon.div %x, 0x47E0000000000000 : tensor<?x4xf32>
  // 0, inf, NaN
  %2 = tenon.div %x, 0.0 : tensor<?x4xf32>
  %3 = tenon.div %x, 0x7FF0000000000000 : tensor<?x4xf32>
  %4 = tenon.div %x, 0x7FF8000000000000 : tensor<?x4xf32>
  // The constant stands first, or there is none.
  %5 = tenon.div 4.0, %x : tensor<?x4xf32>
  %6 = tenon.div %x, %n : tensor<?x4xf32>, tensor<4xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @fold_relu
func.func @fold_relu(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  // CHECK: %[[RELU:.*]] = tenon.relu
  %0 = tenon.relu %x : tensor<?x4xf32>
  %1 = tenon.relu %0 : tensor<?x4xf32>
  // CHECK: %[[CLAMP:.*]] = tenon.clamp
  %2 = tenon.clamp %x {min = 0.5, max = 6.0} : tensor<?x4xf32>
  %3 = tenon.relu %2 : tensor<?x4xf32>
  // CHECK-NEXT: return %[[RELU]], %[[CLAMP]]
  return %1, %3 : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: @no_fold_relu
func.func @no_fold_relu(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  // Negative values come out.
  // CHECK: tenon.clamp
  // CHECK: tenon.relu
  %0 = tenon.clamp %x {min = -0.5} : tensor<?x4xf32>
  %1 = tenon.relu %0 : tensor<?x4xf32>
  // min > max: every element is max, which is negative.
  // CHECK: tenon.clamp
  // CHECK: tenon.relu
  %2 = tenon.clamp %x {min = 0.5, max = -0.5} : tensor<?x4xf32>
  %3 = tenon.relu %2 : tensor<?x4xf32>
  return %1, %3 : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: @fold_leaky_relu
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32>)
// CHECK-NEXT: return %[[X]]
func.func @fold_leaky_relu(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = tenon.leaky_relu %x {negative_slope = 1.0} : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

// CHECK-LABEL: @no_fold_leaky_relu
func.func @no_fold_leaky_relu(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  // CHECK: tenon.leaky_relu
  %0 = tenon.leaky_relu %x {negative_slope = -1.0} : tensor<?x4xf32>
  // A slope of 0 is not relu: it gives -0.0 for negative x, NaN for -inf.
  // CHECK: tenon.leaky_relu
  %1 = tenon.leaky_relu %x {negative_slope = 0.0} : tensor<?x4xf32>
  return %0, %1 : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: @fold_clamp
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32>)
// CHECK-NEXT: return %[[X]]
func.func @fold_clamp(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = tenon.clamp %x : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

// CHECK-LABEL: @no_fold_clamp
func.func @no_fold_clamp(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  // CHECK: tenon.clamp
  %0 = tenon.clamp %x {min = 0x7FF0000000000000 : f64} : tensor<?x4xf32>
  // CHECK: tenon.clamp
  %1 = tenon.clamp %x {max = 0xFFF0000000000000 : f64} : tensor<?x4xf32>
  return %0, %1 : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: @merge_clamps
func.func @merge_clamps(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  // Overlapping bounds.
  // CHECK: tenon.clamp %arg0 {max = 3.000000e+00 : f64, min = 0.000000e+00 : f64}
  %0 = tenon.clamp %x {min = -1.0, max = 3.0} : tensor<?x4xf32>
  %1 = tenon.clamp %0 {min = 0.0, max = 6.0} : tensor<?x4xf32>
  // The inner bounds lie below the outer ones: a constant, but NaN stays NaN.
  // CHECK: tenon.clamp %arg0 {max = 2.000000e+00 : f64, min = 2.000000e+00 : f64}
  %2 = tenon.clamp %x {min = -1.0, max = 1.0} : tensor<?x4xf32>
  %3 = tenon.clamp %2 {min = 2.0, max = 6.0} : tensor<?x4xf32>
  // The inner min > max: the constant -1, which the outer clamp leaves.
  // CHECK: tenon.clamp %arg0 {max = -1.000000e+00 : f64, min = 1.000000e+00 : f64}
  %4 = tenon.clamp %x {min = 1.0, max = -1.0} : tensor<?x4xf32>
  %5 = tenon.clamp %4 {min = -6.0, max = 6.0} : tensor<?x4xf32>
  // max(-0.0, 0.0) is 0.0.
  // CHECK: tenon.clamp %arg0 {max = 1.000000e+00 : f64, min = 0.000000e+00 : f64}
  %6 = tenon.clamp %x {min = -0.0, max = 1.0} : tensor<?x4xf32>
  %7 = tenon.clamp %6 {min = 0.0} : tensor<?x4xf32>
  return %1, %3, %5, %7 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: @no_merge_clamps
func.func @no_merge_clamps(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // CHECK: tenon.clamp
  // CHECK-NEXT: tenon.tanh
  // CHECK-NEXT: tenon.clamp
  %0 = tenon.clamp %x {min = -1.0} : tensor<?x4xf32>
  %1 = tenon.tanh %0 : tensor<?x4xf32>
  %2 = tenon.clamp %1 {max = 0.5} : tensor<?x4xf32>
  return %2 : tensor<?x4xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @fold_cast
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32>, %[[H:.*]]: tensor<?x4xf16>, %[[B:.*]]: tensor<4xbf16>)
// CHECK-NEXT: return %[[X]], %[[H]], %[[B]]
func.func @fold_cast(%x: tensor<?x4xf32>, %h: tensor<?x4xf16>, %b: tensor<4xbf16>) -> (tensor<?x4xf32>, tensor<?x4xf16>, tensor<4xbf16>) {
  // To its own type.
  %0 = tenon.cast %x : tensor<?x4xf32> -> tensor<?x4xf32>
  // Wider and back.
  %1 = tenon.cast %h : tensor<?x4xf16> -> tensor<?x4xf32>
  %2 = tenon.cast %1 : tensor<?x4xf32> -> tensor<?x4xf16>
  %3 = tenon.cast %b : tensor<4xbf16> -> tensor<4xf32>
  %4 = tenon.cast %3 : tensor<4xf32> -> tensor<4xbf16>
  return %0, %2, %4 : tensor<?x4xf32>, tensor<?x4xf16>, tensor<4xbf16>
}

// -----

// Through f32, which holds every f16, there is one rounding.
// CHECK-LABEL: @merge_casts
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf16>)
// CHECK-NEXT: %[[C:.*]] = tenon.cast %[[X]] : tensor<?x4xf16> -> tensor<?x4xbf16>
// CHECK-NEXT: return %[[C]]
func.func @merge_casts(%x: tensor<?x4xf16>) -> tensor<?x4xbf16> {
  %0 = tenon.cast %x : tensor<?x4xf16> -> tensor<?x4xf32>
  %1 = tenon.cast %0 : tensor<?x4xf32> -> tensor<?x4xbf16>
  return %1 : tensor<?x4xbf16>
}

// -----

// What 16 bits cannot hold is gone, or infinite.
// CHECK-LABEL: @no_fold_cast
func.func @no_fold_cast(%x: tensor<?x4xf32>, %h: tensor<?x4xf16>) -> (tensor<?x4xf32>, tensor<?x4xf16>, tensor<?x4xf16>) {
  // CHECK: tenon.cast %{{.*}} : tensor<?x4xf32> -> tensor<?x4xbf16>
  // CHECK: tenon.cast %{{.*}} : tensor<?x4xbf16> -> tensor<?x4xf32>
  %0 = tenon.cast %x : tensor<?x4xf32> -> tensor<?x4xbf16>
  %1 = tenon.cast %0 : tensor<?x4xbf16> -> tensor<?x4xf32>
  // CHECK: tenon.cast %{{.*}} : tensor<?x4xf16> -> tensor<?x4xbf16>
  // CHECK: tenon.cast %{{.*}} : tensor<?x4xbf16> -> tensor<?x4xf16>
  %2 = tenon.cast %h : tensor<?x4xf16> -> tensor<?x4xbf16>
  %3 = tenon.cast %2 : tensor<?x4xbf16> -> tensor<?x4xf16>
  // CHECK: tenon.cast %{{.*}} : tensor<?x4xf32> -> tensor<?x4xbf16>
  // CHECK: tenon.cast %{{.*}} : tensor<?x4xbf16> -> tensor<?x4xf16>
  %4 = tenon.cast %x : tensor<?x4xf32> -> tensor<?x4xbf16>
  %5 = tenon.cast %4 : tensor<?x4xbf16> -> tensor<?x4xf16>
  return %1, %3, %5 : tensor<?x4xf32>, tensor<?x4xf16>, tensor<?x4xf16>
}

// -----

// Ops on either side of a cast do not merge: they round to other types.
// CHECK-LABEL: @no_fold_through_cast
func.func @no_fold_through_cast(%x: tensor<?x4xf32>) -> (tensor<?x4xbf16>, tensor<?x4xf16>) {
  // CHECK: tenon.relu
  // CHECK: tenon.cast
  // CHECK: tenon.relu
  %0 = tenon.relu %x : tensor<?x4xf32>
  %1 = tenon.cast %0 : tensor<?x4xf32> -> tensor<?x4xbf16>
  %2 = tenon.relu %1 : tensor<?x4xbf16>
  // CHECK: tenon.clamp
  // CHECK: tenon.cast
  // CHECK: tenon.clamp
  %3 = tenon.clamp %x {max = 70000.0} : tensor<?x4xf32>
  %4 = tenon.cast %3 : tensor<?x4xf32> -> tensor<?x4xf16>
  %5 = tenon.clamp %4 {max = 80000.0} : tensor<?x4xf16>
  return %2, %5 : tensor<?x4xbf16>, tensor<?x4xf16>
}

// -----

//===----------------------------------------------------------------------===//
// fused_linear
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @fused_prune_operands
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32>, %[[W:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<4xf32>, %[[R:.*]]: tensor<?x4xf32>)
func.func @fused_prune_operands(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>, %r: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // %r is not used, %b given twice.
  // CHECK: tenon.fused_linear %[[X]], %[[W]] precision<tf32> : {{.*}} epilogue(%[[ACC:.*]]: tensor<?x4xf32>, %[[BIAS:.*]] = %[[B]]: tensor<4xf32>) -> tensor<?x4xf32> attributes {note} {
  // CHECK-NEXT: %[[SUM:.*]] = tenon.add %[[ACC]], %[[BIAS]]
  // CHECK-NEXT: tenon.mul %[[SUM]], %[[BIAS]]
  %0 = tenon.fused_linear %x, %w precision<tf32> : tensor<?x8xf32>, tensor<4x8xf32>
      epilogue(%acc: tensor<?x4xf32>, %b1 = %b: tensor<4xf32>, %r1 = %r: tensor<?x4xf32>, %b2 = %b: tensor<4xf32>)
      -> tensor<?x4xf32> attributes {note} {
    %1 = tenon.add %acc, %b1 : tensor<?x4xf32>, tensor<4xf32>
    %2 = tenon.mul %1, %b2 : tensor<?x4xf32>, tensor<4xf32>
    tenon.yield %2 : tensor<?x4xf32>
  }
  return %0 : tensor<?x4xf32>
}

// -----

// Of an operand that is given several times, only the last argument is used.
// CHECK-LABEL: @fused_prune_first_of_two
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<4xf32>)
func.func @fused_prune_first_of_two(%x: tensor<4x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) -> tensor<4x4xf32> {
  // CHECK: tenon.fused_linear %[[X]], %[[W]] : {{.*}} epilogue(%[[ACC:.*]]: tensor<4x4xf32>, %[[BIAS:.*]] = %[[B]]: tensor<4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: tenon.add %[[ACC]], %[[BIAS]]
  %0 = tenon.fused_linear %x, %w : tensor<4x8xf32>, tensor<4x8xf32>
      epilogue(%acc: tensor<4x4xf32>, %b1 = %b: tensor<4xf32>, %b2 = %b: tensor<4xf32>, %b3 = %b: tensor<4xf32>) -> tensor<4x4xf32> {
    %1 = tenon.add %acc, %b3 : tensor<4x4xf32>, tensor<4xf32>
    tenon.yield %1 : tensor<4x4xf32>
  }
  return %0 : tensor<4x4xf32>
}

// -----

// None of the two is used.
// CHECK-LABEL: @fused_prune_both
// CHECK: tenon.fused_linear %{{.*}}, %{{.*}} : {{.*}} epilogue(%[[ACC:[^,]*]]: tensor<4x4xf32>) -> tensor<4x4xf32> {
func.func @fused_prune_both(%x: tensor<4x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) -> tensor<4x4xf32> {
  %0 = tenon.fused_linear %x, %w : tensor<4x8xf32>, tensor<4x8xf32>
      epilogue(%acc: tensor<4x4xf32>, %b1 = %b: tensor<4xf32>, %b2 = %b: tensor<4xf32>) -> tensor<4x4xf32> {
    %1 = tenon.relu %acc : tensor<4x4xf32>
    tenon.yield %1 : tensor<4x4xf32>
  }
  return %0 : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @no_fused_prune_operands
func.func @no_fused_prune_operands(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<?x4xf32> {
  // CHECK: epilogue(%acc: tensor<?x4xf32>, %{{.*}} = %arg2: tensor<4xf32>, %{{.*}} = %arg3: tensor<4xf32>)
  %0 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<4x8xf32>
      epilogue(%acc: tensor<?x4xf32>, %b1 = %b: tensor<4xf32>, %c1 = %c: tensor<4xf32>) -> tensor<?x4xf32> {
    %1 = tenon.add %acc, %b1 : tensor<?x4xf32>, tensor<4xf32>
    %2 = tenon.mul %1, %c1 : tensor<?x4xf32>, tensor<4xf32>
    tenon.yield %2 : tensor<?x4xf32>
  }
  return %0 : tensor<?x4xf32>
}

// -----

// A result that nothing uses goes, and with it the ops and the operand it took.
// CHECK-LABEL: @fused_prune_results
func.func @fused_prune_results(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  // CHECK: %[[Y:.*]]:2 = tenon.fused_linear {{.*}} epilogue(%[[ACC:.*]]: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  // CHECK-NEXT: %[[RELU:.*]] = tenon.relu %[[ACC]]
  // CHECK-NEXT: tenon.yield %[[ACC]], %[[RELU]]
  // CHECK: return %[[Y]]#0, %[[Y]]#1
  %0:3 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<4x8xf32>
      epilogue(%acc: tensor<?x4xf32>, %bias = %b: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
    %1 = tenon.add %acc, %bias : tensor<?x4xf32>, tensor<4xf32>
    %2 = tenon.relu %acc : tensor<?x4xf32>
    tenon.yield %acc, %1, %2 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
  }
  return %0#0, %0#2 : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: @fused_unused
// CHECK-NEXT: return
func.func @fused_unused(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  %0 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<4x8xf32> epilogue(%acc: tensor<?x4xf32>) -> tensor<?x4xf32> {
    tenon.yield %acc : tensor<?x4xf32>
  }
  return
}

// -----

// CHECK-LABEL: @fused_to_linear
func.func @fused_to_linear(%x: tensor<?x8xbf16>, %w: tensor<4x8xbf16>, %v: tensor<?x8xf32>, %u: tensor<4x8xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  // The wide product stays wide.
  // CHECK: tenon.linear %arg0, %arg1 : (tensor<?x8xbf16>, tensor<4x8xbf16>) -> tensor<?x4xf32>
  %0 = tenon.fused_linear %x, %w : tensor<?x8xbf16>, tensor<4x8xbf16> epilogue(%acc: tensor<?x4xf32>) -> tensor<?x4xf32> {
    tenon.yield %acc : tensor<?x4xf32>
  }
  // CHECK: tenon.linear %arg2, %arg3 precision<tf32> :
  %1 = tenon.fused_linear %v, %u precision<tf32> : tensor<?x8xf32>, tensor<4x8xf32> epilogue(%acc: tensor<?x4xf32>) -> tensor<?x4xf32> {
    tenon.yield %acc : tensor<?x4xf32>
  }
  return %0, %1 : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: @no_fused_to_linear
func.func @no_fused_to_linear(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %r: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  // An operand is yielded, not the product.
  // CHECK: tenon.fused_linear
  %0 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<4x8xf32> epilogue(%acc: tensor<?x4xf32>, %r1 = %r: tensor<?x4xf32>) -> tensor<?x4xf32> {
    tenon.yield %r1 : tensor<?x4xf32>
  }
  // CHECK: tenon.fused_linear
  %1 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<4x8xf32> epilogue(%acc: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %2 = tenon.relu %acc : tensor<?x4xf32>
    tenon.yield %2 : tensor<?x4xf32>
  }
  return %0, %1 : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// What is written on the op stays.
// CHECK-LABEL: @fused_to_linear_attributes
func.func @fused_to_linear_attributes(%x: tensor<?x8xf16>, %w: tensor<4x8xf16>) -> tensor<?x4xf16> {
  // CHECK: tenon.linear {{.*}} {strategy = #tenon.strategy<library>}
  %0 = tenon.fused_linear %x, %w : tensor<?x8xf16>, tensor<4x8xf16> epilogue(%acc: tensor<?x4xf16>) -> tensor<?x4xf16>
      attributes {strategy = #tenon.strategy<library>} {
    tenon.yield %acc : tensor<?x4xf16>
  }
  return %0 : tensor<?x4xf16>
}

// -----

// CHECK-LABEL: @round_tf32_twice
func.func @round_tf32_twice(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[R:.*]] = tenon.round_tf32
  // CHECK-NEXT: return %[[R]]
  %0 = tenon.round_tf32 %x : tensor<8xf32>
  %1 = tenon.round_tf32 %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// Beyond its range the cast itself gives the largest number.
// CHECK-LABEL: @drop_clamp_of_bytes
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32>)
// CHECK-NEXT: %[[C:.*]] = tenon.cast %[[X]] : tensor<?x4xf32> -> tensor<?x4xf8E4M3FN>
// CHECK-NEXT: return %[[C]]
func.func @drop_clamp_of_bytes(%x: tensor<?x4xf32>) -> tensor<?x4xf8E4M3FN> {
  %0 = tenon.clamp %x {min = -448.0 : f64, max = 448.0 : f64} : tensor<?x4xf32>
  %1 = tenon.cast %0 : tensor<?x4xf32> -> tensor<?x4xf8E4M3FN>
  return %1 : tensor<?x4xf8E4M3FN>
}

// -----

// CHECK-LABEL: @no_drop_clamp_within_bytes
// CHECK: tenon.clamp
// CHECK: tenon.clamp
// CHECK: tenon.clamp
func.func @no_drop_clamp_within_bytes(%x: tensor<?x4xf32>) -> (tensor<?x4xf8E4M3FN>, tensor<?x4xf8E4M3FN>, tensor<?x4xf8E5M2>) {
  %0 = tenon.clamp %x {min = -448.0 : f64, max = 240.0 : f64} : tensor<?x4xf32>
  %1 = tenon.clamp %x {min = 0.0 : f64} : tensor<?x4xf32>
  %2 = tenon.clamp %x {min = -57344.0 : f64, max = 57344.0 : f64} : tensor<?x4xf32>
  %3 = tenon.cast %0 : tensor<?x4xf32> -> tensor<?x4xf8E4M3FN>
  %4 = tenon.cast %1 : tensor<?x4xf32> -> tensor<?x4xf8E4M3FN>
  %5 = tenon.cast %2 : tensor<?x4xf32> -> tensor<?x4xf8E5M2>
  return %3, %4, %5 : tensor<?x4xf8E4M3FN>, tensor<?x4xf8E4M3FN>, tensor<?x4xf8E5M2>
}
