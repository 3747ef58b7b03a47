# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers whose batch norm takes moments of the product's kernel (two_phase), run by the emulator of PTX."""

import shutil

import numpy as np
import pytest
from ptx_emulator.floats import bf16_to_f32, f32_to_bf16
from ptx_emulator.layers import compile_layer, mma_sync, random, wgmma
from split_reference import split

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

TWO_PHASE, FP16X3 = ", reduction = two_phase", ", method = fp16x3"
EPS, MOMENTUM, K = 1e-5, 0.1, 72
# Target, schedule, precision, N. 37 columns have no vectors.
LAYERS = {
    "mma_bf16": ("sm_80", mma_sync(64, TWO_PHASE), "bf16", 40),
    "wgmma_bf16": ("sm_90a", wgmma("64x16", 64, "4x1", TWO_PHASE), "bf16", 40),
    "mma_tf32": ("sm_80", mma_sync(32, TWO_PHASE), "tf32", 37),
    "wgmma_tf32": ("sm_90a", wgmma("128x16", 32, "8x1", ", cluster = 2x1" + TWO_PHASE), "tf32", 40),
    "wgmma_tf32_swapped": ("sm_90a", wgmma("128x64", 32, "1x4", TWO_PHASE), "tf32", 40),
    "mma_fp32": ("sm_80", mma_sync(64, FP16X3 + TWO_PHASE), "fp32", 37),
    "wgmma_fp32": ("sm_90a", wgmma("64x16", 64, "4x1", FP16X3 + TWO_PHASE), "fp32", 40),
}
# Of y, beside numbers of about 1: bf16 rounds what is normalised, then y, to 8 bits.
TOLERANCE = {"bf16": 2.0**-5, "tf32": 2.0**-18, "fp32": 2.0**-18}
# Of the running statistics, relative to them.
STATISTICS = {"bf16": 2.0**-7, "tf32": 2.0**-18, "fp32": 2.0**-18}


def source(schedule, precision, n, rows="?", keeps=False):
    """Return y = relu(batch_norm(x w^T * s)) + r and the new running statistics, behind x w^T if it is kept."""
    element = "bf16" if precision == "bf16" else "f32"
    asked = "precision<tf32>" if precision == "tf32" else ""
    x, w, y = f"tensor<{rows}x{K}x{element}>", f"tensor<{n}x{K}x{element}>", f"tensor<{rows}x{n}x{element}>"
    scale, running = f"tensor<{n}x{element}>", f"tensor<{n}xf32>"
    types = f"{f'{y}, ' if keeps else ''}{y}, {running}, {running}"
    numbers = [f"%0#{i}" for i in range(3 + keeps)]
    return f"""
func.func @forward(%x: {x}, %w: {w}, %s: {scale}, %m: {running}, %v: {running}, %r: {y}) -> ({types}) {{
  %0:{len(numbers)} = tenon.fused_linear %x, %w {asked} : {x}, {w}
      epilogue(%acc: {y}, %scale = %s: {scale}, %mean = %m: {running}, %var = %v: {running}, %res = %r: {y})
      -> ({types}) attributes {{strategy = #tenon.strategy<tiled>,
                                schedule = #tenon.schedule<{schedule}>}} {{
    %1 = tenon.mul %acc, %scale : {y}, {scale}
    %2:3 = tenon.batch_norm_training %1 running(%mean, %var) {{eps = {EPS:e}, momentum = {MOMENTUM}}}
        : ({y}, {running}, {running}) -> ({y}, {running}, {running})
    %3 = tenon.relu %2#0 : {y}
    %4 = tenon.add %3, %res : {y}, {y}
    tenon.yield {"%acc, " if keeps else ""}%4, %2#1, %2#2 : {types}
  }}
  return {", ".join(numbers)} : {types}
}}"""


