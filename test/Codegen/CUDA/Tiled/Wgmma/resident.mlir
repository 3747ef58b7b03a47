// A kernel of family wgmma that reduces columns itself: product, states, exchange, and the rest through TMA.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels | FileCheck %s
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels | FileCheck %s --check-prefix=HOST

// All row tiles of a column are resident together: three clusters of two blocks.
// HOST-LABEL: func.func @layer(
// HOST: scf.if
// HOST: tenon.launch @kernels::@layer_tiled {{.*}}cluster = 2 : i64, persistent = 192 : i64, resident = 6 : i64
// Pointers that are not aligned take a product of mma.sync, and what follows its own kernels.
// HOST: } else {
// HOST: tenon.launch @kernels::@layer_tiled_unaligned {{.*}}persistent
// HOST-NOT: resident =
// HOST: tenon.launch @kernels::@layer_reduce
// HOST: tenon.launch @kernels::@layer_map

// CHECK-LABEL: llvm.func @layer_tiled(
// The copying warp prepares barriers of 4 stages, and has as many turns as were counted before.
// CHECK-COUNT-8: nvvm.mbarrier.init
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.elect.sync
// CHECK: scf.while (%[[NUMBER:[^ ]*]] = %c0_i32,
// CHECK-NEXT: %[[COUNT:.*]] = llvm.load volatile %[[TURNS:.*]] {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// CHECK-NEXT: %[[ISLEFT:.*]] = arith.cmpi slt, %[[NUMBER]], %[[COUNT]]
// CHECK-NEXT: scf.condition(%[[ISLEFT]])
// CHECK: scf.for %[[STAGE:.*]] = %c0_i32 to %c2_i32
// CHECK: %[[K:.*]] = arith.muli %[[STAGE]], %c64_i32
// CHECK-COUNT-2: cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%[[K]],
// At the end it waits until both blocks of the cluster have read all stages: none may leave before.
// CHECK: scf.yield
// CHECK: scf.yield
// CHECK-COUNT-4: nvvm.mbarrier.try_wait.parity
// CHECK-NOT: nvvm.mbarrier.try_wait
// CHECK: } else {
// Others prepare two barriers that four warps say Written at, and two Free, two Loaded and Asked, of a warpgroup each.
// CHECK-NOT: {{nvvm.mbarrier.init .*%c1_i32}}
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK-NOT: %c4_i32
// CHECK-COUNT-5: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-NOT: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK-NOT: %c4_i32
// CHECK-COUNT-5: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-NOT: nvvm.mbarrier.init
// They load the only subtile of the residual when the warps ask for it, and store the results when these have been
// written.
// CHECK: nvvm.elect.sync
// CHECK: scf.while (%[[NUMBER:[^ ]*]] = %c0_i32, %{{[^ ]*}} = %c0_i32)
// CHECK-NEXT: %[[COUNT:.*]] = llvm.load volatile %[[TURNS]]
// CHECK-NEXT: %[[ISLEFT:.*]] = arith.cmpi slt, %[[NUMBER]], %[[COUNT]]
// CHECK-NEXT: scf.condition(%[[ISLEFT]])
// CHECK: ^bb0(%[[TURN:[^:]*]]: i32, %[[TILES:[^:]*]]: i32):
// CHECK: %[[MORE:.*]] = arith.xori %[[TILES]], %c1_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[TILES]],
// CHECK: mbarrier.arrive.expect_tx{{.*}} %c4096_i32
// CHECK: cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%[[COLUMN:.*]], %[[ROW:.*]]]
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta {{.*}} box[%[[COLUMN]], %[[ROW]]]
// CHECK-NEXT: nvvm.cp.async.bulk.commit.group
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 1 {read}
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[TURN]], %c1_i32
// CHECK-NEXT: scf.yield %[[NEXT]], %[[MORE]] :
// CHECK-NOT: bulk
// A warp beside the one that copies clears, when all threads have read the last states and all blocks say so.
// CHECK: "bar.sync 2, 288;"
// CHECK: "st.relaxed.gpu.global.b64 [$0], $1;"
// CHECK: ld.relaxed.gpu.global.b64
// CHECK-SAME: trap;
// CHECK: scf.for
// CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 16 : i64} : vector<2xi64>, !llvm.ptr<1>
// CHECK: llvm.store %c0_i64, %{{.*}} : i64, !llvm.ptr<1>
// Beside the products nothing of the residual is loaded: its buffers take the states of warps. L2 gets the residual, and
// the operands of one value a column, when the first products have been started.
// CHECK: scf.while
// CHECK-NOT: prefetch
// CHECK: setp.ne.b32 adds, 0, 0;{{.*}}wgmma.commit_group.sync.aligned;{{.*}}
// CHECK-COUNT-4: "prefetch.global.L2 [$0];"
// CHECK-NOT: {{prefetch|mbarrier.arrive}}
// CHECK: setp.ne.b32 adds, 1, 0;
// What the reduced is computed of is loaded while the last products are.
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: try_wait
// CHECK: wgmma.wait_group.sync.aligned 0
// What TMA stores of the tile before has left the buffers.
// CHECK: %[[EARLIER:.*]] = arith.xori %{{.*}}, %c1_i32
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[EARLIER]],
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr<3>
// CHECK: "bar.sync $0, 128;"
// CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> vector<2xf32>
// Lanes of the first row store origins, a pair of each of 4 blocks of 8 columns.
// CHECK: scf.if
// CHECK-COUNT-4: llvm.store {{.*}} : vector<2xf32>, !llvm.ptr<3>
// CHECK: nvvm.bar.warp.sync
// CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> vector<2xf32>
// Of 8 columns: 4, 2, then 1 a lane, mean and M2.
// CHECK-COUNT-14: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl.sync bfly
// CHECK: "bar.sync $0, 256;"
// The tile's states, with their tags.
// CHECK: "st.relaxed.gpu.global.v2.b64 [$0], {$1, $2};"
// CHECK: "fence.proxy.async.shared::cta;"
// CHECK: "bar.sync $0, 256;"
// CHECK: scf.if
// CHECK-NEXT: arith.subi
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi %{{.*}}, %c115568_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// What the epilogue needs first of the operands, and the running statistics, while the states of the six row tiles come; these in their order.
// CHECK-COUNT-2: llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: try_wait
// CHECK: scf.while
// CHECK-COUNT-6: @p ld.relaxed.gpu.global.v2.b64
// CHECK-NOT: @p ld.relaxed.gpu.global.v2.b64
// CHECK: @p trap;
// CHECK: math.sqrt
// The block with the first rows stores the statistics.
// CHECK: scf.if
// CHECK-COUNT-2: llvm.store {{.*}} : f32, !llvm.ptr<1>
// CHECK: "bar.arrive 2, 288;"
// CHECK: "bar.sync $0, 256;"
// The residual has arrived, and the buffer of the results been read.
// CHECK: arith.addi %{{.*}}, %c115552_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-NEXT: arith.addi %{{.*}}, %c115536_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: nvvm.ldmatrix
// CHECK-COUNT-2: nvvm.stmatrix
// CHECK-NOT: nvvm.stmatrix
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.addi %{{.*}}, %c115520_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: bulk
// CHECK: llvm.func @layer_tiled_unaligned(
func.func @layer(%x: memref<768x128xbf16>, %w: memref<64x128xbf16>, %mean: memref<64xf32>, %var: memref<64xf32>, %scale: memref<64xf32>,
                 %r: memref<768x64xbf16>, %y: memref<768x64xbf16>, %space: memref<198144xi8>) {
  tenon.tiled_linear %x, %w : memref<768x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<768x64xf32>, %s = %scale: memref<64xf32>, %m = %mean: memref<64xf32>, %v = %var: memref<64xf32>, %res = %r: memref<768x64xbf16>)
      outs(%y: memref<768x64xbf16>, %mean: memref<64xf32>, %var: memref<64xf32>) workspace(%space: memref<198144xi8>)
      schedule<wgmma, tile = 128x32x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 2x1, reduction = resident> {
    %a = tenon.mul %acc, %s : tensor<768x64xf32>, tensor<64xf32>
    %b = tenon.relu %a : tensor<768x64xf32>
    %0:3 = tenon.batch_norm_training %b running(%m, %v)
        : (tensor<768x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<768x64xf32>, tensor<64xf32>, tensor<64xf32>)
    %1 = tenon.relu %0#0 : tensor<768x64xf32>
    %2 = tenon.add %1, %res : tensor<768x64xf32>, tensor<768x64xbf16>
    %3 = tenon.cast %2 : tensor<768x64xf32> -> tensor<768x64xbf16>
    tenon.yield %3, %0#1, %0#2 : tensor<768x64xbf16>, tensor<64xf32>, tensor<64xf32>
  }
  return
}

