// A schedule that is written is kept, of either family; mma_sync's operands alone are rounded.
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a" --remarks-filter=tenon-select-strategy 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY < %t.remarks

// CHECK-LABEL: @written
// CHECK-SAME: (%[[X:.*]]: tensor<?x64xf32>, %[[W:.*]]: tensor<32x64xf32>)
// CHECK-NEXT: tenon.linear %[[X]], %[[W]] precision<tf32> {schedule = #tenon.schedule<wgmma, tile = 64x104x32, warps = 4x1, stages = 2, swizzle = 128, raster = 3, blocks = 1, cluster = 1x2, ping_pong = true>
// CHECK-NEXT: %[[XR:.*]] = tenon.round_tf32 %[[X]]
// CHECK-NEXT: %[[WR:.*]] = tenon.round_tf32 %[[W]]
// CHECK-NEXT: tenon.linear %[[XR]], %[[WR]] precision<tf32> {schedule = #tenon.schedule<mma_sync,
func.func @written(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  %0 = tenon.linear %x, %w precision<tf32> {schedule = #tenon.schedule<wgmma, tile = 64x104x32, warps = 4x1, stages = 2, swizzle = 128, raster = 3, blocks = 1,
      cluster = 1x2, ping_pong = true>} : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  %1 = tenon.linear %x, %w precision<tf32> {schedule = #tenon.schedule<mma_sync, tile = 64x64x16, warps = 2x2, stages = 5, swizzle = 64, raster = 3, blocks = 1>}
      : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %0, %1 : tensor<?x32xf32>, tensor<?x32xf32>
}

// Operands swapped: the remark says so. f32 is rounded by TMA as ever.
// CHECK-LABEL: @swapped
// CHECK-SAME: (%[[X:.*]]: tensor<?x64xf32>, %[[W:.*]]: tensor<256x64xf32>)
// CHECK-NEXT: tenon.linear %[[X]], %[[W]] precision<tf32> {schedule = #tenon.schedule<wgmma, tile = 24x128x32, warps = 1x8, stages = 6, swizzle = 128, raster = 3, blocks = 1, stream_k = true>
// WHY: Function=swapped | {{.*}}wgmma, tiles of 24x128x32 by 8 warps, operands swapped, stream_k, 6 stages, {{[0-9]+}} bytes of shared memory;
func.func @swapped(%x: tensor<?x64xf32>, %w: tensor<256x64xf32>) -> tensor<?x256xf32> {
  %0 = tenon.linear %x, %w precision<tf32> {schedule = #tenon.schedule<wgmma, tile = 24x128x32, warps = 1x8, stages = 6, swizzle = 128, raster = 3, blocks = 1,
      stream_k = true>} : (tensor<?x64xf32>, tensor<256x64xf32>) -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}

// So it does of tiles that are deferred, between operands and clusters.
// CHECK-LABEL: @deferred
// CHECK: tenon.linear {{.*}} #tenon.schedule<wgmma, {{.*}} blocks = 1, cluster = 1x2, defer = true>
// WHY: Function=deferred | {{.*}}wgmma, tiles of 256x128x64 by 8 warps, operands swapped, defer, clusters of 1x2, 4
func.func @deferred(%x: tensor<?x512xbf16>, %w: tensor<1024x512xbf16>) -> tensor<?x1024xbf16> {
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4,
      swizzle = 128, raster = 8, blocks = 1, cluster = 1x2, defer = true>}
      : (tensor<?x512xbf16>, tensor<1024x512xbf16>) -> tensor<?x1024xbf16>
  return %0 : tensor<?x1024xbf16>
}
