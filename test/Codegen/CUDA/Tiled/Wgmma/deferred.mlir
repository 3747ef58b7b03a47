// Kernels of wgmma with defer: a turn's tile is finished in part while the products of the next turn are computed.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s --implicit-check-not=nanosleep

// A tile is eight subtiles of 32 rows by 64 columns for each of two warpgroups, in four buffers that residual and
// result share. A thread has 16 of its 128 accumulators in each, and holds those of the last four. With a residual and
// gelu half a subtile takes as long as a stage's products: to finish what is held takes nine stages after the first. K
// has eleven, the fewest that are enough. Of the first warpgroup's barriers Written begin at 230208, Loaded at 230240, and
// Asked is at 230272.
// CHECK-LABEL: llvm.func @layer_tiled(

// The copying warp loads a tile's first subtiles when asked for them, with pauses where tiles are finished in rounds.
// CHECK: scf.while (%{{[^ ]*}} = %c0_i32, %{{[^ ]*}} = %c0_i32) : (i32, i32) -> (i32, i32)
// CHECK: ^bb0(%{{[^:]*}}: i32, %[[TILES:[^:]*]]: i32):
// CHECK: arith.addi %{{.*}}, %c230272_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[TILES]],
// CHECK-NEXT: scf.for
// CHECK-NEXT: nvvm.nanosleep %c73_i32
// CHECK-NOT: wgmma

// Where there is a turn at all, the products of the first one are started before the loop. They hide no epilogue, and
// the operands of its tile are asked for beside them. Each stage's are a loop of four groups. The turn's number is a
// variable that LLVM makes a register; it is read anew, so that nothing computed of it takes another. So is the place in
// the ring, of eleven stages a turn.
// CHECK: llvm.store %c0_i32, %[[NUMBER:.*]] : i32, !llvm.ptr{{$}}
// CHECK-NEXT: llvm.store %c0_i32, %[[FINISHED:.*]] : i32, !llvm.ptr{{$}}
// CHECK-NEXT: %[[TURN:.*]] = llvm.load %[[NUMBER]] : !llvm.ptr -> i32
// CHECK-NEXT: %[[ANEW:.*]] = llvm.inline_asm has_side_effects "", "=r,0" %[[TURN]]
// CHECK-NEXT: %[[FAR:.*]] = arith.muli %[[ANEW]],
// CHECK-NEXT: %[[TILE:.*]] = arith.addi %{{.*}}, %[[FAR]]
// CHECK-NEXT: %[[ANYTURN:.*]] = arith.cmpi slt, %[[TILE]], %c64_i32
// CHECK-NEXT: scf.if %[[ANYTURN]]
// CHECK-NOT: volatile
// CHECK: %[[PASSED:.*]] = arith.muli %{{.*}}, %c11_i32
// CHECK-NEXT: %[[AT:.*]] = llvm.inline_asm has_side_effects "", "=r,0" %[[PASSED]]
// CHECK: arith.remui %[[AT]], %c4_i32
// CHECK: setp.ne.b32 adds, 0, 0;{{.*}}GROUP:{{.*}}wgmma.mma_async{{[^;]*}};\0Asetp.ne.b32 adds, 1, 0;\0Awgmma.commit_group.sync.aligned;{{.*}}
// CHECK-NOT: {{prefetch|mbarrier.arrive}}
// CHECK: arith.addi %{{.*}}, %c230272_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{arrive.shared::cta|stmatrix|wait_group}}
// CHECK: %[[FIRST:.*]]:4 = scf.for %{{.*}} = %c1_i32 to %c11_i32
// CHECK: setp.ne.b32 adds, 1, 0;{{.*}}GROUP:\0A.pragma \22nounroll\22;\0Awgmma.fence.sync.aligned;
// CHECK-SAME: wgmma.mma_async{{[^;]*}};\0Awgmma.commit_group.sync.aligned;
// CHECK-SAME: and.b64 left, columns, 7;\0Asetp.ne.b64 again, left, 0;{{.*}}wgmma.wait_group.sync.aligned 4;"
// CHECK-NOT: {{wgmma|stmatrix}}

// From turn to turn the loop carries the products that were started, and from its first region to its second what is
// held of the tile: half of its accumulators.
// CHECK: %[[HELD:.*]]:64 = scf.while (%{{.*}} = %[[FIRST]]#2, %[[STARTED:[^ ]*]] = %[[FIRST]]#3)
// The bias of the thread's two columns is loaded while the last products are computed, and the first four subtiles are
// waited for, each of which uses another buffer, for the first time in the tile.
// CHECK: %[[B0:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK: %[[B1:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: {{!llvm.ptr<1> -> f32|wgmma|mbarrier}}
// CHECK: arith.addi %{{.*}}, %c230240_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK-NEXT: arith.addi %{{.*}}, %c230248_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK-NEXT: arith.addi %{{.*}}, %c230256_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK-NEXT: arith.addi %{{.*}}, %c230264_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK-NEXT: llvm.extractvalue %[[STARTED]][0]
// CHECK-NOT: mbarrier
// CHECK: %[[DONE:.*]] = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;"
// CHECK: %[[E0:.*]] = llvm.extractvalue %[[DONE]][0] :
// CHECK: %[[E64:.*]] = llvm.extractvalue %[[DONE]][64] :
// CHECK: %[[E127:.*]] = llvm.extractvalue %[[DONE]][127] :
// CHECK-NOT: mbarrier.arrive.shared::cta
// CHECK: mbarrier.arrive.shared::cluster

