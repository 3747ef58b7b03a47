// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --split-input-file --verify-diagnostics
// RUN: not tenon-opt %s --tenon-select-strategy=targets=sm_80,sm_90a --split-input-file 2>&1 | FileCheck %s

// The targets that have no wgmma are named.
// CHECK: error: 'tenon.linear' op cannot have the schedule #tenon.schedule<wgmma, {{.*}}> on sm_80: sm_80 has no wgmma; take a mma_sync schedule, or compile for sm_90a alone
func.func @targets(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> tensor<?x32xf16> {
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 128x256x64, warps = 8x1, stages = 4, swizzle = 128, raster = 16,
      blocks = 1, cluster = 2x1>} : (tensor<?x64xf16>, tensor<32x64xf16>) -> tensor<?x32xf16>
  return %0 : tensor<?x32xf16>
}

// -----

func.func @shape(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> tensor<?x32xf16> {
  // expected-error @below {{on sm_90a: M of the tile must be a multiple of 128 up to 256 with 8 warps along it, not 64}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 64x256x64, warps = 8x1, stages = 4, swizzle = 128, raster = 16,
      blocks = 1>} : (tensor<?x64xf16>, tensor<32x64xf16>) -> tensor<?x32xf16>
  return %0 : tensor<?x32xf16>
}

// -----

func.func @shared_memory(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> tensor<?x32xf16> {
  // expected-error @below {{on sm_90a: 5 stages of 49152 bytes do not fit the 197888 bytes of shared memory that sm_90a leaves them; use fewer stages or a smaller tile}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 128x256x64, warps = 8x1, stages = 5, swizzle = 128, raster = 16,
      blocks = 1>} : (tensor<?x64xf16>, tensor<32x64xf16>) -> tensor<?x32xf16>
  return %0 : tensor<?x32xf16>
}

// -----

func.func @rows_of_odd_bytes(%x: tensor<?x65xf32>, %w: tensor<32x65xf32>) -> tensor<?x32xf32> {
  // expected-error @below {{blocks = 1>: TMA copies rows of multiples of 16 bytes, but K = 65 of f32 has 260; pad K to 68, or take a mma_sync schedule}}
  %0 = tenon.linear %x, %w precision<tf32> {schedule = #tenon.schedule<wgmma, tile = 128x256x32, warps = 8x1, stages = 4, swizzle = 128, raster = 16,
      blocks = 1>} : (tensor<?x65xf32>, tensor<32x65xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// -----

// Operands swapped: the tile's N are rows of wgmma.
func.func @swapped(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> tensor<?x32xf16> {
  // expected-error @below {{on sm_90a: N of the tile must be a multiple of 64 up to 192 with 4 warps along it, not 32}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 8x32x64, warps = 1x4, stages = 4, swizzle = 128, raster = 16,
      blocks = 1>} : (tensor<?x64xf16>, tensor<32x64xf16>) -> tensor<?x32xf16>
  return %0 : tensor<?x32xf16>
}

// -----

// Tiles are deferred with operands swapped alone.
func.func @deferred(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> tensor<?x32xf16> {
  // expected-error @below {{on sm_90a: defer needs operands swapped; write warps = 1x8, or leave out defer}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 128x256x64, warps = 8x1, stages = 4,
      swizzle = 128, raster = 16, blocks = 1, defer = true>} : (tensor<?x64xf16>, tensor<32x64xf16>) -> tensor<?x32xf16>
  return %0 : tensor<?x32xf16>
}

// -----

func.func @swapped_reduction(%x: tensor<64x64xf16>, %w: tensor<64x64xf16>) -> tensor<64x64xf16> {
  // expected-error @below {{with swapped operands and reduction = two_phase M of the tile must be a multiple of 64, the rows that have moments together, not 32; use another M}}
  %0 = tenon.fused_linear %x, %w : tensor<64x64xf16>, tensor<64x64xf16>
      epilogue(%acc: tensor<64x64xf16>) -> tensor<64x64xf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 32x64x64, warps = 1x4, stages = 4, swizzle = 128, raster = 16, blocks = 1, reduction = two_phase>} {
    %1 = tenon.batch_norm_training %acc : (tensor<64x64xf16>) -> tensor<64x64xf16>
    tenon.yield %1 : tensor<64x64xf16>
  }
  return %0 : tensor<64x64xf16>
}

// -----

// 157 row tiles that wait for each other do not fit 132 multiprocessors.
func.func @resident_rows(%x: tensor<20000x64xf16>, %w: tensor<64x64xf16>) -> tensor<20000x64xf16> {
  // expected-error @below {{on sm_90a: with reduction = resident all row tiles of M = 20000 must be at work at once, more than its 132 multiprocessors; use larger tiles, or reduction = two_phase}}
  %0 = tenon.fused_linear %x, %w : tensor<20000x64xf16>, tensor<64x64xf16>
      epilogue(%acc: tensor<20000x64xf16>) -> tensor<20000x64xf16> attributes {schedule = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 16, blocks = 1, reduction = resident>} {
    %1 = tenon.batch_norm_training %acc : (tensor<20000x64xf16>) -> tensor<20000x64xf16>
    tenon.yield %1 : tensor<20000x64xf16>
  }
  return %0 : tensor<20000x64xf16>
}

// -----

func.func @swapped_resident_residual(%x: tensor<512x64xf16>, %w: tensor<64x64xf16>, %r: tensor<512x64xf16>) -> tensor<512x64xf16> {
  // expected-error @below {{reduction = resident: with swapped operands no operand with rows may come before the batch norm; write warps = 8x1 and a tile of a multiple of 128 rows}}
  %0 = tenon.fused_linear %x, %w : tensor<512x64xf16>, tensor<64x64xf16>
      epilogue(%acc: tensor<512x64xf16>, %0 = %r: tensor<512x64xf16>) -> tensor<512x64xf16> attributes {schedule = #tenon.schedule<wgmma, tile = 128x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = resident>} {
    %1 = tenon.add %acc, %0 : tensor<512x64xf16>, tensor<512x64xf16>
    %2 = tenon.batch_norm_training %1 : (tensor<512x64xf16>) -> tensor<512x64xf16>
    tenon.yield %2 : tensor<512x64xf16>
  }
  return %0 : tensor<512x64xf16>
}

// -----

func.func @swapped_resident_dynamic(%x: tensor<?x64xf16>, %w: tensor<64x64xf16>) -> tensor<?x64xf16> {
  // expected-error @below {{reduction = resident: M is dynamic, and rows that do not fit the GPU are reduced as by two_phase, which with swapped operands asks for an M of the tile that is a multiple of 64, not 40; use another M}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<64x64xf16>
      epilogue(%acc: tensor<?x64xf16>) -> tensor<?x64xf16> attributes {schedule = #tenon.schedule<wgmma, tile = 40x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = resident>} {
    %1 = tenon.batch_norm_training %acc : (tensor<?x64xf16>) -> tensor<?x64xf16>
    tenon.yield %1 : tensor<?x64xf16>
  }
  return %0 : tensor<?x64xf16>
}
