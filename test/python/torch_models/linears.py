# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ways to write a linear layer."""

import torch
import torch.nn.functional as F
from torch import nn

from .registry import register


@register("no_bias", fused=1)
class NoBias(nn.Module):
    """nn.Linear without bias."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 2 * width, bias=False)

    def forward(self, x):
        return F.relu(self.linear(x))


class Weights(nn.Module):
    """A weight of given shape and a bias, as parameters."""

    def __init__(self, rows, columns, features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(rows, columns) / (rows * columns) ** 0.25)
        self.bias = nn.Parameter(torch.randn(features))


@register("functional_linear", fused=1)
class FunctionalLinear(Weights):
    """F.linear."""

    def __init__(self, width):
        super().__init__(2 * width, width, 2 * width)

    def forward(self, x):
        return F.silu(F.linear(x, self.weight, self.bias))


@register("addmm", fused=1)
class Addmm(Weights):
    """torch.addmm, whose weight is [in, out]."""

    def __init__(self, width):
        super().__init__(width, 2 * width, 2 * width)

    def forward(self, x):
        return F.relu(torch.addmm(self.bias, x, self.weight))


@register("addmm_scaled", fused=1)
class AddmmScaled(Weights):
    """torch.addmm with multipliers."""

    def __init__(self, width):
        super().__init__(width, 2 * width, 2 * width)

    def forward(self, x):
        return F.relu(torch.addmm(self.bias, x, self.weight, beta=0.5, alpha=2.0))


@register("matmul_transposed", fused=1)
class MatmulTransposed(Weights):
    """A product with a transposed weight, the bias added."""

    def __init__(self, width):
        super().__init__(2 * width, width, 2 * width)

    def forward(self, x):
        return F.relu(x @ self.weight.t() + self.bias)


@register("matmul_plain", fused=1)
class MatmulPlain(Weights):
    """A product with a weight that is [in, out]."""

    def __init__(self, width):
        super().__init__(width, 2 * width, 2 * width)

    def forward(self, x):
        return F.relu(torch.matmul(x, self.weight) + self.bias)


@register("linear_alone", fused=0, calls=0)
class LinearAlone(nn.Module):
    """A linear layer with nothing behind it, which PyTorch runs as well as Tenon would."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 2 * width)

    def forward(self, x):
        return self.linear(x)


@register("small_output", fused=1)
class SmallOutput(nn.Module):
    """A layer with one feature out."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 1)

    def forward(self, x):
        return torch.sigmoid(self.linear(x))
