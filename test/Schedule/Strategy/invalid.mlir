// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_80,sm_86 --split-input-file --verify-diagnostics

func.func @library_with_schedule(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> tensor<?x32xf16> {
  // expected-error @below {{'tenon.linear' op has a schedule, but the strategy library takes none; write #tenon.strategy<tiled>, or remove 'schedule'}}
  %0 = tenon.linear %x, %w {strategy = #tenon.strategy<library>, schedule = #tenon.schedule<mma_sync, tile = 64x64x64,
      warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>} : (tensor<?x64xf16>, tensor<32x64xf16>) -> tensor<?x32xf16>
  return %0 : tensor<?x32xf16>
}

// -----

// The larger GPU has the shared memory, the smaller has not.
func.func @too_large_for_one(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> tensor<?x32xf16> {
  // expected-error-re @below {{'tenon.linear' op cannot have the schedule #tenon.schedule<mma_sync, tile = 128x256x64, warps = 2x4, stages = 3, swizzle = 128, raster = 8, blocks = 1> on sm_86: 3 stages of 49152 bytes do not fit the {{[0-9]+}} bytes of shared memory that sm_86 leaves them; use fewer stages or a smaller tile}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 128x256x64,
      warps = 2x4, stages = 3, swizzle = 128, raster = 8, blocks = 1>} : (tensor<?x64xf16>, tensor<32x64xf16>) -> tensor<?x32xf16>
  return %0 : tensor<?x32xf16>
}

// -----

// An option that wgmma alone has.
func.func @deferred(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> tensor<?x32xf16> {
  // expected-error @below {{on sm_80: mma_sync has no cluster, ping_pong or defer; leave them out}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3,
      swizzle = 128, raster = 8, blocks = 1, defer = true>} : (tensor<?x64xf16>, tensor<32x64xf16>) -> tensor<?x32xf16>
  return %0 : tensor<?x32xf16>
}

// -----

// The type that counts is the one that the precision gives: 64 elements of bf16 are 128 bytes.
func.func @precision_decides(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  %0 = tenon.linear %x, %w precision<bf16> {schedule = #tenon.schedule<mma_sync, tile = 64x64x64,
      warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>} : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  // expected-error @below {{on sm_80: K of the tile must be the 32 elements of f32 that swizzle, 128 bytes, holds, not 64}}
  %1 = tenon.linear %x, %w precision<tf32> {schedule = #tenon.schedule<mma_sync, tile = 64x64x64,
      warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>} : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %0, %1 : tensor<?x32xf32>, tensor<?x32xf32>
}

// -----

func.func @tiled_f64(%x: tensor<?x64xf64>, %w: tensor<32x64xf64>) -> tensor<?x32xf64> {
  // expected-error @below {{'tenon.linear' op cannot be tiled: no tiled kernel multiplies f64; write #tenon.strategy<library>}}
  %0 = tenon.linear %x, %w {strategy = #tenon.strategy<tiled>} : (tensor<?x64xf64>, tensor<32x64xf64>) -> tensor<?x32xf64>
  return %0 : tensor<?x32xf64>
}

// -----

func.func @fp32_direct(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
  // expected-error @below {{blocks = 1>: method direct is as accurate as tf32, less than precision fp32 asks; write method = fp16x3 or method = fma, or precision<tf32> on the layer}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>}
      : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// -----

func.func @fp32_fp16(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
  // expected-error @below {{method = fp16>: method fp16 is as accurate as tf32, less than precision fp32 asks}}
  %0 = tenon.linear %x, %w precision<fp32> {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16>}
      : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// -----

func.func @fp32_few_columns(%x: tensor<?x63xf32>, %w: tensor<32x63xf32>) -> tensor<?x32xf32> {
  // expected-error @below {{method = fp16x3>: method fp16x3 is as accurate as precision fp32 asks from K = 64 on, but K is 63; write method = fma}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3>}
      : (tensor<?x63xf32>, tensor<32x63xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// -----

func.func @split_columns(%x: tensor<1x33554433xf32>, %w: tensor<1x33554433xf32>) -> tensor<1x1xf32> {
  // expected-error @below {{tenon.split takes at most 33554432 columns, but K is 33554433; write method = fma}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3>}
      : (tensor<1x33554433xf32>, tensor<1x33554433xf32>) -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}

// -----

func.func @method_of_16_bits(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>) -> tensor<?x32xbf16> {
  // expected-error @below {{method = fp16x3>: method fp16x3 multiplies f32, but x and w are bf16; leave method out}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3>}
      : (tensor<?x64xbf16>, tensor<32x64xbf16>) -> tensor<?x32xbf16>
  return %0 : tensor<?x32xbf16>
}

// -----

func.func @method_of_a_cast(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
  // expected-error @below {{method = fma>: method fma multiplies f32, but for precision bf16 x and w are cast to 16 bits; leave method out}}
  %0 = tenon.linear %x, %w precision<bf16> {schedule = #tenon.schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fma>}
      : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// -----

// The schedule is for halves: 64 of them are 128 bytes.
func.func @tile_of_halves(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
  // expected-error @below {{on sm_80: K of the tile must be the 64 elements of f16 that swizzle, 128 bytes, holds, not 32}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3>}
      : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// -----

// A schedule says how the rows of a batch norm meet.
func.func @reduction_unsaid(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> tensor<?x32xf16> {
  // expected-error @below {{a tile has but some; say in its schedule how rows meet, such as reduction = two_phase, or write #tenon.strategy<library>}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>) -> tensor<?x32xf16> attributes {schedule = #tenon.schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 64, raster = 8, blocks = 1>} {
    %1 = tenon.batch_norm_training %acc : (tensor<?x32xf16>) -> tensor<?x32xf16>
    tenon.yield %1 : tensor<?x32xf16>
  }
  return %0 : tensor<?x32xf16>
}

// -----

// One reduction can be part of a tiled layer; a bare product pays for split products alone.
func.func @reduction(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> tensor<?x32xf16> {
  // expected-error @below {{'tenon.fused_linear' op cannot be tiled: 'tenon.batch_norm_training' needs all rows, of which a tile has but some; write #tenon.strategy<library>}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>) -> tensor<?x32xf16> attributes {strategy = #tenon.strategy<tiled>} {
    %1 = tenon.batch_norm_training %acc : (tensor<?x32xf16>) -> tensor<?x32xf16>
    %2 = tenon.batch_norm_training %1 : (tensor<?x32xf16>) -> tensor<?x32xf16>
    tenon.yield %2 : tensor<?x32xf16>
  }
  return %0 : tensor<?x32xf16>
}
