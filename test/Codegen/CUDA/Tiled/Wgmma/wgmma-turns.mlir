// How the warps of a wgmma kernel go from turn to turn: nothing but a number is kept, and of it the tile is computed.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels | FileCheck %s

// 10 by 8 tiles in groups of 8 rows: the second group has 2. As M is known, all divisions are by constants.
// CHECK-LABEL: llvm.func @static_tiled(
// CHECK: %[[NUMBER:.*]] = llvm.alloca %c1_i32 x i32
// CHECK: %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: %[[BLOCKS:.*]] = llvm.inline_asm has_side_effects "mov.u32 $0, %nctaid.x;"
// Warp 0 initializes what its first copies need, and no more; then the block meets.
// CHECK: %[[WARP:.*]] = nvvm.shfl.sync
// CHECK: %[[ISPRODUCER:.*]] = arith.cmpi eq, %[[WARP]], %c0_i32
// CHECK-NEXT: scf.if %[[ISPRODUCER]]
// CHECK-COUNT-8: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.barrier0
// CHECK-NEXT: nvvm.griddepcontrol wait
// CHECK-NEXT: nvvm.griddepcontrol launch_dependents
// CHECK-NEXT: nvvm.elect.sync
// CHECK-NOT: {{volatile|div}}
// CHECK: scf.while (%[[TURN:[^ ]*]] = %c0_i32,
// CHECK-NEXT: %[[BEFORE:.*]] = arith.muli %[[TURN]], %[[BLOCKS]]
// CHECK-NEXT: %[[TILE:.*]] = arith.addi %[[BLOCK]], %[[BEFORE]]
// CHECK-NEXT: %[[ISANY:.*]] = arith.cmpi slt, %[[TILE]], %c80_i32
// CHECK-NEXT: scf.condition(%[[ISANY]])
// CHECK: %[[TILE:.*]] = arith.addi %[[BLOCK]],
// CHECK-NEXT: %[[GROUP:.*]] = arith.divui %[[TILE]], %c64_i32
// CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[GROUP]], %c8_i32
// CHECK-NEXT: %[[INGROUP:.*]] = arith.remui %[[TILE]], %c64_i32
// CHECK-NEXT: %[[ISLAST:.*]] = arith.cmpi eq, %[[FIRST]], %c8_i32
// CHECK-NEXT: %[[ROWS:.*]] = arith.select %[[ISLAST]], %c2_i32, %c8_i32
// CHECK-NEXT: %[[OFTWO:.*]] = arith.divui %[[INGROUP]], %c2_i32
// CHECK-NEXT: %[[OFEIGHT:.*]] = arith.divui %[[INGROUP]], %c8_i32
// CHECK-NEXT: %[[COLUMN:.*]] = arith.select %[[ISLAST]], %[[OFTWO]], %[[OFEIGHT]]
// CHECK-NEXT: %[[OTHERS:.*]] = arith.muli %[[COLUMN]], %[[ROWS]]
// CHECK-NEXT: %[[INROWS:.*]] = arith.subi %[[INGROUP]], %[[OTHERS]]
// CHECK-NEXT: %[[ROW:.*]] = arith.addi %[[FIRST]], %[[INROWS]]
// CHECK-NEXT: %[[Y:.*]] = arith.muli %[[ROW]], %c64_i32
// CHECK-NEXT: %[[X:.*]] = arith.muli %[[COLUMN]], %c64_i32
// CHECK: cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%{{.*}}, %[[Y]]]
// CHECK: cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%{{.*}}, %[[X]]]
// Warp 1 has the tensor maps fetched meanwhile, and warp 2 initializes the barriers of the warpgroup's subtiles.
// CHECK: %[[ISOTHER:.*]] = arith.cmpi eq, %[[WARP]], %c1_i32
// CHECK-NEXT: scf.if %[[ISOTHER]]
// CHECK-COUNT-3: "prefetch.tensormap [$0];"
// CHECK: nvvm.mbarrier.init
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.barrier0
// CHECK-NEXT: nvvm.griddepcontrol wait
// The warps that multiply keep their turn's number in a variable, which LLVM makes a register, and go on at once.
// CHECK: nvvm.barrier0
// CHECK-NEXT: nvvm.griddepcontrol wait
// CHECK-NOT: volatile
// CHECK: llvm.store %c0_i32, %[[NUMBER]]
// CHECK: scf.while
// CHECK-NEXT: llvm.load %[[NUMBER]] : !llvm.ptr -> i32
// CHECK-NOT: volatile
// CHECK: %[[OLD:.*]] = llvm.load %[[NUMBER]] : !llvm.ptr -> i32
// CHECK: %[[OLD:.*]] = llvm.load %[[NUMBER]] : !llvm.ptr -> i32
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[OLD]], %c1_i32
// CHECK-NEXT: llvm.store %[[NEXT]], %[[NUMBER]]
// CHECK-NEXT: scf.yield
// CHECK: llvm.func @static_tiled_unaligned(
func.func @static(%x: memref<640x256xbf16>, %w: memref<512x256xbf16>, %y: memref<640x512xbf16>) {
  tenon.tiled_linear %x, %w : memref<640x256xbf16>, memref<512x256xbf16>
      epilogue(%acc: tensor<640x512xbf16>) outs(%y: memref<640x512xbf16>)
      schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    %0 = tenon.relu %acc : tensor<640x512xbf16>
    tenon.yield %0 : tensor<640x512xbf16>
  }
  return
}