class Numbers:
    """A layer's operands as a precision holds them, and its results in f64."""

    def __init__(self, precision, m, n):
        self.precision, self.m = precision, m
        cast = {"bf16": f32_to_bf16, "fp32": np.copy}.get(precision, self.cut)
        self.x, self.w, self.r = cast(random(m, K)), cast(random(n, K, seed=1)), self.store(random(m, n, seed=2))
        self.s = self.store(random(1, n, seed=3)[0])
        self.mean, self.var = random(1, n, seed=4)[0], np.abs(random(1, n, seed=5)[0])

    @staticmethod
    def cut(values):
        return (values.view(np.uint32) & 0xFFFFE000).view(np.float32)

    def store(self, values):
        return f32_to_bf16(values) if self.precision == "bf16" else values

    def load(self, values):
        return (bf16_to_f32(values) if self.precision == "bf16" else values).astype(np.float64)

    def expected(self):
        z = self.load(self.x) @ self.load(self.w).T * self.load(self.s)
        mean, var = z.mean(0), z.var(0)
        y = np.maximum((z - mean) / np.sqrt(var + EPS), 0) + self.load(self.r)
        unbiased = var * self.m / (self.m - 1)
        return [y, *((1 - MOMENTUM) * old + MOMENTUM * new for old, new in ((self.mean, mean), (self.var, unbiased)))]

    def assert_right(self, model):
        y, *statistics = model.call("forward", self.x, self.w, self.s, self.mean, self.var, self.r)
        expected, *running = self.expected()
        assert np.abs(self.load(y) - expected).max() <= TOLERANCE[self.precision]
        for got, wanted in zip(statistics, running, strict=True):
            assert np.abs(got - wanted).max() <= STATISTICS[self.precision] * np.abs(wanted).max()


@pytest.fixture(scope="module", params=LAYERS)
def layer(request, tmp_path_factory):
    target, schedule, precision, n = LAYERS[request.param]
    model = compile_layer(source(schedule, precision, n), target, tmp_path_factory.mktemp("layer"))
    return model, precision, n


# 2 rows; tiles of which the last is ragged; more moments than a kernel's head takes.
@pytest.mark.parametrize("m", [2, 150, 2500])
def test_rows(layer, m):
    model, precision, n = layer
    model.launched.clear()
    Numbers(precision, m, n).assert_right(model)
    assert sum("_combine" in kernel for kernel in model.launched) == 1
    assert not any("_reduce" in kernel for kernel in model.launched)


def test_columns_far_from_zero(layer):
    """Deviations that one pass over squares would lose."""
    model, precision, n = layer
    if precision == "bf16":
        pytest.skip("bf16 does not hold such columns")
    numbers = Numbers(precision, 150, n)
    numbers.x[:, 0], numbers.w[:, 0] = 512.0, 4.0
    numbers.x[:, 1:] *= 0.125
    buffers = model.run("forward", numbers.x, numbers.w, numbers.s, numbers.mean, numbers.var, numbers.r)
    z = numbers.load(numbers.x) @ numbers.load(numbers.w).T * numbers.load(numbers.s)
    new = (model.device.get(buffers[2]).astype(np.float64) - (1 - MOMENTUM) * numbers.var) / MOMENTUM
    # The product itself errs by about 2^-23 of its size, 2048.
    deviation = z.std(0)
    slack = 4 * deviation * 2048 * 2.0**-22 * np.abs(numbers.s) + 2.0**-18 * (numbers.var / MOMENTUM + z.var(0))
    assert (np.abs(new - z.var(0) * 150 / 149) <= slack).all()


