// The schedule of every tiled layer, but for those that have their own; as it is printed, or what stands within.
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_80 strategy=tiled schedule={#tenon.schedule<mma_sync, tile=64x64x64, warps=2x2, stages=3, swizzle=128, raster=8, blocks=1>}" | FileCheck %s
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_80 strategy=tiled schedule='mma_sync, tile=64x64x64, warps=2x2, stages=3, swizzle=128, raster=8, blocks=1'" | FileCheck %s

// CHECK: tenon.linear {{.*}}tile = 64x64x64
// CHECK: tenon.linear {{.*}}tile = 128x64x64
func.func @f(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> (tensor<?x32xf16>, tensor<?x32xf16>) {
  %0 = tenon.linear %x, %w : (tensor<?x64xf16>, tensor<32x64xf16>) -> tensor<?x32xf16>
  %1 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 128x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>}
      : (tensor<?x64xf16>, tensor<32x64xf16>) -> tensor<?x32xf16>
  return %0, %1 : tensor<?x32xf16>, tensor<?x32xf16>
}
