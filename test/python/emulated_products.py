# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products x w^T as GPUs compute them, in NumPy, each rounding where the hardware has one.

A tensor core adds a block of products and the accumulator at once: all are aligned to the largest of them and cut off
a few bits below f32's last, and so is the sum, at f32's last. Source: Khattak and Mikaitis, Accurate Models of NVIDIA
Tensor Cores, arXiv 2512.07004. Numbers near the ends of f32's range are not emulated: scale them away.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "test/python"))
import split_reference

Array = np.ndarray
GROUP = 32  # elements of a stage of 64 columns: their hi, their lo


@dataclass(frozen=True)
class TensorCore:
    """What differs between architectures."""

    f16_block: int
    """Products that are added at once; of tf32, half as many."""
    extra_bits: int
    """Kept below f32's last while they are added."""


AMPERE = TensorCore(8, 1)
HOPPER = TensorCore(16, 2)


def to_f32(a: Array) -> Array:
    """Round to f32, to nearest even; stays float64."""
    return a.astype(np.float32).astype(np.float64)


def _power_of_two(exponents: Array) -> Array:
    return ((exponents + 1023) << 52).view(np.float64)


def add_block(sums: Array, x: Array, w: Array, core: TensorCore) -> Array:
    """Add the products [M, N] of one block of columns, and truncate."""
    products = x[:, None, :] * w[None, :, :]
    largest = np.maximum(np.abs(products).max(axis=2), np.abs(sums))
    exponents = (largest.view(np.int64) >> 52) - 1023
    last = np.clip(23 + core.extra_bits - exponents, -1000, 1000)
    scales = _power_of_two(last)
    total = np.trunc(products * scales[:, :, None]).sum(axis=2) + np.trunc(sums * scales)
    total *= _power_of_two(-last)
    return (total.view(np.int64) & ~np.int64(2**29 - 1)).view(np.float64)


def multiply_add(sums: Array, x: Array, w: Array, core: TensorCore, block: int) -> Array:
    """Add the products of all columns, block by block."""
    for column in range(0, x.shape[1], block):
        sums = add_block(sums, x[:, column : column + block], w[:, column : column + block], core)
    return sums


def sgemm(x: Array, w: Array) -> Array:
    """Add products one after the other with a fused multiply-add of f32: what cuBLAS does for most shapes."""
    return fma(x, w, x.shape[1])


def fma(x: Array, w: Array, depth: int = GROUP) -> Array:
    """Do the same for `depth` elements at a time, whose sums are added in f32."""
    x, w = x.astype(np.float64), w.astype(np.float64)
    sums = np.zeros((len(x), len(w)))
    for begin in range(0, x.shape[1], depth):
        part = np.zeros_like(sums)
        for k in range(begin, min(begin + depth, x.shape[1])):
            # Two roundings, of which the first is too fine to matter.
            part = to_f32(part + x[:, k, None] * w[None, :, k])
        sums = to_f32(sums + part)
    return sums


def parts_of(x: Array, parts: int) -> tuple[list[Array], Array]:
    """Return hi, and lo with two parts, and the factors, in float64."""
    halves, factors, _ = split_reference.split(x, parts)
    halves = halves.astype(np.float64)
    if parts == 1:
        return [halves], factors.astype(np.float64)
    pairs = halves.reshape(len(x), -1, 2, GROUP)
    return [pairs[:, :, part].reshape(len(x), -1) for part in (0, 1)], factors.astype(np.float64)


def unscale(sums: Array, x_factors: Array, w_factors: Array) -> Array:
    """Multiply by the magnitudes of both factors."""
    return to_f32(sums * np.abs(x_factors * w_factors.T))


def fp16x3(x: Array, w: Array, core: TensorCore, depth: int, stage: int = GROUP) -> Array:
    """Add lo hi, hi lo and hi hi of each stage; sums of `depth` elements are promoted: added in f32, to nearest."""
    (x_hi, x_lo), x_factors = parts_of(x, 2)
    (w_hi, w_lo), w_factors = parts_of(w, 2)
    sums = np.zeros((len(x), len(w)))
    for begin in range(0, x_hi.shape[1], depth):
        part = np.zeros_like(sums)
        for at in range(begin, min(begin + depth, x_hi.shape[1]), stage):
            columns = slice(at, at + stage)
            for of_x, of_w in ((x_lo, w_hi), (x_hi, w_lo), (x_hi, w_hi)):
                part = multiply_add(part, of_x[:, columns], of_w[:, columns], core, core.f16_block)
        sums = to_f32(sums + part)
    return unscale(sums, x_factors, w_factors)


def fp16(x: Array, w: Array, core: TensorCore) -> Array:
    """Multiply rows that are rounded to f16 on a scale, in one accumulator."""
    (x_hi,), x_factors = parts_of(x, 1)
    (w_hi,), w_factors = parts_of(w, 1)
    sums = multiply_add(np.zeros((len(x), len(w))), x_hi, w_hi, core, core.f16_block)
    return unscale(sums, x_factors, w_factors)


def round_tf32(x: Array) -> Array:
    """Round to 10 bits of mantissa, to nearest, ties away from zero."""
    return ((x.view(np.uint32) + np.uint32(1 << 12)) & np.uint32(0xFFFFE000)).view(np.float32)


def tf32(x: Array, w: Array, core: TensorCore) -> Array:
    """Multiply operands that are rounded to tf32, in one accumulator."""
    x, w = (round_tf32(a).astype(np.float64) for a in (x, w))
    return multiply_add(np.zeros((len(x), len(w))), x, w, core, core.f16_block // 2)


def tf32_in_f32(x: Array, w: Array) -> Array:
    """Add the same products in f32: what precision tf32 promises."""
    return sgemm(round_tf32(x), round_tf32(w))


def replace_outside(y: Array, right: Callable[[], Array], x: Array, w: Array, parts: int) -> Array:
    """Return y with what rows outside give taken from the slower way."""
    x_factors, w_factors = (split_reference.split(a, parts)[1] for a in (x, w))
    outside = (x_factors < 0) | (w_factors.T < 0)
    return np.where(outside, right(), y) if outside.any() else y
