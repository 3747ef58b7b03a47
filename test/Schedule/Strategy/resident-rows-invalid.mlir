// RUN: tenon-opt %s --split-input-file --verify-diagnostics --tenon-select-strategy=targets=sm_90a

func.func @one_tile(%x: tensor<64x64xbf16>, %w: tensor<40x64xbf16>) -> tensor<64x40xbf16> {
  // expected-error @below {{reduction = resident_rows: a tile has whole rows, of N = 40 columns; write reduction = in_tile}}
  %0 = tenon.fused_linear %x, %w : tensor<64x64xbf16>, tensor<40x64xbf16>
      epilogue(%acc: tensor<64x40xbf16>) -> tensor<64x40xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = resident_rows>} {
    %z = tenon.cast %acc : tensor<64x40xbf16> -> tensor<64x40xf32>
    %mean = tenon.reduce_row mean %z : tensor<64x40xf32>
    %d = tenon.sub %z, %mean : tensor<64x40xf32>, tensor<64x1xf32>
    %q = tenon.mul %d, %d : tensor<64x40xf32>, tensor<64x40xf32>
    %var = tenon.reduce_row mean %q : tensor<64x40xf32>
    %e = tenon.add %var, 1.0e-05 : tensor<64x1xf32>
    %inv = tenon.rsqrt %e : tensor<64x1xf32>
    %f = tenon.mul %d, %inv : tensor<64x40xf32>, tensor<64x1xf32>
    %y = tenon.cast %f : tensor<64x40xf32> -> tensor<64x40xbf16>
    tenon.yield %y : tensor<64x40xbf16>
  }
  return %0 : tensor<64x40xbf16>
}

// -----

func.func @two_groups(%x: tensor<64x64xbf16>, %w: tensor<128x64xbf16>) -> tensor<64x128xbf16> {
  // expected-error @below {{reduction = resident_rows: a cluster's tiles have 128 columns, and groups of 64 are no multiple of that; write a tile, or a cluster, of fewer}}
  %0 = tenon.fused_linear %x, %w : tensor<64x64xbf16>, tensor<128x64xbf16>
      epilogue(%acc: tensor<64x128xbf16>) -> tensor<64x128xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x128x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = resident_rows>} {
    %z = tenon.cast %acc : tensor<64x128xbf16> -> tensor<64x128xf32>
    %mean = tenon.reduce_row mean %z {groups = 2} : tensor<64x128xf32>
    %means = tenon.repeat_columns %mean {times = 64} : tensor<64x2xf32>
    %d = tenon.sub %z, %means : tensor<64x128xf32>, tensor<64x128xf32>
    %q = tenon.mul %d, %d : tensor<64x128xf32>, tensor<64x128xf32>
    %var = tenon.reduce_row mean %q {groups = 2} : tensor<64x128xf32>
    %e = tenon.add %var, 1.0e-05 : tensor<64x2xf32>
    %inv = tenon.rsqrt %e : tensor<64x2xf32>
    %invs = tenon.repeat_columns %inv {times = 64} : tensor<64x2xf32>
    %f = tenon.mul %d, %invs : tensor<64x128xf32>, tensor<64x128xf32>
    %y = tenon.cast %f : tensor<64x128xf32> -> tensor<64x128xbf16>
    tenon.yield %y : tensor<64x128xbf16>
  }
  return %0 : tensor<64x128xbf16>
}

// -----

func.func @cluster_of_groups(%x: tensor<64x64xbf16>, %w: tensor<128x64xbf16>) -> tensor<64x128xbf16> {
  // expected-error @below {{reduction = resident_rows: a cluster's tiles have 128 columns, and groups of 64 are no multiple of that; write a tile, or a cluster, of fewer}}
  %0 = tenon.fused_linear %x, %w : tensor<64x64xbf16>, tensor<128x64xbf16>
      epilogue(%acc: tensor<64x128xbf16>) -> tensor<64x128xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, cluster = 1x2, reduction = resident_rows>} {
    %z = tenon.cast %acc : tensor<64x128xbf16> -> tensor<64x128xf32>
    %mean = tenon.reduce_row mean %z {groups = 2} : tensor<64x128xf32>
    %means = tenon.repeat_columns %mean {times = 64} : tensor<64x2xf32>
    %d = tenon.sub %z, %means : tensor<64x128xf32>, tensor<64x128xf32>
    %q = tenon.mul %d, %d : tensor<64x128xf32>, tensor<64x128xf32>
    %var = tenon.reduce_row mean %q {groups = 2} : tensor<64x128xf32>
    %e = tenon.add %var, 1.0e-05 : tensor<64x2xf32>
    %inv = tenon.rsqrt %e : tensor<64x2xf32>
    %invs = tenon.repeat_columns %inv {times = 64} : tensor<64x2xf32>
    %f = tenon.mul %d, %invs : tensor<64x128xf32>, tensor<64x128xf32>
    %y = tenon.cast %f : tensor<64x128xf32> -> tensor<64x128xbf16>
    tenon.yield %y : tensor<64x128xbf16>
  }
  return %0 : tensor<64x128xbf16>
}