// Then these four are finished, and nobody waits between them.
// CHECK-NOT: {{mbarrier|matrix}}
// CHECK-COUNT-2: nvvm.ldmatrix
// CHECK-NOT: ldmatrix
// CHECK: arith.addf %[[E0]], %[[B0]]
// CHECK-COUNT-8: math.exp2
// CHECK-NOT: {{math.exp2|mbarrier|fence}}
// CHECK: nvvm.stmatrix
// CHECK-COUNT-8: math.exp2
// CHECK-NOT: {{math.exp2|mbarrier|fence}}
// CHECK: nvvm.stmatrix
// CHECK-NOT: {{math.exp2|stmatrix|mbarrier|fence}}
// CHECK-COUNT-2: nvvm.ldmatrix
// CHECK-NOT: {{ldmatrix|mbarrier}}
// CHECK-COUNT-8: math.exp2
// CHECK-NOT: {{math.exp2|mbarrier|fence}}
// CHECK: nvvm.stmatrix
// CHECK-COUNT-8: math.exp2
// CHECK-NOT: {{math.exp2|mbarrier|fence}}
// CHECK: nvvm.stmatrix
// CHECK-NOT: {{math.exp2|stmatrix|mbarrier|fence}}
// CHECK-COUNT-2: nvvm.ldmatrix
// CHECK-NOT: {{ldmatrix|mbarrier}}
// CHECK-COUNT-8: math.exp2
// CHECK-NOT: {{math.exp2|mbarrier|fence}}
// CHECK: nvvm.stmatrix
// CHECK-COUNT-8: math.exp2
// CHECK-NOT: {{math.exp2|mbarrier|fence}}
// CHECK: nvvm.stmatrix
// CHECK-NOT: {{math.exp2|stmatrix|mbarrier|fence}}
// CHECK-COUNT-2: nvvm.ldmatrix
// CHECK-NOT: {{ldmatrix|mbarrier}}
// CHECK-COUNT-8: math.exp2
// CHECK-NOT: {{math.exp2|mbarrier|fence}}
// CHECK: nvvm.stmatrix
// CHECK-COUNT-8: math.exp2
// CHECK-NOT: {{math.exp2|mbarrier|fence}}
// CHECK: nvvm.stmatrix
// One fence is for all four. Behind it a lane of each warp, when all have come so far, says of each that it has been
// written.
// CHECK-NEXT: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi %{{.*}}, %c230208_i32
// CHECK-NEXT: %[[W0:.*]] = llvm.getelementptr
// CHECK-NEXT: arith.addi %{{.*}}, %c230216_i32
// CHECK-NEXT: %[[W1:.*]] = llvm.getelementptr
// CHECK-NEXT: arith.addi %{{.*}}, %c230224_i32
// CHECK-NEXT: %[[W2:.*]] = llvm.getelementptr
// CHECK-NEXT: arith.addi %{{.*}}, %c230232_i32
// CHECK-NEXT: %[[W3:.*]] = llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[ISFIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[ISFIRST]]
// CHECK-NEXT: %[[ADDRESS:.*]] = llvm.ptrtoint %[[W0]]
// CHECK-NEXT: "mbarrier.arrive.shared::cta.b64 _, [$0];"{{.*}} %[[ADDRESS]] :
// CHECK-NEXT: %[[ADDRESS:.*]] = llvm.ptrtoint %[[W1]]
// CHECK-NEXT: "mbarrier.arrive.shared::cta.b64 _, [$0];"{{.*}} %[[ADDRESS]] :
// CHECK-NEXT: %[[ADDRESS:.*]] = llvm.ptrtoint %[[W2]]
// CHECK-NEXT: "mbarrier.arrive.shared::cta.b64 _, [$0];"{{.*}} %[[ADDRESS]] :
// CHECK-NEXT: %[[ADDRESS:.*]] = llvm.ptrtoint %[[W3]]
// CHECK-NEXT: "mbarrier.arrive.shared::cta.b64 _, [$0];"{{.*}} %[[ADDRESS]] :
// CHECK-NEXT: }

// The others are held with their bias added, which leaves none in wgmma's registers.
// CHECK-NEXT: %[[COPY:.*]] = arith.addf %[[E64]], %[[B0]] {{.*}}: f32
// CHECK-COUNT-62: arith.addf
// CHECK-NEXT: %[[LASTCOPY:.*]] = arith.addf %[[E127]], %[[B1]] {{.*}}: f32
// CHECK-NOT: {{mbarrier|wgmma|matrix|volatile|bar.warp.sync}}
// Nothing but the turn's number changes.
// CHECK: %[[TURN:.*]] = llvm.load %[[NUMBER]] : !llvm.ptr -> i32
// CHECK-NEXT: %[[ANEW:.*]] = llvm.inline_asm has_side_effects "", "=r,0" %[[TURN]]
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[ANEW]], %c1_i32
// CHECK-NEXT: llvm.store %[[NEXT]], %[[NUMBER]] : i32, !llvm.ptr{{$}}
// CHECK-NEXT: %[[TURN:.*]] = llvm.load %[[NUMBER]] : !llvm.ptr -> i32
// CHECK-NEXT: %[[ANEW:.*]] = llvm.inline_asm has_side_effects "", "=r,0" %[[TURN]]
// CHECK-NEXT: %[[FAR:.*]] = arith.muli %[[ANEW]],
// CHECK-NEXT: %[[TILE:.*]] = arith.addi %{{.*}}, %[[FAR]]
// CHECK-NEXT: %[[ISLEFT:.*]] = arith.cmpi slt, %[[TILE]], %c64_i32
// CHECK-NEXT: scf.condition(%[[ISLEFT]]) %[[COPY]], {{.*}} %[[LASTCOPY]] : f32,
// CHECK-NEXT: } do {

