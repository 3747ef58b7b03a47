// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// product_moments-C1
func.func @tensor_to_memrefs(%x: tensor<3x8xf32>, %w: tensor<4x8xf32>, %a: memref<4xf32>) {
  // expected-error @below {{takes tensors and gives tensors, or takes memrefs and writes to memrefs: operands are ('tensor<3x8xf32>', 'tensor<4x8xf32>', 'memref<4xf32>', 'memref<4xf32>', 'memref<4xf32>'), results ()}}
  tenon.product_moments %x, %w outs(%a, %a, %a) : (tensor<3x8xf32>, tensor<4x8xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

// product_moments-C1: a memref beside a tensor
func.func @mixed(%x: tensor<3x8xf32>, %w: memref<4x8xf32>) {
  // expected-error @below {{takes tensors and gives tensors}}
  %0:3 = tenon.product_moments %x, %w : (tensor<3x8xf32>, memref<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// product_moments-C1: results on memrefs
func.func @no_outs(%x: memref<3x8xf32>, %w: memref<4x8xf32>) {
  // expected-error @below {{takes tensors and gives tensors}}
  %0:3 = tenon.product_moments %x, %w : (memref<3x8xf32>, memref<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// product_moments-C2: element types that differ
func.func @types(%x: tensor<3x8xf16>, %w: tensor<4x8xbf16>) {
  // expected-error @below {{takes x [M, K] and w [N, K] of one type, f32, f16 or bf16, but they are 'tensor<3x8xf16>' and 'tensor<4x8xbf16>'}}
  %0:3 = tenon.product_moments %x, %w : (tensor<3x8xf16>, tensor<4x8xbf16>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// product_moments-C2: f64
func.func @f64(%x: tensor<3x8xf64>, %w: tensor<4x8xf64>) {
  // expected-error @below {{of one type, f32, f16 or bf16, but they are 'tensor<3x8xf64>'}}
  %0:3 = tenon.product_moments %x, %w : (tensor<3x8xf64>, tensor<4x8xf64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// product_moments-C2: another K
func.func @extents(%x: tensor<3x8xf16>, %w: tensor<4x9xf16>) {
  // expected-error @below {{takes x [M, K] and w [N, K] of one type}}
  %0:3 = tenon.product_moments %x, %w : (tensor<3x8xf16>, tensor<4x9xf16>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// product_moments-C2: a dynamic N
func.func @dynamic_n(%x: tensor<3x8xf16>, %w: tensor<?x8xf16>) {
  // expected-error @below {{takes x [M, K] and w [N, K] of one type}}
  %0:3 = tenon.product_moments %x, %w : (tensor<3x8xf16>, tensor<?x8xf16>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// product_moments-C2: a vector
func.func @rank(%x: tensor<8xf16>, %w: tensor<4x8xf16>) {
  // expected-error @below {{takes x [M, K] and w [N, K] of one type}}
  %0:3 = tenon.product_moments %x, %w : (tensor<8xf16>, tensor<4x8xf16>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// product_moments-C3
func.func @long_k(%x: tensor<3x257xf16>, %w: tensor<4x257xf16>) {
  // expected-error @below {{takes a K from 1 to 256, but K is 257}}
  %0:3 = tenon.product_moments %x, %w : (tensor<3x257xf16>, tensor<4x257xf16>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// product_moments-C4: too few
func.func @few(%x: tensor<3x8xf16>, %w: tensor<4x8xf16>) {
  // expected-error @below {{gives a mean and two variances of f32, [4], but has ('tensor<4xf32>', 'tensor<4xf32>')}}
  %0:2 = tenon.product_moments %x, %w : (tensor<3x8xf16>, tensor<4x8xf16>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// product_moments-C4: another extent
func.func @results(%x: tensor<3x8xf16>, %w: tensor<4x8xf16>) {
  // expected-error @below {{gives a mean and two variances of f32, [4]}}
  %0:3 = tenon.product_moments %x, %w : (tensor<3x8xf16>, tensor<4x8xf16>) -> (tensor<4xf32>, tensor<4xf32>, tensor<3xf32>)
  return
}

// -----

// product_moments-C4: another type
func.func @outputs(%x: memref<3x8xf16>, %w: memref<4x8xf16>, %a: memref<4xf16>) {
  // expected-error @below {{gives a mean and two variances of f32, [4], but has ('memref<4xf16>', 'memref<4xf16>', 'memref<4xf16>')}}
  tenon.product_moments %x, %w outs(%a, %a, %a) : (memref<3x8xf16>, memref<4x8xf16>, memref<4xf16>, memref<4xf16>, memref<4xf16>) -> ()
  return
}
