// Kernels with swapped operands and more accumulators than leave much room do not spill where the epilogue is long: ptxas
// computes as many subtiles at once as it finds no wait between.
// REQUIRES: ptxas
// RUN: tenon-compile %s --target=sm_90a --strategy=tiled --emit=cubin -o %t.cubin \
// RUN:   --remarks-filter='tenon-kernels|tenon-select-strategy' 2>&1 | FileCheck %s --implicit-check-not=spills

// CHECK: tiles of 192x128x64 by 4 warps, operands swapped, ping_pong,
func.func @ping_pong(%x: tensor<16384x4096xbf16>, %w: tensor<16384x4096xbf16> {tenon.param},
                     %b: tensor<16384xf32> {tenon.param}) -> tensor<16384x16384xbf16> {
  %0 = tenon.linear %x, %w, %b : (tensor<16384x4096xbf16>, tensor<16384x4096xbf16>, tensor<16384xf32>)
      -> tensor<16384x16384xbf16>
  %1 = tenon.gelu %0 : tensor<16384x16384xbf16>
  return %1 : tensor<16384x16384xbf16>
}

// CHECK: tiles of 192x256x64 by 8 warps, operands swapped,
func.func @together(%x: tensor<16384x64xf16>, %w: tensor<16384x64xf16> {tenon.param},
                    %b: tensor<16384xf32> {tenon.param}) -> tensor<16384x16384xf16> {
  %0 = tenon.linear %x, %w, %b : (tensor<16384x64xf16>, tensor<16384x64xf16>, tensor<16384xf32>)
      -> tensor<16384x16384xf16>
  %1 = tenon.gelu %0 : tensor<16384x16384xf16>
  return %1 : tensor<16384x16384xf16>
}
