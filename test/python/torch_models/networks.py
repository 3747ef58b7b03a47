# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of real networks."""

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import nn

from .registry import register


@register("transformer_mlp", fused=2, shapes=lambda batch, width: ((batch, 7, width),), real=(16, 4096))
class TransformerMLP(nn.Module):
    """The feed-forward block of a transformer, ahead of which is its layer norm."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.dropout(self.down(F.gelu(self.up(self.norm(x)))))


@register("gated_mlp", fused=3, shapes=lambda batch, width: ((batch, 7, width),), real=(16, 4096))
class GatedMLP(nn.Module):
    """The feed-forward block of newer language models: RMS norm, silu gate, residual."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.RMSNorm(width)
        hidden = 8 * width // 3 // 8 * 8
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        y = self.norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


@register("autoencoder", fused=4)
class Autoencoder(nn.Module):
    """Four layers down and up again; the code is returned too."""

    def __init__(self, width):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(width, width // 2), nn.LeakyReLU(0.1), nn.Linear(width // 2, width // 4), nn.Tanh()
        )
        self.decoder = nn.Sequential(
            nn.Linear(width // 4, width // 2), nn.LeakyReLU(0.1), nn.Linear(width // 2, width), nn.Sigmoid()
        )

    def forward(self, x):
        code = self.encoder(x)
        return self.decoder(code), code


@register("recommender_mlp", fused=3, shapes=lambda batch, width: ((batch, 13),), real=(16384, 1024))
class RecommenderMLP(nn.Module):
    """The bottom MLP of a recommender: 13 dense features, whose logarithms are taken first."""

    def __init__(self, width):
        super().__init__()
        sizes = (13, width, width // 2, width // 4)
        layers = [nn.Sequential(nn.Linear(k, n), nn.ReLU()) for k, n in pairwise(sizes)]
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(torch.log1p(F.relu(x)))


@register("projection_head", fused=2, training=True)
class ProjectionHead(nn.Module):
    """The head of contrastive learning: layer, batch norm, relu, layer, unit length."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, width, bias=False), nn.Linear(width, width // 2)
        self.bn = nn.BatchNorm1d(width)

    def forward(self, x):
        return F.normalize(self.second(F.relu(self.bn(self.first(x)))), dim=-1)


@register("low_rank_adapter", fused=3)
class LowRankAdapter(nn.Module):
    """A frozen layer plus a product of two thin matrices, scaled."""

    def __init__(self, width):
        super().__init__()
        self.frozen = nn.Linear(width, width).requires_grad_(False)
        self.down, self.up = nn.Linear(width, 8, bias=False), nn.Linear(8, width, bias=False)

    def forward(self, x):
        return self.frozen(x) + 2.0 * self.up(self.down(x))


@register("policy", fused=4)
class Policy(nn.Module):
    """Actor and critic on one trunk, with a bounded action."""

    def __init__(self, width):
        super().__init__()
        self.trunk, self.hidden = nn.Linear(width, width), nn.Linear(width, width)
        self.mean, self.value = nn.Linear(width, 6), nn.Linear(width, 1)
        self.log_std = nn.Parameter(torch.zeros(6))

    def forward(self, x):
        y = torch.tanh(self.hidden(torch.tanh(self.trunk(x))))
        mean = 2.0 * torch.tanh(self.mean(y))
        return mean, torch.exp(self.log_std).expand_as(mean), self.value(y).squeeze(-1)
