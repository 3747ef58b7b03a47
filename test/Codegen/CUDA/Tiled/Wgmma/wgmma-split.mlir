// What a wgmma kernel does with rows that tenon.split gave.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s

// Six products a stage, of high halves (descriptors + 0, + 2) and low ones
// (+ 4, + 6), the small ones first. What they add up to is promoted after every
// stage, while the other warpgroup has the tensor cores.
// CHECK-LABEL: llvm.func @three_tiled(
// CHECK-SAME: %{{[^:]*}}: {{[^}]*}}}, %{{[^:]*}}: {{[^}]*}}}, %{{[^:]*}}: {{[^}]*}}}, %{{[^,]*}}, %{{[^,]*}}, %[[FX:[^:]*]]: {{[^,]*}}, %[[FW:[^:]*]]:
// CHECK: nvvm.setmaxregister increase
// The second warpgroup lets the first begin.
// CHECK: scf.if
// CHECK: "bar.arrive $0, 256;"
// CHECK: scf.for {{.*}} step %c1_i32 iter_args({{.*}} = %cst
// CHECK: "bar.sync $0, 256;"
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: nvvm.wgmma.fence.aligned
// CHECK: llvm.inline_asm has_side_effects "{{.*}}setp.ne.b32 adds, 0, 0;
// CHECK-SAME: \0Aadd.s64 ofRows, rows, 4;\0Aadd.s64 ofColumns, columns, 0;\0Awgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7}, ofRows, ofColumns, adds, 1, 1, 0, 0;
// CHECK-SAME: \0Asetp.ne.b32 adds, 1, 0;
// CHECK-SAME: \0Aadd.s64 ofRows, rows, 6;\0Aadd.s64 ofColumns, columns, 2;\0Awgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7}, ofRows, ofColumns, adds, 1, 1, 0, 0;
// CHECK-SAME: \0Aadd.s64 ofRows, rows, 0;\0Aadd.s64 ofColumns, columns, 4;\0Awgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7}, ofRows, ofColumns, adds, 1, 1, 0, 0;
// CHECK-SAME: \0Aadd.s64 ofRows, rows, 2;\0Aadd.s64 ofColumns, columns, 6;\0Awgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7}, ofRows, ofColumns, adds, 1, 1, 0, 0;
// CHECK-SAME: \0Aadd.s64 ofRows, rows, 0;\0Aadd.s64 ofColumns, columns, 0;\0Awgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7}, ofRows, ofColumns, adds, 1, 1, 0, 0;
// CHECK-SAME: \0Aadd.s64 ofRows, rows, 2;\0Aadd.s64 ofColumns, columns, 2;\0Awgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7}, ofRows, ofColumns, adds, 1, 1, 0, 0;
// CHECK-SAME: \0Awgmma.commit_group.sync.aligned;\0A}\0A"
// CHECK: "bar.arrive $0, 256;"
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK: mbarrier.arrive
// Without fastmath: nothing may be left out, or joined with what follows.
// CHECK-COUNT-8: arith.addf %{{[^,]*}}, %{{[^ ]*}} : f32
// CHECK: scf.yield
// The scale comes before all else: fw, then fx. A thread has two rows' factors
// and, of each 8 columns, two neighbours'.
// CHECK: llvm.getelementptr %[[FW]]
// CHECK-NEXT: %[[PAIR:.*]] = llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xf32>
// CHECK-NEXT: %[[OFCOLUMN:.*]] = vector.extract %[[PAIR]][0]
// CHECK: llvm.getelementptr %[[FX]]
// CHECK-NEXT: %[[OFROW:.*]] = llvm.load
// CHECK: %[[ONCE:.*]] = arith.mulf %{{.*}}, %[[OFCOLUMN]]
// CHECK: %[[TWICE:.*]] = arith.mulf %[[ONCE]], %[[OFROW]]
// CHECK: arith.addf %[[TWICE]],
// Pointers that are no multiples of 16 take the same method.
// CHECK: llvm.func @three_tiled_unaligned(
// CHECK: nvvm.mma.sync {{.*}} : (vector<2xf16>, vector<2xf16>, f32)
func.func @three(%x: memref<?x128xf16>, %w: memref<48x128xf16>, %fx: memref<?x1xf32>, %fw: memref<48x1xf32>, %b: memref<48xf32>, %y: memref<?x48xf32>) {
  tenon.tiled_linear %x, %w : memref<?x128xf16>, memref<48x128xf16> factors(%fx, %fw : memref<?x1xf32>, memref<48x1xf32>)
      epilogue(%acc: tensor<?x48xf32>, %bias = %b: memref<48xf32>) outs(%y: memref<?x48xf32>)
      schedule<wgmma, tile = 128x16x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, method = fp16x3> {
    %0 = tenon.add %acc, %bias : tensor<?x48xf32>, tensor<48xf32>
    tenon.yield %0 : tensor<?x48xf32>
  }
  return
}

