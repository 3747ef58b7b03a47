// The epilogue of a wgmma kernel: what has M x N elements is moved by TMA in subtiles, where TMA can.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s

// A tensor map for each, after those of x and w: the residual's, then the
// result's, in subtiles of 64 rows by as many columns as have room twice. Of
// another type, they have buffers of their own.
// CHECK-LABEL: func.func @layer(
// CHECK-SAME: %[[X:[^:]*]]: memref<?x1024xbf16>, %[[W:[^:]*]]: memref<256x1024xbf16>, %[[B:[^:]*]]: memref<256xf32>, %[[R:[^:]*]]: memref<?x256xf16>, %[[Y:[^:]*]]: memref<?x256xbf16>
// CHECK: tenon.launch @kernels::@layer_tiled {{.*}} args(%[[X]] : {{[^,]*}}, %[[W]] : {{[^,]*}}, %[[R]] : {{[^,]*}}, %[[Y]] : {{[^,]*}}, %[[X]] : {{[^,]*}}, %[[W]] : {{[^,]*}}, %[[B]] : {{[^,]*}}, %[[R]] : {{[^,]*}}, %[[Y]] : {{.*}}tensor_maps = [#tenon.tensor_map<box = 128x64, swizzle = 128>, #tenon.tensor_map<box = 96x64, swizzle = 128>, #tenon.tensor_map<box = 64x32, swizzle = 64>, #tenon.tensor_map<box = 64x32, swizzle = 64>]
// CHECK: llvm.func @layer_tiled(%[[XMAP:[^:]*]]: {{[^}]*}}}, %[[WMAP:[^:]*]]: {{[^}]*}}}, %[[RMAP:[^:]*]]: {{[^}]*}}}, %[[YMAP:[^:]*]]: {{[^}]*}}},
// What changes from turn to turn are variables that LLVM makes registers.
// CHECK: llvm.alloca %c1_i32 x i32
// CHECK-NEXT: llvm.alloca %c1_i32 x i32
// CHECK-NOT: llvm.alloca
// The copying warpgroup gives up registers. One lane of its warp 0 prepares the
// barriers of 4 stages; the warp goes on when all roles have prepared theirs.
// CHECK: nvvm.setmaxregister decrease
// CHECK-NEXT: %[[LOADS:.*]] = arith.cmpi eq, %[[WARP:.*]], %c0_i32
// CHECK-NEXT: scf.if %[[LOADS]]
// CHECK-NEXT: %[[LANE:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[LANE]]
// CHECK-COUNT-8: nvvm.mbarrier.init %{{.*}}, %c{{1|2}}_i32
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.barrier0
// CHECK-NEXT: nvvm.griddepcontrol wait
// CHECK-NEXT: nvvm.griddepcontrol launch_dependents
// CHECK-NEXT: %[[ELECTED:.*]] = nvvm.elect.sync
// CHECK-NEXT: scf.if %[[ELECTED]]
// It loads x and w. A turn's tile comes as many after the block's first as all
// blocks have had before; the block has no more turns when there is none such.
// CHECK: scf.while (%[[TURN:[^ ]*]] = %c0_i32, %{{[^ ]*}} = %c0_i32, %{{[^ ]*}} = %c0_i32)
// CHECK-NEXT: %[[FAR:.*]] = arith.muli %[[TURN]], %[[BLOCKS:.*]] : i32
// CHECK-NEXT: %[[TILE:.*]] = arith.addi %[[BLOCK:.*]], %[[FAR]] : i32
// CHECK: %[[ROWS:.*]] = arith.divui %{{.*}}, %c128_i32
// CHECK-NEXT: %[[COUNT:.*]] = arith.muli %[[ROWS]], %c3_i32
// CHECK-NEXT: %[[ISTURN:.*]] = arith.cmpi slt, %[[TILE]], %[[COUNT]]
// CHECK-NEXT: scf.condition(%[[ISTURN]]) %[[TURN]],
// CHECK: cp.async.bulk.tensor.shared.cluster.global {{.*}}, %[[WMAP]],
// Each other warp has its own to prepare: warp 1 fetches tensor maps, and warps
// 2 and 3 each initialize the seven barriers of a warpgroup: two that its four
// warps say Written at, from 148288; two Free, from 148304; two Loaded, from
// 148320; and Asked, at 148336. Those of the second warpgroup come 56 later.
// CHECK: } else {
// CHECK-NEXT: %[[WARPGROUP:.*]] = arith.subi %[[WARP]], %c1_i32
// CHECK-NEXT: %[[LANE:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[LANE]]
// CHECK-NEXT: %[[ISSECOND:.*]] = arith.cmpi eq, %[[WARP]], %c1_i32
// CHECK-NEXT: scf.if %[[ISSECOND]]
// CHECK-NEXT: "prefetch.tensormap [$0];", "l" %[[XMAP]] :
// CHECK-NEXT: "prefetch.tensormap [$0];", "l" %[[WMAP]] :
// CHECK-NEXT: "prefetch.tensormap [$0];", "l" %[[RMAP]] :
// CHECK-NEXT: "prefetch.tensormap [$0];", "l" %[[YMAP]] :
// CHECK-NEXT: }
// CHECK-NEXT: %[[ISTHIRD:.*]] = arith.cmpi eq, %[[WARPGROUP]], %c1_i32
// CHECK-NEXT: scf.if %[[ISTHIRD]]
// CHECK-NEXT: %[[BARRIER:.*]] = llvm.getelementptr %[[SHARED:.*]][148288]
// CHECK-NEXT: nvvm.mbarrier.init %[[BARRIER]], %c4_i32
// CHECK-NEXT: %[[BARRIER:.*]] = llvm.getelementptr %[[SHARED]][148296]
// CHECK-NEXT: nvvm.mbarrier.init %[[BARRIER]], %c4_i32
// CHECK-NEXT: %[[BARRIER:.*]] = llvm.getelementptr %[[SHARED]][148304]
// CHECK-NEXT: nvvm.mbarrier.init %[[BARRIER]], %c1_i32
// CHECK-NEXT: %[[BARRIER:.*]] = llvm.getelementptr %[[SHARED]][148312]
// CHECK-NEXT: nvvm.mbarrier.init %[[BARRIER]], %c1_i32
// CHECK-NEXT: %[[BARRIER:.*]] = llvm.getelementptr %[[SHARED]][148320]
// CHECK-NEXT: nvvm.mbarrier.init %[[BARRIER]], %c1_i32
// CHECK-NEXT: %[[BARRIER:.*]] = llvm.getelementptr %[[SHARED]][148328]
// CHECK-NEXT: nvvm.mbarrier.init %[[BARRIER]], %c1_i32
// CHECK-NEXT: %[[BARRIER:.*]] = llvm.getelementptr %[[SHARED]][148336]
// CHECK-NEXT: nvvm.mbarrier.init %[[BARRIER]], %c1_i32
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: }
// CHECK-NEXT: %[[ISFOURTH:.*]] = arith.cmpi eq, %[[WARPGROUP]], %c2_i32
// CHECK-NEXT: scf.if %[[ISFOURTH]]
// CHECK-NEXT: %[[BARRIER:.*]] = llvm.getelementptr %[[SHARED]][148344]
// CHECK-NEXT: nvvm.mbarrier.init %[[BARRIER]], %c4_i32
// CHECK-NEXT: %[[BARRIER:.*]] = llvm.getelementptr %[[SHARED]][148352]
// CHECK-NEXT: nvvm.mbarrier.init %[[BARRIER]], %c4_i32
// CHECK-NEXT: %[[BARRIER:.*]] = llvm.getelementptr %[[SHARED]][148360]
// CHECK-NEXT: nvvm.mbarrier.init %[[BARRIER]], %c1_i32
// CHECK-NEXT: %[[BARRIER:.*]] = llvm.getelementptr %[[SHARED]][148368]
// CHECK-NEXT: nvvm.mbarrier.init %[[BARRIER]], %c1_i32
// CHECK-NEXT: %[[BARRIER:.*]] = llvm.getelementptr %[[SHARED]][148376]
// CHECK-NEXT: nvvm.mbarrier.init %[[BARRIER]], %c1_i32
// CHECK-NEXT: %[[BARRIER:.*]] = llvm.getelementptr %[[SHARED]][148384]
// CHECK-NEXT: nvvm.mbarrier.init %[[BARRIER]], %c1_i32
// CHECK-NEXT: %[[BARRIER:.*]] = llvm.getelementptr %[[SHARED]][148392]
// CHECK-NEXT: nvvm.mbarrier.init %[[BARRIER]], %c1_i32
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.barrier0
// CHECK-NEXT: nvvm.griddepcontrol wait
// CHECK-NEXT: nvvm.griddepcontrol launch_dependents
// CHECK-NOT: nvvm.mbarrier.init
// Then warps 2 and 3 copy subtiles, one thread each.
// CHECK: %[[MORE:.*]] = arith.cmpi sgt, %[[WARPGROUP]], %c0_i32
// CHECK: %[[LESS:.*]] = arith.cmpi slt, %[[WARPGROUP]], %c3_i32
// CHECK: %[[COPIES:.*]] = arith.andi %[[MORE]], %[[LESS]]
// CHECK: scf.if %[[COPIES]]
// CHECK-NEXT: %[[ELECTED:.*]] = nvvm.elect.sync
// CHECK-NEXT: scf.if %[[ELECTED]]
// When the tile's operands are asked for it loads the first two of three
// subtiles of the residual.
// CHECK: scf.while (%[[TURN:[^ ]*]] = %c0_i32, %{{[^ ]*}} = %c0_i32)
// CHECK-NEXT: %[[FAR:.*]] = arith.muli %[[TURN]], %[[BLOCKS]]
// CHECK-NEXT: %[[TILE:.*]] = arith.addi %[[BLOCK]], %[[FAR]]
// CHECK: %[[ISTURN:.*]] = arith.cmpi slt, %[[TILE]],
// CHECK-NEXT: scf.condition(%[[ISTURN]]) %[[TURN]],
// CHECK: ^bb0(%[[TURN:[^:]*]]: i32, %[[TILES:[^:]*]]: i32):
// CHECK-NEXT: %[[FAR:.*]] = arith.muli %[[TURN]], %[[BLOCKS]]
// CHECK-NEXT: %[[TILE:.*]] = arith.addi %[[BLOCK]], %[[FAR]]
// CHECK: %[[NEXT:.*]] = arith.xori %[[TILES]], %c1_i32
// CHECK: arith.addi %{{.*}}, %c148336_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[TILES]],
// CHECK: scf.for %[[LOADED:.*]] = %c0_i32 to %c2_i32 step
// CHECK: arith.addi %{{.*}}, %c148320_i32
// CHECK: mbarrier.arrive.expect_tx{{.*}} %c4096_i32
// CHECK: %[[PLACE:.*]] = arith.remui %[[LOADED]], %c3_i32
// CHECK: %[[RIGHT:.*]] = arith.muli %[[PLACE]], %c32_i32
// CHECK: %[[COLUMN:.*]] = arith.addi %{{.*}}, %[[RIGHT]]
// CHECK: cp.async.bulk.tensor.shared.cluster.global {{.*}}, %[[RMAP]], {{.*}} box[%[[COLUMN]], %{{.*}}]
// CHECK-NOT: cp.async.bulk
// It stores each of the three when it has been written. The first buffer is
// written twice a tile, the second once: the parity depends on how many tiles
// were before.
// CHECK: scf.for %[[NUMBER:.*]] = %c0_i32 to %c3_i32 step
// CHECK-NEXT: %[[SLOT:.*]] = arith.remui %[[NUMBER]], %c2_i32
// CHECK: arith.addi %{{.*}}, %c148288_i32
// CHECK: %[[ISFIRST:.*]] = arith.cmpi slt, %[[SLOT]], %c1_i32
// CHECK-NEXT: %[[ONEMORE:.*]] = arith.extui %[[ISFIRST]]
// CHECK-NEXT: %[[USES:.*]] = arith.addi %[[ONEMORE]], %c1_i32
// CHECK-NEXT: %[[BEFORE:.*]] = arith.muli %[[USES]], %[[TILES]]
// CHECK-NEXT: %[[ODD:.*]] = arith.andi %[[BEFORE]], %c1_i32
// CHECK-NEXT: %[[ROUND:.*]] = arith.divui %[[NUMBER]], %c2_i32
// CHECK-NEXT: %[[ODDROUND:.*]] = arith.andi %[[ROUND]], %c1_i32
// CHECK-NEXT: %[[PARITY:.*]] = arith.xori %[[ODD]], %[[ODDROUND]]
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[PARITY]],
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[YMAP]], {{.*}} box[
// CHECK-NEXT: nvvm.cp.async.bulk.commit.group
// Who has written has read: what is loaded next has buffers of its own.
// CHECK-NEXT: %[[AHEAD:.*]] = arith.addi %[[NUMBER]], %c2_i32
// CHECK-NEXT: %[[ISANY:.*]] = arith.cmpi slt, %[[AHEAD]], %c3_i32
// CHECK-NEXT: scf.if %[[ISANY]]
// CHECK: arith.addi %{{.*}}, %c148320_i32
// CHECK: mbarrier.arrive.expect_tx{{.*}} %c4096_i32
// CHECK: cp.async.bulk.tensor.shared.cluster.global {{.*}}, %[[RMAP]],
// CHECK-NEXT: }
// With one store under way it hands back the buffer of the one before.
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 1 {read}
// CHECK-NEXT: %[[READ:.*]] = arith.subi %[[NUMBER]], %c1_i32
// CHECK-NEXT: %[[WASANY:.*]] = arith.cmpi sgt, %[[READ]], %c-1_i32
// CHECK-NEXT: scf.if %[[WASANY]]
// CHECK-NEXT: arith.remui %[[READ]], %c2_i32
// CHECK: arith.addi %{{.*}}, %c148304_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// And the last, in the first buffer, at the end of the tile.
// CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK-NEXT: arith.addi %{{.*}}, %c148304_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NEXT: %[[NEXTTURN:.*]] = arith.addi %[[TURN]], %c1_i32
// CHECK-NEXT: scf.yield %[[NEXTTURN]], %[[NEXT]] :
// The threads that multiply do not copy. They have the whole residual brought to
// L2, and its first subtiles loaded, when the first products have been started.
// CHECK-NOT: cp.async.bulk
// CHECK: nvvm.setmaxregister increase
// CHECK-NEXT: nvvm.barrier0
// CHECK-NEXT: nvvm.griddepcontrol wait
// CHECK-NEXT: nvvm.griddepcontrol launch_dependents
// They keep the turn's number, and how many tiles were before.
// CHECK-NEXT: llvm.store %c0_i32, %[[NUMBER:.*]] : i32, !llvm.ptr{{$}}
// CHECK-NEXT: llvm.store %c0_i32, %[[KEPT:.*]] : i32, !llvm.ptr{{$}}
// CHECK-NEXT: scf.while
// CHECK-NEXT: %[[TURN:.*]] = llvm.load %[[NUMBER]] : !llvm.ptr -> i32
// CHECK-NEXT: %[[FAR:.*]] = arith.muli %[[TURN]], %[[BLOCKS]]
// CHECK-NEXT: %[[TILE:.*]] = arith.addi %[[BLOCK]], %[[FAR]]
// CHECK: %[[ISTURN:.*]] = arith.cmpi slt, %[[TILE]],
// CHECK-NEXT: scf.condition(%[[ISTURN]])
// CHECK-NOT: {{prefetch|mbarrier.arrive|elect.sync}}
// CHECK: setp.ne.b32 adds, 0, 0;{{.*}}wgmma.commit_group.sync.aligned;{{.*}}
// What TMA loads is not fetched to L2 before.
// CHECK-NOT: prefetch
// CHECK: llvm.inline_asm has_side_effects "", "=r,0"
// CHECK-NEXT: %[[WARP:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[WARP]]
// CHECK-NEXT: arith.muli %{{.*}}, %c56_i32
// CHECK-NEXT: arith.addi %{{.*}}, %c148336_i32
// CHECK-NEXT: llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[LANE:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[LANE]]
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: scf.for {{.*}} = %c1_i32 to
// CHECK: wgmma.mma_async{{.*}}wgmma.wait_group.sync.aligned 1;"
// Before a subtile is computed its operands must have arrived, and the buffer of
// its results been read. For as many subtiles as there are buffers the threads
// wait while the last products are computed. Parities of the first buffer are
// known, as it is used twice for every tile.
// CHECK: arith.addi %{{.*}}, %c148320_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK: arith.addi %{{.*}}, %c148304_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %c1_i32,
// Those of the second depend on how many tiles were before.
// CHECK: arith.addi %{{.*}}, %c148328_i32
// CHECK: %[[FINISHED:.*]] = llvm.load %[[KEPT]] : !llvm.ptr -> i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[FINISHED]],
// CHECK: arith.addi %{{.*}}, %c148312_i32
// CHECK: %[[AGAIN:.*]] = llvm.load %[[KEPT]] : !llvm.ptr -> i32
// CHECK: %[[OTHER:.*]] = arith.xori %[[AGAIN]], %c1_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[OTHER]],
// CHECK-NOT: {{try_wait|wait_group}}
// The bias is on its way before the last products are there.
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> vector<2xf32>
// CHECK-NOT: {{try_wait|wait_group}}
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-NOT: try_wait
// CHECK-COUNT-2: nvvm.ldmatrix {{.*}} num = 4
// CHECK-NOT: nvvm.ldmatrix
// CHECK-COUNT-2: nvvm.stmatrix
// CHECK-NOT: nvvm.stmatrix
// One lane of each warp says that the subtile has been written.
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi %{{.*}}, %c148288_i32
// CHECK-NEXT: %[[WRITTEN:.*]] = llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[FIRST]]
// CHECK-NEXT: %[[ADDRESS:.*]] = llvm.ptrtoint %[[WRITTEN]]
// CHECK-NEXT: "mbarrier.arrive.shared::cta.b64 _, [$0];"{{.*}} %[[ADDRESS]]
// CHECK-NOT: try_wait
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.stmatrix
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi %{{.*}}, %c148296_i32
// CHECK-NEXT: %[[WRITTEN:.*]] = llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[FIRST]]
// CHECK-NEXT: %[[ADDRESS:.*]] = llvm.ptrtoint %[[WRITTEN]]
// CHECK-NEXT: "mbarrier.arrive.shared::cta.b64 _, [$0];"{{.*}} %[[ADDRESS]]
// The third waits for what is loaded when the first has been stored.
// CHECK-NOT: nvvm.ldmatrix
// CHECK: arith.addi %{{.*}}, %c148320_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %c1_i32,
// CHECK: arith.addi %{{.*}}, %c148304_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.stmatrix
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.addi %{{.*}}, %c148288_i32
// CHECK-NEXT: %[[WRITTEN:.*]] = llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[FIRST]]
// CHECK-NEXT: %[[ADDRESS:.*]] = llvm.ptrtoint %[[WRITTEN]]
// CHECK-NEXT: "mbarrier.arrive.shared::cta.b64 _, [$0];"{{.*}} %[[ADDRESS]]
// Tiles are counted modulo 2.
// CHECK: %[[COUNTED:.*]] = llvm.load %[[KEPT]] : !llvm.ptr -> i32
// CHECK-NEXT: %[[FLIPPED:.*]] = arith.xori %[[COUNTED]], %c1_i32
// CHECK-NEXT: llvm.store %[[FLIPPED]], %[[KEPT]] : i32, !llvm.ptr{{$}}
// CHECK: %[[TURN:.*]] = llvm.load %[[NUMBER]] : !llvm.ptr -> i32
// CHECK-NEXT: %[[NEXTTURN:.*]] = arith.addi %[[TURN]], %c1_i32
// CHECK-NEXT: llvm.store %[[NEXTTURN]], %[[NUMBER]] : i32, !llvm.ptr{{$}}
// Nothing is stored to global memory, and no thread waits for another warp.
// CHECK-NOT: {{bulk|bar.sync|mbarrier|elect.sync}}
// CHECK-NOT: !llvm.ptr<1>
// CHECK: llvm.func @layer_tiled_unaligned(
func.func @layer(%x: memref<?x1024xbf16>, %w: memref<256x1024xbf16>, %b: memref<256xf32>, %r: memref<?x256xf16>, %y: memref<?x256xbf16>) {
  tenon.tiled_linear %x, %w : memref<?x1024xbf16>, memref<256x1024xbf16>
      epilogue(%acc: tensor<?x256xf32>, %bias = %b: memref<256xf32>, %res = %r: memref<?x256xf16>) outs(%y: memref<?x256xbf16>)
      schedule<wgmma, tile = 128x96x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    %0 = tenon.add %acc, %bias : tensor<?x256xf32>, tensor<256xf32>
    %1 = tenon.add %0, %res : tensor<?x256xf32>, tensor<?x256xf16>
    %2 = tenon.cast %1 : tensor<?x256xf32> -> tensor<?x256xbf16>
    tenon.yield %2 : tensor<?x256xbf16>
  }
  return
}

