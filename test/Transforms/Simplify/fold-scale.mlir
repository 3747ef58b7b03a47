// RUN: tenon-opt %s --tenon-simplify=fold-weights | FileCheck %s
// RUN: tenon-opt %s --tenon-simplify=fold-weights --tenon-simplify=fold-weights | FileCheck %s
// RUN: tenon-opt %s --tenon-simplify=allow-rounding-changes | FileCheck %s --check-prefix=OFF
// RUN: tenon-opt %s --tenon-simplify=allow-rounding-changes --tenon-simplify=allow-rounding-changes | FileCheck %s --check-prefix=OFF

// OFF-LABEL:   func.func @fold_scale(
// OFF-NEXT:      tenon.linear
// OFF-NEXT:      tenon.mul
// CHECK-LABEL: func.func @fold_scale(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x16xf32>, %[[W:[a-z0-9]+]]: tensor<8x16xf32> {tenon.param}, %[[B:[a-z0-9]+]]: tensor<8xf32> {tenon.param}, %[[S:[a-z0-9]+]]: tensor<8xf32> {tenon.param})
// CHECK-NEXT:    %[[C:.*]] = tensor.expand_shape %[[S]] {{\[\[}}0, 1]] output_shape [8, 1] : tensor<8xf32> into tensor<8x1xf32>
// CHECK-NEXT:    %[[WS:.*]] = tenon.mul %[[W]], %[[C]]
// CHECK-NEXT:    %[[BS:.*]] = tenon.mul %[[B]], %[[S]]
// CHECK-NEXT:    %[[Y:.*]] = tenon.linear %[[X]], %[[WS]], %[[BS]] precision<tf32>
// CHECK-NEXT:    return %[[Y]]
func.func @fold_scale(%x: tensor<?x16xf32>, %w: tensor<8x16xf32> {tenon.param}, %b: tensor<8xf32> {tenon.param},
                      %s: tensor<8xf32> {tenon.param}) -> tensor<?x8xf32> {
  %0 = tenon.linear %x, %w, %b precision<tf32> : (tensor<?x16xf32>, tensor<8x16xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %1 = tenon.mul %0, %s : tensor<?x8xf32>, tensor<8xf32>
  return %1 : tensor<?x8xf32>
}

// The scale may stand first, and be computed from parameters.
// CHECK-LABEL: func.func @fold_scale_first(
// CHECK-NEXT:    %[[R:.*]] = tenon.relu
// CHECK-NEXT:    %[[C:.*]] = tensor.expand_shape %[[R]]
// CHECK-NEXT:    tenon.mul %{{.*}}, %[[C]]
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    return
func.func @fold_scale_first(%x: tensor<?x16xf64>, %w: tensor<8x16xf64> {tenon.param}, %s: tensor<8xf64> {tenon.param}) -> tensor<?x8xf64> {
  %0 = tenon.relu %s : tensor<8xf64>
  %1 = tenon.linear %x, %w : (tensor<?x16xf64>, tensor<8x16xf64>) -> tensor<?x8xf64>
  %2 = tenon.mul %0, %1 : tensor<8xf64>, tensor<?x8xf64>
  return %2 : tensor<?x8xf64>
}

// Of a weight [K, N] it scales the columns.
// CHECK-LABEL: func.func @fold_scale_transposed(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x16xf32>, %[[W:[a-z0-9]+]]: tensor<16x8xf32> {tenon.param}, %[[S:[a-z0-9]+]]: tensor<8xf32> {tenon.param})
// CHECK-NEXT:    %[[WS:.*]] = tenon.mul %[[W]], %[[S]]
// CHECK-NEXT:    tenon.linear %[[X]], %[[WS]] layout<mk_kn>
// CHECK-NEXT:    return
func.func @fold_scale_transposed(%x: tensor<?x16xf32>, %w: tensor<16x8xf32> {tenon.param}, %s: tensor<8xf32> {tenon.param}) -> tensor<?x8xf32> {
  %0 = tenon.linear %x, %w layout<mk_kn> : (tensor<?x16xf32>, tensor<16x8xf32>) -> tensor<?x8xf32>
  %1 = tenon.mul %0, %s : tensor<?x8xf32>, tensor<8xf32>
  return %1 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @no_fold_activation_scale(
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    tenon.mul
func.func @no_fold_activation_scale(%x: tensor<?x16xf32>, %w: tensor<8x16xf32> {tenon.param}, %s: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
  %1 = tenon.mul %0, %s : tensor<?x8xf32>, tensor<8xf32>
  return %1 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @no_fold_activation_weight(
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    tenon.mul
func.func @no_fold_activation_weight(%x: tensor<?x16xf32>, %w: tensor<8x16xf32>, %s: tensor<8xf32> {tenon.param}) -> tensor<?x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
  %1 = tenon.mul %0, %s : tensor<?x8xf32>, tensor<8xf32>
  return %1 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @no_fold_activation_bias(
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    tenon.mul
func.func @no_fold_activation_bias(%x: tensor<?x16xf32>, %w: tensor<8x16xf32> {tenon.param}, %b: tensor<8xf32>, %s: tensor<8xf32> {tenon.param}) -> tensor<?x8xf32> {
  %0 = tenon.linear %x, %w, %b : (tensor<?x16xf32>, tensor<8x16xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %1 = tenon.mul %0, %s : tensor<?x8xf32>, tensor<8xf32>
  return %1 : tensor<?x8xf32>
}

// A constant is free: the product takes it as alpha.
// CHECK-LABEL: func.func @no_fold_constant(
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    tenon.mul
func.func @no_fold_constant(%x: tensor<?x16xf32>, %w: tensor<8x16xf32> {tenon.param}) -> tensor<?x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
  %1 = tenon.mul %0, 2.0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @no_fold_16_bits(
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    tenon.mul
func.func @no_fold_16_bits(%x: tensor<?x16xbf16>, %w: tensor<8x16xbf16> {tenon.param}, %s: tensor<8xbf16> {tenon.param}) -> tensor<?x8xbf16> {
  %0 = tenon.linear %x, %w : (tensor<?x16xbf16>, tensor<8x16xbf16>) -> tensor<?x8xbf16>
  %1 = tenon.mul %0, %s : tensor<?x8xbf16>, tensor<8xbf16>
  return %1 : tensor<?x8xbf16>
}

// CHECK-LABEL: func.func @no_fold_multi_use(
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    tenon.mul
func.func @no_fold_multi_use(%x: tensor<?x16xf32>, %w: tensor<8x16xf32> {tenon.param}, %s: tensor<8xf32> {tenon.param}) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = tenon.linear %x, %w : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
  %1 = tenon.mul %0, %s : tensor<?x8xf32>, tensor<8xf32>
  return %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
}

// One value a row.
// CHECK-LABEL: func.func @no_fold_column(
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    tenon.mul
func.func @no_fold_column(%x: tensor<8x16xf32>, %w: tensor<8x16xf32> {tenon.param}, %s: tensor<8x1xf32> {tenon.param}) -> tensor<8x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x8xf32>
  %1 = tenon.mul %0, %s : tensor<8x8xf32>, tensor<8x1xf32>
  return %1 : tensor<8x8xf32>
}

// A bias of 16 bits times the scale is added in f32, as the product is.
// CHECK-LABEL: func.func @fold_with_narrow_bias(
// CHECK:         %[[B:.*]] = tenon.cast %{{.*}} : tensor<8xf16> -> tensor<8xf32>
// CHECK:         %[[BS:.*]] = tenon.mul %[[B]], %{{.*}} : tensor<8xf32>, tensor<8xf32>
// CHECK:         tenon.linear %{{.*}}, %{{.*}}, %[[BS]] : (tensor<?x16xf32>, tensor<8x16xf32>, tensor<8xf32>) -> tensor<?x8xf32>
func.func @fold_with_narrow_bias(%x: tensor<?x16xf32>, %w: tensor<8x16xf32> {tenon.param}, %b: tensor<8xf16> {tenon.param}, %s: tensor<8xf32> {tenon.param}) -> tensor<?x8xf32> {
  %0 = tenon.linear %x, %w, %b : (tensor<?x16xf32>, tensor<8x16xf32>, tensor<8xf16>) -> tensor<?x8xf32>
  %1 = tenon.mul %0, %s : tensor<?x8xf32>, tensor<8xf32>
  return %1 : tensor<?x8xf32>
}

// Weights that are scaled may be more than f16 holds.
// CHECK-LABEL: func.func @no_fold_fp16(
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    tenon.mul
func.func @no_fold_fp16(%x: tensor<?x16xf32>, %w: tensor<8x16xf32> {tenon.param}, %s: tensor<8xf32> {tenon.param}) -> tensor<?x8xf32> {
  %0 = tenon.linear %x, %w {precision = #tenon.precision<fp16>} : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
  %1 = tenon.mul %0, %s : tensor<?x8xf32>, tensor<8xf32>
  return %1 : tensor<?x8xf32>
}
