#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""Which order of tiles leaves most of x and w in L2, simulated: needs no GPU, and takes seconds.

Clusters of 2x1 tiles of 128x256 in 16 bits, 66 at once as on an H200, take the tiles of a curve in order. Each walks
through K step by step, no more than a few steps before or behind the others. L2 keeps what was read or written last;
what it lacks comes from memory. L2 has 50 MB, but each half of it may keep a copy of its own, so 25 MB count too.
docs/Rationale.md has the conclusion, and the table that --report writes there.

Usage: study_raster.py RESULT.json
       study_raster.py RESULT.json --report docs/Rationale.md
"""

from __future__ import annotations

import math
import random
from collections import OrderedDict
from collections.abc import Iterator

import study

SHAPES = ((8192, 8192, 8192), (16384, 4096, 4096), (2048, 32768, 4096))
L2_MIB = (50, 25)
UNIT, UNITS = 256, 66  # rows and columns of a cluster's tiles; clusters at once
STEP, ELEMENT_BYTES = 256, 2  # of K that is read at a time
MOST_LAG = 4  # steps between clusters
RATE, MEMORY_RATE = 800e12, 4.1e12  # products and bytes a second of an H200
GROUPS = (4, 8, 16, 32)
BEGIN, END = "<!-- study_raster: begin -->", "<!-- study_raster: end -->"

Place = tuple[int, int]


def grouped(rows: int, columns: int, group: int) -> Iterator[Place]:
    """Walk through groups of rows, row by row within a column, as WorkPartition does."""
    for first in range(0, rows, group):
        for column in range(columns):
            for row in range(first, min(first + group, rows)):
                yield row, column


def hilbert(rows: int, columns: int) -> Iterator[Place]:
    """Walk along Hilbert's curve through squares of a power of two, one beside the other along the longer side."""
    side = 1 << (min(rows, columns) - 1).bit_length()
    curve = hilbert_square(side)
    for first_row in range(0, rows, side):
        for first_column in range(0, columns, side):
            for row, column in curve:
                if first_row + row < rows and first_column + column < columns:
                    yield first_row + row, first_column + column


def hilbert_square(side: int) -> list[Place]:
    """Return the curve from the first column's first place to its last: four of half the side, two of them turned."""
    if side == 1:
        return [(0, 0)]
    half = side // 2
    part = hilbert_square(half)
    return [
        *((column, row) for row, column in part),
        *((row, half + column) for row, column in part),
        *((half + row, half + column) for row, column in part),
        *((side - 1 - column, half - 1 - row) for row, column in part),
    ]


class Cache:
    """Memory that keeps what was used last."""

    def __init__(self, size: int) -> None:
        """Begin empty."""
        self.size, self.used, self.missed = size, 0, 0
        self.kept: OrderedDict[tuple, int] = OrderedDict()

    def use(self, name: tuple, size: int, written: bool = False) -> None:
        """Read a part of a matrix, or write it."""
        if name in self.kept:
            self.kept.move_to_end(name)
            return
        self.missed += 0 if written else size
        self.kept[name] = size
        self.used += size
        while self.used > self.size:
            self.used -= self.kept.popitem(last=False)[1]


def simulate(order: list[Place], k: int, l2_bytes: int, lags: list[int]) -> int:
    """Return the bytes of x and w that come from memory."""
    cache = Cache(l2_bytes)
    steps = math.ceil(k / STEP)
    size, tile = UNIT * STEP * ELEMENT_BYTES, UNIT * UNIT * ELEMENT_BYTES
    turns = math.ceil(len(order) / UNITS)
    for time in range(turns * steps + max(lags)):
        for unit, lag in enumerate(lags):
            turn, step = divmod(time - lag, steps)
            number = turn * UNITS + unit
            if time < lag or number >= len(order):
                continue
            row, column = order[number]
            cache.use(("x", row, step), size)
            cache.use(("w", column, step), size)
            if step == steps - 1:
                cache.use(("y", row, column), tile, written=True)
    return cache.missed


def compute() -> Iterator[dict]:
    """Simulate all."""
    draw = random.Random(1)
    lags = [draw.randint(0, MOST_LAG) for _ in range(UNITS)]
    for m, n, k in SHAPES:
        rows, columns = math.ceil(m / UNIT), math.ceil(n / UNIT)
        orders = {f"groups of {group}": list(grouped(rows, columns, group)) for group in GROUPS}
        orders["Hilbert"] = list(hilbert(rows, columns))
        for mib in L2_MIB:
            missed = {name: simulate(order, k, mib << 20, lags) for name, order in orders.items()}
            print(m, n, k, mib, missed, flush=True)
            yield {"m": m, "n": n, "k": k, "l2_mib": mib, "missed": missed}


def report(cases: list[dict]) -> list[str]:
    """Return the table."""
    names = list(cases[0]["missed"])
    lines = [f"| M×N×K | L2 | least | {' | '.join(names)} |", "| --- |" + " ---: |" * (len(names) + 2)]
    for case in cases:
        m, n, k = (case[key] for key in "mnk")
        seconds = 2 * m * n * k / RATE
        least = (m + n) * k * ELEMENT_BYTES
        missed = (least, *case["missed"].values())
        cells = [f"{size / 1e6:.0f} MB, {size / MEMORY_RATE / seconds:.0%}" for size in missed]
        lines.append(f"| {m}×{n}×{k} | {case['l2_mib']} MB | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    study.run(__doc__, compute, report, BEGIN, END)
