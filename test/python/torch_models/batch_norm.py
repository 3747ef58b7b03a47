# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch norm in training, in eval, frozen, and with each of its options."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from .registry import register


class Normalised(nn.Module):
    """A linear layer, batch norm with options, an activation."""

    def __init__(self, options, width):
        super().__init__()
        self.linear = nn.Linear(width, 2 * width)
        self.bn = nn.BatchNorm1d(2 * width, **options)

    def forward(self, x):
        return F.relu(self.bn(self.linear(x)))


OPTIONS = {
    "plain": {},
    "not_affine": {"affine": False},
    "not_tracking": {"track_running_stats": False},
    "bare": {"affine": False, "track_running_stats": False},
    "cumulative": {"momentum": None},
    "momentum_0": {"momentum": 0.0},
    "momentum_1": {"momentum": 1.0},
    "large_eps": {"eps": 0.1, "momentum": 0.3},
}

for name, options in OPTIONS.items():
    # A cumulative mean has a momentum that PyTorch reads from a tensor: that is left to PyTorch.
    fused = 0 if name == "cumulative" else 1
    register(f"bn_train_{name}", fused=fused, calls=fused, training=True)(partial(Normalised, options))
for name in ("plain", "not_affine", "not_tracking", "large_eps"):
    register(f"bn_eval_{name}", fused=1)(partial(Normalised, OPTIONS[name]))


class AfterActivation(nn.Module):
    """Batch norm behind the activation."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.bn = nn.BatchNorm1d(width)

    def forward(self, x):
        return self.bn(F.gelu(self.linear(x))) * 0.5


register("bn_train_after_activation", fused=1, training=True)(AfterActivation)
register("bn_eval_after_activation", fused=1)(AfterActivation)


class TwoBatchNorms(nn.Module):
    """Linear, batch norm, activation; twice."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.bn1, self.bn2 = nn.BatchNorm1d(2 * width), nn.BatchNorm1d(width, momentum=0.5)

    def forward(self, x):
        return F.silu(self.bn2(self.second(F.leaky_relu(self.bn1(self.first(x)), 0.1))))


register("two_bn_train", fused=2, training=True)(TwoBatchNorms)
register("two_bn_eval", fused=2)(TwoBatchNorms)


@register("bn_twice", fused=1, training=True)
class BatchNormTwice(nn.Module):
    """Two batch norms in one chain."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.bn1, self.bn2 = nn.BatchNorm1d(width), nn.BatchNorm1d(width)

    def forward(self, x):
        return self.bn2(F.relu(self.bn1(self.linear(x))))


@register("bn_frozen", fused=2, training=True)
class FrozenBatchNorm(nn.Module):
    """A model in train mode, one of whose batch norms stays in eval mode."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)
        self.frozen, self.live = nn.BatchNorm1d(width), nn.BatchNorm1d(width)

    def train(self, mode=True):
        super().train(mode)
        self.frozen.eval()
        return self

    def forward(self, x):
        return self.live(self.second(F.relu(self.frozen(self.first(x)))))


@register("bn_functional", fused=1, training=True)
class FunctionalBatchNorm(nn.Module):
    """F.batch_norm in training, with statistics that are the caller's."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width, bias=False)
        self.register_buffer("mean", torch.randn(width))
        self.register_buffer("variance", torch.rand(width) + 0.5)

    def forward(self, x):
        y = F.batch_norm(self.linear(x), self.mean, self.variance, training=True, momentum=0.2)
        return torch.tanh(y)


@register("bn_shared", fused=2, training=True)
class SharedBatchNorm(nn.Module):
    """One batch norm behind two linears: its statistics are updated twice."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)
        self.bn = nn.BatchNorm1d(width)

    def forward(self, x):
        return F.relu(self.bn(self.second(F.relu(self.bn(self.first(x))))))
