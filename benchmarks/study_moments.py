#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What rounding a block's mean to f32 costs batch norm, in NumPy: needs no GPU, and takes seconds.

Columns of mean 1e4 and deviation 1e-2, which f32 rounds by a tenth of a deviation: a product of x and w rounded to
tf32 or bf16, and a bias. Their variance and y, by ways to combine moments in f32, are held against float64's of the
product before it is rounded. docs/Rationale.md has the conclusion, and the table that --report writes there.

Usage: study_moments.py RESULT.json
       study_moments.py RESULT.json --report docs/Rationale.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import study

MEAN, DEVIATION = 1e4, 1e-2
ROWS, COLUMNS, K = (512, 1024, 4096, 16384), 256, 256
DROPPED_BITS = {"tf32": 13, "bf16": 16}  # of x and w
BLOCK, COMBINED, THREADS, GROUPS = 64, 8, 16, 8  # CombineMoments.cpp, KernelGeometry.cpp
PYTORCH_THREADS = 128  # of a column
BEGIN, END = "<!-- study_moments: begin -->", "<!-- study_moments: end -->"
f32 = np.float32
ZERO = f32(0)


@dataclass
class State:
    """Count, mean and M2 of columns; `rest` is what the mean lacks where it is rounded."""

    count: int
    mean: np.ndarray
    m2: np.ndarray
    rest: np.ndarray | f32 = ZERO

    def moved(self, origin: np.ndarray) -> State:
        """Return it relative to an origin."""
        return State(self.count, (self.mean - origin) + self.rest, self.m2)

    def moved_back(self, origin: np.ndarray, two_words: bool) -> State:
        """Return it where the elements are, in one word or in two."""
        mean = origin + self.mean
        return State(self.count, mean, self.m2, self.mean - (mean - origin) if two_words else ZERO)


def of_rows(rows: np.ndarray) -> State:
    """Reduce rows in two passes, relative to the first."""
    distances = rows - rows[0]
    mean = distances.sum(0) / f32(len(rows))
    return State(len(rows), mean, np.square(distances - mean).sum(0))


def chan(states: Iterable[State]) -> State:
    """Combine states one after the other."""
    first, *others = states
    for other in others:
        apart = other.mean - first.mean
        step = apart * f32(other.count / (first.count + other.count))
        m2 = first.m2 + other.m2 + apart * step * f32(first.count)
        first = State(first.count + other.count, first.mean + step, m2)
    return first


def combined(states: list[State], two_words: bool) -> State:
    """Combine states relative to the first one's mean."""
    origin = states[0].mean
    return chan(state.moved(origin) for state in states).moved_back(origin, two_words)


def two_phase(z: np.ndarray, two_words: bool) -> State:
    """Combine moments of blocks to a few, and those to one."""
    blocks = [z[row : row + BLOCK] for row in range(0, len(z), BLOCK)]
    states = [of_rows(block).moved_back(block[0], two_words) for block in blocks]
    each = -(-len(states) // COMBINED)
    return combined([combined(states[i : i + each], two_words) for i in range(0, len(states), each)], two_words)


def separate(z: np.ndarray) -> State:
    """Reduce by threads that add four rows at a time to means as large as z."""

    def add_rows(rows: np.ndarray) -> State:
        return of_rows(rows).moved_back(rows[0], two_words=False)

    of_threads = [z[thread :: GROUPS * THREADS] for thread in range(GROUPS * THREADS)]
    states = [chan(add_rows(rows[row : row + 4]) for row in range(0, len(rows), 4)) for rows in of_threads]
    return combined([chan(states[group::GROUPS]) for group in range(GROUPS)], two_words=False)


def pytorch(z: np.ndarray) -> State:
    """Reduce by Welford's rule and Chan's, as PyTorch's kernel does."""
    states = []
    for thread in range(PYTORCH_THREADS):
        state = State(0, np.zeros(z.shape[1], f32), np.zeros(z.shape[1], f32))
        for count, row in enumerate(z[thread::PYTORCH_THREADS], 1):
            apart = row - state.mean
            mean = state.mean + apart / f32(count)
            state = State(count, mean, state.m2 + apart * (row - mean))
        states.append(state)
    while len(states) > 1:
        half = len(states) // 2
        states = [chan(pair) for pair in zip(states[:half], states[half:], strict=True)]
    return states[0]


WAYS: dict[str, Callable[[np.ndarray], State]] = {
    "two_phase, one word": lambda z: two_phase(z, two_words=False),
    "two_phase, two words": lambda z: two_phase(z, two_words=True),
    "separate": separate,
    "PyTorch": pytorch,
}


def draw(rows: int, dropped: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a product in float64, and as f32 has it."""
    random = np.random.default_rng(rows)
    x, w = random.standard_normal((rows, K)), random.standard_normal((COLUMNS, K)) * DEVIATION / K**0.5
    half, kept = 1 << (dropped - 1), ~((1 << dropped) - 1) & 0xFFFFFFFF
    x, w = (((a.astype(f32).view(np.uint32) + half) & kept).view(f32).astype(np.float64) for a in (x, w))
    exact = x @ w.T + (MEAN + 10 * random.standard_normal(COLUMNS)).astype(f32)
    return exact, exact.astype(f32)


def rms(errors: np.ndarray) -> float:
    """Return the root of the mean square."""
    return float(np.sqrt(np.square(errors).mean()))


def compute() -> Iterator[dict]:
    """Compute all: rms errors, the variance's relative to it and y's as they are."""
    for kind, dropped in DROPPED_BITS.items():
        for rows in ROWS:
            exact, z = draw(rows, dropped)
            variance = exact.var(0)
            y = (exact - exact.mean(0)) / np.sqrt(variance)
            found = {name: way(z) for name, way in WAYS.items()}
            found["float64 of f32"] = State(rows, z.mean(0, dtype=np.float64), z.var(0, dtype=np.float64) * rows)
            errors = {}
            for name, state in found.items():
                got = state.m2.astype(np.float64) / rows
                off = (z - state.mean) / np.sqrt(got) - y
                errors[name] = {"variance": rms(got / variance - 1), "y": rms(off)}
            print(kind, rows, errors, flush=True)
            yield {"kind": kind, "rows": rows, "errors": errors}


def report(cases: list[dict]) -> list[str]:
    """Return the table."""
    names = list(cases[0]["errors"])
    lines = [f"| x and w | M | {' | '.join(names)} |", "| --- |" + " ---: |" * (len(names) + 1)]
    for case in cases:
        cells = [f"{error['variance']:.2%}, {error['y']:.3f}" for error in case["errors"].values()]
        lines.append(f"| {case['kind']} | {case['rows']} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    study.run(__doc__, compute, report, BEGIN, END)
