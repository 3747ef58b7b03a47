// RUN: tenon-opt %s --tenon-fuse-epilogue | FileCheck %s

// CHECK-LABEL: func.func @fuse_f16(
// CHECK-NEXT:    tenon.fused_linear {{.*}} epilogue(%acc: tensor<4x8xf16>, %{{.*}}: tensor<8xf16>) -> tensor<4x8xf16>
// CHECK-NEXT:      tenon.add
// CHECK-NEXT:      tenon.relu
func.func @fuse_f16(%x: tensor<4x16xf16>, %w: tensor<8x16xf16>, %b: tensor<8xf16>) -> tensor<4x8xf16> {
  %0 = tenon.linear %x, %w, %b : (tensor<4x16xf16>, tensor<8x16xf16>, tensor<8xf16>) -> tensor<4x8xf16>
  %1 = tenon.relu %0 : tensor<4x8xf16>
  return %1 : tensor<4x8xf16>
}

// A product of 16-bit tensors in f32, and operands of f32 with it.
// CHECK-LABEL: func.func @fuse_bf16_to_f32(
// CHECK-NEXT:    tenon.fused_linear {{.*}} : tensor<4x16xbf16>, tensor<8x16xbf16> epilogue(%acc: tensor<4x8xf32>, %{{.*}}: tensor<8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:      tenon.mul
func.func @fuse_bf16_to_f32(%x: tensor<4x16xbf16>, %w: tensor<8x16xbf16>, %s: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xbf16>, tensor<8x16xbf16>) -> tensor<4x8xf32>
  %1 = tenon.mul %0, %s : tensor<4x8xf32>, tensor<8xf32>
  return %1 : tensor<4x8xf32>
}

// The result may have another 16-bit type than the product.
// CHECK-LABEL: func.func @fuse_mixed_16_bit(
// CHECK-NEXT:    tenon.fused_linear {{.*}} epilogue(%acc: tensor<4x8xbf16>, %{{.*}}: tensor<4x8xf32>) -> tensor<4x8xf32>
func.func @fuse_mixed_16_bit(%x: tensor<4x16xbf16>, %w: tensor<8x16xbf16>, %r: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xbf16>, tensor<8x16xbf16>) -> tensor<4x8xbf16>
  %1 = tenon.add %r, %0 : tensor<4x8xf32>, tensor<4x8xbf16>
  return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @fuse_f64(
// CHECK-NEXT:    tenon.fused_linear {{.*}} epilogue(%acc: tensor<4x8xf64>) -> tensor<4x8xf64>
func.func @fuse_f64(%x: tensor<4x16xf64>, %w: tensor<8x16xf64>) -> tensor<4x8xf64> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf64>, tensor<8x16xf64>) -> tensor<4x8xf64>
  %1 = tenon.gelu %0 : tensor<4x8xf64>
  return %1 : tensor<4x8xf64>
}
