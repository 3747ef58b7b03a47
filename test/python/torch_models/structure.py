# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several layers, shared weights, and every way to return something."""

import torch
import torch.nn.functional as F
from torch import nn

from .registry import register


@register("two_linears", fused=2)
class TwoLinears(nn.Module):
    """Two layers with activations."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return torch.sigmoid(self.second(F.relu(self.first(x))))


@register("three_linears", fused=3)
class ThreeLinears(nn.Module):
    """Three layers as nn.Sequential has them."""

    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(width, 2 * width),
            nn.Mish(),
            nn.Linear(2 * width, width // 2),
            nn.LeakyReLU(),
            nn.Linear(width // 2, width),
            nn.Tanh(),
        )

    def forward(self, x):
        return self.layers(x)


@register("siblings", fused=2, calls=2)
class Siblings(nn.Module):
    """Two layers that read one input and end apart."""

    def __init__(self, width):
        super().__init__()
        self.left, self.right = nn.Linear(width, 2 * width), nn.Linear(width, width // 2)

    def forward(self, x):
        return F.relu(self.left(x)), torch.tanh(self.right(x))


@register("shared_linear", fused=2)
class SharedLinear(nn.Module):
    """One layer used twice."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return F.relu(self.linear(F.relu(self.linear(x))))


@register("tied_weights", fused=2)
class TiedWeights(nn.Module):
    """A decoder that is the encoder's weight transposed."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width // 2, width) / width**0.5)

    def forward(self, x):
        hidden = F.gelu(F.linear(x, self.weight))
        return torch.sigmoid(F.linear(hidden, self.weight.t()))


@register("returned_twice", fused=1)
class ReturnedTwice(nn.Module):
    """One tensor as both results."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        y = F.relu(self.linear(x))
        return y, y


@register("intermediates_returned", fused=1)
class IntermediatesReturned(nn.Module):
    """The product and a value of the chain are results too."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        product = self.linear(x)
        scaled = product * 2.0
        return F.silu(scaled), product, scaled


@register("input_returned", fused=1)
class InputReturned(nn.Module):
    """The input itself is a result."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return x, F.relu(self.linear(x))


@register("parameter_returned", fused=1)
class ParameterReturned(nn.Module):
    """A parameter, and a number, are results."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return F.relu(self.linear(x)), self.linear.bias, 3


@register("dictionary", fused=2)
class Dictionary(nn.Module):
    """Results by name, nested."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, 2 * width)

    def forward(self, x):
        hidden = F.relu(self.first(x))
        return {"hidden": hidden, "heads": [torch.sigmoid(self.second(hidden)), None]}


@register("unused", fused=1)
class Unused(nn.Module):
    """A layer whose result nobody reads."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        F.relu(self.second(x))
        return F.relu(self.first(x))


@register("diamond", fused=3)
class Diamond(nn.Module):
    """Two branches from one layer that meet again."""

    def __init__(self, width):
        super().__init__()
        self.stem, self.left, self.right = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        stem = F.relu(self.stem(x))
        return torch.tanh(self.left(stem)) + torch.sigmoid(self.right(stem)) * stem


@register("cut_in_the_middle", fused=2, calls=2)
class CutInTheMiddle(nn.Module):
    """An op that is not in the dialect between two layers."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        hidden = torch.cumsum(F.relu(self.first(x)), dim=-1)
        return F.relu(self.second(hidden * 0.1))
