// Kernels of wgmma with swapped operands: w's rows are those of wgmma, and the epilogue's tensors are transposed on their
// way through shared memory.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s

// Boxes of x's and w's tile rows as ever; of the epilogue, all rows of the tile by 64 columns.
// CHECK-LABEL: func.func @layer(
// CHECK: tenon.launch @kernels::@layer_tiled {{.*}}tensor_maps = [#tenon.tensor_map<box = 24x64, swizzle = 128>, #tenon.tensor_map<box = 64x64, swizzle = 128>, #tenon.tensor_map<box = 24x64, swizzle = 128>, #tenon.tensor_map<box = 24x64, swizzle = 128>]
// CHECK: llvm.func @layer_tiled(%{{[^:]*}}: {{[^}]*}}}, %{{[^:]*}}: {{[^}]*}}}, %[[RMAP:[^:]*]]: {{[^}]*}}}, %[[YMAP:[^:]*]]: {{[^}]*}}}, {{.*}}nvvm.reqntid = array<i32: 256>
// The warp that loads x and w prepares barriers of 4 stages.
// CHECK-COUNT-8: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.elect.sync
// CHECK-COUNT-2: cp.async.bulk.tensor.shared.cluster.global
// One warp copies subtiles, that of the only warpgroup that multiplies. One lane of it prepares barriers of four buffers
// that residual and result share: Written, from 62016, and Loaded, from 62048; and Asked, at 62080.
// CHECK: %[[WARPGROUP:.*]] = arith.subi %{{.*}}, %c1_i32
// CHECK-NEXT: %[[ISFIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[ISFIRST]]
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: %[[COPIES:.*]] = arith.cmpi eq, %[[WARPGROUP]], %c1_i32
// CHECK-NEXT: scf.if %[[COPIES]]
// CHECK-NEXT: %[[WRITTEN:.*]] = llvm.getelementptr %[[SHARED:.*]][62016]
// CHECK-NEXT: nvvm.mbarrier.init %[[WRITTEN]], %c4_i32
// CHECK-COUNT-3: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK-NOT: %c4_i32
// CHECK: %[[LOADED:.*]] = llvm.getelementptr %[[SHARED]][62048]
// CHECK-NEXT: nvvm.mbarrier.init %[[LOADED]], %c1_i32
// CHECK-COUNT-3: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-NEXT: %[[ASKED:.*]] = llvm.getelementptr %[[SHARED]][62080]
// CHECK-NEXT: nvvm.mbarrier.init %[[ASKED]], %c1_i32
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: %[[MORE:.*]] = arith.cmpi sgt, %[[WARPGROUP]], %c0_i32
// CHECK-NEXT: %[[LESS:.*]] = arith.cmpi slt, %[[WARPGROUP]], %c2_i32
// CHECK-NEXT: %[[BOTH:.*]] = arith.andi %[[MORE]], %[[LESS]]
// CHECK-NEXT: scf.if %[[BOTH]]
// CHECK-NEXT: nvvm.elect.sync
// The only subtile of the residual, 24 rows of 128 bytes, is loaded when asked for; results leave from where it was.
// CHECK: scf.while (%{{[^ ]*}} = %c0_i32, %{{[^ ]*}} = %c0_i32)
// CHECK: ^bb0(%[[TURN:[^:]*]]: i32, %[[TILES:[^:]*]]: i32):
// CHECK: arith.addi %{{.*}}, %c62080_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[TILES]],
// CHECK: arith.addi %{{.*}}, %c62048_i32
// CHECK: mbarrier.arrive.expect_tx{{.*}} %c3072_i32
// CHECK: %[[CLUSTER:.*]] = llvm.addrspacecast %[[BUFFER:.*]] : !llvm.ptr<3> to !llvm.ptr<7>
// CHECK: cp.async.bulk.tensor.shared.cluster.global %[[CLUSTER]], %[[RMAP]], {{.*}} box[%[[COLUMN:.*]], %[[ROW:.*]]]
// CHECK: arith.addi %{{.*}}, %c62016_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-NEXT: nvvm.cp.async.bulk.tensor.global.shared.cta %[[YMAP]], %[[BUFFER]], box[%[[COLUMN]], %[[ROW]]]
// CHECK-NEXT: nvvm.cp.async.bulk.commit.group
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[TURN]], %c1_i32
// CHECK-NEXT: scf.yield %[[NEXT]],
// CHECK-NOT: bulk
// CHECK: setp.ne.b32 adds, 0, 0;{{.*}}wgmma.mma_async.sync.aligned.m64n24k16.f32.bf16.bf16 {
// CHECK-NOT: prefetch
// CHECK: scf.if
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi %{{.*}}, %c62080_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: setp.ne.b32 adds, 1, 0;
// The bias of the thread's two columns is on its way before the last products are there, and they wait for the residual.
// CHECK: %[[B0:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: %[[B1:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: llvm.ptr<1> -> f32
// CHECK: arith.addi %{{.*}}, %c62048_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-NOT: {{mbarrier|llvm.ptr<1> -> f32}}
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: mbarrier
// Three blocks of 8 rows, two at a time.
// CHECK: nvvm.ldmatrix {{.*}}mma_layout<col>, num = 4
// CHECK: nvvm.ldmatrix {{.*}}mma_layout<col>, num = 2
// CHECK-NOT: nvvm.ldmatrix
// Neighbouring accumulators are neighbouring rows of one column.
// CHECK-COUNT-2: arith.addf %{{.*}}, %[[B0]]
// CHECK-COUNT-2: arith.addf %{{.*}}, %[[B1]]
// CHECK: nvvm.stmatrix {{.*}}mma_layout<col>{{.*}} : !llvm.ptr<3>, i32, i32, i32, i32
// CHECK: nvvm.stmatrix {{.*}}mma_layout<col>{{.*}} : !llvm.ptr<3>, i32, i32{{$}}
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.muli
// CHECK-NEXT: %[[PLACE:.*]] = arith.addi %{{.*}}, %c62016_i32
// CHECK-NEXT: llvm.getelementptr %{{.*}}[%[[PLACE]]]
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[LANE:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[LANE]]
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{bulk|mbarrier}}
// CHECK: llvm.func @layer_tiled_unaligned(
func.func @layer(%x: memref<?x136xbf16>, %w: memref<72x136xbf16>, %b: memref<72xf32>, %r: memref<?x72xbf16>, %y: memref<?x72xbf16>) {
  tenon.tiled_linear %x, %w : memref<?x136xbf16>, memref<72x136xbf16>
      epilogue(%acc: tensor<?x72xf32>, %bias = %b: memref<72xf32>, %res = %r: memref<?x72xbf16>) outs(%y: memref<?x72xbf16>)
      schedule<wgmma, tile = 24x64x64, warps = 1x4, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    %0 = tenon.add %acc, %bias : tensor<?x72xf32>, tensor<72xf32>
    %1 = tenon.add %0, %res : tensor<?x72xf32>, tensor<?x72xbf16>
    %2 = tenon.cast %1 : tensor<?x72xf32> -> tensor<?x72xbf16>
    tenon.yield %2 : tensor<?x72xbf16>
  }
  return
}

