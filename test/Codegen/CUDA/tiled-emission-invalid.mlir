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
