// Moments that a wgmma kernel gives with operands swapped: of elements that are in registers, where four lanes have a
// column's rows.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s

// The moments' output has no tensor map. Subtiles of 32 rows leave room for four buffers.
// CHECK-LABEL: func.func @whole(
// CHECK: @whole_tiled {{.*}}tensor_maps = [#tenon.tensor_map<box = 64x64, swizzle = 128>, #tenon.tensor_map<box = 64x64, swizzle = 128>, #tenon.tensor_map<box = 32x64, swizzle = 128>]
// CHECK: llvm.func @whole_tiled(
// The warp that loads x and w prepares the barriers of 4 stages.
// CHECK-COUNT-8: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.elect.sync
// Warp 2 prepares four that warps say Written at, from 82496, and four Free, from 82528.
// CHECK-NOT: {{nvvm.mbarrier.init .*%c1_i32}}
// CHECK-COUNT-4: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK-NOT: %c4_i32
// CHECK-COUNT-4: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-NOT: nvvm.mbarrier.init
// It stores both subtiles of a tile, then hands back their buffers: both stores may be under way.
// CHECK: nvvm.elect.sync
// CHECK: scf.for %{{.*}} = %c0_i32 to %c2_i32 step
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK-NEXT: nvvm.cp.async.bulk.commit.group
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 2 {read}
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK-NEXT: scf.for %{{.*}} = %c0_i32 to %c2_i32 step
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: scf.yield
// CHECK-NOT: bulk
// While the last products are computed the warps wait for both buffers, which TMA has read of the tile before.
// CHECK: arith.addi %{{.*}}, %c82528_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-NEXT: arith.addi %{{.*}}, %c82536_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-NOT: try_wait
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// Pairs of rows as they are rounded to be stored: of one column, then of the other.
// CHECK-NOT: try_wait
// CHECK: %[[FIRST:.*]] = llvm.bitcast %[[PAIR:.*]] : vector<2xbf16> to i32
// CHECK: %[[OTHER:.*]] = llvm.bitcast %[[OTHER_PAIR:.*]] : vector<2xbf16> to i32
// CHECK: nvvm.stmatrix %{{.*}}, %[[FIRST]], %[[OTHER]],
// CHECK: nvvm.stmatrix
// CHECK-NOT: nvvm.stmatrix
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi %{{.*}}, %c82496_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{nvvm.shfl.sync +bfly|try_wait}}
// CHECK-COUNT-2: nvvm.stmatrix
// CHECK-NOT: nvvm.stmatrix
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi %{{.*}}, %c82504_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// Nothing is read back. Both subtiles have moments together. Of each column 8 pairs, and with all rows there the number of them is known.
// CHECK-NOT: {{llvm.load|arith.divf|nvvm.shfl}}
// CHECK: llvm.bitcast %[[PAIR]] : vector<2xbf16> to vector<1xi32>
// CHECK-COUNT-7: llvm.bitcast {{.*}} : vector<2xbf16> to vector<1xi32>
// CHECK: llvm.bitcast %[[OTHER_PAIR]] : vector<2xbf16> to vector<1xi32>
// CHECK-COUNT-7: llvm.bitcast {{.*}} : vector<2xbf16> to vector<1xi32>
// CHECK-COUNT-15: arith.subf
// CHECK-COUNT-16: llvm.intr.fma
// CHECK-COUNT-15: arith.subf
// CHECK-COUNT-16: llvm.intr.fma
// Two steps of Chan's rule; one lane stores the mean, its neighbour M2.
// CHECK-COUNT-2: nvvm.shfl.sync{{ +}}bfly {{.*}}, %c1_i32, %
// CHECK: llvm.intr.fma
// CHECK-COUNT-2: nvvm.shfl.sync{{ +}}bfly {{.*}}, %c2_i32, %
// CHECK: llvm.intr.fma
// CHECK: st.global.b32
// CHECK-COUNT-4: nvvm.shfl.sync{{ +}}bfly
// CHECK: st.global.b32
// CHECK-NOT: {{st.global|nvvm.shfl.sync +bfly}}
// CHECK: llvm.func @whole_tiled_unaligned(
func.func @whole(%x: memref<512x1024xbf16>, %w: memref<256x1024xbf16>, %y: memref<512x256xbf16>, %m: memref<16x256xf32>) {
  tenon.tiled_linear %x, %w : memref<512x1024xbf16>, memref<256x1024xbf16>
      epilogue(%acc: tensor<512x256xbf16>) outs(%y: memref<512x256xbf16>, %m: memref<16x256xf32>)
      schedule<wgmma, tile = 64x64x64, warps = 1x4, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase> {
    %p = tenon.moments %acc {rows = 64} : tensor<512x256xbf16> -> tensor<16x256xf32>
    tenon.yield %acc, %p : tensor<512x256xbf16>, tensor<16x256xf32>
  }
  return
}