// The next turn's products are started, but its operands are not asked for: what is held needs the buffers.
// CHECK-NEXT: ^bb0(%[[H0:[^:]*]]: f32,{{[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,}} %[[H8:[^:]*]]: f32,
// CHECK: %[[PASSED:.*]] = arith.muli %{{.*}}, %c11_i32
// CHECK-NEXT: llvm.inline_asm has_side_effects "", "=r,0" %[[PASSED]]
// CHECK: setp.ne.b32 adds, 0, 0;{{.*}}GROUP:{{.*}}wgmma.mma_async{{[^;]*}};\0Asetp.ne.b32 adds, 1, 0;\0Awgmma.commit_group.sync.aligned;{{.*}}
// CHECK-NOT: {{prefetch|mbarrier.arrive|ptr<1> -> f32}}
// Beside those of the second stage what the held part needs first would be loaded: nothing.
// CHECK: GROUP:
// CHECK-SAME: wgmma.mma_async{{[^;]*}};\0Awgmma.commit_group.sync.aligned;
// CHECK-SAME: and.b64 left, columns, 7;\0Asetp.ne.b64 again, left, 0;{{.*}}wgmma.wait_group.sync.aligned 4;"
// CHECK-NOT: mbarrier.arrive.shared::cta
// CHECK: mbarrier.arrive.shared::cluster
// CHECK-NOT: {{mbarrier|wgmma|ptr<1> -> f32}}
// Beside those of each of the next eight half a subtile is finished, in a loop over subtiles. A step begins behind the
// branch of a wait that passes, for the stage that has been started. Before the first half of a subtile its buffer is
// waited for, and of the residual no more is loaded than that half. Of the four subtiles that are held, which are the
// last, the loop has one in its registers.
// CHECK: %[[STEPS:.*]]:20 = scf.for %[[BODY:.*]] = %c0_i32 to %c4_i32 step %c1_i32 iter_args(
// CHECK-SAME: %[[AT0:[^ ]*]] = %[[H0]],
// CHECK: nvvm.mbarrier.try_wait.parity %[[FULL:.*]], %[[PARITY:.*]], %c10000000_i32
// CHECK: setp.ne.b32 adds, 1, 0;
// CHECK-COUNT-4: wgmma.mma_async
// CHECK-SAME: wgmma.wait_group.sync.aligned 1;"
// CHECK-NOT: mbarrier.arrive.shared::cta
// CHECK: mbarrier.arrive.shared::cluster
// CHECK: nvvm.mbarrier.try_wait.parity %[[FULL]], %[[PARITY]], %c10000000_i32
// CHECK: %[[SUBTILE:.*]] = arith.addi %{{.*}}, %c4_i32
// CHECK-NOT: {{wgmma|mbarrier|matrix}}
// CHECK: %[[SLOT:.*]] = arith.remui %[[SUBTILE]], %c4_i32
// CHECK: %[[USED:.*]] = arith.divui %[[SUBTILE]], %c4_i32
// CHECK-NEXT: %[[ODD:.*]] = arith.andi %[[USED]], %c1_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[ODD]],
// CHECK: nvvm.ldmatrix
// CHECK-NOT: ldmatrix
// CHECK: %[[H:.*]] = llvm.inline_asm has_side_effects "", "=f,0" %[[AT0]] : (f32) -> f32
// CHECK: math.absf %[[H]] : f32
// CHECK-COUNT-8: math.exp2
// CHECK-NOT: {{math.exp2|wgmma|ldmatrix}}
// CHECK: nvvm.stmatrix
// CHECK-NOT: {{math.exp2|wgmma.commit|nvvm.ldmatrix|nvvm.stmatrix|mbarrier.arrive|fence.proxy}}
// The second half is in the same buffer, 16 rows of 128 bytes later. Behind it the subtile is released, once.
// CHECK: setp.ne.b32 adds, 1, 0;
// CHECK-COUNT-4: wgmma.mma_async
// CHECK-SAME: wgmma.wait_group.sync.aligned 1;"
// CHECK: mbarrier.arrive.shared::cluster
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-NOT: {{wgmma|mbarrier|matrix}}
// CHECK: %[[HALF:.*]] = llvm.getelementptr %{{.*}}[2048]
// CHECK-NEXT: nvvm.ldmatrix %[[HALF]]
// CHECK-NOT: {{ldmatrix|mbarrier}}
// CHECK-COUNT-8: math.exp2
// CHECK-NOT: {{math.exp2|wgmma|matrix|mbarrier}}
// CHECK: nvvm.stmatrix %[[HALF]]
// CHECK-NEXT: fence.proxy.async.shared::cta
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// The next subtile comes from where it is held; the last of them if there is no next one.
// CHECK-NOT: {{math.exp2|wgmma|mbarrier|fence}}
// CHECK: %[[NEXT:.*]] = arith.addi %[[BODY]], %c1_i32
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[NEXT]]
// CHECK-NEXT: scf.index_switch %[[INDEX]]
// CHECK-NEXT: case 1 {
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: case 2 {
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: default {
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: scf.yield
// After the last one nothing of the tile before needs the buffers, and the operands of this one are asked for.
// CHECK-NOT: {{math.exp2|wgmma|mbarrier}}
// CHECK: %[[COUNTED:.*]] = llvm.load %[[FINISHED]] : !llvm.ptr -> i32
// CHECK-NEXT: %[[MORE:.*]] = arith.xori %[[COUNTED]], %c1_i32
// CHECK-NEXT: llvm.store %[[MORE]], %[[FINISHED]] : i32, !llvm.ptr{{$}}
// CHECK-NOT: {{wgmma|mbarrier}}
// CHECK: arith.addi %{{.*}}, %c230272_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// The stage that is left hides nothing.
// CHECK-NOT: {{matrix|shared::cta}}
// CHECK: wgmma.wait_group.sync.aligned 4;"
// CHECK-NOT: {{matrix|shared::cta|wgmma}}
// CHECK: scf.yield
// CHECK-NEXT: }

// After the last turn what is held of its tile is finished beside nothing, two subtiles to a body, and no operands are
// asked for.
// CHECK-NOT: {{wgmma|mbarrier|matrix|fence}}
// CHECK: scf.for %{{.*}} = %c0_i32 to %c2_i32 step %c1_i32 iter_args(%[[AT0:[^ ]*]] = %[[HELD]]#0,
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: nvvm.ldmatrix
// CHECK-NOT: {{mbarrier|ldmatrix}}
// CHECK: llvm.inline_asm has_side_effects "", "=f,0" %[[AT0]] : (f32) -> f32
// CHECK: nvvm.stmatrix
// CHECK-NOT: {{mbarrier|fence}}
// CHECK: %[[HALF:.*]] = llvm.getelementptr %{{.*}}[2048]
// CHECK-NEXT: nvvm.ldmatrix %[[HALF]]
// CHECK-NOT: {{mbarrier|fence}}
// CHECK: nvvm.stmatrix %[[HALF]]
// CHECK-NEXT: fence.proxy.async.shared::cta
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{mbarrier|matrix|fence}}
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-NOT: {{mbarrier|fence}}
// CHECK: fence.proxy.async.shared::cta
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{mbarrier|matrix|fence}}
// CHECK: scf.yield
// No block of the cluster waits at the end but the warp that loads x and w.
// CHECK-NOT: {{mbarrier|wgmma|matrix|cluster}}
// CHECK: llvm.func @layer_tiled_unaligned(
func.func @layer(%x: memref<4096x704xbf16>, %w: memref<1024x704xbf16>, %b: memref<1024xf32>,
                 %r: memref<4096x1024xbf16>, %y: memref<4096x1024xbf16>) {
  tenon.tiled_linear %x, %w : memref<4096x704xbf16>, memref<1024x704xbf16>
      epilogue(%acc: tensor<4096x1024xf32>, %bias = %b: memref<1024xf32>, %res = %r: memref<4096x1024xbf16>)
      outs(%y: memref<4096x1024xbf16>)
      schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 1x2, defer = true> {
    %0 = tenon.add %acc, %bias : tensor<4096x1024xf32>, tensor<1024xf32>
    %1 = tenon.gelu %0 : tensor<4096x1024xf32>
    %2 = tenon.add %1, %res : tensor<4096x1024xf32>, tensor<4096x1024xbf16>
    %3 = tenon.cast %2 : tensor<4096x1024xf32> -> tensor<4096x1024xbf16>
    tenon.yield %3 : tensor<4096x1024xbf16>
  }
  return
}

// -----

