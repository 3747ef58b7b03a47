# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that no package is needed for, written as people write them."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """nanoGPT's block, whose attention is written by hand."""

    def __init__(self, width=32, heads=4, length=16):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.0))
        self.register_buffer("mask", torch.ones(length, length, dtype=torch.bool).tril())

    def attention(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.c_attn(x).split(width, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(~self.mask[:length, :length], float("-inf"))
        y = F.softmax(scores, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(batch, length, width))

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Towers(nn.Module):
    """DLRM: embeddings, a bottom and a top MLP, and all pairs' dot products between them."""

    def __init__(self, words=50, fields=4, width=16, dense=13):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(words, width, mode="sum") for _ in range(fields))
        self.bottom = nn.Sequential(nn.Linear(dense, 32), nn.ReLU(), nn.Linear(32, width), nn.ReLU())
        pairs = (fields + 1) * fields // 2
        self.top = nn.Sequential(nn.Linear(pairs + width, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())
        self.register_buffer("below", torch.tril_indices(fields + 1, fields + 1, offset=-1), persistent=False)

    def forward(self, dense, ids):
        x = self.bottom(dense)
        found = torch.stack([x, *(table(ids[:, i]) for i, table in enumerate(self.tables))], dim=1)
        products = torch.bmm(found, found.transpose(1, 2))
        return self.top(torch.cat([x, products[:, self.below[0], self.below[1]]], dim=1))


class Recurrent(nn.Module):
    """Two recurrent layers and a head on the last state."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.head = layer(16, 24, num_layers=2, batch_first=True), nn.Linear(24, 8)

    def forward(self, x):
        states, _ = self.layer(x)
        return torch.tanh(self.head(states[:, -1]))


class Scan(nn.Module):
    """A gated linear recurrence, step by step."""

    def __init__(self, width=16):
        super().__init__()
        self.gates, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        forget, value, gate = self.gates(x).chunk(3, dim=-1)
        forget = torch.sigmoid(forget)
        state, states = torch.zeros_like(x[:, 0]), []
        for t in range(x.shape[1]):
            state = forget[:, t] * state + (1 - forget[:, t]) * torch.tanh(value[:, t])
            states.append(state)
        return self.out(torch.stack(states, dim=1) * F.silu(gate))
