// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @n_not_positive() {
  // expected-error @below {{n must be positive, but is 0}}
  %0 = blaslt.plan n = 0, k = 64, compute = f32 : f32 -> f32
  return
}

// -----

func.func @k_negative() {
  // expected-error @below {{k must not be negative, but is -1}}
  %0 = blaslt.plan n = 8, k = -1, compute = f32 : f32 -> f32
  return
}

// -----

func.func @compute_of_another_type() {
  // expected-error @below {{compute = tf32 does not take inputs of 'bf16'; f64 takes f64, f32 takes f32, f16 and bf16, and the others take f32}}
  %0 = blaslt.plan n = 8, k = 8, compute = tf32 : bf16 -> bf16
  return
}

// -----

func.func @output_type() {
  // expected-error @below {{gives the input type, but the output type is 'bf16' for inputs of 'f32'}}
  %0 = blaslt.plan n = 8, k = 8, compute = f32 : f32 -> bf16
  return
}

// -----

func.func @output_type_of_16_bits() {
  // expected-error @below {{gives the input type or f32, but the output type is 'f16' for inputs of 'bf16'}}
  %0 = blaslt.plan n = 8, k = 8, compute = f32 : bf16 -> f16
  return
}

// -----

func.func @scales_of_other_inputs() {
  // expected-error @below {{has scales of rows, which inputs of 8 bits alone have, not 'bf16'}}
  %0 = blaslt.plan n = 16, k = 16, compute = f32 scales = rows : bf16 -> bf16
  return
}

// -----

func.func @output_type_of_8_bits() {
  // expected-error @below {{gives f32, f16 or bf16 for inputs of 8 bits, not 'f8E4M3FN'}}
  %0 = blaslt.plan n = 16, k = 16, compute = f32 : f8E4M3FN -> f8E4M3FN
  return
}

// -----

func.func @e5m2() {
  // expected-error @below {{multiplies f8E4M3FN, but the inputs are 'f8E5M2'}}
  %0 = blaslt.plan n = 16, k = 16, compute = f32 : f8E5M2 -> f32
  return
}

// -----

func.func @rows_to_f16() {
  // expected-error @below {{with scales of rows gives bf16, not 'f16'}}
  %0 = blaslt.plan n = 16, k = 16, compute = f32 scales = rows : f8E4M3FN -> f16
  return
}

// -----

func.func @few_columns_of_8_bits() {
  // expected-error @below {{multiplies 8 bits along K, with n and k multiples of 16; cast x and w to f16}}
  %0 = blaslt.plan n = 8, k = 16, compute = f32 : f8E4M3FN -> f32
  return
}

// -----

func.func @alpha_not_finite() {
  // expected-error @below {{alpha must be finite, but is INF}}
  %0 = blaslt.plan n = 8, k = 8, compute = f32 alpha = 0x7FF0000000000000 : f32 -> f32
  return
}

// -----

func.func @plan_from_elsewhere(%plan: !blaslt.plan, %x: memref<4x8xf32>, %w: memref<8x8xf32>, %ws: memref<33554432xi8>, %y: memref<4x8xf32>) {
  // expected-error @below {{plan must be the result of a blaslt.plan}}
  blaslt.run %plan ins(%x, %w : memref<4x8xf32>, memref<8x8xf32>) workspace(%ws : memref<33554432xi8>) outs(%y : memref<4x8xf32>)
  return
}

// -----

func.func @mixed(%x: tensor<4x8xf32>, %w: memref<8x8xf32>, %ws: memref<33554432xi8>, %y: memref<4x8xf32>) {
  %plan = blaslt.plan n = 8, k = 8, compute = f32 : f32 -> f32
  // expected-error @below {{takes tensors or memrefs, not both: operands are ('tensor<4x8xf32>', 'memref<8x8xf32>', 'memref<33554432xi8>', 'memref<4x8xf32>')}}
  blaslt.run %plan ins(%x, %w : tensor<4x8xf32>, memref<8x8xf32>) workspace(%ws : memref<33554432xi8>) outs(%y : memref<4x8xf32>)
  return
}

// -----

