// RUN: tenon-opt %s --tenon-to-tiled --split-input-file --verify-diagnostics

func.func @no_schedule(%x: tensor<8x64xf16>, %w: tensor<32x64xf16>) -> tensor<8x32xf16> {
  // expected-error @below {{has strategy tiled, but no schedule; run --tenon-select-strategy before, or write a 'schedule'}}
  %0 = tenon.linear %x, %w {strategy = #tenon.strategy<tiled>} : (tensor<8x64xf16>, tensor<32x64xf16>) -> tensor<8x32xf16>
  return %0 : tensor<8x32xf16>
}

// -----

func.func @fused_without_schedule(%x: tensor<8x64xf16>, %w: tensor<32x64xf16>) -> tensor<8x32xf16> {
  // expected-error @below {{'tenon.fused_linear' op has strategy tiled, but no schedule}}
  %0 = tenon.fused_linear %x, %w : tensor<8x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<8x32xf16>) -> tensor<8x32xf16> attributes {strategy = #tenon.strategy<tiled>} {
    %1 = tenon.relu %acc : tensor<8x32xf16>
    tenon.yield %1 : tensor<8x32xf16>
  }
  return %0 : tensor<8x32xf16>
}

// -----

func.func @fp32(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>) -> tensor<8x32xf32> {
  // expected-error @below {{has strategy tiled and precision fp32, but method direct is as accurate as tf32, less than precision fp32 asks; write method = fp16x3 or method = fma, or precision<tf32> on the layer}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 64x32x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>, strategy = #tenon.strategy<tiled>} : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// -----

func.func @bf16(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>) -> tensor<8x32xf32> {
  // expected-error @below {{has strategy tiled and precision bf16, but x and w are f32; run --tenon-select-strategy before, which casts them}}
  %0 = tenon.linear %x, %w precision<bf16> {schedule = #tenon.schedule<mma_sync, tile = 64x32x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>, strategy = #tenon.strategy<tiled>} : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// -----

func.func @split_16_bits(%x: tensor<8x64xf16>, %w: tensor<32x64xf16>) -> tensor<8x32xf16> {
  // expected-error @below {{has strategy tiled: method fp16x3 multiplies f32, but x and w are f16; leave method out}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3>, strategy = #tenon.strategy<tiled>} : (tensor<8x64xf16>, tensor<32x64xf16>) -> tensor<8x32xf16>
  return %0 : tensor<8x32xf16>
}

// -----

func.func @f64(%x: tensor<8x64xf64>, %w: tensor<32x64xf64>) -> tensor<8x32xf64> {
  // expected-error @below {{multiplies x and w of one element type other than f64}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 64x32x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>, strategy = #tenon.strategy<tiled>} : (tensor<8x64xf64>, tensor<32x64xf64>) -> tensor<8x32xf64>
  return %0 : tensor<8x32xf64>
}

// -----

func.func @reduction(%x: tensor<8x64xf16>, %w: tensor<32x64xf16>, %s: tensor<32xf16>) -> tensor<8x32xf16> {
  %0 = tenon.fused_linear %x, %w : tensor<8x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<8x32xf16>, %m = %s: tensor<32xf16>) -> tensor<8x32xf16>
      attributes {schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>, strategy = #tenon.strategy<tiled>} {
    // expected-error @below {{needs a schedule with reduction = resident, but it has separate}}
    %1:3 = tenon.batch_norm_training %acc running(%m, %m)
        : (tensor<8x32xf16>, tensor<32xf16>, tensor<32xf16>) -> (tensor<8x32xf16>, tensor<32xf16>, tensor<32xf16>)
    tenon.yield %1#0 : tensor<8x32xf16>
  }
  return %0 : tensor<8x32xf16>
}

// -----

func.func @result_of_another_shape(%x: tensor<8x64xf16>, %w: tensor<32x64xf16>, %b: tensor<32xf16>) -> tensor<32xf16> {
  // expected-error @below {{writes outputs of the product's shape, 'tensor<8x32xf16>', but one is 'tensor<32xf16>'}}
  %0 = tenon.fused_linear %x, %w : tensor<8x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<8x32xf16>, %b_ = %b: tensor<32xf16>) -> tensor<32xf16>
      attributes {schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.relu %b_ : tensor<32xf16>
    tenon.yield %1 : tensor<32xf16>
  }
  return %0 : tensor<32xf16>
}