// Scale and bias are the same in all rows: the products themselves are reduced, and what was found is scaled.
// CHECK-LABEL: llvm.func @affine_tiled(
// CHECK: wgmma.mma_async
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK-NOT: arith.mulf %{{.*}} : vector
// CHECK-NOT: llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: "st.relaxed.gpu.global.v2.b64 [$0], {$1, $2};"
// CHECK: %[[SCALE:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: %[[BIAS:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: scf.while
// The mean and, twice, M2 of the norm's input.
// CHECK: %[[SCALED:.*]] = arith.mulf %[[MEAN:.*]], %[[SCALE]] : f32
// CHECK: %[[HALF:.*]] = arith.mulf %{{.*}}, %[[SCALE]] : f32
// CHECK: arith.mulf %[[HALF]], %[[SCALE]] : f32
// CHECK: %[[OFINPUT:.*]] = arith.addf %[[SCALED]],
// CHECK: math.sqrt
// A bias that is no number stays.
// CHECK: %[[ZERO:.*]] = arith.subf %[[OFINPUT]], %[[OFINPUT]] : f32
// CHECK: arith.addf %[[MEAN]], %[[ZERO]] : f32
func.func @affine(%x: memref<768x128xbf16>, %w: memref<64x128xbf16>, %scale: memref<64xf32>, %bias: memref<64xf32>,
                  %y: memref<768x64xf32>, %space: memref<198144xi8>) {
  tenon.tiled_linear %x, %w : memref<768x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<768x64xf32>, %s = %scale: memref<64xf32>, %b = %bias: memref<64xf32>)
      outs(%y: memref<768x64xf32>) workspace(%space: memref<198144xi8>)
      schedule<wgmma, tile = 128x32x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               reduction = resident> {
    %0 = tenon.mul %acc, %s : tensor<768x64xf32>, tensor<64xf32>
    %1 = tenon.add %0, %b : tensor<768x64xf32>, tensor<64xf32>
    %2 = tenon.batch_norm_training %1 : (tensor<768x64xf32>) -> tensor<768x64xf32>
    tenon.yield %2 : tensor<768x64xf32>
  }
  return
}

