// Where memory bounds a layer, tiles side by side that read x from L2 once, and not each for itself, are predicted, and
// measured, to be faster.
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy="targets=sm_90a strategy=tiled" | FileCheck %s

// CHECK-LABEL: @short
// CHECK: #tenon.schedule<wgmma, tile = 128x128x64, {{.*}}cluster = 1x2, ping_pong = true>
func.func @short(%x: tensor<262144x256xbf16>, %w: tensor<256x256xbf16>, %b: tensor<256xbf16>) -> tensor<262144x256xbf16> {
  %0 = tenon.linear %x, %w, %b : (tensor<262144x256xbf16>, tensor<256x256xbf16>, tensor<256xbf16>) -> tensor<262144x256xbf16>
  %1 = tenon.relu %0 : tensor<262144x256xbf16>
  return %1 : tensor<262144x256xbf16>
}

// CHECK-LABEL: @gated
// CHECK: #tenon.schedule<wgmma, tile = 128x128x64, warps = 1x4, {{.*}}cluster = 1x2, ping_pong = true, reduction = two_phase>
func.func @gated(%x: tensor<262144x256xbf16>, %w: tensor<256x256xbf16>, %z: tensor<262144x256xbf16>) -> (tensor<262144x256xbf16>, tensor<256xf32>) {
  %0 = tenon.linear %x, %w layout<mk_kn> : (tensor<262144x256xbf16>, tensor<256x256xbf16>) -> tensor<262144x256xbf16>
  %1 = tenon.gate %0, %z : tensor<262144x256xbf16>, tensor<262144x256xbf16>
  %2 = tenon.batch_sum %1 : (tensor<262144x256xbf16>) -> tensor<256xf32>
  return %1, %2 : tensor<262144x256xbf16>, tensor<256xf32>
}
