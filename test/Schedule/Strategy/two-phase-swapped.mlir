// Layers with batch norm whose product has operands swapped, in two phases.
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled reduction=two_phase" | FileCheck %s

// What was measured fastest without batch norm.
// CHECK-LABEL: @tuned
// CHECK: #tenon.schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1, cluster = 1x2, defer = true, reduction = two_phase>
func.func @tuned(%x: tensor<16384x4096xbf16>, %w: tensor<4096x4096xbf16>, %s: tensor<4096xbf16>) -> tensor<16384x4096xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<16384x4096xbf16>, tensor<4096x4096xbf16>
      epilogue(%acc: tensor<16384x4096xbf16>, %scale = %s: tensor<4096xbf16>) -> tensor<16384x4096xbf16> {
    %1 = tenon.mul %acc, %scale : tensor<16384x4096xbf16>, tensor<4096xbf16>
    %2 = tenon.batch_norm_training %1 : (tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16>
    tenon.yield %2 : tensor<16384x4096xbf16>
  }
  return %0 : tensor<16384x4096xbf16>
}

// Predicted, of a layer that the table does not have.
// CHECK-LABEL: @predicted
// CHECK: #tenon.schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1, cluster = 1x2, reduction = two_phase>
func.func @predicted(%x: tensor<4096x14336xf16>, %w: tensor<4096x14336xf16>) -> tensor<4096x4096xf16> {
  %0 = tenon.fused_linear %x, %w : tensor<4096x14336xf16>, tensor<4096x14336xf16>
      epilogue(%acc: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
    %1 = tenon.batch_norm_training %acc : (tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
    tenon.yield %1 : tensor<4096x4096xf16>
  }
  return %0 : tensor<4096x4096xf16>
}
