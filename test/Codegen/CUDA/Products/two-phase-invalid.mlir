// RUN: tenon-opt %s --tenon-to-tiled --split-input-file --verify-diagnostics

// Layers that a schedule's reduction cannot serve.

func.func @no_norm(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>, %r: tensor<?x32xf16>) -> tensor<?x32xf16> {
  // expected-error @below {{reduction = two_phase: the layer has no training batch norm; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>, %res = %r: tensor<?x32xf16>) -> tensor<?x32xf16>
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase>} {
    %1 = tenon.add %acc, %res : tensor<?x32xf16>, tensor<?x32xf16>
    tenon.yield %1 : tensor<?x32xf16>
  }
  return %0 : tensor<?x32xf16>
}

// -----

func.func @moments_alone(%x: tensor<256x64xf16>, %w: tensor<32x64xf16>) -> (tensor<256x32xf16>, tensor<32xf32>) {
  // expected-error @below {{reduction = resident: 'tenon.batch_moments' normalises nothing; write reduction = two_phase}}
  %0:2 = tenon.fused_linear %x, %w : tensor<256x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<256x32xf16>) -> (tensor<256x32xf16>, tensor<32xf32>)
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<wgmma, tile = 128x32x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = resident>} {
    %mean, %m2 = tenon.batch_moments %acc : (tensor<256x32xf16>) -> (tensor<32xf32>, tensor<32xf32>)
    tenon.yield %acc, %m2 : tensor<256x32xf16>, tensor<32xf32>
  }
  return %0#0, %0#1 : tensor<256x32xf16>, tensor<32xf32>
}

// -----

func.func @moments_of_what_is_not_kept(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> (tensor<?x32xf16>, tensor<32xf32>) {
  // expected-error @below {{reduction = two_phase: result #0 is that of 'tenon.mul', before the batch norm, and only the norm's input is kept; leave reduction out}}
  %0:2 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>) -> (tensor<?x32xf16>, tensor<32xf32>)
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase>} {
    %0 = tenon.relu %acc : tensor<?x32xf16>
    %mean, %m2 = tenon.batch_moments %0 : (tensor<?x32xf16>) -> (tensor<32xf32>, tensor<32xf32>)
    %1 = tenon.mul %acc, 2.0 : tensor<?x32xf16>
    tenon.yield %1, %mean : tensor<?x32xf16>, tensor<32xf32>
  }
  return %0#0, %0#1 : tensor<?x32xf16>, tensor<32xf32>
}

// -----

func.func @two_norms(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>, %r: tensor<?x32xf16>) -> tensor<?x32xf16> {
  // expected-error @below {{reduction = two_phase: the layer has several reductions, and not all are sums; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>, %res = %r: tensor<?x32xf16>) -> tensor<?x32xf16>
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase>} {
    %n = tenon.batch_norm_training %acc : (tensor<?x32xf16>) -> tensor<?x32xf16>
    %1 = tenon.batch_norm_training %n : (tensor<?x32xf16>) -> tensor<?x32xf16>
    tenon.yield %1 : tensor<?x32xf16>
  }
  return %0 : tensor<?x32xf16>
}

// -----

func.func @crossing(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>, %r: tensor<?x32xf16>) -> tensor<?x32xf16> {
  // expected-error @below {{reduction = two_phase: 'tenon.add', after the batch norm, reads the result of 'tenon.relu', before it, and only the norm's input is kept; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>, %res = %r: tensor<?x32xf16>) -> tensor<?x32xf16>
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase>} {
    %1 = tenon.relu %acc : tensor<?x32xf16>
    %2 = tenon.add %1, %res : tensor<?x32xf16>, tensor<?x32xf16>
    %n = tenon.batch_norm_training %2 : (tensor<?x32xf16>) -> tensor<?x32xf16>
    %3 = tenon.add %n, %1 : tensor<?x32xf16>, tensor<?x32xf16>
    tenon.yield %3 : tensor<?x32xf16>
  }
  return %0 : tensor<?x32xf16>
}

// -----

func.func @crossing_result(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>, %r: tensor<?x32xf16>) -> tensor<?x32xf16> {
  // expected-error @below {{reduction = two_phase: result #1 is that of 'tenon.mul', before the batch norm, and only the norm's input is kept; leave reduction out}}
  %0:2 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>, %res = %r: tensor<?x32xf16>) -> (tensor<?x32xf16>, tensor<?x32xf16>)
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase>} {
    %1 = tenon.relu %acc : tensor<?x32xf16>
    %2 = tenon.mul %acc, 2.0 : tensor<?x32xf16>
    %n = tenon.batch_norm_training %1 : (tensor<?x32xf16>) -> tensor<?x32xf16>
    tenon.yield %n, %2 : tensor<?x32xf16>, tensor<?x32xf16>
  }
  return %0#0 : tensor<?x32xf16>
}

// -----

