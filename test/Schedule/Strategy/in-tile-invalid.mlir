// RUN: tenon-opt %s --split-input-file --verify-diagnostics --tenon-select-strategy=targets=sm_90a

func.func @narrow(%x: tensor<?x64xbf16>, %w: tensor<40x64xbf16>) -> tensor<?x1xbf16> {
  // expected-error @below {{reduction = in_tile: a tile must have whole rows, but its N is 32, less than the layer's 40; write a wider tile, or for N above 256 leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<40x64xbf16>
      epilogue(%acc: tensor<?x40xbf16>) -> tensor<?x1xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x32x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = in_tile>} {
    %1 = tenon.reduce_row max %acc : tensor<?x40xbf16>
    tenon.yield %1 : tensor<?x1xbf16>
  }
  return %0 : tensor<?x1xbf16>
}

// -----

func.func @swapped(%x: tensor<?x64xbf16>, %w: tensor<40x64xbf16>) -> tensor<?x1xbf16> {
  // expected-error @below {{reduction = in_tile: with operands swapped a row is spread over warps; write warps = 4x1, and leave out defer}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<40x64xbf16>
      epilogue(%acc: tensor<?x40xbf16>) -> tensor<?x1xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 32x64x64, warps = 1x4, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = in_tile>} {
    %1 = tenon.reduce_row max %acc : tensor<?x40xbf16>
    tenon.yield %1 : tensor<?x1xbf16>
  }
  return %0 : tensor<?x1xbf16>
}

// -----

func.func @cluster(%x: tensor<?x64xbf16>, %w: tensor<40x64xbf16>) -> tensor<?x1xbf16> {
  // expected-error @below {{reduction = in_tile: no other block has columns of a row; write cluster = 2x1 or 1x1}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<40x64xbf16>
      epilogue(%acc: tensor<?x40xbf16>) -> tensor<?x1xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, cluster = 1x2, reduction = in_tile>} {
    %1 = tenon.reduce_row max %acc : tensor<?x40xbf16>
    tenon.yield %1 : tensor<?x1xbf16>
  }
  return %0 : tensor<?x1xbf16>
}

// -----

func.func @one_row(%x: tensor<1x64xbf16>, %w: tensor<40x64xbf16>) -> tensor<1x1xbf16> {
  // expected-error @below {{reduction = in_tile: of one row nothing is tiled; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<1x64xbf16>, tensor<40x64xbf16>
      epilogue(%acc: tensor<1x40xbf16>) -> tensor<1x1xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = in_tile>} {
    %1 = tenon.reduce_row max %acc : tensor<1x40xbf16>
    tenon.yield %1 : tensor<1x1xbf16>
  }
  return %0 : tensor<1x1xbf16>
}

// -----

func.func @no_rows(%x: tensor<?x64xbf16>, %w: tensor<40x64xbf16>) -> tensor<?x40xbf16> {
  // expected-error @below {{reduction = in_tile: the layer reduces no rows; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<40x64xbf16>
      epilogue(%acc: tensor<?x40xbf16>) -> tensor<?x40xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = in_tile>} {
    %1 = tenon.relu %acc : tensor<?x40xbf16>
    tenon.yield %1 : tensor<?x40xbf16>
  }
  return %0 : tensor<?x40xbf16>
}

// -----

func.func @many(%x: tensor<?x64xbf16>, %w: tensor<40x64xbf16>) -> tensor<?x1xbf16> {
  // expected-error @below {{reduction = in_tile: a kernel has room for 4 reductions of rows; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<40x64xbf16>
      epilogue(%acc: tensor<?x40xbf16>) -> tensor<?x1xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = in_tile>} {
    %1 = tenon.reduce_row max %acc : tensor<?x40xbf16>
    %2 = tenon.reduce_row min %acc : tensor<?x40xbf16>
    %3 = tenon.reduce_row sum %acc : tensor<?x40xbf16>
    %4 = tenon.reduce_row mean %acc : tensor<?x40xbf16>
    %r = tenon.relu %acc : tensor<?x40xbf16>
    %5 = tenon.reduce_row mean %r : tensor<?x40xbf16>
    tenon.yield %5 : tensor<?x1xbf16>
  }
  return %0 : tensor<?x1xbf16>
}

// -----

func.func @features(%x: tensor<?x64xbf16>, %w: tensor<40x64xbf16>, %b: tensor<40xbf16>) -> (tensor<?x1xbf16>, tensor<40xbf16>) {
  // expected-error @below {{reduction = in_tile: result #1 is neither of the product's shape nor of one value a row; leave reduction out}}
  %0:2 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<40x64xbf16>
      epilogue(%acc: tensor<?x40xbf16>, %f = %b: tensor<40xbf16>) -> (tensor<?x1xbf16>, tensor<40xbf16>)
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = in_tile>} {
    %1 = tenon.reduce_row max %acc : tensor<?x40xbf16>
    %2 = tenon.relu %f : tensor<40xbf16>
    tenon.yield %1, %2 : tensor<?x1xbf16>, tensor<40xbf16>
  }
  return %0#0, %0#1 : tensor<?x1xbf16>, tensor<40xbf16>
}

