// Kernels of family mma_sync that reduce columns themselves.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels | FileCheck %s
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels | FileCheck %s --check-prefix=HOST

// All twelve row tiles of a column are resident together, also those for pointers that are not aligned.
// HOST-LABEL: func.func @layer(
// HOST: scf.if
// HOST: tenon.launch @kernels::@layer_tiled {{.*}}persistent = 192 : i64, resident = 12 : i64
// HOST: } else {
// HOST: tenon.launch @kernels::@layer_tiled_unaligned {{.*}}persistent = 192 : i64, resident = 12 : i64
// HOST-NOT: tenon.launch

// CHECK-LABEL: llvm.func @layer_tiled(
// Of the residual, and of three operands with one value a column.
// CHECK-COUNT-4: "prefetch.global.L2 [$0];"
// CHECK-NOT: "prefetch.global.L2 [$0];"
// CHECK: nvvm.mma.sync
// The scale of 4 blocks of 8 columns, once for all rows.
// CHECK-COUNT-4: llvm.load {{.*}} : !llvm.ptr<1> -> vector<2xf32>
// CHECK-NOT: llvm.load {{.*}} : !llvm.ptr<1>
// Origins; then of 8 columns 4, 2 and 1 a lane, mean and M2.
// CHECK: scf.if
// CHECK-COUNT-4: llvm.store {{.*}} : vector<2xf32>, !llvm.ptr<3>
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-14: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl.sync bfly
// CHECK: nvvm.barrier0
// The tile's states; then those of the twelve, in two batches at most of eight.
// CHECK: "st.relaxed.gpu.global.v2.b64 [$0], {$1, $2};"
// CHECK-COUNT-2: llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: scf.while
// CHECK-COUNT-12: @p ld.relaxed.gpu.global.v2.b64
// CHECK: @p trap;
// CHECK: math.sqrt
// CHECK-COUNT-2: llvm.store {{.*}} : f32, !llvm.ptr<3>
// The block with the first rows stores the statistics.
// CHECK: scf.if
// CHECK-COUNT-2: llvm.store {{.*}} : f32, !llvm.ptr<1>
// CHECK: nvvm.barrier0
// One thread says that the last states are read.
// CHECK: "st.relaxed.gpu.global.b64 [$0], $1;"
// What was found of 8 columns, then rows of 8, as in other kernels.
// CHECK-COUNT-4: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.store {{.*}} : vector<8xbf16>, !llvm.ptr<1>
// After all turns a warp clears states, and flags.
// CHECK: ld.relaxed.gpu.global.b64
// CHECK-SAME: trap;
// CHECK: scf.for
// CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 16 : i64} : vector<2xi64>, !llvm.ptr<1>
// CHECK: llvm.store %c0_i64, %{{.*}} : i64, !llvm.ptr<1>
func.func @layer(%x: memref<768x128xbf16>, %w: memref<64x128xbf16>, %mean: memref<64xf32>, %var: memref<64xf32>, %scale: memref<64xf32>,
                 %r: memref<768x64xbf16>, %y: memref<768x64xbf16>, %space: memref<394752xi8>) {
  tenon.tiled_linear %x, %w : memref<768x128xbf16>, memref<64x128xbf16>
      epilogue(%acc: tensor<768x64xf32>, %s = %scale: memref<64xf32>, %m = %mean: memref<64xf32>, %v = %var: memref<64xf32>, %res = %r: memref<768x64xbf16>)
      outs(%y: memref<768x64xbf16>, %mean: memref<64xf32>, %var: memref<64xf32>) workspace(%space: memref<394752xi8>)
      schedule<mma_sync, tile = 64x32x64, warps = 2x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = resident> {
    %a = tenon.mul %acc, %s : tensor<768x64xf32>, tensor<64xf32>
    %b = tenon.relu %a : tensor<768x64xf32>
    %0:3 = tenon.batch_norm_training %b running(%m, %v)
        : (tensor<768x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<768x64xf32>, tensor<64xf32>, tensor<64xf32>)
    %1 = tenon.relu %0#0 : tensor<768x64xf32>
    %2 = tenon.add %1, %res : tensor<768x64xf32>, tensor<768x64xbf16>
    %3 = tenon.cast %2 : tensor<768x64xf32> -> tensor<768x64xbf16>
    tenon.yield %3, %0#1, %0#2 : tensor<768x64xbf16>, tensor<64xf32>, tensor<64xf32>
  }
  return
}

// A split product computes everything where no factor is negative, and the kernel beside it where one is.
// HOST-LABEL: func.func @split(
// HOST: tenon.launch @kernels::@split_tiled {{.*}}resident = 4 : i64
// HOST: tenon.launch @kernels::@split_tiled_guard {{.*}}resident = 4 : i64
// CHECK-LABEL: llvm.func @split_tiled(
// CHECK: %[[ANY:.*]] = nvvm.barrier {{.*}}#nvvm.reduction<or>
// CHECK: %[[NEGATIVE:.*]] = arith.cmpi {{.*}}%[[ANY]]
// CHECK: %[[BIT:.*]] = arith.extui %[[NEGATIVE]]
// CHECK: %[[NONE:.*]] = arith.cmpi eq, %[[BIT]], %c0_i32
// CHECK: scf.if %[[NONE]] {
// CHECK: nvvm.mma.sync
// CHECK: "st.relaxed.gpu.global.v2.b64 [$0], {$1, $2};"
// CHECK-LABEL: llvm.func @split_tiled_guard(
// CHECK: %[[ANY:.*]] = nvvm.barrier {{.*}}#nvvm.reduction<or>
// CHECK: %[[NEGATIVE:.*]] = arith.cmpi {{.*}}%[[ANY]]
// CHECK: scf.if %[[NEGATIVE]] {
// No tile is left out.
// CHECK-NOT: #nvvm.reduction<or>
// CHECK: "st.relaxed.gpu.global.v2.b64 [$0], {$1, $2};"
func.func @split(%x: memref<256x128xf32>, %w: memref<64x128xf32>, %xh: memref<256x256xf16>, %wh: memref<64x256xf16>,
                 %fx: memref<256x1xf32>, %fw: memref<64x1xf32>, %y: memref<256x64xf32>, %space: memref<394752xi8>) {
  tenon.tiled_linear %xh, %wh : memref<256x256xf16>, memref<64x256xf16> factors(%fx, %fw : memref<256x1xf32>, memref<64x1xf32>)
      epilogue(%acc: tensor<256x64xf32>) outs(%y: memref<256x64xf32>) workspace(%space: memref<394752xi8>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 4, swizzle = 128, raster = 8, blocks = 1, method = fp16x3, reduction = resident> {
    %0 = tenon.batch_norm_training %acc : (tensor<256x64xf32>) -> tensor<256x64xf32>
    tenon.yield %0 : tensor<256x64xf32>
  }
  tenon.tiled_linear %x, %w : memref<256x128xf32>, memref<64x128xf32> factors(%fx, %fw : memref<256x1xf32>, memref<64x1xf32>)
      epilogue(%acc: tensor<256x64xf32>) outs(%y: memref<256x64xf32>) workspace(%space: memref<394752xi8>)
      schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 4, swizzle = 128, raster = 8, blocks = 1, method = fma, reduction = resident> {
    %0 = tenon.batch_norm_training %acc : (tensor<256x64xf32>) -> tensor<256x64xf32>
    tenon.yield %0 : tensor<256x64xf32>
  }
  return
}