func.func @norm_of_operand(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>, %r: tensor<?x32xf16>) -> tensor<?x32xf16> {
  // expected-error @below {{reduction = two_phase: the batch norm's input does not depend on the product; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>, %res = %r: tensor<?x32xf16>) -> tensor<?x32xf16>
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase>} {
    %n = tenon.batch_norm_training %res : (tensor<?x32xf16>) -> tensor<?x32xf16>
    %1 = tenon.add %acc, %n : tensor<?x32xf16>, tensor<?x32xf16>
    tenon.yield %1 : tensor<?x32xf16>
  }
  return %0 : tensor<?x32xf16>
}

// -----

func.func @ragged_rows(%x: tensor<?x64xf16>, %w: tensor<36x64xf16>, %r: tensor<?x36xf16>) -> tensor<?x36xf16> {
  // expected-error @below {{reduction = two_phase: TMA stores rows of multiples of 16 bytes, but N = 36 of f16 has 72; pad N to 40, or take a mma_sync schedule with reduction = two_phase}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<36x64xf16>
      epilogue(%acc: tensor<?x36xf16>, %res = %r: tensor<?x36xf16>) -> tensor<?x36xf16>
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<wgmma, tile = 64x32x64, warps = 4x1, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase>} {
    %n = tenon.batch_norm_training %acc : (tensor<?x36xf16>) -> tensor<?x36xf16>
    tenon.yield %n : tensor<?x36xf16>
  }
  return %0 : tensor<?x36xf16>
}

// -----

func.func @resident_stream_k(%x: tensor<128x64xf16>, %w: tensor<32x64xf16>, %r: tensor<128x32xf16>) -> tensor<128x32xf16> {
  // expected-error @below {{reduction = resident: stream_k leaves a tile unfinished when others wait for it; write reduction = two_phase}}
  %0 = tenon.fused_linear %x, %w : tensor<128x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<128x32xf16>, %res = %r: tensor<128x32xf16>) -> tensor<128x32xf16>
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true, reduction = resident>} {
    %n = tenon.batch_norm_training %acc : (tensor<128x32xf16>) -> tensor<128x32xf16>
    tenon.yield %n : tensor<128x32xf16>
  }
  return %0 : tensor<128x32xf16>
}

// -----

func.func @resident_split(%x: tensor<128x64xf32>, %w: tensor<32x64xf32>, %r: tensor<128x32xf32>) -> tensor<128x32xf32> {
  // expected-error @below {{reduction = resident: wgmma kernels that wait for other tiles multiply directly, not by method fp16x3; write reduction = two_phase}}
  %0 = tenon.fused_linear %x, %w : tensor<128x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<128x32xf32>, %res = %r: tensor<128x32xf32>) -> tensor<128x32xf32>
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<wgmma, tile = 64x32x64, warps = 4x1, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3, reduction = resident>} {
    %n = tenon.batch_norm_training %acc : (tensor<128x32xf32>) -> tensor<128x32xf32>
    tenon.yield %n : tensor<128x32xf32>
  }
  return %0 : tensor<128x32xf32>
}

// -----

func.func @resident_dynamic(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>, %r: tensor<?x32xf16>) -> tensor<?x32xf16> {
  // expected-error @below {{reduction = resident: M is dynamic, and all row tiles of kernels of mma_sync must fit the GPU; write reduction = two_phase}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>, %res = %r: tensor<?x32xf16>) -> tensor<?x32xf16>
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = resident>} {
    %n = tenon.batch_norm_training %acc : (tensor<?x32xf16>) -> tensor<?x32xf16>
    tenon.yield %n : tensor<?x32xf16>
  }
  return %0 : tensor<?x32xf16>
}

// -----

func.func @linear_reduction(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> tensor<?x32xf16> {
  // expected-error @below {{reduction = two_phase: the layer has no training batch norm; leave reduction out}}
  %0 = tenon.linear %x, %w {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase>} : (tensor<?x64xf16>, tensor<32x64xf16>) -> tensor<?x32xf16>
  return %0 : tensor<?x32xf16>
}

// -----

func.func @sum_of_what_is_not_stored(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> (tensor<?x32xf16>, tensor<32xf32>, tensor<32xf32>) {
  // expected-error @below {{reduction = two_phase: kernels of warps = 4x1 reduce what they store, and 'tenon.batch_sum' is of another value; write warps = 1x4}}
  %0:3 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>) -> (tensor<?x32xf16>, tensor<32xf32>, tensor<32xf32>)
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<wgmma, tile = 64x32x64, warps = 4x1, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase>} {
    %1 = tenon.batch_sum %acc : (tensor<?x32xf16>) -> tensor<32xf32>
    %2 = tenon.mul %acc, %acc : tensor<?x32xf16>, tensor<?x32xf16>
    %3 = tenon.batch_sum %2 : (tensor<?x32xf16>) -> tensor<32xf32>
    tenon.yield %acc, %1, %3 : tensor<?x32xf16>, tensor<32xf32>, tensor<32xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<?x32xf16>, tensor<32xf32>, tensor<32xf32>
}
