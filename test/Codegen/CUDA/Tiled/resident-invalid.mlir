// What a kernel that reduces columns itself cannot do.
// RUN: tenon-opt %s --tenon-emit-kernels --split-input-file --verify-diagnostics

func.func @stream_k(%x: memref<128x128xbf16>, %w: memref<64x128xbf16>, %r: memref<128x64xf32>, %y: memref<128x64xf32>, %s: memref<394752xi8>) {
  // expected-error @below {{'tenon.tiled_linear' op cannot have this schedule: with reduction = resident all tiles of a column wait for each other, so stream_k cannot be; leave it out}}
  tenon.tiled_linear %x, %w : memref<128x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<128x64xf32>) outs(%y: memref<128x64xf32>) workspace(%s: memref<394752xi8>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 4, swizzle = 128, raster = 8, blocks = 1, stream_k = true, reduction = resident> {
    %0 = tenon.batch_norm_training %acc : (tensor<128x64xf32>) -> tensor<128x64xf32>
    tenon.yield %0 : tensor<128x64xf32>
  }
  return
}

// -----

func.func @many_rows_of_mma_sync(%x: memref<12300x128xbf16>, %w: memref<64x128xbf16>, %r: memref<12300x64xf32>, %y: memref<12300x64xf32>, %s: memref<394752xi8>) {
  // expected-error @below {{with reduction = resident all 193 tiles of a column must be at work together, more than the 192 multiprocessors that any GPU is taken to have; use larger tiles, or reduction = two_phase}}
  tenon.tiled_linear %x, %w : memref<12300x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<12300x64xf32>) outs(%y: memref<12300x64xf32>) workspace(%s: memref<394752xi8>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = resident> {
    %0 = tenon.batch_norm_training %acc : (tensor<12300x64xf32>) -> tensor<12300x64xf32>
    tenon.yield %0 : tensor<12300x64xf32>
  }
  return
}

// -----

func.func @ping_pong(%x: memref<128x128xbf16>, %w: memref<64x128xbf16>, %r: memref<128x64xf32>, %y: memref<128x64xf32>, %s: memref<198144xi8>) {
  // expected-error @below {{so ping_pong cannot be; leave it out}}
  tenon.tiled_linear %x, %w : memref<128x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<128x64xf32>) outs(%y: memref<128x64xf32>) workspace(%s: memref<198144xi8>)
      schedule<wgmma, tile = 64x32x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = resident, ping_pong = true> {
    %0 = tenon.batch_norm_training %acc : (tensor<128x64xf32>) -> tensor<128x64xf32>
    tenon.yield %0 : tensor<128x64xf32>
  }
  return
}

// -----

// With defer a tile has fewer accumulators than with the reduction alone.
func.func @deferred(%x: memref<128x128xbf16>, %w: memref<128x128xbf16>, %y: memref<128x128xf32>,
                    %s: memref<1574400xi8>) {
  // expected-error @below {{with defer a thread has 128 accumulators at most, not the 136 of a tile of 136x128}}
  tenon.tiled_linear %x, %w : memref<128x128xbf16>, memref<128x128xbf16>
      epilogue(%acc: tensor<128x128xf32>) outs(%y: memref<128x128xf32>) workspace(%s: memref<1574400xi8>)
      schedule<wgmma, tile = 136x128x64, warps = 1x4, stages = 4, swizzle = 128, raster = 8, blocks = 1, defer = true,
               reduction = resident> {
    %0 = tenon.batch_norm_training %acc : (tensor<128x128xf32>) -> tensor<128x128xf32>
    tenon.yield %0 : tensor<128x128xf32>
  }
  return
}

// -----

func.func @none(%x: memref<128x128xbf16>, %w: memref<64x128xbf16>, %r: memref<128x64xf32>, %y: memref<128x64xf32>, %s: memref<198144xi8>) {
  // expected-error @below {{reduction = resident is for a region with one reduction}}
  tenon.tiled_linear %x, %w : memref<128x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<128x64xf32>) outs(%y: memref<128x64xf32>) workspace(%s: memref<198144xi8>)
      schedule<wgmma, tile = 64x32x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = resident> {
    %0 = tenon.relu %acc : tensor<128x64xf32>
    tenon.yield %0 : tensor<128x64xf32>
  }
  return
}

