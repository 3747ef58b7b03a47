// Terms that no kernel can have.
// RUN: tenon-opt %s --tenon-emit-kernels --split-input-file --verify-diagnostics

func.func @rows(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %x1: memref<4x20xf16>, %w1: memref<8x20xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{cannot have this schedule: TMA copies rows of multiples of 16 bytes, but K = 20 of f16 has 40; pad K to 24}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16> plus(%x1, %w1 : memref<4x20xf16>, memref<8x20xf16>)
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, terms = 2> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @many(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{a kernel adds up 4 products at most, not 5}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      plus(%x, %w, %x, %w, %x, %w, %x, %w : memref<4x64xf16>, memref<8x64xf16>, memref<4x64xf16>, memref<8x64xf16>, memref<4x64xf16>, memref<8x64xf16>, memref<4x64xf16>, memref<8x64xf16>)
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, terms = 5> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}
