# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels whose tiles exchange what they have of a row, run by the emulator of PTX with all blocks at once."""

import math
import shutil
from typing import NamedTuple

import numpy as np
import pytest
from ptx_emulator.host import ELEMENTS
from ptx_emulator.layers import compile_layer, mma_sync, random, to_bits, to_numbers, wgmma

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

TOLERANCE = {"f32": 2e-5, "f16": 4e-3, "bf16": 3e-2}
EPS = 1e-5
WIDE = "mma_sync, tile = 64x128x32, warps = 2x4, stages = 3, swizzle = 128, raster = 2, blocks = 1"
SPLIT = ", method = fp16x3"
CLUSTER, WIDE_CLUSTER, PING_PONG = ", cluster = 2x1", ", cluster = 1x2", ", ping_pong = true"


class Layer(NamedTuple):
    """A norm of groups of columns, its inverse deviations beside it, or a softmax of gelus with its logsumexp."""

    schedule: str
    m: int
    n: int
    k: int
    element: str
    groups: int = 1
    head: str = "norm"
    resident: int = 4  # blocks at once
    target: str = "sm_90a"

    @property
    def is_split(self):
        return SPLIT in self.schedule

    def body(self):
        t, r, v = f"tensor<?x{self.n}xf32>", f"tensor<?x{self.groups}xf32>", f"tensor<{self.n}xf32>"
        group = f"{{groups = {self.groups}}}" if self.groups != 1 else ""
        repeat = f"tenon.repeat_columns {{}} {{{{times = {self.n // self.groups}}}}} : {r}"
        wide, repeated = (t, repeat) if self.groups != 1 else (r, "")

        def spread(name):
            return f"{name}s = {repeated.format(name)}" if repeated else ""

        s = "s" if repeated else ""
        if self.head == "norm":
            return f"""
    %mean = tenon.reduce_row mean %z {group} : {t}
    {spread("%mean")}
    %d = tenon.sub %z, %mean{s} : {t}, {wide}
    %q = tenon.mul %d, %d : {t}, {t}
    %var = tenon.reduce_row mean %q {group} : {t}
    %e = tenon.add %var, {EPS:e} : {r}
    %found = tenon.rsqrt %e : {r}
    {spread("%found")}
    %f = tenon.mul %d, %found{s} : {t}, {wide}
    %g = tenon.add %f, %bias : {t}, {v}"""
        return f"""
    %gelu = tenon.gelu %z : {t}
    %max = tenon.reduce_row max %gelu {group} : {t}
    {spread("%max")}
    %d = tenon.sub %gelu, %max{s} : {t}, {wide}
    %p = tenon.exp %d : {t}
    %sum = tenon.reduce_row sum %p {group} : {t}
    {spread("%sum")}
    %g = tenon.div %p, %sum{s} : {t}, {wide}
    %log = tenon.log %sum : {r}
    %found = tenon.add %log, %max : {r}, {r}"""

    def source(self):
        y, t, r = f"tensor<?x{self.n}x{self.element}>", f"tensor<?x{self.n}xf32>", f"tensor<?x{self.groups}xf32>"
        v, x, w = (
            f"tensor<{self.n}xf32>",
            f"tensor<?x{self.k}x{self.element}>",
            f"tensor<{self.n}x{self.k}x{self.element}>",
        )
        precision = " precision<tf32>" if self.element == "f32" and not self.is_split else ""
        schedule = f"#tenon.schedule<{self.schedule}, reduction = resident_rows>"
        return f"""
func.func @layer(%x: {x}, %w: {w}, %b: {v}, %r: {y}) -> ({y}, {r}) {{
  %0:2 = tenon.fused_linear %x, %w{precision} : {x}, {w}
      epilogue(%acc: {y}, %bias = %b: {v}, %res = %r: {y}) -> ({y}, {r})
      attributes {{schedule = {schedule}, strategy = #tenon.strategy<tiled>}} {{
    %a = tenon.cast %acc : {y} -> {t}
    %c = tenon.add %a, %bias : {t}, {v}
    %z = tenon.add %c, %res : {t}, {y}{self.body()}
    %y = tenon.cast %g : {t} -> {y}
    tenon.yield %y, %found : {y}, {r}
  }}
  return %0#0, %0#1 : {y}, {r}
}}""".replace(f"%a = tenon.cast %acc : {t} -> {t}", f"%a = tenon.add %acc, -0.0 : {t}").replace(
            f"%y = tenon.cast %g : {t} -> {t}", f"%y = tenon.add %g, -0.0 : {t}"
        )

    def expected(self, z, bias):
        parts = z.reshape(len(z), self.groups, -1)
        if self.head == "norm":
            d = parts - parts.mean(2, keepdims=True)
            inverse = 1 / np.sqrt((d * d).mean(2, keepdims=True) + EPS)
            return (d * inverse).reshape(z.shape) + bias, inverse[..., 0]
        parts = parts * 0.5 * (1 + np.vectorize(math.erf)(parts / 2**0.5))
        top = parts.max(2, keepdims=True)
        power = np.exp(parts - top)
        total = power.sum(2, keepdims=True)
        return (power / total).reshape(z.shape), (np.log(total) + top)[..., 0]


