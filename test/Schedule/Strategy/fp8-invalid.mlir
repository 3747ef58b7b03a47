// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --split-input-file --verify-diagnostics

func.func @direct(%x: tensor<64x128xf8E4M3FN>, %w: tensor<64x128xf8E4M3FN>) -> tensor<64x64xf32> {
  // expected-error @below {{method direct does not multiply f8E4M3FN; write method = fp8}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 64x64x128, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1>}
      : (tensor<64x128xf8E4M3FN>, tensor<64x128xf8E4M3FN>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// -----

func.func @of_16_bits(%x: tensor<64x128xbf16>, %w: tensor<64x128xbf16>) -> tensor<64x64xbf16> {
  // expected-error @below {{method fp8 does not multiply bf16; leave it out}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, method = fp8>}
      : (tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x64xbf16>
  return %0 : tensor<64x64xbf16>
}

// -----

func.func @by_mma_sync(%x: tensor<64x128xf8E4M3FN>, %w: tensor<64x128xf8E4M3FN>) -> tensor<64x64xf32> {
  // expected-error @below {{mma_sync multiplies 8 bits on sm_89 alone, not on sm_90a; leave out the schedule}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 64x64x128, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp8>}
      : (tensor<64x128xf8E4M3FN>, tensor<64x128xf8E4M3FN>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// -----

func.func @of_half_a_row(%x: tensor<64x128xf8E4M3FN>, %w: tensor<64x128xf8E4M3FN>) -> tensor<64x64xf32> {
  // expected-error @below {{K of the tile must be the 128 elements of f8E4M3FN that swizzle, 128 bytes, holds, not 64}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, method = fp8>}
      : (tensor<64x128xf8E4M3FN>, tensor<64x128xf8E4M3FN>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