// A bias alone takes less than a stage's products: a step is a subtile, and K has seven stages, the fewest that are enough
// for four. Results have four buffers, whose barriers Written begin at 230208 and Free at 230240. Where a thread has
// columns of two blocks of wgmma's rows no register is left for the turn's number and that of tiles: both are in shared
// memory.
// CHECK-LABEL: llvm.func @blocks_tiled(
// CHECK-NOT: llvm.alloca
// CHECK: nvvm.setmaxregister increase
// CHECK-COUNT-2: llvm.store volatile %c0_i32, %{{.*}} : i32, !llvm.ptr<3>
// CHECK-NOT: llvm.store volatile
// CHECK: :64 = scf.while (
// CHECK-NOT: {{wait_group|matrix|mbarrier}}
// CHECK: arith.addi %{{.*}}, %c230240_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %{{.*}}, %c1_i32,
// CHECK-NEXT: arith.addi %{{.*}}, %c230248_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %{{.*}}, %c1_i32,
// CHECK-NEXT: arith.addi %{{.*}}, %c230256_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %{{.*}}, %c1_i32,
// CHECK-NEXT: arith.addi %{{.*}}, %c230264_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %{{.*}}, %c1_i32,
// CHECK-NOT: {{mbarrier|matrix}}
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-NOT: try_wait
// CHECK-COUNT-8: nvvm.stmatrix
// CHECK-NEXT: fence.proxy.async.shared::cta
// CHECK-COUNT-4: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{mbarrier|matrix|fence}}
// When all lanes have read the number, one stores that of the next turn.
// CHECK: %[[TURN:.*]] = llvm.load volatile %[[NUMBER:.*]] {alignment
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[TURN]], %c1_i32
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[ISFIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[ISFIRST]]
// CHECK-NEXT: llvm.store volatile %[[NEXT]], %[[NUMBER]] {{.*}}
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: scf.condition(
// CHECK-NOT: {{stmatrix|mbarrier.arrive.shared}}
// CHECK: wgmma.wait_group.sync.aligned 2;"
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: setp.ne.b32 adds, 1, 0;
// CHECK-COUNT-8: wgmma.mma_async
// CHECK-SAME: wgmma.wait_group.sync.aligned 1;"
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{wgmma|mbarrier|matrix}}
// CHECK: arith.addi %{{.*}}, %c230240_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK-NOT: {{wgmma|mbarrier}}
// CHECK-COUNT-2: nvvm.stmatrix
// CHECK-NEXT: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.addi %{{.*}}, %c230208_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{stmatrix|wgmma.commit|mbarrier.arrive}}
// CHECK: setp.ne.b32 adds, 1, 0;
// CHECK-COUNT-8: wgmma.mma_async
// CHECK-SAME: wgmma.wait_group.sync.aligned 1;"
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{wgmma|mbarrier|matrix}}
// CHECK: arith.addi %{{.*}}, %c230248_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK-NOT: {{wgmma|mbarrier}}
// CHECK-COUNT-2: nvvm.stmatrix
// CHECK-NEXT: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.addi %{{.*}}, %c230216_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{stmatrix|wgmma.commit|mbarrier.arrive}}
// CHECK: setp.ne.b32 adds, 1, 0;
// CHECK-COUNT-8: wgmma.mma_async
// CHECK-SAME: wgmma.wait_group.sync.aligned 1;"
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{wgmma|mbarrier|matrix}}
// CHECK: arith.addi %{{.*}}, %c230256_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK-NOT: {{wgmma|mbarrier}}
// CHECK-COUNT-2: nvvm.stmatrix
// CHECK-NEXT: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.addi %{{.*}}, %c230224_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{stmatrix|wgmma.commit|mbarrier.arrive}}
// CHECK: setp.ne.b32 adds, 1, 0;
// CHECK-COUNT-8: wgmma.mma_async
// CHECK-SAME: wgmma.wait_group.sync.aligned 1;"
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{wgmma|mbarrier|matrix}}
// CHECK: arith.addi %{{.*}}, %c230264_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK-NOT: {{wgmma|mbarrier}}
// CHECK-COUNT-2: nvvm.stmatrix
// CHECK-NEXT: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.addi %{{.*}}, %c230232_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{stmatrix|wgmma|mbarrier}}
// CHECK: %[[COUNTED:.*]] = llvm.load volatile %[[FINISHED:.*]] {alignment
// CHECK-NEXT: %[[MORE:.*]] = arith.xori %[[COUNTED]], %c1_i32
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[ISFIRST:.*]] = arith.cmpi eq
// CHECK-NEXT: scf.if %[[ISFIRST]]
// CHECK-NEXT: llvm.store volatile %[[MORE]], %[[FINISHED]] {{.*}}
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NOT: stmatrix
// CHECK: scf.yield %{{.*}} : i32, !llvm.struct
// CHECK-COUNT-8: nvvm.stmatrix
// CHECK-NOT: {{stmatrix|wgmma}}
// CHECK: llvm.func @blocks_tiled_unaligned(
func.func @blocks(%x: memref<4096x448xbf16>, %w: memref<1024x448xbf16>, %b: memref<1024xf32>,
                  %y: memref<4096x1024xbf16>) {
  tenon.tiled_linear %x, %w : memref<4096x448xbf16>, memref<1024x448xbf16>
      epilogue(%acc: tensor<4096x1024xf32>, %bias = %b: memref<1024xf32>)
      outs(%y: memref<4096x1024xbf16>)
      schedule<wgmma, tile = 128x256x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               defer = true> {
    %0 = tenon.add %acc, %bias : tensor<4096x1024xf32>, tensor<1024xf32>
    %1 = tenon.relu %0 : tensor<4096x1024xf32>
    %2 = tenon.cast %1 : tensor<4096x1024xf32> -> tensor<4096x1024xbf16>
    tenon.yield %2 : tensor<4096x1024xbf16>
  }
  return
}

// -----

// With reduction = resident all of a tile is held, rounded: two subtiles of 32 rows by 64 columns for each warpgroup,
// whose residual and result have two buffers each. A subtile takes a stage, and an exchange 16; K has 19, the fewest
// that are enough.
// CHECK-LABEL: llvm.func @resident_tiled(
// The warp that loads x and w prepares, after the barriers of stages, one more: the table of columns is complete when one
// thread says so. It has its place behind those of subtiles, which other warps prepare.
// CHECK-COUNT-8: nvvm.mbarrier.init
// CHECK-NEXT: %[[BARRIER:.*]] = llvm.getelementptr %[[SHARED:.*]][132032]
// CHECK-NEXT: nvvm.mbarrier.init %[[BARRIER]], %c1_i32
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.elect.sync
// CHECK-NOT: {{nvvm.mbarrier.init .*%c1_i32}}
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK-COUNT-5: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-NOT: {{nvvm.mbarrier.init .*%c1_i32}}
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK-COUNT-5: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-NOT: nvvm.mbarrier.init

