# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that give what their tiles' rows reduce to, and those that reduce that, run by the emulator of PTX."""

import shutil

import numpy as np
import pytest
from ptx_emulator.layers import compile_layer, mma_sync, random, to_bits, to_numbers, wgmma

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

FMA = "mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 2, blocks = 1, method = fma"
WIDE = "mma_sync, tile = 64x128x64, warps = 2x4, stages = 3, swizzle = 128, raster = 2, blocks = 1"
LARGEST = 3.4028234663852886e38
RESULTS = ["lse", "sum", "mean", "max", "min", "picked", "total"]


def source(n, k, element, schedule):
    """Return a layer with every reduction that follows from parts of rows."""
    t, r, v, y = f"tensor<?x{n}xf32>", "tensor<?x1xf32>", f"tensor<{n}xf32>", f"tensor<?x{n}x{element}>"
    x, w = f"tensor<?x{k}x{element}>", f"tensor<{n}x{k}x{element}>"
    results = ", ".join([r] * len(RESULTS))
    attributes = f"schedule = #tenon.schedule<{schedule}, reduction = reduce_only>, strategy = #tenon.strategy<tiled>"
    return f"""
func.func @layer(%x: {x}, %w: {w}, %b: {v}, %c: {v}, %i: {r}) -> ({results}) {{
  %0:{len(RESULTS)} = tenon.fused_linear %x, %w : {x}, {w}
      epilogue(%acc: {y}, %bias = %b: {v}, %numbers = %c: {v}, %index = %i: {r}) -> ({results})
      attributes {{{attributes}}} {{
    %a = tenon.cast %acc : {y} -> {t}
    %z = tenon.add %a, %bias : {t}, {v}
    %top = tenon.reduce_row max %z : {t}
    %bound = tenon.clamp %top {{min = -{LARGEST!r}, max = {LARGEST!r}}} : {r}
    %d = tenon.sub %z, %bound : {t}, {r}
    %e = tenon.exp %d : {t}
    %s = tenon.reduce_row sum %e : {t}
    %log = tenon.log %s : {r}
    %lse = tenon.add %log, %bound : {r}, {r}
    %sigmoid = tenon.sigmoid %z : {t}
    %sum = tenon.reduce_row sum %sigmoid : {t}
    %mean = tenon.reduce_row mean %z : {t}
    %low = tenon.reduce_row min %z : {t}
    %only = tenon.select_equal %z, %numbers, %index : {t}, {v}, {r}
    %picked = tenon.reduce_row sum %only : {t}
    %f = tenon.sub %z, %top : {t}, {r}
    %g = tenon.exp %f : {t}
    %total = tenon.reduce_row sum %g : {t}
    tenon.yield %lse, %sum, %mean, %top, %low, %picked, %total : {results}
  }}
  return {", ".join(f"%0#{i}" for i in range(len(RESULTS)))} : {results}
}}"""


def expected(z, index):
    top = z.max(1, keepdims=True)
    bound = np.clip(top, -LARGEST, LARGEST)
    with np.errstate(all="ignore"):
        return [
            np.log(np.exp(z - bound).sum(1, keepdims=True)) + bound,
            (1 / (1 + np.exp(-z))).sum(1, keepdims=True),
            z.mean(1, keepdims=True),
            top,
            z.min(1, keepdims=True),
            np.take_along_axis(z, index, 1),
            np.exp(z - top).sum(1, keepdims=True),
        ]


# Target, schedule, M, N, K, type.
LAYERS = {
    "mma_two_warps": ("sm_80", mma_sync(64), 70, 136, 136, "bf16"),
    "mma_four_warps": ("sm_80", WIDE, 70, 200, 72, "f16"),
    "mma_stream_k": ("sm_80", mma_sync(64, ", stream_k = true"), 70, 72, 512, "f16"),
    "fma": ("sm_80", FMA, 70, 100, 72, "f32"),
    "mma_fp16x3": ("sm_80", mma_sync(64, ", method = fp16x3"), 70, 100, 100, "f32"),
    "wgmma": ("sm_90a", wgmma("64x64", 64, "4x1"), 70, 128, 72, "bf16"),
    "wgmma_ragged": ("sm_90a", wgmma("64x64", 64, "4x1"), 70, 131, 72, "f16"),
    "wgmma_cluster": ("sm_90a", wgmma("128x64", 64, "8x1", ", cluster = 1x2"), 150, 150, 72, "f16"),
    "wgmma_ping_pong": ("sm_90a", wgmma("64x128", 64, "4x1", ", ping_pong = true"), 200, 256, 72, "bf16"),
    "wgmma_fp16x3": ("sm_90a", wgmma("64x64", 64, "4x1", ", method = fp16x3"), 70, 100, 100, "f32"),
}
TOLERANCE = {"f32": 2e-4, "f16": 1e-3, "bf16": 1e-3}


@pytest.mark.parametrize("name", LAYERS)
def test_reduce_only(name, tmp_path):
    target, schedule, m, n, k, element = LAYERS[name]
    model = compile_layer(source(n, k, element, schedule), target, tmp_path)
    x, w = to_bits(random(m, k), element), to_bits(random(n, k, seed=4), element)
    bias = random(1, n, seed=1)[0]
    # Rows of one infinite column, and columns that leave nothing of a part.
    bias[3], bias[-40:] = np.inf, -np.inf
    index = np.arange(m)[:, None] * 7 % n
    z = to_numbers(x, element) @ to_numbers(w, element).T
    for biased in (bias, random(1, n, seed=2)[0]):
        wanted = expected(z + biased, index)
        for shift, seed in ((0, 1), (2 if element != "f32" else 4, None)):
            model.device.seed = seed
            model.launched.clear()
            numbers = np.arange(n, dtype=np.float32)
            got = model.call("layer", model.device.put(x, shift), w, biased, numbers, index.astype(np.float32))
            assert bool(shift) == any("tiled_unaligned" in name for name in model.launched) or "fp16x3" in name
            assert any("rows" in name for name in model.launched)
            for result, ours, theirs in zip(RESULTS, got, wanted, strict=True):
                np.testing.assert_allclose(ours, theirs, TOLERANCE[element], TOLERANCE[element] * 4, err_msg=result)


@pytest.mark.parametrize("name", ["mma_fp16x3", "wgmma_fp16x3"])
def test_rows_outside(name, tmp_path):
    """Parts of a row that its split does not hold are computed anew; w leaves nothing of its large element."""
    target, schedule, m, n, k, element = LAYERS[name]
    model = compile_layer(source(n, k, element, schedule), target, tmp_path)
    x, w, bias = random(m, k), random(n, k, seed=4), random(1, n, seed=1)[0]
    w[:, 3], x[60, 3] = 0.0, 1e12
    index = np.arange(m)[:, None] * 7 % n
    wanted = expected(x.astype(np.float64) @ w.astype(np.float64).T + bias, index)
    numbers = np.arange(n, dtype=np.float32)
    got = model.call("layer", x, w, bias, numbers, index.astype(np.float32))
    assert any("guard" in kernel for kernel in model.launched)
    for result, ours, theirs in zip(RESULTS, got, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, TOLERANCE[element], TOLERANCE[element] * 4, err_msg=result)
