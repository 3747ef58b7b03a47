# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Moments that wgmma kernels give of what they store, in the emulator of PTX, beside NumPy in float64."""

import shutil
from dataclasses import dataclass

import numpy as np
import pytest
from ptx_emulator.host import ELEMENTS, Model
from ptx_emulator.layers import ERROR, PARTS, WORKSPACE, random, to_bits, to_numbers, wgmma
from split_reference import columns, split

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

ROWS = 64  # that have moments together
EPSILON = 2.0**-24


@dataclass
class Layer:
    """y = x w^T + bias, plus what y had if it has a residual, and the moments of y."""

    schedule: str
    m: int | str
    n: int
    k: int
    element: str = "f32"  # of x and w where they are not split
    result: str = "f32"
    residual: bool = False

    @property
    def scalars(self):
        """Rows of the moments for each block."""
        return 3 if self.result == "f32" else 2

    @property
    def method(self):
        return self.schedule.rpartition("method = ")[2] if "method" in self.schedule else "direct"

    def source(self):
        parts = PARTS.get(self.method, 0)
        element, k = ("f16", columns(self.k, parts)) if parts else (self.element, self.k)
        m, n = self.m, self.n
        blocks = "?" if m == "?" else self.scalars * -(-m // ROWS)
        x, w, b = f"{m}x{k}x{element}", f"{n}x{k}x{element}", f"{n}xf32"
        product, y, moments = f"{m}x{n}xf32", f"{m}x{n}x{self.result}", f"{blocks}x{n}xf32"
        factors = f"factors(%fx, %fw : memref<{m}x1xf32>, memref<{n}x1xf32>)" if parts else ""
        residual = f", %r = %y: memref<{y}>" if self.residual else ""
        added = f"%1 = tenon.add %0, %r : tensor<{product}>, tensor<{y}>" if self.residual else ""
        value = "%1" if self.residual else "%0"
        cast = f"%2 = tenon.cast {value} : tensor<{product}> -> tensor<{y}>" if self.result != "f32" else ""
        value = "%2" if cast else value
        workspace = f"workspace(%s: memref<{WORKSPACE}xi8>)" if "stream_k" in self.schedule else ""
        return f"""
func.func @layer(%x: memref<{x}>, %w: memref<{w}>, %fx: memref<{m}x1xf32>, %fw: memref<{n}x1xf32>, %b: memref<{b}>,
                 %y: memref<{y}>, %m: memref<{moments}>, %s: memref<{WORKSPACE}xi8>) {{
  tenon.tiled_linear %x, %w : memref<{x}>, memref<{w}> {factors}
      epilogue(%acc: tensor<{product}>, %bias = %b: memref<{b}>{residual})
      outs(%y: memref<{y}>, %m: memref<{moments}>) {workspace}
      schedule<{self.schedule}, reduction = two_phase> {{
    %0 = tenon.add %acc, %bias : tensor<{product}>, tensor<{b}>
    {added}
    {cast}
    %p = tenon.moments {value} {{rows = {ROWS}}} : tensor<{y}> -> tensor<{moments}>
    tenon.yield {value}, %p : tensor<{y}>, tensor<{moments}>
  }}
  return
}}"""

    def draw(self, m):
        """Return x, w, their factors, bias and residual; half of the columns lie far from zero."""
        is_split = self.method in PARTS
        spread = 3.0 if is_split and self.result == "f32" else 0.0  # f16 would not hold the results
        x, w = random(m, self.k, spread=spread), random(self.n, self.k, spread=spread, seed=4)
        if self.element == "f32" and not is_split:  # numbers that tf32 holds
            x, w = ((a.view(np.uint32) & 0xFFFFE000).view(np.float32) for a in (x, w))
        bias = random(1, self.n, seed=1)[0]
        bias[::2] += 1e4 if self.result == "f32" else 100
        return x, w, bias, random(m, self.n, seed=2)


def run(layer, model, m, shift=0, seed=None):
    """Run a layer of m rows, and hold what it stored against float64, and its moments against those of that."""
    x, w, bias, residual = layer.draw(m)
    device = model.device
    device.seed = seed
    ones = np.ones((m, 1), np.float32), np.ones((layer.n, 1), np.float32)
    if layer.method in PARTS:
        (bits_x, fx, _), (bits_w, fw, _) = (split(a, PARTS[layer.method]) for a in (x, w))
        factors = fx, fw
    else:
        bits_x, bits_w, factors = to_bits(x, layer.element), to_bits(w, layer.element), ones
        x, w = to_numbers(bits_x, layer.element), to_numbers(bits_w, layer.element)
    stored = to_bits(residual, layer.result)
    y = device.put(stored) if layer.residual else device.empty((m, layer.n), ELEMENTS[layer.result])
    moments = device.empty((layer.scalars * -(-m // ROWS), layer.n), np.float32)
    workspace = np.random.default_rng(3).integers(0, 256, WORKSPACE).astype(np.uint8)
    model.launched.clear()
    model.run("layer", device.put(bits_x, shift), bits_w, *factors, bias, y, moments, workspace)
    assert model.launched == [f"layer_tiled{'_unaligned' if shift else ''}"]
    got = to_numbers(device.get(y), layer.result)
    added = to_numbers(stored, layer.result) if layer.residual else 0.0
    expected = x.astype(np.float64) @ w.astype(np.float64).T + bias + added
    size = np.abs(x).astype(np.float64) @ np.abs(w).astype(np.float64).T + np.abs(bias) + np.abs(added)
    rounding = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 0.0}[layer.result]
    assert (np.abs(got - expected) <= ERROR[layer.method] * size + rounding * np.abs(expected)).all()
    blocks = device.get(moments).astype(np.float64).reshape(-1, layer.scalars, layer.n)
    check_moments(blocks, got, combines=bool(shift))


def check_moments(moments, y, combines):
    """Hold moments against those of y: of f32, a mean's two rows have it as exactly as rows of y differ.

    In one row it is rounded, where rows differ by far less than it is. Else it errs as a sum of differences does, and
    M2 as their squares and the mean do. What combines moments of fewer rows also takes distances between means, with
    the errors of both.
    """
    for block, (got, got_m2, *rest) in enumerate(moments):
        rows = y[block * ROWS : (block + 1) * ROWS]
        mean, m2 = rows.mean(0), ((rows - rows.mean(0)) ** 2).sum(0)
        error = 8 * EPSILON * np.abs(rows - rows[0]).max(0)
        assert (np.abs(got - mean) <= EPSILON * np.abs(mean) + error).all()
        if rest:
            assert (np.abs(got + rest[0] - mean) <= error).all()
        error = len(rows) * error**2 + combines * error * np.sqrt(len(rows) * m2)
        assert (np.abs(got_m2 - m2) <= 64 * EPSILON * m2 + error).all()


STREAM, CLUSTER, PING_PONG = ", stream_k = true", ", cluster = 2x1", ", ping_pong = true"
DEFER = ", defer = true"
FP16, FP16X3 = ", method = fp16", ", method = fp16x3"
# A layer, Ms, and how many blocks run at once. Names tell the width of subtiles and their type: a warp takes 8, 4 or 2
# words of rows of 128, 64 and 32 bytes.
LAYERS = {
    "64_bf16": (Layer(wgmma("128x64", 64, "8x1"), "?", 72, 72, "bf16", "bf16"), (300, 63, 1), 4),
    "64_bf16_whole": (Layer(wgmma("128x64", 64, "8x1"), 256, 128, 72, "bf16", "bf16"), (256,), 2),
    "64_f16_rows_256": (Layer(wgmma("256x64", 64, "8x1"), 450, 64, 72, "f16", "f16", residual=True), (450,), 2),
    "32_f16_ping_pong": (Layer(wgmma("64x32", 64, "4x1", PING_PONG), "?", 40, 200, "f16", "f16"), (400, 128), 2),
    "32_bf16_residual": (Layer(wgmma("64x96", 64, "4x1"), 40, 104, 72, "bf16", "bf16", residual=True), (40,), 4),
    "16_bf16": (Layer(wgmma("64x48", 64, "4x1"), 65, 56, 72, "bf16", "bf16"), (65,), 4),
    "32_f32": (Layer(wgmma("128x32", 64, "8x1"), "?", 40, 72, "bf16"), (200, 20), 4),
    "32_tf32_cluster": (Layer(wgmma("128x32", 32, "8x1", STREAM + CLUSTER), "?", 36, 264), (300,), 4),
    "16_tf32": (Layer(wgmma("64x16", 32, "4x1"), 130, 24, 72), (130,), 4),
    "8_tf32": (Layer(wgmma("64x24", 32, "4x1"), "?", 32, 72), (90, 64), 4),
    "32_f32_fp16": (Layer(wgmma("64x32", 64, "4x1", FP16), "?", 40, 100), (70,), 4),
    "32_f32_fp16x3": (Layer(wgmma("64x32", 64, "4x1", FP16X3), "?", 40, 100), (150, 64), 4),
    "8_f32_fp16x3": (Layer(wgmma("128x40", 64, "8x1", STREAM + ", cluster = 1x2" + FP16X3), 300, 80, 300), (300,), 4),
    "16_f16_fp16x3": (Layer(wgmma("64x48", 64, "4x1", FP16X3), "?", 48, 100, result="f16"), (100,), 4),
    "by_threads": (Layer(wgmma("128x32", 64, "8x1"), "?", 36, 72, "bf16", "bf16"), (200, 64), 4),
    # With operands swapped some names tell the rows of subtiles; 64 rows begin and end within those of 48.
    "swapped_64_bf16": (Layer(wgmma("64x64", 64, "1x4"), "?", 72, 72, "bf16", "bf16"), (300, 63, 1), 4),
    "swapped_64_bf16_whole": (Layer(wgmma("128x128", 64, "1x8"), 256, 256, 72, "bf16", "bf16"), (256,), 2),
    "swapped_48_f16_residual": (Layer(wgmma("192x64", 64, "1x4"), 450, 72, 72, "f16", "f16", residual=True), (450,), 2),
    "swapped_64_f16_ping_pong": (Layer(wgmma("128x64", 64, "1x4", PING_PONG), "?", 136, 72, "f16", "f16"), (400,), 2),
    "swapped_48_f16_deferred": (Layer(wgmma("192x64", 64, "1x4", DEFER), "?", 136, 520, "f16", "f16"), (450, 100), 2),
    "swapped_bf16_deferred": (
        Layer(wgmma("64x192", 64, "1x4", DEFER), 300, 392, 648, "bf16", "bf16", residual=True),
        (300,),
        2,
    ),
    "swapped_three_columns": (Layer(wgmma("64x192", 64, "1x4", STREAM), 130, 200, 264, "bf16", "bf16"), (130,), 3),
    "swapped_one_row": (Layer(wgmma("64x64", 64, "1x4"), 1, 72, 72, "bf16", "bf16"), (1,), 1),
    "swapped_32_f32": (Layer(wgmma("64x64", 64, "1x4"), "?", 72, 72, "bf16"), (200, 20), 4),
    "swapped_tf32_cluster": (Layer(wgmma("128x128", 32, "1x8", STREAM + CLUSTER), "?", 136, 136), (300,), 4),
    "swapped_f32_fp16x3": (Layer(wgmma("64x64", 64, "1x4", FP16X3), "?", 72, 100), (150, 64), 4),
    "swapped_by_threads": (Layer(wgmma("64x64", 64, "1x4"), "?", 68, 72, "bf16", "bf16"), (200, 64), 4),
    "swapped_f32_by_threads": (Layer(wgmma("64x64", 64, "1x4"), "?", 67, 72, "f16"), (100,), 4),
}


@pytest.mark.parametrize("name", LAYERS)
def test_moments(name, tmp_path):
    layer, ms, resident = LAYERS[name]
    model = Model(layer.source(), "sm_90a", tmp_path, resident=resident)
    for m in ms:
        run(layer, model, m, seed=1)
    run(layer, model, ms[0])


@pytest.mark.parametrize("name", ["64_bf16", "32_bf16_residual", "8_tf32", "32_f32_fp16x3", "swapped_64_bf16"])
def test_moments_of_unaligned_rows(name, tmp_path):
    """The kernel for pointers that are not aligned has tiles of as many rows as there are moments of."""
    layer, ms, resident = LAYERS[name]
    model = Model(layer.source(), "sm_90a", tmp_path, resident=resident)
    for m in ms:
        run(layer, model, m, shift=4 if layer.element == "f32" and layer.method == "direct" else 2)
