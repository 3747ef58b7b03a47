# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that add up products of several x, run by the emulator of PTX: any K of each, a bias, a residual, a gelu."""

import math
import shutil

import numpy as np
import pytest
from ptx_emulator.host import ELEMENTS, Model
from ptx_emulator.layers import compile_layer, random, to_bits, to_numbers, wgmma

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

STREAM, CLUSTERS, PING_PONG = ", stream_k = true", [", cluster = 2x1", ", cluster = 1x2"], ", ping_pong = true"
DEFER = ", defer = true"
WORKSPACE = 192 * (8 + 2 * 4 * 128 * 64)
# The tile and its options; the type of x, w and the result; N, the K of each term and the values of M; the layout. No K
# need be a multiple of the tile's 64 (f32: 32), or as long.
KERNELS = {
    "rows_of_x": ("128x64", "8x1", "", "bf16", 136, (200, 136), (13, 200, 1), ""),
    "short_second": ("128x128", "8x1", CLUSTERS[0], "f16", 264, (136, 16), (300,), ""),
    "short_first": ("128x64", "8x1", CLUSTERS[1], "bf16", 136, (8, 264), (300,), ""),
    "three": ("64x96", "4x1", "", "bf16", 200, (72, 64, 40), (100,), ""),
    "four": ("64x64", "4x1", PING_PONG, "bf16", 72, (8, 16, 128, 24), (130,), ""),
    "ping_pong": ("64x128", "4x1", PING_PONG + CLUSTERS[0], "bf16", 264, (200, 40), (200,), ""),
    "stream_k": ("128x64", "8x1", STREAM, "bf16", 136, (136, 264), (130, 100), ""),
    "tf32": ("128x64", "8x1", "", "f32", 72, (100, 36), (130,), ""),
    "swapped": ("128x128", "1x8", CLUSTERS[1], "bf16", 264, (136, 72), (300, 1), ""),
    "swapped_few_rows": ("8x64", "1x4", STREAM, "bf16", 136, (520, 264), (1, 8), ""),
    "deferred": ("128x128", "1x8", CLUSTERS[1] + DEFER, "bf16", 392, (1032, 64), (300, 13), ""),
    "turned_w": ("128x128", "8x1", "", "bf16", 264, (200, 72), (300,), "mk_kn"),
    "turned_both": ("128x64", "8x1", "", "f16", 136, (200, 72), (136,), "km_kn"),
    "by_threads": ("128x32", "8x1", "", "bf16", 84, (200, 48), (130,), ""),
}
ROUNDING = {"f32": 2.0**-20, "f16": 2.0**-10, "bf16": 2.0**-7}


def schedule_of(name):
    """Return the schedule of a kernel."""
    tile, warps, options, element, _, columns, *_ = KERNELS[name]
    return wgmma(tile, 32 if element == "f32" else 64, warps, f"{options}, terms = {len(columns)}")


def layer(m, n, columns, element, layout, schedule):
    """Return gelu(sum of products + b) + r."""

    def memref(*shape):
        return f"memref<{'x'.join(map(str, shape))}x{element}>"

    types = []
    for k in columns:
        types.append(memref(k, m) if layout.startswith("km") else memref(m, k))
        types.append(memref(k, n) if layout.endswith("kn") else memref(n, k))
    names = [f"%{matrix}{i}" for i in range(len(columns)) for matrix in "xw"]
    arguments = ", ".join(f"{name}: {kind}" for name, kind in zip(names, types, strict=True))
    y, t, b, ws = memref(m, n), f"tensor<{m}x{n}x{element}>", f"memref<{n}xf32>", f"memref<{WORKSPACE}xi8>"
    return f"""
func.func @layer({arguments}, %b: {b}, %r: {y}, %ws: {ws}, %y: {y}) {{
  tenon.tiled_linear {", ".join(names[:2])} {f"layout<{layout}>" if layout else ""} : {", ".join(types[:2])}
      plus({", ".join(names[2:])} : {", ".join(types[2:])})
      epilogue(%acc: {t}, %bias = %b: {b}, %res = %r: {y}) outs(%y: {y})
      {f"workspace(%ws: {ws})" if "stream_k" in schedule else ""} schedule<{schedule}> {{
    %0 = tenon.add %acc, %bias : {t}, tensor<{n}xf32>
    %1 = tenon.gelu %0 : {t}
    %2 = tenon.add %1, %res : {t}, {t}
    tenon.yield %2 : {t}
  }}
  return
}}"""