// -----

// As wide as they fit twice into 16 KB of each warpgroup, and as TMA's swizzle
// allows: rows of 128 bytes at most. One tensor: 64 columns of 16 bits, 32 of
// 32.
// CHECK-LABEL: func.func @widths
// CHECK: tenon.launch {{.*}}@widths_tiled {{.*}}swizzle = 128>, #tenon.tensor_map<box = 64x64, swizzle = 128>]
// CHECK: tenon.launch {{.*}}@widths_tiled_1 {{.*}}rounds_tf32 = true>, #tenon.tensor_map<box = 64x32, swizzle = 128>]
// Three of 16 and 32 bits; 136 columns are no multiple of more than 8.
// CHECK: tenon.launch {{.*}}@widths_tiled_2 {{.*}}swizzle = 128>, #tenon.tensor_map<box = 64x16, swizzle = 32>, #tenon.tensor_map<box = 64x16, swizzle = 32>, #tenon.tensor_map<box = 64x16, swizzle = 64>]
// CHECK: tenon.launch {{.*}}@widths_tiled_3 {{.*}}swizzle = 128>, #tenon.tensor_map<box = 64x8, swizzle = 32>]
// f32 is written two elements at a time.
// CHECK: llvm.func @widths_tiled_1(
// CHECK: llvm.store {{.*}} {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<3>
// CHECK: fence.proxy.async.shared::cta
// CHECK: llvm.func @widths_tiled_unaligned_1(
func.func @widths(%x: memref<512x1024xf16>, %w: memref<544x1024xf16>, %v: memref<512x1024xf32>, %u: memref<544x1024xf32>, %r: memref<512x544xf16>, %y: memref<512x544xf16>, %z: memref<512x544xf32>) {
  tenon.tiled_linear %x, %w : memref<512x1024xf16>, memref<544x1024xf16>
      epilogue(%acc: tensor<512x544xf16>) outs(%y: memref<512x544xf16>)
      schedule<wgmma, tile = 128x128x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<512x544xf16>
  }
  tenon.tiled_linear %v, %u : memref<512x1024xf32>, memref<544x1024xf32>
      epilogue(%acc: tensor<512x544xf32>) outs(%z: memref<512x544xf32>)
      schedule<wgmma, tile = 128x128x32, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<512x544xf32>
  }
  tenon.tiled_linear %x, %w : memref<512x1024xf16>, memref<544x1024xf16>
      epilogue(%acc: tensor<512x544xf32>, %res = %r: memref<512x544xf16>) outs(%y: memref<512x544xf16>, %z: memref<512x544xf32>)
      schedule<wgmma, tile = 128x128x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    %0 = tenon.add %acc, %res : tensor<512x544xf32>, tensor<512x544xf16>
    %1 = tenon.cast %0 : tensor<512x544xf32> -> tensor<512x544xf16>
    tenon.yield %1, %0 : tensor<512x544xf16>, tensor<512x544xf32>
  }
  tenon.tiled_linear %x, %w : memref<512x1024xf16>, memref<544x1024xf16>
      epilogue(%acc: tensor<512x544xf32>) outs(%z: memref<512x544xf32>)
      schedule<wgmma, tile = 128x136x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<512x544xf32>
  }
  return
}

