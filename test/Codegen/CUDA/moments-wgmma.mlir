// Moments that a wgmma kernel gives of what it stores by TMA: read back from the subtile's buffer, stored by the threads.
// RUN: tenon-opt %s --tenon-emit-kernels --canonicalize --cse --split-input-file | FileCheck %s

// The moments' output has no tensor map.
// CHECK-LABEL: func.func @whole(
// CHECK-SAME: %[[Y:[^:]*]]: memref<512x256xbf16>, %[[M:[^:]*]]: memref<16x256xf32>
// CHECK: gpu.launch_func @kernels::@whole_tiled {{.*}}%[[Y]] : {{[^,]*}}, %[[M]] : {{.*}}tenon.tensor_maps = [#tenon.tensor_map<box = 64x64, swizzle = 128>, #tenon.tensor_map<box = 64x64, swizzle = 128>, #tenon.tensor_map<box = 64x64, swizzle = 128>]
// CHECK: llvm.func @whole_tiled(
// CHECK: fence.proxy.async.shared::cta
// CHECK: "bar.sync $0, 128;"
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
// A lane loads 16 rows of a pair of columns. With all rows there, the number of
// them is known.
// CHECK-COUNT-16: llvm.load {{.*}} : !llvm.ptr<3> -> vector<2xbf16>
// CHECK-NOT: llvm.load
// CHECK-NOT: arith.divf
// Its own mean and M2, then by Chan's rule those of lanes with other rows, twice
// as many each time; of both columns.
// CHECK: %[[MEAN:.*]] = arith.mulf %{{.*}}, %cst{{.*}}
// CHECK-NOT: nvvm.shfl.sync{{ +}}bfly
// CHECK: arith.subf %{{.*}}, %[[MEAN]] : f32
// CHECK-COUNT-16: llvm.intr.fma
// CHECK: %[[OTHER:.*]] = nvvm.shfl.sync{{ +}}bfly {{.*}}, %[[MEAN]], %c8_i32
// CHECK: nvvm.shfl.sync{{ +}}bfly {{.*}}, %c8_i32
// CHECK: %[[APART:.*]] = arith.subf %[[OTHER]], %[[MEAN]] : f32
// CHECK: arith.addf %[[MEAN]], %[[OTHER]] : f32
// CHECK: %[[WEIGHED:.*]] = arith.mulf %[[APART]], %{{.*}} : f32
// CHECK: llvm.intr.fma(%[[APART]], %[[WEIGHED]], %{{.*}})
// CHECK-COUNT-2: nvvm.shfl.sync{{ +}}bfly {{.*}}, %c16_i32
// CHECK: llvm.intr.fma
// CHECK-NOT: nvvm.shfl.sync{{ +}}bfly
// CHECK-COUNT-16: llvm.intr.fma
// CHECK-COUNT-2: nvvm.shfl.sync{{ +}}bfly {{.*}}, %c8_i32
// CHECK: llvm.intr.fma
// CHECK-COUNT-2: nvvm.shfl.sync{{ +}}bfly {{.*}}, %c16_i32
// CHECK: llvm.intr.fma
// CHECK-NOT: nvvm.shfl.sync{{ +}}bfly
// Some lanes store two means, others two M2.
// CHECK: st.global.v2.b32
// The second barrier would be of another subtile.
// CHECK-NOT: "bar.sync $0, 128;"
// CHECK-NOT: st.global
// CHECK: llvm.func @whole_tiled_unaligned(
func.func @whole(%x: memref<512x1024xbf16>, %w: memref<256x1024xbf16>, %y: memref<512x256xbf16>, %m: memref<16x256xf32>) {
  tenon.tiled_linear %x, %w : memref<512x1024xbf16>, memref<256x1024xbf16>
      epilogue(%acc: tensor<512x256xbf16>) outs(%y: memref<512x256xbf16>, %m: memref<16x256xf32>)
      schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase> {
    %p = tenon.moments %acc {rows = 64} : tensor<512x256xbf16> -> tensor<16x256xf32>
    tenon.yield %acc, %p : tensor<512x256xbf16>, tensor<16x256xf32>
  }
  return
}

// -----

// Where rows may lie beyond M: of a block with some of them those do not count,
// and none is stored of one beyond M. f32 in subtiles of 8 columns: two words a
// warp, of 16 parts with 4 rows each, relative to the first of all rows.
// CHECK: llvm.func @ragged_tiled(
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK: %[[PARTLY:.*]] = arith.cmpi slt, %[[LEFT:.*]], %c64_i32
// CHECK: scf.if %[[PARTLY]] {
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[LEFT]], %c0_i32
// CHECK: scf.if %[[ANY]] {
// CHECK: %[[COUNT:.*]] = arith.uitofp %[[LEFT]] : i32 to f32
// CHECK: arith.divf %{{.*}}, %[[COUNT]]
// CHECK-COUNT-4: arith.cmpi slt, %{{.*}}, %[[LEFT]]
// CHECK-COUNT-4: arith.select
// CHECK-COUNT-4: nvvm.shfl.sync{{ +}}bfly
// CHECK-COUNT-4: llvm.intr.fma
// CHECK-COUNT-4: nvvm.shfl.sync{{ +}}bfly
// CHECK: st.global.b32
// CHECK: } else {
// CHECK: %[[ORIGIN:.*]] = llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK-COUNT-4: llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK-NOT: arith.divf
// CHECK: st.global.b32
// CHECK: llvm.func @ragged_tiled_unaligned(
func.func @ragged(%x: memref<?x1024xf32>, %w: memref<256x1024xf32>, %y: memref<?x256xf32>, %m: memref<?x256xf32>) {
  tenon.tiled_linear %x, %w : memref<?x1024xf32>, memref<256x1024xf32>
      epilogue(%acc: tensor<?x256xf32>) outs(%y: memref<?x256xf32>, %m: memref<?x256xf32>)
      schedule<wgmma, tile = 64x8x32, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase> {
    %p = tenon.moments %acc {rows = 64} : tensor<?x256xf32> -> tensor<?x256xf32>
    tenon.yield %acc, %p : tensor<?x256xf32>, tensor<?x256xf32>
  }
  return
}
