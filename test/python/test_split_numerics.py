# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Split products, emulated, err no more than what their precision promises."""

import emulated_products as emulated
import numpy as np
import pytest

OUTPUTS = 32


def draw(kind: str, k: int) -> list[np.ndarray]:
    rng = np.random.default_rng(k)
    shape = (OUTPUTS, k)
    made = {
        "uniform": lambda: rng.uniform(-1, 1, shape),
        "positive": lambda: rng.uniform(0, 1, shape),
        "normal": lambda: rng.standard_normal(shape),
    }[kind]
    return [made().astype(np.float32) for _ in range(2)]


def errors(y: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the max and rms error."""
    difference = y - x.astype(np.float64) @ w.astype(np.float64).T
    return np.array([np.abs(difference).max(), np.sqrt((difference**2).mean())])


def test_a_tensor_core_truncates():
    """What is added is cut off 2 bits below the last of the largest, and the sum at the last."""
    one = np.ones((1, 1))

    def add(*products: float) -> float:
        x = np.zeros((1, 16))
        x[0, : len(products)] = products
        return float(emulated.add_block(one, x, np.ones((1, 16)), emulated.HOPPER)[0, 0])

    assert add(-(2.0**-26)) == 1
    assert add(-(2.0**-25)) == 1 - 2.0**-24
    assert add(2.0**-24, 2.0**-24) == 1 + 2.0**-23
    assert add(*[2.0**-25] * 3) == 1
    assert add(*[2.0**-26] * 16) == 1
    assert add(2.0**-23 + 2.0**-24) == 1 + 2.0**-23


@pytest.mark.parametrize("kind", ["uniform", "positive", "normal"])
@pytest.mark.parametrize("k", [64, 100, 256, 1000])
def test_fp16x3_errs_less_than_sgemm(kind, k):
    x, w = draw(kind, k)
    allowed = errors(emulated.sgemm(x, w), x, w)
    for core, depth, stage in ((emulated.HOPPER, 32, 32), (emulated.HOPPER, 16, 16), (emulated.AMPERE, 16, 16)):
        assert (errors(emulated.fp16x3(x, w, core, depth, stage), x, w) < allowed).all()
    assert (errors(emulated.fma(x, w), x, w) <= allowed).all()


@pytest.mark.parametrize("k", [256, 1000])
def test_sums_that_are_rarely_promoted_err_more(k):
    x, w = draw("positive", k)
    assert (errors(emulated.fp16x3(x, w, emulated.HOPPER, 256), x, w) > errors(emulated.sgemm(x, w), x, w)).all()


@pytest.mark.parametrize(("k", "count"), [(1, 1), (8, 8), (1000, 8), (1000, 1)])
def test_few_products_err_more_and_are_guarded(k, count):
    x, w = draw("normal", k)
    x[:, count:] = 0
    y = emulated.fp16x3(x, w, emulated.HOPPER, 32)
    assert errors(y, x, w)[1] > errors(emulated.sgemm(x, w), x, w)[1]
    guarded = emulated.replace_outside(y, lambda: emulated.fma(x, w), x, w, 2)
    np.testing.assert_array_equal(guarded, emulated.fma(x, w))


@pytest.mark.parametrize("kind", ["uniform", "positive", "normal"])
@pytest.mark.parametrize("k", [1, 64, 256])
def test_fp16_errs_as_tf32_does(kind, k):
    x, w = draw(kind, k)
    for core in (emulated.HOPPER, emulated.AMPERE):
        allowed = 1.02 * errors(emulated.tf32(x, w, core), x, w)
        assert (errors(emulated.fp16(x, w, core), x, w) <= allowed).all()
