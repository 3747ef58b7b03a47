// A matrix with one row or one column is the product's shape, not an operand that repeats.
// RUN: tenon-opt %s --tenon-emit-kernels --split-input-file | FileCheck %s

// CHECK: llvm.func @one_row_tiled(
// CHECK: nvvm.mma.sync
// CHECK: arith.addf
// CHECK: st.global
func.func @one_row(%x: memref<1x128xf16>, %w: memref<128x128xf16>, %b: memref<128xf32>, %y: memref<1x128xf16>) {
  tenon.tiled_linear %x, %w : memref<1x128xf16>, memref<128x128xf16>
      epilogue(%acc: tensor<1x128xf16>, %bias = %b: memref<128xf32>) outs(%y: memref<1x128xf16>)
      schedule<mma_sync, tile = 16x128x64, warps = 1x4, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    %0 = tenon.add %acc, %bias : tensor<1x128xf16>, tensor<128xf32>
    tenon.yield %0 : tensor<1x128xf16>
  }
  return
}

// -----

// CHECK: llvm.func @one_column_tiled(
// CHECK: nvvm.mma.sync
// CHECK: arith.addf
// CHECK: st.global
func.func @one_column(%x: memref<?x128xf16>, %w: memref<1x128xf16>, %b: memref<1xf32>, %y: memref<?x1xf16>) {
  tenon.tiled_linear %x, %w : memref<?x128xf16>, memref<1x128xf16>
      epilogue(%acc: tensor<?x1xf16>, %bias = %b: memref<1xf32>) outs(%y: memref<?x1xf16>)
      schedule<mma_sync, tile = 16x128x64, warps = 1x4, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    %0 = tenon.add %acc, %bias : tensor<?x1xf16>, tensor<1xf32>
    tenon.yield %0 : tensor<?x1xf16>
  }
  return
}

// -----

// CHECK: llvm.func @one_element_tiled(
// CHECK: nvvm.mma.sync
// CHECK: arith.addf
// CHECK: st.global
func.func @one_element(%x: memref<1x128xf16>, %w: memref<1x128xf16>, %b: memref<1xf32>, %y: memref<1x1xf16>) {
  tenon.tiled_linear %x, %w : memref<1x128xf16>, memref<1x128xf16>
      epilogue(%acc: tensor<1x1xf16>, %bias = %b: memref<1xf32>) outs(%y: memref<1x1xf16>)
      schedule<mma_sync, tile = 16x128x64, warps = 1x4, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    %0 = tenon.add %acc, %bias : tensor<1x1xf16>, tensor<1xf32>
    tenon.yield %0 : tensor<1x1xf16>
  }
  return
}
