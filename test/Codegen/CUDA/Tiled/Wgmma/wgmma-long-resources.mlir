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

// Sums of columns wait as what they are so far, not as elements: of what is stored, and of what is not.
// CHECK: tiles of 192x128x64 by 4 warps, operands swapped, ping_pong,
func.func @sums(%x: tensor<65536x512xbf16>, %w: tensor<512x1024xbf16>, %y: tensor<65536x1024xbf16>,
                %h: tensor<65536x1024xbf16>, %mean: tensor<1024xf32>)
    -> (tensor<65536x1024xbf16>, tensor<1024xf32>, tensor<1024xf32>) {
  %0 = tenon.linear %x, %w layout<mk_kn> : (tensor<65536x512xbf16>, tensor<512x1024xbf16>) -> tensor<65536x1024xbf16>
  %1 = tenon.gate %0, %y : tensor<65536x1024xbf16>, tensor<65536x1024xbf16>
  %2 = tenon.batch_sum %1 : (tensor<65536x1024xbf16>) -> tensor<1024xf32>
  %3 = tenon.cast %h : tensor<65536x1024xbf16> -> tensor<65536x1024xf32>
  %4 = tenon.sub %3, %mean : tensor<65536x1024xf32>, tensor<1024xf32>
  %5 = tenon.mul %4, %1 : tensor<65536x1024xf32>, tensor<65536x1024xbf16>
  %6 = tenon.batch_sum %5 : (tensor<65536x1024xf32>) -> tensor<1024xf32>
  return %1, %2, %6 : tensor<65536x1024xbf16>, tensor<1024xf32>, tensor<1024xf32>
}