class Sum:
    """Operands of such a layer, and what comes of them in float64."""

    def __init__(self, m, n, columns, element, layout):
        self.element, self.shape, self.given = element, (m, n), []
        product, size = np.zeros((m, n)), np.zeros((m, n))
        for i, k in enumerate(columns):
            x, w = random(m, k, seed=10 + i), random(n, k, seed=20 + i) / 4
            if element == "f32":  # numbers that tf32 holds
                x, w = ((a.view(np.uint32) & 0xFFFFE000).view(np.float32) for a in (x, w))
            x, w = to_bits(x, element), to_bits(w, element)
            self.given.append(np.ascontiguousarray(x.T) if layout.startswith("km") else x)
            self.given.append(np.ascontiguousarray(w.T) if layout.endswith("kn") else w)
            x, w = to_numbers(x, element), to_numbers(w, element)
            product += x @ w.T
            size += np.abs(x) @ np.abs(w).T
        self.b, self.r = random(1, n, seed=6)[0], to_bits(random(m, n, seed=8), element)
        total, r = product + self.b, to_numbers(self.r, element)
        gelu = total * 0.5 * (1 + np.vectorize(math.erf)(total / math.sqrt(2)))
        self.expected = gelu + r
        # The sum errs by what f32 rounds, and held products are rounded once more.
        error = 2.0**-18 * (size + np.abs(self.b)) + ROUNDING[element] * np.abs(product)
        self.error = 1.2 * error + ROUNDING[element] * (np.abs(self.expected) + np.abs(r) + np.abs(gelu))

    def run(self, model, workspace, shift=0, which=0, seed=None):
        device = model.device
        device.seed = seed
        model.launched.clear()
        y = device.empty(self.shape, ELEMENTS[self.element])
        given = [device.put(a, shift if i == which else 0) for i, a in enumerate(self.given)]
        model.run("layer", *given, self.b, self.r, workspace, y)
        return to_numbers(device.get(y), self.element)

    def right(self, y):
        return bool((np.abs(y - self.expected) <= self.error).all())


@pytest.mark.parametrize("name", KERNELS)
def test_sum(name, tmp_path):
    *_, element, n, columns, rows, layout = KERNELS[name]
    m_is_known = layout.startswith("km")
    text = layer(rows[0] if m_is_known else "?", n, columns, element, layout, schedule_of(name))
    model = Model(text, "sm_90a", tmp_path, resident=4)
    workspace = model.device.put(np.random.default_rng(3).integers(0, 256, WORKSPACE).astype(np.uint8))
    for m in rows:
        operands = Sum(m, n, columns, element, layout)
        for seed in (1, 2):
            assert operands.right(operands.run(model, workspace, seed=seed)), f"M = {m}"
            assert model.launched == ["layer_tiled"]
    # A pointer of the last term alone: as many kernels as terms.
    shift = 4 if element == "f32" else 2
    for which in (0, len(operands.given) - 1):
        assert operands.right(operands.run(model, workspace, shift=shift, which=which))
        assert len(model.launched) == len(columns)
        assert all("unaligned" in kernel for kernel in model.launched)


@pytest.mark.parametrize("name", ["rows_of_x", "three", "swapped", "deferred"])
def test_sum_of_known_rows(name, tmp_path):
    *_, element, n, columns, (m, *_), layout = KERNELS[name]
    model = Model(layer(m, n, columns, element, layout, schedule_of(name)), "sm_90a", tmp_path, resident=4)
    operands = Sum(m, n, columns, element, layout)
    assert operands.right(operands.run(model, np.zeros(WORKSPACE, np.uint8), seed=1))


def test_layers_become_one(tmp_path):
    """Of layers with operands of their own, in their order; the last one's x and w come first."""
    m, n, columns = 40, 72, (72, 64, 40)
    schedule = f"#tenon.schedule<{wgmma('64x64', 64, '4x1', ', terms = 3')}>"
    said = f"{{schedule = {schedule}, strategy = #tenon.strategy<tiled>}}"
    y, b = f"tensor<{m}x{n}xbf16>", f"tensor<{n}xbf16>"
    x, w = ([f"tensor<{rows}x{k}xbf16>" for k in columns] for rows in (m, n))
    text = f"""
func.func @layer(%x0: {x[0]}, %w0: {w[0]}, %x1: {x[1]}, %w1: {w[1]}, %x2: {x[2]}, %w2: {w[2]}, %b: {b}, %c: {b},
                 %r: {y}) -> {y} {{
  %0 = tenon.linear %x2, %w2, %c {said} : ({x[2]}, {w[2]}, {b}) -> {y}
  %1 = tenon.fused_linear %x1, %w1 : {x[1]}, {w[1]} epilogue(%acc: {y}, %res = %r: {y}, %p = %0: {y}) -> {y}
      attributes {said} {{
    %3 = tenon.add %res, %acc : {y}, {y}
    %4 = tenon.add %3, %p : {y}, {y}
    tenon.yield %4 : {y}
  }}
  %2 = tenon.fused_linear %x0, %w0 : {x[0]}, {w[0]} epilogue(%acc: {y}, %bias = %b: {b}, %p = %1: {y}) -> {y}
      attributes {said} {{
    %3 = tenon.add %acc, %bias : {y}, {b}
    %4 = tenon.add %p, %3 : {y}, {y}
    %5 = tenon.relu %4 : {y}
    tenon.yield %5 : {y}
  }}
  return %2 : {y}
}}"""
    model = compile_layer(text, "sm_90a", tmp_path, resident=4)
    given = [to_bits(random(rows, k, seed=i), "bf16") for i, k in enumerate(columns) for rows in (m, n)]
    b, c, r = (to_bits(random(rows, n, seed=rows), "bf16") for rows in (1, 2, m))
    (y,) = model.call("layer", *given, b[0], c[0], r)
    numbers = [to_numbers(a, "bf16") for a in given]
    sums = sum(x @ w.T for x, w in zip(numbers[::2], numbers[1::2], strict=True))
    expected = np.maximum(sums + to_numbers(b[0], "bf16") + to_numbers(c[0], "bf16") + to_numbers(r, "bf16"), 0)
    assert model.launched == ["layer_tiled"]
    error = np.abs(to_numbers(y, "bf16") - expected)
    assert (error <= 2.0**-8 * expected + 2.0**-14 * sum(columns)).all()
