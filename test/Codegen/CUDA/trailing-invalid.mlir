// What no kernel can finish beside a product.
// RUN: tenon-opt %s --tenon-emit-kernels --split-input-file --verify-diagnostics

func.func @mma_sync(%x: memref<128x128xbf16>, %w: memref<64x128xbf16>, %y: memref<128x64xf32>) {
  // expected-error @below {{'tenon.tiled_linear' op cannot have this schedule: mma_sync has no reduction = trailing; write reduction = two_phase}}
  tenon.tiled_linear %x, %w : memref<128x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<128x64xf32>) outs(%y: memref<128x64xf32>)
      schedule<mma_sync, tile = 64x32x64, warps = 2x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = trailing> {
    %0 = tenon.batch_norm_training %acc : (tensor<128x64xf32>) -> tensor<128x64xf32>
    tenon.yield %0 : tensor<128x64xf32>
  }
  return
}

// -----

func.func @stream_k(%x: memref<128x128xbf16>, %w: memref<64x128xbf16>, %y: memref<128x64xf32>, %s: memref<198144xi8>) {
  // expected-error @below {{with reduction = trailing tiles are complete when they are stored, so stream_k cannot be; leave it out}}
  tenon.tiled_linear %x, %w : memref<128x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<128x64xf32>) outs(%y: memref<128x64xf32>) workspace(%s: memref<198144xi8>)
      schedule<wgmma, tile = 128x32x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, stream_k = true, reduction = trailing> {
    %0 = tenon.batch_norm_training %acc : (tensor<128x64xf32>) -> tensor<128x64xf32>
    tenon.yield %0 : tensor<128x64xf32>
  }
  return
}

// -----

func.func @one_warpgroup(%x: memref<128x128xbf16>, %w: memref<64x128xbf16>, %y: memref<128x64xf32>) {
  // expected-error @below {{with reduction = trailing two warpgroups must multiply; write warps = 8x1, or ping_pong}}
  tenon.tiled_linear %x, %w : memref<128x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<128x64xf32>) outs(%y: memref<128x64xf32>)
      schedule<wgmma, tile = 64x32x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = trailing> {
    %0 = tenon.batch_norm_training %acc : (tensor<128x64xf32>) -> tensor<128x64xf32>
    tenon.yield %0 : tensor<128x64xf32>
  }
  return
}

// -----

func.func @large_tile(%x: memref<128x128xbf16>, %w: memref<64x128xbf16>, %y: memref<128x64xf32>) {
  // expected-error @below {{with reduction = trailing a thread has room for 128 accumulators, not 192; use a smaller tile}}
  tenon.tiled_linear %x, %w : memref<128x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<128x64xf32>) outs(%y: memref<128x64xf32>)
      schedule<wgmma, tile = 192x128x64, warps = 4x1, stages = 3, swizzle = 128, raster = 8, blocks = 1, ping_pong = true, reduction = trailing> {
    %0 = tenon.batch_norm_training %acc : (tensor<128x64xf32>) -> tensor<128x64xf32>
    tenon.yield %0 : tensor<128x64xf32>
  }
  return
}

// -----

func.func @wide_tile(%x: memref<128x128xbf16>, %w: memref<64x128xbf16>, %y: memref<128x64xf32>) {
  // expected-error @below {{with reduction = trailing N of the tile must be at most 248, not 256; use 256x128 in place of 128x256}}
  tenon.tiled_linear %x, %w : memref<128x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<128x64xf32>) outs(%y: memref<128x64xf32>)
      schedule<wgmma, tile = 128x256x64, warps = 8x1, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = trailing> {
    %0 = tenon.batch_norm_training %acc : (tensor<128x64xf32>) -> tensor<128x64xf32>
    tenon.yield %0 : tensor<128x64xf32>
  }
  return
}

// -----

func.func @none(%x: memref<128x128xbf16>, %w: memref<64x128xbf16>, %y: memref<128x64xf32>) {
  // expected-error @below {{reduction = trailing is for a region with one training batch norm and no other reduction}}
  tenon.tiled_linear %x, %w : memref<128x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<128x64xf32>) outs(%y: memref<128x64xf32>)
      schedule<wgmma, tile = 128x32x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = trailing> {
    %0 = tenon.relu %acc : tensor<128x64xf32>
    tenon.yield %0 : tensor<128x64xf32>
  }
  return
}

// -----

func.func @crossing(%x: memref<128x128xbf16>, %w: memref<64x128xbf16>, %y: memref<128x64xf32>) {
  // expected-error @below {{with reduction = trailing what follows the batch norm may need no more of the product than the norm's input}}
  tenon.tiled_linear %x, %w : memref<128x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<128x64xf32>) outs(%y: memref<128x64xf32>)
      schedule<wgmma, tile = 128x32x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = trailing> {
    %0 = tenon.relu %acc : tensor<128x64xf32>
    %1 = tenon.batch_norm_training %0 : (tensor<128x64xf32>) -> tensor<128x64xf32>
    %2 = tenon.add %1, %acc : tensor<128x64xf32>, tensor<128x64xf32>
    tenon.yield %2 : tensor<128x64xf32>
  }
  return
}

// -----

func.func @no_tma(%x: memref<128x128xbf16>, %w: memref<60x128xbf16>, %y: memref<128x60xbf16>) {
  // expected-error @below {{cannot have this schedule: with reduction = trailing TMA must be able to move the batch norm's input}}
  tenon.tiled_linear %x, %w : memref<128x128xbf16>, memref<60x128xbf16>
      epilogue(%acc: tensor<128x60xbf16>) outs(%y: memref<128x60xbf16>)
      schedule<wgmma, tile = 128x32x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = trailing> {
    %0 = tenon.batch_norm_training %acc : (tensor<128x60xbf16>) -> tensor<128x60xbf16>
    tenon.yield %0 : tensor<128x60xbf16>
  }
  return
}
