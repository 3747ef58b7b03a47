// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = leaky_relu(linear(x) * 2), batch 1024, 8192 features in and out, fp32.
//
// In PyTorch:
//   linear = torch.nn.Linear(8192, 8192)
//   y = torch.nn.functional.leaky_relu(linear(x) * 2.0, negative_slope=0.1)
//
// Look for: --tenon-fuse-epilogue makes one tenon.fused_linear of it, with bias,
// multiplier and activation in its region. cuBLASLt knows no LeakyReLU, so on a
// GPU with --strategy=library this is its product and one epilogue kernel that
// passes once over y; by default it is tiled, product and epilogue in one.

func.func @forward(
    %x: tensor<1024x8192xf32> {tenon.name = "x"},
    %weight: tensor<8192x8192xf32> {tenon.name = "weight", tenon.param},
    %bias: tensor<8192xf32> {tenon.name = "bias", tenon.param})
    -> (tensor<1024x8192xf32> {tenon.name = "y"}) {
  %0 = tenon.linear %x, %weight, %bias
      : (tensor<1024x8192xf32>, tensor<8192x8192xf32>, tensor<8192xf32>) -> tensor<1024x8192xf32>
  %1 = tenon.mul %0, 2.0 : tensor<1024x8192xf32>
  %2 = tenon.leaky_relu %1 {negative_slope = 0.1} : tensor<1024x8192xf32>
  return %2 : tensor<1024x8192xf32>
}
