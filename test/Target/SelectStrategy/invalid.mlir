// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_80,sm_86 --split-input-file --verify-diagnostics

func.func @library_with_schedule(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> tensor<?x32xf16> {
  // expected-error @below {{'tenon.linear' op has a schedule, but the strategy library takes none; write #tenon.strategy<tiled>, or remove 'tenon.schedule'}}
  %0 = tenon.linear %x, %w {tenon.strategy = #tenon.strategy<library>, tenon.schedule = #tenon.schedule<mma_sync, tile = 64x64x64,
      warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>} : (tensor<?x64xf16>, tensor<32x64xf16>) -> tensor<?x32xf16>
  return %0 : tensor<?x32xf16>
}

// -----

// The larger GPU has the shared memory, the smaller has not.
func.func @too_large_for_one(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> tensor<?x32xf16> {
  // expected-error-re @below {{'tenon.linear' op cannot have the schedule #tenon.schedule<mma_sync, tile = 128x256x64, warps = 2x4, stages = 3, swizzle = 128, raster = 8, blocks = 1> on sm_86: 3 stages of 49152 bytes do not fit the {{[0-9]+}} bytes of shared memory that sm_86 leaves them; use fewer stages or a smaller tile}}
  %0 = tenon.linear %x, %w {tenon.schedule = #tenon.schedule<mma_sync, tile = 128x256x64,
      warps = 2x4, stages = 3, swizzle = 128, raster = 8, blocks = 1>} : (tensor<?x64xf16>, tensor<32x64xf16>) -> tensor<?x32xf16>
  return %0 : tensor<?x32xf16>
}

// -----

// The type that counts is the one that the precision gives: 64 elements of bf16 are 128 bytes.
func.func @precision_decides(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  %0 = tenon.linear %x, %w precision<bf16> {tenon.schedule = #tenon.schedule<mma_sync, tile = 64x64x64,
      warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>} : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  // expected-error @below {{on sm_80: K of the tile must be the 32 elements of f32 that swizzle, 128 bytes, holds, not 64}}
  %1 = tenon.linear %x, %w precision<tf32> {tenon.schedule = #tenon.schedule<mma_sync, tile = 64x64x64,
      warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>} : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %0, %1 : tensor<?x32xf32>, tensor<?x32xf32>
}

// -----

func.func @tiled_f64(%x: tensor<?x64xf64>, %w: tensor<32x64xf64>) -> tensor<?x32xf64> {
  // expected-error @below {{'tenon.linear' op cannot be tiled: no tiled kernel multiplies f64; write #tenon.strategy<library>}}
  %0 = tenon.linear %x, %w {tenon.strategy = #tenon.strategy<tiled>} : (tensor<?x64xf64>, tensor<32x64xf64>) -> tensor<?x32xf64>
  return %0 : tensor<?x32xf64>
}

// -----

func.func @tiled_fp32(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
  // expected-error @below {{'tenon.linear' op cannot be tiled: no tiled kernel is as accurate as precision fp32 asks; if less is enough, write precision<tf32>, <bf16> or <fp16> on the layer, or write #tenon.strategy<library>}}
  %0 = tenon.linear %x, %w {tenon.strategy = #tenon.strategy<tiled>} : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}
