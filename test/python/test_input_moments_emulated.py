# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch norm by moments of x and w (input_moments), run by the emulator of PTX beside float64."""

import shutil

import numpy as np
import pytest
from ptx_emulator.floats import bf16_to_f32, f32_to_bf16
from ptx_emulator.host import Model
from ptx_emulator.layers import compile_layer, mma_sync, random, wgmma

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

EPS, MOMENTUM = 1e-5, 0.1
STORE = {"bf16": f32_to_bf16, "f16": lambda values: values.astype(np.float16), "f32": np.copy}
MOMENTS = ["_gram", "_add_states", "_column_moments"]


def load(values, element):
    return (bf16_to_f32(values) if element == "bf16" else values).astype(np.float64)


def kinds(model):
    """Return the kernels of moments that were launched."""
    return [kind for kernel in model.launched for kind in MOMENTS if kernel.endswith(kind)]


# ---- the op alone ----


def moments_source(element, n, k, rows="?"):
    x, w, v = f"memref<{rows}x{k}x{element}>", f"memref<{n}x{k}x{element}>", f"memref<{n}xf32>"
    return f"""
func.func @forward(%x: {x}, %w: {w}, %a: {v}, %b: {v}, %c: {v}) {{
  tenon.product_moments %x, %w outs(%a, %b, %c) : ({x}, {w}, {v}, {v}, {v}) -> ()
  return
}}"""


def run_moments(model, x, w):
    model.launched.clear()
    outputs = [model.device.put(np.zeros(len(w), np.float32)) for _ in range(3)]
    model.run("forward", x, w, *outputs)
    assert kinds(model) == MOMENTS
    return [model.device.get(buffer) for buffer in outputs]


def assert_moments(model, x, w, element):
    """Fail unless all are the exact ones, rounded to f32."""
    mean, variance, unbiased = run_moments(model, x, w)
    z = load(x, element) @ load(w, element).T
    assert np.abs(mean - z.mean(0)).max() <= 2.0**-23 * np.abs(z).max()
    np.testing.assert_allclose(variance, z.var(0), rtol=2.0**-22)
    np.testing.assert_allclose(unbiased, z.var(0) * len(x) / (len(x) - 1), rtol=2.0**-22)


# One element a row; tiles on and off the diagonal, of whole K and with zeros behind; several groups of tiles.
@pytest.mark.parametrize(("element", "k"), [("bf16", 1), ("f32", 30), ("f16", 72), ("bf16", 128), ("f32", 250)])
def test_moments(element, k, tmp_path):
    model = Model(moments_source(element, 37, k), "sm_80", tmp_path)
    w = STORE[element](random(37, k, seed=1))
    # Two rows; a ragged and several stages; a second turn of some groups.
    for m in (2, 33, 150) if k != 30 else (2, 33, 150, 4200):
        assert_moments(model, STORE[element](random(m, k)), w, element)


def test_static_rows(tmp_path):
    model = Model(moments_source("bf16", 5, 40, 100), "sm_90a", tmp_path)
    assert_moments(model, f32_to_bf16(random(100, 40)), f32_to_bf16(random(5, 40, seed=1)), "bf16")


def test_means_far_from_zero(tmp_path):
    """Deviations that sums of squares would lose, in f64 too; the first row is far from the others."""
    model = Model(moments_source("f32", 6, 30), "sm_80", tmp_path)
    x, w = random(150, 30), random(6, 30, seed=1)
    assert_moments(model, (x + np.float32(1e3)).astype(np.float32), w, "f32")
    assert_moments(model, (np.float32(2.0**-9) * x + np.float32(1e6)).astype(np.float32), w, "f32")
    x[0] *= np.float32(1e4)
    assert_moments(model, x, w, "f32")


def test_columns_without_variance(tmp_path):
    """Equal rows, and a column of w that x's variance does not reach: never below zero."""
    model = Model(moments_source("f32", 6, 30), "sm_80", tmp_path)
    x, w = random(150, 30), random(6, 30, seed=1)
    x[:] = x[0]
    assert (run_moments(model, x, w)[1] == 0).all()
    x = random(150, 30)
    x[:, 1] = x[:, 0]
    w[:] = 0
    w[:, 0], w[:, 1] = 1e5, -1e5
    assert (run_moments(model, x, w)[1] == 0).all()


def test_one_row_and_none(tmp_path):
    model = Model(moments_source("f32", 6, 30), "sm_80", tmp_path)
    x, w = random(1, 30), random(6, 30, seed=1)
    mean, variance, unbiased = run_moments(model, x, w)
    np.testing.assert_allclose(mean, x.astype(np.float64)[0] @ w.T.astype(np.float64), rtol=2.0**-22)
    assert (variance == 0).all() and np.isnan(unbiased).all()
    assert all((vector == 0).all() for vector in run_moments(model, x[:0], w))


