# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon.split as docs/Spec.md defines it, in NumPy's float64, in which nothing of it rounds or underflows."""

import numpy as np

F32_MAX = np.finfo(np.float32).max


def columns(k: int, parts: int) -> int:
    """Return how many columns the halves of K elements have."""
    return -(-k // 8) * 8 if parts == 1 else 2 * (-(-k // 32) * 32)


def scales(x: np.ndarray) -> np.ndarray:
    """Return s of each row, as [M, 1] integers."""
    largest = np.max(x.view(np.uint32) & 0x7FFFFFFF, axis=1, keepdims=True)
    exponents = (largest >> 23).astype(np.int64)
    return np.where(largest == 0, 0, np.minimum(141 - exponents, 126))


def interleave(hi: np.ndarray, lo: np.ndarray) -> np.ndarray:
    """Return [M, 2 K] of two [M, K], 32 columns of the one and 32 of the other in turn."""
    m, k = hi.shape
    return np.stack([hi.reshape(m, k // 32, 32), lo.reshape(m, k // 32, 32)], axis=2).reshape(m, 2 * k)


def tolerance(k: int, parts: int) -> np.float32:
    """Return which part of an element of a row of K its halves may lack."""
    return np.float32(2.0**-11 if parts == 1 else 2.0**-22 * max(1.0, k / 64) ** 0.5)


def split(x: np.ndarray, parts: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the halves and factors of f32 x, and which elements are lost."""
    m, k = x.shape
    with np.errstate(over="ignore", invalid="ignore"):
        s = scales(x)
        v = np.ldexp(x.astype(np.float64), s)
        hi = v.astype(np.float16)
        rest = v - hi
        lo = rest.astype(np.float16)
        error = rest if parts == 1 else rest - lo
        bounds = [np.abs(v).astype(np.float32) * tolerance(n, parts) for n in (k, 1)]
        lost, lost_or_few = ((np.abs(error) >= bound.astype(np.float64)) & (x != 0) for bound in bounds)
    scores = 64 * lost.sum(axis=1) + 2 * (lost_or_few & ~lost).sum(axis=1) + (64 if parts == 2 else 0)
    outside = (scores > (x != 0).sum(axis=1)) & x.any(axis=1)
    outside |= ~np.isfinite(x).all(axis=1)
    factors = np.ldexp(np.where(outside[:, None], -1.0, 1.0), -s).astype(np.float32)
    width = columns(k, parts) // parts
    hi, lo = (np.pad(part, [(0, 0), (0, width - k)]) for part in (hi, lo))
    return hi if parts == 1 else interleave(hi, lo), factors, lost


def join(halves: np.ndarray, factors: np.ndarray, k: int, parts: int) -> np.ndarray:
    """Return |f| (hi + lo) in float64."""
    sums = halves.astype(np.float64)
    if parts == 2:
        sums = sums.reshape(len(halves), -1, 2, 32).sum(axis=2).reshape(len(halves), -1)
    return sums[:, :k] * np.abs(factors.astype(np.float64))


def special_rows(k: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows [M, K] of f32 of every kind that the definition tells apart, and their neighbours."""
    normal = rng.standard_normal(k)
    tiny = 2.0**-149
    rows = [
        rng.uniform(-1, 1, k),
        rng.uniform(0, 1, k),
        normal,
        np.zeros(k),
        np.full(k, -0.0),
        np.full(k, tiny),
        normal * 2.0**-130,
        normal * 2.0**-126,
        np.where(np.arange(k) == k // 2, tiny, normal),
        np.where(np.arange(k) == k // 2, 0.0, normal),
        np.where(np.arange(k) == 0, 1.0, 0.0),
        np.where(np.arange(k) == k - 1, 1e6, normal),
        np.full(k, F32_MAX),
        rng.uniform(-1, 1, k) * F32_MAX,
        np.where(np.arange(k) == k - 1, np.inf, normal),
        np.where(np.arange(k) == 0, -np.inf, normal),
        np.where(np.arange(k) == k // 3, np.nan, normal),
        np.where(np.arange(k) == k - 1, F32_MAX, tiny),
    ]
    rows += [np.exp(rng.uniform(-width, width, k)) * np.sign(normal) for width in (1, 5, 13.8)]
    rows += [normal * 10.0**exponent for exponent in range(-30, 31, 5)]
    # About as many lost elements as a row may have, and as few that are not zero.
    rows += [np.where(np.arange(k) < k // 64 + change, 1e-9, 1.0) for change in (-2, -1, 0, 1)]
    rows += [np.where(np.arange(k) < k // 2 + change, 2.0**-17.8 * (1 + 2**-11), 1.0) for change in (-33, -32, -31, 0)]
    rows += [np.where(np.arange(k) < count, normal, 0.0) for count in (1, 63, 64, 127, 128)]
    # The largest magnitude just below, at and above a power of two: where s changes, or could.
    for exponent in (-149, -127, -126, -114, -113, -112, -111, -1, 0, 1, 126, 127):
        power = 2.0**exponent
        rows += [normal / max(1, np.abs(normal).max()) * power * factor for factor in (1 - 2**-24, 1, 1 + 2**-23)]
        rows += [np.full(k, power * factor) for factor in (1 - 2**-24, 1, 1 + 2**-23)]
    with np.errstate(over="ignore"):
        return np.stack(rows).astype(np.float32)


def tie_rows(k: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows of one scale whose elements lie half way between parts, and just beside."""
    mantissas = np.array([0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF, 0x2FFF, 0x3000, 0x3001, 0x7FE000, 0x7FEFFF, 0x7FF000])
    exponents = np.arange(127 - 40, 127)
    bits = (rng.choice(exponents, (16, k)) << 23) | rng.choice(mantissas, (16, k)) | (rng.integers(0, 2, (16, k)) << 31)
    x = bits.astype(np.uint32).view(np.float32)
    x[:, 0] = 1.5
    return x
