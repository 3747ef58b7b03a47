// RUN: tenon-opt %s --tenon-to-blaslt --split-input-file --verify-diagnostics

func.func @pad(%x: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %c = arith.constant 0.0 : f32
  // expected-error @below {{'tensor.pad' op cannot be computed on a GPU: kernels compute tenon ops, and elementwise arith and math ops of tensors of floats of rank 0 to 2; write it with those, compute it outside of the model, or compile for --target=cpu alone}}
  %0 = tensor.pad %x low[0, 0] high[0, 8] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<4x8xf32> to tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

func.func @generate() -> tensor<4x8xf32> {
  %c = arith.constant 0.0 : f32
  // expected-error @below {{'tensor.generate' op cannot be computed on a GPU}}
  %0 = tensor.generate {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// The host would read the GPU's memory.
func.func @extract(%x: tensor<4x8xf32>) -> tensor<2xf32> {
  %i = arith.constant 1 : index
  // expected-error @below {{'tensor.extract' op cannot be computed on a GPU}}
  %0 = tensor.extract %x[%i, %i] : tensor<4x8xf32>
  %1 = tensor.from_elements %0, %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

func.func @insert(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %i = arith.constant 1 : index
  %c = arith.constant 1.0 : f32
  // expected-error @below {{'tensor.insert' op cannot be computed on a GPU}}
  %0 = tensor.insert %c into %x[%i, %i] : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @rank_3(%x: tensor<4x2x4xf32>) -> tensor<4x2x4xf32> {
  // expected-error @below {{'math.exp' op cannot be computed on a GPU}}
  %0 = math.exp %x : tensor<4x2x4xf32>
  return %0 : tensor<4x2x4xf32>
}

// -----

func.func @two_results(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{'math.sincos' op cannot be computed on a GPU}}
  %0, %1 = math.sincos %x : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

func.func @in_epilogue(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = arith.fptosi %x : tensor<4x8xf32> to tensor<4x8xi32>
  // expected-error @below {{'math.ctpop' op cannot be computed on a GPU}}
  %1 = math.ctpop %0 : tensor<4x8xi32>
  %2 = arith.sitofp %1 : tensor<4x8xi32> to tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