// -----

// f32: relative to the first of the 64 rows, which the first of the four lanes has, so that a mean has two words. Two
// subtiles of 32 rows have moments together. Of rows that M cuts those beyond it do not count.
// CHECK-LABEL: func.func @ragged(
// CHECK: #tenon.tensor_map<box = 32x32, swizzle = 128>]
// Subtiles are of 32 rows at least, of which two buffers have room.
// CHECK: llvm.func @ragged_tiled(
// CHECK-COUNT-8: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.elect.sync
// CHECK-NOT: {{nvvm.mbarrier.init .*%c1_i32}}
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK-NOT: %c4_i32
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.elect.sync
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK-NEXT: nvvm.cp.async.bulk.commit.group
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 1 {read}
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: bulk
// CHECK: arith.addi %{{.*}}, %c82512_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-NEXT: arith.addi %{{.*}}, %c82520_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-NOT: try_wait
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-NOT: {{try_wait|llvm.store}}
// CHECK-COUNT-16: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
// CHECK-NOT: llvm.store
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi %{{.*}}, %c82496_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{try_wait|llvm.store}}
// CHECK-COUNT-16: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
// CHECK-NOT: llvm.store
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi %{{.*}}, %c82504_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-COUNT-2: nvvm.shfl.sync{{ +}}idx {{.*}} : f32 -> f32
// CHECK: %[[PARTLY:.*]] = arith.cmpi slt, %[[LEFT:.*]], %c64_i32
// CHECK: scf.if %[[PARTLY]] -> (f32, f32, f32, f32) {
// CHECK: %[[SOME:.*]] = arith.maxsi %[[LEFT]], %c1_i32
// CHECK: arith.divf
// CHECK-COUNT-16: arith.cmpi slt, %{{.*}}, %[[SOME]]
// CHECK-COUNT-2: nvvm.shfl.sync{{ +}}bfly
// CHECK: } else {
// CHECK-NOT: {{arith.divf|nvvm.shfl}}
// CHECK: }
// CHECK-COUNT-4: nvvm.shfl.sync{{ +}}bfly
// CHECK: st.global.b32
// CHECK-COUNT-4: nvvm.shfl.sync{{ +}}bfly
// CHECK: st.global.b32
// CHECK-NOT: {{st.global|nvvm.shfl.sync +bfly}}
// CHECK: llvm.func @ragged_tiled_unaligned(
func.func @ragged(%x: memref<?x1024xbf16>, %w: memref<72x1024xbf16>, %y: memref<?x72xf32>, %m: memref<?x72xf32>) {
  tenon.tiled_linear %x, %w : memref<?x1024xbf16>, memref<72x1024xbf16>
      epilogue(%acc: tensor<?x72xf32>) outs(%y: memref<?x72xf32>, %m: memref<?x72xf32>)
      schedule<wgmma, tile = 64x64x64, warps = 1x4, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase> {
    %p = tenon.moments %acc {rows = 64} : tensor<?x72xf32> -> tensor<?x72xf32>
    tenon.yield %acc, %p : tensor<?x72xf32>, tensor<?x72xf32>
  }
  return
}