// -----

// One part: products as of other f16, but for the scale.
// CHECK-LABEL: llvm.func @one_tiled(
// CHECK-NOT: bar.arrive
// CHECK-COUNT-4: wgmma.mma_async
// CHECK: wgmma.wait_group.sync.aligned 1;"
// CHECK-NOT: arith.addf
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK: %[[ONCE:.*]] = arith.mulf
// CHECK: arith.mulf %[[ONCE]],
// CHECK: llvm.func @one_tiled_unaligned(
func.func @one(%x: memref<?x128xf16>, %w: memref<48x128xf16>, %fx: memref<?x1xf32>, %fw: memref<48x1xf32>, %y: memref<?x48xf32>) {
  tenon.tiled_linear %x, %w : memref<?x128xf16>, memref<48x128xf16> factors(%fx, %fw : memref<?x1xf32>, memref<48x1xf32>)
      epilogue(%acc: tensor<?x48xf32>) outs(%y: memref<?x48xf32>)
      schedule<wgmma, tile = 128x16x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, method = fp16> {
    tenon.yield %acc : tensor<?x48xf32>
  }
  return
}

// -----

// A warpgroup alone, and with ping-pong: no turns from stage to stage. With
// ping-pong the other one begins when all products are done.
// CHECK-LABEL: llvm.func @alone_tiled(
// CHECK-NOT: 256;"
// CHECK: llvm.func @alone_tiled_unaligned(
// CHECK: llvm.func @pong_tiled(
// CHECK: "bar.sync $0, 256;"
// CHECK: scf.for
// CHECK-NOT: 256;"
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-COUNT-8: arith.addf
// CHECK-NEXT: scf.yield
// CHECK: "bar.arrive $0, 256;"
// CHECK: llvm.func @pong_tiled_unaligned(
func.func @alone(%x: memref<?x128xf16>, %w: memref<48x128xf16>, %fx: memref<?x1xf32>, %fw: memref<48x1xf32>, %y: memref<?x48xf32>) {
  tenon.tiled_linear %x, %w : memref<?x128xf16>, memref<48x128xf16> factors(%fx, %fw : memref<?x1xf32>, memref<48x1xf32>)
      epilogue(%acc: tensor<?x48xf32>) outs(%y: memref<?x48xf32>)
      schedule<wgmma, tile = 64x16x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, method = fp16x3> {
    tenon.yield %acc : tensor<?x48xf32>
  }
  return
}
func.func @pong(%x: memref<?x128xf16>, %w: memref<48x128xf16>, %fx: memref<?x1xf32>, %fw: memref<48x1xf32>, %y: memref<?x48xf32>) {
  tenon.tiled_linear %x, %w : memref<?x128xf16>, memref<48x128xf16> factors(%fx, %fw : memref<?x1xf32>, memref<48x1xf32>)
      epilogue(%acc: tensor<?x48xf32>) outs(%y: memref<?x48xf32>)
      schedule<wgmma, tile = 64x16x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, ping_pong = true, method = fp16x3> {
    tenon.yield %acc : tensor<?x48xf32>
  }
  return
}
