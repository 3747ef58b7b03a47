// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An activation and its input, both returned: z is used twice.
//
// In PyTorch:
//   z = linear(x)
//   return z, torch.nn.functional.silu(z) * gain
//
// Look for: fusion does not stop at a value with two uses. z becomes one more
// result of the tenon.fused_linear, written by the same kernel as y.

func.func @forward(
    %x: tensor<256x512xf32> {tenon.name = "x"},
    %weight: tensor<384x512xf32> {tenon.name = "weight", tenon.param},
    %bias: tensor<384xf32> {tenon.name = "bias", tenon.param},
    %gain: tensor<384xf32> {tenon.name = "gain", tenon.param})
    -> (tensor<256x384xf32> {tenon.name = "z"}, tensor<256x384xf32> {tenon.name = "y"}) {
  %z = tenon.linear %x, %weight, %bias
      : (tensor<256x512xf32>, tensor<384x512xf32>, tensor<384xf32>) -> tensor<256x384xf32>
  %0 = tenon.silu %z : tensor<256x384xf32>
  %y = tenon.mul %0, %gain : tensor<256x384xf32>, tensor<384xf32>
  return %z, %y : tensor<256x384xf32>, tensor<256x384xf32>
}
