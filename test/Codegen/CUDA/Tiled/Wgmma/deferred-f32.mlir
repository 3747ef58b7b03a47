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
// CHECK: llvm.getelementptr %[[FW]]
// CHECK-NEXT: %[[FW0:.*]] = llvm.load
// CHECK: llvm.getelementptr %[[FW]]
// CHECK-NEXT: %[[FW1:.*]] = llvm.load
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
// CHECK-COUNT-24: math.exp2
// The others are held multiplied by the factors of w: steps need those of x alone.
// CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: {{exp2|try_wait}}
// CHECK: arith.mulf %{{.*}}, %[[FW0]]
// CHECK-NEXT: arith.mulf %{{.*}}, %[[FW0]]
// CHECK-NEXT: arith.mulf %{{.*}}, %[[FW1]]
// CHECK-NEXT: arith.mulf %{{.*}}, %[[FW1]]
// CHECK-COUNT-60: arith.mulf
// CHECK-NOT: {{arith.mulf|%[[]FW[]]}}
// CHECK: scf.condition(

// Beside the next turn's products is a loop over subtiles, in steps of half of one: K has nineteen stages, the fewest that
// are enough. A thread has the factors of its two rows of each step; when a subtile is done those of the next are loaded.
// CHECK: setp.ne.b32 adds, 0, 0;{{.*}}GROUP:{{.*}}wgmma.mma_async{{[^;]*}};\0Asetp.ne.b32 adds, 1, 0;\0Awgmma.commit_group.sync.aligned;{{.*}}
// CHECK: llvm.getelementptr %[[FX]]
// CHECK-NEXT: %[[PAIR:.*]] = llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xf32>
// CHECK-NEXT: %[[F:.*]] = vector.extract %[[PAIR]][0]
// CHECK: llvm.getelementptr %[[FX]]
// CHECK-NEXT: llvm.load %{{.*}} -> vector<2xf32>
// CHECK-NEXT: %[[F2:.*]] = vector.extract %{{.*}}[0]
// CHECK-NOT: %[[FX]]
// CHECK: scf.for %[[BODY:.*]] = %c0_i32 to %c8_i32 step %c1_i32 iter_args({{.*}}, %[[OWN:[^ ,]*]] = %[[F]], {{.*}}, %[[OWN2:[^ ,]*]] = %[[F2]],
// CHECK-NOT: !llvm.ptr<1>
// CHECK: arith.mulf %{{.*}}, %[[OWN]]
// CHECK-COUNT-4: math.exp2
// CHECK-NOT: {{math.exp2|!llvm.ptr<1>|fence.proxy}}
// CHECK: wgmma.commit_group.sync.aligned;
// CHECK-NOT: !llvm.ptr<1>
// CHECK: arith.mulf %{{.*}}, %[[OWN2]]
// CHECK-COUNT-4: math.exp2
// CHECK-NOT: {{math.exp2|!llvm.ptr<1>|wgmma}}
// CHECK: fence.proxy.async.shared::cta
// CHECK: %[[NEXTBODY:.*]] = arith.addi %[[BODY]], %c1_i32
// CHECK: arith.minui %[[NEXTBODY]], %c7_i32
// CHECK: llvm.getelementptr %[[FX]]
// CHECK-NEXT: %[[PAIR:.*]] = llvm.load %{{.*}} -> vector<2xf32>
// CHECK-NEXT: %[[NEXT:.*]] = vector.extract %[[PAIR]][0]
// CHECK: llvm.getelementptr %[[FX]]
// CHECK: %[[PART:.*]]:8 = scf.index_switch
// CHECK-COUNT-6: case
// CHECK: default
// CHECK: scf.yield {{.*}}, %[[NEXT]], {{.*}}, %[[PART]]#0,

