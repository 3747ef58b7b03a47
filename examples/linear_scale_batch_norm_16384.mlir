// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = batch_norm(linear(x) * scale) in training, batch 16384, 4096 features in and
// 4096 out, fp32.
//
// In PyTorch, in train mode:
//   linear, bn = torch.nn.Linear(4096, 4096), torch.nn.BatchNorm1d(4096)
//   scale = torch.nn.Parameter(torch.randn(4096))
//   y = bn(linear(x) * scale)
//
// Look for: the batch's mean and variance are needed before the first y can be
// written, so the fused op's plan is map, reduce over the batch, map: on a GPU
// with --strategy=library one statistics kernel and one normalise kernel, with
// the scale fused into both. By default the product's kernel has the statistics.
// Where PyTorch updates the running statistics in place, their new values are
// results here.

func.func @forward(
    %x: tensor<16384x4096xf32> {tenon.name = "x"},
    %weight: tensor<4096x4096xf32> {tenon.name = "weight", tenon.param},
    %bias: tensor<4096xf32> {tenon.name = "bias", tenon.param},
    %scale: tensor<4096xf32> {tenon.name = "scale", tenon.param},
    %bn_weight: tensor<4096xf32> {tenon.name = "bn_weight", tenon.param},
    %bn_bias: tensor<4096xf32> {tenon.name = "bn_bias", tenon.param},
    %running_mean: tensor<4096xf32> {tenon.name = "running_mean"},
    %running_var: tensor<4096xf32> {tenon.name = "running_var"})
    -> (tensor<16384x4096xf32> {tenon.name = "y"},
        tensor<4096xf32> {tenon.name = "new_running_mean"},
        tensor<4096xf32> {tenon.name = "new_running_var"}) {
  %0 = tenon.linear %x, %weight, %bias
      : (tensor<16384x4096xf32>, tensor<4096x4096xf32>, tensor<4096xf32>) -> tensor<16384x4096xf32>
  %1 = tenon.mul %0, %scale : tensor<16384x4096xf32>, tensor<4096xf32>
  %y, %statistics:2 = tenon.batch_norm_training %1
      weight(%bn_weight) bias(%bn_bias) running(%running_mean, %running_var)
      {eps = 1.0e-5, momentum = 0.1}
      : (tensor<16384x4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>)
      -> (tensor<16384x4096xf32>, tensor<4096xf32>, tensor<4096xf32>)
  return %y, %statistics#0, %statistics#1 : tensor<16384x4096xf32>, tensor<4096xf32>, tensor<4096xf32>
}
