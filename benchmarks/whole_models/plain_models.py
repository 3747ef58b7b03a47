# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models in plain PyTorch, as their papers or timm have them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class MixerMlp(nn.Module):
    """Linear, GELU, linear."""

    def __init__(self, width: int, hidden: int) -> None:
        """Make the two layers."""
        super().__init__()
        self.fc1, self.act, self.fc2 = nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the result."""
        return self.fc2(self.act(self.fc1(x)))


class MixerBlock(nn.Module):
    """An MLP over tokens and one over channels, each behind a norm and with a residual."""

    def __init__(self, tokens: int, width: int, token_hidden: int, channel_hidden: int) -> None:
        """Make both."""
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.mlp_tokens, self.mlp_channels = MixerMlp(tokens, token_hidden), MixerMlp(width, channel_hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the result."""
        x = x + self.mlp_tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.mlp_channels(self.norm2(x))


class Mixer(nn.Module):
    """MLP-Mixer as timm's mixer_b16_224: patches, blocks, norm, mean over tokens, head."""

    def __init__(self, image: int, patch: int, width: int, layers: int, classes: int) -> None:
        """Make the layers."""
        super().__init__()
        tokens = (image // patch) ** 2
        self.stem = nn.Conv2d(3, width, patch, stride=patch)
        self.blocks = nn.Sequential(*(MixerBlock(tokens, width, width // 2, 4 * width) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width, eps=1e-6), nn.Linear(width, classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return a score a class."""
        x = self.stem(images).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(dim=1))


class PreNormMlp(nn.Module):
    """The feed-forward half of a transformer layer: x + fc2(gelu(fc1(norm(x))))."""

    def __init__(self, width: int, hidden: int) -> None:
        """Make the layers."""
        super().__init__()
        self.norm, self.fc1, self.fc2 = nn.LayerNorm(width), nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the result."""
        return x + self.fc2(F.gelu(self.fc1(self.norm(x))))


class SwiGlu(nn.Module):
    """Llama's feed-forward layer: down(silu(gate(x)) * up(x))."""

    def __init__(self, width: int, hidden: int) -> None:
        """Make the layers."""
        super().__init__()
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the result."""
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Projections(nn.Module):
    """What attention of Llama begins with: an RMS norm, and q, k and v of it."""

    def __init__(self, width: int, narrow: int) -> None:
        """Make the layers; k and v are narrow."""
        super().__init__()
        self.norm = nn.RMSNorm(width, eps=1e-6)
        self.q = nn.Linear(width, width, bias=False)
        self.k, self.v = nn.Linear(width, narrow, bias=False), nn.Linear(width, narrow, bias=False)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return q, k and v, which attention takes each in another way."""
        x = self.norm(x)
        return self.q(x), self.k(x), self.v(x)


class PackedGeGlu(nn.Module):
    """A gated layer whose gate and value are one projection that is cut in halves."""

    def __init__(self, width: int, hidden: int) -> None:
        """Make the layers."""
        super().__init__()
        self.proj, self.out = nn.Linear(width, 2 * hidden), nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the result."""
        value, gate = self.proj(x).chunk(2, dim=-1)
        return self.out(value * F.gelu(gate))


class Recommender(nn.Sequential):
    """Linear, batch norm and ReLU, thrice, and a score."""

    def __init__(self, features: int, widths: tuple[int, ...]) -> None:
        """Make the layers."""
        layers: list[nn.Module] = []
        for before, width in zip((features, *widths), widths, strict=False):
            layers += [nn.Linear(before, width), nn.BatchNorm1d(width), nn.ReLU()]
        super().__init__(*layers, nn.Linear(widths[-1], 1))


class Nerf(nn.Module):
    """NeRF's network: eight layers with the position again at the fifth, then density and a colour by direction."""

    def __init__(self, width: int, position: int = 63, direction: int = 27) -> None:
        """Make the layers."""
        super().__init__()
        before = [position, *[width] * 4, width + position, *[width] * 2]
        self.layers = nn.ModuleList(nn.Linear(n, width) for n in before)
        self.density, self.feature = nn.Linear(width, 1), nn.Linear(width, width)
        self.view, self.colour = nn.Linear(width + direction, width // 2), nn.Linear(width // 2, 3)

    def forward(self, position: torch.Tensor, direction: torch.Tensor) -> torch.Tensor:
        """Return colour and density of each point."""
        x = position
        for i, layer in enumerate(self.layers):
            x = F.relu(layer(torch.cat([position, x], dim=-1) if i == 5 else x))
        seen = F.relu(self.view(torch.cat([self.feature(x), direction], dim=-1)))
        return torch.cat([self.colour(seen), self.density(x)], dim=-1)


class Lora(nn.Module):
    """A frozen linear layer with a trained correction of low rank."""

    def __init__(self, width: int, rank: int, alpha: float = 32.0) -> None:
        """Make the layers; in place of peft's zeros in `up`, numbers that show errors."""
        super().__init__()
        self.base = nn.Linear(width, width).requires_grad_(False)
        self.down, self.up = nn.Linear(width, rank, bias=False), nn.Linear(rank, width, bias=False)
        self.scaling = alpha / rank

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the result."""
        return self.base(x) + self.up(self.down(x)) * self.scaling


class Classifier(nn.Module):
    """A hidden layer and the logarithm of each class's probability."""

    def __init__(self, features: int, hidden: int, classes: int) -> None:
        """Make the layers."""
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(features, hidden), nn.Linear(hidden, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logarithms."""
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=-1)


class LinearAct(nn.Module):
    """leaky_relu(2 * linear(x))."""

    def __init__(self, width: int) -> None:
        """Make the layer."""
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the result."""
        return F.leaky_relu(self.linear(x) * 2.0, negative_slope=0.1)


class LinearNorm(nn.Module):
    """A linear layer, a scale a feature, and batch norm."""

    def __init__(self, width: int) -> None:
        """Make the layers; the scale is not 1, which would show nothing."""
        super().__init__()
        self.linear, self.norm = nn.Linear(width, width), nn.BatchNorm1d(width)
        self.scale = nn.Parameter(torch.randn(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the result."""
        return self.norm(self.linear(x) * self.scale)
