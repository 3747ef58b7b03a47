// Sums over the batch of what is stored, and of what is not, which asks for swapped operands of wgmma.
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy="targets=sm_90a strategy=tiled" --remarks-filter=tenon-select-strategy 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY < %t.remarks

// CHECK-LABEL: @both
// CHECK: #tenon.schedule<wgmma, tile = {{.*}}, warps = 1x{{[48]}}, {{.*}}reduction = two_phase>
// WHY: Function=both | Reason="the product with sums over the batch; {{.*}}two_phase by direct {{[0-9.]+}} us;
func.func @both(%x: tensor<65536x512xbf16>, %w: tensor<512x256xbf16>, %h: tensor<65536x256xbf16>) -> (tensor<65536x256xbf16>, tensor<256xf32>, tensor<256xf32>) {
  %0 = tenon.linear %x, %w layout<mk_kn> : (tensor<65536x512xbf16>, tensor<512x256xbf16>) -> tensor<65536x256xbf16>
  %1 = tenon.gate %0, %h : tensor<65536x256xbf16>, tensor<65536x256xbf16>
  %2 = tenon.batch_sum %1 : (tensor<65536x256xbf16>) -> tensor<256xf32>
  %3 = tenon.mul %1, %h : tensor<65536x256xbf16>, tensor<65536x256xbf16>
  %4 = tenon.batch_sum %3 : (tensor<65536x256xbf16>) -> tensor<256xf32>
  return %1, %2, %4 : tensor<65536x256xbf16>, tensor<256xf32>, tensor<256xf32>
}

// An epilogue that reads an operand beside its sums takes longer than the products of a short K, and longest where
// accumulators leave few registers: tiles of 128x128 in turn are predicted, and measured, to be faster than 192x128.
// CHECK-LABEL: @gated_wide
// CHECK: #tenon.schedule<wgmma, tile = 128x128x64, warps = 1x4, {{.*}}ping_pong = true, {{.*}}reduction = two_phase>
func.func @gated_wide(%x: tensor<65536x512xbf16>, %w: tensor<512x1024xbf16>, %z: tensor<65536x1024xbf16>, %m: tensor<1024xf32>, %g: tensor<1024xf32>, %b: tensor<1024xf32>) -> (tensor<65536x1024xbf16>, tensor<1024xf32>, tensor<1024xf32>) {
  %0 = tenon.linear %x, %w layout<mk_kn> : (tensor<65536x512xbf16>, tensor<512x1024xbf16>) -> tensor<65536x1024xbf16>
  %1 = tenon.mul %z, %g : tensor<65536x1024xbf16>, tensor<1024xf32>
  %2 = tenon.add %1, %b : tensor<65536x1024xbf16>, tensor<1024xf32>
  %3 = tenon.gate %0, %2 : tensor<65536x1024xbf16>, tensor<65536x1024xbf16>
  %4 = tenon.batch_sum %3 : (tensor<65536x1024xbf16>) -> tensor<1024xf32>
  %5 = tenon.cast %3 : tensor<65536x1024xbf16> -> tensor<65536x1024xf32>
  %6 = tenon.cast %z : tensor<65536x1024xbf16> -> tensor<65536x1024xf32>
  %7 = tenon.sub %6, %m : tensor<65536x1024xf32>, tensor<1024xf32>
  %8 = tenon.mul %5, %7 : tensor<65536x1024xf32>, tensor<65536x1024xf32>
  %9 = tenon.batch_sum %8 : (tensor<65536x1024xf32>) -> tensor<1024xf32>
  return %3, %4, %9 : tensor<65536x1024xbf16>, tensor<1024xf32>, tensor<1024xf32>
}

// CHECK-LABEL: @gated_narrow
// CHECK: #tenon.schedule<wgmma, tile = 128x128x64, warps = 1x4, {{.*}}ping_pong = true, {{.*}}reduction = two_phase>
func.func @gated_narrow(%x: tensor<65536x256xbf16>, %w: tensor<256x512xbf16>, %z: tensor<65536x512xbf16>) -> (tensor<65536x512xbf16>, tensor<512xf32>) {
  %0 = tenon.linear %x, %w layout<mk_kn> : (tensor<65536x256xbf16>, tensor<256x512xbf16>) -> tensor<65536x512xbf16>
  %1 = tenon.gate %0, %z : tensor<65536x512xbf16>, tensor<65536x512xbf16>
  %2 = tenon.batch_sum %1 : (tensor<65536x512xbf16>) -> tensor<512xf32>
  return %1, %2 : tensor<65536x512xbf16>, tensor<512xf32>
}

// Of two operands an epilogue has more memory, and the products a stage less, so that a subtile has rows enough.
// CHECK-LABEL: @two_operands
// CHECK: #tenon.schedule<wgmma, tile = 128x128x64, warps = 1x4, stages = 5, {{.*}}ping_pong = true, reduction = two_phase>
func.func @two_operands(%x: tensor<65536x512xbf16>, %w: tensor<512x1024xbf16>, %a: tensor<65536x1024xbf16>, %z: tensor<65536x1024xbf16>) -> (tensor<65536x1024xbf16>, tensor<1024xf32>) {
  %0 = tenon.linear %x, %w layout<mk_kn> : (tensor<65536x512xbf16>, tensor<512x1024xbf16>) -> tensor<65536x1024xbf16>
  %1 = tenon.add %0, %a : tensor<65536x1024xbf16>, tensor<65536x1024xbf16>
  %2 = tenon.gate %1, %z : tensor<65536x1024xbf16>, tensor<65536x1024xbf16>
  %3 = tenon.batch_sum %2 : (tensor<65536x1024xbf16>) -> tensor<1024xf32>
  return %2, %3 : tensor<65536x1024xbf16>, tensor<1024xf32>
}

// Without an operand an epilogue is short, and hidden by products.
// CHECK-LABEL: @bare
// CHECK: #tenon.schedule<wgmma, tile = 192x128x64, warps = 1x4, {{.*}}ping_pong = true, {{.*}}reduction = two_phase>
func.func @bare(%x: tensor<65536x512xbf16>, %w: tensor<512x1024xbf16>) -> (tensor<65536x1024xbf16>, tensor<1024xf32>) {
  %0 = tenon.linear %x, %w layout<mk_kn> : (tensor<65536x512xbf16>, tensor<512x1024xbf16>) -> tensor<65536x1024xbf16>
  %1 = tenon.batch_sum %0 : (tensor<65536x1024xbf16>) -> tensor<1024xf32>
  return %0, %1 : tensor<65536x1024xbf16>, tensor<1024xf32>
}
