#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fit the polynomial of the exact f32 gelu and print its coefficients.

They are kLog2Tail in lib/Dialect/Tenon/IR/UnaryOps.cpp: p(t) = -1 + c1 t + ... + c8 t^8 with
2^p(t) close to Phi(-t), the normal distribution's lower tail, for 0 < t <= 5. p(0) is exact. An
error of p at t moves gelu(t) by t Phi(-t) ln(2) times as much, and gelu(-t) by ln(2) times its
value. So the greatest error is made small weighted by Phi(-t), and by FLOOR where that is less,
which bounds the relative error of gelu(-t).

Each coefficient is rounded to f32 in turn, and those after it are fitted again.
"""

import mpmath  # PyTorch brings it along
import numpy as np

DEGREE = 8
LAST = 5.0
FLOOR = 1.5e-5
SAMPLES = 1200
ROUNDS = 50
TOLERANCE = 1.001

mpmath.mp.dps = 30
T = [LAST * (1 - mpmath.cos(mpmath.pi * (i + 1) / SAMPLES)) / 2 for i in range(SAMPLES)]
TARGET = [mpmath.log(mpmath.ncdf(-t), 2) + 1 for t in T]
WEIGHT = [max(mpmath.ncdf(-t), FLOOR) for t in T]


def residual(coefficients: list) -> list:
    """Return what sum c_i t^i, i = 1, 2, ..., leaves of the target at each sample."""
    reversed_terms = [*reversed(coefficients), 0]
    return [y - mpmath.polyval(reversed_terms, t) for t, y in zip(T, TARGET, strict=True)]


def extrema(error: np.ndarray, count: int) -> list[int]:
    """Return where the runs of one sign are greatest, of which the weaker ends are left out."""
    runs = np.split(np.arange(len(error)), np.flatnonzero(np.diff(np.sign(error))) + 1)
    found = [int(run[np.argmax(abs(error[run]))]) for run in runs]
    while len(found) > count:
        found.pop(0 if abs(error[found[0]]) < abs(error[found[-1]]) else -1)
    return found


def remez(fixed: list) -> list:
    """Return the coefficients after those that are fixed, by Remez's exchange."""
    missing = DEGREE - len(fixed)
    rest = residual(fixed)
    nodes = [round((SAMPLES - 1) * (1 - np.cos(np.pi * i / missing)) / 2) for i in range(missing + 1)]
    for _ in range(ROUNDS):
        rows = [
            [*(T[i] ** power for power in range(len(fixed) + 1, DEGREE + 1)), (-1) ** row / WEIGHT[i]]
            for row, i in enumerate(nodes)
        ]
        *solved, level = mpmath.lu_solve(mpmath.matrix(rows), mpmath.matrix([rest[i] for i in nodes]))
        error = np.array([w * r for w, r in zip(WEIGHT, residual(fixed + solved), strict=True)], float)
        if abs(error).max() <= TOLERANCE * abs(level):
            return solved
        nodes = extrema(error, missing + 1)
    raise RuntimeError(f"no convergence in {ROUNDS} rounds")


def fit() -> list[np.float32]:
    """Return all coefficients, lowest first."""
    fixed: list = []
    while len(fixed) < DEGREE:
        fixed.append(mpmath.mpf(float(np.float32(float(remez(fixed)[0])))))
    return [np.float32(-1), *(np.float32(float(c)) for c in fixed)]


if __name__ == "__main__":
    for coefficient in fit():
        print(f"{coefficient:.9g}")
