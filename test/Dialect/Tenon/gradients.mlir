// RUN: tenon-opt %s --split-input-file --verify-diagnostics --canonicalize | FileCheck %s
// RUN: tenon-opt %s --split-input-file --verify-diagnostics --tenon-to-linalg | FileCheck %s --check-prefix=EMIT

// CHECK-LABEL: @gate
// EMIT-LABEL: @gate
func.func @gate(%g: tensor<?x8xbf16>, %x: tensor<?x8xf32>) -> (tensor<?x8xbf16>, tensor<?x8xf32>) {
  // CHECK: tenon.gate %{{.*}}, %{{.*}} : tensor<?x8xbf16>, tensor<?x8xf32>
  // EMIT: %[[SHUT:.*]] = arith.cmpf ole, %{{.*}}, %{{.*}} : f32
  // EMIT: arith.select %[[SHUT]], %{{.*}}, %{{.*}} : f32
  %0 = tenon.gate %g, %x : tensor<?x8xbf16>, tensor<?x8xf32>
  // The constant stays first: it does not commute.
  // CHECK: tenon.gate 1.000000e+00, %{{.*}} : tensor<?x8xf32>
  // EMIT: %[[SHUT:.*]] = arith.cmpf ole, %[[X:.*]], %{{.*}} : f32
  // EMIT: arith.select %[[SHUT]], %{{.*}}, %{{.*}} : f32
  %1 = tenon.gate 1.0, %x : tensor<?x8xf32>
  return %0, %1 : tensor<?x8xbf16>, tensor<?x8xf32>
}

// -----

// CHECK-LABEL: @gelu_derivative
// EMIT-LABEL: @gelu_derivative
func.func @gelu_derivative(%x: tensor<?x8xf32>, %wide: tensor<?x8xf64>) -> (tensor<?x8xf32>, tensor<?x8xf64>) {
  // CHECK: tenon.gelu_derivative %{{.*}} : tensor<?x8xf32>
  // EMIT-COUNT-2: math.exp2 {{.*}} : f32
  %0 = tenon.gelu_derivative %x : tensor<?x8xf32>
  // EMIT: math.erf {{.*}} : f64
  // EMIT: math.exp2 {{.*}} : f64
  %1 = tenon.gelu_derivative %wide : tensor<?x8xf64>
  return %0, %1 : tensor<?x8xf32>, tensor<?x8xf64>
}

// -----

// binary-C3
func.func @shapes(%g: tensor<?x8xf32>, %x: tensor<?x6xf32>) {
  // expected-error @below {{'tenon.gate' op input and other do not broadcast}}
  %0 = tenon.gate %g, %x : tensor<?x8xf32>, tensor<?x6xf32>
  return
}

// -----

// CHECK-LABEL: @batch_sum
// EMIT-LABEL: @batch_sum
// EMIT: arith.addf {{.*}} : f64
// EMIT-NOT: arith.mulf
// EMIT: arith.truncf {{.*}} to bf16
func.func @batch_sum(%x: tensor<?x8xbf16>) -> (tensor<8xbf16>, tensor<8xf32>) {
  // CHECK: tenon.batch_sum %{{.*}} : (tensor<?x8xbf16>) -> tensor<8xbf16>
  %0 = tenon.batch_sum %x : (tensor<?x8xbf16>) -> tensor<8xbf16>
  %1 = tenon.batch_sum %x : (tensor<?x8xbf16>) -> tensor<8xf32>
  return %0, %1 : tensor<8xbf16>, tensor<8xf32>
}

// -----

// batch_sum-C1
func.func @sum_of_other_extent(%x: tensor<?x8xf32>) {
  // expected-error @below {{'tenon.batch_sum' op gives a sum for each of the 8 columns of 'tensor<?x8xf32>', of f64 if and only if these are, but its result is 'tensor<6xf32>'}}
  %0 = tenon.batch_sum %x : (tensor<?x8xf32>) -> tensor<6xf32>
  return
}

// -----

// batch_sum-C1
func.func @sum_of_other_type(%x: tensor<?x8xf64>) {
  // expected-error @below {{'tenon.batch_sum' op gives a sum for each of the 8 columns of 'tensor<?x8xf64>', of f64 if and only if these are, but its result is 'tensor<8xf32>'}}
  %0 = tenon.batch_sum %x : (tensor<?x8xf64>) -> tensor<8xf32>
  return
}

// -----

// batch_moments-C2
func.func @sum_of_moments(%x: tensor<64x8xf32>, %m: tensor<3x8xf32>) {
  // expected-error @below {{'tenon.batch_sum' op takes moments together with moment_rows, or neither}}
  %0 = tenon.batch_sum %x moments(%m) : (tensor<64x8xf32>, tensor<3x8xf32>) -> tensor<8xf32>
  return
}

// -----

// moments-C1, batch_moments-C4
func.func @moments_for_a_sum(%x: memref<64x8xf32>, %m: memref<3x8xf32>, %s: memref<8xf32>) {
  tenon.epilogue ins(%a = %x: memref<64x8xf32>, %b = %m: memref<3x8xf32>) outs(%s: memref<8xf32>) {
    // expected-error @below {{'tenon.batch_sum' op needs moments in f32, the sum of each 64 rows of 'tensor<64x8xf32>', but they are 'tensor<3x8xf32>'}}
    %0 = tenon.batch_sum %a moments(%b) {moment_rows = 64} : (tensor<64x8xf32>, tensor<3x8xf32>) -> tensor<8xf32>
    tenon.yield %0 : tensor<8xf32>
  }
  return
}
