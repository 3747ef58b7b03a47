# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of 8 bits with scales of rows or of 1x128 found beside them, run by the emulator of PTX."""

import shutil

import numpy as np
import pytest
from ptx_emulator.host import Model
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


@pytest.mark.parametrize("columns", [384, 128], ids=["rows", "blocks"])
def test_kernel_of_its_own(columns, tmp_path):
    """A matrix is quantised as it is; zeros have a scale of 0 and no numbers, as a quotient of zeros has none."""
    m, n = 9, 384
    ops, (q, s) = quantised("%x", n, columns)
    text = f"func.func @forward(%x: tensor<?x{n}xf32>) -> ({q}, {s}) {{{ops}\n  return %q, %s : {q}, {s}\n}}"
    model = Model(text, "sm_90a", tmp_path)
    x = random(m, n, spread=3.0)
    x[4] = 0
    got = model.call("forward", x)
    assert len(model.launched) == 1
    zeros = np.arange(m) == 4
    assert (got[1][zeros] == 0).all() and np.isnan(to_numbers(got[0], E4M3)[zeros]).all()
    check([part[~zeros] for part in got], x[~zeros].astype(np.float64), np.zeros((m - 1, n)), columns)


def test_what_a_kernel_of_the_product_stores(tmp_path):
    """16 bits, where the product is cast to them: what follows comes with the kernel that finds the scales."""
    m, n, k = 70, 256, 144
    x, w, t = f"tensor<?x{k}x{E4M3}>", f"tensor<{n}x{k}x{E4M3}>", f"tensor<?x{n}xf32>"
    y, s, q = f"tensor<?x{n}xbf16>", "tensor<?x1xf32>", f"tensor<?x{n}x{E4M3}>"
    ops, _ = quantised("%4", n, n)
    schedule = wgmma("64x64", 128, "4x1", FP8)
    inputs = f"%x: {x}, %of_x: {s}, %w: {w}, %of_w: tensor<{n}xf32>, %b: tensor<{n}xbf16>"
    text = f"""func.func @layer({inputs}) -> ({q}, {s}) {{
  %0:2 = tenon.fused_linear %x, %w : {x}, {w}
      epilogue(%acc: {t}, %row = %of_x: {s}, %column = %of_w: tensor<{n}xf32>, %bias = %b: tensor<{n}xbf16>)
      -> ({q}, {s}) attributes {{strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<{schedule}>}} {{
    %1 = tenon.mul %acc, %row : {t}, {s}
    %2 = tenon.mul %1, %column : {t}, tensor<{n}xf32>
    %3 = tenon.cast %2 : {t} -> {y}
    %z = tenon.add %3, %bias : {y}, tensor<{n}xbf16>
    %4 = tenon.cast %z : {y} -> {t}{ops}
    tenon.yield %q, %s : {q}, {s}
  }}
  return %0#0, %0#1 : {q}, {s}
}}"""
    model = compile_layer(text, "sm_90a", tmp_path)
    x, w = (to_bits(random(rows, k, seed=seed), E4M3) for rows, seed in ((m, 0), (n, 4)))
    of_x, of_w = np.abs(random(m, 1, seed=5)) + 0.5, np.abs(random(1, n, seed=6))[0] + 0.5
    bias = to_bits(random(1, n, seed=1)[0], "bf16")
    got = model.call("layer", x, of_x, w, of_w, bias)
    assert len(model.launched) == 2
    product = to_numbers(x, E4M3) @ to_numbers(w, E4M3).T * of_x * of_w
    # bf16 rounds the product, and the sum if the value of it in f32 is left out.
    error = (np.abs(product) * 2 + np.abs(to_numbers(bias, "bf16"))) * 2.0**-8
    check(got, product + to_numbers(bias, "bf16"), error, n)


def test_rows_over_any_number(tmp_path):
    """A row's values over its largest are as IEEE 754 has them: of subnormal numbers too, zeros, infinities and NaN."""
    n, k, m = 256, 144, 12
    t, r, matrix = f"tensor<?x{n}xf32>", "tensor<?x1xf32>", f"tensor<?x{k}x{E4M3}>"
    w, schedule = f"tensor<{n}x{k}x{E4M3}>", wgmma("64x64", 128, "4x1", FP8)
    text = f"""func.func @layer(%zeros: {matrix}, %w: {w}, %x: {t}) -> {t} {{
  %0 = tenon.fused_linear %zeros, %w : {matrix}, {w} epilogue(%acc: {t}, %addend = %x: {t}) -> {t}
      attributes {{strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<{schedule}>}} {{
    %1 = tenon.add %acc, %addend : {t}, {t}
    %2 = tenon.reduce_row max %1 : {t}
    %3 = tenon.div %1, %2 : {t}, {r}
    tenon.yield %3 : {t}
  }}
  return %0 : {t}
}}"""
    x = random(m, n, spread=3.0)
    x *= np.exp2(np.array([0, -30, -70, -120, -126, -138, 30, 70, 120, 0, 0, 0], dtype=np.float32))[:, None]
    x[9], x[10, 3], x[11, 5] = 0, np.inf, np.nan
    x[0, 7] = -np.inf
    x = x.astype(np.float32)
    model = compile_layer(text, "sm_90a", tmp_path)
    zeros, w = (to_bits(np.zeros((rows, k), np.float32), E4M3) for rows in (m, n))
    (got,) = model.call("layer", zeros, w, x)
    assert len(model.launched) == 2
    with np.errstate(all="ignore"):
        wanted = x / x.max(1, keepdims=True)
    assert np.array_equal(np.isnan(got), np.isnan(wanted))
    finite = np.isfinite(wanted)
    assert (np.abs(got[finite] - wanted[finite]) <= np.spacing(np.abs(wanted[finite]))).all()
    assert np.array_equal(got[np.isinf(wanted)], wanted[np.isinf(wanted)])