func.func @no_result(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %ws: tensor<33554432xi8>, %y: tensor<4x8xf32>) {
  %plan = blaslt.plan n = 8, k = 8, compute = f32 : f32 -> f32
  // expected-error @below {{on tensors gives one result of y's type}}
  blaslt.run %plan ins(%x, %w : tensor<4x8xf32>, tensor<8x8xf32>) workspace(%ws : tensor<33554432xi8>) outs(%y : tensor<4x8xf32>)
  return
}

// -----

func.func @shape(%x: memref<4x8xf32>, %w: memref<8x16xf32>, %ws: memref<33554432xi8>, %y: memref<4x8xf32>) {
  %plan = blaslt.plan n = 8, k = 8, compute = f32 : f32 -> f32
  // expected-error @below {{w must be as planned: expected 'memref<8x8xf32>', but it is 'memref<8x16xf32>'}}
  blaslt.run %plan ins(%x, %w : memref<4x8xf32>, memref<8x16xf32>) workspace(%ws : memref<33554432xi8>) outs(%y : memref<4x8xf32>)
  return
}

// -----

func.func @missing_bias(%x: memref<4x8xf32>, %w: memref<8x8xf32>, %ws: memref<33554432xi8>, %y: memref<4x8xf32>) {
  %plan = blaslt.plan n = 8, k = 8, compute = f32 bias : f32 -> f32
  // expected-error @below {{the plan has a bias, but none is given}}
  blaslt.run %plan ins(%x, %w : memref<4x8xf32>, memref<8x8xf32>) workspace(%ws : memref<33554432xi8>) outs(%y : memref<4x8xf32>)
  return
}

// -----

func.func @surplus_residual(%x: memref<4x8xf32>, %w: memref<8x8xf32>, %ws: memref<33554432xi8>, %y: memref<4x8xf32>) {
  %plan = blaslt.plan n = 8, k = 8, compute = f32 : f32 -> f32
  // expected-error @below {{has a residual, but its plan has none; add 'residual' to the blaslt.plan}}
  blaslt.run %plan ins(%x, %w : memref<4x8xf32>, memref<8x8xf32>) residual(%y : memref<4x8xf32>) workspace(%ws : memref<33554432xi8>) outs(%y : memref<4x8xf32>)
  return
}

// -----

func.func @workspace(%x: memref<4x8xf32>, %w: memref<8x8xf32>, %ws: memref<1024xi8>, %y: memref<4x8xf32>) {
  %plan = blaslt.plan n = 8, k = 8, compute = f32 : f32 -> f32
  // expected-error @below {{workspace must be 33554432 bytes of i8, but is 'memref<1024xi8>'}}
  blaslt.run %plan ins(%x, %w : memref<4x8xf32>, memref<8x8xf32>) workspace(%ws : memref<1024xi8>) outs(%y : memref<4x8xf32>)
  return
}

// -----

func.func @no_scales(%x: memref<4x16xf8E4M3FN>, %w: memref<16x16xf8E4M3FN>, %ws: memref<33554432xi8>, %y: memref<4x16xbf16>) {
  %plan = blaslt.plan n = 16, k = 16, compute = f32 scales = tensor : f8E4M3FN -> bf16
  // expected-error @below {{the plan has scales, but none is given}}
  blaslt.run %plan ins(%x, %w : memref<4x16xf8E4M3FN>, memref<16x16xf8E4M3FN>) workspace(%ws : memref<33554432xi8>) outs(%y : memref<4x16xbf16>)
  return
}

// -----

func.func @scales_of_rows(%x: memref<4x16xf8E4M3FN>, %w: memref<16x16xf8E4M3FN>, %s: memref<f32>, %ws: memref<33554432xi8>, %y: memref<4x16xbf16>) {
  %plan = blaslt.plan n = 16, k = 16, compute = f32 scales = rows : f8E4M3FN -> bf16
  // expected-error @below {{x's scales must be as planned: expected 'memref<4x1xf32>', but it is 'memref<f32>'}}
  blaslt.run %plan ins(%x, %w : memref<4x16xf8E4M3FN>, memref<16x16xf8E4M3FN>) scales(%s, %s : memref<f32>, memref<f32>) workspace(%ws : memref<33554432xi8>) outs(%y : memref<4x16xbf16>)
  return
}
