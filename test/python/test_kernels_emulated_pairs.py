# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that have two products of one x, run by the emulator of PTX: gated units with biases and a residual."""

import shutil

import numpy as np
import pytest
from ptx_emulator.host import ELEMENTS, Model
from ptx_emulator.layers import compile_layer, random, to_bits, to_numbers, wgmma

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

STREAM, CLUSTERS, PING_PONG = ", stream_k = true", [", cluster = 2x1", ", cluster = 1x2"], ", ping_pong = true"
DEFER = ", defer = true"
WORKSPACE = 192 * (8 + 2 * 4 * 128 * 64)
# The tile and its options; the type of x, w and the result; N, K and the values of M. Rows of 84 or 85 elements are
# moved by threads.
KERNELS = {
    "rows_of_x": ("128x64", "8x1", "", "bf16", 136, 200, (13, 200)),
    "most_columns": ("128x128", "8x1", CLUSTERS[0], "f16", 264, 136, (300,)),
    "two_blocks_a_warpgroup": ("256x64", "8x1", CLUSTERS[1], "bf16", 136, 136, (300,)),
    "one_warpgroup": ("64x96", "4x1", "", "bf16", 200, 72, (100,)),
    "ping_pong": ("64x128", "4x1", PING_PONG + CLUSTERS[0], "bf16", 264, 200, (200,)),
    "stream_k": ("128x64", "8x1", STREAM, "bf16", 136, 1032, (130,)),
    "tf32": ("128x64", "8x1", "", "f32", 72, 100, (130,)),
    "swapped": ("128x128", "1x8", CLUSTERS[1], "bf16", 264, 136, (300, 1)),
    "swapped_cluster_of_w": ("128x128", "1x8", CLUSTERS[0], "f16", 136, 136, (300,)),
    "swapped_most_accumulators": ("192x128", "1x8", "", "bf16", 136, 72, (200,)),
    "swapped_ping_pong": ("96x64", "1x4", PING_PONG, "bf16", 200, 136, (200,)),
    "swapped_few_rows": ("8x64", "1x4", STREAM, "bf16", 136, 520, (1, 8)),
    "swapped_two_blocks": ("64x128", "1x4", "", "bf16", 136, 136, (100,)),
    "swapped_tf32": ("72x64", "1x4", "", "f32", 136, 100, (100,)),
    "deferred": ("128x128", "1x8", CLUSTERS[1] + DEFER, "bf16", 392, 1096, (300, 13)),
    "deferred_f16": ("64x64", "1x4", DEFER, "f16", 200, 1096, (130,)),
    "deferred_f32": ("64x128", "1x8", DEFER, "f32", 264, 744, (130,)),
    "deferred_short": ("128x128", "1x8", DEFER, "bf16", 264, 136, (300,)),
    "by_threads": ("128x32", "8x1", "", "bf16", 84, 200, (130,)),
    "by_threads_one_by_one": ("64x64", "4x1", "", "bf16", 85, 136, (100,)),
    "swapped_by_threads": ("16x64", "1x4", STREAM, "bf16", 84, 512, (13, 40)),
}
# The same of family mma_sync. Rows of 84 elements of 16 bits are multiples of 8 bytes, those of 85 are of 2.
MMA_KERNELS = {
    "mma": ("64x64", "2x2", "", "bf16", 136, 200, (13, 200)),
    "mma_most": ("128x128", "2x4", "", "f16", 264, 136, (300,)),
    "mma_most_rows": ("256x64", "4x2", "", "bf16", 136, 136, (300,)),
    "mma_stream_k": ("64x64", "2x2", STREAM, "bf16", 136, 1032, (130,)),
    "mma_few_rows": ("16x64", "1x2", STREAM, "f16", 136, 520, (1, 16)),
    "mma_tf32": ("64x64", "2x2", "", "f32", 72, 100, (130,)),
    "mma_parts": ("32x64", "1x2", "", "bf16", 84, 84, (100,)),
    "mma_elements": ("64x64", "2x2", "", "f16", 85, 85, (100,)),
}
KERNELS |= MMA_KERNELS
ROUNDING = {"f32": 2.0**-20, "f16": 2.0**-10, "bf16": 2.0**-7}


def schedule_of(name):
    """Return the schedule of a kernel, and the target that it is for."""
    tile, warps, options, element, *_ = KERNELS[name]
    columns, options = 32 if element == "f32" else 64, f"{options}, weights = 2"
    if name not in MMA_KERNELS:
        return wgmma(tile, columns, warps, options), "sm_90a"
    head = f"mma_sync, tile = {tile}x{columns}, warps = {warps}, stages = 3, swizzle = 128, raster = 2, blocks = 1"
    return head + options, "sm_80"


