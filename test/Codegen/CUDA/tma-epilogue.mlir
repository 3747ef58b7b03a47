// The epilogue of a wgmma kernel: what has M x N elements is moved by TMA in subtiles, where TMA can.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s

// A tensor map for each, after those of x and w: the residual's, then the
// result's, in subtiles of 64 rows by as many columns as have room twice. Of
// another type, they have buffers of their own.
// CHECK-LABEL: func.func @layer(
// CHECK-SAME: %[[X:[^:]*]]: memref<?x1024xbf16>, %[[W:[^:]*]]: memref<256x1024xbf16>, %[[B:[^:]*]]: memref<256xf32>, %[[R:[^:]*]]: memref<?x256xf16>, %[[Y:[^:]*]]: memref<?x256xbf16>
// CHECK: gpu.launch_func @kernels::@layer_tiled {{.*}} args(%[[X]] : {{[^,]*}}, %[[W]] : {{[^,]*}}, %[[R]] : {{[^,]*}}, %[[Y]] : {{[^,]*}}, %[[X]] : {{[^,]*}}, %[[W]] : {{[^,]*}}, %[[B]] : {{[^,]*}}, %[[R]] : {{[^,]*}}, %[[Y]] : {{.*}}tenon.tensor_maps = [#tenon.tensor_map<box = 128x64, swizzle = 128>, #tenon.tensor_map<box = 96x64, swizzle = 128>, #tenon.tensor_map<box = 64x32, swizzle = 64>, #tenon.tensor_map<box = 64x32, swizzle = 64>]
// CHECK: llvm.func @layer_tiled(%[[XMAP:[^:]*]]: {{[^}]*}}}, %[[WMAP:[^:]*]]: {{[^}]*}}}, %[[RMAP:[^:]*]]: {{[^}]*}}}, %[[YMAP:[^:]*]]: {{[^}]*}}},
// After those of 4 stages each of two warpgroups has seven barriers: two that
// its four warps say Written at, from 148288; two Free, from 148304; two Loaded,
// from 148320; and Asked, at 148336.
// CHECK-COUNT-8: nvvm.mbarrier.init %{{.*}}, %c{{1|2}}_i32
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK-NOT: %c4_i32
// CHECK-COUNT-5: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK-NOT: %c4_i32
// CHECK-COUNT-5: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: cp.async.bulk.tensor.shared.cluster.global {{.*}}, %[[WMAP]],
// Beside the warp that loads x and w, warps 2 and 3 copy subtiles, one thread
// each.
// CHECK: %[[WARPGROUP:.*]] = arith.subi %{{.*}}, %c1_i32
// CHECK: %[[LESS:.*]] = arith.cmpi slt, %[[WARPGROUP]], %c3_i32
// CHECK: %[[MORE:.*]] = arith.cmpi sgt, %[[WARPGROUP]], %c0_i32
// CHECK: %[[COPIES:.*]] = arith.andi %[[MORE]], %[[LESS]]
// CHECK: scf.if %[[COPIES]]
// CHECK-NEXT: %[[ELECTED:.*]] = nvvm.elect.sync
// CHECK-NEXT: scf.if %[[ELECTED]]
// When the tile's operands are asked for it loads the first two of three
// subtiles of the residual.
// CHECK: scf.for {{.*}} iter_args(%[[TILES:.*]] = %c0_i32)
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
// CHECK-NEXT: scf.yield %[[NEXT]]
// The threads that multiply do not copy. They have the whole residual brought to
// L2, and its first subtiles loaded, when the first products have been started.
// CHECK-NOT: cp.async.bulk
// CHECK: nvvm.setmaxregister increase
// CHECK: scf.while
// CHECK-NOT: {{prefetch|mbarrier.arrive|elect.sync}}
// CHECK: nvvm.wgmma.mma_async {{.*}}D[<f32>, <zero>]
// CHECK: "prefetch.global.L2 [$0];"
// CHECK-NOT: prefetch
// CHECK: %[[WARP:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[WARP]]
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[LANE:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[LANE]]
// CHECK-NEXT: arith.muli %{{.*}}, %c56_i32
// CHECK-NEXT: arith.addi %{{.*}}, %c148336_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: scf.for {{.*}} = %c1_i32 to
// CHECK: nvvm.wgmma.mma_async
// The bias is on its way before the last products are there.
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> vector<2xf32>
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// Before a subtile is computed its operands must have arrived, and the buffer of
// its results been read. Parities of the first buffer are known, as it is used
// twice for every tile.
// CHECK: arith.addi %{{.*}}, %c148320_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK: arith.addi %{{.*}}, %c148304_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %c1_i32,
// CHECK-COUNT-2: nvvm.ldmatrix {{.*}} num = 4
// CHECK-NOT: nvvm.ldmatrix
// CHECK-COUNT-2: nvvm.stmatrix
// CHECK-NOT: nvvm.stmatrix
// One lane of each warp says that the subtile has been written.
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[FIRST]]
// CHECK-NEXT: arith.addi %{{.*}}, %c148288_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// Those of the second depend on how many tiles were before.
// CHECK: arith.addi %{{.*}}, %c148328_i32
// CHECK: %[[FINISHED:.*]] = llvm.load volatile
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[FINISHED]],
// CHECK: arith.addi %{{.*}}, %c148312_i32
// CHECK: %[[AGAIN:.*]] = llvm.load volatile
// CHECK: %[[OTHER:.*]] = arith.xori %[[AGAIN]], %c1_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[OTHER]],
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.stmatrix
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[FIRST]]
// CHECK-NEXT: arith.addi %{{.*}}, %c148296_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: arith.addi %{{.*}}, %c148320_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %c1_i32,
// CHECK: arith.addi %{{.*}}, %c148304_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.stmatrix
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[FIRST]]
// CHECK-NEXT: arith.addi %{{.*}}, %c148288_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// Tiles are counted modulo 2.
// CHECK: %[[COUNTED:.*]] = llvm.load volatile %[[KEPT:.*]] {alignment
// CHECK: %[[FLIPPED:.*]] = arith.xori %[[COUNTED]], %c1_i32
// CHECK: nvvm.bar.warp.sync
// CHECK: llvm.store volatile %[[FLIPPED]], %[[KEPT]]
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
// CHECK: launch_func {{.*}}@widths_tiled {{.*}}swizzle = 128>, #tenon.tensor_map<box = 64x64, swizzle = 128>]
// CHECK: launch_func {{.*}}@widths_tiled_1 {{.*}}rounds_tf32 = true>, #tenon.tensor_map<box = 64x32, swizzle = 128>]
// Three of 16 and 32 bits; 136 columns are no multiple of more than 8.
// CHECK: launch_func {{.*}}@widths_tiled_2 {{.*}}swizzle = 128>, #tenon.tensor_map<box = 64x16, swizzle = 32>, #tenon.tensor_map<box = 64x16, swizzle = 32>, #tenon.tensor_map<box = 64x16, swizzle = 64>]
// CHECK: launch_func {{.*}}@widths_tiled_3 {{.*}}swizzle = 128>, #tenon.tensor_map<box = 64x8, swizzle = 32>]
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
// count it as a tile.
// CHECK: llvm.func @stream_k_tiled(
// CHECK-COUNT-2: nvvm.elect.sync
// CHECK: scf.for {{.*}} iter_args(%[[TILES:.*]] = %c0_i32)
// CHECK-NOT: {{mbarrier|bulk}}
// CHECK: %[[COPIES:.*]] = arith.cmpi eq, %{{.*}}, %c16_i32
// CHECK-NEXT: scf.if %[[COPIES]]
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[TILES]],
// CHECK: mbarrier.arrive.expect_tx
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK: %[[COUNTED:.*]] = arith.select %[[COPIES]], %{{.*}}, %[[TILES]]
// CHECK-NEXT: scf.yield %[[COUNTED]]
// CHECK-NOT: bulk
// CHECK: scf.while
// CHECK: nvvm.wgmma.mma_async {{.*}}D[<f32>, <zero>]
// CHECK: %[[ENDS:.*]] = arith.cmpi eq, %{{.*}}, %c16_i32
// CHECK: %[[ASKS:.*]] = arith.andi %{{.*}}, %[[ENDS]]
// CHECK-NEXT: scf.if %[[ASKS]]
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
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
// CHECK: launch_func {{.*}} #tenon.tensor_map<box = 64x32, swizzle = 64>, #tenon.tensor_map<box = 64x32, swizzle = 64>]
// So too where three do not divide a tile's eight subtiles; two each where types
// differ.
// CHECK: func.func @two_memories
// CHECK: launch_func {{.*}}@two_memories_tiled {{.*}}swizzle = 128>, #tenon.tensor_map<box = 64x32, swizzle = 64>, #tenon.tensor_map<box = 64x32, swizzle = 64>]
// CHECK: launch_func {{.*}}@two_memories_tiled_1 {{.*}}swizzle = 128>, #tenon.tensor_map<box = 64x16, swizzle = 32>, #tenon.tensor_map<box = 64x16, swizzle = 32>]
// CHECK: llvm.func @one_memory_tiled(%{{[^:]*}}: {{[^}]*}}}, %{{[^:]*}}: {{[^}]*}}}, %[[RMAP:[^:]*]]: {{[^}]*}}}, %[[YMAP:[^:]*]]: {{[^}]*}}},
// Ten barriers of stages; of each buffer of two warpgroups Written, from 230224,
// and Loaded, from 230248, but none Free; and Asked, at 230272.
// CHECK-COUNT-10: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-COUNT-3: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK-NOT: %c4_i32
// CHECK-COUNT-4: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-COUNT-3: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK-NOT: %c4_i32
// CHECK-COUNT-4: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-NOT: nvvm.mbarrier.init
// With ping-pong a copying thread follows every other tile.
// CHECK-COUNT-2: nvvm.elect.sync
// CHECK: %[[FIRST:.*]] = arith.subi %{{.*}}, %c2_i32
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %{{.*}} step %c2_i32 iter_args(%[[TILES:.*]] = %c0_i32)
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
// CHECK: scf.yield %[[NEXT]]
// CHECK-NOT: bulk
// Twelve subtiles: every buffer is loaded four times a tile, so its parity is
// known.
// CHECK: nvvm.setmaxregister increase
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK: arith.addi %{{.*}}, %c230248_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK-NOT: mbarrier
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.stmatrix
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[FIRST]]
// CHECK-NEXT: arith.addi %{{.*}}, %c230224_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: arith.addi %{{.*}}, %c230256_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK-NOT: mbarrier
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.stmatrix
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[FIRST]]
// CHECK-NEXT: arith.addi %{{.*}}, %c230232_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: arith.addi %{{.*}}, %c230264_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %c0_i32,
// CHECK-NOT: mbarrier
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.stmatrix
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[FIRST]]
// CHECK-NEXT: arith.addi %{{.*}}, %c230240_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: arith.addi %{{.*}}, %c230248_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %c1_i32,
// CHECK-NOT: mbarrier
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.stmatrix
// CHECK: fence.proxy.async.shared::cta
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK-NEXT: scf.if %[[FIRST]]
// CHECK-NEXT: arith.addi %{{.*}}, %c230224_i32
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
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
