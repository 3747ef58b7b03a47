# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can be the other operand: numbers, parameters, buffers, 0-d tensors, rows, residuals and gates."""

import torch
import torch.nn.functional as F
from torch import nn

from .registry import register


@register("scalars", fused=1)
class Scalars(nn.Module):
    """Numbers on either side of each arithmetic op."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        y = (2 * self.linear(x) - 1) / 3 + 0.5
        y = 1.5 - y
        return 2.0 / (torch.sigmoid(y) + 1.0)


@register("per_feature", fused=1)
class PerFeature(nn.Module):
    """A parameter and buffers with a number for each feature."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 2 * width)
        self.scale = nn.Parameter(torch.randn(2 * width))
        self.register_buffer("shift", torch.randn(2 * width))
        self.register_buffer("divisor", torch.rand(1, 2 * width) + 0.5)

    def forward(self, x):
        return F.relu((self.linear(x) * self.scale - self.shift) / self.divisor)


@register("zero_dim", fused=1)
class ZeroDim(nn.Module):
    """A temperature and an offset that are 0-d tensors."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.temperature = nn.Parameter(torch.tensor(0.7))
        self.register_buffer("offset", torch.tensor(-0.3))

    def forward(self, x):
        return torch.tanh(self.linear(x) / self.temperature + self.offset)


@register("one_element", fused=1)
class OneElement(nn.Module):
    """Operands of shapes [1] and [1, 1]."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.gain = nn.Parameter(torch.tensor([0.7]))
        self.shift = nn.Parameter(torch.tensor([[0.2]]))

    def forward(self, x):
        return F.gelu(self.gain * self.linear(x) + self.shift)


@register("per_row", fused=1, shapes=lambda batch, width: ((batch, width), (batch, 1), (batch, 1)))
class PerRow(nn.Module):
    """An input with a number for each row."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 2 * width)

    def forward(self, x, scale, shift):
        return F.relu(scale * self.linear(x) + shift)


@register("residual", fused=1)
class Residual(nn.Module):
    """The input added behind the activation."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return x + F.gelu(self.linear(x))


@register("residual_inside", fused=1, shapes=lambda batch, width: ((batch, width), (batch, 2 * width)))
class ResidualInside(nn.Module):
    """Another input added ahead of the activation, with a multiplier."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 2 * width)

    def forward(self, x, skip):
        return F.relu(torch.add(self.linear(x), skip, alpha=0.5))


@register("gate", fused=2)
class Gate(nn.Module):
    """silu(a x) * (b x)."""

    def __init__(self, width):
        super().__init__()
        self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)

    def forward(self, x):
        return F.silu(self.gate(x)) * self.up(x)


@register("extrema", fused=1, shapes=lambda batch, width: ((batch, width), (batch, width)))
class Extrema(nn.Module):
    """Minimum and maximum with a tensor, and clamp between tensors."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.low, self.high = nn.Parameter(-torch.rand(width)), nn.Parameter(torch.rand(width))

    def forward(self, x, other):
        y = torch.minimum(self.linear(x), other)
        return torch.clamp(torch.maximum(y, -other), self.low, self.high)


@register("subtract_scaled", fused=1)
class SubtractScaled(nn.Module):
    """torch.sub and torch.rsub with alpha, negation and a square."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.shift = nn.Parameter(torch.randn(width))

    def forward(self, x):
        y = torch.sub(self.linear(x), self.shift, alpha=0.25)
        return -torch.rsub(y * y, x, alpha=2.0)


@register("operand_computed", fused=1)
class OperandComputed(nn.Module):
    """An operand that an op which is not Tenon's makes out of a parameter."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.angle = nn.Parameter(torch.randn(width))

    def forward(self, x):
        return F.relu(self.linear(x) * torch.sin(self.angle))
