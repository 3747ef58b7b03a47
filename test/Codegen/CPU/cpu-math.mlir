// RUN: tenon-opt %s --tenon-cpu-math --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @f32_in_line(
// CHECK-NOT: math.exp
// CHECK-NOT: math.erf
// CHECK-NOT: math.tanh
// CHECK-NOT: math.fma
// CHECK-NOT: call
// CHECK: return
func.func @f32_in_line(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.exp %x : vector<8xf32>
  %1 = math.erf %0 : vector<8xf32>
  %2 = math.tanh %1 : vector<8xf32>
  %3 = math.exp2 %2 : vector<8xf32>
  return %3 : vector<8xf32>
}

// -----

// CHECK: func.func private @erf(f64) -> f64
// CHECK-LABEL: func.func @f64_by_libm(
// CHECK: math.exp
// CHECK-COUNT-2: call @erf(
func.func @f64_by_libm(%x: vector<2xf64>) -> vector<2xf64> {
  %0 = math.exp %x : vector<2xf64>
  %1 = math.erf %0 : vector<2xf64>
  return %1 : vector<2xf64>
}

// -----

// MLIR's log(1 + x) and exp(x) - 1 have no digit of a small x.
// CHECK-DAG: func.func private @log1pf(f32) -> f32
// CHECK-DAG: func.func private @expm1f(f32) -> f32
// CHECK-DAG: func.func private @cbrt(f64) -> f64
// CHECK-LABEL: func.func @small_arguments(
// CHECK: call @log1pf(
// CHECK: call @expm1f(
// CHECK: call @cbrt(
// CHECK-NOT: math.
func.func @small_arguments(%x: f32, %y: f64) -> (f32, f32, f64) {
  %0 = math.log1p %x : f32
  %1 = math.expm1 %x : f32
  %2 = math.cbrt %y : f64
  return %0, %1, %2 : f32, f32, f64
}
