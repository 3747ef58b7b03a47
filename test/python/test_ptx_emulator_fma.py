# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The emulator's fused multiply-adds beside exact arithmetic: they round once, whatever cancels or underflows."""

from fractions import Fraction

import numpy as np
import pytest
from ptx_emulator.rounding import add_to_zero, fma64, fma_f64, round_down

NUMBERS = np.random.default_rng(0)


def draw(count, spread, dtype=np.float64):
    """Return a, b and c of sizes 2^-spread to 2^spread; in half of the places a b + c all but cancels."""
    a, b, c = NUMBERS.standard_normal((3, count)) * 2.0 ** NUMBERS.uniform(-spread, spread, (3, count))
    a, b = a.astype(dtype), b.astype(dtype)
    near = -(a.astype(np.float64) * b) * (1 + NUMBERS.integers(-2, 3, count) * np.finfo(dtype).eps)
    return a, b, np.where(np.arange(count) % 2, c, near).astype(dtype)


def exact(a, b, c):
    return Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))


def test_f32_rounds_to_nearest():
    a, b, c = draw(400, 1, np.float32)
    for got, *operands in zip(fma64(a, b, c).astype(np.float32), a, b, c, strict=True):
        neighbours = [np.nextafter(got, np.float32(s)) for s in (-np.inf, np.inf)]
        error = abs(Fraction(float(got)) - exact(*operands))
        assert all(abs(Fraction(float(n)) - exact(*operands)) >= error for n in neighbours)
    ties = fma64(np.float32([1 + 2**-12, 1]), np.float32([1 + 2**-12, 1]), np.float32([0, 2**-24]))
    assert ties.astype(np.float32).tolist() == [1 + 2**-11, 1.0]
    tie_and_more = fma64(np.float32([2.0**-30]), np.float32([2.0**-30]), np.float32([1.0])).astype(np.float32)
    assert tie_and_more.tolist() == [1.0]


def test_f32_rounds_down():
    a, b, c = draw(400, 1, np.float32)
    for got, *operands in zip(round_down(fma64(a, b, c)), a, b, c, strict=True):
        assert Fraction(float(got)) <= exact(*operands) < Fraction(float(np.nextafter(got, np.float32(np.inf))))
    with np.errstate(over="ignore", invalid="ignore"):
        huge = round_down(np.array([1e300, -1e300, np.nan]))
    assert np.array_equal(huge, np.float32([np.finfo(np.float32).max, -np.inf, np.nan]), equal_nan=True)


# Products that overflow and underflow, and parts of them that do, are among the last ones.
@pytest.mark.parametrize("spread", [1, 30, 300, 700])
def test_f64_rounds_once(spread):
    a, b, c = draw(1000, min(spread, 500))
    if spread > 500:
        a, c = a * 2.0**-500, c * 2.0**-500
    with np.errstate(all="ignore"):
        got = fma_f64(a, b, c)
        rounded_twice = a * b + c
    assert got.tolist() == [float(exact(*operands)) for operands in zip(a, b, c, strict=True)]
    assert (got != rounded_twice).any()


def test_f64_that_is_not_finite():
    with np.errstate(all="ignore"):
        got = fma_f64(
            np.array([np.inf, 0.0, 2.0, 1e200, -0.0]),
            np.array([1.0, np.inf, 3.0, 1e200, 3.0]),
            np.array([1.0, 1.0, -6.0, 1.0, -0.0]),
        )
    assert np.array_equal(got, [np.inf, np.nan, 0.0, np.inf, -0.0], equal_nan=True)
    assert np.signbit(got).tolist() == [False, np.signbit(got[1]), False, False, True]


def test_add_to_zero():
    a, b = (
        np.array(v, np.float32)
        for v in ([1.0, -1.0, 1.0, 0.0, np.inf, 3e38], [2**-30, -(2**-30), -(2**-30), -0.0, 1, 3e38])
    )
    with np.errstate(over="ignore", invalid="ignore"):
        got = add_to_zero(a, b)
    np.testing.assert_array_equal(
        got, np.array([1.0, -1.0, 1 - 2**-24, 0.0, np.inf, np.finfo(np.float32).max], np.float32)
    )
