// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A residual connection, with one gate value for each row.
//
// In PyTorch (gate is [256, 1]):
//   y = x + gate * torch.nn.functional.gelu(linear(x))
//
// Look for: x is both an input of the product and an operand of the epilogue;
// the gate is broadcast along the features. Both are read where y is written.

func.func @forward(
    %x: tensor<256x512xf32> {tenon.name = "x"},
    %gate: tensor<256x1xf32> {tenon.name = "gate"},
    %weight: tensor<512x512xf32> {tenon.name = "weight", tenon.param},
    %bias: tensor<512xf32> {tenon.name = "bias", tenon.param})
    -> (tensor<256x512xf32> {tenon.name = "y"}) {
  %0 = tenon.linear %x, %weight, %bias
      : (tensor<256x512xf32>, tensor<512x512xf32>, tensor<512xf32>) -> tensor<256x512xf32>
  %1 = tenon.gelu %0 : tensor<256x512xf32>
  %2 = tenon.mul %1, %gate : tensor<256x512xf32>, tensor<256x1xf32>
  %3 = tenon.add %2, %x : tensor<256x512xf32>, tensor<256x512xf32>
  return %3 : tensor<256x512xf32>
}
