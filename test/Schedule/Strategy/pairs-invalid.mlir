// What a schedule of two weights that is written on two layers cannot be.
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --split-input-file --verify-diagnostics

func.func @three(%x: tensor<512x64xf16>, %w: tensor<256x64xf16>, %v: tensor<256x64xf16>) -> tensor<512x256xf16> {
  %0 = tenon.linear %x, %v {schedule = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 3>} : (tensor<512x64xf16>, tensor<256x64xf16>) -> tensor<512x256xf16>
  // expected-error @below {{on sm_90a: a kernel has the products of 2 weights at most, not 3}}
  %1 = tenon.fused_linear %x, %w : tensor<512x64xf16>, tensor<256x64xf16> epilogue(%acc: tensor<512x256xf16>, %gate = %0: tensor<512x256xf16>)
      -> tensor<512x256xf16> attributes {schedule = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 3>} {
    %2 = tenon.mul %acc, %gate : tensor<512x256xf16>, tensor<512x256xf16>
    tenon.yield %2 : tensor<512x256xf16>
  }
  return %1 : tensor<512x256xf16>
}

// -----

func.func @columns(%x: tensor<512x64xf16>, %w: tensor<256x64xf16>, %v: tensor<256x64xf16>) -> tensor<512x256xf16> {
  %0 = tenon.linear %x, %v {schedule = #tenon.schedule<wgmma, tile = 128x192x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 2>} : (tensor<512x64xf16>, tensor<256x64xf16>) -> tensor<512x256xf16>
  // expected-error @below {{on sm_90a: N of the tile must be a multiple of 8 up to 128, not 192}}
  %1 = tenon.fused_linear %x, %w : tensor<512x64xf16>, tensor<256x64xf16> epilogue(%acc: tensor<512x256xf16>, %gate = %0: tensor<512x256xf16>)
      -> tensor<512x256xf16> attributes {schedule = #tenon.schedule<wgmma, tile = 128x192x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 2>} {
    %2 = tenon.mul %acc, %gate : tensor<512x256xf16>, tensor<512x256xf16>
    tenon.yield %2 : tensor<512x256xf16>
  }
  return %1 : tensor<512x256xf16>
}

// -----

func.func @accumulators(%x: tensor<512x64xf16>, %w: tensor<256x64xf16>, %v: tensor<256x64xf16>) -> tensor<512x256xf16> {
  %0 = tenon.linear %x, %v {schedule = #tenon.schedule<wgmma, tile = 256x128x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 2>} : (tensor<512x64xf16>, tensor<256x64xf16>) -> tensor<512x256xf16>
  // expected-error @below {{on sm_90a: }}
  %1 = tenon.fused_linear %x, %w : tensor<512x64xf16>, tensor<256x64xf16> epilogue(%acc: tensor<512x256xf16>, %gate = %0: tensor<512x256xf16>)
      -> tensor<512x256xf16> attributes {schedule = #tenon.schedule<wgmma, tile = 256x128x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 2>} {
    %2 = tenon.mul %acc, %gate : tensor<512x256xf16>, tensor<512x256xf16>
    tenon.yield %2 : tensor<512x256xf16>
  }
  return %1 : tensor<512x256xf16>
}

// -----

func.func @reduction(%x: tensor<512x64xf16>, %w: tensor<256x64xf16>, %v: tensor<256x64xf16>) -> tensor<512x256xf16> {
  %0 = tenon.linear %x, %v {schedule = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 2, reduction = in_tile>} : (tensor<512x64xf16>, tensor<256x64xf16>) -> tensor<512x256xf16>
  // expected-error @below {{on sm_90a: with weights = 2 nothing is reduced in the kernel; leave out reduction = in_tile}}
  %1 = tenon.fused_linear %x, %w : tensor<512x64xf16>, tensor<256x64xf16> epilogue(%acc: tensor<512x256xf16>, %gate = %0: tensor<512x256xf16>)
      -> tensor<512x256xf16> attributes {schedule = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 2, reduction = in_tile>} {
    %2 = tenon.mul %acc, %gate : tensor<512x256xf16>, tensor<512x256xf16>
    tenon.yield %2 : tensor<512x256xf16>
  }
  return %1 : tensor<512x256xf16>
}

// -----

func.func @stages(%x: tensor<512x64xf16>, %w: tensor<256x64xf16>, %v: tensor<256x64xf16>) -> tensor<512x256xf16> {
  %0 = tenon.linear %x, %v {schedule = #tenon.schedule<wgmma, tile = 128x128x64, warps = 8x1, stages = 5, swizzle = 128, raster = 8, blocks = 1, weights = 2>} : (tensor<512x64xf16>, tensor<256x64xf16>) -> tensor<512x256xf16>
  // expected-error @below {{on sm_90a: 5 stages of 49152 bytes do not fit}}
  %1 = tenon.fused_linear %x, %w : tensor<512x64xf16>, tensor<256x64xf16> epilogue(%acc: tensor<512x256xf16>, %gate = %0: tensor<512x256xf16>)
      -> tensor<512x256xf16> attributes {schedule = #tenon.schedule<wgmma, tile = 128x128x64, warps = 8x1, stages = 5, swizzle = 128, raster = 8, blocks = 1, weights = 2>} {
    %2 = tenon.mul %acc, %gate : tensor<512x256xf16>, tensor<512x256xf16>
    tenon.yield %2 : tensor<512x256xf16>
  }
  return %1 : tensor<512x256xf16>
}

// -----

func.func @mma_sync(%x: tensor<512x64xf16>, %w: tensor<256x64xf16>, %v: tensor<256x64xf16>) -> tensor<512x256xf16> {
  %0 = tenon.linear %x, %v {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, weights = 3>} : (tensor<512x64xf16>, tensor<256x64xf16>) -> tensor<512x256xf16>
  // expected-error @below {{on sm_90a: a kernel has the products of 2 weights at most, not 3}}
  %1 = tenon.fused_linear %x, %w : tensor<512x64xf16>, tensor<256x64xf16> epilogue(%acc: tensor<512x256xf16>, %gate = %0: tensor<512x256xf16>)
      -> tensor<512x256xf16> attributes {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, weights = 3>} {
    %2 = tenon.mul %acc, %gate : tensor<512x256xf16>, tensor<512x256xf16>
    tenon.yield %2 : tensor<512x256xf16>
  }
  return %1 : tensor<512x256xf16>
}

// -----

func.func @mma_sync_accumulators(%x: tensor<512x64xf16>, %w: tensor<256x64xf16>, %v: tensor<256x64xf16>) -> tensor<512x256xf16> {
  %0 = tenon.linear %x, %v {schedule = #tenon.schedule<mma_sync, tile = 128x256x64, warps = 2x4, stages = 3, swizzle = 128, raster = 8, blocks = 1, weights = 2>} : (tensor<512x64xf16>, tensor<256x64xf16>) -> tensor<512x256xf16>
  // expected-error @below {{on sm_90a: a warp's part of the tile, 64x64, has more than the 2048 elements that fit its registers; use more warps or a smaller tile}}
  %1 = tenon.fused_linear %x, %w : tensor<512x64xf16>, tensor<256x64xf16> epilogue(%acc: tensor<512x256xf16>, %gate = %0: tensor<512x256xf16>)
      -> tensor<512x256xf16> attributes {schedule = #tenon.schedule<mma_sync, tile = 128x256x64, warps = 2x4, stages = 3, swizzle = 128, raster = 8, blocks = 1, weights = 2>} {
    %2 = tenon.mul %acc, %gate : tensor<512x256xf16>, tensor<512x256xf16>
    tenon.yield %2 : tensor<512x256xf16>
  }
  return %1 : tensor<512x256xf16>
}

// -----

func.func @fma(%x: tensor<512x64xf32>, %w: tensor<256x64xf32>, %v: tensor<256x64xf32>) -> tensor<512x256xf32> {
  %0 = tenon.linear %x, %v {schedule = #tenon.schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, weights = 2, method = fma>} : (tensor<512x64xf32>, tensor<256x64xf32>) -> tensor<512x256xf32>
  // expected-error @below {{on sm_90a: with method fma a kernel has one product of x; leave out weights}}
  %1 = tenon.fused_linear %x, %w : tensor<512x64xf32>, tensor<256x64xf32> epilogue(%acc: tensor<512x256xf32>, %gate = %0: tensor<512x256xf32>)
      -> tensor<512x256xf32> attributes {schedule = #tenon.schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, weights = 2, method = fma>} {
    %2 = tenon.mul %acc, %gate : tensor<512x256xf32>, tensor<512x256xf32>
    tenon.yield %2 : tensor<512x256xf32>
  }
  return %1 : tensor<512x256xf32>
}

// -----

// One of the two alone.
func.func @alone(%x: tensor<512x64xf16>, %w: tensor<256x64xf16>) -> tensor<512x256xf16> {
  // expected-error @below {{weights = 2 is for two layers that read one x, of which one has the other's result as an operand of its epilogue, both with this schedule}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 2>} : (tensor<512x64xf16>, tensor<256x64xf16>) -> tensor<512x256xf16>
  return %0 : tensor<512x256xf16>
}
