// RUN: tenon-opt %s --tenon-to-tiled --split-input-file --verify-diagnostics

// What x and w cannot give the statistics of.
func.func @long_k(%x: tensor<?x257xf16>, %w: tensor<32x257xf16>, %r: tensor<?x32xf16>, %m: tensor<32xf32>) -> tensor<?x32xf16> {
  // expected-error @below {{reduction = input_moments: moments of x take K^2 products a row, and K = 257 is more than 256, beyond which those of the product take less time; write reduction = two_phase}}
  %0 = tenon.fused_linear %x, %w : tensor<?x257xf16>, tensor<32x257xf16>
      epilogue(%acc: tensor<?x32xf16>, %res = %r: tensor<?x32xf16>, %mean = %m: tensor<32xf32>) -> tensor<?x32xf16>
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = input_moments>} {
    %n = tenon.batch_norm_training %acc : (tensor<?x32xf16>) -> tensor<?x32xf16>
    tenon.yield %n : tensor<?x32xf16>
  }
  return %0 : tensor<?x32xf16>
}

// -----

func.func @tf32(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %r: tensor<?x32xf32>, %m: tensor<32xf32>) -> tensor<?x32xf32> {
  // expected-error @below {{reduction = input_moments: a product of precision tf32 rounds x and w, so its moments are others than theirs; write reduction = two_phase}}
  %0 = tenon.fused_linear %x, %w precision<tf32> : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>, %res = %r: tensor<?x32xf32>, %mean = %m: tensor<32xf32>) -> tensor<?x32xf32>
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<mma_sync, tile = 64x32x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = input_moments>} {
    %n = tenon.batch_norm_training %acc : (tensor<?x32xf32>) -> tensor<?x32xf32>
    tenon.yield %n : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

func.func @activation_before(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>, %r: tensor<?x32xf16>, %m: tensor<32xf32>) -> tensor<?x32xf16> {
  // expected-error @below {{reduction = input_moments: between the product and the batch norm there is more than products and sums with numbers or vectors [N]; write reduction = two_phase}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>, %res = %r: tensor<?x32xf16>, %mean = %m: tensor<32xf32>) -> tensor<?x32xf16>
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = input_moments>} {
    %1 = tenon.relu %acc : tensor<?x32xf16>
    %n = tenon.batch_norm_training %1 : (tensor<?x32xf16>) -> tensor<?x32xf16>
    tenon.yield %n : tensor<?x32xf16>
  }
  return %0 : tensor<?x32xf16>
}

// -----

func.func @matrix_before(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>, %r: tensor<?x32xf16>, %m: tensor<32xf32>) -> tensor<?x32xf16> {
  // expected-error @below {{reduction = input_moments: between the product and the batch norm there is more than products and sums with numbers or vectors [N]; write reduction = two_phase}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>, %res = %r: tensor<?x32xf16>, %mean = %m: tensor<32xf32>) -> tensor<?x32xf16>
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = input_moments>} {
    %1 = tenon.add %acc, %res : tensor<?x32xf16>, tensor<?x32xf16>
    %n = tenon.batch_norm_training %1 : (tensor<?x32xf16>) -> tensor<?x32xf16>
    tenon.yield %n : tensor<?x32xf16>
  }
  return %0 : tensor<?x32xf16>
}

// -----

func.func @squared(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>, %r: tensor<?x32xf16>, %m: tensor<32xf32>) -> tensor<?x32xf16> {
  // expected-error @below {{reduction = input_moments: between the product and the batch norm there is more}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>, %res = %r: tensor<?x32xf16>, %mean = %m: tensor<32xf32>) -> tensor<?x32xf16>
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = input_moments>} {
    %1 = tenon.mul %acc, %acc : tensor<?x32xf16>, tensor<?x32xf16>
    %n = tenon.batch_norm_training %1 : (tensor<?x32xf16>) -> tensor<?x32xf16>
    tenon.yield %n : tensor<?x32xf16>
  }
  return %0 : tensor<?x32xf16>
}

// -----

func.func @statistics_alone(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>, %r: tensor<?x32xf16>, %m: tensor<32xf32>) -> tensor<32xf32> {
  // expected-error @below {{reduction = input_moments: the layer returns statistics alone; write reduction = two_phase}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>, %res = %r: tensor<?x32xf16>, %mean = %m: tensor<32xf32>) -> tensor<32xf32>
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = input_moments>} {
    %n:3 = tenon.batch_norm_training %acc running(%mean, %mean) : (tensor<?x32xf16>, tensor<32xf32>, tensor<32xf32>) -> (tensor<?x32xf16>, tensor<32xf32>, tensor<32xf32>)
    tenon.yield %n#1 : tensor<32xf32>
  }
  return %0 : tensor<32xf32>
}

// -----

func.func @no_norm(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>, %r: tensor<?x32xf16>, %m: tensor<32xf32>) -> tensor<?x32xf16> {
  // expected-error @below {{reduction = input_moments: the layer has no training batch norm; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>, %res = %r: tensor<?x32xf16>, %mean = %m: tensor<32xf32>) -> tensor<?x32xf16>
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = input_moments>} {
    %1 = tenon.relu %acc : tensor<?x32xf16>
    tenon.yield %1 : tensor<?x32xf16>
  }
  return %0 : tensor<?x32xf16>
}
