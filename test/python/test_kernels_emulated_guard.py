# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Guarded kernels, run by the emulator of PTX: they compute what split products cannot, and leave other tiles."""

import shutil

import numpy as np
import pytest
from ptx_emulator.floats import fma64
from ptx_emulator.layers import SLOPE, Layer, Operands, mma_sync, random

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

M = 130
GUARDED = {
    "fma": Layer("sm_80", mma_sync(32, ", method = fma"), 72, 40, factors=True),
    "tf32": Layer("sm_80", mma_sync(32), 72, 40, factors=True),
    "fma_turns_both": Layer("sm_80", mma_sync(32, ", method = fma"), 72, 40, factors=True, layout="km_kn", m=M),
    "fma_turns_x": Layer("sm_80", mma_sync(32, ", method = fma"), 72, 37, factors=True, layout="km_nk", m=M),
    "tf32_turns_w": Layer("sm_80", mma_sync(32), 72, 40, factors=True, layout="mk_kn"),
}
# A row of x or w outside, what its element 7 is, and the tiles that must be computed; the row's factor, if it is not
# negative: of w it may be too small or too large for a multiplication that is exact.
NO_TILE, SECOND_OF_X, FIRST_OF_W = (slice(0), slice(0)), (slice(64, 128), slice(None)), (slice(None), slice(0, 64))
# A NaN whose only bit is one that tensor cores do not read.
LOW_NAN = np.uint32(0x7F800001).view(np.float32)
OUTSIDE = {
    "none": (None, 1.0, NO_TILE),
    "x": (("x", 70), 1e-30, SECOND_OF_X),
    "w": (("w", 5), 1e-30, FIRST_OF_W),
    "x_inf": (("x", 3), np.inf, (slice(0, 64), slice(None))),
    "w_nan": (("w", 71), LOW_NAN, (slice(None), slice(64, None))),
    "w_too_small": (("w", 5), 1.0, FIRST_OF_W, 2.0**-102),
    "w_small": (("w", 5), 1.0, NO_TILE, 2.0**-101),
    "w_large": (("w", 5), 1.0, NO_TILE, 2.0**72),
    "w_too_large": (("w", 5), 1.0, FIRST_OF_W, 2.0**73),
    "x_smallest": (("x", 70), 1.0, NO_TILE, 2.0**-126),
    "x_largest": (("x", 70), 1.0, NO_TILE, 2.0**113),
}


def add_products(x, w, columns_):
    """Return sums of fused multiply-adds in order of K, collected every so many columns."""
    sums = np.zeros((len(x), len(w)), np.float32)
    with np.errstate(all="ignore"):
        for first in range(0, x.shape[1], columns_):
            part = np.zeros_like(sums)
            for k in range(first, min(first + columns_, x.shape[1])):
                part = fma64(x[:, k, None], w[None, :, k], part).astype(np.float32)
            sums = sums + part
    return sums


@pytest.fixture(params=GUARDED)
def guarded(request, tmp_path):
    layer = GUARDED[request.param]
    return layer, layer.compile(tmp_path)


@pytest.mark.parametrize("shift", [0, 4])
@pytest.mark.parametrize("where", OUTSIDE)
def test_guard(guarded, where, shift):
    layer, model = guarded
    row, value, (rows, columns_), *factor = OUTSIDE[where]
    made = Operands.with_row_outside(layer, M, row, value, *factor)
    before = random(M, layer.n, seed=5)
    y = made.run(model, shift, before, seed=2)
    computed = np.zeros(y.shape, bool)
    computed[rows, columns_] = True
    assert made.right(y, computed)
    if layer.method == "fma":
        product = add_products(made.x, made.w, 32) + made.bias
        bits = np.where(product > 0, product, np.float32(SLOPE) * product) + made.residual
        assert np.array_equal(y[computed].astype(np.float32), bits[computed], equal_nan=True)
    assert (y == before)[~computed].all()
