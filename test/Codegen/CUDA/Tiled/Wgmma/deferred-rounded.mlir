// Whole tiles that are held, rounded to 16 bits, beside the products of the next turn.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s

func.func @layer(%x: memref<4096x1216xbf16>, %w: memref<1024x1216xbf16>, %b: memref<1024xf32>,
                 %r: memref<4096x1024xbf16>, %y: memref<4096x1024xbf16>) {
  tenon.tiled_linear %x, %w : memref<4096x1216xbf16>, memref<1024x1216xbf16>
      epilogue(%acc: tensor<4096x1024xbf16>, %bias = %b: memref<1024xf32>, %res = %r: memref<4096x1024xbf16>)
      outs(%y: memref<4096x1024xbf16>)
      schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 1x2, defer = true> {
    %0 = tenon.add %acc, %bias : tensor<4096x1024xbf16>, tensor<1024xf32>
    %1 = tenon.gelu %0 : tensor<4096x1024xbf16>
    %2 = tenon.add %1, %res : tensor<4096x1024xbf16>, tensor<4096x1024xbf16>
    tenon.yield %2 : tensor<4096x1024xbf16>
  }
  return
}

// K has nineteen stages, the fewest that are enough: one before, one to load what is needed, and two for each of eight
// subtiles. The loop over turns carries the tile in 64 registers: the product, rounded, and nothing is computed of it
// between the last products and the next turn's first.
// CHECK-LABEL: llvm.func @layer_tiled(
// The copying thread pauses before each load that it is asked for, at most for half of the stage that is left.
// CHECK: scf.for %{{.*}} = %c0_i32 to %c4_i32
// CHECK-NEXT: nvvm.nanosleep %c73_i32
// CHECK: cp.async.bulk.tensor.shared.cluster.global
// CHECK-NOT: nanosleep
// CHECK: %{{.*}}:64 = scf.while (
// CHECK-NOT: {{try_wait|!llvm.ptr<1> -> f32}}
// CHECK: %[[DONE:.*]] = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;"
// CHECK: %[[E0:.*]] = llvm.extractvalue %[[DONE]][0] :
// CHECK: %[[E1:.*]] = llvm.extractvalue %[[DONE]][1] :
// CHECK: %[[E126:.*]] = llvm.extractvalue %[[DONE]][126] :
// CHECK: %[[E127:.*]] = llvm.extractvalue %[[DONE]][127] :
// CHECK-NOT: {{matrix|math|try_wait|arith.addf}}
// CHECK: %[[PAIR:.*]] = nvvm.convert.f32x2.to.bf16x2 %[[E1]], %[[E0]] {{.*}} : vector<2xbf16>
// CHECK-COUNT-62: nvvm.convert.f32x2.to.bf16x2
// CHECK: %[[LAST:.*]] = nvvm.convert.f32x2.to.bf16x2 %[[E127]], %[[E126]] {{.*}} : vector<2xbf16>
// CHECK-NOT: {{matrix|math|try_wait|nvvm.convert|arith.addf}}
// CHECK: scf.condition(%{{.*}}) %[[PAIR]], {{.*}}, %[[LAST]] : vector<2xbf16>,