// -----

// A turn that leaves its sums to another block must not ask for operands, as no
// one would wait for them; nor does the copying thread do anything for it, or
// count it as a tile. What changes from turn to turn is kept in shared memory, as
// sums of other blocks need registers.
// CHECK: llvm.func @stream_k_tiled(
// CHECK-NOT: llvm.alloca
// CHECK-COUNT-2: nvvm.elect.sync
// CHECK: scf.while (%[[TURN:[^ ]*]] = %c0_i32, %{{[^ ]*}} = %c0_i32)
// CHECK: %[[COUNT:.*]] = llvm.load volatile
// CHECK-NEXT: %[[ISTURN:.*]] = arith.cmpi slt, %[[TURN]], %[[COUNT]]
// CHECK-NEXT: scf.condition(%[[ISTURN]]) %[[TURN]],
// CHECK: ^bb0(%[[TURN:[^:]*]]: i32, %[[TILES:[^:]*]]: i32):
// CHECK-NOT: {{mbarrier|bulk}}
// CHECK: %[[COPIES:.*]] = arith.cmpi eq, %{{.*}}, %c16_i32
// CHECK-NEXT: scf.if %[[COPIES]]
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[TILES]],
// CHECK: mbarrier.arrive.expect_tx
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK: %[[COUNTED:.*]] = arith.select %[[COPIES]], %{{.*}}, %[[TILES]]
// CHECK-NEXT: %[[NEXTTURN:.*]] = arith.addi %[[TURN]], %c1_i32
// CHECK-NEXT: scf.yield %[[NEXTTURN]], %[[COUNTED]] :
// CHECK-NOT: bulk
// CHECK: scf.while
// CHECK: setp.ne.b32 adds, 0, 0;{{.*}}wgmma.commit_group.sync.aligned;{{.*}}
// CHECK: %[[ENDS:.*]] = arith.cmpi eq, %{{.*}}, %c16_i32
// CHECK: %[[ASKS:.*]] = arith.andi %{{.*}}, %[[ENDS]]
// CHECK-NEXT: scf.if %[[ASKS]]
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// Nor does anyone wait for a subtile before it is known that the turn ends its
// tile.
// CHECK: wgmma.wait_group.sync.aligned 1;"
// CHECK-NOT: try_wait
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-NOT: try_wait
// CHECK: scf.if
// CHECK: arith.addi %{{.*}}, %c164704_i32
// CHECK: %[[FINISHED:.*]] = llvm.load volatile
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[FINISHED]],
// CHECK: arith.addi %{{.*}}, %c164712_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: arith.addi %{{.*}}, %c164720_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: arith.addi %{{.*}}, %c164728_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: %[[COUNTED:.*]] = llvm.load volatile %[[KEPT:.*]] {alignment
// CHECK: %[[FLIPPED:.*]] = arith.xori %[[COUNTED]], %c1_i32
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: scf.if
// CHECK-NEXT: llvm.store volatile %[[FLIPPED]], %[[KEPT]] {{.*}}
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.bar.warp.sync
// When all lanes have read them, one stores how many stages have passed, then
// the number of the next turn, its tile's place and its part of K.
// CHECK: llvm.store {{.*}} : vector<4xf32>, !llvm.ptr<1>
// CHECK-NOT: llvm.store volatile
// CHECK: nvvm.bar.warp.sync
// CHECK: scf.if
// CHECK-NEXT: llvm.store volatile {{.*}}
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK: %[[TURN:.*]] = llvm.load volatile %[[NUMBER:.*]] {alignment
// CHECK-NEXT: %[[NEXTTURN:.*]] = arith.addi %[[TURN]], %c1_i32
// CHECK: nvvm.bar.warp.sync
// CHECK-NEXT: scf.if
// CHECK-NEXT: llvm.store volatile %[[NEXTTURN]], %[[NUMBER]]
// CHECK-NEXT: llvm.store volatile
// CHECK-NEXT: llvm.store volatile
// CHECK-NEXT: llvm.store volatile
// CHECK-NEXT: llvm.store volatile {{.*}}
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: scf.yield
// CHECK: llvm.func @stream_k_tiled_unaligned(
func.func @stream_k(%x: memref<512x1024xf16>, %w: memref<512x1024xf16>, %r: memref<512x512xf16>, %y: memref<512x512xf16>, %ws: memref<12584448xi8>) {
  tenon.tiled_linear %x, %w : memref<512x1024xf16>, memref<512x1024xf16>
      epilogue(%acc: tensor<512x512xf16>, %res = %r: memref<512x512xf16>) outs(%y: memref<512x512xf16>) workspace(%ws: memref<12584448xi8>)
      schedule<wgmma, tile = 128x128x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, stream_k = true> {
    %0 = tenon.add %acc, %res : tensor<512x512xf16>, tensor<512x512xf16>
    tenon.yield %0 : tensor<512x512xf16>
  }
  return
}

// -----

// What TMA cannot move is stored by the threads: rows of 200 bytes; 40 columns
// in parts of 16 bytes, which no swizzle has; a matrix of one row, which has
// nothing that differs from row to row.
// CHECK-LABEL: func.func @by_threads
// CHECK: tensor_maps = [#tenon.tensor_map<box = 128x64, swizzle = 128>, #tenon.tensor_map<box = 32x64, swizzle = 128>]
// CHECK: tensor_maps = [#tenon.tensor_map<box = 128x64, swizzle = 128>, #tenon.tensor_map<box = 40x64, swizzle = 128>]
// CHECK: tensor_maps = [#tenon.tensor_map<box = 64x64, swizzle = 128>, #tenon.tensor_map<box = 64x64, swizzle = 128>]
// CHECK: llvm.func @by_threads_tiled(
// CHECK-NOT: global.shared.cta
// CHECK: st.global
func.func @by_threads(%x: memref<512x64xf16>, %w: memref<100x64xf16>, %v: memref<120x64xf16>, %y: memref<512x100xf16>, %z: memref<512x120xf16>, %one: memref<1x64xf16>, %row: memref<1x120xf16>) {
  tenon.tiled_linear %x, %w : memref<512x64xf16>, memref<100x64xf16>
      epilogue(%acc: tensor<512x100xf16>) outs(%y: memref<512x100xf16>)
      schedule<wgmma, tile = 128x32x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<512x100xf16>
  }
  tenon.tiled_linear %x, %v : memref<512x64xf16>, memref<120x64xf16>
      epilogue(%acc: tensor<512x120xf16>) outs(%z: memref<512x120xf16>)
      schedule<wgmma, tile = 128x40x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<512x120xf16>
  }
  tenon.tiled_linear %one, %v : memref<1x64xf16>, memref<120x64xf16>
      epilogue(%acc: tensor<1x120xf16>) outs(%row: memref<1x120xf16>)
      schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<1x120xf16>
  }
  return
}

