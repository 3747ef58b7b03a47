# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare the inputs that tenon-run made, by seed 7, with the same in Python."""

import sys
from pathlib import Path

import numpy as np

MASK = 2**64 - 1
STEP = 0x9E3779B97F4A7C15


def mix(x: int) -> int:
    """Return SplitMix64's output function of a state."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def numbers(name: str, seed: int, count: int) -> np.ndarray:
    """Return the uniform numbers in [-1, 1) of an activation."""
    start = mix((seed + STEP) & MASK)
    for letter in name.encode():
        start = (mix(start ^ letter) + STEP) & MASK
    return np.array([-1 + 2 * (mix((start + i * STEP) & MASK) >> 11) * 2.0**-53 for i in range(count)])


folder = Path(sys.argv[1])
half, bits, double, single = (np.load(folder / f"{name}_out.npy") for name in "abcd")
assert (double == numbers("c", 7, 6).reshape(2, 3)).all()
assert single == np.float32(numbers("d", 7, 1)[0])
assert (half == numbers("a", 7, 3).astype(np.float32).astype(np.float16)).all()
brain = (bits.astype(np.uint32) << 16).view(np.float32)
assert np.abs(brain - numbers("b", 7, 3)).max() <= 2.0**-9
