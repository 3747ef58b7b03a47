// RUN: tenon-opt %s --split-input-file --verify-diagnostics --tenon-select-strategy=targets=sm_90a

func.func @swapped(%x: tensor<?x64xbf16>, %w: tensor<400x64xbf16>) -> tensor<?x1xbf16> {
  // expected-error @below {{reduction = reduce_only: with operands swapped a row is spread over warps; write warps = 4x1, and leave out defer}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<400x64xbf16>
      epilogue(%acc: tensor<?x400xbf16>) -> tensor<?x1xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 32x64x64, warps = 1x4, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = reduce_only>} {
    %1 = tenon.reduce_row max %acc : tensor<?x400xbf16>
    tenon.yield %1 : tensor<?x1xbf16>
  }
  return %0 : tensor<?x1xbf16>
}

// -----

func.func @width(%x: tensor<?x64xbf16>, %w: tensor<400x64xbf16>) -> tensor<?x1xbf16> {
  // expected-error @below {{reduction = reduce_only: N of the tile is 96, but kernels that stand beside it have tiles of 64, 128 or 256 columns; write one of these}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<400x64xbf16>
      epilogue(%acc: tensor<?x400xbf16>) -> tensor<?x1xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x96x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = reduce_only>} {
    %1 = tenon.reduce_row max %acc : tensor<?x400xbf16>
    tenon.yield %1 : tensor<?x1xbf16>
  }
  return %0 : tensor<?x1xbf16>
}

// -----

func.func @narrow(%x: tensor<?x64xbf16>, %w: tensor<40x64xbf16>) -> tensor<?x1xbf16> {
  // expected-error @below {{reduction = reduce_only: a tile has whole rows, of N = 40 columns; write reduction = in_tile}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<40x64xbf16>
      epilogue(%acc: tensor<?x40xbf16>) -> tensor<?x1xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = reduce_only>} {
    %1 = tenon.reduce_row max %acc : tensor<?x40xbf16>
    tenon.yield %1 : tensor<?x1xbf16>
  }
  return %0 : tensor<?x1xbf16>
}

// -----

func.func @one_row(%x: tensor<1x64xbf16>, %w: tensor<400x64xbf16>) -> tensor<1x1xbf16> {
  // expected-error @below {{reduction = reduce_only: of one row nothing is tiled; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<1x64xbf16>, tensor<400x64xbf16>
      epilogue(%acc: tensor<1x400xbf16>) -> tensor<1x1xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = reduce_only>} {
    %1 = tenon.reduce_row max %acc : tensor<1x400xbf16>
    tenon.yield %1 : tensor<1x1xbf16>
  }
  return %0 : tensor<1x1xbf16>
}

// -----

func.func @no_rows(%x: tensor<?x64xbf16>, %w: tensor<400x64xbf16>) -> tensor<?x400xbf16> {
  // expected-error @below {{reduction = reduce_only: the layer reduces no rows; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<400x64xbf16>
      epilogue(%acc: tensor<?x400xbf16>) -> tensor<?x400xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = reduce_only>} {
    %1 = tenon.relu %acc : tensor<?x400xbf16>
    tenon.yield %1 : tensor<?x400xbf16>
  }
  return %0 : tensor<?x400xbf16>
}

// -----

func.func @all_columns(%x: tensor<?x64xbf16>, %w: tensor<400x64xbf16>) -> tensor<?x400xbf16> {
  // expected-error @below {{reduction = reduce_only: result #0 is not of one value a row; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<400x64xbf16>
      epilogue(%acc: tensor<?x400xbf16>) -> tensor<?x400xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = reduce_only>} {
    %1 = tenon.reduce_row max %acc : tensor<?x400xbf16>
    %2 = tenon.sub %acc, %1 : tensor<?x400xbf16>, tensor<?x1xbf16>
    tenon.yield %2 : tensor<?x400xbf16>
  }
  return %0 : tensor<?x400xbf16>
}

// -----

func.func @after_another(%x: tensor<?x64xbf16>, %w: tensor<400x64xbf16>) -> tensor<?x1xbf16> {
  // expected-error @below {{reduction = reduce_only: 'tenon.reduce_row min' reduces what depends on another reduction, other than a sum of exp(x - v) with v of one value a row; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<400x64xbf16>
      epilogue(%acc: tensor<?x400xbf16>) -> tensor<?x1xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = reduce_only>} {
    %1 = tenon.reduce_row max %acc : tensor<?x400xbf16>
    %2 = tenon.sub %acc, %1 : tensor<?x400xbf16>, tensor<?x1xbf16>
    %3 = tenon.reduce_row min %2 : tensor<?x400xbf16>
    tenon.yield %3 : tensor<?x1xbf16>
  }
  return %0 : tensor<?x1xbf16>
}

// -----

func.func @numbers(%x: tensor<?x64xbf16>, %w: tensor<400x64xbf16>, %n: tensor<?x400xf32>) -> tensor<?x1xf32> {
  // expected-error @below {{reduction = reduce_only: 'tenon.reduce_row' takes numbers, and in a tile columns alone have one; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<400x64xbf16>
      epilogue(%acc: tensor<?x400xbf16>, %at = %n: tensor<?x400xf32>) -> tensor<?x1xf32>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = reduce_only>} {
    %1 = tenon.reduce_row argmax %acc at %at : tensor<?x400xbf16>, tensor<?x400xf32>
    tenon.yield %1 : tensor<?x1xf32>
  }
  return %0 : tensor<?x1xf32>
}
