# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon.round_tf32 rounds every value right to the last bit, on the CPU."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import tenon  # noqa: E402

SOURCE = """
func.func @forward(%x: tensor<?x24xf32>, %v: tensor<5xf32>) -> (tensor<?x24xf32>, tensor<5xf32>) {
  %0 = tenon.round_tf32 %x : tensor<?x24xf32>
  %1 = tenon.round_tf32 %v : tensor<5xf32>
  return %0, %1 : tensor<?x24xf32>, tensor<5xf32>
}
"""
LARGEST = np.finfo(np.float32).max


def every_value() -> np.ndarray:
    """Return each sign, exponent and mantissa of tf32 with what lies at it, half way and around."""
    prefixes = np.arange(2**19, dtype=np.uint32) << 13
    offsets = np.array([0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF], np.uint32)
    return (prefixes[:, None] + offsets).reshape(-1, 24).view(np.float32)


def exact(x: np.ndarray) -> np.ndarray:
    """Return x in float64, rounded to 11 significant bits, multiples of 2^-136 at least, ties away from zero."""
    wide = x.astype(np.float64)
    last = np.exp2(np.maximum(np.frexp(wide)[1] - 11, -136).astype(np.float64))
    rounded = np.copysign(np.floor(np.abs(wide) / last + 0.5) * last, wide)
    return np.where(np.abs(rounded) > LARGEST, np.copysign(np.inf, wide), rounded)


def test_every_value():
    x = every_value()
    v = np.array([LARGEST, -np.inf, np.nan, -0.0, 1 + 2**-11], np.float32)
    results = tenon.compile(SOURCE, "cpu")(torch.from_numpy(x), torch.from_numpy(v))
    for given, result in zip((x, v), results, strict=True):
        got = result.numpy()
        with np.errstate(invalid="ignore"):
            expected = exact(given).astype(np.float32)
        isnan = np.isnan(given)
        np.testing.assert_array_equal(np.isnan(got), isnan)
        np.testing.assert_array_equal(got.view(np.uint32)[~isnan], expected.view(np.uint32)[~isnan])
    assert results[1].tolist()[4] == 1 + 2**-10  # a tie