@pytest.mark.parametrize("m", [150, 2500])
def test_means_that_f32_rounds_to_a_tenth_of_a_deviation(layer, m):
    """As exact as if means were not rounded at all: those of blocks have a second word, combined ones too."""
    model, precision, n = layer
    if precision == "bf16":
        pytest.skip("bf16 does not hold such columns")
    numbers = Numbers(precision, m, n)
    # Products that f32 holds: 10000 and some 2^-10, of which deviations are about ten.
    steps = np.random.default_rng(6)
    numbers.x[:], numbers.w[:], numbers.s[:], numbers.var[:] = 0.0, 0.0, 1.0, 0.0
    numbers.x[:, 0], numbers.w[:, 0] = 100.0, 100.0
    numbers.x[:, 1:9] = steps.integers(-8, 9, (m, 8))
    numbers.w[:, 1:9] = steps.integers(-1, 2, (n, 8)) * 2.0**-10
    _, _, variance = model.call("forward", numbers.x, numbers.w, numbers.s, numbers.mean, numbers.var, numbers.r)
    _, _, expected = numbers.expected()
    assert np.abs(variance - expected).max() <= 2.0**-18 * expected.max()


# Target, schedule, precision: kernels that have moments of what they do not store.
KEPT = {
    "mma_bf16": ("sm_80", mma_sync(64, TWO_PHASE), "bf16"),
    "swapped_bf16": ("sm_90a", wgmma("128x64", 64, "1x4", TWO_PHASE), "bf16"),
    "swapped_tf32_ping_pong": ("sm_90a", wgmma("64x64", 32, "1x4", ", ping_pong = true" + TWO_PHASE), "tf32"),
    "swapped_fp32": ("sm_90a", wgmma("128x128", 64, "1x8", FP16X3 + TWO_PHASE), "fp32"),
}


@pytest.mark.parametrize("name", KEPT)
def test_product_that_is_scaled_is_kept(name, tmp_path):
    """One result more, ahead of the norm's input: it is what the first kernel stores."""
    target, schedule, precision = KEPT[name]
    n = 40
    model = compile_layer(source(schedule, precision, n, keeps=True), target, tmp_path)
    for m, shift in ((2, 0), (150, 0), (150, 4)):
        numbers = Numbers(precision, m, n)
        x = model.device.put(numbers.x, shift)
        given = x, numbers.w, numbers.s, numbers.mean, numbers.var, numbers.r
        product, *results = [model.device.get(buffer) for buffer in model.run("forward", *given)]
        exact = numbers.load(numbers.x) @ numbers.load(numbers.w).T
        assert np.abs(numbers.load(product) - exact).max() <= TOLERANCE[precision] * np.abs(exact).max()
        expected = numbers.expected()
        assert np.abs(numbers.load(results[0]) - expected[0]).max() <= TOLERANCE[precision]
        for got, wanted in zip(results[1:], expected[1:], strict=True):
            assert np.abs(got - wanted).max() <= STATISTICS[precision] * np.abs(wanted).max()


@pytest.mark.parametrize("m", [150, 2500])
def test_static_rows(m, tmp_path):
    """The compiler knows how many moments there are: few need no kernel of their own."""
    target, schedule, precision, n = LAYERS["wgmma_tf32"]
    model = compile_layer(source(schedule, precision, n, m), target, tmp_path)
    Numbers(precision, m, n).assert_right(model)
    assert [("_combine" in kernel) for kernel in model.launched].count(True) == (m > 64 * 32)


@pytest.mark.parametrize("name", ["mma_fp32", "wgmma_fp32"])
def test_rows_that_a_split_does_not_hold(name, tmp_path):
    """The guard corrects moments with the tiles that it computes anew."""
    target, schedule, precision, n = LAYERS[name]
    model = compile_layer(source(schedule, precision, n), target, tmp_path)
    numbers = Numbers(precision, 150, n)
    numbers.x[70] *= np.float32(10) ** np.linspace(-20, 0, K, dtype=np.float32)
    numbers.assert_right(model)
    outside = [split(matrix, 2)[1] < 0 for matrix in (numbers.x, numbers.w)]
    assert outside[0][70]
    assert model.device.variable("tenon_rows_outside", np.uint64) == sum(rows.sum() for rows in outside)
    assert any("_guard" in kernel for kernel in model.launched)