// -----

func.func @stream_k(%x: tensor<64x64xbf16>, %w: tensor<128x64xbf16>) -> tensor<64x128xbf16> {
  // expected-error @below {{with reduction = resident_rows all tiles of a row wait for each other, so stream_k cannot be; leave it out}}
  %0 = tenon.fused_linear %x, %w : tensor<64x64xbf16>, tensor<128x64xbf16>
      epilogue(%acc: tensor<64x128xbf16>) -> tensor<64x128xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, stream_k = true, reduction = resident_rows>} {
    %z = tenon.cast %acc : tensor<64x128xbf16> -> tensor<64x128xf32>
    %mean = tenon.reduce_row mean %z : tensor<64x128xf32>
    %d = tenon.sub %z, %mean : tensor<64x128xf32>, tensor<64x1xf32>
    %q = tenon.mul %d, %d : tensor<64x128xf32>, tensor<64x128xf32>
    %var = tenon.reduce_row mean %q : tensor<64x128xf32>
    %e = tenon.add %var, 1.0e-05 : tensor<64x1xf32>
    %inv = tenon.rsqrt %e : tensor<64x1xf32>
    %f = tenon.mul %d, %inv : tensor<64x128xf32>, tensor<64x1xf32>
    %y = tenon.cast %f : tensor<64x128xf32> -> tensor<64x128xbf16>
    tenon.yield %y : tensor<64x128xbf16>
  }
  return %0 : tensor<64x128xbf16>
}

// -----

func.func @one_row(%x: tensor<1x64xbf16>, %w: tensor<128x64xbf16>) -> tensor<1x128xbf16> {
  // expected-error @below {{reduction = resident_rows: of one row nothing is tiled; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<1x64xbf16>, tensor<128x64xbf16>
      epilogue(%acc: tensor<1x128xbf16>) -> tensor<1x128xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = resident_rows>} {
    %z = tenon.cast %acc : tensor<1x128xbf16> -> tensor<1x128xf32>
    %mean = tenon.reduce_row mean %z : tensor<1x128xf32>
    %d = tenon.sub %z, %mean : tensor<1x128xf32>, tensor<1x1xf32>
    %q = tenon.mul %d, %d : tensor<1x128xf32>, tensor<1x128xf32>
    %var = tenon.reduce_row mean %q : tensor<1x128xf32>
    %e = tenon.add %var, 1.0e-05 : tensor<1x1xf32>
    %inv = tenon.rsqrt %e : tensor<1x1xf32>
    %f = tenon.mul %d, %inv : tensor<1x128xf32>, tensor<1x1xf32>
    %y = tenon.cast %f : tensor<1x128xf32> -> tensor<1x128xbf16>
    tenon.yield %y : tensor<1x128xbf16>
  }
  return %0 : tensor<1x128xbf16>
}

// -----

func.func @many(%x: tensor<64x64xbf16>, %w: tensor<1600x64xbf16>) -> tensor<64x1600xbf16> {
  // expected-error @below {{reduction = resident_rows: all 200 tiles of a row must be at work together, more than the 192 multiprocessors that any GPU is taken to have; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<64x64xbf16>, tensor<1600x64xbf16>
      epilogue(%acc: tensor<64x1600xbf16>) -> tensor<64x1600xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x8x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = resident_rows>} {
    %z = tenon.cast %acc : tensor<64x1600xbf16> -> tensor<64x1600xf32>
    %mean = tenon.reduce_row mean %z : tensor<64x1600xf32>
    %d = tenon.sub %z, %mean : tensor<64x1600xf32>, tensor<64x1xf32>
    %q = tenon.mul %d, %d : tensor<64x1600xf32>, tensor<64x1600xf32>
    %var = tenon.reduce_row mean %q : tensor<64x1600xf32>
    %e = tenon.add %var, 1.0e-05 : tensor<64x1xf32>
    %inv = tenon.rsqrt %e : tensor<64x1xf32>
    %f = tenon.mul %d, %inv : tensor<64x1600xf32>, tensor<64x1xf32>
    %y = tenon.cast %f : tensor<64x1600xf32> -> tensor<64x1600xbf16>
    tenon.yield %y : tensor<64x1600xbf16>
  }
  return %0 : tensor<64x1600xbf16>
}

