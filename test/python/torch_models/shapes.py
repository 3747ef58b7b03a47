# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs of more than two dimensions, views of results, and ops in place."""

import torch
import torch.nn.functional as F
from torch import nn

from .registry import register


class Leading(nn.Module):
    """A layer over the last dimension, with a residual and a number for each feature."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.randn(width))

    def forward(self, x):
        return x + F.gelu(self.linear(x) * self.scale)


register("three_dim", fused=1, shapes=lambda batch, width: ((batch, 5, width),))(Leading)
register("four_dim", fused=1, shapes=lambda batch, width: ((batch, 2, 3, width),))(Leading)


@register("views_of_output", fused=1)
class ViewsOfOutput(nn.Module):
    """Chunks and a view of the result."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 2 * width)

    def forward(self, x):
        y = F.relu(self.linear(x))
        left, right = y.chunk(2, dim=-1)
        return left, right, y.view(y.shape[0], 2, -1)


@register("glu", fused=1)
class GatedHalves(nn.Module):
    """One layer for both halves of a gate; what is behind the halves is PyTorch's."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 4 * width)

    def forward(self, x):
        up, gate = (self.linear(x) * 0.5).chunk(2, dim=-1)
        return up * F.silu(gate)


@register("heads", fused=1, shapes=lambda batch, width: ((batch, 6, width),))
class Heads(nn.Module):
    """The result as attention takes it: split into heads and transposed."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        y = self.linear(x) * 0.125
        return y.view(*y.shape[:2], 4, -1).transpose(1, 2)


@register("in_place", fused=1)
class InPlace(nn.Module):
    """Ops in place on values of the chain."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.activation = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.linear(x)
        y.mul_(2.0)
        y += 0.5
        return F.silu(self.activation(y), inplace=True)


@register("in_place_on_input", fused=1)
class InPlaceOnInput(nn.Module):
    """The caller's tensor is changed before it is read, and again after."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        x.mul_(0.5)
        y = F.relu(self.linear(x))
        x.add_(y)
        return y


@register("in_place_on_buffer", fused=1)
class InPlaceOnBuffer(nn.Module):
    """A buffer counts calls and is an operand."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return F.relu(self.linear(x) * self.calls)


@register("layer_norm_between", fused=2)
class LayerNormBetween(nn.Module):
    """A layer norm between two layers."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.norm = nn.LayerNorm(2 * width)

    def forward(self, x):
        return F.relu(self.second(self.norm(F.relu(self.first(x)))))


@register("group_norm_between", fused=2, calls=1)
class GroupNormBetween(nn.Module):
    """A group norm between two layers."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.norm = nn.GroupNorm(2, 2 * width)

    def forward(self, x):
        return F.relu(self.second(self.norm(F.relu(self.first(x)))))


@register("softmax_head", fused=2)
class SoftmaxHead(nn.Module):
    """A classifier."""

    def __init__(self, width):
        super().__init__()
        self.hidden, self.head = nn.Linear(width, width), nn.Linear(width, 10)

    def forward(self, x):
        return torch.softmax(self.head(F.relu(self.hidden(x))), dim=-1)


class Dropout(nn.Module):
    """Dropout between two layers: nothing in eval, PyTorch's in training."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)
        self.dropout = nn.Dropout(0.4)

    def forward(self, x):
        return F.relu(self.second(self.dropout(F.relu(self.first(x)))))


register("dropout_eval", fused=2)(Dropout)
register("dropout_train", fused=2, calls=2, training=True, random=True)(Dropout)
