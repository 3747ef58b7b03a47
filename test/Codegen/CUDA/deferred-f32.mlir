// Half of each tile held beside the products of the next turn, with residual and result of f32.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s

func.func @layer(%x: memref<4096x1216xf16>, %w: memref<1024x1216xf16>, %fx: memref<4096x1xf32>,
                 %fw: memref<1024x1xf32>, %r: memref<4096x1024xf32>, %y: memref<4096x1024xf32>) {
  tenon.tiled_linear %x, %w : memref<4096x1216xf16>, memref<1024x1216xf16>
      factors(%fx, %fw : memref<4096x1xf32>, memref<1024x1xf32>)
      epilogue(%acc: tensor<4096x1024xf32>, %res = %r: memref<4096x1024xf32>) outs(%y: memref<4096x1024xf32>)
      schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 1x2, defer = true, method = fp16> {
    %0 = tenon.gelu %acc : tensor<4096x1024xf32>
    %1 = tenon.add %0, %res : tensor<4096x1024xf32>, tensor<4096x1024xf32>
    tenon.yield %1 : tensor<4096x1024xf32>
  }
  return
}

// A warpgroup's part of a tile is sixteen subtiles of 16 rows by 64 columns, in four buffers of 4 KB that residual and
// result share: one that has the residual's boxes of 32 columns is stored as it is.
// CHECK-LABEL: llvm.func @layer_tiled(
// CHECK-SAME: %{{[^:]*}}: {{[^}]*}}}, %{{[^:]*}}: {{[^}]*}}}, %{{[^:]*}}: {{[^}]*}}}, %{{[^:]*}}: {{[^}]*}}}, %{{[^:]*}}: {{[^,]*}}, %{{[^:]*}}: {{[^,]*}}, %[[FX:[^:]*]]: {{[^,]*}}, %[[FW:[^:]*]]:
// CHECK: cp.async.bulk.tensor.shared.cluster.global
// CHECK: scf.for %{{.*}} = %c0_i32 to %c4_i32
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK: scf.for %{{.*}} = %c0_i32 to %c16_i32
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK: nvvm.cp.async.bulk.wait_group 0 {read}

// What is finished when the products are done needs the factors of 128 rows. While the last ones are computed each lane
// loads four, of the rows of its number in each 32; nothing is loaded then.
// CHECK: %[[HELD:.*]]:64 = scf.while (
// CHECK: %[[ROW0:.*]] = llvm.getelementptr %[[FX]]
// CHECK-NEXT: %[[F0:.*]] = llvm.load %[[ROW0]]
// CHECK: llvm.getelementptr %[[FX]]
// CHECK-NEXT: %[[F1:.*]] = llvm.load
// CHECK: llvm.getelementptr %[[FX]]
// CHECK-NEXT: llvm.load
// CHECK: llvm.getelementptr %[[FX]]
// CHECK-NEXT: llvm.load
// CHECK-NOT: %[[FX]]
// CHECK-COUNT-2: llvm.getelementptr %[[FW]]
// CHECK-COUNT-4: nvvm.mbarrier.try_wait.parity
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-NOT: {{!llvm.ptr<1>|try_wait}}
// A thread needs two rows of each 8, four of a subtile: other lanes have them, of one of the four values.
// CHECK: nvvm.shfl.sync idx %{{.*}}, %[[F0]],
// CHECK-COUNT-3: nvvm.shfl.sync idx %{{.*}}, %[[F0]],
// CHECK-COUNT-8: math.exp2
// CHECK-NOT: {{exp2|ptr<1>}}
// CHECK: fence.proxy.async.shared::cta
// The first four have been waited for; buffers are to take operands once more, so each is released as soon as it can be.
// CHECK-NOT: {{exp2|try_wait}}
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{!llvm.ptr<1>|try_wait}}
// CHECK-COUNT-4: nvvm.shfl.sync idx %{{.*}}, %[[F0]],
// CHECK-COUNT-8: math.exp2
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{!llvm.ptr<1>|try_wait}}
// CHECK-COUNT-4: nvvm.shfl.sync idx %{{.*}}, %[[F1]],
// CHECK-COUNT-8: math.exp2
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{!llvm.ptr<1>|try_wait}}
// CHECK-COUNT-8: math.exp2
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-COUNT-8: math.exp2
// CHECK: scf.condition(

// Beside the next turn's products are rounds of a subtile, in steps of half of one: K has nineteen stages, the fewest that
// are enough. The factors of the rows that are held are loaded before, and which of a lane's four a round needs depends
// on its number.
// CHECK: nvvm.wgmma.mma_async {{.*}}D[<f32>, <zero>]
// CHECK-COUNT-4: llvm.getelementptr %[[FX]]
// CHECK-NEXT: %[[F3:.*]] = llvm.load
// CHECK-NOT: %[[FX]]
// CHECK: scf.for %{{.*}} = %c0_i32 to %c8_i32 step %c2_i32 iter_args(
// CHECK: arith.select %{{.*}}, %[[F3]],
// CHECK-NOT: !llvm.ptr<1>
// CHECK: nvvm.shfl.sync idx
// CHECK-COUNT-4: math.exp2
// CHECK-NOT: {{math.exp2|!llvm.ptr<1>|fence.proxy}}
// CHECK: nvvm.wgmma.commit.group
// CHECK-COUNT-4: math.exp2
// CHECK-NOT: {{math.exp2|!llvm.ptr<1>}}
// CHECK: fence.proxy.async.shared::cta
// CHECK: scf.yield
// CHECK: llvm.func @layer_tiled_unaligned(

