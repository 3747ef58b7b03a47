// RUN: tenon-opt %s --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tenon-opt %s --split-input-file --verify-diagnostics --tenon-to-linalg | FileCheck %s --check-prefix=EMIT

// CHECK-LABEL: @round_trip
// EMIT-LABEL: @round_trip
// EMIT: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// EMIT: math.log1p {{.*}} : f32
// EMIT: arith.select
func.func @round_trip(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  // Defaults are not printed.
  // CHECK: tenon.softplus %{{.*}} : tensor<?x8xf16>
  %0 = tenon.softplus %x {beta = 1.0, threshold = 20.0} : tensor<?x8xf16>
  // CHECK: tenon.softplus %{{.*}} {beta = -2.000000e+00 : f64, threshold = 5.000000e-01 : f64} : tensor<?x8xf16>
  %1 = tenon.softplus %0 {beta = -2.0, threshold = 0.5} : tensor<?x8xf16>
  return %1 : tensor<?x8xf16>
}

// -----

// softplus-C1
func.func @beta(%x: tensor<?x8xf32>) {
  // expected-error @below {{'tenon.softplus' op beta must be finite, but is 0x7FF0000000000000 : f64}}
  %0 = tenon.softplus %x {beta = 0x7FF0000000000000 : f64} : tensor<?x8xf32>
  return
}

// -----

// softplus-C1
func.func @threshold(%x: tensor<?x8xf32>) {
  // expected-error @below {{'tenon.softplus' op threshold must be finite, but is 0x7FF8000000000000 : f64}}
  %0 = tenon.softplus %x {threshold = 0x7FF8000000000000 : f64} : tensor<?x8xf32>
  return
}