def pair(m, n, k, element, schedule, scales=False, gives_products=False):
    """Return silu(x w1^T + c) * (x w^T + b) + r; or of products with factors of rows, as behind a norm.

    As in a training step the two sums may be results too.
    """
    x, w, b = f"memref<{m}x{k}x{element}>", f"memref<{n}x{k}x{element}>", f"memref<{n}xf32>"
    y, t = f"memref<{m}x{n}x{element}>", f"tensor<{m}x{n}x{element}>"
    workspace, f = f"memref<{WORKSPACE}xi8>", f"memref<{m}x1xf32>"
    products = ["%acc", "%acc1"]
    outputs = ", ".join(f"%{name}: {y}" for name in (["y", "z", "z1"] if gives_products else ["y"]))
    results = ["%4", "%2", "%0"] if gives_products else ["%4"]
    row = scaling = ""
    if scales:
        row = f", %row = %f: {f}"
        scaling = "".join(
            f"\n    %s{i} = tenon.mul {acc}, %row : {t}, tensor<{m}x1xf32>" for i, acc in enumerate(products)
        )
        products = ["%s0", "%s1"]
    return f"""
func.func @layer(%x: {x}, %w: {w}, %w1: {w}, %b: {b}, %c: {b}, %r: {y}, %f: {f}, %ws: {workspace},
                 {outputs}) {{
  tenon.tiled_linear %x, %w, %w1 : {x}, {w}, {w}
      epilogue(%acc: {t}, %acc1: {t}, %bias = %b: {b}, %bias1 = %c: {b}, %res = %r: {y}{row}) outs({outputs})
      {f"workspace(%ws: {workspace})" if "stream_k" in schedule else ""} schedule<{schedule}> {{{scaling}
    %0 = tenon.add {products[1]}, %bias1 : {t}, tensor<{n}xf32>
    %1 = tenon.silu %0 : {t}
    %2 = tenon.add {products[0]}, %bias : {t}, tensor<{n}xf32>
    %3 = tenon.mul %2, %1 : {t}, {t}
    %4 = tenon.add %3, %res : {t}, {t}
    tenon.yield {", ".join(results)} : {", ".join([t] * len(results))}
  }}
  return
}}"""


class Gated:
    """Operands of such a layer, and what comes of them in float64."""

    def __init__(self, m, n, k, element, scales=False):
        self.element, self.shape = element, (m, n)
        self.f = np.abs(random(m, 1, seed=9)) + 0.5
        factors = self.f if scales else 1.0
        x, w, w1 = random(m, k), random(n, k, seed=4) / 4, random(n, k, seed=5) / 4
        if element == "f32":  # numbers that tf32 holds
            x, w, w1 = ((a.view(np.uint32) & 0xFFFFE000).view(np.float32) for a in (x, w, w1))
        self.b, self.c = random(1, n, seed=6)[0], random(1, n, seed=7)[0]
        self.x, self.w, self.w1, self.r = (to_bits(a, element) for a in (x, w, w1, random(m, n, seed=8)))
        x, w, w1, r = (to_numbers(a, element) for a in (self.x, self.w, self.w1, self.r))
        products = factors * (x @ w.T), factors * (x @ w1.T)
        value, gate = self.sums = products[0] + self.b, products[1] + self.c
        silu = gate / (1 + np.exp(-gate))
        self.expected = value * silu + r
        # What sums err by; and held products are rounded once more, as those of the unaligned kernels are.
        size = [factors * (np.abs(x) @ np.abs(a).T) + np.abs(bias) for a, bias in ((w, self.b), (w1, self.c))]
        error = [2.0**-18 * s + ROUNDING[element] * np.abs(p) for s, p in zip(size, products, strict=True)]
        self.sum_errors = [e + ROUNDING[element] * np.abs(a) for e, a in zip(error, self.sums, strict=True)]
        self.error = np.abs(silu) * error[0] + 1.1 * (np.abs(value) + error[0]) * error[1]
        self.error += ROUNDING[element] * (np.abs(self.expected) + np.abs(r))

    def run(self, model, workspace, shift=0, seed=None, gives_products=False):
        device = model.device
        device.seed = seed
        model.launched.clear()
        y = [device.empty(self.shape, ELEMENTS[self.element]) for _ in range(3 if gives_products else 1)]
        given = self.w, self.w1, self.b, self.c, self.r, self.f, workspace, *y
        model.run("layer", device.put(self.x, shift), *given)
        return [to_numbers(device.get(result), self.element) for result in y]

    def right(self, results):
        expected, errors = [self.expected, *self.sums], [self.error, *self.sum_errors]
        return all(bool((np.abs(y - e) <= d).all()) for y, e, d in zip(results, expected, errors, strict=False))


@pytest.mark.parametrize("name", KERNELS)
def test_pair(name, tmp_path):
    *_, element, n, k, rows = KERNELS[name]
    schedule, target = schedule_of(name)
    model = Model(pair("?", n, k, element, schedule), target, tmp_path, resident=4)
    workspace = model.device.put(np.random.default_rng(3).integers(0, 256, WORKSPACE).astype(np.uint8))
    for m in rows:
        operands = Gated(m, n, k, element)
        for seed in (1, 2):
            assert operands.right(operands.run(model, workspace, seed=seed)), f"M = {m}"
            assert model.launched == ["layer_tiled"]
    assert operands.right(operands.run(model, workspace, shift=4 if element == "f32" else 2))
    assert model.launched == ["layer_tiled_unaligned", "layer_tiled_unaligned_1"]


