// A guarded kernel reads the epilogue's operands once more, so no kernel before
// it may write over them, and it writes where the results are.
// RUN: tenon-opt %s --tenon-bufferize | FileCheck %s

// Even where the first kernel was told to write over the residual.
// CHECK-LABEL: func.func @residual(
// CHECK: %[[R:.*]] = memref.alloc()
// CHECK: tenon.epilogue {{.*}} outs(%[[R]]:
// CHECK: %[[Y:.*]] = memref.alloc()
// CHECK: tenon.tiled_linear {{.*}} = %[[R]]: {{.*}} outs(%[[Y]]: {{.*}} method = fp16x3>
// CHECK-NOT: memref.copy
// CHECK: tenon.tiled_linear {{.*}} = %[[R]]: {{.*}} outs(%[[Y]]: {{.*}} method = fma>
// CHECK: return %[[Y]]
func.func @residual(%in: tensor<64x64xf32>, %x: tensor<64x64xf32>, %xh: tensor<64x128xf16>, %fx: tensor<64x1xf32>, %w: tensor<64x64xf32>, %wh: tensor<64x128xf16>, %fw: tensor<64x1xf32>) -> tensor<64x64xf32> {
  %e = tensor.empty() : tensor<64x64xf32>
  %r = tenon.epilogue ins(%a = %in: tensor<64x64xf32>) outs(%e: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = tenon.relu %a : tensor<64x64xf32>
    tenon.yield %0 : tensor<64x64xf32>
  }
  %y0 = tenon.tiled_linear %xh, %wh : tensor<64x128xf16>, tensor<64x128xf16> factors(%fx, %fw : tensor<64x1xf32>, tensor<64x1xf32>)
      epilogue(%acc: tensor<64x64xf32>, %res = %r: tensor<64x64xf32>) outs(%r: tensor<64x64xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3> -> tensor<64x64xf32> {
    %0 = tenon.add %acc, %res : tensor<64x64xf32>, tensor<64x64xf32>
    tenon.yield %0 : tensor<64x64xf32>
  }
  %y = tenon.tiled_linear %x, %w : tensor<64x64xf32>, tensor<64x64xf32> factors(%fx, %fw : tensor<64x1xf32>, tensor<64x1xf32>)
      epilogue(%acc: tensor<64x64xf32>, %res = %r: tensor<64x64xf32>) outs(%y0: tensor<64x64xf32>)
      schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fma> -> tensor<64x64xf32> {
    %0 = tenon.add %acc, %res : tensor<64x64xf32>, tensor<64x64xf32>
    tenon.yield %0 : tensor<64x64xf32>
  }
  return %y : tensor<64x64xf32>
}