// -----

// With a stage fewer steps are whole subtiles. Columns of two blocks of wgmma's rows are held too: those of the second.
// CHECK-LABEL: llvm.func @columns_tiled(
// CHECK: :64 = scf.while (
// CHECK: scf.condition(
// CHECK: scf.for %{{.*}} = %c0_i32 to %c8_i32 step %c2_i32 iter_args(
// CHECK-COUNT-8: math.exp2
// CHECK-NOT: {{math.exp2|wgmma}}
// CHECK: fence.proxy.async.shared::cta
// CHECK: llvm.func @columns_tiled_unaligned(
func.func @columns(%x: memref<4096x1152xf16>, %w: memref<1024x1152xf16>, %r: memref<4096x1024xf32>,
                   %y: memref<4096x1024xf32>) {
  tenon.tiled_linear %x, %w : memref<4096x1152xf16>, memref<1024x1152xf16>
      epilogue(%acc: tensor<4096x1024xf32>, %res = %r: memref<4096x1024xf32>) outs(%y: memref<4096x1024xf32>)
      schedule<wgmma, tile = 128x256x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 2x1, defer = true> {
    %0 = tenon.gelu %acc : tensor<4096x1024xf32>
    %1 = tenon.add %0, %res : tensor<4096x1024xf32>, tensor<4096x1024xf32>
    tenon.yield %1 : tensor<4096x1024xf32>
  }
  return
}

// -----

// Three stages leave 48 KB of shared memory: of sixteen subtiles one is finished when the products are done, nine are
// held in 72 registers, and six are parked, 16 bytes a thread of 256 in each 4 KB. There are rounds for fifteen, each of
// which takes another subtile behind those that are held.
// CHECK-LABEL: func.func @parked(
// CHECK: @kernels::@parked_tiled blocks {{.*}} dynamic_shared_memory_size %c231168_i32
// CHECK: llvm.func @parked_tiled(
// CHECK: :72 = scf.while (
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-COUNT-8: math.exp2
// CHECK-NOT: math.exp2
// CHECK-COUNT-72: arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK-COUNT-12: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
// CHECK-NOT: vector<4xf32>, !llvm.ptr<3>
// CHECK: scf.condition(
// CHECK: scf.for %[[ROUND:.*]] = %c0_i32 to %c15_i32 step %c3_i32 iter_args(
// CHECK-COUNT-8: math.exp2
// CHECK-NOT: math.exp2
// After the sixth of them any other will do.
// CHECK: %[[NUMBER:.*]] = arith.minui %[[ROUND]], %c5_i32
// CHECK: arith.muli %[[NUMBER]], %c2_i32
// CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK-NOT: vector<4xf32>, !llvm.ptr<3>
// CHECK-COUNT-8: math.exp2
// CHECK: scf.yield
// CHECK: llvm.func @parked_tiled_unaligned(
func.func @parked(%x: memref<4096x2112xf16>, %w: memref<1024x2112xf16>, %r: memref<4096x1024xf32>,
                  %y: memref<4096x1024xf32>) {
  tenon.tiled_linear %x, %w : memref<4096x2112xf16>, memref<1024x2112xf16>
      epilogue(%acc: tensor<4096x1024xf32>, %res = %r: memref<4096x1024xf32>) outs(%y: memref<4096x1024xf32>)
      schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 3, swizzle = 128, raster = 8, blocks = 1,
               cluster = 1x2, defer = true> {
    %0 = tenon.gelu %acc : tensor<4096x1024xf32>
    %1 = tenon.add %0, %res : tensor<4096x1024xf32>, tensor<4096x1024xf32>
    tenon.yield %1 : tensor<4096x1024xf32>
  }
  return
}

// -----

// A stage fewer of K than the rounds of all fifteen take: fewer are parked.
// CHECK-LABEL: func.func @fewer_parked(
// CHECK: llvm.func @fewer_parked_tiled(
// CHECK: :72 = scf.while (
// CHECK-COUNT-10: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
// CHECK-NOT: vector<4xf32>, !llvm.ptr<3>
// CHECK: scf.for %{{.*}} = %c0_i32 to %c14_i32 step %c2_i32 iter_args(
// CHECK: llvm.func @fewer_parked_tiled_unaligned(
func.func @fewer_parked(%x: memref<4096x2048xf16>, %w: memref<1024x2048xf16>, %r: memref<4096x1024xf32>,
                        %y: memref<4096x1024xf32>) {
  tenon.tiled_linear %x, %w : memref<4096x2048xf16>, memref<1024x2048xf16>
      epilogue(%acc: tensor<4096x1024xf32>, %res = %r: memref<4096x1024xf32>) outs(%y: memref<4096x1024xf32>)
      schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 3, swizzle = 128, raster = 8, blocks = 1,
               cluster = 1x2, defer = true> {
    %0 = tenon.gelu %acc : tensor<4096x1024xf32>
    %1 = tenon.add %0, %res : tensor<4096x1024xf32>, tensor<4096x1024xf32>
    tenon.yield %1 : tensor<4096x1024xf32>
  }
  return
}
