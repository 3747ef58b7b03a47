// RUN: tenon-opt %s --tenon-simplify=allow-rounding-changes | FileCheck %s
// RUN: tenon-opt %s --tenon-simplify=allow-rounding-changes --tenon-simplify=allow-rounding-changes | FileCheck %s
// RUN: tenon-opt %s --tenon-simplify | FileCheck %s --check-prefix=OFF
// RUN: tenon-opt %s --tenon-simplify --tenon-simplify | FileCheck %s --check-prefix=OFF

// OFF-LABEL:   func.func @scale_and_shift(
// OFF-NEXT:      tenon.batch_norm_inference
// CHECK-LABEL: func.func @scale_and_shift(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x8xf32>, %[[M:[a-z0-9]+]]: tensor<8xf32> {tenon.param}, %[[V:[a-z0-9]+]]: tensor<8xf32> {tenon.param},
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<8xf32> {tenon.param}, %[[B:[a-z0-9]+]]: tensor<8xf32> {tenon.param})
// CHECK-NEXT:    %[[E:.*]] = tenon.add %[[V]], 1.000000e-03
// CHECK-NEXT:    %[[D:.*]] = math.sqrt %[[E]]
// CHECK-NEXT:    %[[S:.*]] = tenon.div %[[W]], %[[D]]
// CHECK-NEXT:    %[[Y:.*]] = tenon.mul %[[X]], %[[S]]
// CHECK-NEXT:    %[[C:.*]] = tenon.mul %[[M]], %[[S]]
// CHECK-NEXT:    %[[T:.*]] = tenon.sub %[[B]], %[[C]]
// CHECK-NEXT:    tenon.add %[[Y]], %[[T]]
func.func @scale_and_shift(%x: tensor<?x8xf32>, %m: tensor<8xf32> {tenon.param}, %v: tensor<8xf32> {tenon.param},
                           %w: tensor<8xf32> {tenon.param}, %b: tensor<8xf32> {tenon.param}) -> tensor<?x8xf32> {
  %0 = tenon.batch_norm_inference %x stats(%m, %v) weight(%w) bias(%b) {eps = 1.0e-3}
      : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  return %0 : tensor<?x8xf32>
}

// Without weight and bias; parameters in f32 with 16-bit activations.
// CHECK-LABEL: func.func @scale_and_shift_bare(
// CHECK:         %[[D:.*]] = math.sqrt
// CHECK-NEXT:    %[[S:.*]] = tenon.div 1.000000e+00, %[[D]]
// CHECK-NEXT:    %[[Y:.*]] = tenon.mul %{{.*}}, %[[S]] : tensor<?x8xbf16>, tensor<8xf32>
// CHECK-NEXT:    %[[C:.*]] = tenon.mul %{{.*}}, %[[S]]
// CHECK-NEXT:    tenon.sub %[[Y]], %[[C]]
func.func @scale_and_shift_bare(%x: tensor<?x8xbf16>, %m: tensor<8xf32> {tenon.param}, %v: tensor<8xf32> {tenon.param}) -> tensor<?x8xbf16> {
  %0 = tenon.batch_norm_inference %x stats(%m, %v) : tensor<?x8xbf16>, tensor<8xf32>, tensor<8xf32>
  return %0 : tensor<?x8xbf16>
}

// The scale is not known before the call.
// CHECK-LABEL: func.func @no_scale_of_activations(
// CHECK-NEXT:    tenon.batch_norm_inference
func.func @no_scale_of_activations(%x: tensor<?x8xf32>, %m: tensor<8xf32> {tenon.param}, %v: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.batch_norm_inference %x stats(%m, %v) : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>
  return %0 : tensor<?x8xf32>
}

// The scale would be rounded to 16 bits.
// CHECK-LABEL: func.func @no_scale_in_16_bits(
// CHECK-NEXT:    tenon.batch_norm_inference
func.func @no_scale_in_16_bits(%x: tensor<?x8xbf16>, %m: tensor<8xbf16> {tenon.param}, %v: tensor<8xbf16> {tenon.param}) -> tensor<?x8xbf16> {
  %0 = tenon.batch_norm_inference %x stats(%m, %v) : tensor<?x8xbf16>, tensor<8xbf16>, tensor<8xbf16>
  return %0 : tensor<?x8xbf16>
}

// CHECK-LABEL: func.func @no_scale_in_epilogue(
// CHECK:           tenon.batch_norm_inference
func.func @no_scale_in_epilogue(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>, %m: tensor<8xf32> {tenon.param}) -> tensor<?x8xf32> {
  %0 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<8x8xf32>
      epilogue(%acc: tensor<?x8xf32>, %s = %m: tensor<8xf32>) -> tensor<?x8xf32> {
    %1 = tenon.batch_norm_inference %acc stats(%s, %s) : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>
    tenon.yield %1 : tensor<?x8xf32>
  }
  return %0 : tensor<?x8xf32>
}

// x times the scale may be more than f16 holds where (x - mean) times it is not.
// CHECK-LABEL: func.func @no_scale_in_f16(
// CHECK-NEXT:    tenon.batch_norm_inference
func.func @no_scale_in_f16(%x: tensor<?x8xf16>, %m: tensor<8xf32> {tenon.param}, %v: tensor<8xf32> {tenon.param}) -> tensor<?x8xf16> {
  %0 = tenon.batch_norm_inference %x stats(%m, %v) : tensor<?x8xf16>, tensor<8xf32>, tensor<8xf32>
  return %0 : tensor<?x8xf16>
}