// -----

// Bounds that end a computation apply to pairs, when these are rounded; those
// that something else reads as well apply before. The upper elements of pairs
// of bf16 are their words without the lower half.
// CHECK: llvm.func @bounds_tiled(
// CHECK: nvvm.ldmatrix
// CHECK: %[[LOW:.*]] = arith.shli %{{.*}}, %c16_i32
// CHECK: %[[HIGH:.*]] = arith.andi %{{.*}}, %c-65536_i32
// CHECK: arith.bitcast %[[LOW]] : i32 to f32
// CHECK: arith.bitcast %[[HIGH]] : i32 to f32
// CHECK-NOT: arith.extf
// CHECK-NOT: arith.minimumf
// CHECK: %[[PAIR:.*]] = nvvm.convert.f32x2.to.bf16x2 {{.*}} : vector<2xbf16>
// CHECK: %[[ABOVE:.*]] = arith.maximumf %[[PAIR]], %{{.*}} : vector<2xbf16>
// CHECK: %[[WITHIN:.*]] = arith.minimumf %[[ABOVE]], %{{.*}} : vector<2xbf16>
// CHECK: llvm.bitcast %[[WITHIN]] : vector<2xbf16> to i32
// CHECK: llvm.func @bounds_tiled_unaligned(
// CHECK: llvm.func @shared_bound_tiled(
// CHECK: arith.maximumf {{.*}} : f32
// CHECK-NOT: arith.maximumf {{.*}} : vector<2xbf16>
// CHECK: llvm.func @shared_bound_tiled_unaligned(
func.func @bounds(%x: memref<512x1024xbf16>, %w: memref<512x1024xbf16>, %r: memref<512x512xbf16>, %y: memref<512x512xbf16>) {
  tenon.tiled_linear %x, %w : memref<512x1024xbf16>, memref<512x1024xbf16>
      epilogue(%acc: tensor<512x512xbf16>, %res = %r: memref<512x512xbf16>) outs(%y: memref<512x512xbf16>)
      schedule<wgmma, tile = 128x128x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    %0 = tenon.add %acc, %res : tensor<512x512xbf16>, tensor<512x512xbf16>
    %1 = tenon.clamp %0 {min = -1.0, max = 1.0} : tensor<512x512xbf16>
    tenon.yield %1 : tensor<512x512xbf16>
  }
  return
}

