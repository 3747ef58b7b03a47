# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Guarded kernels, run by the emulator of PTX: they compute what split products cannot, and leave other tiles."""

import shutil

import numpy as np
import pytest
from ptx_emulator.floats import fma64
from ptx_emulator.layers import SLOPE, Layer, Operands, mma_sync, random

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

GUARDED = {
    "fma": Layer("sm_80", mma_sync(32, ", method = fma"), 72, 40, factors=True),
    "tf32": Layer("sm_80", mma_sync(32), 72, 40, factors=True),
}
# A row of x or w outside, what its element 7 is, and the tiles that must be computed.
# A NaN whose only bit is one that tensor cores do not read.
LOW_NAN = np.uint32(0x7F800001).view(np.float32)
OUTSIDE = {
    "none": (None, 1.0, (slice(0), slice(0))),
    "x": (("x", 70), 1e-30, (slice(64, 128), slice(None))),
    "w": (("w", 5), 1e-30, (slice(None), slice(0, 64))),
    "x_inf": (("x", 3), np.inf, (slice(0, 64), slice(None))),
    "w_nan": (("w", 71), LOW_NAN, (slice(None), slice(64, None))),
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


@pytest.fixture(scope="module", params=GUARDED)
def guarded(request, tmp_path_factory):
    layer = GUARDED[request.param]
    return layer, layer.compile(tmp_path_factory.mktemp("guarded"))


@pytest.mark.parametrize("shift", [0, 4])
@pytest.mark.parametrize("where", OUTSIDE)
def test_guard(guarded, where, shift):
    layer, model = guarded
    row, value, (rows, columns_) = OUTSIDE[where]
    m = 130
    made = Operands.with_row_outside(layer, m, row, value)
    before = random(m, layer.n, seed=5)
    y = made.run(model, shift, before, seed=2)
    computed = np.zeros(y.shape, bool)
    computed[rows, columns_] = True
    assert made.right(y, computed)
    if layer.method == "fma":
        product = add_products(made.x, made.w, 32) + made.bias
        bits = np.where(product > 0, product, np.float32(SLOPE) * product) + made.residual
        assert np.array_equal(y[computed].astype(np.float32), bits[computed], equal_nan=True)
    assert (y == before)[~computed].all()
