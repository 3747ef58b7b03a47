// RUN: tenon-opt %s --tenon-emit-kernels --split-input-file | FileCheck %s

// Beside a wgmma kernel all others begin early too, and let the next one do so.

// CHECK-LABEL: func.func @guarded
// CHECK: tenon.launch @kernels::@guarded_split_v4 {{.*}}waits_itself
// CHECK: tenon.launch @kernels::@guarded_tiled {{.*}}waits_itself
// CHECK: tenon.launch @kernels::@guarded_tiled_guard {{.*}}waits_itself
// CHECK: llvm.func @guarded_split_v4
// CHECK-NEXT: nvvm.griddepcontrol wait
// CHECK-NEXT: nvvm.griddepcontrol launch_dependents
// CHECK: llvm.func @guarded_tiled_guard
// CHECK-NEXT: nvvm.griddepcontrol wait
// CHECK-NEXT: nvvm.griddepcontrol launch_dependents
func.func @guarded(%x: memref<256x64xf32>, %xh: memref<256x128xf16>, %fx: memref<256x1xf32>,
                   %w: memref<48x64xf32>, %wh: memref<48x128xf16>, %fw: memref<48x1xf32>, %y: memref<256x48xf32>) {
  tenon.split %x outs(%xh, %fx) : (memref<256x64xf32>, memref<256x128xf16>, memref<256x1xf32>) -> ()
  tenon.tiled_linear %xh, %wh : memref<256x128xf16>, memref<48x128xf16> factors(%fx, %fw : memref<256x1xf32>, memref<48x1xf32>)
      epilogue(%acc: tensor<256x48xf32>) outs(%y: memref<256x48xf32>)
      schedule<wgmma, tile = 128x16x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, method = fp16x3> {
    tenon.yield %acc : tensor<256x48xf32>
  }
  tenon.tiled_linear %x, %w : memref<256x64xf32>, memref<48x64xf32> factors(%fx, %fw : memref<256x1xf32>, memref<48x1xf32>)
      epilogue(%acc: tensor<256x48xf32>) outs(%y: memref<256x48xf32>)
      schedule<mma_sync, tile = 128x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fma> {
    tenon.yield %acc : tensor<256x48xf32>
  }
  return
}

// -----

// What states are added for reads w before it waits for their sum.

// CHECK-LABEL: func.func @moments
// CHECK: llvm.func @moments_column_moments
// CHECK-NOT: griddepcontrol
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> bf16
// CHECK: nvvm.griddepcontrol wait
// CHECK-NEXT: nvvm.griddepcontrol launch_dependents
// CHECK-NEXT: nvvm.barrier0{{$}}
// CHECK-NOT: griddepcontrol
// CHECK: llvm.func @moments_tiled
func.func @moments(%x: memref<256x64xbf16>, %w: memref<48x64xbf16>, %a: memref<48xf32>, %b: memref<48xf32>, %c: memref<48xf32>, %y: memref<256x48xbf16>) {
  tenon.product_moments %x, %w outs(%a, %b, %c) : (memref<256x64xbf16>, memref<48x64xbf16>, memref<48xf32>, memref<48xf32>, memref<48xf32>) -> ()
  tenon.tiled_linear %x, %w : memref<256x64xbf16>, memref<48x64xbf16>
      epilogue(%acc: tensor<256x48xbf16>, %mean = %a: memref<48xf32>) outs(%y: memref<256x48xbf16>)
      schedule<wgmma, tile = 128x16x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    %0 = tenon.sub %acc, %mean : tensor<256x48xbf16>, tensor<48xf32>
    tenon.yield %0 : tensor<256x48xbf16>
  }
  return
}

// -----

// Other kernels' targets may not have it.

// CHECK-LABEL: func.func @alone
// CHECK-NOT: waits_itself
// CHECK-NOT: griddepcontrol
func.func @alone(%x: memref<256x64xf32>, %xh: memref<256x128xf16>, %fx: memref<256x1xf32>) {
  tenon.split %x outs(%xh, %fx) : (memref<256x64xf32>, memref<256x128xf16>, memref<256x1xf32>) -> ()
  return
}
