# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the examples share: arguments, and a comparison of two functions of one input."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable

import torch


def parse_arguments(description: str, batch: int, features: int) -> argparse.Namespace:
    """Return --batch, --features and --device; the real sizes on a GPU, and smaller ones without."""
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--batch", type=int, default=batch if gpu else 128)
    parser.add_argument("--features", type=int, default=features if gpu else 512)
    parser.add_argument("--device", default="cuda" if gpu else "cpu")
    return parser.parse_args()


def report(eager: Callable, fused: Callable, x: torch.Tensor) -> None:
    """Call both and print shapes, the largest difference and, on a GPU, times."""
    with torch.no_grad():
        expected, y = eager(x), fused(x)
        difference = (y - expected).abs().max().item()
        print(f"{tuple(x.shape)} -> {tuple(y.shape)} {y.dtype} on {y.device}")
        print(f"largest difference: {difference:.1e}, of values up to {expected.abs().max().item():.1f}")
        if x.is_cuda:
            before, after = median_times([eager, fused], x)
            print(f"eager {before:.3f} ms, fused {after:.3f} ms, {before / after:.2f} times as fast")


def median_times(functions: list[Callable], x: torch.Tensor, rounds: int = 30) -> list[float]:
    """Return the median time of each in milliseconds; they take turns."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, taken in zip(functions, times, strict=True):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            function(x)
            end.record()
            end.synchronize()
            taken.append(start.elapsed_time(end))
    return [statistics.median(taken) for taken in times]
