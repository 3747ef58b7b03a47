# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exact gelu of float32: its error everywhere, its special values, and where its coefficients come from."""

import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import tenon  # noqa: E402

ROOT = Path(__file__).parents[2]
# A last dimension that is no multiple of a vector: the remainder is computed as well.
COLUMNS = 1021
SOURCE = f"""
func.func @forward(%x: tensor<?x{COLUMNS}xf32>) -> tensor<?x{COLUMNS}xf32> {{
  %0 = tenon.gelu %x : tensor<?x{COLUMNS}xf32>
  return %0 : tensor<?x{COLUMNS}xf32>
}}
"""
# gelu-R2, the second bound
RELATIVE_ERROR = 2.0**-10


@pytest.fixture(scope="module")
def gelu():
    compiled = tenon.compile(SOURCE, "cpu")

    def call(x: np.ndarray) -> np.ndarray:
        padded = np.zeros(-(-x.size // COLUMNS) * COLUMNS, np.float32)
        padded[: x.size] = x
        return compiled(torch.from_numpy(padded.reshape(-1, COLUMNS))).numpy().ravel()[: x.size]

    return call


def dense() -> np.ndarray:
    """Return every 509th float32 of either sign from 2^-20 to 20."""
    bits = np.arange(*np.array([2.0**-20, 20.0], np.float32).view(np.uint32), 509, dtype=np.uint32)
    x = bits.view(np.float32)
    return np.concatenate([x, -x])


def test_error(gelu):
    x = dense()
    wide = x.astype(np.float64)
    exact = np.array([0.5 * v * math.erfc(-v * math.sqrt(0.5)) for v in wide.tolist()])
    error = abs(gelu(x) - exact)
    # What float32 offers by the definition, which is within gelu-R2's first bound.
    y = torch.from_numpy(x)
    by_erf = abs((0.5 * y * (1 + torch.erf(y * math.sqrt(0.5)))).numpy() - exact)
    assert error.max() <= by_erf.max()
    assert (error / abs(wide)).max() <= (by_erf / abs(wide)).max() < 2.0**-22
    tail = (wide < 0) & (wide > -5)
    assert (error[tail] / abs(exact[tail])).max() < RELATIVE_ERROR


def test_special_values(gelu):
    largest = np.finfo(np.float32).max
    pairs = [
        (0.0, 0.0),
        (-0.0, 0.0),
        (np.inf, np.inf),
        (-np.inf, np.nan),
        (np.nan, np.nan),
        (largest, largest),
        (-largest, 0.0),
        (20.0, 20.0),
        (-20.0, 0.0),
        (1e-42, 5e-43),
        (-1e-42, -5e-43),
    ]
    x, expected = np.array(pairs, np.float32).T
    np.testing.assert_array_equal(gelu(x), expected)


def test_coefficients():
    text = (ROOT / "lib/Dialect/Tenon/IR/UnaryOps.cpp").read_text()
    written = re.search(r"kLog2Tail\[\] = \{([^}]*)\}", text).group(1)
    command = [sys.executable, ROOT / "scripts/fit_gelu.py"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert np.array_equal(
        np.array([c.strip().rstrip("f") for c in written.split(",")], np.float32), np.array(printed.split(), np.float32)
    )
