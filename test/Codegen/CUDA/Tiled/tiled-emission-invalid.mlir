// RUN: tenon-opt %s --tenon-emit-kernels --split-input-file --verify-diagnostics

func.func @tensors(%x: tensor<4x64xf16>, %w: tensor<8x64xf16>, %y: tensor<4x8xf16>) -> tensor<4x8xf16> {
  // expected-error @below {{'tenon.tiled_linear' op is on tensors; bufferize first}}
  %0 = tenon.tiled_linear %x, %w : tensor<4x64xf16>, tensor<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%y: tensor<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> -> tensor<4x8xf16> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return %0 : tensor<4x8xf16>
}

// -----

func.func @strided_x(%x: memref<4x64xf16, strided<[128, 1]>>, %w: memref<8x64xf16>, %y: memref<4x8xf16>) {
  // expected-error @below {{needs contiguous memrefs, but has 'memref<4x64xf16, strided<[128, 1]>>'}}
  tenon.tiled_linear %x, %w : memref<4x64xf16, strided<[128, 1]>>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%y: memref<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @strided_input(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %b: memref<8xf32, strided<[2]>>, %y: memref<4x8xf16>) {
  // expected-error @below {{needs contiguous memrefs, but has 'memref<8xf32, strided<[2]>>'}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>, %bias = %b: memref<8xf32, strided<[2]>>) outs(%y: memref<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    %0 = tenon.add %acc, %bias : tensor<4x8xf16>, tensor<8xf32>
    tenon.yield %0 : tensor<4x8xf16>
  }
  return
}

// -----

func.func @strided_output(%x: memref<?x64xf16>, %w: memref<8x64xf16>, %y: memref<?x8xf16, strided<[?, 1], offset: ?>>) {
  // expected-error @below {{needs contiguous memrefs, but has 'memref<?x8xf16, strided<[?, 1], offset: ?>>'}}
  tenon.tiled_linear %x, %w : memref<?x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<?x8xf16>) outs(%y: memref<?x8xf16, strided<[?, 1], offset: ?>>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<?x8xf16>
  }
  return
}

// -----

func.func @no_products(%x: memref<4x0xf16>, %w: memref<8x0xf16>, %y: memref<4x8xf16>) {
  // expected-error @below {{has nothing to multiply: w is 'memref<8x0xf16>'}}
  tenon.tiled_linear %x, %w : memref<4x0xf16>, memref<8x0xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%y: memref<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @schedule_of_another_type(%x: memref<4x64xf32>, %w: memref<8x64xf32>, %y: memref<4x8xf32>) {
  // expected-error @below {{cannot have this schedule: K of the tile must be the 32 elements of f32 that swizzle, 128 bytes, holds, not 64}}
  tenon.tiled_linear %x, %w : memref<4x64xf32>, memref<8x64xf32>
      epilogue(%acc: tensor<4x8xf32>) outs(%y: memref<4x8xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf32>
  }
  return
}

// -----

func.func @too_many_warps(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %y: memref<4x8xf16>) {
  // expected-error @below {{cannot have this schedule: M of the tile, 64, must be a multiple of 16 for each of the 8 warps along it}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%y: memref<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 8x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @rows_that_threads_do_not_share(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %y: memref<4x8xf16>) {
  // expected-error @below {{cannot have this schedule: 256 threads copy 32 rows at a time, of which M of the tile, 16, must be a multiple}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%y: memref<4x8xf16>)
      schedule<mma_sync, tile = 16x256x64, warps = 1x8, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @k_beyond_tma(%x: memref<64x68xbf16>, %w: memref<64x68xbf16>, %y: memref<64x64xbf16>) {
  // expected-error @below {{cannot have this schedule: TMA copies rows of multiples of 16 bytes, but K = 68 of bf16 has 136; pad K to 72}}
  tenon.tiled_linear %x, %w : memref<64x68xbf16>, memref<64x68xbf16>
      epilogue(%acc: tensor<64x64xbf16>) outs(%y: memref<64x64xbf16>)
      schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<64x64xbf16>
  }
  return
}

// -----

func.func @more_stages_than_any_memory(%x: memref<64x64xbf16>, %w: memref<64x64xbf16>, %y: memref<64x64xbf16>) {
  // expected-error @below {{cannot have this schedule: a block has at most 32 stages, not 1000000000000000000}}
  tenon.tiled_linear %x, %w : memref<64x64xbf16>, memref<64x64xbf16>
      epilogue(%acc: tensor<64x64xbf16>) outs(%y: memref<64x64xbf16>)
      schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 1000000000000000000, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<64x64xbf16>
  }
  return
}