// After the last turn a body has four subtiles, and what they need is loaded for all at once, half a body ahead.
// CHECK-COUNT-8: llvm.load %{{.*}} -> vector<2xf32>
// CHECK: %{{.*}}:80 = scf.for %{{.*}} = %c0_i32 to %c2_i32 step %c1_i32 iter_args(
// CHECK-NOT: vector<2xf32>
// CHECK-COUNT-16: math.exp2
// CHECK-NOT: math.exp2
// CHECK-COUNT-8: llvm.load %{{.*}} -> vector<2xf32>
// CHECK-NOT: llvm.load %{{.*}} -> vector<2xf32>
// CHECK-COUNT-16: math.exp2
// CHECK-NOT: {{math.exp2|index_switch|-> vector<2xf32>}}
// CHECK: scf.yield
// CHECK: llvm.func @layer_tiled_unaligned(

// -----

// With a stage fewer steps are whole subtiles. Columns of two blocks of wgmma's rows are held too: those of the second.
// CHECK-LABEL: llvm.func @columns_tiled(
// CHECK: :64 = scf.while (
// CHECK: scf.condition(
// CHECK: scf.for %{{.*}} = %c0_i32 to %c8_i32 step %c1_i32 iter_args(
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

// With stages enough for their steps twelve subtiles are held, so that four are finished when the products are done: no
// buffer is needed twice then. With nothing to begin with that has one value a column they are copied by a product with a
// one that nothing knows to be one: M is not negative.
// CHECK-LABEL: llvm.func @most_tiled(
// CHECK: %[[M:.*]] = arith.trunci %{{.*}} : i64 to i32
// CHECK: :96 = scf.while (
// CHECK: %[[DONE:.*]] = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;"
// CHECK: %[[E32:.*]] = llvm.extractvalue %[[DONE]][32] :
// CHECK: %[[E127:.*]] = llvm.extractvalue %[[DONE]][127] :
// CHECK-NOT: try_wait
// CHECK-COUNT-32: math.exp2
// CHECK-NOT: {{math.exp2|try_wait}}
// CHECK: %[[ZERO:.*]] = arith.shrui %[[M]], %c31_i32
// CHECK-NEXT: %[[BITS:.*]] = arith.ori %[[ZERO]], %c1065353216_i32
// CHECK-NEXT: %[[ONE:.*]] = llvm.bitcast %[[BITS]] : i32 to f32
// CHECK-NEXT: arith.mulf %[[E32]], %[[ONE]] : f32
// CHECK-COUNT-94: arith.mulf %{{.*}}, %[[ONE]] : f32
// CHECK-NEXT: arith.mulf %[[E127]], %[[ONE]] : f32
// CHECK: scf.condition(
// CHECK: scf.for %{{.*}} = %c0_i32 to %c12_i32 step %c1_i32 iter_args(
// CHECK-NOT: GROUP
// CHECK: scf.index_switch
// CHECK: llvm.func @most_tiled_unaligned(
func.func @most(%x: memref<4096x1728xf16>, %w: memref<1024x1728xf16>, %r: memref<4096x1024xf32>,
                %y: memref<4096x1024xf32>) {
  tenon.tiled_linear %x, %w : memref<4096x1728xf16>, memref<1024x1728xf16>
      epilogue(%acc: tensor<4096x1024xf32>, %res = %r: memref<4096x1024xf32>) outs(%y: memref<4096x1024xf32>)
      schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 1x2, defer = true> {
    %0 = tenon.gelu %acc : tensor<4096x1024xf32>
    %1 = tenon.add %0, %res : tensor<4096x1024xf32>, tensor<4096x1024xf32>
    tenon.yield %1 : tensor<4096x1024xf32>
  }
  return
}

// -----

