// RUN: tenon-opt %s --tenon-raise-pipeline | FileCheck %s --implicit-check-not=tosa. --implicit-check-not=linalg.

// CHECK-LABEL: func.func @raise_tosa(
// CHECK-NEXT:    %[[Y:.*]] = tenon.linear %arg0, %arg1 layout<mk_kn> : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:    %[[B:.*]] = tenon.add %[[Y]], %arg2 : tensor<4x8xf32>, tensor<1x8xf32>
// CHECK-NEXT:    %[[L:.*]] = tenon.min %[[B]], 6.0
// CHECK-NEXT:    %[[C:.*]] = tenon.relu %[[L]]
// CHECK-NEXT:    %[[T:.*]] = tenon.tanh %[[C]]
// CHECK-NEXT:    return %[[T]]
func.func @raise_tosa(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %b: tensor<1x8xf32>) -> tensor<4x8xf32> {
  %sx = tosa.const_shape {values = dense<[1, 4, 16]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %sw = tosa.const_shape {values = dense<[1, 16, 8]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %sy = tosa.const_shape {values = dense<[4, 8]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %zero = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %xs = tosa.reshape %x, %sx : (tensor<4x16xf32>, !tosa.shape<3>) -> tensor<1x4x16xf32>
  %ws = tosa.reshape %w, %sw : (tensor<16x8xf32>, !tosa.shape<3>) -> tensor<1x16x8xf32>
  %0 = tosa.matmul %xs, %ws, %zero, %zero : (tensor<1x4x16xf32>, tensor<1x16x8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x8xf32>
  %1 = tosa.reshape %0, %sy : (tensor<1x4x8xf32>, !tosa.shape<2>) -> tensor<4x8xf32>
  %2 = tosa.add %1, %b : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  %3 = tosa.clamp %2 {min_val = 0.0 : f32, max_val = 6.0 : f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = tosa.tanh %3 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}
