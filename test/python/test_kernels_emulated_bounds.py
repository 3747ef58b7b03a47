# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Long epilogues of wgmma kernels, run by the emulator of PTX: gelu, residual, and bounds of results of 16 bits."""

import math
import shutil

import numpy as np
import pytest
from ptx_emulator.host import ELEMENTS, Model
from ptx_emulator.layers import random, to_bits, to_numbers, wgmma

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

M, N, K = 70, 48, 72
# No number of 16 bits: what is bounded is rounded before.
LOW, HIGH = -0.3, 0.7
SCHEDULES = {"cooperative": wgmma("128x16", 64, "8x1"), "ping_pong": wgmma("64x48", 64, "4x1", ", ping_pong = true")}


def source(element, schedule):
    """Return three results of gelu(x w^T + b) + r: within bounds, not below 0, and at the upper bound of two."""
    x, w, b = f"memref<{M}x{K}x{element}>", f"memref<{N}x{K}x{element}>", f"memref<{N}x{element}>"
    y, t = f"memref<{M}x{N}x{element}>", f"tensor<{M}x{N}x{element}>"
    return f"""
func.func @layer(%x: {x}, %w: {w}, %b: {b}, %r: {y}, %y: {y}, %z: {y}, %v: {y}) {{
  tenon.tiled_linear %x, %w : {x}, {w}
      epilogue(%acc: {t}, %bias = %b: {b}, %res = %r: {y}) outs(%y: {y}, %z: {y}, %v: {y})
      schedule<{schedule}> {{
    %0 = tenon.add %acc, %bias : {t}, tensor<{N}x{element}>
    %1 = tenon.gelu %0 : {t}
    %2 = tenon.add %1, %res : {t}, {t}
    %3 = tenon.clamp %2 {{min = {LOW}, max = {HIGH}}} : {t}
    %4 = tenon.relu %2 : {t}
    %5 = tenon.clamp %2 {{min = 2.0, max = 1.0}} : {t}
    tenon.yield %3, %4, %5 : {t}, {t}, {t}
  }}
  return
}}"""


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_bounds(schedule, element, tmp_path):
    model = Model(source(element, SCHEDULES[schedule]), "sm_90a", tmp_path, resident=2)
    x, w = to_bits(random(M, K), element), to_bits(random(N, K, seed=4) / 8, element)
    bias, residual = random(1, N, seed=1)[0], random(M, N, seed=2)
    bias[[3, 17]] = np.inf, -np.inf
    residual[5, :4] = np.inf, -np.inf, np.nan, -np.inf
    bias, residual = to_bits(bias, element), to_bits(residual, element)
    device = model.device
    results = [device.empty((M, N), ELEMENTS[element]) for _ in range(3)]
    model.run("layer", x, w, bias, residual, *results)
    assert model.launched == ["layer_tiled"]
    clamped, positive, constant = (to_numbers(device.get(result), element) for result in results)

    x, w, bias, residual = (to_numbers(a, element) for a in (x, w, bias, residual))
    with np.errstate(all="ignore"):
        product = x @ w.T + bias
        gelu = np.array([0.5 * v * math.erfc(-v * math.sqrt(0.5)) if v != -np.inf else np.nan for v in product.flat])
        expected = gelu.reshape(M, N) + residual
    is_nan = np.isnan(expected)
    assert is_nan.sum() == M + 2  # a column of -inf, a NaN, and inf - inf
    rounding = {"f16": 2.0**-11, "bf16": 2.0**-8}[element]
    bound = 1.25 * rounding * np.abs(expected) + 2.0**-12
    low, high = (float(to_numbers(to_bits(np.array([v], np.float32), element), element)[0]) for v in (LOW, HIGH))
    for result, lower, upper in ((clamped, low, high), (positive, 0.0, np.inf), (constant, 1.0, 1.0)):
        assert np.array_equal(np.isnan(result), is_nan)
        limited = np.clip(expected, lower, upper)[~is_nan]
        got = result[~is_nan]
        with np.errstate(invalid="ignore"):
            assert ((got == limited) | (np.abs(got - limited) <= bound[~is_nan])).all()
        assert got.min() >= lower and got.max() <= upper
    # Results on both sides of every bound, and between them.
    with np.errstate(invalid="ignore"):
        assert all(np.count_nonzero(where) > 100 for where in (expected < -0.4, expected > 0.8, np.abs(expected) < 0.2))
    assert (clamped[expected < -0.4] == low).all() and (clamped[expected > 0.8] == high).all()