// In the copying warpgroup, whose other warps each have a thread elected, warp 1 is the finisher.
// CHECK: nvvm.elect.sync
// CHECK-NOT: {{bar.sync|relaxed.gpu}}
// CHECK: %[[ISFINISHER:.*]] = arith.cmpi eq, %{{.*}}, %c1_i32
// CHECK-NEXT: scf.if %[[ISFINISHER]]
// Of the 128 columns of a turn's tile this block, of a panel of six, has every sixth: a lane's first is that of the
// row tile's number, and six more for each lane before. No lane has a second, 192 columns later.
// They come to it when the block's own states are stored.
// CHECK: "bar.sync 2, 288;"
// CHECK: %[[OWN:.*]] = arith.divui %{{.*}}, %c64_i32
// CHECK-NEXT: %[[BEFORE:.*]] = arith.muli %{{.*}}, %c6_i32
// CHECK-NEXT: %[[BEGIN:.*]] = arith.addi %[[OWN]], %[[BEFORE]]
// CHECK-NEXT: scf.for %{{.*}} = %[[BEGIN]] to %c128_i32 step %c192_i32
// It waits for the states of all six row tiles, three at a time; a multiplying warp would have loaded the running
// statistics before.
// CHECK-NOT: llvm.load
// CHECK: scf.for %{{.*}} = %c0_i32 to %{{.*}} step %c3_i32
// CHECK: scf.while
// CHECK-COUNT-3: @p ld.relaxed.gpu.global.v2.b64
// CHECK-NOT: ld.relaxed
// CHECK: scf.condition
// CHECK: @p trap;
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK: math.sqrt
// What all blocks need of the column is published behind the states, and stored is what they do not.
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %{{.*}}[786432]
// CHECK-NEXT: "st.relaxed.gpu.global.v2.b64 [$0], {$1, $2};"{{.*}} %[[PLACE]],
// CHECK: scf.if
// CHECK-COUNT-2: llvm.store %{{.*}} : f32, !llvm.ptr<1>
// CHECK-NOT: {{relaxed|!llvm.ptr<3>$}}
// What the panel's finishers have published of all columns comes to the block's table, a lane's column at a time.
// CHECK: nvvm.bar.warp.sync
// CHECK: scf.for %{{.*}} = %c0_i32 to %c128_i32 step %c32_i32
// CHECK: llvm.getelementptr %{{.*}}[786432]
// CHECK: scf.while
// CHECK: @p ld.relaxed.gpu.global.v2.b64
// CHECK-NOT: ld.relaxed
// CHECK: @p trap;
// CHECK: llvm.getelementptr %[[SHARED]][132048]
// CHECK-COUNT-2: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// When all lanes have written, one says so.
// CHECK: nvvm.bar.warp.sync
// CHECK-NEXT: %[[ISFIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[ISFIRST]]
// CHECK-NEXT: %[[BARRIER:.*]] = llvm.getelementptr %[[SHARED]][132032]
// CHECK-NEXT: %[[ADDRESS:.*]] = llvm.ptrtoint %[[BARRIER]]
// CHECK-NEXT: "mbarrier.arrive.shared::cta.b64 _, [$0];"{{.*}} %[[ADDRESS]]
// After the last turn it has read all that other blocks have left, and says so without a barrier. One block of the
// panel clears when all have: states of two turns in four times 32 columns, what was published of them, then flags.
// CHECK-NOT: {{bar.sync|bar.arrive|relaxed}}
// CHECK: "st.relaxed.gpu.global.b64 [$0], $1;"
// CHECK: ld.relaxed.gpu.global.b64
// CHECK-SAME: trap;
// CHECK: scf.for %{{.*}} = %c0_i32 to %c6_i32
// CHECK-NOT: [786432]
// CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 16 : i64} : vector<2xi64>, !llvm.ptr<1>
// CHECK-NOT: {{llvm.store|786432}}
// CHECK: }
// CHECK: [786432]
// CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 16 : i64} : vector<2xi64>, !llvm.ptr<1>
// CHECK-NOT: vector<2xi64>
// CHECK: llvm.store %c0_i64, %{{.*}} : i64, !llvm.ptr<1>

// The warps that multiply: the first turn hides nothing.
// CHECK: setp.ne.b32 adds, 0, 0;{{.*}}wgmma.commit_group.sync.aligned;{{.*}}
// CHECK-COUNT-3: "prefetch.global.L2 [$0];"
// CHECK: arith.addi %{{.*}}, %c131952_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: scf.for
// CHECK: wgmma.commit_group.sync.aligned;
// CHECK-NOT: {{wgmma.commit|matrix}}
// Held are 16 words of two elements, and the origins of the thread's two columns.
// CHECK: %[[HELD:.*]]:18 = scf.while (
// CHECK-SAME: -> (vector<2xbf16>, {{.*}}vector<2xbf16>, f32, f32) {
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// A column's origin is the mean of 32 of its rows, 8 a lane; what remains are the elements' distances from it.
// CHECK-COUNT-8: math.fma
// CHECK-NEXT: nvvm.shfl.sync bfly
// CHECK-NEXT: arith.addf
// CHECK-NEXT: nvvm.shfl.sync bfly
// CHECK-NEXT: %[[ORIGIN0:.*]] = arith.addf
// CHECK-NEXT: %[[A0:.*]] = arith.subf %{{.*}}, %[[ORIGIN0]] : f32
// CHECK-NEXT: %[[A1:.*]] = arith.subf %{{.*}}, %[[ORIGIN0]] : f32
// CHECK-COUNT-14: arith.subf %{{.*}}, %[[ORIGIN0]] : f32
// Sums of distances and of their squares in four chains each, then those of neighbouring lanes: mean and M2.
// CHECK-COUNT-16: math.fma %{{.*}}, %cst{{.*}}, %{{.*}} : f32
// CHECK: math.fma %[[A0]], %[[A0]], %cst{{.*}} : f32
// CHECK-NEXT: math.fma %[[A1]], %[[A1]], %cst{{.*}} : f32
// CHECK-COUNT-4: nvvm.shfl.sync bfly
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK-NEXT: %[[ORIGIN1:.*]] = arith.addf
// CHECK-NEXT: %[[B0:.*]] = arith.subf %{{.*}}, %[[ORIGIN1]] : f32
// CHECK-NEXT: %[[B1:.*]] = arith.subf %{{.*}}, %[[ORIGIN1]] : f32
// CHECK-COUNT-4: nvvm.shfl.sync bfly
// CHECK-NOT: {{shfl.sync bfly|relaxed}}
// They store states, say so to the finisher, and wait for none. What they hold are the distances, rounded.
// CHECK: "st.relaxed.gpu.global.v2.b64 [$0], {$1, $2};"
// CHECK-NOT: {{relaxed|mbarrier|matrix}}
// CHECK: "bar.arrive 2, 288;"
// CHECK-NEXT: %[[WORD:.*]] = nvvm.convert.f32x2.to.bf16x2 %[[A1]], %[[A0]]
// CHECK-NEXT: %[[NEXTWORD:.*]] = nvvm.convert.f32x2.to.bf16x2 %[[B1]], %[[B0]]
// CHECK-COUNT-13: nvvm.convert.f32x2.to.bf16x2
// CHECK: %[[LASTWORD:.*]] = nvvm.convert.f32x2.to.bf16x2
// CHECK-NOT: {{convert|relaxed|mbarrier|matrix|volatile}}
// They go on as long as there is a turn more: how many there are is in shared memory, and does not change.
// CHECK: %[[TURN:.*]] = llvm.load %[[NUMBER:.*]] : !llvm.ptr -> i32
// CHECK-NEXT: %[[ANEW:.*]] = llvm.inline_asm has_side_effects "", "=r,0" %[[TURN]]
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[ANEW]], %c1_i32
// CHECK-NEXT: llvm.store %[[NEXT]], %[[NUMBER]] : i32, !llvm.ptr{{$}}
// CHECK-NOT: llvm.store
// CHECK: %[[COUNT:.*]] = llvm.load volatile
// CHECK-NEXT: %[[ISLEFT:.*]] = arith.cmpi slt, %{{.*}}, %[[COUNT]]
// CHECK-NEXT: scf.condition(%[[ISLEFT]]) %[[WORD]], %[[NEXTWORD]], {{.*}} %[[LASTWORD]], %[[ORIGIN0]], %[[ORIGIN1]] :
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%[[W0:[^:]*]]: vector<2xbf16>, {{.*}}vector<2xbf16>,
// CHECK-SAME: %[[M0:[^:]*]]: f32, %[[M1:[^:]*]]: f32):

