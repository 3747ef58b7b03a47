# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of bytes whose blocks have scales, as kernels take them, run by the emulator of PTX beside float64."""

import shutil

import numpy as np
import pytest
from ptx_emulator.layers import compile_layer, random, to_bits, to_numbers, wgmma

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

FP8, STREAM_CLUSTER = ", method = fp8", ", stream_k = true, cluster = 2x1"
BLOCK = 128


def source(n, k, element, schedule, m=None):
    """Return a layer with blocks of 1x128 of x and 128x128 of w, behind which comes a bias.

    With M known, scales of x are a vector, column by column.
    """
    rows, of_k = m or "?", -(-k // BLOCK)
    x, w = f"tensor<{rows}x{k}x{element}>", f"tensor<{n}x{k}x{element}>"
    of_x = f"tensor<{m * of_k}xf32>" if m else f"tensor<?x{of_k}xf32>"
    of_w = f"tensor<{-(-n // BLOCK)}x{of_k}xf32>"
    y, bias, wide = f"tensor<{rows}x{n}xf32>", f"tensor<{n}xf32>", f"tensor<{rows}x{k}xf32>"
    how = f"{{strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<{schedule}>}}" if schedule else ""
    return f"""func.func @layer(%x: {x}, %of_x: {of_x}, %w: {w}, %of_w: {of_w}, %b: {bias}) -> {y} {{
  %0 = tenon.scale_blocks %x, %of_x {{rows = 1, columns = 128}} : ({x}, {of_x}) -> {wide}
  %1 = tenon.scale_blocks %w, %of_w {{rows = 128, columns = 128}} : ({w}, {of_w}) -> tensor<{n}x{k}xf32>
  %2 = tenon.linear %0, %1, %b precision<tf32> {how} : ({wide}, tensor<{n}x{k}xf32>, {bias}) -> {y}
  return %2 : {y}
}}"""


def operands(m, n, k, element):
    """Return what the layer takes, blocks of very different scales among it, and its result with its bound."""
    x, w = (to_bits(random(rows, k, seed=seed), element) for seed, rows in ((0, m), (1, n)))
    scales = np.random.default_rng(2)
    of_x, of_w = (
        (10 ** scales.uniform(-2, 2, (rows, -(-k // BLOCK)))).astype(np.float32) for rows in (m, -(-n // BLOCK))
    )
    wide_x = to_numbers(x, element) * np.repeat(of_x, BLOCK, 1)[:, :k]
    wide_w = to_numbers(w, element) * np.repeat(np.repeat(of_w, BLOCK, 0), BLOCK, 1)[:n, :k]
    bias = random(1, n, seed=3)[0]
    error = (np.abs(wide_x) @ np.abs(wide_w).T + np.abs(bias)) * 2.0**-18
    return (x, of_x, w, of_w, bias), wide_x @ wide_w.T + bias, error


# N, K, the type and the schedule: tiles that lie within a block of w, across several, and beyond N; K tiles that end
# before a block does; and partial sums handed over.
LAYERS = {
    "within": (96, 272, "f8E4M3FN", wgmma("64x32", 128, "4x1", FP8), 70),
    "across": (264, 256, "f8E5M2", wgmma("64x96", 128, "4x1", FP8), 65),
    "two_rows": (160, 144, "f8E4M3FN", wgmma("128x32", 128, "4x1", FP8), 150),
    "cluster_stream_k": (288, 640, "f8E4M3FN", wgmma("128x96", 128, "8x1", STREAM_CLUSTER + FP8), 300),
    "ping_pong": (136, 400, "f8E4M3FN", wgmma("64x16", 128, "4x1", ", ping_pong = true" + FP8), 130),
}


@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_layer(name, by_column, tmp_path):
    n, k, element, schedule, m = LAYERS[name]
    model = compile_layer(source(n, k, element, schedule, m if by_column else None), "sm_90a", tmp_path)
    (x, of_x, *others), expected, error = operands(m, n, k, element)
    others = [of_x.T.flatten() if by_column else of_x, *others]
    for shift in (0, 1):  # bytes that x is off an aligned address
        model.launched.clear()
        (y,) = model.call("layer", model.device.put(x, shift), *others)
        assert (np.abs(y - expected) <= error).all()
        assert model.launched == [f"layer_tiled{'_unaligned' if shift else ''}"]


@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.parametrize(("k", "rows"), [(256, 1), (150, 1), (264, 128)])
def test_kernel_of_its_own(k, rows, by_column, tmp_path):
    """Where no kernel takes bytes with scales, float32 is made of them, as exactly as it holds them."""
    m = 200
    x, y = f"tensor<{m}x{k}xf8E4M3FN>", f"tensor<{m}x{k}xf32>"
    blocks = -(-m // rows), -(-k // BLOCK)
    s = f"tensor<{blocks[0] * blocks[1]}xf32>" if by_column else f"tensor<{blocks[0]}x{blocks[1]}xf32>"
    text = f"""func.func @layer(%x: {x}, %s: {s}) -> {y} {{
  %0 = tenon.scale_blocks %x, %s {{rows = {rows}, columns = 128}} : ({x}, {s}) -> {y}
  return %0 : {y}
}}"""
    model = compile_layer(text, "sm_80", tmp_path)
    bits = to_bits(random(m, k), "f8E4M3FN")
    scales = np.random.default_rng(0).uniform(0.1, 10, blocks).astype(np.float32)
    expected = to_numbers(bits, "f8E4M3FN").astype(np.float32) * np.repeat(np.repeat(scales, rows, 0), BLOCK, 1)[:m, :k]
    for shift in (0, 1):
        (got,) = model.call("layer", model.device.put(bits, shift), scales.T.flatten() if by_column else scales)
        assert np.array_equal(got, expected)
