#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fit the polynomials of the exact gelu; print their coefficients and what error they leave.

    .deps/venv/bin/python scripts/fit_gelu.py

They are the tables of the same names in lib/Dialect/Tenon/IR/Activations.cpp: p(t) = -1 + c1 t + c2 t^2
+ ... with 2^p(t) close to Phi(-t), the normal distribution's lower tail, for t > 0. p(0) is exact. An
error of p at t moves gelu(t) by t Phi(-t) ln(2) times as much, and gelu(-t) by ln(2) times its value. The
greatest error is made small under a weight:

- kLog2Tail, for f32: Phi(-t), and 1.5e-5 where that is less, which bounds the relative error of gelu(-t).
- kLog2TailTF32, for f32 beside products of tf32: the same, but 1e-3, so that fewer terms are enough.
- kLog2TailF16 and kLog2TailBF16: 1, so that the error of gelu(-t) is a part of its value, and below a
  floor a part of that: f16's least normal number, or where bf16 would need more terms for what is 2^-27.

Each coefficient is rounded to f32 in turn, and those after it are fitted again.
"""

from collections.abc import Callable
from dataclasses import dataclass

import mpmath  # PyTorch brings it along
import numpy as np

SAMPLES = 1200
ROUNDS = 50
TOLERANCE = 1.001
EX2_ULPS = 2  # the most by which ex2.approx.ftz.f32 is off, says the PTX manual
FLOOR_F16 = 2.0**-14
FLOOR_BF16 = 2.0**-27

mpmath.mp.dps = 30


def tail(t: float) -> mpmath.mpf:
    """Return Phi(-t)."""
    return mpmath.ncdf(-t)


@dataclass
class Fit:
    """One polynomial: where it is fitted, (0, last], and how much an error counts there."""

    name: str
    degree: int
    last: float
    weight: Callable[[mpmath.mpf], mpmath.mpf]

    def __post_init__(self) -> None:
        """Sample the range more densely at its ends."""
        self.t = [self.last * (1 - mpmath.cos(mpmath.pi * (i + 1) / SAMPLES)) / 2 for i in range(SAMPLES)]
        self.target = [mpmath.log(tail(t), 2) + 1 for t in self.t]
        self.weights = [self.weight(t) for t in self.t]

    def residual(self, coefficients: list) -> list:
        """Return what sum c_i t^i, i = 1, 2, ..., leaves of the target at each sample."""
        reversed_terms = [*reversed(coefficients), 0]
        return [y - mpmath.polyval(reversed_terms, t) for t, y in zip(self.t, self.target, strict=True)]

    def remez(self, fixed: list) -> list:
        """Return the coefficients after those that are fixed, by Remez's exchange."""
        missing = self.degree - len(fixed)
        rest = self.residual(fixed)
        nodes = [round((SAMPLES - 1) * (1 - np.cos(np.pi * i / missing)) / 2) for i in range(missing + 1)]
        for _ in range(ROUNDS):
            rows = [
                [
                    *(self.t[i] ** power for power in range(len(fixed) + 1, self.degree + 1)),
                    (-1) ** row / self.weights[i],
                ]
                for row, i in enumerate(nodes)
            ]
            *solved, level = mpmath.lu_solve(mpmath.matrix(rows), mpmath.matrix([rest[i] for i in nodes]))
            error = np.array([w * r for w, r in zip(self.weights, self.residual(fixed + solved), strict=True)], float)
            if abs(error).max() <= TOLERANCE * abs(level):
                return solved
            nodes = extrema(error, missing + 1)
        raise RuntimeError(f"{self.name}: no convergence in {ROUNDS} rounds")

    def coefficients(self) -> list[np.float32]:
        """Return all coefficients, lowest first."""
        fixed: list = []
        while len(fixed) < self.degree:
            fixed.append(mpmath.mpf(float(np.float32(float(self.remez(fixed)[0])))))
        return [np.float32(-1), *(np.float32(float(c)) for c in fixed)]


def extrema(error: np.ndarray, count: int) -> list[int]:
    """Return where the runs of one sign are greatest, of which the weaker ends are left out."""
    runs = np.split(np.arange(len(error)), np.flatnonzero(np.diff(np.sign(error))) + 1)
    found = [int(run[np.argmax(abs(error[run]))]) for run in runs]
    while len(found) > count:
        found.pop(0 if abs(error[found[0]]) < abs(error[found[-1]]) else -1)
    return found


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return a * b + c of float32, rounded once but for ties of the sum in float64."""
    return (a.astype(np.float64) * b + c).astype(np.float32)


def exp2(power: np.ndarray, ulps: int) -> np.ndarray:
    """Return 2^power as the GPU does, off by `ulps`."""
    exact = np.exp2(power.astype(np.float64)).astype(np.float32)
    exact[exact < np.finfo(np.float32).tiny] = 0
    return exact + np.float32(ulps) * np.spacing(exact)


def emulate(coefficients: list[np.float32], x: np.ndarray, ulps: int, is_short: bool) -> np.ndarray:
    """Return gelu(x) as the GPU computes it, of f32 or for results of 16 bits, with an exp2 that is off by `ulps`."""
    t = abs(x) if is_short else abs(np.minimum(x, np.float32(16)))
    power = np.full_like(t, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        power = fma(power, t, coefficient)
    below = exp2(power, ulps)
    if is_short:
        return x * abs((x > 0).astype(np.float32) - below)
    return fma(-t, below, np.maximum(x, np.float32(0)))


def errors(coefficients: list[np.float32], is_short: bool) -> dict[str, float]:
    """Return the greatest errors of gelu, each in the unit that its name tells."""
    x = np.concatenate([np.geomspace(2.0**-20, 20, 20000), -np.geomspace(2.0**-20, 20, 20000)]).astype(np.float32)
    exact = np.array([float(v * mpmath.ncdf(v)) for v in map(float, x)])
    off = (-EX2_ULPS, EX2_ULPS)
    error = np.max([abs(emulate(coefficients, x, ulps, is_short) - exact) for ulps in off], axis=0)
    return {
        "of |x|": (error / abs(x)).max(),
        "of gelu(x), x >= -5": (error / abs(exact))[x >= -5].max(),
        "of max(|gelu(x)|, 2^-14)": (error / np.maximum(abs(exact), FLOOR_F16)).max(),
        "of max(|gelu(x)|, 2^-27)": (error / np.maximum(abs(exact), FLOOR_BF16)).max(),
    }


FITS = (
    Fit("kLog2Tail", 8, 5.0, lambda t: max(tail(t), mpmath.mpf(1.5e-5))),
    Fit("kLog2TailTF32", 5, 5.0, lambda t: max(tail(t), mpmath.mpf(1e-3))),
    Fit("kLog2TailF16", 5, 5.7, lambda t: min(1, tail(t) * max(t, 1) / FLOOR_F16)),
    Fit("kLog2TailBF16", 5, 6.4, lambda t: min(1, tail(t) * max(t, 1) / FLOOR_BF16)),
)

if __name__ == "__main__":
    for fit in FITS:
        found = fit.coefficients()
        print(f"{fit.name}: {' '.join(f'{coefficient:.9g}' for coefficient in found)}")
        for unit, error in errors(found, fit.name != "kLog2Tail").items():
            print(f"  error: 2^{np.log2(error):.2f} {unit}")
