// With reduction = resident every turn reads all rows of x. Where L2 does not keep them and w, the copying warp goes
// through K backward in every second turn, and so begins with what L2 still has.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels | FileCheck %s

// 32 MiB of x.
// CHECK-LABEL: llvm.func @large_tiled(
// CHECK: nvvm.elect.sync
// How many turns the block has is kept in shared memory.
// CHECK: scf.while (%[[NUMBER:[^ ]*]] = %c0_i32,
// CHECK-NEXT: %[[COUNT:.*]] = llvm.load volatile
// CHECK-NEXT: %[[ISLEFT:.*]] = arith.cmpi slt, %[[NUMBER]], %[[COUNT]]
// CHECK-NEXT: scf.condition(%[[ISLEFT]]) %[[NUMBER]],
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%[[TURN:[^:]*]]: i32,
// CHECK: scf.for %[[STAGE:.*]] = %c0_i32 to %c16_i32
// CHECK: %[[ODD:.*]] = arith.andi %[[TURN]], %c1_i32
// CHECK-NEXT: %[[ISFORWARD:.*]] = arith.cmpi eq, %[[ODD]], %c0_i32
// CHECK-NEXT: %[[BACKWARD:.*]] = arith.subi %c15_i32, %[[STAGE]]
// CHECK-NEXT: %[[KTILE:.*]] = arith.select %[[ISFORWARD]], %[[STAGE]], %[[BACKWARD]]
// CHECK: %[[K:.*]] = arith.muli %[[KTILE]], %c64_i32
// CHECK-COUNT-2: cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%[[K]],
// CHECK-NOT: mbarrier
// CHECK: %[[NEXT:.*]] = arith.addi %[[TURN]], %c1_i32
// CHECK-NEXT: scf.yield %[[NEXT]],
func.func @large(%x: memref<16384x1024xbf16>, %w: memref<512x1024xbf16>, %y: memref<16384x512xbf16>, %space: memref<1058816xi8>) {
  tenon.tiled_linear %x, %w : memref<16384x1024xbf16>, memref<512x1024xbf16>
      epilogue(%acc: tensor<16384x512xbf16>) outs(%y: memref<16384x512xbf16>) workspace(%space: memref<1058816xi8>)
      schedule<wgmma, tile = 128x256x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = resident> {
    %0 = tenon.batch_norm_training %acc : (tensor<16384x512xbf16>) -> tensor<16384x512xbf16>
    tenon.yield %0 : tensor<16384x512xbf16>
  }
  return
}

// Rows of 256 bytes of x and w stay in L2 up to 102400 of them, half of an H100's; w has 64.
// CHECK-LABEL: llvm.func @dynamic_tiled(
// CHECK: %[[M:.*]] = arith.trunci %{{.*}} : i64 to i32
// CHECK: nvvm.elect.sync
// CHECK: scf.while (%[[NUMBER:[^ ]*]] = %c0_i32,
// CHECK-NEXT: %[[COUNT:.*]] = llvm.load volatile
// CHECK-NEXT: %[[ISLEFT:.*]] = arith.cmpi slt, %[[NUMBER]], %[[COUNT]]
// CHECK-NEXT: scf.condition(%[[ISLEFT]]) %[[NUMBER]],
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%[[TURN:[^:]*]]: i32,
// CHECK: scf.for %[[STAGE:.*]] = %c0_i32 to %c2_i32
// CHECK: %[[ODD:.*]] = arith.andi %[[TURN]], %c1_i32
// CHECK-NEXT: %[[EVEN:.*]] = arith.cmpi eq, %[[ODD]], %c0_i32
// CHECK-NEXT: %[[FEW:.*]] = arith.cmpi slt, %[[M]], %c102337_i32
// CHECK-NEXT: %[[ISFORWARD:.*]] = arith.ori %[[EVEN]], %[[FEW]]
// CHECK-NEXT: %[[BACKWARD:.*]] = arith.subi %c1_i32, %[[STAGE]]
// CHECK-NEXT: arith.select %[[ISFORWARD]], %[[STAGE]], %[[BACKWARD]]
func.func @dynamic(%x: memref<?x128xbf16>, %w: memref<64x128xbf16>, %y: memref<?x64xf32>, %space: memref<198144xi8>) {
  tenon.tiled_linear %x, %w : memref<?x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<?x64xf32>) outs(%y: memref<?x64xf32>) workspace(%space: memref<198144xi8>)
      schedule<wgmma, tile = 128x32x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = resident> {
    %0 = tenon.batch_norm_training %acc : (tensor<?x64xf32>) -> tensor<?x64xf32>
    tenon.yield %0 : tensor<?x64xf32>
  }
  return
}
