// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A multi-layer perceptron: two linear layers with a gelu between them.
//
// In PyTorch:
//   up, down = torch.nn.Linear(512, 2048), torch.nn.Linear(2048, 512)
//   y = down(torch.nn.functional.gelu(up(x), approximate="tanh"))
//
// Look for: two tenon.fused_linear; an epilogue ends where the next product
// begins. Bias and tanh gelu are what cuBLASLt's own epilogue can do, so with
// --strategy=library the first layer needs no kernel beside it.

func.func @forward(
    %x: tensor<256x512xf32> {tenon.name = "x"},
    %up_weight: tensor<2048x512xf32> {tenon.name = "up_weight", tenon.param},
    %up_bias: tensor<2048xf32> {tenon.name = "up_bias", tenon.param},
    %down_weight: tensor<512x2048xf32> {tenon.name = "down_weight", tenon.param},
    %down_bias: tensor<512xf32> {tenon.name = "down_bias", tenon.param})
    -> (tensor<256x512xf32> {tenon.name = "y"}) {
  %0 = tenon.linear %x, %up_weight, %up_bias
      : (tensor<256x512xf32>, tensor<2048x512xf32>, tensor<2048xf32>) -> tensor<256x2048xf32>
  %1 = tenon.gelu %0 approximate<tanh> : tensor<256x2048xf32>
  %2 = tenon.linear %1, %down_weight, %down_bias
      : (tensor<256x2048xf32>, tensor<512x2048xf32>, tensor<512xf32>) -> tensor<256x512xf32>
  return %2 : tensor<256x512xf32>
}
