// What a wgmma kernel does with 8 bits.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s

// Four products a stage, of 32 of K each, whose sums are added up in f32.
// CHECK-LABEL: llvm.func @scaled_tiled(
// CHECK: nvvm.setmaxregister increase
// CHECK: scf.for {{.*}} step %c1_i32 iter_args({{.*}} = %cst
// CHECK: nvvm.wgmma.fence.aligned
// CHECK: llvm.inline_asm has_side_effects "{{.*}}setp.ne.b32 adds, 0, 0;
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e4m3 {$0, $1, $2, $3, $4, $5, $6, $7}, ofRows, ofColumns, adds, 1, 1;
// CHECK-SAME: add.s64 ofRows, rows, 6;\0Aadd.s64 ofColumns, columns, 6;\0Awgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e4m3
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-COUNT-8: arith.addf %{{[^,]*}}, %{{[^ ]*}} : f32
// CHECK: scf.yield
// Where pointers are not aligned bytes are copied one by one, as f16.
// CHECK: llvm.func @scaled_tiled_unaligned(
// CHECK: ld.global.u8 e0, [$1+0]{{.*}}cvt.rn.f16x2.e4m3x2 v0, e0;
// CHECK: nvvm.mma.sync {{.*}} : (vector<2xf16>, vector<2xf16>, f32)
func.func @scaled(%x: memref<?x256xf8E4M3FN>, %w: memref<48x256xf8E4M3FN>, %s: memref<?x1xf32>, %y: memref<?x48xbf16>) {
  tenon.tiled_linear %x, %w : memref<?x256xf8E4M3FN>, memref<48x256xf8E4M3FN>
      epilogue(%acc: tensor<?x48xf32>, %rows = %s: memref<?x1xf32>) outs(%y: memref<?x48xbf16>)
      schedule<wgmma, tile = 128x16x128, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, method = fp8> {
    %0 = tenon.mul %acc, %rows : tensor<?x48xf32>, tensor<?x1xf32>
    %1 = tenon.cast %0 : tensor<?x48xf32> -> tensor<?x48xbf16>
    tenon.yield %1 : tensor<?x48xbf16>
  }
  return
}

// -----

// CHECK-LABEL: llvm.func @e5m2_tiled(
// CHECK: wgmma.mma_async.sync.aligned.m64n16k32.f32.e5m2.e5m2
// CHECK: cvt.rn.f16x2.e5m2x2
func.func @e5m2(%x: memref<?x256xf8E5M2>, %w: memref<48x256xf8E5M2>, %y: memref<?x48xf32>) {
  tenon.tiled_linear %x, %w : memref<?x256xf8E5M2>, memref<48x256xf8E5M2>
      epilogue(%acc: tensor<?x48xf32>) outs(%y: memref<?x48xf32>)
      schedule<wgmma, tile = 64x16x128, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, method = fp8> {
    tenon.yield %acc : tensor<?x48xf32>
  }
  return
}

// -----

// Blocks have scales: two rows of x, and one for the columns of a tile, which lie in one block of w. What a stage gives is
// multiplied by both as it is added up; those of the next are loaded meanwhile.
// CHECK-LABEL: llvm.func @blocks_tiled(
// CHECK: nvvm.setmaxregister increase
// CHECK-COUNT-3: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: llvm.load %{{.*}} -> f32
// CHECK: scf.for {{.*}} step %c1_i32 iter_args({{.*}} = %cst
// CHECK: wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e4m3
// CHECK-COUNT-3: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: llvm.load %{{.*}} -> f32
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-COUNT-8: llvm.intr.fma
// CHECK: scf.yield
// CHECK: llvm.func @blocks_tiled_unaligned(
// CHECK: nvvm.mma.sync {{.*}} : (vector<2xf16>, vector<2xf16>, f32)
// CHECK: llvm.intr.fma
func.func @blocks(%x: memref<?x256xf8E4M3FN>, %w: memref<48x256xf8E4M3FN>, %s: memref<?x2xf32>, %t: memref<1x2xf32>, %y: memref<?x48xf32>) {
  tenon.tiled_linear %x, %w : memref<?x256xf8E4M3FN>, memref<48x256xf8E4M3FN> factors(%s, %t : memref<?x2xf32>, memref<1x2xf32>)
      epilogue(%acc: tensor<?x48xf32>) outs(%y: memref<?x48xf32>)
      schedule<wgmma, tile = 128x16x128, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, method = fp8> {
    tenon.yield %acc : tensor<?x48xf32>
  }
  return
}
