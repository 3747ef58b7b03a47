// Moments of the tiles of mma_sync kernels: of a thread's rows, then its warp's, then the tile's.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s

// CHECK-LABEL: llvm.func @layer_tiled(
// CHECK: nvvm.mma.sync
// What is stored counts, rounded as it is, relative to what the warp's first row has.
// CHECK: %[[TOP:.*]] = arith.select %{{.*}}, %[[ELEMENT:.*]], %{{.*}} : f32
// CHECK: %[[ORIGIN:.*]] = nvvm.shfl.sync idx %{{.*}}, %[[TOP]],
// The first of a thread's rows: its mean is itself.
// CHECK: %[[OWN:.*]] = arith.subf %[[ELEMENT]], %[[ORIGIN]] : f32
// CHECK: %[[FIRST:.*]] = arith.select %{{.*}}, %[[OWN]], %{{.*}} : f32
// The second one: Welford's rule; a row beyond M is the mean.
// CHECK: %[[NEXT:.*]] = arith.subf %{{.*}}, %[[ORIGIN]] : f32
// CHECK: %[[VALUE:.*]] = arith.select %{{.*}}, %[[NEXT]], %[[FIRST]] : f32
// CHECK: %[[DISTANCE:.*]] = arith.subf %[[VALUE]], %[[FIRST]] : f32
// CHECK: %[[MEAN:.*]] = llvm.intr.fma(%[[DISTANCE]], %{{.*}}, %[[FIRST]])
// CHECK: %[[REST:.*]] = arith.subf %[[VALUE]], %[[MEAN]] : f32
// CHECK: llvm.intr.fma(%[[DISTANCE]], %[[REST]], %{{.*}})
// 8 threads have a row of 64, so lanes 8 and 16 apart have other rows: 8 means, 8 M2 and how many rows.
// CHECK-COUNT-17: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c8_i32
// CHECK-NOT: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c8_i32
// CHECK-COUNT-17: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c16_i32
// CHECK-NOT: nvvm.shfl.sync bfly
// Two warps have a tile's rows. They meet before one reads what the other staged, and before it stages anew.
// CHECK: nvvm.barrier0
// CHECK: st.global.b32
// CHECK: st.global.b32
// CHECK: nvvm.barrier0
// CHECK: scf.yield
// The kernel for other pointers has tiles of as many rows, 32 for each of four warps.
// CHECK-LABEL: llvm.func @layer_tiled_unaligned(
// CHECK-SAME: nvvm.reqntid = array<i32: 256>
func.func @layer(%x: memref<?x64xf16>, %w: memref<64x64xf16>, %y: memref<?x64xf16>, %p: memref<?x64xf32>) {
  tenon.tiled_linear %x, %w : memref<?x64xf16>, memref<64x64xf16>
      epilogue(%acc: tensor<?x64xf32>) outs(%y: memref<?x64xf16>, %p: memref<?x64xf32>)
      schedule<mma_sync, tile = 128x64x64, warps = 2x1, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase> {
    %0 = tenon.cast %acc : tensor<?x64xf32> -> tensor<?x64xf16>
    %1 = tenon.moments %0 {rows = 128} : tensor<?x64xf16> -> tensor<?x64xf32>
    tenon.yield %0, %1 : tensor<?x64xf16>, tensor<?x64xf32>
  }
  return
}

// -----

// Rows that fill all tiles need no counts at run time, and one warp no other.
// CHECK-LABEL: llvm.func @fits_tiled(
// CHECK: nvvm.barrier0
// CHECK: nvvm.barrier0
// CHECK-NOT: {{nvvm.barrier0|arith.maxsi}}
// CHECK-COUNT-8: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c8_i32
// CHECK-COUNT-8: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c16_i32
// CHECK-NOT: {{nvvm.barrier0|nvvm.shfl.sync bfly}}
// CHECK: bar.warp.sync
// CHECK-NOT: nvvm.barrier0
// CHECK-LABEL: llvm.func @fits_tiled_unaligned(
func.func @fits(%x: memref<128x32xf32>, %w: memref<64x32xf32>, %y: memref<128x64xf32>, %p: memref<12x64xf32>) {
  tenon.tiled_linear %x, %w : memref<128x32xf32>, memref<64x32xf32>
      epilogue(%acc: tensor<128x64xf32>) outs(%y: memref<128x64xf32>, %p: memref<12x64xf32>)
      schedule<mma_sync, tile = 32x64x32, warps = 1x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fma, reduction = two_phase> {
    %0 = tenon.moments %acc {rows = 32} : tensor<128x64xf32> -> tensor<12x64xf32>
    tenon.yield %acc, %0 : tensor<128x64xf32>, tensor<12x64xf32>
  }
  return
}
