// A tiled layer that adds up products: round trip, and what the verifier refuses.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics | tenon-opt --split-input-file | FileCheck %s

// CHECK-LABEL: @sum
// CHECK: tenon.tiled_linear %{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<32x64xbf16> plus(%{{.*}}, %{{.*}} : tensor<?x16xbf16>, tensor<32x16xbf16>) epilogue(%[[A:.*]]: tensor<?x32xbf16>)
// CHECK-SAME: schedule<wgmma, {{.*}}, terms = 2> -> tensor<?x32xbf16>
func.func @sum(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %x1: tensor<?x16xbf16>, %w1: tensor<32x16xbf16>, %o: tensor<?x32xbf16>)
    -> tensor<?x32xbf16> {
  %0 = tenon.tiled_linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16> plus(%x1, %w1 : tensor<?x16xbf16>, tensor<32x16xbf16>)
      epilogue(%acc: tensor<?x32xbf16>) outs(%o: tensor<?x32xbf16>)
      schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, terms = 2> -> tensor<?x32xbf16> {
    tenon.yield %acc : tensor<?x32xbf16>
  }
  return %0 : tensor<?x32xbf16>
}

// CHECK-LABEL: @turned
// CHECK: layout<mk_kn> : memref<8x64xf16>, memref<64x32xf16> plus(%{{.*}}, %{{.*}} : memref<8x16xf16>, memref<16x32xf16>)
func.func @turned(%x: memref<8x64xf16>, %w: memref<64x32xf16>, %x1: memref<8x16xf16>, %w1: memref<16x32xf16>, %o: memref<8x32xf16>) {
  tenon.tiled_linear %x, %w layout<mk_kn> : memref<8x64xf16>, memref<64x32xf16> plus(%x1, %w1 : memref<8x16xf16>, memref<16x32xf16>)
      epilogue(%acc: tensor<8x32xf32>) outs(%o: memref<8x32xf16>)
      schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, terms = 2> {
    %0 = tenon.cast %acc : tensor<8x32xf32> -> tensor<8x32xf16>
    tenon.yield %0 : tensor<8x32xf16>
  }
  return
}

// -----

func.func @count(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{has 2 matrices of further terms, but its schedule 1 terms}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16> plus(%x, %w : memref<4x64xf16>, memref<8x64xf16>)
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @half_a_term(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{has 1 matrices of further terms, but its schedule 2 terms}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16> plus(%x : memref<4x64xf16>)
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, terms = 2> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @rows(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %x1: memref<5x64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{adds up products of the same rows and columns, but of x 'memref<5x64xf16>' and w 'memref<8x64xf16>' it is not that of 'memref<4x64xf16>' and 'memref<8x64xf16>'}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16> plus(%x1, %w : memref<5x64xf16>, memref<8x64xf16>)
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, terms = 2> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @element(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %x1: memref<4x64xbf16>, %w1: memref<8x64xbf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{adds up products of the same rows and columns}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16> plus(%x1, %w1 : memref<4x64xbf16>, memref<8x64xbf16>)
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, terms = 2> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}
