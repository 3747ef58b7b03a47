// Every message of the verifiers and parsers, by the constraint's number in
// docs/Spec.md. attributes-C* are in attributes.mlir.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// types-C1: rank
func.func @types_rank(%x: tensor<2x4x8xf32>) {
  // expected-error @below {{'tenon.relu' op operand #0 must be tensor of rank 0 to 2 of f32, f16, bf16, f64, f8E4M3FN or f8E5M2 (no extent 0, only M dynamic, no encoding), but got 'tensor<2x4x8xf32>'}}
  %0 = tenon.relu %x : tensor<2x4x8xf32>
  return
}

// -----

// types-C1: element type
func.func @types_element_type(%x: tensor<4x8xi32>) {
  // expected-error @below {{'tenon.relu' op operand #0 must be tensor of rank 0 to 2 of f32, f16, bf16, f64, f8E4M3FN or f8E5M2 (no extent 0, only M dynamic, no encoding), but got 'tensor<4x8xi32>'}}
  %0 = tenon.relu %x : tensor<4x8xi32>
  return
}

// -----

// types-C1: no rank
func.func @types_unranked(%x: tensor<*xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'tenon.linear' op operand #0 must be matrix of f32, f16, bf16, f64, f8E4M3FN or f8E5M2 (no extent 0, only M dynamic, no encoding), but got 'tensor<*xf32>'}}
  %0 = tenon.linear %x, %w : (tensor<*xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

// types-C1: no rank, where the result's type is to be inferred
func.func @types_unranked_binary(%x: tensor<4x8xf32>, %y: tensor<*xf32>) {
  // expected-error @below {{'tenon.add' op operand #1 must be a ranked tensor, but is 'tensor<*xf32>'}}
  %0 = tenon.add %x, %y : tensor<4x8xf32>, tensor<*xf32>
  return
}

// -----

// types-C1: not a tensor
func.func @types_memref(%x: memref<4x8xf32>) {
  // expected-error @below {{'tenon.mul' op operand #0 must be a ranked tensor, but is 'memref<4x8xf32>'}}
  %0 = tenon.mul %x, 2.0 : memref<4x8xf32>
  return
}

// -----

// types-C1: a weight is a matrix
func.func @types_weight(%x: tensor<?x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{'tenon.linear' op operand #1 must be statically shaped matrix [N, K] of f32, f16, bf16, f64, f8E4M3FN or f8E5M2 (no extent 0, no encoding), but got 'tensor<8xf32>'}}
  %0 = tenon.linear %x, %w : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x4xf32>
  return
}

// -----

// types-C1: a value for each feature is a vector
func.func @types_features(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %b: tensor<1x4xf32>) {
  // expected-error @below {{'tenon.linear' op operand #2 must be vector [N] of f32, f16, bf16, f64, f8E4M3FN or f8E5M2 (no extent 0, only M dynamic, no encoding), but got 'tensor<1x4xf32>'}}
  %0 = tenon.linear %x, %w, %b : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<1x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// types-C2
func.func @types_extent_0(%x: tensor<0x8xf32>) {
  // expected-error @below {{'tenon.relu' op operand #0 must be tensor of rank 0 to 2 of f32, f16, bf16, f64, f8E4M3FN or f8E5M2 (no extent 0, only M dynamic, no encoding), but got 'tensor<0x8xf32>'}}
  %0 = tenon.relu %x : tensor<0x8xf32>
  return
}

// -----

// types-C3: K
func.func @types_dynamic_k(%x: tensor<4x?xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'tenon.linear' op operand #0 must be matrix of f32, f16, bf16, f64, f8E4M3FN or f8E5M2 (no extent 0, only M dynamic, no encoding), but got 'tensor<4x?xf32>'}}
  %0 = tenon.linear %x, %w : (tensor<4x?xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  return
}

// -----

// types-C3: N of a vector
func.func @types_dynamic_vector(%x: tensor<?xf32>) {
  // expected-error @below {{'tenon.relu' op operand #0 must be tensor of rank 0 to 2 of f32, f16, bf16, f64, f8E4M3FN or f8E5M2 (no extent 0, only M dynamic, no encoding), but got 'tensor<?xf32>'}}
  %0 = tenon.relu %x : tensor<?xf32>
  return
}

// -----

// types-C3: a weight
func.func @types_dynamic_weight(%x: tensor<?x8xf32>, %w: tensor<?x8xf32>) {
  // expected-error @below {{'tenon.linear' op operand #1 must be statically shaped matrix [N, K] of f32, f16, bf16, f64, f8E4M3FN or f8E5M2 (no extent 0, no encoding), but got 'tensor<?x8xf32>'}}
  %0 = tenon.linear %x, %w : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

// types-C4
func.func @types_encoding(%x: tensor<4x8xf32, "row">) {
  // expected-error @below {{'tenon.add' op operand #0 must be tensor of rank 0 to 2 of f32, f16, bf16, f64, f8E4M3FN or f8E5M2 (no extent 0, only M dynamic, no encoding), but got 'tensor<4x8xf32, "row">'}}
  %0 = tenon.add %x, 1.0 : tensor<4x8xf32, "row">
  return
}

// -----

// types-C5
func.func @types_overflow(%x: tensor<4294967296x4294967296xf32>) {
  // expected-error @below {{'tenon.relu' op operand #0 must be tensor of rank 0 to 2 of f32, f16, bf16, f64, f8E4M3FN or f8E5M2 (no extent 0, only M dynamic, no encoding), but got 'tensor<4294967296x4294967296xf32>'}}
  %0 = tenon.relu %x : tensor<4294967296x4294967296xf32>
  return
}

// -----

// linear-C1
func.func @linear_element_types(%x: tensor<?x8xf32>, %w: tensor<4x8xbf16>) {
  // expected-error @below {{'tenon.linear' op x and w must have one element type, but x is 'tensor<?x8xf32>' and w is 'tensor<4x8xbf16>'}}
  %0 = tenon.linear %x, %w : (tensor<?x8xf32>, tensor<4x8xbf16>) -> tensor<?x4xf32>
  return
}

// -----

// linear-C2: [K, N] in place of [N, K]
func.func @linear_k(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @below {{'tenon.linear' op x and w must agree in K, their last dimension: expected x [M, 4] for w 'tensor<8x4xf32>', but x is 'tensor<?x8xf32>'}}
  %0 = tenon.linear %x, %w : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// linear-C3
func.func @linear_precision(%x: tensor<?x8xbf16>, %w: tensor<4x8xbf16>) {
  // expected-error @below {{'tenon.linear' op precision is a contract on products of f32 tensors, but x is 'tensor<?x8xbf16>'; leave it out}}
  %0 = tenon.linear %x, %w precision<bf16> : (tensor<?x8xbf16>, tensor<4x8xbf16>) -> tensor<?x4xbf16>
  return
}

// -----

// linear-C4: N
func.func @linear_result_n(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'tenon.linear' op the result must be [M, N]: expected 'tensor<?x4xf32>', but it is 'tensor<?x8xf32>'}}
  %0 = tenon.linear %x, %w : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

// linear-C4: a static M for a dynamic one
func.func @linear_result_m(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'tenon.linear' op the result must be [M, N]: expected 'tensor<?x4xf32>', but it is 'tensor<16x4xf32>'}}
  %0 = tenon.linear %x, %w : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<16x4xf32>
  return
}

// -----

// linear-C5: f32
func.func @linear_result_f16(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'tenon.linear' op the result must have x's element type: expected 'tensor<?x4xf32>', but it is 'tensor<?x4xf16>'}}
  %0 = tenon.linear %x, %w : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf16>
  return
}

// -----

// linear-C5: 16 bits
func.func @linear_result_bf16(%x: tensor<?x8xf16>, %w: tensor<4x8xf16>) {
  // expected-error @below {{'tenon.linear' op the result must have x's element type or f32: expected 'tensor<?x4xf16>', but it is 'tensor<?x4xbf16>'}}
  %0 = tenon.linear %x, %w : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xbf16>
  return
}

// -----

// linear-C6
func.func @linear_bias(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{'tenon.linear' op bias must have one value a feature: expected [4] for w 'tensor<4x8xf32>', but bias is 'tensor<8xf32>'}}
  %0 = tenon.linear %x, %w, %b : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<?x4xf32>
  return
}

// -----

// linear-C7
func.func @linear_bias_f64(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf64>) {
  // expected-error @below {{'tenon.linear' op bias and w must both be f64 or neither, but bias is 'tensor<4xf64>' and w is 'tensor<4x8xf32>'}}
  %0 = tenon.linear %x, %w, %b : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<4xf64>) -> tensor<?x4xf32>
  return
}

// -----

// Parser: precision
func.func @linear_precision_keyword(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'fp8' is not a precision; expected fp32, tf32, bf16 or fp16}}
  %0 = tenon.linear %x, %w precision<fp8> : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

// Parser: operands and types
func.func @linear_operand_count(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{number of operands and types do not match: got 2 operands and 1 types}}
  %0 = tenon.linear %x, %w : (tensor<?x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

// Generic form: too few operands
func.func @linear_no_operands() {
  // expected-error @below {{'tenon.linear' op expected 2 or more operands, but found 0}}
  %0 = "tenon.linear"() : () -> tensor<?x4xf32>
  return
}

// -----

// binary-C1: both
func.func @binary_both(%x: tensor<?x4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{'tenon.add' op takes either a second tensor or a constant, but has both}}
  %0 = tenon.add %x, %b {scalar = 1.0} : tensor<?x4xf32>, tensor<4xf32>
  return
}

// -----

// binary-C1: neither
func.func @binary_neither(%x: tensor<?x4xf32>) {
  // expected-error @below {{'tenon.add' op takes either a second tensor or a constant, but has neither}}
  %0 = "tenon.add"(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// binary-C2
func.func @binary_scalar_first(%x: tensor<?x4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{'tenon.sub' op has 'scalar_first' but no constant}}
  %0 = tenon.sub %x, %b {scalar_first} : tensor<?x4xf32>, tensor<4xf32>
  return
}

// -----

// binary-C3
func.func @binary_broadcast(%x: tensor<?x4xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{'tenon.add' op input and other do not broadcast: 'tensor<?x4xf32>' and 'tensor<8xf32>'; extents must be equal or 1, from the last dimension on}}
  %0 = tenon.add %x, %b : tensor<?x4xf32>, tensor<8xf32>
  return
}

// -----

// binary-C3: a dynamic extent does not match a static one
func.func @binary_broadcast_dynamic(%x: tensor<?x4xf32>, %y: tensor<16x4xf32>) {
  // expected-error @below {{'tenon.add' op input and other do not broadcast: 'tensor<?x4xf32>' and 'tensor<16x4xf32>'; extents must be equal or 1, from the last dimension on}}
  %0 = tenon.add %x, %y : tensor<?x4xf32>, tensor<16x4xf32>
  return
}

// -----

// binary-C3: one value a row is [M, 1], not [M]
func.func @binary_broadcast_rows(%x: tensor<16x4xf32>, %y: tensor<16xf32>) {
  // expected-error @below {{'tenon.div' op input and other do not broadcast: 'tensor<16x4xf32>' and 'tensor<16xf32>'; extents must be equal or 1, from the last dimension on}}
  %0 = tenon.div %x, %y : tensor<16x4xf32>, tensor<16xf32>
  return
}

// -----

// binary-C4
func.func @binary_f64(%x: tensor<?x4xf32>, %b: tensor<4xf64>) {
  // expected-error @below {{'tenon.mul' op input and other must both be f64 or neither, but are 'tensor<?x4xf32>' and 'tensor<4xf64>'}}
  %0 = tenon.mul %x, %b : tensor<?x4xf32>, tensor<4xf64>
  return
}

// -----

// binary-C5
func.func @binary_scalar_type(%x: tensor<?x4xf32>) {
  // expected-error @below {{'tenon.mul' op attribute 'scalar' failed to satisfy constraint: 64-bit float attribute}}
  %0 = "tenon.mul"(%x) <{scalar = 2.0 : f32}> : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// binary-R2, generic form
func.func @binary_result(%x: tensor<?x4xf32>) {
  // expected-error @+2 {{'tenon.add' op inferred type(s) 'tensor<?x4xf32>' are incompatible with return type(s) of operation 'tensor<?x4xbf16>'}}
  // expected-error @+1 {{'tenon.add' op failed to infer returned types}}
  %0 = "tenon.add"(%x, %x) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xbf16>
  return
}

// -----

// Parser: an integer is no constant
func.func @binary_integer(%x: tensor<?x4xf32>) {
  // expected-error @+2 {{unexpected decimal integer literal for a floating point value}}
  // expected-note @+1 {{add a trailing dot to make the literal a float}}
  %0 = tenon.mul %x, 2 : tensor<?x4xf32>
  return
}

// -----

// Parser: two constants
func.func @binary_constants(%x: tensor<?x4xf32>) {
  // expected-error @below {{expected SSA operand}}
  %0 = tenon.mul 1.0, 2.0 : tensor<?x4xf32>
  return
}

// -----

// Parser: one side only
func.func @binary_one_side(%x: tensor<?x4xf32>) {
  // expected-error @below {{expected ','}}
  %0 = tenon.mul %x : tensor<?x4xf32>
  return
}

// -----

// Parser: the constant twice
func.func @binary_two_scalars(%x: tensor<?x4xf32>) {
  // expected-error @below {{attribute 'scalar' occurs more than once in the attribute list}}
  %0 = tenon.mul %x, 2.0 {scalar = 3.0} : tensor<?x4xf32>
  return
}

// -----

// Parser: types
func.func @binary_types(%x: tensor<?x4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{number of operands and types do not match: got 2 operands and 1 types}}
  %0 = tenon.mul %x, %b : tensor<?x4xf32>
  return
}

// -----

// unary-C1
func.func @unary_result(%x: tensor<?x4xf32>) {
  // expected-error @below {{'tenon.relu' op requires the same type for all operands and results}}
  %0 = "tenon.relu"(%x) : (tensor<?x4xf32>) -> tensor<?x8xf32>
  return
}

// -----

// leaky_relu-C1: inf
func.func @leaky_relu_inf(%x: tensor<?x4xf32>) {
  // expected-error @below {{'tenon.leaky_relu' op negative_slope must be finite, but is 0x7FF0000000000000 : f64}}
  %0 = tenon.leaky_relu %x {negative_slope = 0x7FF0000000000000 : f64} : tensor<?x4xf32>
  return
}

// -----

// leaky_relu-C1: NaN
func.func @leaky_relu_nan(%x: tensor<?x4xf32>) {
  // expected-error @below {{'tenon.leaky_relu' op negative_slope must be finite, but is 0x7FF8000000000000 : f64}}
  %0 = tenon.leaky_relu %x {negative_slope = 0x7FF8000000000000 : f64} : tensor<?x4xf32>
  return
}

// -----

// Parser: gelu
func.func @gelu_keyword(%x: tensor<?x4xf32>) {
  // expected-error @below {{'erf' is not an approximation of gelu; expected none, tanh or tf32}}
  %0 = tenon.gelu %x approximate<erf> : tensor<?x4xf32>
  return
}

// -----

// clamp-C1: min
func.func @clamp_min(%x: tensor<?x4xf32>) {
  // expected-error @below {{'tenon.clamp' op min must not be NaN}}
  %0 = tenon.clamp %x {min = 0x7FF8000000000000 : f64} : tensor<?x4xf32>
  return
}

// -----

// clamp-C1: max
func.func @clamp_max(%x: tensor<?x4xf32>) {
  // expected-error @below {{'tenon.clamp' op max must not be NaN}}
  %0 = tenon.clamp %x {max = 0x7FF8000000000000 : f64} : tensor<?x4xf32>
  return
}

// -----

// round_tf32-C1
func.func @round_tf32_bf16(%x: tensor<4xbf16>) {
  // expected-error @below {{'tenon.round_tf32' op rounds f32, but is given 'tensor<4xbf16>'; remove it: 16 bits are exact in tf32, and f64 is never rounded}}
  %0 = tenon.round_tf32 %x : tensor<4xbf16>
  return
}

// -----

// cast-C1: from f64
func.func @cast_from_f64(%x: tensor<?x4xf64>) {
  // expected-error @below {{'tenon.cast' op converts between types of 32 bits or fewer, but is from 'tensor<?x4xf64>' to 'tensor<?x4xf32>'; a model's f64 tensors stay f64, so convert outside of it}}
  %0 = tenon.cast %x : tensor<?x4xf64> -> tensor<?x4xf32>
  return
}

// -----

// cast-C1: to f64
func.func @cast_to_f64(%x: tensor<4xbf16>) {
  // expected-error @below {{'tenon.cast' op converts between types of 32 bits or fewer, but is from 'tensor<4xbf16>' to 'tensor<4xf64>'; a model's f64 tensors stay f64, so convert outside of it}}
  %0 = tenon.cast %x : tensor<4xbf16> -> tensor<4xf64>
  return
}

// -----

// cast-C2: a dynamic extent is not a static one
func.func @cast_shape(%x: tensor<?x4xf32>) {
  // expected-error @below {{'tenon.cast' op keeps the shape, but is from 'tensor<?x4xf32>' to 'tensor<8x4xf16>'}}
  %0 = tenon.cast %x : tensor<?x4xf32> -> tensor<8x4xf16>
  return
}

// -----

// cast-C2: rank
func.func @cast_rank(%x: tensor<4xf32>) {
  // expected-error @below {{'tenon.cast' op keeps the shape, but is from 'tensor<4xf32>' to 'tensor<1x4xf16>'}}
  %0 = tenon.cast %x : tensor<4xf32> -> tensor<1x4xf16>
  return
}

// -----

// batch_norm-C1: mean
func.func @batch_norm_mean(%x: tensor<?x8xf32>, %n: tensor<8xf32>, %m: tensor<4xf32>) {
  // expected-error @below {{'tenon.batch_norm_inference' op mean must have one value a feature: expected extent 8 for input 'tensor<?x8xf32>', but mean is 'tensor<4xf32>'}}
  %0 = tenon.batch_norm_inference %x stats(%m, %n) : tensor<?x8xf32>, tensor<4xf32>, tensor<8xf32>
  return
}

// -----

// batch_norm-C1: variance
func.func @batch_norm_variance(%x: tensor<?x8xf32>, %n: tensor<8xf32>, %m: tensor<4xf32>) {
  // expected-error @below {{'tenon.batch_norm_inference' op variance must have one value a feature: expected extent 8 for input 'tensor<?x8xf32>', but variance is 'tensor<4xf32>'}}
  %0 = tenon.batch_norm_inference %x stats(%n, %m) : tensor<?x8xf32>, tensor<8xf32>, tensor<4xf32>
  return
}

// -----

// batch_norm-C1: weight
func.func @batch_norm_weight(%x: tensor<?x8xf32>, %m: tensor<4xf32>) {
  // expected-error @below {{'tenon.batch_norm_training' op weight must have one value a feature: expected extent 8 for input 'tensor<?x8xf32>', but weight is 'tensor<4xf32>'}}
  %0 = tenon.batch_norm_training %x weight(%m) : (tensor<?x8xf32>, tensor<4xf32>) -> tensor<?x8xf32>
  return
}

// -----

// batch_norm-C1: bias
func.func @batch_norm_bias(%x: tensor<?x8xf32>, %m: tensor<4xf32>) {
  // expected-error @below {{'tenon.batch_norm_training' op bias must have one value a feature: expected extent 8 for input 'tensor<?x8xf32>', but bias is 'tensor<4xf32>'}}
  %0 = tenon.batch_norm_training %x bias(%m) : (tensor<?x8xf32>, tensor<4xf32>) -> tensor<?x8xf32>
  return
}

// -----

// batch_norm-C1: running statistics
func.func @batch_norm_running(%x: tensor<?x8xf32>, %n: tensor<8xf32>, %m: tensor<4xf32>) {
  // expected-error @below {{'tenon.batch_norm_training' op running_var must have one value a feature: expected extent 8 for input 'tensor<?x8xf32>', but running_var is 'tensor<4xf32>'}}
  %0:3 = tenon.batch_norm_training %x running(%n, %m) : (tensor<?x8xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<?x8xf32>, tensor<8xf32>, tensor<4xf32>)
  return
}

// -----

// batch_norm-C2
func.func @batch_norm_f64(%x: tensor<?x8xf64>, %n: tensor<8xf32>) {
  // expected-error @below {{'tenon.batch_norm_inference' op mean and input must both be f64 or neither, but mean is 'tensor<8xf32>' and input is 'tensor<?x8xf64>'}}
  %0 = tenon.batch_norm_inference %x stats(%n, %n) : tensor<?x8xf64>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

// batch_norm-C3: negative
func.func @batch_norm_eps(%x: tensor<?x8xf32>, %n: tensor<8xf32>) {
  // expected-error @below {{'tenon.batch_norm_inference' op eps must be finite and not negative, but is -1.000000e+00}}
  %0 = tenon.batch_norm_inference %x stats(%n, %n) {eps = -1.0} : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

// batch_norm-C3: NaN
func.func @batch_norm_eps_nan(%x: tensor<?x8xf32>) {
  // expected-error @below {{'tenon.batch_norm_training' op eps must be finite and not negative, but is nan}}
  %0 = tenon.batch_norm_training %x {eps = 0x7FF8000000000000 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

// batch_norm-C4
func.func @batch_norm_segments(%x: tensor<?x8xf32>, %n: tensor<8xf32>) {
  // expected-error @below {{'tenon.batch_norm_inference' op 'operandSegmentSizes' must be 1 for each operand that is not optional}}
  %0 = "tenon.batch_norm_inference"(%x, %n, %n) <{operandSegmentSizes = array<i32: 1, 2, 0, 0, 0>}> : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

// batch_norm-C5
func.func @batch_norm_result(%x: tensor<?x8xf32>) {
  // expected-error @below {{'tenon.batch_norm_training' op failed to verify that all of {input, result} have same type}}
  %0 = tenon.batch_norm_training %x : (tensor<?x8xf32>) -> tensor<?x8xbf16>
  return
}

// -----

// batch_norm_training-C1
func.func @batch_norm_training_one_row(%x: tensor<1x8xf32>) {
  // expected-error @below {{'tenon.batch_norm_training' op needs more than one row to normalise over, but input is 'tensor<1x8xf32>'; use batch_norm_inference for a batch of 1}}
  %0 = tenon.batch_norm_training %x : (tensor<1x8xf32>) -> tensor<1x8xf32>
  return
}

// -----

// batch_norm_training-C2
func.func @batch_norm_training_one_statistic(%x: tensor<?x8xf32>, %n: tensor<8xf32>) {
  // expected-error @below {{'tenon.batch_norm_training' op takes both running statistics or neither}}
  %0:2 = "tenon.batch_norm_training"(%x, %n) <{operandSegmentSizes = array<i32: 1, 0, 0, 0, 1, 0>}> : (tensor<?x8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>)
  return
}

// -----

// batch_norm_training-C3: missing
func.func @batch_norm_training_results(%x: tensor<?x8xf32>, %n: tensor<8xf32>) {
  // expected-error @below {{'tenon.batch_norm_training' op gives new running statistics of the given ones' types, then those that save_statistics asks for: expected ('tensor<8xf32>', 'tensor<8xf32>') after the result, but has ()}}
  %0 = tenon.batch_norm_training %x running(%n, %n) : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

// batch_norm_training-C3: of another type
func.func @batch_norm_training_result_type(%x: tensor<?x8xf32>, %n: tensor<8xf32>) {
  // expected-error @below {{'tenon.batch_norm_training' op gives new running statistics of the given ones' types, then those that save_statistics asks for: expected ('tensor<8xf32>', 'tensor<8xf32>') after the result, but has ('tensor<8xf32>', 'tensor<8xbf16>')}}
  %0:3 = tenon.batch_norm_training %x running(%n, %n) : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>, tensor<8xbf16>)
  return
}

// -----

// batch_norm_training-C3: saved ones are missing
func.func @batch_norm_training_saved(%x: tensor<?x8xbf16>, %n: tensor<8xbf16>) {
  // expected-error @below {{asks for: expected ('tensor<8xbf16>', 'tensor<8xbf16>', 'tensor<8xf32>', 'tensor<8xf32>') after the result, but has ('tensor<8xbf16>', 'tensor<8xbf16>')}}
  %0:3 = tenon.batch_norm_training %x running(%n, %n) {save_statistics} : (tensor<?x8xbf16>, tensor<8xbf16>, tensor<8xbf16>) -> (tensor<?x8xbf16>, tensor<8xbf16>, tensor<8xbf16>)
  return
}

// -----

// batch_norm_training-C3: saved ones that nothing asks for
func.func @batch_norm_training_not_saved(%x: tensor<?x8xf64>) {
  // expected-error @below {{asks for: expected () after the result, but has ('tensor<8xf64>', 'tensor<8xf64>')}}
  %0:3 = tenon.batch_norm_training %x : (tensor<?x8xf64>) -> (tensor<?x8xf64>, tensor<8xf64>, tensor<8xf64>)
  return
}

// -----

// batch_moments-C1
func.func @batch_moments_type(%x: tensor<?x8xbf16>) {
  // expected-error @below {{'tenon.batch_moments' op gives mean and M2 as 'tensor<8xf32>' each, but a result is 'tensor<8xbf16>'}}
  %0:2 = tenon.batch_moments %x : (tensor<?x8xbf16>) -> (tensor<8xf32>, tensor<8xbf16>)
  return
}

// -----

// batch_moments-C1: f64 keeps its precision
func.func @batch_moments_f64(%x: tensor<?x8xf64>) {
  // expected-error @below {{'tenon.batch_moments' op gives mean and M2 as 'tensor<8xf64>' each, but a result is 'tensor<8xf32>'}}
  %0:2 = tenon.batch_moments %x : (tensor<?x8xf64>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

// batch_moments-C2
func.func @batch_moments_moment_rows(%x: tensor<8x8xf32>) {
  // expected-error @below {{'tenon.batch_moments' op takes moments together with moment_rows, or neither}}
  %0:2 = tenon.batch_moments %x {moment_rows = 64} : (tensor<8x8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

// batch_moments-C3
func.func @batch_moments_moments_outside(%x: tensor<8x8xbf16>, %m: tensor<2x8xf32>) {
  // expected-error @below {{'tenon.batch_moments' op takes moments within a tenon.epilogue alone}}
  %0:2 = tenon.batch_moments %x moments(%m) {moment_rows = 64} : (tensor<8x8xbf16>, tensor<2x8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

// batch_moments-C4: 130 rows are three times 64
func.func @batch_moments_moments_shape(%x: memref<130x8xbf16>, %m: memref<4x8xf32>, %o: memref<8xf32>) {
  tenon.epilogue ins(%a = %x: memref<130x8xbf16>, %b = %m: memref<4x8xf32>) outs(%o: memref<8xf32>) {
    // expected-error @below {{needs moments in f32, mean and M2 of each 64 rows of 'tensor<130x8xbf16>', but they are 'tensor<4x8xf32>'}}
    %0:2 = tenon.batch_moments %a moments(%b) {moment_rows = 64} : (tensor<130x8xbf16>, tensor<4x8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    tenon.yield %0#0 : tensor<8xf32>
  }
  return
}

// -----

// batch_moments-C5: another op reads them
func.func @batch_moments_moments_read(%x: memref<?x8xf32>, %m: memref<?x8xf32>, %o: memref<8xf32>) {
  tenon.epilogue ins(%a = %x: memref<?x8xf32>, %b = %m: memref<?x8xf32>) outs(%o: memref<8xf32>, %m: memref<?x8xf32>) {
    // expected-error @below {{takes as moments an input of the tenon.epilogue that nothing else reads}}
    %0:2 = tenon.batch_moments %a moments(%b) {moment_rows = 64} : (tensor<?x8xf32>, tensor<?x8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %1 = tenon.relu %b : tensor<?x8xf32>
    tenon.yield %0#0, %1 : tensor<8xf32>, tensor<?x8xf32>
  }
  return
}

// -----

// batch_norm_training-C4
func.func @batch_norm_training_momentum(%x: tensor<?x8xf32>) {
  // expected-error @below {{'tenon.batch_norm_training' op momentum must be finite, but is INF}}
  %0 = tenon.batch_norm_training %x {momentum = 0x7FF0000000000000 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

// batch_norm_training-C5
func.func @batch_norm_training_moment_rows(%x: tensor<8x8xf32>) {
  // expected-error @below {{'tenon.batch_norm_training' op takes moments together with moment_rows, or neither}}
  %0 = tenon.batch_norm_training %x {moment_rows = 64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

// batch_norm_training-C6
func.func @batch_norm_training_moments_outside(%x: tensor<8x8xf32>, %m: tensor<3x8xf32>) {
  // expected-error @below {{'tenon.batch_norm_training' op takes moments within a tenon.epilogue alone}}
  %0 = tenon.batch_norm_training %x moments(%m) {moment_rows = 64} : (tensor<8x8xf32>, tensor<3x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

// batch_norm_training-C7: 130 rows are three times 64
func.func @batch_norm_training_moments_shape(%x: memref<130x8xf32>, %m: memref<6x8xf32>) {
  tenon.epilogue ins(%a = %x: memref<130x8xf32>, %b = %m: memref<6x8xf32>) outs(%x: memref<130x8xf32>) {
    // expected-error @below {{needs moments in f32, mean and M2 of each 64 rows of 'tensor<130x8xf32>', but they are 'tensor<6x8xf32>'}}
    %0 = tenon.batch_norm_training %a moments(%b) {moment_rows = 64} : (tensor<130x8xf32>, tensor<6x8xf32>) -> tensor<130x8xf32>
    tenon.yield %0 : tensor<130x8xf32>
  }
  return
}

// -----

// batch_norm_training-C7: of f64
func.func @batch_norm_training_moments_f64(%x: memref<?x8xf64>, %m: memref<?x8xf32>) {
  tenon.epilogue ins(%a = %x: memref<?x8xf64>, %b = %m: memref<?x8xf32>) outs(%x: memref<?x8xf64>) {
    // expected-error @below {{needs moments in f32, mean and M2 of each 64 rows of 'tensor<?x8xf64>', but they are 'tensor<?x8xf32>'}}
    %0 = tenon.batch_norm_training %a moments(%b) {moment_rows = 64} : (tensor<?x8xf64>, tensor<?x8xf32>) -> tensor<?x8xf64>
    tenon.yield %0 : tensor<?x8xf64>
  }
  return
}

// -----

// batch_norm_training-C8: another op reads them
func.func @batch_norm_training_moments_read(%x: memref<?x8xf32>, %m: memref<?x8xf32>) {
  tenon.epilogue ins(%a = %x: memref<?x8xf32>, %b = %m: memref<?x8xf32>) outs(%x: memref<?x8xf32>) {
    // expected-error @below {{takes as moments an input of the tenon.epilogue that nothing else reads}}
    %0 = tenon.batch_norm_training %a moments(%b) {moment_rows = 64} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    %1 = tenon.add %0, %b : tensor<?x8xf32>, tensor<?x8xf32>
    tenon.yield %1 : tensor<?x8xf32>
  }
  return
}

// -----

// batch_norm_training-C8: they are computed
func.func @batch_norm_training_moments_computed(%x: memref<?x8xf32>) {
  tenon.epilogue ins(%a = %x: memref<?x8xf32>) outs(%x: memref<?x8xf32>) {
    %b = tenon.relu %a : tensor<?x8xf32>
    // expected-error @below {{takes as moments an input of the tenon.epilogue that nothing else reads}}
    %0 = tenon.batch_norm_training %a moments(%b) {moment_rows = 64} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    tenon.yield %0 : tensor<?x8xf32>
  }
  return
}

// -----

// moments-C1
func.func @moments_shape(%x: tensor<130x8xf32>) {
  // expected-error @below {{'tenon.moments' op gives mean and M2 of each 64 rows of 'tensor<130x8xf32>' in f32, but its result is 'tensor<6x8xf32>'}}
  %0 = tenon.moments %x {rows = 64} : tensor<130x8xf32> -> tensor<6x8xf32>
  return
}

// -----

// moments-C1: of 16 bits, whose means need no third row
func.func @moments_shape_f16(%x: tensor<130x8xf16>) {
  // expected-error @below {{'tenon.moments' op gives mean and M2 of each 64 rows of 'tensor<130x8xf16>' in f32, but its result is 'tensor<9x8xf32>'}}
  %0 = tenon.moments %x {rows = 64} : tensor<130x8xf16> -> tensor<9x8xf32>
  return
}

// -----

// moments-C1: of f64
func.func @moments_f64(%x: tensor<130x8xf64>) {
  // expected-error @below {{'tenon.moments' op gives mean and M2 of each 64 rows of 'tensor<130x8xf64>' in f32, but its result is 'tensor<6x8xf32>'}}
  %0 = tenon.moments %x {rows = 64} : tensor<130x8xf64> -> tensor<6x8xf32>
  return
}

// -----

// moments-C2
func.func @moments_outside(%x: tensor<130x8xf32>) {
  // expected-error @below {{'tenon.moments' op stands in a tenon.tiled_linear, whose yield alone uses it}}
  %0 = tenon.moments %x {rows = 64} : tensor<130x8xf32> -> tensor<9x8xf32>
  return
}

// -----

// moments-C3
func.func @moments_rows(%x: tensor<130x8xf32>) {
  // expected-error @below {{attribute 'rows' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %0 = tenon.moments %x {rows = 0} : tensor<130x8xf32> -> tensor<9x8xf32>
  return
}

// -----

// fused_linear-C1
func.func @fused_linear_no_result(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'tenon.fused_linear' op must have a result}}
  tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<4x8xf32> epilogue(%acc: tensor<?x4xf32>) -> () {
    tenon.yield
  }
  return
}

// -----

// fused_linear-C2: no argument
func.func @fused_linear_no_argument(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %y: tensor<?x4xf32>) {
  // expected-error @below {{'tenon.fused_linear' op region must take the product and one argument for each epilogue operand: expected 1 arguments, but it has 0}}
  %0 = "tenon.fused_linear"(%x, %w) ({
    "tenon.yield"() : () -> ()
  }) : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

// fused_linear-C2: an operand without argument
func.func @fused_linear_arguments(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{'tenon.fused_linear' op region must take the product and one argument for each epilogue operand: expected 2 arguments, but it has 1}}
  %0 = "tenon.fused_linear"(%x, %w, %b) ({
  ^bb0(%acc: tensor<?x4xf32>):
    tenon.yield %acc : tensor<?x4xf32>
  }) : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// fused_linear-C3: not a tensor
func.func @fused_linear_product_scalar(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'tenon.fused_linear' op the product argument must be a tensor, but is 'f32'}}
  %0 = "tenon.fused_linear"(%x, %w) ({
  ^bb0(%acc: f32):
    "tenon.yield"() : () -> ()
  }) : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

// fused_linear-C3: linear-C4
func.func @fused_linear_product_shape(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'tenon.fused_linear' op the product argument must be [M, N]: expected 'tensor<?x4xf32>', but it is 'tensor<?x8xf32>'}}
  %0 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<4x8xf32> epilogue(%acc: tensor<?x8xf32>) -> tensor<?x8xf32> {
    tenon.yield %acc : tensor<?x8xf32>
  }
  return
}

// -----

// linear-C5: 8 bits
func.func @linear_f8_to_bf16(%x: tensor<?x16xf8E4M3FN>, %w: tensor<4x16xf8E4M3FN>) {
  // expected-error @below {{'tenon.linear' op the result must have x's element type or f32: expected 'tensor<?x4xf8E4M3FN>', but it is 'tensor<?x4xbf16>'}}
  %0 = tenon.linear %x, %w : (tensor<?x16xf8E4M3FN>, tensor<4x16xf8E4M3FN>) -> tensor<?x4xbf16>
  return
}

// -----

// linear-C1: two types of 8 bits
func.func @linear_f8_types(%x: tensor<?x16xf8E4M3FN>, %w: tensor<4x16xf8E5M2>) {
  // expected-error @below {{'tenon.linear' op x and w must have one element type, but x is 'tensor<?x16xf8E4M3FN>' and w is 'tensor<4x16xf8E5M2>'}}
  %0 = tenon.linear %x, %w : (tensor<?x16xf8E4M3FN>, tensor<4x16xf8E5M2>) -> tensor<?x4xf32>
  return
}

// -----

// fused_linear-C3: linear-C5
func.func @fused_linear_product_type(%x: tensor<?x8xbf16>, %w: tensor<4x8xbf16>) {
  // expected-error @below {{'tenon.fused_linear' op the product argument must have x's element type or f32: expected 'tensor<?x4xbf16>', but it is 'tensor<?x4xf16>'}}
  %0 = tenon.fused_linear %x, %w : tensor<?x8xbf16>, tensor<4x8xbf16> epilogue(%acc: tensor<?x4xf16>) -> tensor<?x4xf16> {
    tenon.yield %acc : tensor<?x4xf16>
  }
  return
}

// -----

// fused_linear-C3: linear-C2
func.func @fused_linear_k(%x: tensor<?x8xf32>, %w: tensor<4x16xf32>) {
  // expected-error @below {{'tenon.fused_linear' op x and w must agree in K, their last dimension: expected x [M, 16] for w 'tensor<4x16xf32>', but x is 'tensor<?x8xf32>'}}
  %0 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<4x16xf32> epilogue(%acc: tensor<?x4xf32>) -> tensor<?x4xf32> {
    tenon.yield %acc : tensor<?x4xf32>
  }
  return
}

// -----

// fused_linear-C4
func.func @fused_linear_argument_type(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{'tenon.fused_linear' op argument #1 stands for an operand of type 'tensor<4xf32>', but is 'tensor<8xf32>'}}
  %0 = "tenon.fused_linear"(%x, %w, %b) ({
  ^bb0(%acc: tensor<?x4xf32>, %bias: tensor<8xf32>):
    tenon.yield %acc : tensor<?x4xf32>
  }) : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// fused_linear-C5: another dialect
func.func @fused_linear_foreign_op(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  %0 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<4x8xf32> epilogue(%acc: tensor<?x4xf32>) -> tensor<?x4xf32> {
    // expected-error @below {{'arith.negf' op cannot be in an epilogue: it is neither elementwise nor a reduction of the tenon dialect}}
    %1 = arith.negf %acc : tensor<?x4xf32>
    tenon.yield %1 : tensor<?x4xf32>
  }
  return
}

// -----

// fused_linear-C5: a second product
func.func @fused_linear_nested(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) {
  %0 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<8x8xf32> epilogue(%acc: tensor<?x8xf32>, %v = %w: tensor<8x8xf32>) -> tensor<?x8xf32> {
    // expected-error @below {{'tenon.linear' op cannot be in an epilogue: it is neither elementwise nor a reduction of the tenon dialect}}
    %1 = tenon.linear %acc, %v : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
    tenon.yield %1 : tensor<?x8xf32>
  }
  return
}

// -----

// fused_linear-C6: a type
func.func @fused_linear_yield_type(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  %0 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<4x8xf32> epilogue(%acc: tensor<?x4xf32>) -> tensor<?x8xf32> {
    // expected-error @below {{'tenon.yield' op must give the results of fused_linear: expected ('tensor<?x8xf32>'), but yields ('tensor<?x4xf32>')}}
    tenon.yield %acc : tensor<?x4xf32>
  }
  return
}

// -----

// fused_linear-C6: an empty region yields nothing
func.func @fused_linear_empty(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'tenon.yield' op must give the results of fused_linear: expected ('tensor<?x4xf32>'), but yields ()}}
  %0 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<4x8xf32> epilogue(%acc: tensor<?x4xf32>) -> tensor<?x4xf32> {
  }
  return
}

// -----

// fused_linear-C7: isolated from above
func.func @fused_linear_captures(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) {
  // expected-note @below {{required by region isolation constraints}}
  %0 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<4x8xf32> epilogue(%acc: tensor<?x4xf32>) -> tensor<?x4xf32> {
    // expected-error @below {{'tenon.add' op using value defined outside the region}}
    %1 = tenon.add %acc, %b : tensor<?x4xf32>, tensor<4xf32>
    tenon.yield %1 : tensor<?x4xf32>
  }
  return
}

// -----

// fused_linear-C8: no block
func.func @fused_linear_no_block(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'tenon.fused_linear' op region #0 ('epilogue') failed to verify constraint: region with 1 blocks}}
  %0 = "tenon.fused_linear"(%x, %w) ({}) : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

// fused_linear-C8: another terminator
func.func @fused_linear_terminator(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+2 {{'tenon.fused_linear' op expects regions to end with 'tenon.yield', found 'llvm.unreachable'}}
  // expected-note @+1 {{in custom textual format, the absence of terminator implies 'tenon.yield'}}
  %0 = "tenon.fused_linear"(%x, %w) ({
  ^bb0(%acc: tensor<?x4xf32>):
    llvm.unreachable
  }) : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

// Parser: precision
func.func @fused_linear_precision_keyword(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'fp8' is not a precision; expected fp32, tf32, bf16 or fp16}}
  %0 = tenon.fused_linear %x, %w precision<fp8> : tensor<?x8xf32>, tensor<4x8xf32> epilogue(%acc: tensor<?x4xf32>) -> tensor<?x4xf32> {
    tenon.yield %acc : tensor<?x4xf32>
  }
  return
}

// -----

// Parser: precision among the attributes
func.func @fused_linear_precision_attribute(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{precision is not written among the attributes; write precision<tf32> after w}}
  %0 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<4x8xf32> epilogue(%acc: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {precision = #tenon.precision<tf32>} {
    tenon.yield %acc : tensor<?x4xf32>
  }
  return
}

// -----

// Parser: the product's argument is missing
func.func @fused_linear_no_product(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{expected SSA operand}}
  %0 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<4x8xf32> epilogue() -> tensor<?x4xf32> {
    tenon.yield
  }
  return
}

// -----

// Parser: an argument that stands for no operand
func.func @fused_linear_no_operand(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{expected '='}}
  %0 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<4x8xf32> epilogue(%acc: tensor<?x4xf32>, %bias: tensor<4xf32>) -> tensor<?x4xf32> {
    tenon.yield %acc : tensor<?x4xf32>
  }
  return
}

// -----

// Parser: no epilogue
func.func @fused_linear_no_epilogue(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{expected 'epilogue'}}
  %0 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32> {
  }
  return
}

// -----

// yield-C1
func.func @yield_parent(%x: tensor<?x8xf32>) {
  // expected-error @below {{'tenon.yield' op expects parent op to be one of 'tenon.fused_linear, tenon.epilogue, tenon.tiled_linear'}}
  tenon.yield %x : tensor<?x8xf32>
}

// -----

// with_split-C1
func.func @with_split_f64(%x: tensor<4x20xf64>, %h: tensor<4x24xf16>, %f: tensor<4x1xf32>) {
  // expected-error @below {{needs x of f32, which tenon.split splits, but x is 'tensor<4x20xf64>'}}
  %0 = tenon.with_split %x, %h, %f : tensor<4x20xf64>, tensor<4x24xf16>, tensor<4x1xf32>
  return
}

// -----

// with_split-C2
func.func @with_split_columns(%x: tensor<4x20xf32>, %h: tensor<4x32xf16>, %f: tensor<4x1xf32>) {
  // expected-error @below {{needs the halves that tenon.split gives for 'tensor<4x20xf32>', f16 [M, 24] in one part or [M, 64] in two, but has 'tensor<4x32xf16>'}}
  %0 = tenon.with_split %x, %h, %f : tensor<4x20xf32>, tensor<4x32xf16>, tensor<4x1xf32>
  return
}

// -----

// with_split-C2: another type
func.func @with_split_bf16(%x: tensor<4x20xf32>, %h: tensor<4x64xbf16>, %f: tensor<4x1xf32>) {
  // expected-error @below {{but has 'tensor<4x64xbf16>'}}
  %0 = tenon.with_split %x, %h, %f : tensor<4x20xf32>, tensor<4x64xbf16>, tensor<4x1xf32>
  return
}

// -----

// with_split-C2: another M
func.func @with_split_rows(%x: tensor<4x20xf32>, %h: tensor<?x64xf16>, %f: tensor<4x1xf32>) {
  // expected-error @below {{but has 'tensor<?x64xf16>'}}
  %0 = tenon.with_split %x, %h, %f : tensor<4x20xf32>, tensor<?x64xf16>, tensor<4x1xf32>
  return
}

// -----

// with_split-C3
func.func @with_split_factors(%x: tensor<4x20xf32>, %h: tensor<4x64xf16>, %f: tensor<4x2xf32>) {
  // expected-error @below {{needs the factors that tenon.split gives for 'tensor<4x20xf32>', f32 [M, 1], but has 'tensor<4x2xf32>'}}
  %0 = tenon.with_split %x, %h, %f : tensor<4x20xf32>, tensor<4x64xf16>, tensor<4x2xf32>
  return
}

// -----

// with_split-C3: another type
func.func @with_split_f16_factors(%x: tensor<4x20xf32>, %h: tensor<4x64xf16>, %f: tensor<4x1xf16>) {
  // expected-error @below {{but has 'tensor<4x1xf16>'}}
  %0 = tenon.with_split %x, %h, %f : tensor<4x20xf32>, tensor<4x64xf16>, tensor<4x1xf16>
  return
}
