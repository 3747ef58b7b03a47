# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of 8 bits with scales of rows or of 1x128 found beside them, run by the emulator of PTX."""

import shutil

import numpy as np
import pytest
from ptx_emulator.layers import compile_layer, mma_sync, random, to_bits, to_numbers, wgmma

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

E4M3 = "f8E4M3FN"
FP8 = ", method = fp8"


def quantised(value, n, columns):
    """Return ops that quantise `value`, `[M, N]`, by groups of so many columns, and what they give."""
    t, s, q = f"tensor<?x{n}xf32>", f"tensor<?x{n // columns}xf32>", f"tensor<?x{n}x{E4M3}>"
    groups = f" {{groups = {n // columns}}}" if columns != n else ""
    repeat = f"%r = tenon.repeat_columns %s {{times = {columns}}} : {s}" if columns != n else ""
    scale = ("%r", t) if repeat else ("%s", s)
    ops = f"""
    %minus = tenon.mul {value}, -1.0 : {t}
    %abs = tenon.max {value}, %minus : {t}, {t}
    %amax = tenon.reduce_row max %abs{groups} : {t}
    %s = tenon.div %amax, 448.0 : {s}
    {repeat}
    %over = tenon.div {value}, {scale[0]} : {t}, {scale[1]}
    %q = tenon.cast %over : {t} -> {q}"""
    return ops, (q, s)


def check(got, y, error, columns):
    """Compare quantised numbers and scales with y, which may be off by `error`."""
    q, s = to_numbers(got[0], E4M3), got[1]
    groups = y.reshape(len(y), -1, columns)
    of_groups = error.reshape(groups.shape).max(-1)
    assert (np.abs(s * 448.0 - np.abs(groups).max(-1)) <= of_groups + 2.0**-20 * s * 448).all()
    scales = np.repeat(s.astype(np.float64), columns, 1)
    # Half of the last bit of three, or of what is below the smallest exponent.
    assert (np.abs(q * scales - y) <= 2.0**-4 * np.abs(y) + (2.0**-10 + 2.0**-12) * scales + 1.1 * error).all()


def layer(n, k, element, schedule, columns):
    ops, (q, s) = quantised("%1", n, columns)
    x, w, t = f"tensor<?x{k}x{element}>", f"tensor<{n}x{k}x{element}>", f"tensor<?x{n}xf32>"
    how = f"strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<{schedule}>"
    return f"""func.func @layer(%x: {x}, %w: {w}, %b: tensor<{n}xf32>) -> ({q}, {s}) {{
  %0:2 = tenon.fused_linear %x, %w : {x}, {w} epilogue(%acc: {t}, %bias = %b: tensor<{n}xf32>)
      -> ({q}, {s}) attributes {{{how}}} {{
    %1 = tenon.add %acc, %bias : {t}, tensor<{n}xf32>{ops}
    tenon.yield %q, %s : {q}, {s}
  }}
  return %0#0, %0#1 : {q}, {s}
}}"""


IN_TILE = ", reduction = in_tile"
LAYERS = {
    "of_fp8": ("sm_90a", 64, 144, E4M3, wgmma("64x64", 128, "4x1", FP8 + IN_TILE), 64, 1),
    "of_bf16": ("sm_90a", 96, 72, "bf16", wgmma("128x96", 64, "8x1", IN_TILE), 96, 1),
    "mma_sync": ("sm_80", 64, 72, "bf16", mma_sync(64, IN_TILE), 64, 1),
    "behind": ("sm_90a", 72, 144, E4M3, wgmma("64x32", 128, "4x1", FP8), 72, 2),
    "blocks_behind": ("sm_90a", 256, 144, E4M3, wgmma("64x32", 128, "4x1", FP8), 128, 2),
}


@pytest.mark.parametrize("name", LAYERS)
def test_result_of_a_layer(name, tmp_path):
    """The scales are found in the tile, or behind the product by a kernel that reads it."""
    target, n, k, element, schedule, columns, kernels = LAYERS[name]
    model = compile_layer(layer(n, k, element, schedule, columns), target, tmp_path)
    m = 70
    x, w, bias = random(m, k), random(n, k, seed=4), random(1, n, seed=1)[0]
    x, w = (to_bits(a, element) for a in (x, w))
    wide = [to_numbers(a, element) for a in (x, w)]
    got = model.call("layer", x, w, bias)
    assert len(model.launched) == kernels
    error = (np.abs(wide[0]) @ np.abs(wide[1]).T + np.abs(bias)) * 2.0**-18
    check(got, wide[0] @ wide[1].T + bias, error, columns)
    again = model.call("layer", x, w, bias)
    assert all(np.array_equal(a, b) for a, b in zip(got, again, strict=True))
