// RUN: tenon-opt %s --tenon-simplify | FileCheck %s --check-prefixes=CHECK,EXACT
// RUN: tenon-opt %s --tenon-simplify --tenon-simplify | FileCheck %s --check-prefixes=CHECK,EXACT
// RUN: tenon-opt %s --tenon-simplify=allow-rounding-changes | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: tenon-opt %s --tenon-simplify=allow-rounding-changes --tenon-simplify=allow-rounding-changes | FileCheck %s --check-prefixes=CHECK,ALL

// The example of the pass's description.
// CHECK-LABEL: func.func @scale_before_relu(
// CHECK-NEXT:    %[[M:.*]] = tenon.mul %{{.*}}, 6.0
// CHECK-NEXT:    %[[R:.*]] = tenon.relu %[[M]]
// CHECK-NEXT:    return %[[R]]
func.func @scale_before_relu(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %0 = tenon.mul %x, 2.0 : tensor<?x32xf32>
  %1 = tenon.relu %0 : tensor<?x32xf32>
  %2 = tenon.mul %1, 3.0 : tensor<?x32xf32>
  return %2 : tensor<?x32xf32>
}

// With relu, any factor and any type.
// CHECK-LABEL: func.func @scale_before_relu_f16(
// CHECK-NEXT:    tenon.mul %{{.*}}, 3.000000e-01
// CHECK-NEXT:    tenon.relu
func.func @scale_before_relu_f16(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.relu %x : tensor<?x8xf16>
  %1 = tenon.mul %0, 0.3 : tensor<?x8xf16>
  return %1 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @scale_before_leaky_relu_factor(
// CHECK-NEXT:    %[[M:.*]] = tenon.mul %{{.*}}, 4.0
// CHECK-NEXT:    tenon.leaky_relu %[[M]] {negative_slope = 1.000000e-01 : f64}
func.func @scale_before_leaky_relu_factor(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.leaky_relu %x {negative_slope = 0.1} : tensor<?x8xf32>
  %1 = tenon.mul %0, 4.0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @scale_before_leaky_relu_slope(
// CHECK-NEXT:    tenon.mul %{{.*}}, 3.0
// CHECK-NEXT:    tenon.leaky_relu
func.func @scale_before_leaky_relu_slope(%x: tensor<?x8xbf16>) -> tensor<?x8xbf16> {
  %0 = tenon.leaky_relu %x {negative_slope = 0.125} : tensor<?x8xbf16>
  %1 = tenon.mul %0, 3.0 : tensor<?x8xbf16>
  return %1 : tensor<?x8xbf16>
}

// CHECK-LABEL: func.func @no_scale_two_roundings(
// EXACT-NEXT:    tenon.leaky_relu
// EXACT-NEXT:    tenon.mul
// ALL-NEXT:      tenon.mul
// ALL-NEXT:      tenon.leaky_relu
func.func @no_scale_two_roundings(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.leaky_relu %x {negative_slope = 0.1} : tensor<?x8xf32>
  %1 = tenon.mul %0, 3.0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// -60000 * 0.1 * 4 is a f16, -60000 * 4 is not.
// CHECK-LABEL: func.func @no_scale_f16(
// CHECK-NEXT:    tenon.leaky_relu
// CHECK-NEXT:    tenon.mul
func.func @no_scale_f16(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.leaky_relu %x {negative_slope = 0.1} : tensor<?x8xf16>
  %1 = tenon.mul %0, 4.0 : tensor<?x8xf16>
  return %1 : tensor<?x8xf16>
}

// A factor below 1 makes nothing overflow.
// CHECK-LABEL: func.func @scale_down_f16(
// EXACT-NEXT:    tenon.leaky_relu
// EXACT-NEXT:    tenon.mul
// ALL-NEXT:      tenon.mul
// ALL-NEXT:      tenon.leaky_relu
func.func @scale_down_f16(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.leaky_relu %x {negative_slope = 0.1} : tensor<?x8xf16>
  %1 = tenon.mul %0, 0.3 : tensor<?x8xf16>
  return %1 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @no_scale_negative(
// CHECK-NEXT:    tenon.relu
// CHECK-NEXT:    tenon.mul
func.func @no_scale_negative(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.relu %x : tensor<?x8xf32>
  %1 = tenon.mul %0, -2.0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @no_scale_zero(
// CHECK-NEXT:    tenon.relu
// CHECK-NEXT:    tenon.mul
func.func @no_scale_zero(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.relu %x : tensor<?x8xf32>
  %1 = tenon.mul %0, 0.0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// Infinite in f32: 0 * inf is NaN after relu, and never reached before it.
// CHECK-LABEL: func.func @no_scale_infinite(
// CHECK-NEXT:    tenon.relu
// CHECK-NEXT:    tenon.mul
func.func @no_scale_infinite(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.relu %x : tensor<?x8xf32>
  %1 = tenon.mul %0, 1.0e+200 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @no_scale_tensor(
// CHECK-NEXT:    tenon.relu
// CHECK-NEXT:    tenon.mul
func.func @no_scale_tensor(%x: tensor<?x8xf32>, %s: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.relu %x : tensor<?x8xf32>
  %1 = tenon.mul %0, %s : tensor<?x8xf32>, tensor<8xf32>
  return %1 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @no_scale_multi_use(
// CHECK-NEXT:    tenon.relu
// CHECK-NEXT:    tenon.mul
func.func @no_scale_multi_use(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = tenon.relu %x : tensor<?x8xf32>
  %1 = tenon.mul %0, 2.0 : tensor<?x8xf32>
  return %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
}
