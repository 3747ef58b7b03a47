// RUN: tenon-opt %s --tenon-simplify | FileCheck %s --check-prefixes=CHECK,EXACT
// RUN: tenon-opt %s --tenon-simplify --tenon-simplify | FileCheck %s --check-prefixes=CHECK,EXACT
// RUN: tenon-opt %s --tenon-simplify=allow-rounding-changes | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: tenon-opt %s --tenon-simplify=allow-rounding-changes --tenon-simplify=allow-rounding-changes | FileCheck %s --check-prefixes=CHECK,ALL

// CHECK-LABEL: func.func @merge_power_of_two(
// CHECK-NEXT:    %[[M:.*]] = tenon.mul %{{.*}}, 6.0
// CHECK-NEXT:    return %[[M]]
func.func @merge_power_of_two(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.mul %x, 3.0 : tensor<?x8xf32>
  %1 = tenon.mul %0, 2.0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @merge_chain(
// CHECK-NEXT:    tenon.mul %{{.*}}, -1.500000e+00
// CHECK-NEXT:    return
func.func @merge_chain(%x: tensor<?x8xf64>) -> tensor<?x8xf64> {
  %0 = tenon.mul %x, 0.5 : tensor<?x8xf64>
  %1 = tenon.mul %0, -4.0 : tensor<?x8xf64>
  %2 = tenon.mul %1, 0.75 : tensor<?x8xf64>
  return %2 : tensor<?x8xf64>
}

// In f16 scalings up alone are exact: 60000 * 3 * 0.5 is inf.
// CHECK-LABEL: func.func @merge_f16_up(
// CHECK-NEXT:    tenon.mul %{{.*}}, 6.0
// CHECK-NEXT:    return
func.func @merge_f16_up(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.mul %x, 2.0 : tensor<?x8xf16>
  %1 = tenon.mul %0, 3.0 : tensor<?x8xf16>
  return %1 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @no_merge_f16_up_and_down(
// EXACT-NEXT:    tenon.mul %{{.*}}, 3.0
// EXACT-NEXT:    tenon.mul %{{.*}}, 5.000000e-01
// ALL-NEXT:      tenon.mul %{{.*}}, 1.500000e+00
// CHECK-NEXT:    return
func.func @no_merge_f16_up_and_down(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.mul %x, 3.0 : tensor<?x8xf16>
  %1 = tenon.mul %0, 0.5 : tensor<?x8xf16>
  return %1 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @no_merge_two_roundings(
// EXACT-NEXT:    tenon.mul %{{.*}}, 3.0
// EXACT-NEXT:    tenon.mul %{{.*}}, 5.0
// ALL-NEXT:      tenon.mul %{{.*}}, 1.500000e+01
// CHECK-NEXT:    return
func.func @no_merge_two_roundings(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.mul %x, 3.0 : tensor<?x8xf32>
  %1 = tenon.mul %0, 5.0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// The product of the factors is no normal f32, though it is a double.
// CHECK-LABEL: func.func @no_merge_overflow(
// CHECK-COUNT-2: tenon.mul
func.func @no_merge_overflow(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.mul %x, 1.0e+38 : tensor<?x8xf32>
  %1 = tenon.mul %0, 4.0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @no_merge_underflow(
// CHECK-COUNT-2: tenon.mul
func.func @no_merge_underflow(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.mul %x, 1.0e-37 : tensor<?x8xf32>
  %1 = tenon.mul %0, 0.0625 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @no_merge_multi_use(
// CHECK-COUNT-2: tenon.mul
func.func @no_merge_multi_use(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = tenon.mul %x, 3.0 : tensor<?x8xf32>
  %1 = tenon.mul %0, 2.0 : tensor<?x8xf32>
  return %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
}

// CHECK-LABEL: func.func @no_merge_tensor_scale(
// CHECK-COUNT-2: tenon.mul
func.func @no_merge_tensor_scale(%x: tensor<?x8xf32>, %s: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.mul %x, %s : tensor<?x8xf32>, tensor<8xf32>
  %1 = tenon.mul %0, 2.0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}
