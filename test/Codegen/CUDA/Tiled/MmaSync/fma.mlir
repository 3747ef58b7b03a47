// What a kernel does with f32 without tensor cores.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels | FileCheck %s

// CHECK-LABEL: llvm.func @layer_tiled(
// CHECK-NOT: {{ldmatrix|mma.sync}}
// Lanes stand where shared memory answers half a warp at a time.
// CHECK: %[[NUMBER:.*]] = arith.andi %{{.*}}, %c31_i32
// CHECK: %[[BIT1:.*]] = arith.andi %[[NUMBER]], %c2_i32
// CHECK: %[[UP:.*]] = arith.shli %[[BIT1]], %c1_i32
// CHECK: %[[BIT2:.*]] = arith.shrui %[[NUMBER]], %c1_i32
// CHECK: %[[DOWN:.*]] = arith.andi %[[BIT2]], %c2_i32
// CHECK: %[[OTHERS:.*]] = arith.andi %[[NUMBER]], %c25_i32
// CHECK: %[[SWAPPED:.*]] = arith.ori %[[UP]], %[[DOWN]]
// CHECK: arith.ori %[[OTHERS]], %[[SWAPPED]]
// Each K tile begins with its wait, a barrier, and the copies of a later one.
// CHECK: scf.while
// CHECK: scf.for {{.*}} iter_args(%[[SUM:[^ ]*]] = %[[ZERO:cst[_0-9]*]],
// CHECK-NEXT: nvvm.cp.async.wait.group 1
// CHECK-NEXT: nvvm.barrier0
// CHECK-COUNT-8: cp.async.cg.shared.global
// CHECK: nvvm.cp.async.commit.group
// Two of 8 chunks an iteration, from zero. A thread has 8 columns and 2 rows.
// CHECK: %[[SUMS:[^:]*]]:16 = scf.for %[[CHUNK:.*]] = %c0_i32 to %c8_i32 step %c2_i32 iter_args(%[[PARTIAL:[^ ]*]] = %[[ZERO]],
// CHECK: %[[PLACE:.*]] = arith.shli %[[CHUNK]], %c4_i32
// CHECK: %[[EVEN:.*]] = arith.xori %{{.*}}, %[[PLACE]]
// CHECK: %[[ODD:.*]] = arith.xori %[[EVEN]], %c16_i32
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK-COUNT-7: llvm.load {{.*}} -> vector<4xf32>
// CHECK: arith.xori %{{.*}}, %[[PLACE]]
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<4xf32>
// In the order of K, without fastmath.
// CHECK: %[[FIRST:.*]] = llvm.intr.fma(%{{.*}}, %{{.*}}, %[[PARTIAL]]) : (f32, f32, f32) -> f32
// CHECK-COUNT-7: llvm.intr.fma
// CHECK: %[[SECOND:.*]] = llvm.intr.fma(%{{.*}}, %{{.*}}, %[[FIRST]]) : (f32, f32, f32) -> f32
// CHECK-COUNT-119: llvm.intr.fma
// CHECK-NOT: llvm.intr.fma
// CHECK: scf.yield
// CHECK: arith.addf %[[SUM]], %[[SUMS]]#0 : f32
// CHECK-COUNT-15: arith.addf %{{[^,]*}}, %[[SUMS]]#{{[0-9]*}} : f32
// CHECK: scf.yield
// The stages may be overwritten.
// CHECK: nvvm.barrier0
// CHECK: cp.async
// CHECK: llvm.func @layer_tiled_unaligned(
// CHECK-NOT: {{ldmatrix|mma.sync}}
// CHECK: cp.async.ca.shared.global [$0+12], [$1+12], 4
// CHECK: llvm.intr.fma
func.func @layer(%x: memref<?x64xf32>, %w: memref<48x64xf32>, %b: memref<48xf32>, %y: memref<?x48xf32>) {
  tenon.tiled_linear %x, %w : memref<?x64xf32>, memref<48x64xf32>
      epilogue(%acc: tensor<?x48xf32>, %bias = %b: memref<48xf32>) outs(%y: memref<?x48xf32>)
      schedule<mma_sync, tile = 32x32x32, warps = 2x1, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fma> {
    %0 = tenon.add %acc, %bias : tensor<?x48xf32>, tensor<48xf32>
    tenon.yield %0 : tensor<?x48xf32>
  }
  return
}
