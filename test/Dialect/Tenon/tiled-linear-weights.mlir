// A tiled layer with two products of x: round trip, and what the verifier refuses.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics | tenon-opt --split-input-file | FileCheck %s

// CHECK-LABEL: @gated
// CHECK: tenon.tiled_linear %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<32x64xbf16>, tensor<32x64xbf16> epilogue(%[[A:.*]]: tensor<?x32xbf16>, %[[G:.*]]: tensor<?x32xbf16>, %[[B:.*]] = %{{.*}}: tensor<32xbf16>)
// CHECK-SAME: schedule<wgmma, {{.*}}, weights = 2> -> tensor<?x32xbf16>
// CHECK: tenon.add %[[G]], %[[B]]
// CHECK: tenon.mul %[[A]], %
func.func @gated(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %v: tensor<32x64xbf16>, %b: tensor<32xbf16>, %o: tensor<?x32xbf16>)
    -> tensor<?x32xbf16> {
  %0 = tenon.tiled_linear %x, %w, %v : tensor<?x64xbf16>, tensor<32x64xbf16>, tensor<32x64xbf16>
      epilogue(%acc: tensor<?x32xbf16>, %gate: tensor<?x32xbf16>, %bias = %b: tensor<32xbf16>) outs(%o: tensor<?x32xbf16>)
      schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 2> -> tensor<?x32xbf16> {
    %1 = tenon.add %gate, %bias : tensor<?x32xbf16>, tensor<32xbf16>
    %2 = tenon.mul %acc, %1 : tensor<?x32xbf16>, tensor<?x32xbf16>
    tenon.yield %2 : tensor<?x32xbf16>
  }
  return %0 : tensor<?x32xbf16>
}

// CHECK-LABEL: @split
// CHECK: factors(%{{.*}}, %{{.*}}, %{{.*}} : memref<8x1xf32>, memref<32x1xf32>, memref<32x1xf32>)
func.func @split(%x: memref<8x64xf16>, %w: memref<32x64xf16>, %fx: memref<8x1xf32>, %fw: memref<32x1xf32>, %o: memref<8x32xf32>) {
  tenon.tiled_linear %x, %w, %w : memref<8x64xf16>, memref<32x64xf16>, memref<32x64xf16>
      factors(%fx, %fw, %fw : memref<8x1xf32>, memref<32x1xf32>, memref<32x1xf32>)
      epilogue(%acc: tensor<8x32xf32>, %gate: tensor<8x32xf32>) outs(%o: memref<8x32xf32>)
      schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 2, method = fp16x3> {
    %1 = tenon.mul %acc, %gate : tensor<8x32xf32>, tensor<8x32xf32>
    tenon.yield %1 : tensor<8x32xf32>
  }
  return
}

// Weights may lie within one tensor.
// CHECK-LABEL: @halves
// CHECK: tenon.tiled_linear %{{.*}}, %{{.*}}, %{{.*}} : memref<4x64xf16>, memref<8x64xf16, strided<[64, 1]>>, memref<8x64xf16, strided<[64, 1], offset: 512>>
func.func @halves(%x: memref<4x64xf16>, %both: memref<16x64xf16>, %o: memref<4x8xf16>) {
  %w = memref.subview %both[0, 0] [8, 64] [1, 1] : memref<16x64xf16> to memref<8x64xf16, strided<[64, 1]>>
  %v = memref.subview %both[8, 0] [8, 64] [1, 1] : memref<16x64xf16> to memref<8x64xf16, strided<[64, 1], offset: 512>>
  tenon.tiled_linear %x, %w, %v : memref<4x64xf16>, memref<8x64xf16, strided<[64, 1]>>, memref<8x64xf16, strided<[64, 1], offset: 512>>
      epilogue(%acc: tensor<4x8xf16>, %gate: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 2> {
    %1 = tenon.mul %acc, %gate : tensor<4x8xf16>, tensor<4x8xf16>
    tenon.yield %1 : tensor<4x8xf16>
  }
  return
}

// -----

func.func @count(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{has 2 weights, but its schedule 1}}
  tenon.tiled_linear %x, %w, %w : memref<4x64xf16>, memref<8x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>, %gate: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @types(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %v: memref<16x64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{multiplies x by weights of one type, but they are 'memref<8x64xf16>' and 'memref<16x64xf16>'}}
  tenon.tiled_linear %x, %w, %v : memref<4x64xf16>, memref<8x64xf16>, memref<16x64xf16>
      epilogue(%acc: tensor<4x8xf16>, %gate: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 2> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @second_product(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{the product argument must be [M, N] of x's element type or f32: expected 'tensor<4x8xf16>', but it is 'tensor<4x1xf16>'}}
  tenon.tiled_linear %x, %w, %w : memref<4x64xf16>, memref<8x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>, %gate: tensor<4x1xf16>) outs(%o: memref<4x8xf16>)
      schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 2> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @factors(%x: memref<8x64xf16>, %w: memref<32x64xf16>, %fx: memref<8x1xf32>, %fw: memref<32x1xf32>, %o: memref<8x32xf32>) {
  // expected-error @below {{method fp16x3 needs the factors of x's and of each w's rows, but has 2 factors}}
  tenon.tiled_linear %x, %w, %w : memref<8x64xf16>, memref<32x64xf16>, memref<32x64xf16>
      factors(%fx, %fw : memref<8x1xf32>, memref<32x1xf32>)
      epilogue(%acc: tensor<8x32xf32>, %gate: tensor<8x32xf32>) outs(%o: memref<8x32xf32>)
      schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 2, method = fp16x3> {
    tenon.yield %acc : tensor<8x32xf32>
  }
  return
}

// -----

func.func @no_w(%x: memref<4x64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{expected w behind x}}
  tenon.tiled_linear %x, : memref<4x64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}
