# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fused multiply-adds that round once, and roundings that NumPy does not have."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

SPLITTER = np.float64(2**27 + 1)
# Between these, a product and its error are exact in float64; others are rare, and computed one by one.
SMALLEST, LARGEST = 2.0**-480, 2.0**480


def to_odd(value: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return value + error, float64, with an odd last bit unless exact: a later rounding is then right."""
    if not error.any():
        return value
    bits = np.atleast_1d(value).view(np.int64)
    inexact = (error != 0) & np.isfinite(value) & (bits & 1 == 0)
    step = np.where((error > 0) == (value > 0), 1, -1)
    return np.where(inexact, bits + step, bits).view(np.float64)


def add_exactly(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a + b, and what it leaves out."""
    total = np.asarray(a + b)
    part = total - a
    return total, (a - (total - part)) + (b - part)


def multiply_exactly(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a b of float64, and what it leaves out."""
    product = np.asarray(a * b)
    (a_high, a_low), (b_high, b_low) = ((SPLITTER * v - (SPLITTER * v - v), v) for v in (a, b))
    a_low, b_low = a_low - a_high, b_low - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def fma64(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return a b + c of numbers whose product float64 holds, to be rounded to a shorter type."""
    product, c = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    return to_odd(*add_exactly(product, c))


def fma_f64(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return a b + c of float64, rounded once: what two sums leave out is added before the last rounding, to odd."""
    a, b, c = np.broadcast_arrays(*(np.asarray(v, np.float64) for v in (a, b, c)))
    product, error = multiply_exactly(a, b)
    low, lowest = add_exactly(c, error)
    total, rest = add_exactly(product, low)
    result = np.where(error == 0, product + c, total + to_odd(*add_exactly(rest, lowest)).reshape(rest.shape))
    large = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.abs(c))
    small = np.minimum(np.where(a == 0, 1.0, np.abs(a)), np.where(b == 0, 1.0, np.abs(b)))
    for i in zip(*np.nonzero(~((large < LARGEST) & (small > SMALLEST))), strict=True):
        result[i] = fma_of_any(float(a[i]), float(b[i]), float(c[i]))
    return result


def fma_of_any(a: float, b: float, c: float) -> float:
    """Return a b + c, rounded once."""
    if not np.isfinite([a, b, c]).all() or a == 0 or b == 0:
        return float(np.float64(a) * np.float64(b) + np.float64(c))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def f64_to_f32_odd(a: np.ndarray) -> np.ndarray:
    near = a.astype(np.float32)
    bits = near.view(np.int32)
    wide = near.astype(np.float64)
    step = np.where((wide > a) == (near > 0), -1, 1)
    return np.where((wide != a) & np.isfinite(near) & (bits & 1 == 0), bits + step, bits).view(np.float32)


def round_down(a: np.ndarray) -> np.ndarray:
    """Round float64 to the next f32 that is not above it."""
    near = a.astype(np.float32)
    return np.where(near.astype(np.float64) > a, np.nextafter(near, np.float32(-np.inf)), near)


def add_to_zero(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a + b of f32, rounded to the next f32 that is not farther from 0."""
    total = to_odd(*add_exactly(a.astype(np.float64), b.astype(np.float64)))
    near = total.astype(np.float32)
    return np.where(np.abs(near.astype(np.float64)) > np.abs(total), np.nextafter(near, np.float32(0)), near)