// Beside the next turn's products is a loop over subtiles. A step begins when the stage before has been released, with a
// branch behind the products: the stage's barrier, which has completed, is waited for again.
// CHECK: ^bb0(%[[H0:[^:]*]]: vector<2xbf16>, %[[H1:[^:]*]]: vector<2xbf16>,
// CHECK: setp.ne.b32 adds, 0, 0;{{.*}}GROUP:{{.*}}wgmma.mma_async{{[^;]*}};\0Asetp.ne.b32 adds, 1, 0;\0Awgmma.commit_group.sync.aligned;{{.*}}
// CHECK: GROUP:{{.*}}wgmma.wait_group.sync.aligned 4;"
// CHECK: %[[B0:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK: %{{.*}}:12 = scf.for %{{.*}} = %c0_i32 to %c8_i32 step %c1_i32 iter_args(
// CHECK-SAME: %[[AT:[^ ]*]] = %[[H0]], %{{[^ ]*}} = %[[H1]],
// CHECK: nvvm.mbarrier.try_wait.parity %[[FULL:.*]], %[[PARITY:.*]], %c10000000_i32
// CHECK: setp.ne.b32 adds, 1, 0;
// CHECK-COUNT-4: wgmma.mma_async
// CHECK-SAME: wgmma.wait_group.sync.aligned 1;"
// CHECK-NOT: try_wait
// CHECK: mbarrier.arrive.shared::cluster
// CHECK: nvvm.mbarrier.try_wait.parity %[[FULL]], %[[PARITY]],
// The subtile's number is the body's: so are its buffer and the phase in which that is used.
// CHECK: %[[SLOT:.*]] = arith.remui %[[NUMBER:.*]], %c4_i32
// CHECK: %[[USED:.*]] = arith.divui %[[NUMBER]], %c4_i32
// CHECK-NEXT: %[[ODD:.*]] = arith.andi %[[USED]], %c1_i32
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[ODD]],
// CHECK: nvvm.ldmatrix
// CHECK: %[[ANEW:.*]] = llvm.inline_asm has_side_effects "", "=r,0" %[[AT]] : (vector<2xbf16>) -> vector<2xbf16>
// CHECK: arith.addf %{{.*}}, %[[B0]]
// CHECK-COUNT-8: math.exp2
// CHECK: nvvm.stmatrix
// CHECK-NOT: {{math.exp2|stmatrix|shared::cta}}
// The other half's step, and behind it the subtile's release.
// CHECK: setp.ne.b32 adds, 1, 0;
// CHECK-COUNT-4: wgmma.mma_async
// CHECK-SAME: wgmma.wait_group.sync.aligned 1;"
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-NOT: try_wait
// CHECK-COUNT-8: math.exp2
// CHECK: nvvm.stmatrix
// CHECK-NEXT: fence.proxy.async.shared::cta
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// Of the next subtile the registers, eight of 64, are copied.
// CHECK-NOT: {{math.exp2|fence|wgmma}}
// CHECK: scf.index_switch
// CHECK-COUNT-7: scf.yield {{.*}} : vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>{{$}}
// CHECK: scf.yield
// Then nothing of the tile before needs the buffers, and the operands of the turn's own are asked for.
// CHECK-NOT: wgmma
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{math.exp2|fence.proxy.async}}
// CHECK: scf.yield

// After the last turn a body has two subtiles, all that is left moves to the front, and only a subtile's buffer is waited
// for.
// CHECK: %{{.*}}:64 = scf.for %{{.*}} = %c0_i32 to %c4_i32 step %c1_i32 iter_args(
// CHECK-NOT: wgmma
// CHECK: try_wait
// CHECK-NOT: try_wait
// CHECK-COUNT-16: math.exp2
// CHECK-NOT: math.exp2
// CHECK: fence.proxy.async.shared::cta
// CHECK-COUNT-16: math.exp2
// CHECK: fence.proxy.async.shared::cta
// CHECK-NOT: {{math.exp2|fence}}
// CHECK: scf.yield
// CHECK-NOT: {{math.exp2|fence.proxy.async}}
// CHECK: llvm.func @layer_tiled_unaligned(

// -----

// So it is in f16.
// CHECK-LABEL: llvm.func @twice_tiled(
// CHECK: %{{.*}}:64 = scf.while (
// CHECK: %[[DONE:.*]] = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;"
// CHECK: %[[E0:.*]] = llvm.extractvalue %[[DONE]][0] :
// CHECK: %[[E1:.*]] = llvm.extractvalue %[[DONE]][1] :
// CHECK: nvvm.convert.f32x2.to.f16x2 %[[E1]], %[[E0]]
func.func @twice(%x: memref<4096x1216xf16>, %w: memref<1024x1216xf16>, %y: memref<4096x1024xf16>) {
  tenon.tiled_linear %x, %w : memref<4096x1216xf16>, memref<1024x1216xf16>
      epilogue(%acc: tensor<4096x1024xf16>) outs(%y: memref<4096x1024xf16>)
      schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 1x2, defer = true> {
    %0 = tenon.gelu %acc : tensor<4096x1024xf16>
    %1 = tenon.add %0, %acc : tensor<4096x1024xf16>, tensor<4096x1024xf16>
    tenon.yield %1 : tensor<4096x1024xf16>
  }
  return
}

// -----