LAYERS = {
    "norm": Layer(wgmma("64x32", 64, "4x1"), 130, 96, 72, "bf16", resident=7),
    "softmax": Layer(wgmma("64x32", 64, "4x1"), 70, 128, 72, "f16", head="softmax"),
    "ragged": Layer(wgmma("64x32", 64, "4x1"), 70, 72, 72, "f16", resident=3),
    "ragged_softmax": Layer(wgmma("64x32", 64, "4x1"), 70, 90, 72, "f16", head="softmax", resident=6),
    "two_warpgroups": Layer(wgmma("128x32", 64, "8x1"), 300, 64, 64, "bf16"),
    "cluster": Layer(wgmma("64x32", 64, "4x1", CLUSTER), 300, 96, 72, "bf16", resident=6),
    "wide_cluster": Layer(wgmma("64x32", 64, "4x1", WIDE_CLUSTER), 100, 160, 72, "bf16", resident=6),
    "tf32": Layer(wgmma("64x32", 32, "4x1"), 70, 64, 72, "f32"),
    "groups": Layer(wgmma("64x32", 64, "4x1"), 130, 256, 72, "bf16", groups=4),
    "groups_softmax": Layer(
        wgmma("64x32", 64, "4x1", CLUSTER), 130, 192, 72, "f16", groups=2, head="softmax", resident=6
    ),
    "group_of_cluster": Layer(wgmma("64x32", 64, "4x1", WIDE_CLUSTER), 130, 128, 72, "bf16", groups=2),
    "group_of_tile": Layer(wgmma("64x32", 64, "4x1"), 130, 128, 72, "bf16", groups=4),
    "ping_pong": Layer(wgmma("64x32", 64, "4x1", PING_PONG), 450, 128, 136, "bf16", groups=2),
    "ping_pong_softmax": Layer(
        wgmma("64x32", 64, "4x1", PING_PONG + CLUSTER), 700, 96, 136, "bf16", head="softmax", resident=6
    ),
    "ping_pong_one_turn": Layer(wgmma("64x32", 64, "4x1", PING_PONG), 64, 128, 72, "bf16"),
    "mma": Layer(mma_sync(64), 130, 192, 72, "bf16", resident=7, target="sm_80"),
    "mma_softmax": Layer(mma_sync(64), 70, 128, 72, "f16", head="softmax", target="sm_80"),
    "mma_ragged": Layer(mma_sync(64), 70, 90, 72, "f16", head="softmax", resident=3, target="sm_80"),
    "mma_groups": Layer(mma_sync(64), 130, 256, 72, "bf16", groups=2, target="sm_80"),
    "mma_group_of_tile": Layer(mma_sync(64), 130, 128, 72, "bf16", groups=2, target="sm_80"),
    "mma_tf32": Layer(WIDE, 70, 256, 72, "f32", target="sm_80"),
    "mma_split": Layer(mma_sync(64, SPLIT), 130, 192, 72, "f32", resident=7, target="sm_80"),
    "split": Layer(wgmma("64x32", 64, "4x1", SPLIT), 130, 192, 72, "f32", resident=7),
    "split_softmax": Layer(wgmma("128x64", 64, "8x1", SPLIT + CLUSTER), 300, 90, 72, "f32", head="softmax"),
    "split_groups": Layer(wgmma("64x64", 64, "4x1", SPLIT), 130, 256, 72, "f32", groups=2),
    "split_group_of_tile": Layer(wgmma("64x64", 64, "4x1", SPLIT), 130, 128, 72, "f32", groups=2),
    "split_one_tile": Layer(wgmma("64x32", 64, "4x1", SPLIT), 70, 40, 72, "f32", head="softmax"),
    "many_parts": Layer(wgmma("64x8", 64, "4x1"), 64, 8 * 35 + 6, 64, "f16", head="softmax", resident=36),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name, tmp_path):
    layer = LAYERS[name]
    element = layer.element
    model = compile_layer(layer.source(), layer.target, tmp_path, resident=layer.resident)
    x, w = random(layer.m, layer.k), random(layer.n, layer.k, seed=4)
    if element == "f32" and not layer.is_split:  # numbers that tf32 holds
        x, w = ((a.view(np.uint32) & 0xFFFFE000).view(np.float32) for a in (x, w))
    x, w, residual = to_bits(x, element), to_bits(w, element), to_bits(random(layer.m, layer.n, seed=6), element)
    bias = random(1, layer.n, seed=1)[0]
    z = to_numbers(x, element) @ to_numbers(w, element).T + bias + to_numbers(residual, element)
    y, found = layer.expected(z, bias)
    shift = ELEMENTS[element]().itemsize
    for number, (seed, offset) in enumerate(((None, 0), (1, 0), (2, 0), (None, shift))):
        model.device.seed, token = seed, model.token
        model.launched.clear()
        got, of_rows = model.call(
            "layer", model.device.put(x, offset), w, bias, model.device.put(residual, offset if layer.is_split else 0)
        )
        assert bool(offset) == any("unaligned" in kernel for kernel in model.launched)
        if number == 1:  # as a replayed graph
            model.token = token
        assert np.abs(to_numbers(got, element) - y).max() <= TOLERANCE[element] * 4
        assert np.abs(of_rows - found).max() <= (2e-2 if offset and element != "f32" else 2e-4) * (
            1 + np.abs(found).max()
        )