// -----

func.func @ping_pong(%x: tensor<?x64xbf16>, %w: tensor<40x64xbf16>) -> tensor<?x1xbf16> {
  // expected-error @below {{reduction = in_tile: two tiles are at work with ping_pong, and a block has room for what is found of one's rows; leave ping_pong out}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<40x64xbf16>
      epilogue(%acc: tensor<?x40xbf16>) -> tensor<?x1xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, ping_pong = true, reduction = in_tile>} {
    %1 = tenon.reduce_row max %acc : tensor<?x40xbf16>
    tenon.yield %1 : tensor<?x1xbf16>
  }
  return %0 : tensor<?x1xbf16>
}

// -----

func.func @three(%x: tensor<?x64xbf16>, %w: tensor<48x64xbf16>) -> tensor<?x16xbf16> {
  // expected-error @below {{reduction = in_tile: lanes have 2, 4 or a multiple of 8 neighbouring columns, and groups have 3; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<48x64xbf16>
      epilogue(%acc: tensor<?x48xbf16>) -> tensor<?x16xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x48x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = in_tile>} {
    %1 = tenon.reduce_row max %acc {groups = 16} : tensor<?x48xbf16>
    tenon.yield %1 : tensor<?x16xbf16>
  }
  return %0 : tensor<?x16xbf16>
}

// -----

func.func @wider_than_tile(%x: tensor<?x64xbf16>, %w: tensor<128x64xbf16>) -> tensor<?x2xbf16> {
  // expected-error @below {{reduction = in_tile: a warp's part of the tile has 32 columns, no multiple of those of groups, 64; write another tile}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<128x64xbf16>
      epilogue(%acc: tensor<?x128xbf16>) -> tensor<?x2xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x32x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = in_tile>} {
    %1 = tenon.reduce_row max %acc {groups = 2} : tensor<?x128xbf16>
    tenon.yield %1 : tensor<?x2xbf16>
  }
  return %0 : tensor<?x2xbf16>
}

// -----

func.func @wider_than_warp(%x: tensor<?x64xbf16>, %w: tensor<128x64xbf16>) -> tensor<?x2xbf16> {
  // expected-error @below {{reduction = in_tile: a warp's part of the tile has 32 columns, no multiple of those of groups, 64; write another tile}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<128x64xbf16>
      epilogue(%acc: tensor<?x128xbf16>) -> tensor<?x2xbf16>
      attributes {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = in_tile>} {
    %1 = tenon.reduce_row max %acc {groups = 2} : tensor<?x128xbf16>
    tenon.yield %1 : tensor<?x2xbf16>
  }
  return %0 : tensor<?x2xbf16>
}

// -----

func.func @split(%x: tensor<?x128xf32>, %w: tensor<160x128xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{reduction = in_tile: the kernel beside it, which computes anew what a split does not hold, has no tile of groups of 40 columns; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<?x128xf32>, tensor<160x128xf32>
      epilogue(%acc: tensor<?x160xf32>) -> tensor<?x4xf32>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x160x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, method = fp16x3, reduction = in_tile>} {
    %1 = tenon.reduce_row max %acc {groups = 4} : tensor<?x160xf32>
    tenon.yield %1 : tensor<?x4xf32>
  }
  return %0 : tensor<?x4xf32>
}

// -----

func.func @two_results(%x: tensor<?x64xbf16>, %w: tensor<64x64xbf16>) -> (tensor<?x64xbf16>, tensor<?x64xbf16>) {
  // expected-error @below {{reduction = in_tile: of groups of columns a tile keeps what is found while one result of the product's shape is computed; leave reduction out}}
  %0:2 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<64x64xbf16>
      epilogue(%acc: tensor<?x64xbf16>) -> (tensor<?x64xbf16>, tensor<?x64xbf16>)
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = in_tile>} {
    %1 = tenon.reduce_row mean %acc {groups = 4} : tensor<?x64xbf16>
    %2 = tenon.repeat_columns %1 {times = 16} : tensor<?x4xbf16>
    %3 = tenon.sub %acc, %2 : tensor<?x64xbf16>, tensor<?x64xbf16>
    tenon.yield %acc, %3 : tensor<?x64xbf16>, tensor<?x64xbf16>
  }
  return %0#0, %0#1 : tensor<?x64xbf16>, tensor<?x64xbf16>
}
