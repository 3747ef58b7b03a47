// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels | FileCheck %s

// Where M is dynamic the function asks how many blocks the GPU holds. Those that fit are one kernel; more rows, and none,
// are a product with moments, by the same schedule, and what combines and normalises them. Both share y's buffer.
// CHECK-LABEL: func.func @layer(
// CHECK-SAME: %[[X:[^:]*]]: memref<?x128xbf16>
// CHECK-DAG: %[[M:.*]] = memref.dim %[[X]]
// CHECK-DAG: %[[MOMENTS:.*]] = memref.alloc(%{{.*}}) : memref<?x64xf32>
// CHECK: %[[RESIDENT:.*]] = tenon.resident_blocks @kernels::@layer_tiled {cluster_blocks = 2 : i64, shared_bytes = {{[0-9]+}} : i64, threads = 256 : i64}
// CHECK: %[[MOST:.*]] = arith.minsi %[[RESIDENT]], %c192_i64
// CHECK: %[[UNITS:.*]] = arith.divui %{{.*}}, %c128_i64
// CHECK: %[[NEEDED:.*]] = arith.muli %[[UNITS]], %c2_i64
// CHECK: %[[FITS:.*]] = arith.cmpi sle, %[[NEEDED]], %[[MOST]]
// CHECK: %[[SOME:.*]] = arith.cmpi sgt, %{{.*}}, %c0_i64
// CHECK: arith.andi
// CHECK: scf.if
// CHECK: tenon.launch @kernels::@layer_tiled blocks{{.*}}resident = 2 : i64
// CHECK: } else {
// CHECK: tenon.launch @kernels::@layer_tiled_1 blocks{{.*}}%[[MOMENTS]]
// CHECK-NOT: resident =
// CHECK: tenon.launch @kernels::@layer_tiled_unaligned
// CHECK: tenon.launch @kernels::@layer_combine{{.*}}%[[MOMENTS]]
// CHECK: tenon.launch @kernels::@layer_map
func.func @layer(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>, %y: memref<?x64xf32>, %s: memref<198144xi8>) {
  tenon.tiled_linear %x, %w : memref<?x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<?x64xf32>) outs(%y: memref<?x64xf32>) workspace(%s: memref<198144xi8>)
      schedule<wgmma, tile = 64x32x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, cluster = 2x1, reduction = resident> {
    %0 = tenon.batch_norm_training %acc : (tensor<?x64xf32>) -> tensor<?x64xf32>
    tenon.yield %0 : tensor<?x64xf32>
  }
  return
}