def test_values_that_are_not_finite(tmp_path):
    """Those of w stay in their column; one of x is in all."""
    model = Model(moments_source("f32", 6, 30), "sm_80", tmp_path)
    x, w = random(150, 30), random(6, 30, seed=1)
    before = run_moments(model, x, w)
    for value in (np.nan, np.inf):
        changed = w.copy()
        changed[2, 29] = value
        for old, new in zip(before, run_moments(model, x, changed), strict=True):
            assert not np.isfinite(new[2]) and (np.delete(new, 2) == np.delete(old, 2)).all()
        for row in (0, 149):
            changed = x.copy()
            changed[row, 5] = value
            assert not any(np.isfinite(vector).any() for vector in run_moments(model, changed, w))


# ---- layers ----

INPUT_MOMENTS, FP16X3 = ", reduction = input_moments", ", method = fp16x3"
# Target, schedule, precision, N, K. 37 columns have no vectors.
LAYERS = {
    "mma_bf16": ("sm_80", mma_sync(64, INPUT_MOMENTS), "bf16", 37, 30),
    "wgmma_bf16": ("sm_90a", wgmma("64x16", 64, "4x1", INPUT_MOMENTS), "bf16", 40, 128),
    "mma_fma": ("sm_80", mma_sync(32, ", method = fma" + INPUT_MOMENTS), "fp32", 37, 30),
    "mma_fp32": ("sm_80", mma_sync(64, FP16X3 + INPUT_MOMENTS), "fp32", 37, 72),
    "wgmma_fp32": ("sm_90a", wgmma("64x16", 64, "4x1", FP16X3 + INPUT_MOMENTS), "fp32", 40, 72),
}
# Of y, beside numbers of about 1: bf16 rounds y to 8 bits.
TOLERANCE = {"bf16": 2.0**-6, "fp32": 2.0**-18}


def layer_source(schedule, precision, n, k, rows="?"):
    """Return y = relu(batch_norm(0.5 (x w^T s + b))) + r and the new running statistics."""
    element = "bf16" if precision == "bf16" else "f32"
    x, w, y = f"tensor<{rows}x{k}x{element}>", f"tensor<{n}x{k}x{element}>", f"tensor<{rows}x{n}x{element}>"
    vector, running = f"tensor<{n}x{element}>", f"tensor<{n}xf32>"
    results = f"({y}, {running}, {running})"
    arguments = f"%x: {x}, %w: {w}, %s: {vector}, %b: {vector}, %g: {running}, %m: {running}, %v: {running}, %r: {y}"
    return f"""
func.func @forward({arguments}) -> {results} {{
  %0:3 = tenon.fused_linear %x, %w : {x}, {w}
      epilogue(%acc: {y}, %scale = %s: {vector}, %bias = %b: {vector}, %gamma = %g: {running},
               %mean = %m: {running}, %var = %v: {running}, %res = %r: {y})
      -> {results} attributes {{strategy = #tenon.strategy<tiled>,
                                schedule = #tenon.schedule<{schedule}>}} {{
    %1 = tenon.mul %acc, %scale : {y}, {vector}
    %2 = tenon.add %1, %bias : {y}, {vector}
    %3 = tenon.mul %2, 0.5 : {y}
    %4:3 = tenon.batch_norm_training %3 weight(%gamma) running(%mean, %var) {{eps = {EPS:e}, momentum = {MOMENTUM}}}
        : ({y}, {running}, {running}, {running}) -> {results}
    %5 = tenon.relu %4#0 : {y}
    %6 = tenon.add %5, %res : {y}, {y}
    tenon.yield %6, %4#1, %4#2 : {y}, {running}, {running}
  }}
  return %0#0, %0#1, %0#2 : {y}, {running}, {running}
}}"""


class Numbers:
    """A layer's operands as a precision holds them, and its results in f64."""

    def __init__(self, precision, m, n, k):
        self.precision, self.element, self.m = precision, "bf16" if precision == "bf16" else "f32", m
        store = STORE[self.element]
        self.x, self.w = store(random(m, k)), store(random(n, k, seed=1) / np.float32(np.sqrt(k)))
        self.s, self.b = (store(random(1, n, seed=seed)[0]) for seed in (3, 6))
        self.r = store(random(m, n, seed=2))
        self.s[::5] = 0
        self.g, self.mean = random(1, n, seed=7)[0], random(1, n, seed=4)[0]
        self.var = np.abs(random(1, n, seed=5)[0])

    def load(self, values):
        return load(values, self.element)

    def expected(self):
        z = 0.5 * (self.load(self.x) @ self.load(self.w).T * self.load(self.s) + self.load(self.b))
        mean, var = z.mean(0), z.var(0)
        y = np.maximum((z - mean) / np.sqrt(var + EPS) * self.g, 0) + self.load(self.r)
        unbiased = var * self.m / max(self.m - 1, 1)
        return [y, *((1 - MOMENTUM) * old + MOMENTUM * new for old, new in ((self.mean, mean), (self.var, unbiased)))]

    def assert_right(self, model):
        operands = self.x, self.w, self.s, self.b, self.g, self.mean, self.var, self.r
        y, *statistics = model.call("forward", *operands)
        expected, *running = self.expected()
        assert np.abs(self.load(y) - expected).max() <= TOLERANCE[self.precision] * max(1, np.abs(expected).max())
        for got, wanted in zip(statistics, running, strict=True):
            assert np.abs(got - wanted).max() <= 2.0**-21 * np.abs(wanted).max()