func.func @shared_bound(%x: memref<512x1024xbf16>, %w: memref<512x1024xbf16>, %y: memref<512x512xbf16>, %z: memref<512x512xbf16>) {
  tenon.tiled_linear %x, %w : memref<512x1024xbf16>, memref<512x1024xbf16>
      epilogue(%acc: tensor<512x512xbf16>) outs(%y: memref<512x512xbf16>, %z: memref<512x512xbf16>)
      schedule<wgmma, tile = 128x128x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    %0 = tenon.relu %acc : tensor<512x512xbf16>
    %1 = tenon.tanh %0 : tensor<512x512xbf16>
    tenon.yield %0, %1 : tensor<512x512xbf16>, tensor<512x512xbf16>
  }
  return
}

// -----

// Of 12 KB a warpgroup, subtiles of 16 columns for two tensors with two buffers
// each, but of 32 where they have the same three.
// CHECK-LABEL: func.func @one_memory
// CHECK: tenon.launch {{.*}} #tenon.tensor_map<box = 64x32, swizzle = 64>, #tenon.tensor_map<box = 64x32, swizzle = 64>]
// So too where three do not divide a tile's eight subtiles; two each where types
// differ.
// CHECK: func.func @two_memories
// CHECK: tenon.launch {{.*}}@two_memories_tiled {{.*}}swizzle = 128>, #tenon.tensor_map<box = 64x32, swizzle = 64>, #tenon.tensor_map<box = 64x32, swizzle = 64>]
// CHECK: tenon.launch {{.*}}@two_memories_tiled_1 {{.*}}swizzle = 128>, #tenon.tensor_map<box = 64x16, swizzle = 32>, #tenon.tensor_map<box = 64x16, swizzle = 32>]
// CHECK: llvm.func @one_memory_tiled(%{{[^:]*}}: {{[^}]*}}}, %{{[^:]*}}: {{[^}]*}}}, %[[RMAP:[^:]*]]: {{[^}]*}}}, %[[YMAP:[^:]*]]: {{[^}]*}}},
// Ten barriers of stages; of each buffer of two warpgroups Written, from 230224,
// and Loaded, from 230248, but none Free; and Asked, at 230272.
// CHECK-COUNT-10: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.elect.sync
// CHECK-NOT: {{nvvm.mbarrier.init .*%c1_i32}}
// CHECK-COUNT-3: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK-NOT: %c4_i32
// CHECK-COUNT-4: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-COUNT-3: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK-NOT: %c4_i32
// CHECK-COUNT-4: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-NOT: nvvm.mbarrier.init
// With ping-pong a copying thread follows every other tile, of twelve.
// CHECK: nvvm.elect.sync
// CHECK: %[[FIRST:.*]] = arith.subi %{{.*}}, %c2_i32
// CHECK: scf.while (%[[TURN:[^ ]*]] = %[[FIRST]], %{{[^ ]*}} = %c0_i32)
// CHECK-NEXT: %[[FAR:.*]] = arith.muli %[[TURN]],
// CHECK-NEXT: %[[TILE:.*]] = arith.addi %{{.*}}, %[[FAR]]
// CHECK-NEXT: %[[ISTURN:.*]] = arith.cmpi slt, %[[TILE]], %c12_i32
// CHECK-NEXT: scf.condition(%[[ISTURN]]) %[[TURN]],
// CHECK: ^bb0(%[[TURN:[^:]*]]: i32, %[[TILES:[^:]*]]: i32):
// CHECK: %[[NEXT:.*]] = arith.xori %[[TILES]], %c1_i32
// CHECK: arith.addi %{{.*}}, %c230272_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[TILES]],
// CHECK: scf.for %{{.*}} = %c0_i32 to %c3_i32 step
// CHECK: arith.addi %{{.*}}, %c230248_i32
// CHECK: mbarrier.arrive.expect_tx{{.*}} %c4096_i32
// CHECK: cp.async.bulk.tensor.shared.cluster.global {{.*}}, %[[RMAP]],
// CHECK-NOT: bulk
// A buffer is loaded again when the results in it have been read: nobody is told
// that it is free.
// CHECK: scf.for %[[NUMBER:.*]] = %c0_i32 to %c12_i32 step
// CHECK: arith.addi %{{.*}}, %c230224_i32
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[YMAP]], {{.*}} box[
// CHECK-NEXT: nvvm.cp.async.bulk.commit.group
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK: %[[AHEAD:.*]] = arith.addi %[[NUMBER]], %c3_i32
// CHECK-NEXT: %[[ISANY:.*]] = arith.cmpi slt, %[[AHEAD]], %c12_i32
// CHECK-NEXT: scf.if %[[ISANY]]
// CHECK: arith.addi %{{.*}}, %c230248_i32
// CHECK: mbarrier.arrive.expect_tx{{.*}} %c4096_i32
// CHECK: cp.async.bulk.tensor.shared.cluster.global {{.*}}, %[[RMAP]],
// CHECK-NOT: {{mbarrier|bulk}}
// CHECK: %[[NEXTTURN:.*]] = arith.addi %[[TURN]], %c2_i32
// CHECK-NEXT: scf.yield %[[NEXTTURN]], %[[NEXT]] :
// CHECK-NOT: bulk
// Twelve subtiles: every buffer is loaded four times a tile, so its parity is
// known. For the first three a warpgroup waits while its last products are
// computed, when it has passed the tensor cores on.
// CHECK: nvvm.setmaxregister increase
// CHECK: wgmma.wait_group.sync.aligned 1;"
// CHECK-NOT: try_wait
// CHECK: "bar.arrive $0, 256;"
// CHECK: arith.addi %{{.*}}, %c230248_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK-NEXT: arith.addi %{{.*}}, %c230256_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK-NEXT: arith.addi %{{.*}}, %c230264_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK-NOT: try_wait
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: mbarrier
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.stmatrix
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi %{{.*}}, %c230224_i32
// CHECK-NEXT: %[[WRITTEN:.*]] = llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[FIRST]]
// CHECK-NEXT: %[[ADDRESS:.*]] = llvm.ptrtoint %[[WRITTEN]]
// CHECK-NEXT: "mbarrier.arrive.shared::cta.b64 _, [$0];"{{.*}} %[[ADDRESS]]
// CHECK-NOT: mbarrier
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.stmatrix
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi %{{.*}}, %c230232_i32
// CHECK-NEXT: %[[WRITTEN:.*]] = llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[FIRST]]
// CHECK-NEXT: %[[ADDRESS:.*]] = llvm.ptrtoint %[[WRITTEN]]
// CHECK-NEXT: "mbarrier.arrive.shared::cta.b64 _, [$0];"{{.*}} %[[ADDRESS]]
// CHECK-NOT: mbarrier
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.stmatrix
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi %{{.*}}, %c230240_i32
// CHECK-NEXT: %[[WRITTEN:.*]] = llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[FIRST]]
// CHECK-NEXT: %[[ADDRESS:.*]] = llvm.ptrtoint %[[WRITTEN]]
// CHECK-NEXT: "mbarrier.arrive.shared::cta.b64 _, [$0];"{{.*}} %[[ADDRESS]]
// CHECK-NOT: ldmatrix
// CHECK: arith.addi %{{.*}}, %c230248_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %c1_i32,
// CHECK-NOT: mbarrier
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.stmatrix
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: arith.addi %{{.*}}, %c230224_i32
// CHECK-NEXT: %[[WRITTEN:.*]] = llvm.getelementptr
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[FIRST]]
// CHECK-NEXT: %[[ADDRESS:.*]] = llvm.ptrtoint %[[WRITTEN]]
// CHECK-NEXT: "mbarrier.arrive.shared::cta.b64 _, [$0];"{{.*}} %[[ADDRESS]]
// CHECK: llvm.func @one_memory_tiled_unaligned(
func.func @one_memory(%x: memref<576x1024xbf16>, %w: memref<512x1024xbf16>, %r: memref<576x512xbf16>, %y: memref<576x512xbf16>) {
  tenon.tiled_linear %x, %w : memref<576x1024xbf16>, memref<512x1024xbf16>
      epilogue(%acc: tensor<576x512xbf16>, %res = %r: memref<576x512xbf16>) outs(%y: memref<576x512xbf16>)
      schedule<wgmma, tile = 192x128x64, warps = 4x1, stages = 5, swizzle = 128, raster = 8, blocks = 1, ping_pong = true> {
    %0 = tenon.add %acc, %res : tensor<576x512xbf16>, tensor<576x512xbf16>
    tenon.yield %0 : tensor<576x512xbf16>
  }
  return
}