// Of an M that is known at the launch alone the rows of a group are too.
// CHECK-LABEL: llvm.func @dynamic_tiled(
// CHECK: scf.condition
// CHECK: %[[TILE:.*]] = arith.addi
// CHECK-NEXT: %[[GROUP:.*]] = arith.divui %[[TILE]], %c64_i32
// CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[GROUP]], %c8_i32
// CHECK-NEXT: %[[INGROUP:.*]] = arith.remui %[[TILE]], %c64_i32
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %[[FIRST]]
// CHECK-NEXT: %[[ROWS:.*]] = arith.minui %[[LEFT]], %c8_i32
// CHECK-NEXT: arith.divui %[[INGROUP]], %[[ROWS]]
// CHECK: llvm.func @dynamic_tiled_unaligned(
func.func @dynamic(%x: memref<?x256xbf16>, %w: memref<512x256xbf16>, %y: memref<?x512xbf16>) {
  tenon.tiled_linear %x, %w : memref<?x256xbf16>, memref<512x256xbf16>
      epilogue(%acc: tensor<?x512xbf16>) outs(%y: memref<?x512xbf16>)
      schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    %0 = tenon.relu %acc : tensor<?x512xbf16>
    tenon.yield %0 : tensor<?x512xbf16>
  }
  return
}

// With stream-K turns differ in K, and all that is kept is in shared memory.
// CHECK-LABEL: llvm.func @streamed_tiled(
// CHECK-NOT: llvm.alloca
// CHECK-COUNT-7: llvm.store volatile {{.*}} : i32, !llvm.ptr<3>
// CHECK: llvm.func @streamed_tiled_unaligned(
func.func @streamed(%x: memref<640x256xbf16>, %w: memref<512x256xbf16>, %y: memref<640x512xbf16>, %space: memref<3146752xi8>) {
  tenon.tiled_linear %x, %w : memref<640x256xbf16>, memref<512x256xbf16>
      epilogue(%acc: tensor<640x512xbf16>) outs(%y: memref<640x512xbf16>) workspace(%space: memref<3146752xi8>)
      schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, stream_k = true> {
    %0 = tenon.relu %acc : tensor<640x512xbf16>
    tenon.yield %0 : tensor<640x512xbf16>
  }
  return
}