// Most of the next turn's stages pass before what is held is needed, all but three.
// CHECK: setp.ne.b32 adds, 0, 0;{{.*}}wgmma.commit_group.sync.aligned;{{.*}}
// CHECK-COUNT-3: "prefetch.global.L2 [$0];"
// CHECK-NOT: {{prefetch|arrive.shared::cta}}
// CHECK: scf.for %{{.*}} = %c1_i32 to %c16_i32
// CHECK-NOT: arrive.shared::cta
// CHECK: scf.yield
// The norm has no operands of a column that subtiles need, so the first of the last stages has nothing to hide.
// CHECK: wgmma.wait_group.sync.aligned 2;"
// Beside the next, when the stage before has been released, the table is waited for, in the phase of the turn before.
// CHECK: wgmma.wait_group.sync.aligned 1;"
// CHECK: mbarrier.arrive.shared::cluster
// CHECK-NOT: mbarrier
// CHECK: %[[TURN:.*]] = llvm.load %[[NUMBER]] : !llvm.ptr -> i32
// CHECK-NEXT: %[[ANEW:.*]] = llvm.inline_asm has_side_effects "", "=r,0" %[[TURN]]
// CHECK-NEXT: %[[HELDTURN:.*]] = arith.subi %[[ANEW]], %c1_i32
// CHECK-NEXT: %[[TABLE:.*]] = llvm.getelementptr %[[SHARED]][132032]
// CHECK-NEXT: %[[PARITY:.*]] = arith.andi %[[HELDTURN]], %c1_i32
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %[[TABLE]], %[[PARITY]],
// CHECK-NOT: mbarrier
// CHECK: llvm.getelementptr %[[SHARED]][132048]
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<2xf32>
// CHECK-NEXT: %[[MEAN:.*]] = vector.extract %{{.*}}[0]
// CHECK-NEXT: %[[FACTOR:.*]] = vector.extract %{{.*}}[1]
// The residual has arrived, and the buffer of results is free.
// CHECK: arith.addi %{{.*}}, %c131936_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: arith.addi %{{.*}}, %c131920_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-NOT: mbarrier
// All of the subtile's residual is loaded: with reduction = resident no step is half of one.
// CHECK-COUNT-2: nvvm.ldmatrix
// CHECK-NOT: {{mbarrier|ldmatrix}}
// An element is a word's half and its column's origin; the norm takes it.
// CHECK: llvm.inline_asm has_side_effects "", "=r,0" %[[W0]] : (vector<2xbf16>)
// CHECK: %[[ELEMENT:.*]] = arith.addf %{{.*}}, %[[M0]] : f32
// CHECK-NEXT: arith.addf %{{.*}}, %[[M0]] : f32
// CHECK-COUNT-2: arith.addf %{{.*}}, %[[M1]] : f32
// CHECK: %[[CENTERED:.*]] = arith.subf %[[ELEMENT]], %[[MEAN]]
// CHECK-NEXT: arith.mulf %[[CENTERED]], %[[FACTOR]]
// CHECK-COUNT-2: nvvm.stmatrix
// CHECK-NEXT: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.addi %{{.*}}, %c131904_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// Beside the last the other subtile; then the operands of the turn's own tile are asked for.
// CHECK: wgmma.wait_group.sync.aligned 1;"
// CHECK: mbarrier.arrive.shared::cluster
// CHECK-NOT: {{wgmma|\[132032\]}}
// CHECK: arith.addi %{{.*}}, %c131944_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: arith.addi %{{.*}}, %c131928_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-NOT: {{wgmma|mbarrier}}
// CHECK-COUNT-2: nvvm.stmatrix
// CHECK-NEXT: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.addi %{{.*}}, %c131912_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{mbarrier.arrive.shared|wgmma}}
// CHECK: arith.addi %{{.*}}, %c131952_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{wgmma|matrix|shared::cta}}
// CHECK: scf.yield
// CHECK-NEXT: }

