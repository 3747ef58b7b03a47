// RUN: tenon-opt %s --tenon-to-blaslt --verify-diagnostics

func.func @constant(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{has elements that differ, which the CUDA target cannot hold; pass the tensor as an argument marked 'tenon.param'}}
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = tenon.add %x, %c : tensor<2xf32>, tensor<2xf32>
  return %0 : tensor<2xf32>
}
