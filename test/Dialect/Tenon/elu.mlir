// RUN: tenon-opt %s --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tenon-opt %s --split-input-file --verify-diagnostics --tenon-to-linalg | FileCheck %s --check-prefix=EMIT

// CHECK-LABEL: @round_trip
// EMIT-LABEL: @round_trip
// EMIT: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// EMIT: math.expm1 {{.*}} : f32
// EMIT: arith.select
func.func @round_trip(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  // Defaults are not printed.
  // CHECK: tenon.elu %{{.*}} : tensor<?x8xf16>
  %0 = tenon.elu %x {alpha = 1.0, scale = 1.0, input_scale = 1.0} : tensor<?x8xf16>
  // CHECK: tenon.elu %{{.*}} {alpha = 5.000000e-01 : f64, input_scale = 2.000000e+00 : f64} : tensor<?x8xf16>
  %1 = tenon.elu %0 {alpha = 0.5, input_scale = 2.0} : tensor<?x8xf16>
  return %1 : tensor<?x8xf16>
}

// -----

// elu-C1
func.func @alpha(%x: tensor<?x8xf32>) {
  // expected-error @below {{'tenon.elu' op alpha must be finite, but is 0x7FF0000000000000 : f64}}
  %0 = tenon.elu %x {alpha = 0x7FF0000000000000 : f64} : tensor<?x8xf32>
  return
}

// -----

// elu-C1
func.func @input_scale(%x: tensor<?x8xf32>) {
  // expected-error @below {{'tenon.elu' op input_scale must be finite, but is 0x7FF8000000000000 : f64}}
  %0 = tenon.elu %x {input_scale = 0x7FF8000000000000 : f64} : tensor<?x8xf32>
  return
}
