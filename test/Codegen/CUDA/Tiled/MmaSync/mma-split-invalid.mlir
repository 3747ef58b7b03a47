// RUN: tenon-opt %s --tenon-emit-kernels --split-input-file --verify-diagnostics

func.func @rows_of_one_part(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %fx: memref<4x1xf32>, %fw: memref<8x1xf32>, %y: memref<4x8xf32>) {
  // expected-error @below {{cannot have this schedule: method fp16x3 needs swizzle = 128, not 64}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16> factors(%fx, %fw : memref<4x1xf32>, memref<8x1xf32>)
      epilogue(%acc: tensor<4x8xf32>) outs(%y: memref<4x8xf32>)
      schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 64, raster = 8, blocks = 1, method = fp16x3> {
    tenon.yield %acc : tensor<4x8xf32>
  }
  return
}

// -----

func.func @too_many_sums(%x: memref<4x64xf32>, %w: memref<8x64xf32>, %y: memref<4x8xf32>) {
  // expected-error @below {{cannot have this schedule: a warp's part of the tile, 64x64, has more than the 2048 elements that fit its registers with method fma; use more warps or a smaller tile}}
  tenon.tiled_linear %x, %w : memref<4x64xf32>, memref<8x64xf32>
      epilogue(%acc: tensor<4x8xf32>) outs(%y: memref<4x8xf32>)
      schedule<mma_sync, tile = 128x128x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fma> {
    tenon.yield %acc : tensor<4x8xf32>
  }
  return
}

// -----

func.func @guard_with_stream_k(%x: memref<4x64xf32>, %w: memref<8x64xf32>, %fx: memref<4x1xf32>, %fw: memref<8x1xf32>, %y: memref<4x8xf32>, %ws: memref<3147264xi8>) {
  // expected-error @below {{cannot have this schedule: with factors and method fma, which keep most tiles, it must be mma_sync without stream_k}}
  tenon.tiled_linear %x, %w : memref<4x64xf32>, memref<8x64xf32> factors(%fx, %fw : memref<4x1xf32>, memref<8x1xf32>)
      epilogue(%acc: tensor<4x8xf32>) outs(%y: memref<4x8xf32>) workspace(%ws: memref<3147264xi8>)
      schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true, method = fma> {
    tenon.yield %acc : tensor<4x8xf32>
  }
  return
}

// -----

func.func @guard_of_wgmma(%x: memref<4x64xf32>, %w: memref<8x64xf32>, %fx: memref<4x1xf32>, %fw: memref<8x1xf32>, %y: memref<4x8xf32>) {
  // expected-error @below {{cannot have this schedule: with factors and method direct, which keep most tiles, it must be mma_sync without stream_k}}
  tenon.tiled_linear %x, %w : memref<4x64xf32>, memref<8x64xf32> factors(%fx, %fw : memref<4x1xf32>, memref<8x1xf32>)
      epilogue(%acc: tensor<4x8xf32>) outs(%y: memref<4x8xf32>)
      schedule<wgmma, tile = 64x64x32, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf32>
  }
  return
}
