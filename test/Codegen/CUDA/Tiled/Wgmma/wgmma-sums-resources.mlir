// Sums of columns wait as what they are so far, not as elements: of what is stored, and of what is not. So kernels with
// swapped operands and many accumulators do not spill.
// REQUIRES: ptxas
// RUN: tenon-compile %s --target=sm_90a --strategy=tiled --emit=cubin -o %t.cubin \
// RUN:   --schedule='wgmma, tile = 192x128x64, warps = 1x4, stages = 5, swizzle = 128, raster = 8, blocks = 1, cluster = 1x2, ping_pong = true, reduction = two_phase' \
// RUN:   --remarks-filter='tenon-kernels|tenon-select-strategy' 2>&1 | FileCheck %s --implicit-check-not=spills

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