// With stages enough one without a step follows each, whose products are no loop either.
// CHECK-LABEL: llvm.func @spread_tiled(
// CHECK: %{{.*}}:64 = scf.while (
// CHECK: scf.condition(
// CHECK: scf.for %{{.*}} = %c0_i32 to %c8_i32
// CHECK: setp.ne.b32 adds, 1, 0;
// CHECK-NOT: GROUP
// CHECK-COUNT-8: math.exp2
// CHECK-NOT: GROUP
// CHECK: wgmma.wait_group.sync.aligned 1;"
// CHECK-NOT: {{math.exp2|GROUP}}
// CHECK: wgmma.wait_group.sync.aligned 1;"
// CHECK-COUNT-8: math.exp2
// CHECK-NOT: {{math.exp2|GROUP}}
// CHECK: wgmma.wait_group.sync.aligned 1;"
// CHECK-NOT: {{math.exp2|wgmma}}
// CHECK: scf.index_switch
// CHECK: scf.for %{{.*}} = %c34_i32 to %c42_i32
// CHECK: GROUP:{{.*}}wgmma.wait_group.sync.aligned 4;"
// CHECK: llvm.func @spread_tiled_unaligned(
func.func @spread(%x: memref<4096x2688xf16>, %w: memref<1024x2688xf16>, %y: memref<4096x1024xf16>) {
  tenon.tiled_linear %x, %w : memref<4096x2688xf16>, memref<1024x2688xf16>
      epilogue(%acc: tensor<4096x1024xf16>) outs(%y: memref<4096x1024xf16>)
      schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 1x2, defer = true> {
    %0 = tenon.gelu %acc : tensor<4096x1024xf16>
    tenon.yield %0 : tensor<4096x1024xf16>
  }
  return
}

// -----

// None of these may be rounded, or is worth it: half a tile is held, as it is. A value of f32; K of one stage fewer; an
// epilogue as short as a bias; two columns of subtiles.
// CHECK-LABEL: llvm.func @wide_tiled(
// CHECK: = scf.while (
// CHECK: scf.condition(%{{.*}}) %{{.*}} : f32,
func.func @wide(%x: memref<4096x1216xbf16>, %w: memref<1024x1216xbf16>, %y: memref<4096x1024xbf16>) {
  tenon.tiled_linear %x, %w : memref<4096x1216xbf16>, memref<1024x1216xbf16>
      epilogue(%acc: tensor<4096x1024xf32>) outs(%y: memref<4096x1024xbf16>)
      schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 1x2, defer = true> {
    %0 = tenon.gelu %acc : tensor<4096x1024xf32>
    %1 = tenon.cast %0 : tensor<4096x1024xf32> -> tensor<4096x1024xbf16>
    tenon.yield %1 : tensor<4096x1024xbf16>
  }
  return
}

// CHECK-LABEL: llvm.func @shorter_tiled(
// CHECK: = scf.while (
// CHECK: scf.condition(%{{.*}}) %{{.*}} : f32,
func.func @shorter(%x: memref<4096x1152xbf16>, %w: memref<1024x1152xbf16>, %y: memref<4096x1024xbf16>) {
  tenon.tiled_linear %x, %w : memref<4096x1152xbf16>, memref<1024x1152xbf16>
      epilogue(%acc: tensor<4096x1024xbf16>) outs(%y: memref<4096x1024xbf16>)
      schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 1x2, defer = true> {
    %0 = tenon.gelu %acc : tensor<4096x1024xbf16>
    tenon.yield %0 : tensor<4096x1024xbf16>
  }
  return
}

// CHECK-LABEL: llvm.func @light_tiled(
// CHECK: = scf.while (
// CHECK: scf.condition(%{{.*}}) %{{.*}} : f32,
func.func @light(%x: memref<4096x1216xbf16>, %w: memref<1024x1216xbf16>, %b: memref<1024xbf16>,
                 %y: memref<4096x1024xbf16>) {
  tenon.tiled_linear %x, %w : memref<4096x1216xbf16>, memref<1024x1216xbf16>
      epilogue(%acc: tensor<4096x1024xbf16>, %bias = %b: memref<1024xbf16>) outs(%y: memref<4096x1024xbf16>)
      schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 1x2, defer = true> {
    %0 = tenon.add %acc, %bias : tensor<4096x1024xbf16>, tensor<1024xbf16>
    tenon.yield %0 : tensor<4096x1024xbf16>
  }
  return
}

// CHECK-LABEL: llvm.func @columns_tiled(
// CHECK: = scf.while (
// CHECK: scf.condition(%{{.*}}) %{{.*}} : f32,
func.func @columns(%x: memref<4096x1216xbf16>, %w: memref<1024x1216xbf16>, %y: memref<4096x1024xbf16>) {
  tenon.tiled_linear %x, %w : memref<4096x1216xbf16>, memref<1024x1216xbf16>
      epilogue(%acc: tensor<4096x1024xbf16>) outs(%y: memref<4096x1024xbf16>)
      schedule<wgmma, tile = 128x256x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 2x1, defer = true> {
    %0 = tenon.gelu %acc : tensor<4096x1024xbf16>
    tenon.yield %0 : tensor<4096x1024xbf16>
  }
  return
}