// -----

// f32: two boxes of 32 columns, and as many rows as fit twice, 24 of 72, since 32 do not fit four times; elements are
// stored one by one.
// CHECK-LABEL: func.func @wide(
// CHECK: @wide_tiled {{.*}}#tenon.tensor_map<box = 72x32, swizzle = 128, rounds_tf32 = true>, #tenon.tensor_map<box = 128x32, swizzle = 128, rounds_tf32 = true>, #tenon.tensor_map<box = 24x32, swizzle = 128>]
// CHECK: llvm.func @wide_tiled(%{{[^:]*}}: {{[^}]*}}}, %{{[^:]*}}: {{[^}]*}}}, %[[YMAP:[^:]*]]: {{[^}]*}}},
// CHECK: nvvm.elect.sync
// CHECK-NOT: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.elect.sync
// CHECK: scf.for %{{.*}} = %c0_i32 to %c3_i32 step
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[YMAP]], {{.*}} box[%[[COLUMN:.*]], %[[ROW:.*]]]
// CHECK: %[[COLUMN1:.*]] = arith.addi %[[COLUMN]], %c32_i32
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[YMAP]], {{.*}} box[%[[COLUMN1]], %[[ROW]]]
// CHECK-NEXT: nvvm.cp.async.bulk.commit.group
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 1 {read}
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: bulk
// CHECK: wgmma.mma_async.sync.aligned.m64n72k8.f32.tf32.tf32 {
// Both buffers are waited for while the last products are computed. The second is used once a tile, so that its parity
// changes from tile to tile.
// CHECK: arith.addi %{{.*}}, %c136016_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %c1_i32,
// CHECK-NEXT: arith.addi %{{.*}}, %c136024_i32
// CHECK: %[[FINISHED:.*]] = llvm.load %[[KEPT:.*]] : !llvm.ptr -> i32
// CHECK-NEXT: %[[EARLIER:.*]] = arith.xori %[[FINISHED]], %c1_i32
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[EARLIER]],
// CHECK-NOT: try_wait
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-NOT: {{try_wait|: f32, !llvm.ptr<3>}}
// CHECK-COUNT-12: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
// CHECK-NOT: : f32, !llvm.ptr<3>
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi %{{.*}}, %c136000_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{try_wait|: f32, !llvm.ptr<3>}}
// CHECK-COUNT-12: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
// CHECK-NOT: : f32, !llvm.ptr<3>
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi %{{.*}}, %c136008_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// The first is used again when TMA has read what was stored before.
// CHECK: arith.addi %{{.*}}, %c136016_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK-COUNT-12: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
// CHECK-NOT: : f32, !llvm.ptr<3>
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.addi %{{.*}}, %c136000_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: %[[COUNTED:.*]] = llvm.load %[[KEPT]] : !llvm.ptr -> i32
// CHECK-NEXT: %[[MORE:.*]] = arith.xori %[[COUNTED]], %c1_i32
// CHECK-NEXT: llvm.store %[[MORE]], %[[KEPT]] : i32, !llvm.ptr
// CHECK-NOT: {{bulk|mbarrier}}
// CHECK: llvm.func @wide_tiled_unaligned(
func.func @wide(%x: memref<?x128xf32>, %w: memref<256x128xf32>, %y: memref<?x256xf32>) {
  tenon.tiled_linear %x, %w : memref<?x128xf32>, memref<256x128xf32>
      epilogue(%acc: tensor<?x256xf32>) outs(%y: memref<?x256xf32>)
      schedule<wgmma, tile = 72x128x32, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<?x256xf32>
  }
  return
}

// -----

// TMA cannot store rows of 25 elements, so threads do, each where it lies within M and N. With M = 1 none but the first
// of a thread's rows is computed.
// CHECK-LABEL: func.func @row(
// CHECK: @row_tiled {{.*}}tensor_maps = [#tenon.tensor_map<box = 8x64, swizzle = 128>, #tenon.tensor_map<box = 64x64, swizzle = 128>]
// CHECK: llvm.func @row_tiled(
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-COUNT-2: math.exp2
// CHECK-NOT: math.exp
// CHECK-COUNT-4: @p st.global.b16
// CHECK-NOT: st.global
// CHECK-NOT: cp.async.bulk
// CHECK: llvm.func @row_tiled_unaligned(
func.func @row(%x: memref<1x64xf16>, %w: memref<25x64xf16>, %y: memref<1x25xf16>) {
  tenon.tiled_linear %x, %w : memref<1x64xf16>, memref<25x64xf16>
      epilogue(%acc: tensor<1x25xf16>) outs(%y: memref<1x25xf16>)
      schedule<wgmma, tile = 8x64x64, warps = 1x4, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    %0 = tenon.sigmoid %acc : tensor<1x25xf16>
    tenon.yield %0 : tensor<1x25xf16>
  }
  return
}