@pytest.fixture(scope="module", params=LAYERS)
def layer(request, tmp_path_factory):
    target, schedule, precision, n, k = LAYERS[request.param]
    model = compile_layer(layer_source(schedule, precision, n, k), target, tmp_path_factory.mktemp("layer"))
    return model, precision, n, k


@pytest.mark.parametrize("m", [2, 150])
def test_rows(layer, m):
    model, precision, n, k = layer
    model.launched.clear()
    Numbers(precision, m, n, k).assert_right(model)
    assert kinds(model) == MOMENTS
    assert not any("_reduce" in kernel for kernel in model.launched)
    # One epilogue, of vectors: y is written once.
    assert sum("_map" in kernel for kernel in model.launched) == 1


def test_columns_far_from_zero(layer):
    """The variance is that of the exact product, however large its mean."""
    model, precision, n, k = layer
    if precision == "bf16":
        pytest.skip("bf16 does not hold such columns")
    numbers = Numbers(precision, 150, n, k)
    numbers.x[:, 0], numbers.w[:, 0] = 512.0, 4.0
    operands = numbers.x, numbers.w, numbers.s, numbers.b, numbers.g, numbers.mean, numbers.var, numbers.r
    y, _, variance = model.call("forward", *operands)
    expected, _, wanted = numbers.expected()
    np.testing.assert_allclose(variance, wanted, rtol=2.0**-20)
    # The product errs by about 2^-22 of its size, 2048, beside deviations of about 1.
    assert np.abs(y - expected).max() <= 16 * 2048 * 2.0**-22


@pytest.mark.parametrize("m", [1, 70])
def test_equal_rows(layer, m):
    """What the product of large numbers rounds is no deviation: y is as if the norm had given 0."""
    model, precision, n, k = layer
    numbers = Numbers(precision, m, n, k)
    numbers.x[:] = STORE[numbers.element](random(1, k) * np.float32(1e4))[0]
    operands = numbers.x, numbers.w, numbers.s, numbers.b, numbers.g, numbers.mean, numbers.var, numbers.r
    y, mean, variance = model.call("forward", *operands)
    assert np.array_equal(y, numbers.r)
    assert np.abs(mean - numbers.expected()[1]).max() <= 2.0**-20 * np.abs(mean).max()
    if m == 1:
        assert np.isnan(variance).all()
    else:
        np.testing.assert_allclose(variance, (1 - MOMENTUM) * numbers.var, rtol=2.0**-22)


def test_no_rows(layer):
    """An empty batch has a product of mean 0: finite running statistics, as with other reductions."""
    model, precision, n, k = layer
    numbers = Numbers(precision, 0, n, k)
    numbers.s[:], numbers.b[:] = STORE[numbers.element](np.ones((2, n), np.float32))
    operands = numbers.x, numbers.w, numbers.s, numbers.b, numbers.g, numbers.mean, numbers.var, numbers.r
    _, mean, variance = model.call("forward", *operands)
    np.testing.assert_allclose(mean, (1 - MOMENTUM) * numbers.mean + MOMENTUM * 0.5, rtol=2.0**-20)
    np.testing.assert_allclose(variance, (1 - MOMENTUM) * numbers.var, rtol=2.0**-22)


@pytest.mark.parametrize("name", ["mma_fp32", "wgmma_fp32"])
def test_rows_that_a_split_does_not_hold(name, tmp_path):
    """The guard normalises by the same statistics."""
    target, schedule, precision, n, k = LAYERS[name]
    model = compile_layer(layer_source(schedule, precision, n, k), target, tmp_path)
    numbers = Numbers(precision, 150, n, k)
    numbers.x[70] *= np.float32(10) ** np.linspace(-20, 0, k, dtype=np.float32)
    numbers.assert_right(model)
    assert any("_guard" in kernel for kernel in model.launched)
    assert model.device.variable("tenon_rows_outside", np.uint64) != 0
