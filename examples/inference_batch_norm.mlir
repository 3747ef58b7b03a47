// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Batch norm in inference, where its statistics are parameters like the rest.
//
// In PyTorch, in eval mode:
//   linear, bn = torch.nn.Linear(512, 256), torch.nn.BatchNorm1d(256)
//   y = torch.relu(bn(linear(x)))
//
// Look for: by default batch norm stays one op of the epilogue. With
//   tenon-compile --allow-rounding-changes --fold-weights
// (tenon-opt --tenon-simplify='allow-rounding-changes fold-weights') it becomes a
// scale and a shift. The prepare function multiplies the scale into weight and
// bias, once a version of the parameters; a call adds the shift.

func.func @forward(
    %x: tensor<?x512xf32> {tenon.name = "x"},
    %weight: tensor<256x512xf32> {tenon.name = "weight", tenon.param},
    %bias: tensor<256xf32> {tenon.name = "bias", tenon.param},
    %bn_weight: tensor<256xf32> {tenon.name = "bn_weight", tenon.param},
    %bn_bias: tensor<256xf32> {tenon.name = "bn_bias", tenon.param},
    %mean: tensor<256xf32> {tenon.name = "running_mean", tenon.param},
    %variance: tensor<256xf32> {tenon.name = "running_var", tenon.param})
    -> (tensor<?x256xf32> {tenon.name = "y"}) {
  %0 = tenon.linear %x, %weight, %bias
      : (tensor<?x512xf32>, tensor<256x512xf32>, tensor<256xf32>) -> tensor<?x256xf32>
  %1 = tenon.batch_norm_inference %0 stats(%mean, %variance) weight(%bn_weight) bias(%bn_bias)
      : tensor<?x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>
  %2 = tenon.relu %1 : tensor<?x256xf32>
  return %2 : tensor<?x256xf32>
}
