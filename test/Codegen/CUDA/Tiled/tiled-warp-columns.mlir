// A warp's part of 96 columns is turned in three groups of 32; none is left out.
// RUN: tenon-opt %s --tenon-emit-kernels | FileCheck %s

// CHECK: llvm.func @layer_tiled(
// CHECK-COUNT-12: llvm.store {{.*}} : vector<8xbf16>, !llvm.ptr<1>
// CHECK-NOT: llvm.store {{.*}} : vector<8xbf16>, !llvm.ptr<1>
// CHECK: llvm.func @layer_tiled_unaligned(
func.func @layer(%x: memref<128x64xbf16>, %w: memref<192x64xbf16>, %y: memref<128x192xbf16>) {
  tenon.tiled_linear %x, %w : memref<128x64xbf16>, memref<192x64xbf16>
      epilogue(%acc: tensor<128x192xf32>) outs(%y: memref<128x192xbf16>)
      schedule<mma_sync, tile = 128x192x64, warps = 4x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    %0 = tenon.cast %acc : tensor<128x192xf32> -> tensor<128x192xbf16>
    tenon.yield %0 : tensor<128x192xbf16>
  }
  return
}
