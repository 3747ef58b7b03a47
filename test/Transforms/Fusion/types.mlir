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

// PyTorch's promotion: a bf16 product beside an f32 residual. Both types are returned.
// CHECK-LABEL: func.func @fuse_cast(
// CHECK-NEXT:    tenon.fused_linear {{.*}} epilogue(%acc: tensor<?x8xbf16>, %{{.*}}: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf16>)
// CHECK-NEXT:      %[[C:.*]] = tenon.cast %acc : tensor<?x8xbf16> -> tensor<?x8xf32>
// CHECK-NEXT:      %[[S:.*]] = tenon.sub %{{.*}}, %[[C]]
// CHECK-NEXT:      %[[H:.*]] = tenon.cast %[[S]] : tensor<?x8xf32> -> tensor<?x8xf16>
// CHECK-NEXT:      tenon.yield %[[S]], %[[H]]
func.func @fuse_cast(%x: tensor<?x16xbf16>, %w: tensor<8x16xbf16>, %r: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf16>) {
  %0 = tenon.linear %x, %w : (tensor<?x16xbf16>, tensor<8x16xbf16>) -> tensor<?x8xbf16>
  %1 = tenon.cast %0 : tensor<?x8xbf16> -> tensor<?x8xf32>
  %2 = tenon.sub %r, %1 : tensor<?x8xf32>, tensor<?x8xf32>
  %3 = tenon.cast %2 : tensor<?x8xf32> -> tensor<?x8xf16>
  return %2, %3 : tensor<?x8xf32>, tensor<?x8xf16>
}

// Autocast: what feeds the product, or an operand of its epilogue, is cast before it.
// CHECK-LABEL: func.func @no_fuse_cast_of_operands(
// CHECK-NEXT:    %[[X:.*]] = tenon.cast
// CHECK-NEXT:    %[[W:.*]] = tenon.cast
// CHECK-NEXT:    %[[S:.*]] = tenon.cast
// CHECK-NEXT:    tenon.fused_linear %[[X]], %[[W]] : {{.*}} = %[[S]]: tensor<8xbf16>) -> tensor<?x8xbf16>
// CHECK-NEXT:      tenon.mul
// CHECK-NEXT:      tenon.yield
func.func @no_fuse_cast_of_operands(%x: tensor<?x16xf32>, %w: tensor<8x16xf32>, %s: tensor<8xf32>) -> tensor<?x8xbf16> {
  %0 = tenon.cast %x : tensor<?x16xf32> -> tensor<?x16xbf16>
  %1 = tenon.cast %w : tensor<8x16xf32> -> tensor<8x16xbf16>
  %2 = tenon.linear %0, %1 : (tensor<?x16xbf16>, tensor<8x16xbf16>) -> tensor<?x8xbf16>
  %3 = tenon.cast %s : tensor<8xf32> -> tensor<8xbf16>
  %4 = tenon.mul %2, %3 : tensor<?x8xbf16>, tensor<8xbf16>
  return %4 : tensor<?x8xbf16>
}

// A cast between two products belongs to the first.
// CHECK-LABEL: func.func @fuse_cast_between_products(
// CHECK-NEXT:    %[[Y:.*]] = tenon.fused_linear
// CHECK-NEXT:      tenon.cast
// CHECK:         tenon.linear %[[Y]]
func.func @fuse_cast_between_products(%x: tensor<4x16xf32>, %w: tensor<16x16xf32>, %v: tensor<8x16xbf16>) -> tensor<4x8xbf16> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %1 = tenon.cast %0 : tensor<4x16xf32> -> tensor<4x16xbf16>
  %2 = tenon.linear %1, %v : (tensor<4x16xbf16>, tensor<8x16xbf16>) -> tensor<4x8xbf16>
  return %2 : tensor<4x8xbf16>
}