// -----

func.func @more_than_target(%x: tensor<64x64xbf16>, %w: tensor<1200x64xbf16>) -> tensor<64x1200xbf16> {
  // expected-error @below {{on sm_90a: with reduction = resident_rows all tiles of a row, or of a group of its columns, must be at work at once, of 1200 columns more than its 132 multiprocessors; use larger tiles, or leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<64x64xbf16>, tensor<1200x64xbf16>
      epilogue(%acc: tensor<64x1200xbf16>) -> tensor<64x1200xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x8x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = resident_rows>} {
    %z = tenon.cast %acc : tensor<64x1200xbf16> -> tensor<64x1200xf32>
    %mean = tenon.reduce_row mean %z : tensor<64x1200xf32>
    %d = tenon.sub %z, %mean : tensor<64x1200xf32>, tensor<64x1xf32>
    %q = tenon.mul %d, %d : tensor<64x1200xf32>, tensor<64x1200xf32>
    %var = tenon.reduce_row mean %q : tensor<64x1200xf32>
    %e = tenon.add %var, 1.0e-05 : tensor<64x1xf32>
    %inv = tenon.rsqrt %e : tensor<64x1xf32>
    %f = tenon.mul %d, %inv : tensor<64x1200xf32>, tensor<64x1xf32>
    %y = tenon.cast %f : tensor<64x1200xf32> -> tensor<64x1200xbf16>
    tenon.yield %y : tensor<64x1200xbf16>
  }
  return %0 : tensor<64x1200xbf16>
}

// -----

func.func @three(%x: tensor<64x64xbf16>, %w: tensor<128x64xbf16>) -> tensor<64x128xbf16> {
  // expected-error @below {{reduction = resident_rows: tiles exchange 2 numbers a row, one for each reduction; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<64x64xbf16>, tensor<128x64xbf16>
      epilogue(%acc: tensor<64x128xbf16>) -> tensor<64x128xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = resident_rows>} {
    %z = tenon.cast %acc : tensor<64x128xbf16> -> tensor<64x128xf32>
    %mean = tenon.reduce_row mean %z : tensor<64x128xf32>
    %d = tenon.sub %z, %mean : tensor<64x128xf32>, tensor<64x1xf32>
    %q = tenon.mul %d, %d : tensor<64x128xf32>, tensor<64x128xf32>
    %var = tenon.reduce_row mean %q : tensor<64x128xf32>
    %max = tenon.reduce_row max %z : tensor<64x128xf32>
    %t = tenon.add %var, %max : tensor<64x1xf32>, tensor<64x1xf32>
    %e = tenon.add %t, 1.0e-05 : tensor<64x1xf32>
    %inv = tenon.rsqrt %e : tensor<64x1xf32>
    %f = tenon.mul %d, %inv : tensor<64x128xf32>, tensor<64x1xf32>
    %y = tenon.cast %f : tensor<64x128xf32> -> tensor<64x128xbf16>
    tenon.yield %y : tensor<64x128xbf16>
  }
  return %0 : tensor<64x128xbf16>
}

// -----

func.func @of_another(%x: tensor<64x64xbf16>, %w: tensor<128x64xbf16>) -> tensor<64x128xbf16> {
  // expected-error @below {{reduction = resident_rows: 'tenon.reduce_row max' reduces what depends on another reduction, other than a sum of exp(x - v) with v of one value a row, or of squared distances from the mean; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<64x64xbf16>, tensor<128x64xbf16>
      epilogue(%acc: tensor<64x128xbf16>) -> tensor<64x128xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = resident_rows>} {
    %z = tenon.cast %acc : tensor<64x128xbf16> -> tensor<64x128xf32>
    %mean = tenon.reduce_row mean %z : tensor<64x128xf32>
    %d = tenon.sub %z, %mean : tensor<64x128xf32>, tensor<64x1xf32>
    %q = tenon.mul %d, %d : tensor<64x128xf32>, tensor<64x128xf32>
    %var = tenon.reduce_row max %q : tensor<64x128xf32>
    %e = tenon.add %var, 1.0e-05 : tensor<64x1xf32>
    %inv = tenon.rsqrt %e : tensor<64x1xf32>
    %f = tenon.mul %d, %inv : tensor<64x128xf32>, tensor<64x1xf32>
    %y = tenon.cast %f : tensor<64x128xf32> -> tensor<64x128xbf16>
    tenon.yield %y : tensor<64x128xbf16>
  }
  return %0 : tensor<64x128xbf16>
}