@pytest.mark.parametrize("name", ["swapped", "deferred", "most_columns", "by_threads", "mma"])
def test_pair_of_known_rows(name, tmp_path):
    *_, element, n, k, (m, *_) = KERNELS[name]
    schedule, target = schedule_of(name)
    model = Model(pair(m, n, k, element, schedule), target, tmp_path, resident=4)
    operands = Gated(m, n, k, element)
    assert operands.right(operands.run(model, np.zeros(WORKSPACE, np.uint8), seed=1))


@pytest.mark.parametrize("name", ["rows_of_x", "ping_pong", "swapped_few_rows", "deferred", "by_threads", "mma_parts"])
def test_pair_behind_a_norm(name, tmp_path):
    *_, element, n, k, (m, *_) = KERNELS[name]
    schedule, target = schedule_of(name)
    model = Model(pair("?", n, k, element, schedule, scales=True), target, tmp_path, resident=4)
    operands = Gated(m, n, k, element, scales=True)
    workspace = model.device.put(np.random.default_rng(3).integers(0, 256, WORKSPACE).astype(np.uint8))
    assert operands.right(operands.run(model, workspace, seed=1))
    assert model.launched == ["layer_tiled"]


PRODUCTS_TOO = ["rows_of_x", "most_columns", "ping_pong", "stream_k", "tf32", "swapped", "swapped_most_accumulators"]
PRODUCTS_TOO += ["swapped_ping_pong", "deferred", "deferred_f32", "by_threads", "swapped_by_threads", "mma", "mma_tf32"]


@pytest.mark.parametrize("name", PRODUCTS_TOO)
def test_pair_that_gives_its_sums(name, tmp_path):
    *_, element, n, k, (m, *_) = KERNELS[name]
    schedule, target = schedule_of(name)
    model = Model(pair("?", n, k, element, schedule, gives_products=True), target, tmp_path, resident=4)
    operands = Gated(m, n, k, element)
    workspace = model.device.put(np.random.default_rng(3).integers(0, 256, WORKSPACE).astype(np.uint8))
    assert operands.right(operands.run(model, workspace, seed=1, gives_products=True))
    assert model.launched == ["layer_tiled"]
    shift = 4 if element == "f32" else 2
    assert operands.right(operands.run(model, workspace, shift=shift, gives_products=True))
    assert model.launched == ["layer_tiled_unaligned", "layer_tiled_unaligned_1"]


SPLIT = {
    "wgmma": ("sm_90a", wgmma("64x64", 64, "4x1", ", weights = 2, method = fp16x3")),
    "mma": (
        "sm_80",
        "mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 2, blocks = 1, stream_k = true,"
        " weights = 2, method = fp16x3",
    ),
}


@pytest.mark.parametrize("name", SPLIT)
def test_pair_of_split_rows(name, tmp_path):
    target, schedule = SPLIT[name]
    m, n, k = 70, 136, 136
    x, w, y = (f"tensor<{a}x{b}xf32>" for a, b in ((m, k), (n, k), (m, n)))
    attributes = f"schedule = #tenon.schedule<{schedule}>, strategy = #tenon.strategy<tiled>"
    text = f"""
func.func @layer(%x: {x}, %w: {w}, %v: {w}) -> ({y}, {y}) {{
  %g:2 = tenon.fused_linear %x, %v : {x}, {w} epilogue(%acc: {y}) -> ({y}, {y}) attributes {{{attributes}}} {{
    %0 = tenon.silu %acc : {y}
    tenon.yield %0, %acc : {y}, {y}
  }}
  %h = tenon.fused_linear %x, %w : {x}, {w} epilogue(%acc: {y}, %gate = %g#0: {y}) -> {y} attributes {{{attributes}}} {{
    %0 = tenon.mul %acc, %gate : {y}, {y}
    tenon.yield %0 : {y}
  }}
  return %h, %g#1 : {y}, {y}
}}"""
    model = compile_layer(text, target, tmp_path, resident=4)
    numbers = random(m, k), random(n, k, seed=4) / 4, random(n, k, seed=5) / 4
    for outside in (False, True):  # a row that its split does not hold is computed anew
        x, w, v = (a.copy() for a in numbers)
        if outside:
            x[60, 3], w[:, 3], v[:, 3] = 1e12, 0.0, 0.0
        value, gate = x.astype(np.float64) @ w.astype(np.float64).T, x.astype(np.float64) @ v.astype(np.float64).T
        got = model.call("layer", x, w, v)
        for result, wanted in zip(got, (value * gate / (1 + np.exp(-gate)), gate), strict=True):
            np.testing.assert_allclose(result, wanted, 1e-4, 1e-4)
    assert sum("guard" in kernel for kernel in model.launched) == 4, "two for each call"
