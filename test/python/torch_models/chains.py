# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Long chains of ops behind one linear layer."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from .registry import register


class Chain(nn.Module):
    """A linear layer and `length` ops, each with another number or operand."""

    def __init__(self, length, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.operands = nn.ParameterList(torch.randn(width) for _ in range(length))
        self.length = length

    def forward(self, x):
        y = self.linear(x)
        for i in range(self.length):
            steps = (
                lambda y, i=i: y * (1.0 + 0.01 * i),
                lambda y, i=i: y + self.operands[i],
                F.silu,
                lambda y: y + 0.5 * x,
                lambda y, i=i: torch.maximum(y, self.operands[i] - 1.0),
                torch.tanh,
                lambda y, i=i: y - 0.1 * i,
                partial(F.leaky_relu, negative_slope=0.3),
                F.gelu,
                lambda y, i=i: y * self.operands[i],
            )
            y = steps[i % len(steps)](y)
        return y


register("chain_10", fused=1)(partial(Chain, 10))
register("chain_30", fused=1)(partial(Chain, 30))


@register("gated_chain", fused=1)
class GatedChain(nn.Module):
    """Every value of the chain is used twice."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        y = self.linear(x)
        for _ in range(4):
            y = y * torch.sigmoid(y) + 0.5 * torch.tanh(y)
        return y