// -----

func.func @mma_sync(%x: tensor<64x64xbf16>, %w: tensor<128x64xbf16>) -> tensor<64x128xbf16> {
  // expected-error @below {{with reduction = resident_rows a multiprocessor has one block; write blocks = 1, not 2}}
  %0 = tenon.fused_linear %x, %w : tensor<64x64xbf16>, tensor<128x64xbf16>
      epilogue(%acc: tensor<64x128xbf16>) -> tensor<64x128xbf16>
      attributes {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 2, blocks = 2, reduction = resident_rows>} {
    %z = tenon.cast %acc : tensor<64x128xbf16> -> tensor<64x128xf32>
    %mean = tenon.reduce_row mean %z : tensor<64x128xf32>
    %d = tenon.sub %z, %mean : tensor<64x128xf32>, tensor<64x1xf32>
    %q = tenon.mul %d, %d : tensor<64x128xf32>, tensor<64x128xf32>
    %var = tenon.reduce_row mean %q : tensor<64x128xf32>
    %e = tenon.add %var, 1.0e-05 : tensor<64x1xf32>
    %inv = tenon.rsqrt %e : tensor<64x1xf32>
    %f = tenon.mul %d, %inv : tensor<64x128xf32>, tensor<64x1xf32>
    %y = tenon.cast %f : tensor<64x128xf32> -> tensor<64x128xbf16>
    tenon.yield %y : tensor<64x128xbf16>
  }
  return %0 : tensor<64x128xbf16>
}

// -----

func.func @place(%x: tensor<64x64xbf16>, %w: tensor<400x64xbf16>) -> tensor<64x400xf32> {
  // expected-error @below {{reduction = resident_rows: tiles exchange no places, as of an argmax; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<64x64xbf16>, tensor<400x64xbf16>
      epilogue(%acc: tensor<64x400xbf16>) -> tensor<64x400xf32>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = resident_rows>} {
    %z = tenon.cast %acc : tensor<64x400xbf16> -> tensor<64x400xf32>
    %at = tenon.reduce_row argmax %z : tensor<64x400xf32>
    %y = tenon.sub %z, %at : tensor<64x400xf32>, tensor<64x1xf32>
    tenon.yield %y : tensor<64x400xf32>
  }
  return %0 : tensor<64x400xf32>
}

// -----

func.func @mma_stream_k(%x: tensor<64x64xbf16>, %w: tensor<128x64xbf16>) -> tensor<64x128xbf16> {
  // expected-error @below {{with reduction = resident_rows all tiles of a row wait for each other, so stream_k cannot be; leave it out}}
  %0 = tenon.fused_linear %x, %w : tensor<64x64xbf16>, tensor<128x64xbf16>
      epilogue(%acc: tensor<64x128xbf16>) -> tensor<64x128xbf16>
      attributes {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 2, blocks = 1, stream_k = true, reduction = resident_rows>} {
    %max = tenon.reduce_row max %acc : tensor<64x128xbf16>
    %y = tenon.sub %acc, %max : tensor<64x128xbf16>, tensor<64x1xbf16>
    tenon.yield %y : tensor<64x128xbf16>
  }
  return %0 : tensor<64x128xbf16>
}

// -----

func.func @split_groups(%x: tensor<64x64xf32>, %w: tensor<96x64xf32>) -> tensor<64x96xf32> {
  // expected-error @below {{reduction = resident_rows: tiles of the kernel beside it, which computes anew what a split does not hold, have 64 columns or more, and groups of 48 are no multiple of that; leave reduction out}}
  %0 = tenon.fused_linear %x, %w : tensor<64x64xf32>, tensor<96x64xf32>
      epilogue(%acc: tensor<64x96xf32>) -> tensor<64x96xf32>
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x48x64, warps = 4x1, stages = 3, swizzle = 128, raster = 2, blocks = 1, method = fp16x3, reduction = resident_rows>} {
    %max = tenon.reduce_row max %acc {groups = 2} : tensor<64x96xf32>
    %tops = tenon.repeat_columns %max {times = 48} : tensor<64x2xf32>
    %y = tenon.sub %acc, %tops : tensor<64x96xf32>, tensor<64x96xf32>
    tenon.yield %y : tensor<64x96xf32>
  }
  return %0 : tensor<64x96xf32>
}
