# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of 16 and 64 bits, and of several types at once."""

import torch
import torch.nn.functional as F
from torch import nn

from .registry import register


@register("bf16", fused=2, dtype=torch.bfloat16)
@register("f16", fused=2, dtype=torch.float16)
@register("f64", fused=2, dtype=torch.float64)
class Typed(nn.Module):
    """Two layers with several ops."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.scale = nn.Parameter(torch.randn(2 * width))

    def forward(self, x):
        hidden = F.gelu(self.first(x) * self.scale + 0.5)
        return x + F.silu(self.second(hidden))


@register("bf16_batch_norm", fused=1, dtype=torch.bfloat16, training=True)
@register("f64_batch_norm", fused=1, dtype=torch.float64, training=True)
class TypedBatchNorm(nn.Module):
    """Batch norm whose parameters and statistics have the layer's type."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.bn = nn.BatchNorm1d(width)

    def forward(self, x):
        return F.relu(self.bn(self.linear(x)))


@register("bf16_batch_norm_f32", fused=1, dtype=torch.bfloat16, mixed=True, training=True)
class WideBatchNorm(TypedBatchNorm):
    """A layer of 16 bits whose batch norm is f32, as mixed-precision training has it."""

    def __init__(self, width):
        super().__init__(width)
        self.linear.bfloat16()


@register("promoted", fused=1, dtype=torch.bfloat16, mixed=True)
class Promoted(nn.Module):
    """A bf16 layer times an f32 parameter, which is f32, plus a bf16 one, which stays f32."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width, dtype=torch.bfloat16)
        self.scale = nn.Parameter(torch.randn(width))
        self.shift = nn.Parameter(torch.randn(width, dtype=torch.bfloat16))
        self.factor = nn.Parameter(torch.tensor(0.3))

    def forward(self, x):
        # A 0-d tensor does not promote.
        return F.relu(self.linear(x) * self.factor * self.scale + self.shift)


@register("cast", fused=1, dtype=torch.float16, mixed=True)
class Cast(nn.Module):
    """An f16 layer whose chain is f32 in the middle."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width, dtype=torch.float16)

    def forward(self, x):
        return (F.silu(self.linear(x).float()) * 3.0).to(x.dtype)
