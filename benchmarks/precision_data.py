# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data of products in f32, from kind to cruel: what bench_precision.py measures errors on."""

from __future__ import annotations

from collections.abc import Callable

import torch

Pair = tuple[torch.Tensor, torch.Tensor]


class Draw:
    """Random matrices of f32; the same for the same seed."""

    def __init__(self, seed: int, device: str) -> None:
        """Begin."""
        self._device = device
        self._generator = torch.Generator(device).manual_seed(seed)

    def uniform(self, rows: int, columns: int, low: float = -1.0, high: float = 1.0) -> torch.Tensor:
        """Return uniform numbers."""
        drawn = torch.rand(rows, columns, device=self._device, generator=self._generator)
        return drawn.mul_(high - low).add_(low)

    def normal(self, rows: int, columns: int) -> torch.Tensor:
        """Return normal numbers."""
        return torch.randn(rows, columns, device=self._device, generator=self._generator)

    def columns(self, rows: int, limit: int) -> torch.Tensor:
        """Return a random column for each row."""
        return torch.randint(0, limit, (rows, 1), device=self._device, generator=self._generator)


def kernelbench(draw: Draw, m: int, n: int, k: int) -> Pair:
    """Draw x in [0, 1), w as PyTorch initialises a linear layer."""
    return draw.uniform(m, k, 0.0), draw.uniform(n, k, -(k**-0.5), k**-0.5)


def uniform(draw: Draw, m: int, n: int, k: int) -> Pair:
    """Draw both in [-1, 1)."""
    return draw.uniform(m, k), draw.uniform(n, k)


def positive(draw: Draw, m: int, n: int, k: int) -> Pair:
    """Draw both in [0, 1): every addition goes the same way."""
    return draw.uniform(m, k, 0.0), draw.uniform(n, k, 0.0)


def normal(draw: Draw, m: int, n: int, k: int) -> Pair:
    """Draw both normal."""
    return draw.normal(m, k), draw.normal(n, k)


def log_uniform(draw: Draw, m: int, n: int, k: int) -> Pair:
    """Draw magnitudes from 1e-6 to 1e6, all powers alike, of both signs."""

    def wide(rows: int) -> torch.Tensor:
        return torch.pow(10.0, draw.uniform(rows, k, -6.0, 6.0)) * draw.uniform(rows, k).sign()

    return wide(m), wide(n)


def scaled_rows(draw: Draw, m: int, n: int, k: int) -> Pair:
    """Draw both normal, each row of x times a power of ten from 1e-30 to 1e30."""
    scales = torch.pow(10.0, draw.uniform(m, 1, -30.0, 30.0).double())
    return (draw.normal(m, k) * scales).float(), draw.normal(n, k)


def outliers(draw: Draw, m: int, n: int, k: int) -> Pair:
    """Draw both normal, one element of each row of x a million times as large."""
    x = draw.normal(m, k)
    return x.scatter_(1, at := draw.columns(m, k), x.gather(1, at) * 1e6), draw.normal(n, k)


def denormal(draw: Draw, m: int, n: int, k: int) -> Pair:
    """Draw both normal, x times 1e-39, below f32's smallest normal number; each eighth row of x is zero."""
    x = (draw.normal(m, k).double() * 1e-39).float()
    x[::8] = 0.0
    return x, draw.normal(n, k)


DISTRIBUTIONS: dict[str, Callable[[Draw, int, int, int], Pair]] = {
    made.__name__: made
    for made in (kernelbench, uniform, positive, normal, log_uniform, scaled_rows, outliers, denormal)
}
