# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Groups of a tile's columns, reduced within a warp, run by the emulator of PTX beside float64."""

import shutil
from typing import NamedTuple

import numpy as np
import pytest
from ptx_emulator.host import ELEMENTS
from ptx_emulator.layers import compile_layer, mma_sync, random, to_bits, to_numbers, wgmma

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

TOLERANCE = {"f32": 1e-4, "f16": 2e-2, "bf16": 1e-1}
EPS = 1e-5
SPLIT, PING_PONG, CLUSTER, WIDE_CLUSTER = (
    ", method = fp16x3",
    ", ping_pong = true",
    ", cluster = 2x1",
    ", cluster = 1x2",
)
WIDE = "mma_sync, tile = 64x256x64, warps = 2x4, stages = 3, swizzle = 128, raster = 2, blocks = 1"
FMA = "mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 2, blocks = 1, method = fma"


class Layer(NamedTuple):
    """A norm of groups with their inverse deviations, or maxima of groups, where they stand, and means."""

    schedule: str
    m: int
    n: int
    columns: int  # of a group
    element: str
    head: str = "norm"
    k: int = 72

    @property
    def is_split(self):
        return SPLIT in self.schedule

    @property
    def target(self):
        return "sm_90a" if self.schedule.startswith("wgmma") else "sm_80"

    def source(self):
        groups = self.n // self.columns
        y, t = f"tensor<?x{self.n}x{self.element}>", f"tensor<?x{self.n}xf32>"
        g, r, v = f"tensor<?x{groups}x{self.element}>", f"tensor<?x{groups}xf32>", f"tensor<{self.n}xf32>"
        x, w = f"tensor<?x{self.k}x{self.element}>", f"tensor<{self.n}x{self.k}x{self.element}>"
        group, repeat = f"{{groups = {groups}}}", f"{{times = {self.columns}}}"
        precise = self.element != "f32" or self.is_split or "fma" in self.schedule
        if self.head == "norm":
            results, names = [y, r], "%y, %inv"
            body = f"""
    %mean = tenon.reduce_row mean %z {group} : {t}
    %means = tenon.repeat_columns %mean {repeat} : {r}
    %d = tenon.sub %z, %means : {t}, {t}
    %q = tenon.mul %d, %d : {t}, {t}
    %var = tenon.reduce_row mean %q {group} : {t}
    %e = tenon.add %var, {EPS:e} : {r}
    %inv = tenon.rsqrt %e : {r}
    %invs = tenon.repeat_columns %inv {repeat} : {r}
    %f = tenon.mul %d, %invs : {t}, {t}
    %h = tenon.add %f, %bias : {t}, {v}
    %i = tenon.silu %h : {t}
    %l = tenon.add %i, %res : {t}, {y}
    %y = tenon.cast %l : {t} -> {y}"""
        else:
            results, names = [g, r, r], "%p, %at, %mean"
            body = f"""
    %top = tenon.reduce_row max %z {group} : {t}
    %s = tenon.leaky_relu %top {{negative_slope = 0.125}} : {r}
    %p = tenon.cast %s : {r} -> {g}
    %at = tenon.reduce_row argmax %z {group} : {t}
    %mean = tenon.reduce_row mean %z {group} : {t}"""
        types = ", ".join(results)
        schedule = f"#tenon.schedule<{self.schedule}, reduction = in_tile>"
        text = f"""
func.func @layer(%x: {x}, %w: {w}, %b: {v}, %r: {y}) -> ({types}) {{
  %0:{len(results)} = tenon.fused_linear %x, %w{"" if precise else " precision<tf32>"} : {x}, {w}
      epilogue(%acc: {y}, %bias = %b: {v}, %res = %r: {y}) -> ({types})
      attributes {{schedule = {schedule}, strategy = #tenon.strategy<tiled>}} {{
    %a = tenon.cast %acc : {y} -> {t}
    %c = tenon.add %a, %bias : {t}, {v}
    %z = tenon.add %c, %res : {t}, {y}{body}
    tenon.yield {names} : {types}
  }}
  return {", ".join(f"%0#{i}" for i in range(len(results)))} : {types}
}}"""
        for name, of in (("acc", "a"), ("l", "y"), ("s", "p")):
            for kind in (t, r):
                text = text.replace(
                    f"%{of} = tenon.cast %{name} : {kind} -> {kind}", f"%{of} = tenon.add %{name}, -0.0 : {kind}"
                )
        return text

    def expected(self, z, bias, residual):
        parts = z.reshape(len(z), -1, self.columns)
        if self.head == "pool":
            with np.errstate(invalid="ignore"):
                top = parts.max(2)
                return np.where(top > 0, top, top / 8), parts.argmax(2), parts.mean(2)
        d = parts - parts.mean(2, keepdims=True)
        inverse = 1 / np.sqrt((d * d).mean(2, keepdims=True) + EPS)
        h = (d * inverse).reshape(z.shape) + bias
        return h / (1 + np.exp(-h)) + residual, inverse[..., 0]