// After the last turn the table is waited for once more.
// CHECK: %[[HELDTURN:.*]] = arith.subi %{{.*}}, %c1_i32
// CHECK: %[[PARITY:.*]] = arith.andi %[[HELDTURN]], %c1_i32
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[PARITY]],
// CHECK: llvm.inline_asm has_side_effects "", "=r,0" %[[HELD]]#0 : (vector<2xbf16>)
// CHECK: arith.addf %{{.*}}, %[[HELD]]#16 : f32
// CHECK: arith.addf %{{.*}}, %[[HELD]]#17 : f32
// CHECK-COUNT-2: nvvm.stmatrix
// CHECK-NEXT: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.addi %{{.*}}, %c131904_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: nvvm.stmatrix
// CHECK: llvm.inline_asm has_side_effects "", "=r,0" %[[HELD]]#15 : (vector<2xbf16>)
// CHECK: nvvm.stmatrix
// CHECK-NEXT: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.addi %{{.*}}, %c131912_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{wgmma|stmatrix|131952|bar.arrive}}
// CHECK: llvm.func @resident_tiled_unaligned(
func.func @resident(%x: memref<384x1216xbf16>, %w: memref<256x1216xbf16>, %mean: memref<256xf32>,
                    %var: memref<256xf32>, %r: memref<384x256xbf16>, %y: memref<384x256xbf16>,
                    %space: memref<1574400xi8>) {
  tenon.tiled_linear %x, %w : memref<384x1216xbf16>, memref<256x1216xbf16>
      epilogue(%acc: tensor<384x256xf32>, %m = %mean: memref<256xf32>, %v = %var: memref<256xf32>,
               %res = %r: memref<384x256xbf16>)
      outs(%y: memref<384x256xbf16>, %mean: memref<256xf32>, %var: memref<256xf32>)
      workspace(%space: memref<1574400xi8>)
      schedule<wgmma, tile = 64x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 2x1, defer = true, reduction = resident> {
    %0:3 = tenon.batch_norm_training %acc running(%m, %v)
        : (tensor<384x256xf32>, tensor<256xf32>, tensor<256xf32>)
        -> (tensor<384x256xf32>, tensor<256xf32>, tensor<256xf32>)
    %1 = tenon.add %0#0, %res : tensor<384x256xf32>, tensor<384x256xbf16>
    %2 = tenon.relu %1 : tensor<384x256xf32>
    %3 = tenon.cast %2 : tensor<384x256xf32> -> tensor<384x256xbf16>
    tenon.yield %3, %0#1, %0#2 : tensor<384x256xbf16>, tensor<256xf32>, tensor<256xf32>
  }
  return
}

// -----

// f16 lacks f32's range: what is held is divided by a power of two near the root mean square of the column's distances in
// the tile, and multiplied by it again; squares that underflow or overflow have a power by which no distance does. Means and powers of two of two columns come after the words.
// CHECK-LABEL: llvm.func @resident_f16_tiled(
// CHECK: %[[HELD:.*]]:20 = scf.while (
// CHECK-SAME: -> (vector<2xf16>, {{.*}}vector<2xf16>, f32, f32, f32, f32) {
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK-NEXT: %[[ORIGIN:.*]] = arith.addf
// CHECK-NEXT: %[[A0:.*]] = arith.subf %{{.*}}, %[[ORIGIN]] : f32
// CHECK-NEXT: %[[A1:.*]] = arith.subf %{{.*}}, %[[ORIGIN]] : f32
// CHECK: "bar.arrive 2, 288;"
// CHECK-NEXT: %[[VARIANCE:.*]] = arith.mulf
// CHECK-NEXT: %[[SQUARE:.*]] = math.fma %[[MEAN:.*]], %[[MEAN]], %[[VARIANCE]] : f32
// CHECK-NEXT: %[[BITS:.*]] = llvm.bitcast %[[SQUARE]] : f32 to i32
// CHECK-NEXT: %[[SHIFTED:.*]] = arith.shrui %[[BITS]], %c23_i32
// CHECK-NEXT: %[[EXPONENT:.*]] = arith.andi %[[SHIFTED]], %c255_i32
// CHECK-NEXT: %[[SUM:.*]] = arith.addi %[[EXPONENT]], %c127_i32
// CHECK-NEXT: %[[HALF:.*]] = arith.shrui %[[SUM]], %c1_i32
// CHECK-NEXT: %[[ISZERO:.*]] = arith.cmpi eq, %[[EXPONENT]], %c0_i32
// CHECK-NEXT: %[[SMALL:.*]] = arith.select %[[ISZERO]], %c55_i32, %[[HALF]]
// CHECK-NEXT: %[[ISMOST:.*]] = arith.cmpi eq, %[[EXPONENT]], %c255_i32
// CHECK-NEXT: %[[POWER:.*]] = arith.select %[[ISMOST]], %c247_i32, %[[SMALL]]
// CHECK: %[[UNIT:.*]] = llvm.bitcast %{{.*}} : i32 to f32
// CHECK-NEXT: arith.subi %c254_i32, %[[POWER]]
// CHECK: %[[SCALE:.*]] = llvm.bitcast %{{.*}} : i32 to f32
// CHECK: %[[S0:.*]] = arith.mulf %[[A0]], %[[SCALE]] : f32
// CHECK-NEXT: %[[S1:.*]] = arith.mulf %[[A1]], %[[SCALE]] : f32
// CHECK: %[[WORD:.*]] = nvvm.convert.f32x2.to.f16x2 %[[S1]], %[[S0]]
// CHECK-COUNT-15: nvvm.convert.f32x2.to.f16x2
// CHECK: scf.condition(%{{.*}}) %[[WORD]], {{.*}}, %[[ORIGIN]], %{{.*}}, %[[UNIT]], %{{.*}} :
// CHECK-NEXT: } do {
// CHECK: math.fma %{{.*}}, %[[HELD]]#18, %[[HELD]]#16 : f32
// CHECK: math.fma %{{.*}}, %[[HELD]]#19, %[[HELD]]#17 : f32
func.func @resident_f16(%x: memref<384x1216xf16>, %w: memref<256x1216xf16>, %mean: memref<256xf32>,
                        %var: memref<256xf32>, %r: memref<384x256xf16>, %y: memref<384x256xf16>,
                        %space: memref<1574400xi8>) {
  tenon.tiled_linear %x, %w : memref<384x1216xf16>, memref<256x1216xf16>
      epilogue(%acc: tensor<384x256xf32>, %m = %mean: memref<256xf32>, %v = %var: memref<256xf32>,
               %res = %r: memref<384x256xf16>)
      outs(%y: memref<384x256xf16>, %mean: memref<256xf32>, %var: memref<256xf32>)
      workspace(%space: memref<1574400xi8>)
      schedule<wgmma, tile = 64x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 2x1, defer = true, reduction = resident> {
    %0:3 = tenon.batch_norm_training %acc running(%m, %v)
        : (tensor<384x256xf32>, tensor<256xf32>, tensor<256xf32>)
        -> (tensor<384x256xf32>, tensor<256xf32>, tensor<256xf32>)
    %1 = tenon.add %0#0, %res : tensor<384x256xf32>, tensor<384x256xf16>
    %2 = tenon.relu %1 : tensor<384x256xf32>
    %3 = tenon.cast %2 : tensor<384x256xf32> -> tensor<384x256xf16>
    tenon.yield %3, %0#1, %0#2 : tensor<384x256xf16>, tensor<256xf32>, tensor<256xf32>
  }
  return
}

// -----

