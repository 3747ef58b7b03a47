// Moments that a wgmma kernel gives of what it stores by TMA: read back from the subtile's buffer, stored by the threads.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s

// The moments' output has no tensor map.
// CHECK-LABEL: func.func @whole(
// CHECK-SAME: %[[Y:[^:]*]]: memref<512x256xbf16>, %[[M:[^:]*]]: memref<16x256xf32>
// CHECK: tenon.launch @kernels::@whole_tiled {{.*}}%[[Y]] : {{[^,]*}}, %[[M]] : {{.*}}tensor_maps = [#tenon.tensor_map<box = 64x64, swizzle = 128>, #tenon.tensor_map<box = 64x64, swizzle = 128>, #tenon.tensor_map<box = 64x64, swizzle = 128>]
// CHECK: llvm.func @whole_tiled(
// The warp that loads x and w prepares the barriers of 4 stages.
// CHECK-COUNT-8: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.elect.sync
// The one that copies subtiles prepares two that four warps say Written at, and two Free.
// CHECK-NOT: {{nvvm.mbarrier.init .*%c1_i32}}
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK-NOT: %c4_i32
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.elect.sync
// The copying thread stores a tile's only subtile when its warps have written it, at 82496, and hands back the buffer,
// at 82512, when TMA has read it.
// CHECK: arith.addi %{{.*}}, %c82496_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK-NEXT: nvvm.cp.async.bulk.commit.group
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 1 {read}
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK-NEXT: arith.addi %{{.*}}, %c82512_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %{{.*}}, %c1_i32
// CHECK-NEXT: scf.yield %[[NEXT]],
// CHECK-NOT: bulk
// The threads that multiply wait for it while the last products are computed.
// CHECK: arith.addi %{{.*}}, %c82512_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NOT: try_wait
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-NOT: try_wait
// CHECK-COUNT-4: nvvm.stmatrix
// CHECK-NOT: nvvm.stmatrix
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi %{{.*}}, %c82496_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NOT: bar.sync $0, 128
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// A thread reads what others have written when the warpgroup's barrier says that they have.
// CHECK-NOT: llvm.load {{.*}} : !llvm.ptr<3> -> vector
// CHECK: "bar.sync $0, 128;"
// A lane loads 16 rows of a pair of columns. With all rows there, the number of
// them is known.
// CHECK-COUNT-16: llvm.load {{.*}} : !llvm.ptr<3> -> vector<2xbf16>
// CHECK-NOT: llvm.load
// CHECK-NOT: arith.divf
// Its own mean and M2 of both columns, relative to its first row, then by Chan's
// rule those of lanes with other rows, twice as many each time.
// CHECK-COUNT-15: arith.subf %{{.*}}, %[[FIRST:.*]] : f32
// CHECK: %[[SHARE:.*]] = arith.mulf %[[SUM:.*]], %cst{{.*}}
// CHECK-NOT: nvvm.shfl.sync{{ +}}bfly
// CHECK-COUNT-15: llvm.intr.fma
// CHECK: %[[MINUS:.*]] = arith.negf %[[SUM]]
// CHECK: llvm.intr.fma(%[[MINUS]], %[[SHARE]], %{{.*}})
// CHECK: %[[MEAN:.*]] = arith.addf %{{.*}}, %[[SHARE]] : f32
// CHECK-NOT: nvvm.shfl.sync{{ +}}bfly
// CHECK-COUNT-16: llvm.intr.fma
// CHECK: %[[OTHER:.*]] = nvvm.shfl.sync{{ +}}bfly {{.*}}, %[[MEAN]], %c8_i32
// CHECK: nvvm.shfl.sync{{ +}}bfly {{.*}}, %c8_i32
// CHECK: %[[APART:.*]] = arith.subf %[[OTHER]], %[[MEAN]] : f32
// CHECK: arith.addf %[[MEAN]], %[[OTHER]] : f32
// CHECK: %[[WEIGHED:.*]] = arith.mulf %[[APART]], %{{.*}} : f32
// CHECK: llvm.intr.fma(%[[APART]], %[[WEIGHED]], %{{.*}})
// CHECK-COUNT-2: nvvm.shfl.sync{{ +}}bfly {{.*}}, %c16_i32
// CHECK: llvm.intr.fma
// CHECK-COUNT-2: nvvm.shfl.sync{{ +}}bfly {{.*}}, %c8_i32
// CHECK: llvm.intr.fma
// CHECK-COUNT-2: nvvm.shfl.sync{{ +}}bfly {{.*}}, %c16_i32
// CHECK: llvm.intr.fma
// CHECK-NOT: nvvm.shfl.sync{{ +}}bfly
// Some lanes store two means, others two M2.
// CHECK: st.global.v2.b32
// Moments are read before the next tile's results come to the buffers.
// CHECK: "bar.sync $0, 128;"
// The third barrier would be of another subtile.
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
// and the mean is that of all lanes at once. None is stored of one beyond M. f32
// in subtiles of 8 columns: two words a warp, of 16 parts with 4 rows each,
// relative to the first of all rows.
// CHECK: llvm.func @ragged_tiled(
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK: arith.addi %{{.*}}, %c53840_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: arith.addi %{{.*}}, %c53840_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NOT: try_wait
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-NOT: try_wait
// CHECK-COUNT-2: llvm.store {{.*}} : vector<2xf32>, !llvm.ptr<3>
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi %{{.*}}, %c53824_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: "bar.sync $0, 128;"
// CHECK: %[[ORIGIN:.*]] = llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK: %[[PARTLY:.*]] = arith.cmpi slt, %[[LEFT:.*]], %c64_i32
// CHECK: %[[OWN:.*]]:2 = scf.if %[[PARTLY]] -> (f32, f32) {
// CHECK: %[[SOME:.*]] = arith.maxsi %[[LEFT]], %c1_i32
// CHECK: %[[COUNT:.*]] = arith.uitofp %[[SOME]] : i32 to f32
// CHECK: arith.divf %{{.*}}, %[[COUNT]]
// CHECK-COUNT-4: arith.cmpi slt, %{{.*}}, %[[SOME]]
// CHECK-COUNT-4: arith.select
// CHECK-COUNT-4: nvvm.shfl.sync{{ +}}bfly
// CHECK-COUNT-4: llvm.intr.fma
// CHECK: } else {
// CHECK-COUNT-4: llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK-NOT: {{arith.divf|nvvm.shfl}}
// CHECK: }
// CHECK-COUNT-8: nvvm.shfl.sync{{ +}}bfly
// The mean in two words: what adding the origin leaves of its distance.
// CHECK: %[[MEAN:.*]] = arith.addf %[[ORIGIN]], %[[FROM:.*]] : f32
// CHECK: %[[KEPT:.*]] = arith.subf %[[MEAN]], %[[ORIGIN]] : f32
// CHECK: %[[REST:.*]] = arith.subf %[[FROM]], %[[KEPT]] : f32
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[REST]] : f32
// CHECK: arith.muli %{{.*}}, %c3_i32
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
