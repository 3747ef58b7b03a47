// RUN: tenon-opt %s --tenon-cpu-loops --verify-diagnostics

func.func @on_tensors(%x: tensor<8xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{cannot become loops: its operands must be buffers; run --tenon-bufferize first}}
  %0 = linalg.fill ins(%zero : f32) outs(%x : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
