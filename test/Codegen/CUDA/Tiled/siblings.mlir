// Layers of one x have one launch, by a block for each tile, where all pointers are aligned.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s --implicit-check-not=tenon.tiled_linear

// 136 columns are three tiles, 64 one. x has one map, and M and the token are there once.
// CHECK: tenon.kernels = ["layers_tiled_siblings", "layers_tiled_unaligned", "layers_tiled_unaligned_1"]
// CHECK-LABEL: func.func @layers(
// CHECK-SAME: %[[X:[^:]*]]: memref<?x64xbf16>, %[[W:[^:]*]]: memref<136x64xbf16>, %[[V:[^:]*]]: memref<64x64xbf16>, %[[Y:[^:]*]]: memref<?x136xbf16>, %[[Z:[^:]*]]: memref<?x64xbf16>)
// CHECK: scf.if
// CHECK: %[[ROWS:.*]] = arith.divui %{{.*}}, %c8_i64
// CHECK: arith.muli %[[ROWS]], %c4_i64
// CHECK: tenon.launch @kernels::@layers_tiled_siblings {{.*}} args(%[[X]] : memref<?x64xbf16>, %[[W]] : memref<136x64xbf16>, %[[Y]] : memref<?x136xbf16>, %[[V]] : memref<64x64xbf16>, %[[Z]] : memref<?x64xbf16>, %[[X]] : memref<?x64xbf16>, %[[W]] : memref<136x64xbf16>, %[[Y]] : memref<?x136xbf16>, %[[V]] : memref<64x64xbf16>, %[[Z]] : memref<?x64xbf16>, %{{.*}} : i64, %{{.*}} : i64)
// CHECK-NOT: persistent
// CHECK: else
// CHECK: tenon.launch @kernels::@layers_tiled_unaligned {{.*}}persistent
// CHECK: tenon.launch @kernels::@layers_tiled_unaligned_1 {{.*}}persistent
// CHECK: llvm.func @layers_tiled_siblings(
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// CHECK: scf.if
// CHECK: wgmma
// CHECK: else
// CHECK: wgmma
func.func @layers(%x: memref<?x64xbf16>, %w: memref<136x64xbf16>, %v: memref<64x64xbf16>, %y: memref<?x136xbf16>, %z: memref<?x64xbf16>) {
  tenon.tiled_linear %x, %w : memref<?x64xbf16>, memref<136x64xbf16>
      epilogue(%acc: tensor<?x136xbf16>) outs(%y: memref<?x136xbf16>) schedule<wgmma, tile = 8x64x64, warps = 1x4, stages = 4, swizzle = 128, raster = 8, blocks = 1, siblings = 2> {
    tenon.yield %acc : tensor<?x136xbf16>
  }
  tenon.tiled_linear %x, %v : memref<?x64xbf16>, memref<64x64xbf16>
      epilogue(%acc: tensor<?x64xbf16>) outs(%z: memref<?x64xbf16>) schedule<wgmma, tile = 8x64x64, warps = 1x4, stages = 4, swizzle = 128, raster = 8, blocks = 1, siblings = 2> {
    %0 = tenon.relu %acc : tensor<?x64xbf16>
    tenon.yield %0 : tensor<?x64xbf16>
  }
  return
}
