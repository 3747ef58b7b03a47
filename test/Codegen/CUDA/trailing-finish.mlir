// The kernel that finishes columns beside a product: its room, its units of work, and what a lane holds.
// RUN: tenon-opt %s --tenon-emit-kernels --canonicalize --cse | FileCheck %s

// As many blocks as fit, whatever M: work is what the host counts.
// CHECK-LABEL: func.func @short(
// CHECK: gpu.launch_func @kernels::@short_finish
// CHECK-SAME: threads in (%c128
// CHECK-SAME: tenon.persistent = 16384 : i64, tenon.waits_itself

// CHECK-LABEL: llvm.func @short_finish(
// CHECK-SAME: nvvm.maxnreg = 56 : i32, nvvm.reqntid = array<i32: 128>
// A ticket for the warp.
// CHECK: scf.while
// CHECK: atom.relaxed.gpu.global.add.u32
// CHECK: nvvm.shfl.sync idx
// Two columns: flags of all row blocks, then one fence for them.
// CHECK-COUNT-2: ld.relaxed.gpu.global.v4.b32
// CHECK-NOT: ld.relaxed
// CHECK: @p trap; nanosleep.u32
// CHECK: "fence.acq_rel.gpu;"
// CHECK-NEXT: nvvm.bar.warp.sync
// 16 lanes a column: four steps, of count and state.
// CHECK-COUNT-12: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl.sync bfly
// CHECK: math.sqrt
// CHECK: red.release.gpu.global.add.u32
// Rows of a span: its counter, what was found of 8 columns, 4 rows together.
// CHECK: ld.acquire.gpu.global.b32
// CHECK-COUNT-3: llvm.load {{.*}} -> vector<8xf32>
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<8xbf16>
// CHECK-NOT: llvm.load
// CHECK-COUNT-4: llvm.store {{.*}} : vector<8xbf16>
// CHECK-NOT: llvm.store
// CHECK: nvvm.griddepcontrol wait
func.func @short(%x: memref<256x128xbf16>, %w: memref<512x128xbf16>, %a: memref<512xf32>, %b: memref<512xf32>, %y: memref<256x512xbf16>) {
  tenon.tiled_linear %x, %w : memref<256x128xbf16>, memref<512x128xbf16>
      epilogue(%acc: tensor<256x512xbf16>, %weight = %a: memref<512xf32>, %bias = %b: memref<512xf32>)
      outs(%y: memref<256x512xbf16>)
      schedule<wgmma, tile = 128x32x64, warps = 8x1, stages = 4, swizzle = 128, raster = 2, blocks = 1, reduction = trailing> {
    %0 = tenon.batch_norm_training %acc weight(%weight) bias(%bias)
        : (tensor<256x512xbf16>, tensor<512xf32>, tensor<512xf32>) -> tensor<256x512xbf16>
    tenon.yield %0 : tensor<256x512xbf16>
  }
  return
}

// More per-column operands: half as many columns a lane. Rows that are no multiple of 4 are loaded one by one.
// CHECK-LABEL: llvm.func @long_finish(
// CHECK: ld.acquire.gpu.global.b32
// CHECK-COUNT-3: llvm.load {{.*}} -> vector<4xf32>
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<4xf32>
// CHECK: scf.for
// CHECK-COUNT-8: llvm.load {{.*}} -> vector<4xbf16>
// CHECK-COUNT-4: llvm.store {{.*}} : vector<4xbf16>
// CHECK: scf.for
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<4xbf16>
// CHECK-NOT: llvm.load
// CHECK: llvm.store {{.*}} : vector<4xbf16>
// CHECK-NOT: llvm.store
// CHECK: nvvm.griddepcontrol wait
func.func @long(%x: memref<250x128xbf16>, %w: memref<512x128xbf16>, %a: memref<512xf32>, %b: memref<512xf32>, %s: memref<512xf32>,
                %t: memref<512xf32>, %r: memref<250x512xbf16>, %y: memref<250x512xbf16>) {
  tenon.tiled_linear %x, %w : memref<250x128xbf16>, memref<512x128xbf16>
      epilogue(%acc: tensor<250x512xbf16>, %weight = %a: memref<512xf32>, %bias = %b: memref<512xf32>, %scale = %s: memref<512xf32>,
               %shift = %t: memref<512xf32>, %res = %r: memref<250x512xbf16>)
      outs(%y: memref<250x512xbf16>)
      schedule<wgmma, tile = 128x32x64, warps = 8x1, stages = 4, swizzle = 128, raster = 2, blocks = 1, reduction = trailing> {
    %0 = tenon.batch_norm_training %acc weight(%weight) bias(%bias)
        : (tensor<250x512xbf16>, tensor<512xf32>, tensor<512xf32>) -> tensor<250x512xbf16>
    %1 = tenon.mul %0, %scale : tensor<250x512xbf16>, tensor<512xf32>
    %2 = tenon.add %1, %shift : tensor<250x512xbf16>, tensor<512xf32>
    %3 = tenon.add %2, %res : tensor<250x512xbf16>, tensor<250x512xbf16>
    tenon.yield %3 : tensor<250x512xbf16>
  }
  return
}
