# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kernels of tenon.split on the CPU, as simulate.py does, and compares every bit with the definition.

The definition is test/python's, in NumPy. Halves start as canaries, so that no column may be left out.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy as np
from simulate import CANARY, MARGIN, WORK, Kernels, guarded
from split_resources import write_split

sys.path.insert(0, str(Path(__file__).parents[3] / "python"))
import split_reference as reference

# Padding, rows of one warp and of several, vectors of each width, rows that are read twice with and without a rest.
WIDTHS = (1, 7, 31, 32, 33, 64, 100, 1024, 1025, 1030, 8192, 16384, 36868)
ROWS = 6  # of several warps: their many threads are slow to run
NON_FINITE = 3


def choose_rows(k: int, count: int, random: np.random.Generator) -> np.ndarray:
    """Return rows of all kinds, or some of them."""
    rows = np.concatenate([reference.special_rows(k, random), reference.tie_rows(k, random)])
    if count >= len(rows):
        return rows
    is_finite = np.isfinite(rows).all(axis=1)
    chosen = random.choice(np.flatnonzero(is_finite), count - NON_FINITE, replace=False)
    return rows[np.concatenate([chosen, np.flatnonzero(~is_finite)[:NON_FINITE]])]


def is_intact(array: np.ndarray) -> bool:
    """Return whether nothing was written around `array`."""
    return bool((np.concatenate([array.base[:MARGIN], array.base[-MARGIN:]]) == CANARY).all())


def check(kernels: Kernels, name: str, k: int, parts: int) -> None:
    """Stop at the first kernel that leaves other bits than the definition, or counts other rows."""
    warps = kernels.threads(name) // 32
    rows = 1 if warps != 8 or k > 1024 else warps
    x = guarded(choose_rows(k, 1000 if rows != 1 else ROWS, np.random.default_rng(k)))
    expected, expected_factors, _ = reference.split(x, parts)
    counter = ctypes.c_uint64.in_dll(kernels.library, "tenon_rows_outside")
    # As the host launches it, and with so few groups that each takes several turns.
    for groups in (-(-len(x) // rows), 2):
        before = counter.value
        halves, factors = (guarded(np.full_like(like, CANARY)) for like in (expected, expected_factors))
        kernels.launch_blocks(name, [x, halves, factors], len(x), groups, groups)
        right = {
            "halves": np.isnan(expected) & np.isnan(halves) | (halves.view(np.uint16) == expected.view(np.uint16)),
            "factors": factors.view(np.uint32) == expected_factors.view(np.uint32),
            "count": np.array([[counter.value - before == (expected_factors < 0).sum()]]),
            "surroundings": np.array([[is_intact(halves) and is_intact(factors)]]),
        }
        for what, ok in right.items():
            if not ok.all():
                sys.exit(f"{name}, {groups} groups: {what} are wrong, first at {np.argwhere(~ok)[0]}")
    print(f"{name}: {len(x)} rows right")


def main() -> None:
    """Check all kernels."""
    WORK.mkdir(parents=True, exist_ok=True)
    splits = [(k, parts) for k in WIDTHS for parts in (1, 2)]
    kernels = Kernels("split", "".join(write_split(*split) for split in splits))
    for k, parts in splits:
        for name in kernels.names():
            if name.startswith(f"k{k}_p{parts}_"):
                check(kernels, name, k, parts)
    print("all right")


if __name__ == "__main__":
    main()
