#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of fp32 batch norm by moments of x and w, emulated: needs no GPU, and takes two minutes.

y is normalised by the exact product's statistics (`input_moments`) or by those of the product as it was computed
(`two_phase`), which err with it. Both products are those of method fp16x3 as emulated_products.py has them. Errors of
y against float64 are relative to those of SGEMM's product normalised by its own statistics, as PyTorch does it, and
for `input_moments` also to those of SGEMM's product normalised by exact statistics, which is what the precision of the
product alone promises. The share of the row of x that is farthest from the mean, in the sum of all rows' squared
distances, is the cheapest number that could tell where one row decides the variance.
docs/Rationale.md has the conclusions, and the table that --report writes there.

Usage: study_input_moments.py RESULT.json
       study_input_moments.py RESULT.json --report docs/Rationale.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import emulated_products as emulated
import numpy as np
import study
from study_split import four

Array = np.ndarray
M, N, EPS = 1024, 48, 1e-5
EXTENTS = [64, 128, 256]
BEGIN, END = "<!-- study_input_moments: begin -->", "<!-- study_input_moments: end -->"


def shifted(shift: float) -> Callable:
    """Return what draws x about `shift`."""
    return lambda draw, k: (draw.standard_normal((M, k)) + shift, draw.uniform(-1, 1, (N, k)) / k**0.5)


def by_column(draw: np.random.Generator, k: int) -> tuple[Array, Array]:
    """Draw x's columns about means of about 1000."""
    x, w = shifted(0)(draw, k)
    return x + 1000 * draw.standard_normal((1, k)), w


def one_sign(draw: np.random.Generator, k: int) -> tuple[Array, Array]:
    """Draw x about 1000, w of one sign."""
    x, w = shifted(1000)(draw, k)
    return x, np.abs(w)


def large_columns(draw: np.random.Generator, k: int) -> tuple[Array, Array]:
    """Draw columns of z of mean 1e4 and deviation 1e-2."""
    x, w = shifted(0)(draw, k)
    x[:, -1], w[:, -1] = 1, 0
    w *= 1e-2 / (x @ w.T).std(0)[:, None]
    w[:, -1] = 1e4
    return x, w


def common_factor(draw: np.random.Generator, k: int) -> tuple[Array, Array]:
    """Draw rows of x about 1000 times a number, to which w is orthogonal."""
    x, w = shifted(0)(draw, k)
    return x + 1000 * draw.standard_normal((M, 1)), w - w.mean(1, keepdims=True)


def one_large_row(draw: np.random.Generator, k: int) -> tuple[Array, Array]:
    """Draw x normal but for one row, 1e4 times as large, which alone decides on the variance."""
    x, w = shifted(0)(draw, k)
    x[0] *= 1e4
    return x, w


def one_large_element(draw: np.random.Generator, k: int) -> tuple[Array, Array]:
    """Draw a column of x that is 0 but for one row, where it is as large as others, and which w weighs most."""
    x, w = shifted(0)(draw, k)
    x[:, 0], w[:, 0] = 0, 1e4
    x[0, 0] = 1
    return x, w


DATA = {
    "normal": shifted(0),
    **{f"x about {shift:g}": shifted(shift) for shift in (1, 10, 100, 1000, 10000)},
    "x's columns about 1000 N(0, 1)": by_column,
    "x about 1000, w of one sign": one_sign,
    "z about 1e4, of deviation 1e-2": large_columns,
    "rows of x about 1000 N(0, 1), w orthogonal": common_factor,
    "one row of x 1e4 times as large": one_large_row,
    "a column of x that is 0 but in one row, its weight 1e4": one_large_element,
}


def normalise(z: Array, of: Array) -> Array:
    """Return z less the mean of `of`, over its deviation, in f32."""
    scale = np.float32(1 / np.sqrt(of.var(0) + EPS))
    return ((z.astype(np.float32) - np.float32(of.mean(0))) * scale).astype(np.float64)


def measure(x: Array, w: Array) -> dict:
    """Return y's rms and largest error of each way, and of PyTorch's."""
    x, w = x.astype(np.float32), w.astype(np.float32)
    exact = x.astype(np.float64) @ w.astype(np.float64).T
    wanted = (exact - exact.mean(0)) / np.sqrt(exact.var(0) + EPS)
    sgemm, split = emulated.sgemm(x, w), emulated.fp16x3(x, w, emulated.HOPPER, emulated.GROUP)
    results = {
        "pytorch": normalise(sgemm, sgemm),
        "two_phase": normalise(split, split),
        "input_moments": normalise(split, exact),
        "sgemm, exact statistics": normalise(sgemm, exact),
    }
    errors = {name: np.abs(y - wanted) for name, y in results.items()}
    return {name: {"rms": four((e**2).mean() ** 0.5), "max": four(e.max())} for name, e in errors.items()}


def largest_share(x: Array) -> float:
    """Return the part that the row farthest from the mean has in all rows' squared distances from it."""
    squares = ((x - x.mean(0)) ** 2).sum(1)
    return four(squares.max() / squares.sum())


def compute() -> Iterator[dict]:
    """Give the cases, one at a time."""
    for name, drawn in DATA.items():
        for k in EXTENTS:
            print(name, k, flush=True)
            x, w = drawn(np.random.default_rng(k), k)
            yield {"data": name, "k": k, "errors": measure(x, w), "share": largest_share(x)}


def cell(cases: list[dict], method: str, over: str = "pytorch") -> str:
    """Return the worst rms and largest error over those of another way."""
    worst = (max(case["errors"][method][of] / case["errors"][over][of] for case in cases) for of in ("rms", "max"))
    return " / ".join(f"{ratio:.2f}" for ratio in worst)


def report(cases: list[dict]) -> list[str]:
    """Return the table: one row a kind of data, the worst over K."""
    rows = []
    for name in dict.fromkeys(case["data"] for case in cases):
        mine = [case for case in cases if case["data"] == name]
        largest = max(case["errors"]["pytorch"]["rms"] for case in mine)
        cells = [cell(mine, "two_phase"), cell(mine, "input_moments")]
        cells.append(cell(mine, "input_moments", "sgemm, exact statistics"))
        share = max(case["share"] for case in mine)
        rows.append(f"| {name} | {largest:.1e} | {' | '.join(cells)} | {share:.3f} |")
    names = [
        "data",
        "PyTorch's rms",
        "two_phase, rms / max",
        "input_moments",
        "the same over SGEMM by exact statistics",
    ]
    return [f"| {' | '.join([*names, 'largest share of a row'])} |", "| --- | --- | --- | --- | --- | --- |", *rows]


if __name__ == "__main__":
    np.seterr(all="ignore")
    study.run(__doc__, compute, report, BEGIN, END)
