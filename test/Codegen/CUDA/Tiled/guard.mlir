// Kernels that replace the tiles of rows outside of split products' range.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s

// CHECK: module attributes {gpu.container_module, tenon.kernels = ["layer_tiled_guard", "layer_tiled_guard_unaligned"]}
// The host looks at the factors' pointers too.
// CHECK-LABEL: func.func @layer(
// CHECK-SAME: %{{.*}}: memref<?x64xf32>, %{{.*}}: memref<48x64xf32>, %[[FX:.*]]: memref<?x1xf32>, %[[FW:.*]]: memref<48x1xf32>, %{{.*}}: memref<?x48xf32>)
// CHECK-DAG: memref.extract_aligned_pointer_as_index %[[FX]]
// CHECK-DAG: memref.extract_aligned_pointer_as_index %[[FW]]
// CHECK: tenon.launch @kernels::@layer_tiled_guard blocks
// CHECK-LABEL: llvm.func @layer_tiled_guard(
// CHECK-SAME: %{{[^:]*}}: !llvm.ptr<1>, %{{[^:]*}}: !llvm.ptr<1>, %[[X:[^:]*]]: !llvm.ptr<1>, %[[W:[^:]*]]: !llvm.ptr<1>,
// All of x's factors, four at a time, and those that make no four; then w's.
// CHECK-NOT: cp.async
// CHECK: %[[FOURS:.*]] = arith.divui %{{.*}}, %c4_i32
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[FOURS]] step %c256_i32
// CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: scf.yield
// CHECK: llvm.getelementptr %[[X]][
// CHECK-NEXT: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// CHECK: scf.for %{{.*}} = %{{.*}} to %c12_i32 step %c256_i32
// CHECK: scf.yield
// CHECK: llvm.getelementptr %[[W]][
// CHECK-NEXT: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// CHECK: %[[NEGATIVE:.*]] = arith.cmpi slt, %{{.*}}, %c0_i32
// CHECK: %[[MINE:.*]] = arith.extui %[[NEGATIVE]]
// CHECK: %[[ANY:.*]] = nvvm.barrier #nvvm.reduction<or> %[[MINE]] -> i32
// CHECK: %[[HAS:.*]] = arith.cmpi sgt, %[[ANY]], %c0_i32
// Where none is negative, that was all.
// CHECK: scf.if %[[HAS]] {
// CHECK: scf.while
// 64 threads look at a tile's 64 rows of x and w, one each.
// CHECK: %[[OFX:.*]] = arith.cmpi slt, %{{.*}}, %c32_i32
// CHECK: %[[FACTORS:.*]] = arith.select %[[OFX]], %[[X]], %[[W]]
// CHECK: llvm.getelementptr %[[FACTORS]]
// CHECK-NEXT: llvm.load
// CHECK: %[[ANYHERE:.*]] = nvvm.barrier #nvvm.reduction<or>
// CHECK: %[[HASHERE:.*]] = arith.cmpi sgt, %[[ANYHERE]], %c0_i32
// CHECK: scf.if %[[HASHERE]] {
// Copies begin here. What nobody rounded is rounded to tf32 now.
// CHECK: cp.async
// CHECK: cvt.rna.tf32
// CHECK: nvvm.mma.sync
// The next turn's copies do not begin.
// CHECK: scf.yield
// CHECK-NOT: cp.async
// CHECK-LABEL: llvm.func @layer_tiled_guard_unaligned(
// CHECK: step %c512_i32
// CHECK-NOT: vector<4xi32>
// CHECK: nvvm.barrier #nvvm.reduction<or>
func.func @layer(%x: memref<?x64xf32>, %w: memref<48x64xf32>, %fx: memref<?x1xf32>, %fw: memref<48x1xf32>, %y: memref<?x48xf32>) {
  tenon.tiled_linear %x, %w : memref<?x64xf32>, memref<48x64xf32> factors(%fx, %fw : memref<?x1xf32>, memref<48x1xf32>)
      epilogue(%acc: tensor<?x48xf32>) outs(%y: memref<?x48xf32>)
      schedule<mma_sync, tile = 32x32x32, warps = 2x1, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<?x48xf32>
  }
  return
}

// -----

// 128 threads look at 192 rows, in two goes.
// CHECK-LABEL: llvm.func @fma_tiled_guard(
// CHECK: scf.while
// CHECK-COUNT-2: arith.select {{.*}} : !llvm.ptr<1>
// CHECK: nvvm.barrier #nvvm.reduction<or>
// CHECK-NOT: cvt.rna.tf32
// CHECK: llvm.intr.fma
func.func @fma(%x: memref<?x64xf32>, %w: memref<48x64xf32>, %fx: memref<?x1xf32>, %fw: memref<48x1xf32>, %y: memref<?x48xf32>) {
  tenon.tiled_linear %x, %w : memref<?x64xf32>, memref<48x64xf32> factors(%fx, %fw : memref<?x1xf32>, memref<48x1xf32>)
      epilogue(%acc: tensor<?x48xf32>) outs(%y: memref<?x48xf32>)
      schedule<mma_sync, tile = 128x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fma> {
    tenon.yield %acc : tensor<?x48xf32>
  }
  return
}
