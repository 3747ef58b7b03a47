// RUN: tenon-opt %s --tenon-hoist-prepare --allow-unregistered-dialect | FileCheck %s --implicit-check-not=_prepare --implicit-check-not=_run

// CHECK-LABEL: func.func @no_hoist_without_work(
// CHECK-SAME:    %{{.*}}: tensor<8x8xf32> {tenon.param}, %{{.*}}: tensor<4x8xf32>
func.func @no_hoist_without_work(%w: tensor<8x8xf32> {tenon.param}, %x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// Only what is marked is a parameter.
// CHECK-LABEL: func.func @no_hoist_unmarked(
func.func @no_hoist_unmarked(%x: tensor<4x8xf32>, %s: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = tenon.relu %s : tensor<8xf32>
  %1 = tenon.mul %x, %0 : tensor<4x8xf32>, tensor<8xf32>
  return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @no_hoist_only_returned(
func.func @no_hoist_only_returned(%s: tensor<8xf32> {tenon.param}) -> tensor<8xf32> {
  %0 = tenon.relu %s : tensor<8xf32>
  %1 = tenon.tanh %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// A reshape costs nothing, a constant depends on no parameter.
// CHECK-LABEL: func.func @no_hoist_free(
func.func @no_hoist_free(%x: tensor<8x8xf32>, %s: tensor<8xf32> {tenon.param}) -> tensor<8x8xf32> {
  %c = arith.constant dense<2.0> : tensor<8xf32>
  %0 = tensor.expand_shape %s [[0, 1]] output_shape [8, 1] : tensor<8xf32> into tensor<8x1xf32>
  %1 = tenon.mul %x, %0 : tensor<8x8xf32>, tensor<8x1xf32>
  %2 = tenon.add %1, %c : tensor<8x8xf32>, tensor<8xf32>
  return %2 : tensor<8x8xf32>
}

// An op that may have side effects runs with each call, and so does what
// reads its result.
// CHECK-LABEL: func.func @no_hoist_side_effect(
func.func @no_hoist_side_effect(%x: tensor<4x8xf32>, %s: tensor<8xf32> {tenon.param}) -> tensor<4x8xf32> {
  %0 = "test.op"(%s) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = tenon.relu %0 : tensor<8xf32>
  %2 = tenon.mul %x, %1 : tensor<4x8xf32>, tensor<8xf32>
  return %2 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func private @no_hoist_declaration(
func.func private @no_hoist_declaration(tensor<8xf32> {tenon.param}) -> tensor<8xf32>