// Steps of f32 that are no loop have products in two halves beside them: four, after the stage that nothing is beside.
// CHECK-LABEL: llvm.func @short_tiled(
// CHECK: :64 = scf.while (
// CHECK: scf.condition(
// CHECK: setp.ne.b32 adds, 0, 0;
// CHECK: setp.ne.b32 adds, 1, 0;{{.*}}GROUP:{{.*}}wgmma.wait_group.sync.aligned 2;"
// CHECK-NOT: {{wgmma.mma|st[.]shared|stmatrix}}
// CHECK: setp.ne.b32 adds, 1, 0;{{.*}}GROUP:{{.*}}wgmma.wait_group.sync.aligned 2;"
// CHECK-NOT: wgmma.mma
// CHECK: fence.proxy.async.shared::cta
// CHECK: setp.ne.b32 adds, 1, 0;{{.*}}GROUP:{{.*}}wgmma.wait_group.sync.aligned 2;"
// CHECK-NOT: wgmma.mma
// CHECK: fence.proxy.async.shared::cta
// CHECK: setp.ne.b32 adds, 1, 0;{{.*}}GROUP:{{.*}}wgmma.wait_group.sync.aligned 2;"
// CHECK-NOT: wgmma.mma
// CHECK: fence.proxy.async.shared::cta
// CHECK: setp.ne.b32 adds, 1, 0;{{.*}}GROUP:{{.*}}wgmma.wait_group.sync.aligned 2;"
// CHECK-NOT: wgmma.mma
// CHECK: fence.proxy.async.shared::cta
// CHECK: llvm.func @short_tiled_unaligned(
func.func @short(%x: memref<4096x1152xf16>, %w: memref<1024x1152xf16>, %b: memref<1024xf32>,
                 %y: memref<4096x1024xf32>) {
  tenon.tiled_linear %x, %w : memref<4096x1152xf16>, memref<1024x1152xf16>
      epilogue(%acc: tensor<4096x1024xf32>, %bias = %b: memref<1024xf32>) outs(%y: memref<4096x1024xf32>)
      schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 1x2, defer = true> {
    %0 = tenon.add %acc, %bias : tensor<4096x1024xf32>, tensor<1024xf32>
    tenon.yield %0 : tensor<4096x1024xf32>
  }
  return
}

// -----

// With twice as many stages and eight more, in which the next tile's residual is loaded, a stage without a step follows
// each. M is odd, so that it may end in a thread's two rows: each is loaded by itself, of those that there are.
// CHECK-LABEL: llvm.func @spread_tiled(
// CHECK: nvvm.nanosleep %c585_i32
// CHECK: :96 = scf.while (
// CHECK: scf.condition(
// CHECK: arith.minui %{{.*}}, %[[LAST:[^ ]*]]
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK-NEXT: arith.addi %{{.*}}, %c1_i32
// CHECK-NEXT: arith.minui %{{.*}}, %[[LAST]]
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK: scf.for %{{.*}} = %c0_i32 to %c12_i32 step %c1_i32 iter_args(
// CHECK: setp.ne.b32 adds, 1, 0;
// CHECK-NOT: GROUP
// CHECK-SAME: wgmma.wait_group.sync.aligned 1;"
// CHECK-COUNT-4: math.exp2
// CHECK: GROUP:{{.*}}wgmma.wait_group.sync.aligned 4;"
// CHECK: wgmma.wait_group.sync.aligned 1;"
// CHECK-COUNT-4: math.exp2
// CHECK: fence.proxy.async.shared::cta
// CHECK: GROUP:{{.*}}wgmma.wait_group.sync.aligned 4;"
// CHECK-NOT: {{math.exp2|wgmma}}
// CHECK: scf.index_switch
// CHECK: scf.for %{{.*}} = %c50_i32 to %c58_i32
// CHECK: llvm.func @spread_tiled_unaligned(
func.func @spread(%x: memref<4097x3712xf16>, %w: memref<1024x3712xf16>, %s: memref<4097x1xf32>,
                  %r: memref<4097x1024xf32>, %y: memref<4097x1024xf32>) {
  tenon.tiled_linear %x, %w : memref<4097x3712xf16>, memref<1024x3712xf16>
      epilogue(%acc: tensor<4097x1024xf32>, %scale = %s: memref<4097x1xf32>, %res = %r: memref<4097x1024xf32>)
      outs(%y: memref<4097x1024xf32>)
      schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 1x2, defer = true> {
    %0 = tenon.mul %acc, %scale : tensor<4097x1024xf32>, tensor<4097x1xf32>
    %1 = tenon.gelu %0 : tensor<4097x1024xf32>
    %2 = tenon.add %1, %res : tensor<4097x1024xf32>, tensor<4097x1024xf32>
    tenon.yield %2 : tensor<4097x1024xf32>
  }
  return
}