// A residual before the norm: threads load it, and TMA does not.
// CHECK-LABEL: llvm.func @residual_before_tiled(
// CHECK: nvvm.elect.sync
// CHECK-COUNT-2: cp.async.bulk.tensor.shared.cluster.global
// CHECK-NOT: {{expect_tx|cp.async.bulk.tensor.shared.cluster.global}}
// CHECK: nvvm.elect.sync
// CHECK-NOT: {{expect_tx|cp.async.bulk.tensor.shared.cluster.global}}
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK-NEXT: nvvm.cp.async.bulk.commit.group
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 1 {read}
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: cp.async.bulk
// CHECK: "prefetch.global.L2 [$0];"
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK-COUNT-8: llvm.load {{.*}} : !llvm.ptr<1> -> vector<2xbf16>
// CHECK: nvvm.shfl.sync bfly
// CHECK: "bar.arrive 2, 288;"
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: llvm.store {{.*}} : vector<2xf32>, !llvm.ptr<3>
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.addi %{{.*}}, %c115520_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: bulk
// CHECK: llvm.func @residual_before_tiled_unaligned(
func.func @residual_before(%x: memref<768x128xbf16>, %w: memref<64x128xbf16>, %r: memref<768x64xbf16>, %y: memref<768x64xf32>,
                           %space: memref<198144xi8>) {
  tenon.tiled_linear %x, %w : memref<768x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<768x64xf32>, %res = %r: memref<768x64xbf16>)
      outs(%y: memref<768x64xf32>) workspace(%space: memref<198144xi8>)
      schedule<wgmma, tile = 128x32x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               reduction = resident> {
    %0 = tenon.add %acc, %res : tensor<768x64xf32>, tensor<768x64xbf16>
    %1 = tenon.batch_norm_training %0 : (tensor<768x64xf32>) -> tensor<768x64xf32>
    tenon.yield %1 : tensor<768x64xf32>
  }
  return
}