func.func @two_memories(%x: memref<576x1024xbf16>, %w: memref<512x1024xbf16>, %r: memref<576x512xbf16>, %q: memref<576x512xf16>, %y: memref<576x512xbf16>) {
  tenon.tiled_linear %x, %w : memref<576x1024xbf16>, memref<512x1024xbf16>
      epilogue(%acc: tensor<576x512xbf16>, %res = %r: memref<576x512xbf16>) outs(%y: memref<576x512xbf16>)
      schedule<wgmma, tile = 64x256x64, warps = 4x1, stages = 5, swizzle = 128, raster = 8, blocks = 1, ping_pong = true> {
    %0 = tenon.add %acc, %res : tensor<576x512xbf16>, tensor<576x512xbf16>
    tenon.yield %0 : tensor<576x512xbf16>
  }
  tenon.tiled_linear %x, %w : memref<576x1024xbf16>, memref<512x1024xbf16>
      epilogue(%acc: tensor<576x512xbf16>, %res = %q: memref<576x512xf16>) outs(%y: memref<576x512xbf16>)
      schedule<wgmma, tile = 192x128x64, warps = 4x1, stages = 5, swizzle = 128, raster = 8, blocks = 1, ping_pong = true> {
    %0 = tenon.add %acc, %res : tensor<576x512xbf16>, tensor<576x512xf16>
    tenon.yield %0 : tensor<576x512xbf16>
  }
  return
}
