// No rule looks through a cast: what it moves or merges would be rounded to another type.
// RUN: tenon-opt %s --tenon-simplify="allow-rounding-changes fold-weights rescale-statistics" | FileCheck %s

// CHECK-LABEL: func.func @no_merge(
// CHECK-NEXT:    tenon.mul %{{.*}}, 2.0
// CHECK-NEXT:    tenon.cast
// CHECK-NEXT:    tenon.mul %{{.*}}, 4.0
func.func @no_merge(%x: tensor<?x8xf32>) -> tensor<?x8xf16> {
  %0 = tenon.mul %x, 2.0 : tensor<?x8xf32>
  %1 = tenon.cast %0 : tensor<?x8xf32> -> tensor<?x8xf16>
  %2 = tenon.mul %1, 4.0 : tensor<?x8xf16>
  return %2 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @no_scale_before_relu(
// CHECK-NEXT:    tenon.relu
// CHECK-NEXT:    tenon.cast
// CHECK-NEXT:    tenon.mul
func.func @no_scale_before_relu(%x: tensor<?x8xbf16>) -> tensor<?x8xf32> {
  %0 = tenon.relu %x : tensor<?x8xbf16>
  %1 = tenon.cast %0 : tensor<?x8xbf16> -> tensor<?x8xf32>
  %2 = tenon.mul %1, 3.0 : tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @no_scale_before_batch_norm(
// CHECK-NEXT:    tenon.mul
// CHECK-NEXT:    tenon.cast
// CHECK-NEXT:    tenon.batch_norm_training
func.func @no_scale_before_batch_norm(%x: tensor<?x8xf32>) -> tensor<?x8xf16> {
  %0 = tenon.mul %x, 2.0 : tensor<?x8xf32>
  %1 = tenon.cast %0 : tensor<?x8xf32> -> tensor<?x8xf16>
  %2 = tenon.batch_norm_training %1 : (tensor<?x8xf16>) -> tensor<?x8xf16>
  return %2 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @no_cancel_bias(
// CHECK-NEXT:    tenon.linear %{{.*}}, %{{.*}}, %{{.*}} :
// CHECK-NEXT:    tenon.cast
// CHECK-NEXT:    tenon.batch_norm_training
func.func @no_cancel_bias(%x: tensor<?x16xbf16>, %w: tensor<8x16xbf16>, %b: tensor<8xbf16>) -> tensor<?x8xf32> {
  %0 = tenon.linear %x, %w, %b : (tensor<?x16xbf16>, tensor<8x16xbf16>, tensor<8xbf16>) -> tensor<?x8xbf16>
  %1 = tenon.cast %0 : tensor<?x8xbf16> -> tensor<?x8xf32>
  %2 = tenon.batch_norm_training %1 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// The weights would be rounded to 16 bits once more.
// CHECK-LABEL: func.func @no_fold_scale(
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    tenon.cast
// CHECK-NEXT:    tenon.mul
func.func @no_fold_scale(%x: tensor<?x16xbf16>, %w: tensor<8x16xbf16> {tenon.param}, %s: tensor<8xf32> {tenon.param}) -> tensor<?x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<?x16xbf16>, tensor<8x16xbf16>) -> tensor<?x8xbf16>
  %1 = tenon.cast %0 : tensor<?x8xbf16> -> tensor<?x8xf32>
  %2 = tenon.mul %1, %s : tensor<?x8xf32>, tensor<8xf32>
  return %2 : tensor<?x8xf32>
}

// A weight that was cast to f32 takes a scale as any of f32 does.
// CHECK-LABEL: func.func @fold_scale_into_cast_weight(
// CHECK:         %[[W:.*]] = tenon.cast %{{.*}} : tensor<8x16xbf16> -> tensor<8x16xf32>
// CHECK:         %[[F:.*]] = tenon.mul %[[W]], %{{.*}} : tensor<8x16xf32>, tensor<8x1xf32>
// CHECK:         tenon.linear %{{.*}}, %[[F]]
// CHECK-NEXT:    return
func.func @fold_scale_into_cast_weight(%x: tensor<?x16xf32>, %w: tensor<8x16xbf16> {tenon.param}, %s: tensor<8xf32> {tenon.param}) -> tensor<?x8xf32> {
  %0 = tenon.cast %w : tensor<8x16xbf16> -> tensor<8x16xf32>
  %1 = tenon.linear %x, %0 : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
  %2 = tenon.mul %1, %s : tensor<?x8xf32>, tensor<8xf32>
  return %2 : tensor<?x8xf32>
}