// One stage fewer than @layer has: each tile is finished as a whole, as without defer.
// CHECK-LABEL: llvm.func @short_tiled(
// CHECK-COUNT-2: nvvm.elect.sync
// CHECK: = scf.while (
// CHECK-NOT: = scf.while
// CHECK: scf.while : () -> () {
// CHECK: scf.condition
// CHECK-NOT: wait_group
// CHECK: setp.ne.b32 adds, 0, 0;{{.*}}wgmma.commit_group.sync.aligned;{{.*}}
// CHECK-NOT: matrix
// CHECK: arith.addi %{{.*}}, %c230272_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: wgmma.wait_group.sync.aligned 1;"
// CHECK-NOT: {{stmatrix|try_wait}}
// CHECK: arith.addi %{{.*}}, %c230240_i32
// CHECK-COUNT-4: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK-NOT: {{stmatrix|try_wait}}
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-COUNT-16: nvvm.stmatrix
// CHECK-NOT: {{stmatrix|wgmma|= scf.while}}
// CHECK: llvm.func @short_tiled_unaligned(
func.func @short(%x: memref<4096x640xbf16>, %w: memref<1024x640xbf16>, %r: memref<4096x1024xbf16>,
                 %y: memref<4096x1024xbf16>) {
  tenon.tiled_linear %x, %w : memref<4096x640xbf16>, memref<1024x640xbf16>
      epilogue(%acc: tensor<4096x1024xf32>, %res = %r: memref<4096x1024xbf16>) outs(%y: memref<4096x1024xbf16>)
      schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 1x2, defer = true> {
    %0 = tenon.add %acc, %res : tensor<4096x1024xf32>, tensor<4096x1024xbf16>
    %1 = tenon.cast %0 : tensor<4096x1024xf32> -> tensor<4096x1024xbf16>
    tenon.yield %1 : tensor<4096x1024xbf16>
  }
  return
}

// -----

// TMA does not move rows of 84 elements of 16 bits. Threads that store them themselves hold nothing, though K is long.
// CHECK-LABEL: llvm.func @by_threads_tiled(
// CHECK: nvvm.elect.sync
// CHECK: = scf.while (
// CHECK-NOT: = scf.while
// CHECK: scf.while : () -> () {
// CHECK-NOT: = scf.while
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-COUNT-8: @p st.global.b16
// CHECK-NOT: {{st.global|wgmma|= scf.while}}
// CHECK: llvm.func @by_threads_tiled_unaligned(
func.func @by_threads(%x: memref<?x512xbf16>, %w: memref<84x512xbf16>, %y: memref<?x84xbf16>) {
  tenon.tiled_linear %x, %w : memref<?x512xbf16>, memref<84x512xbf16>
      epilogue(%acc: tensor<?x84xbf16>) outs(%y: memref<?x84xbf16>)
      schedule<wgmma, tile = 16x64x64, warps = 1x4, stages = 4, swizzle = 128, raster = 8, blocks = 1, defer = true> {
    tenon.yield %acc : tensor<?x84xbf16>
  }
  return
}

// -----

// One stage fewer than @resident has: there is no finisher. The warps that multiply wait for the states, and a warp
// beside them clears when they say that they have read the last. The table's barrier has room, but is not initialized.
// CHECK-LABEL: llvm.func @short_resident_tiled(
// CHECK-COUNT-8: nvvm.mbarrier.init
// CHECK-NOT: {{nvvm.mbarrier.init|132032}}
// CHECK: nvvm.elect.sync
// CHECK-NOT: 132032
// CHECK-COUNT-14: nvvm.mbarrier.init
// CHECK-NOT: {{nvvm.mbarrier.init|132032}}
// CHECK: nvvm.elect.sync
// CHECK-NOT: relaxed.gpu.global.v2
// CHECK: "bar.sync 2, 288;"
// CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 16 : i64} : vector<2xi64>, !llvm.ptr<1>
// CHECK-NOT: {{vector<2xi64>|= scf.while}}
// CHECK: scf.while : () -> () {
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK: "st.relaxed.gpu.global.v2.b64 [$0], {$1, $2};"
// CHECK-COUNT-6: @p ld.relaxed.gpu.global.v2.b64
// CHECK: llvm.getelementptr %{{.*}}[132048]
// CHECK-COUNT-2: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// CHECK: "bar.arrive 2, 288;"
// CHECK-COUNT-4: nvvm.stmatrix
// CHECK-NOT: {{relaxed.gpu|wgmma|stmatrix|132032}}
// CHECK: llvm.func @short_resident_tiled_unaligned(
func.func @short_resident(%x: memref<384x1152xbf16>, %w: memref<256x1152xbf16>, %r: memref<384x256xbf16>,
                          %y: memref<384x256xbf16>, %space: memref<1574400xi8>) {
  tenon.tiled_linear %x, %w : memref<384x1152xbf16>, memref<256x1152xbf16>
      epilogue(%acc: tensor<384x256xf32>, %res = %r: memref<384x256xbf16>) outs(%y: memref<384x256xbf16>)
      workspace(%space: memref<1574400xi8>)
      schedule<wgmma, tile = 64x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 2x1, defer = true, reduction = resident> {
    %0 = tenon.batch_norm_training %acc : (tensor<384x256xf32>) -> tensor<384x256xf32>
    %1 = tenon.add %0, %res : tensor<384x256xf32>, tensor<384x256xbf16>
    %2 = tenon.cast %1 : tensor<384x256xf32> -> tensor<384x256xbf16>
    tenon.yield %2 : tensor<384x256xbf16>
  }
  return
}

// -----

// So it is where results are of f32, which would have to be rounded to be held, however long K is.
// CHECK-LABEL: llvm.func @wide_resident_tiled(
// CHECK-NOT: relaxed.gpu.global.v2
// CHECK: "bar.sync 2, 288;"
// CHECK-NOT: {{relaxed.gpu.global.v2|= scf.while}}
// CHECK: scf.while : () -> () {
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-COUNT-6: @p ld.relaxed.gpu.global.v2.b64
// CHECK: "bar.arrive 2, 288;"
// CHECK-NOT: wgmma
// CHECK: llvm.func @wide_resident_tiled_unaligned(
func.func @wide_resident(%x: memref<384x4096xbf16>, %w: memref<256x4096xbf16>, %y: memref<384x256xf32>,
                         %space: memref<1574400xi8>) {
  tenon.tiled_linear %x, %w : memref<384x4096xbf16>, memref<256x4096xbf16>
      epilogue(%acc: tensor<384x256xf32>) outs(%y: memref<384x256xf32>) workspace(%space: memref<1574400xi8>)
      schedule<wgmma, tile = 64x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 2x1, defer = true, reduction = resident> {
    %0 = tenon.batch_norm_training %acc : (tensor<384x256xf32>) -> tensor<384x256xf32>
    tenon.yield %0 : tensor<384x256xf32>
  }
  return
}
