// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// scale_blocks-C1
func.func @outs(%x: tensor<4x8xf8E5M2>, %s: tensor<4x1xf32>, %y: tensor<4x8xf32>) {
  // expected-error@+1 {{takes tensors and gives a tensor, or takes memrefs and writes to a memref}}
  tenon.scale_blocks %x, %s outs(%y) {rows = 1, columns = 128} : (tensor<4x8xf8E5M2>, tensor<4x1xf32>, tensor<4x8xf32>) -> ()
  return
}

// -----

// scale_blocks-C2
func.func @wide(%x: tensor<4x8xf32>, %s: tensor<4x1xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{scales x [R, C] of 8 bits, with C known, but x is 'tensor<4x8xf32>'}}
  %0 = tenon.scale_blocks %x, %s {rows = 1, columns = 128} : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// scale_blocks-C3
func.func @dynamic(%x: tensor<?x8xf8E5M2>, %s: tensor<?x1xf32>) -> tensor<?x8xf32> {
  // expected-error@+1 {{takes blocks of 128 rows of an x of static shape, but x is 'tensor<?x8xf8E5M2>'}}
  %0 = tenon.scale_blocks %x, %s {rows = 128, columns = 128} : (tensor<?x8xf8E5M2>, tensor<?x1xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// scale_blocks-C4
func.func @scales(%x: tensor<300x200xf8E5M2>, %s: tensor<2x2xf32>) -> tensor<300x200xf32> {
  // expected-error@+1 {{has a scale for each block of 128 by 128: expected 'tensor<3x2xf32>' for x 'tensor<300x200xf8E5M2>', but they are 'tensor<2x2xf32>'}}
  %0 = tenon.scale_blocks %x, %s {rows = 128, columns = 128} : (tensor<300x200xf8E5M2>, tensor<2x2xf32>) -> tensor<300x200xf32>
  return %0 : tensor<300x200xf32>
}

// -----

// scale_blocks-C4
func.func @vector_of_dynamic(%x: tensor<?x8xf8E5M2>, %s: tensor<4xf32>) -> tensor<?x8xf32> {
  // expected-error@+1 {{has a scale for each block of 1 by 128: expected 'tensor<?x1xf32>' for x 'tensor<?x8xf8E5M2>', but they are 'tensor<4xf32>'}}
  %0 = tenon.scale_blocks %x, %s {rows = 1, columns = 128} : (tensor<?x8xf8E5M2>, tensor<4xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// scale_blocks-C4
func.func @vector(%x: tensor<4x200xf8E5M2>, %s: tensor<4xf32>) -> tensor<4x200xf32> {
  // expected-error@+1 {{expected 'tensor<4x2xf32>' for x 'tensor<4x200xf8E5M2>', but they are 'tensor<4xf32>'}}
  %0 = tenon.scale_blocks %x, %s {rows = 1, columns = 128} : (tensor<4x200xf8E5M2>, tensor<4xf32>) -> tensor<4x200xf32>
  return %0 : tensor<4x200xf32>
}

// -----

// scale_blocks-C5
func.func @result(%x: tensor<4x8xf8E5M2>, %s: tensor<4x1xf32>) -> tensor<4x8xf16> {
  // expected-error@+1 {{gives 'tensor<4x8xf32>' of x 'tensor<4x8xf8E5M2>', but has 'tensor<4x8xf16>'}}
  %0 = tenon.scale_blocks %x, %s {rows = 1, columns = 128} : (tensor<4x8xf8E5M2>, tensor<4x1xf32>) -> tensor<4x8xf16>
  return %0 : tensor<4x8xf16>
}

// -----

func.func @tiled(%x: memref<?x256xf8E4M3FN>, %w: memref<48x256xf8E4M3FN>, %s: memref<?x2xf32>, %t: memref<48x2xf32>, %y: memref<?x48xf32>) {
  // expected-error@+1 {{method fp8 takes a scale of each 1x128 of x and of each 128x128 of one w, 'tensor<?x2xf32>' and 'tensor<1x2xf32>', but has ('memref<?x2xf32>', 'memref<48x2xf32>')}}
  tenon.tiled_linear %x, %w : memref<?x256xf8E4M3FN>, memref<48x256xf8E4M3FN> factors(%s, %t : memref<?x2xf32>, memref<48x2xf32>)
      epilogue(%acc: tensor<?x48xf32>) outs(%y: memref<?x48xf32>)
      schedule<wgmma, tile = 64x16x128, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, method = fp8> {
    tenon.yield %acc : tensor<?x48xf32>
  }
  return
}