@pytest.mark.parametrize("outside", ["x", "w"])
@pytest.mark.parametrize("name", ["mma_split", "split", "split_softmax", "split_groups", "split_one_tile"])
def test_rows_outside(name, outside, tmp_path):
    """Rows that their split does not hold are computed anew with all of their tiles, in some turns or in all."""
    layer = LAYERS[name]
    model = compile_layer(layer.source(), "sm_90a", tmp_path, resident=layer.resident)
    x, w = random(layer.m, layer.k), random(layer.n, layer.k, seed=4)
    if outside == "x":  # w leaves nothing of its large element
        w[:, 3], x[(5, layer.m - 1), 3] = 0.0, 1e12
    else:
        x[:, 3], w[layer.n - 1, 3] = 0.0, 1e12
    bias, residual = random(1, layer.n, seed=1)[0], random(layer.m, layer.n, seed=6)
    z = x.astype(np.float64) @ w.astype(np.float64).T + bias + residual
    y, found = layer.expected(z, bias)
    for seed, offset in ((None, 0), (1, 0), (None, 4)):
        model.device.seed = seed
        model.launched.clear()
        got, of_rows = model.call("layer", model.device.put(x, offset), w, bias, residual)
        assert any("guard" in kernel for kernel in model.launched)
        assert np.abs(got - y).max() <= TOLERANCE["f32"] * 4
        assert np.abs(of_rows - found).max() <= 2e-4 * (1 + np.abs(found).max())
