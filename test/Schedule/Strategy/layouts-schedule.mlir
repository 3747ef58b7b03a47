// Which schedules take 16 bits that lie along M or N.
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled schedule='wgmma, tile=128x192x64, warps=8x1, stages=4, swizzle=128, raster=8, blocks=1'" | FileCheck %s
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled schedule='mma_sync, tile=64x64x64, warps=2x2, stages=3, swizzle=128, raster=8, blocks=1'" | FileCheck %s
// RUN: not tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled schedule='wgmma, tile=128x96x64, warps=8x1, stages=4, swizzle=128, raster=8, blocks=1'" 2>&1 | FileCheck %s --check-prefix=BOX
// RUN: not tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled schedule='wgmma, tile=64x64x64, warps=4x1, stages=4, swizzle=128, raster=8, blocks=1, cluster=1x2'" 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: not tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled schedule='wgmma, tile=128x128x64, warps=1x8, stages=4, swizzle=128, raster=8, blocks=1, defer=true'" 2>&1 | FileCheck %s --check-prefix=DEFER

// CHECK: tenon.linear {{.*}} layout<km_kn> {schedule
// BOX: cannot have the schedule {{.*}}: with layout km_kn a block copies a multiple of 64 along N of the tile, not 96; use another N, or take a mma_sync schedule
// CLUSTER: with layout km_kn a block copies a multiple of 64 along M of the tile, not 32; use another M
// DEFER: with defer x lies along K, but the layout is km_kn; leave out defer
func.func @of_w(%dy: tensor<256x512xbf16>, %x: tensor<256x128xbf16>) -> tensor<512x128xbf16> {
  %0 = tenon.linear %dy, %x layout<km_kn> : (tensor<256x512xbf16>, tensor<256x128xbf16>) -> tensor<512x128xbf16>
  return %0 : tensor<512x128xbf16>
}