// -----

func.func @two(%x: memref<128x128xbf16>, %w: memref<64x128xbf16>, %r: memref<128x64xf32>, %y: memref<128x64xf32>, %s: memref<198144xi8>) {
  // expected-error @below {{reduction = resident is for a region with one reduction}}
  tenon.tiled_linear %x, %w : memref<128x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<128x64xf32>) outs(%y: memref<128x64xf32>) workspace(%s: memref<198144xi8>)
      schedule<wgmma, tile = 64x32x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = resident> {
    %0 = tenon.batch_norm_training %acc : (tensor<128x64xf32>) -> tensor<128x64xf32>
    %1 = tenon.batch_norm_training %0 : (tensor<128x64xf32>) -> tensor<128x64xf32>
    tenon.yield %1 : tensor<128x64xf32>
  }
  return
}

// -----

func.func @dynamic(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>, %r: memref<?x64xf32>, %y: memref<?x64xf32>, %s: memref<394752xi8>) {
  // expected-error @below {{with reduction = resident M must be known, but for wgmma, and not 0}}
  tenon.tiled_linear %x, %w : memref<?x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<?x64xf32>) outs(%y: memref<?x64xf32>) workspace(%s: memref<394752xi8>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = resident> {
    %0 = tenon.batch_norm_training %acc : (tensor<?x64xf32>) -> tensor<?x64xf32>
    tenon.yield %0 : tensor<?x64xf32>
  }
  return
}

// -----

func.func @many_rows(%x: memref<12300x128xbf16>, %w: memref<64x128xbf16>, %r: memref<12300x64xf32>, %y: memref<12300x64xf32>, %s: memref<198144xi8>) {
  // expected-error @below {{with reduction = resident all 193 tiles of a column must be at work together, more than the 192 multiprocessors that any GPU is taken to have; use larger tiles, or reduction = two_phase}}
  tenon.tiled_linear %x, %w : memref<12300x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<12300x64xf32>) outs(%y: memref<12300x64xf32>) workspace(%s: memref<198144xi8>)
      schedule<wgmma, tile = 64x32x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = resident> {
    %0 = tenon.batch_norm_training %acc : (tensor<12300x64xf32>) -> tensor<12300x64xf32>
    tenon.yield %0 : tensor<12300x64xf32>
  }
  return
}

// -----

func.func @product_after(%x: memref<128x128xbf16>, %w: memref<64x128xbf16>, %r: memref<128x64xf32>, %y: memref<128x64xf32>, %s: memref<198144xi8>) {
  // expected-error @below {{what follows the reduction may need no more of the product than what is reduced}}
  tenon.tiled_linear %x, %w : memref<128x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<128x64xf32>) outs(%y: memref<128x64xf32>) workspace(%s: memref<198144xi8>)
      schedule<wgmma, tile = 64x32x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = resident> {
    %1 = tenon.relu %acc : tensor<128x64xf32>
    %2 = tenon.batch_norm_training %1 : (tensor<128x64xf32>) -> tensor<128x64xf32>
    %0 = tenon.add %2, %acc : tensor<128x64xf32>, tensor<128x64xf32>
    tenon.yield %0 : tensor<128x64xf32>
  }
  return
}

// -----

func.func @rows(%x: memref<128x128xbf16>, %w: memref<66x128xbf16>, %r: memref<128x66xf32>, %y: memref<128x66xf32>, %s: memref<198144xi8>) {
  // expected-error @below {{TMA must be able to move all [M, N] operands and results: rows of multiples of 16 bytes, of f32, f16 or bf16}}
  tenon.tiled_linear %x, %w : memref<128x128xbf16>, memref<66x128xbf16>
      epilogue(%acc: tensor<128x66xf32>) outs(%y: memref<128x66xf32>) workspace(%s: memref<198144xi8>)
      schedule<wgmma, tile = 64x32x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = resident> {
    %0 = tenon.batch_norm_training %acc : (tensor<128x66xf32>) -> tensor<128x66xf32>
    tenon.yield %0 : tensor<128x66xf32>
  }
  return
}