LAYERS = {
    "norm_8": Layer(wgmma("64x32", 64, "4x1"), 70, 64, 8, "bf16"),
    "norm_16": Layer(wgmma("64x64", 64, "4x1", PING_PONG), 600, 128, 16, "f16"),
    "norm_32": Layer(wgmma("128x64", 64, "8x1", CLUSTER), 300, 96, 32, "bf16"),
    "norm_24": Layer(wgmma("64x48", 64, "4x1", WIDE_CLUSTER), 70, 120, 24, "bf16"),
    "norm_4": Layer(wgmma("64x32", 64, "4x1"), 70, 44, 4, "f16"),
    "norm_2": Layer(wgmma("64x32", 64, "4x1"), 70, 38, 2, "f16"),
    "norm_stream_k": Layer(wgmma("64x32", 64, "4x1", ", stream_k = true"), 70, 64, 16, "bf16", k=520),
    "norm_tf32": Layer(wgmma("64x32", 32, "4x1"), 70, 64, 16, "f32"),
    "norm_split": Layer(wgmma("64x64", 64, "4x1", SPLIT), 130, 128, 16, "f32"),
    "norm_split_wide": Layer(wgmma("128x128", 64, "8x1", SPLIT), 130, 128, 64, "f32"),
    "pool_2": Layer(wgmma("64x64", 64, "4x1", PING_PONG), 300, 86, 2, "bf16", "pool"),
    "pool_4": Layer(wgmma("128x64", 64, "8x1"), 300, 84, 4, "f16", "pool"),
    "pool_8": Layer(wgmma("64x64", 64, "4x1"), 70, 136, 8, "bf16", "pool"),
    "pool_16": Layer(wgmma("64x48", 64, "4x1"), 70, 80, 16, "bf16", "pool"),
    "pool_32": Layer(wgmma("64x96", 64, "4x1"), 70, 224, 32, "f16", "pool"),
    "pool_split": Layer(wgmma("64x32", 64, "4x1", SPLIT), 130, 68, 4, "f32", "pool"),
    "mma_norm": Layer(mma_sync(64), 70, 128, 16, "bf16"),
    "mma_norm_wide": Layer(WIDE, 70, 256, 64, "f16"),
    "mma_norm_ragged": Layer(mma_sync(64), 70, 40, 8, "f16", k=70),
    "mma_norm_stream_k": Layer(mma_sync(64, ", stream_k = true"), 70, 64, 32, "bf16", k=520),
    "mma_norm_split": Layer(mma_sync(64, SPLIT), 70, 128, 16, "f32"),
    "mma_pool": Layer(mma_sync(64), 70, 84, 4, "bf16", "pool"),
    "mma_pool_2": Layer(mma_sync(64), 70, 70, 2, "f16", "pool", k=35),
    "fma_pool": Layer(FMA, 70, 128, 32, "f32", "pool"),
}


def operands(layer):
    x, w = random(layer.m, layer.k), random(layer.n, layer.k, seed=4)
    if layer.element == "f32" and not layer.is_split:  # numbers that tf32 holds
        x, w = ((a.view(np.uint32) & 0xFFFFE000).view(np.float32) for a in (x, w))
    residual, bias = random(layer.m, layer.n, seed=6), random(1, layer.n, seed=1)[0]
    return *(to_bits(a, layer.element) for a in (x, w)), bias, to_bits(residual, layer.element)


def check(layer, model, x, w, bias, residual, offset=0):
    with np.errstate(invalid="ignore"):
        z = to_numbers(x, layer.element) @ to_numbers(w, layer.element).T + bias + to_numbers(residual, layer.element)
        right = layer.expected(z, bias, to_numbers(residual, layer.element))
    model.launched.clear()
    got = model.call("layer", model.device.put(x, offset), w, bias, model.device.put(residual, offset))
    assert bool(offset) == any("unaligned" in kernel for kernel in model.launched)
    rounds = bool(offset) and layer.element != "f32"  # between two kernels
    for result, of in zip(got, right, strict=True):
        numbers = to_numbers(result, layer.element) if result.dtype == ELEMENTS[layer.element] else result
        if of.dtype.kind == "i":
            assert (numbers == of).mean() > (0.98 if rounds else 1 - 1e-9)
            continue
        same = (numbers == of) | (np.isnan(numbers) & np.isnan(of))
        bound = TOLERANCE[layer.element if rounds or numbers is not result else "f32"]
        with np.errstate(invalid="ignore"):
            assert (same | (np.abs(numbers - of) <= bound * (1 + np.abs(of)))).all()


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name, tmp_path):
    layer = LAYERS[name]
    model = compile_layer(layer.source(), layer.target, tmp_path)
    given = operands(layer)
    for seed, offset in ((None, 0), (1, 0), (None, ELEMENTS[layer.element]().itemsize)):
        model.device.seed = seed
        check(layer, model, *given, offset)


@pytest.mark.parametrize("outside", ["x", "w"])
@pytest.mark.parametrize("name", [name for name in LAYERS if "split" in name])
def test_rows_outside(name, outside, tmp_path):
    """Rows that their split does not hold are computed anew, and reduced anew."""
    layer = LAYERS[name]
    model = compile_layer(layer.source(), "sm_90a", tmp_path)
    x, w, bias, residual = operands(layer)
    if outside == "x":  # w leaves nothing of its large element
        w[:, 3], x[(5, layer.m - 1), 3] = 0.0, 1e12
    else:
        x[:, 3], w[layer.n - 1, 3] = 0.0, 1e12
    for offset in (0, 4):
        check(layer, model, x, w, bias, residual, offset)


def test_special_groups(tmp_path):
    """Groups of infinities and NaN are as they should be, and leave others alone."""
    layer = LAYERS["pool_8"]._replace(columns=4)
    model = compile_layer(layer.source(), layer.target, tmp_path)
    x, w, bias, residual = operands(layer)
    numbers = to_numbers(residual, layer.element).astype(np.float32)
    numbers[1, :4], numbers[2, 4:8], numbers[3, 8], numbers[4, 13] = -np.inf, np.inf, np.nan, -np.inf
    check(layer, model, x, w, bias, to_bits(numbers, layer.element))
