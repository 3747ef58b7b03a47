# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The three models that Tenon was born for."""

import torch
import torch.nn.functional as F
from torch import nn

from .registry import register


@register("linear_leaky_relu", fused=1, real=(1024, 8192))
class LinearLeakyReLU(nn.Module):
    """A linear layer, times 2, LeakyReLU."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return F.leaky_relu(self.linear(x) * 2.0, negative_slope=0.1)


@register("linear_scale_batch_norm_1024", fused=1, training=True, real=(1024, 8192))
@register("linear_scale_batch_norm_16384", fused=1, training=True, real=(16384, 4096))
class LinearScaleBatchNorm(nn.Module):
    """A linear layer, times one number a feature, batch norm."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.randn(width))
        self.bn = nn.BatchNorm1d(width)

    def forward(self, x):
        return self.bn(self.linear(x) * self.scale)
