# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each activation as a module behind one linear layer and as a function behind another, or spelled out."""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from .registry import register


class Activated(nn.Module):
    """Two linear layers: a module behind the first, a function behind the second."""

    def __init__(self, module, function, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.module, self.function = module, function

    def forward(self, x):
        return self.function(self.second(self.module(self.first(x))))


def max_is_relu(x):
    return torch.maximum(x, torch.zeros_like(x))


def where_is_leaky_relu(x):
    return torch.where(x > 0, x, 0.1 * x)


def spelled_gelu(x):
    return 0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))


def spelled_gelu_tanh(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


# By name: as a module, and as a function.
ACTIVATIONS = {
    "relu": (nn.ReLU(), F.relu),
    "leaky_relu": (nn.LeakyReLU(0.2), partial(F.leaky_relu, negative_slope=-0.3)),
    "gelu": (nn.GELU(), F.gelu),
    "gelu_tanh": (nn.GELU(approximate="tanh"), partial(F.gelu, approximate="tanh")),
    "silu": (nn.SiLU(), F.silu),
    "mish": (nn.Mish(), F.mish),
    "softplus": (nn.Softplus(), partial(F.softplus, beta=-2.0, threshold=0.5)),
    "elu": (nn.ELU(0.7), F.selu),
    "celu": (nn.CELU(0.3), partial(F.celu, alpha=-2.0)),
    "exp": (torch.exp, torch.exp),
    "log": (lambda x: torch.log(F.relu(x) + 0.5), lambda x: torch.log(torch.abs(x) + 0.1)),
    "rsqrt": (lambda x: torch.rsqrt(F.relu(x) + 0.5), lambda x: torch.rsqrt(torch.abs(x) + 0.1)),
    "sigmoid": (nn.Sigmoid(), torch.sigmoid),
    "tanh": (nn.Tanh(), torch.tanh),
    "clamp": (nn.Hardtanh(-0.5, 0.25), partial(torch.clamp, min=-0.25, max=0.5)),
    "clamp_one_side": (nn.Threshold(0.0, 0.0), partial(torch.clamp, max=0.5)),
    "hardtanh": (nn.Hardtanh(), F.hardtanh),
    "relu6": (nn.ReLU6(), F.relu6),
    "hardswish": (nn.Hardswish(), F.hardswish),
    "hardsigmoid": (nn.Hardsigmoid(), F.hardsigmoid),
}

# The same by other ops; the first of each pair stands in the module's place.
SPELLED = {
    "spelled_relu": (partial(torch.clamp_min, min=0.0), max_is_relu),
    "spelled_leaky_relu": (lambda x: torch.maximum(x, 0.1 * x), where_is_leaky_relu),
    "spelled_silu": (lambda x: x * torch.sigmoid(x), lambda x: x / (1.0 + torch.exp(-x))),
    "spelled_gelu": (spelled_gelu, spelled_gelu_tanh),
    "spelled_mish": (lambda x: x * torch.tanh(F.softplus(x)), lambda x: torch.tanh(F.softplus(x)) * x),
    "spelled_hardswish": (lambda x: x * F.relu6(x + 3.0) / 6.0, lambda x: x * torch.clamp(x / 6.0 + 0.5, 0.0, 1.0)),
}

for name, pair in {**ACTIVATIONS, **SPELLED}.items():
    register(name, fused=2)(partial(Activated, *pair))
