// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @unknown(%x: tensor<?x4xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'nn' is not a layout; expected mk_nk, mk_kn, km_nk or km_kn}}
  %0 = tenon.linear %x, %w layout<nn> : (tensor<?x4xf32>, tensor<4x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

// linear-C2
func.func @k_of_w(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>) {
  // expected-error @below {{'tenon.linear' op x and w must agree in K, their common dimension: expected x [M, 8] for w 'tensor<8x4xf32>', but x is 'tensor<?x4xf32>'}}
  %0 = tenon.linear %x, %w layout<mk_kn> : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// linear-C2
func.func @k_of_x(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>) {
  // expected-error @below {{'tenon.fused_linear' op x and w must agree in K, their common dimension: expected x [16, M] for w 'tensor<16x8xf32>', but x is 'tensor<4x16xf32>'}}
  %0 = tenon.fused_linear %x, %w layout<km_kn> : tensor<4x16xf32>, tensor<16x8xf32> epilogue(%acc: tensor<16x8xf32>) -> tensor<16x8xf32> {
    tenon.yield %acc : tensor<16x8xf32>
  }
  return
}

// -----

// linear-C4
func.func @result(%x: tensor<16x4xf32>, %w: tensor<16x8xf32>) {
  // expected-error @below {{'tenon.linear' op the result must be [M, N]: expected 'tensor<4x8xf32>', but it is 'tensor<8x4xf32>'}}
  %0 = tenon.linear %x, %w layout<km_kn> : (tensor<16x4xf32>, tensor<16x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

// linear-C6
func.func @bias(%x: tensor<?x4xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{'tenon.linear' op bias must have one value a feature: expected [8] for w 'tensor<4x8xf32>', but bias is 'tensor<4xf32>'}}
  %0 = tenon.linear %x, %w, %b layout<mk_kn> : (tensor<?x4xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<?x8xf32>
  return
}

// -----

// linear-C8
func.func @dynamic(%x: tensor<?x4xf32>, %w: tensor<16x8xf32>) {
  // expected-error @below {{'tenon.linear' op x [K, M] must have a static shape, but is 'tensor<?x4xf32>'}}
  %0 = tenon.linear %x, %w layout<km_kn> : (tensor<?x4xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @attribute(%x: tensor<?x4xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{layout is not written among the attributes; write layout<mk_kn> after w}}
  %0 = tenon.fused_linear %x, %w : tensor<?x4xf32>, tensor<4x8xf32> epilogue(%acc: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {layout = #tenon.layout<mk_kn>} {
    tenon.yield %acc : tensor<?x8xf32>
  }
  return
}

// -----

// split-C2
func.func @split_k(%x: tensor<?x4xf32>) {
  // expected-error @below {{'tenon.split' op splits x [K, M] of f32, with K from 1 to 33554432, but x is 'tensor<?x4xf32>'}}
  %0:2 = tenon.split %x transposed : (tensor<?x4xf32>) -> (tensor<4x8xf16>, tensor<4x1xf32>)
  return
}

// -----

// split-C5
func.func @split_m(%x: memref<4x?xf32>, %h: memref<?x8xf16>, %f: memref<?x1xf32>) {
  // expected-error @below {{'tenon.split' op splits the transpose of x [K, M] of static shape, but x is 'memref<4x?xf32>'}}
  tenon.split %x transposed outs(%h, %f) : (memref<4x?xf32>, memref<?x8xf16>, memref<?x1xf32>) -> ()
  return
}

// -----

// split-C3
func.func @split_halves(%x: tensor<40x4xf32>) {
  // expected-error @below {{'tenon.split' op gives halves of f16, [M, 40] in one part or [M, 128] in two, of 'tensor<40x4xf32>', but they are 'tensor<40x8xf16>'}}
  %0:2 = tenon.split %x transposed : (tensor<40x4xf32>) -> (tensor<40x8xf16>, tensor<40x1xf32>)
  return
}

// -----

// with_split-C2
func.func @with_split(%x: tensor<40x4xf32>, %h: tensor<40x64xf16>, %f: tensor<40x1xf32>) {
  // expected-error @below {{'tenon.with_split' op needs the halves that tenon.split gives for 'tensor<40x4xf32>', f16 [M, 40] in one part or [M, 128] in two, but has 'tensor<40x64xf16>'}}
  %0 = tenon.with_split %x, %h, %f transposed : tensor<40x4xf32>, tensor<40x64xf16>, tensor<40x1xf32>
  return
}

// -----

func.func @tiled_family(%x: memref<16x4xf32>, %w: memref<16x8xf32>, %y: memref<4x8xf32>) {
  // expected-error @below {{'tenon.tiled_linear' op turns x and w of f32 in a schedule of family mma_sync, and of 16 bits by method direct, but has x 'memref<16x4xf32>' and}}
  tenon.tiled_linear %x, %w layout<km_kn> : memref<16x4xf32>, memref<16x8xf32> epilogue(%acc: tensor<4x8xf32>) outs(%y: memref<4x8xf32>)
      schedule<wgmma, tile = 128x128x32, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf32>
  }
  return
}
