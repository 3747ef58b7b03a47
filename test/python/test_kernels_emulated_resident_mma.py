# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of mma_sync that reduce columns between product and epilogue, run by the emulator with all blocks at once."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from ptx_emulator.host import ELEMENTS, Model
from ptx_emulator.layers import compile_layer as compile_tensors
from ptx_emulator.layers import random, to_bits, to_numbers
from split_reference import split
from test_batch_norm_emulated import FP16X3, K, Numbers
from test_batch_norm_emulated import source as tensor_source
from test_kernels_emulated_resident import Case, Norm

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

RESIDENT = ", reduction = resident"


def mma_sync(tile: str, k: int, warps: str, more: str = "") -> str:
    return f"mma_sync, tile = {tile}x{k}, warps = {warps}, stages = 3, swizzle = 128, raster = 2, blocks = 1{more}"


SMALL, FMA = mma_sync("64x64", 64, "2x2"), ", method = fma"
# A layer and how many blocks run at once.
LAYERS = {
    "bare": (Norm(256, 64, 64, SMALL, full=False), 4),
    "bf16": (Norm(256, 192, 128, SMALL), 4),  # in three turns
    "f16": (Norm(256, 64, 72, mma_sync("128x64", 64, "4x2"), "f16"), 2),
    "tf32": (Norm(128, 96, 72, mma_sync("64x32", 32, "2x1"), "f32"), 4),
    "fma": (Norm(128, 64, 72, mma_sync("64x64", 32, "2x2", FMA), "f32"), 2),
    "fma_ragged": (Norm(70, 40, 64, mma_sync("64x64", 32, "2x2", FMA), "f32", residual="both"), 2),
    "ragged": (Norm(200, 72, 72, SMALL), 8),
    "few_rows": (Norm(70, 40, 64, mma_sync("16x64", 64, "1x2"), "f16"), 5),
    "odd_columns": (Norm(150, 37, 72, SMALL, "f16", residual="both"), 3),
    "odd_columns_bare": (Norm(150, 37, 71, SMALL, full=False), 3),
    "two_columns": (Norm(150, 38, 72, SMALL, "bf16", residual="before"), 3),
    "wide_parts": (Norm(70, 256, 64, mma_sync("32x256", 64, "1x2"), residual="before"), 3),
    "affine": (Norm(200, 72, 72, SMALL, affine=True), 8),
    "affine_f32": (Norm(128, 64, 64, mma_sync("32x64", 32, "1x2"), "f32", affine=True), 4),
    "residual_before": (Norm(200, 72, 72, SMALL, residual="before"), 8),
    "affine_and_residual": (Norm(128, 64, 64, SMALL, "f16", affine=True, residual="before"), 2),
    "returned_product": (Norm(200, 72, 72, SMALL, affine=True, returned="product"), 8),
    "returned_scaled": (Norm(128, 64, 64, mma_sync("32x64", 32, "1x2"), "f32", affine=True, returned="scaled"), 4),
    "returned_input": (Norm(150, 37, 72, SMALL, "f16", returned="input"), 3),
    "two_rows": (Norm(2, 64, 64, SMALL, "f16"), 1),
    "many_row_tiles": (Norm(16 * 19 + 3, 64, 64, mma_sync("16x64", 64, "1x2")), 20),
}


def compile_layer(layer: Norm, folder, resident: int) -> Model:
    return Model(layer.source(), "sm_80", folder, resident=resident)


@pytest.mark.parametrize("name", LAYERS)
def test_resident(name, tmp_path):
    layer, resident = LAYERS[name]
    model = compile_layer(layer, tmp_path, resident)
    assert "trap" in model.ptx
    Case(layer).check(model, seed=None, launches=2)
    single = layer.n % 2 == 1 and layer.k % 2 == 1  # one kernel serves any pointer
    assert model.launched == 2 * ["layer_tiled_unaligned" if single else "layer_tiled"]


@pytest.mark.parametrize("columns", [64, 128, 192, 320])
def test_replayed(columns, tmp_path):
    """A replayed graph brings the token of the launch before it: no tag may outlive a launch of 1 to 5 turns."""
    layer = Norm(128, columns, 64, SMALL)
    Case(layer).check(compile_layer(layer, tmp_path, 2), seed=1, launches=3, replays=True)


def test_bits_do_not_depend_on_order(tmp_path):
    """Warps take their steps in another order each time."""
    layer = Norm(200, 72, 72, SMALL)
    model, results = compile_layer(layer, tmp_path, 8), []
    case, device = Case(layer), model.device
    for seed in (None, 1, 2):
        device.seed = seed
        y, *buffers = device.empty((layer.m, layer.n), ELEMENTS[layer.element]), *map(device.put, case.vectors)
        workspace = device.put(np.full(layer.workspace, 255, np.uint8))
        model.run("layer", *map(device.put, (case.x, case.w, case.residual)), y, y, workspace, *buffers)
        results.append([device.get(buffer) for buffer in (y, *buffers)])
    for result in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(result, results[0], strict=True))


def test_not_finite(tmp_path):
    layer = Norm(128, 128, 64, SMALL, full=False)
    Case(layer).check_not_finite(compile_layer(layer, tmp_path, 4), [3, 70], seed=None)


@pytest.mark.parametrize("name", ["bf16", "odd_columns", "tf32", "fma_ragged"])
def test_unaligned(name, tmp_path):
    """The kernel for any pointer has as many row tiles, and reduces columns itself."""
    layer, resident = LAYERS[name]
    model = compile_layer(layer, tmp_path, resident)
    Case(layer).check(model, seed=None, launches=2, shift=ELEMENTS[layer.element]().itemsize)
    assert model.launched == 2 * ["layer_tiled_unaligned"]


def test_large_mean(tmp_path):
    """Columns of mean 10000 and deviations near 8: sums of squares would have no digits left."""
    layer = Norm(200, 64, 64, mma_sync("64x64", 32, "2x2"), "f32")
    Case(layer, offset=10000.0).check(compile_layer(layer, tmp_path, 4), seed=2)


# From layers on tensors: precision, schedule, N.
TENSORS = {
    "bf16": ("bf16", mma_sync("64x64", 64, "2x2", RESIDENT), 40),
    "tf32": ("tf32", mma_sync("64x64", 32, "2x2", RESIDENT), 37),
    "tf32_fp16": ("tf32", mma_sync("64x64", 64, "2x2", ", method = fp16" + RESIDENT), 40),
    "fp32": ("fp32", mma_sync("64x64", 64, "2x2", FP16X3 + RESIDENT), 37),
    "fp32_short_tiles": ("fp32", mma_sync("16x64", 64, "1x2", FP16X3 + RESIDENT), 40),
    "fp32_fma": ("fp32", mma_sync("64x64", 32, "2x2", FMA + RESIDENT), 40),
}


def compile_norm(name: str, m: int, folder) -> tuple[Model, Numbers]:
    precision, schedule, n = TENSORS[name]
    model = compile_tensors(tensor_source(schedule, precision, n, m), "sm_80", folder)
    model.resident = -(-m // 16)
    return model, Numbers(precision, m, n)


@pytest.mark.parametrize("m", [2, 150])
@pytest.mark.parametrize("name", [name for name in TENSORS if name != "tf32_fp16"])
def test_tensors(name, m, tmp_path):
    """Statistics and y are there after one launch, and one more that finds nothing to do beside a split product."""
    model, numbers = compile_norm(name, m, tmp_path)
    numbers.assert_right(model)
    kernels = [kernel for kernel in model.launched if "_split" not in kernel]
    beside = ["forward_tiled_guard"] if "fp16x3" in TENSORS[name][1] else []
    assert kernels == ["forward_tiled", *beside]


def test_tf32_by_f16(tmp_path):
    """Numbers that f16 holds: of others it keeps fewer digits than test_tensors asks."""
    model, numbers = compile_norm("tf32_fp16", 150, tmp_path)
    numbers.x, numbers.w = (a.astype(np.float16).astype(np.float32) for a in (numbers.x, numbers.w))
    y, *statistics = model.call("forward", *(getattr(numbers, a) for a in ("x", "w", "s", "mean", "var", "r")))
    expected, *running = numbers.expected()
    assert np.abs(y - expected).max() <= 2.0**-9
    for got, wanted in zip(statistics, running, strict=True):
        assert np.abs(got - wanted).max() <= 2.0**-9 * np.abs(wanted).max()


@pytest.mark.parametrize("matrix", ["x", "w"])
@pytest.mark.parametrize("name", ["fp32", "fp32_short_tiles"])
def test_rows_that_a_split_does_not_hold(name, matrix, tmp_path):
    """Then the kernel without tensor cores computes all: each tile depends on all others of its columns."""
    model, numbers = compile_norm(name, 150, tmp_path)
    row = {"x": 70, "w": 7}[matrix]
    getattr(numbers, matrix)[row] *= np.float32(10) ** np.linspace(-20, 0, K, dtype=np.float32)
    numbers.assert_right(model)
    assert split(getattr(numbers, matrix), 2)[1][row] < 0
    assert any("_guard" in kernel for kernel in model.launched)


def test_two_results(tmp_path):
    """Matrices of other types, each stored once."""
    y, z, v = "tensor<150x40xbf16>", "tensor<150x40xf32>", "tensor<40xf32>"
    schedule = mma_sync("64x64", 64, "2x2", RESIDENT)
    source = f"""
func.func @forward(%x: tensor<150x{K}xbf16>, %w: tensor<40x{K}xbf16>, %g: {v}) -> ({y}, {z}) {{
  %0:2 = tenon.fused_linear %x, %w : tensor<150x{K}xbf16>, tensor<40x{K}xbf16>
      epilogue(%acc: {z}, %weight = %g: {v}) -> ({y}, {z})
      attributes {{strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<{schedule}>}} {{
    %1 = tenon.batch_norm_training %acc : ({z}) -> {z}
    %2 = tenon.mul %1, %weight : {z}, {v}
    %3 = tenon.cast %2 : {z} -> {y}
    %4 = tenon.relu %1 : {z}
    tenon.yield %3, %4 : {y}, {z}
  }}
  return %0#0, %0#1 : {y}, {z}
}}"""
    model = compile_tensors(source, "sm_80", tmp_path)
    x, w = to_bits(random(150, K), "bf16"), to_bits(random(40, K, seed=1), "bf16")
    weight = random(1, 40, seed=2)[0]
    first, second = model.call("forward", x, w, weight)
    product = to_numbers(x, "bf16") @ to_numbers(w, "bf16").T
    normal = (product - product.mean(0)) / np.sqrt(product.var(0) + 1e-5)
    assert np.allclose(to_numbers(first, "bf16"), normal * weight, rtol=2.0**-8, atol=2.0**-16)
    assert np.allclose(second, np.maximum(normal, 0), rtol=0, atol=2.0**-18)
    assert model.launched == ["forward_tiled"]


@pytest.mark.parametrize("is_outside", [False, True])
def test_unaligned_split(is_outside, tmp_path):
    """Halves are aligned, whatever x is, and the kernel beside them takes x as it is."""
    model, numbers = compile_norm("fp32", 150, tmp_path)
    if is_outside:
        numbers.x[70] *= np.float32(10) ** np.linspace(-20, 0, K, dtype=np.float32)
    x, expected = model.device.put(numbers.x, 4), numbers.expected()
    results = model.call("forward", x, *(getattr(numbers, a) for a in ("w", "s", "mean", "var", "r")))
    for got, wanted in zip(results, expected, strict=True):
        assert np.abs(got - wanted).max() <= 2.0**-18 * max(1.0, np.abs(wanted).max())
    assert [kernel for kernel in model.launched if "_tiled" in kernel] == [
        "forward_tiled",
        "forward_tiled_guard_unaligned",
    ]


@pytest.mark.parametrize("name", ["tf32", "fp32", "fp32_fma"])
@pytest.mark.parametrize("m", [150, 1000])
def test_means_that_f32_rounds_to_a_tenth_of_a_deviation(name, m, tmp_path):
    """Columns of mean 10000 and a deviation of 0.01, which the exchange between tiles keeps."""
    model, numbers = compile_norm(name, m, tmp_path)
    # Products that f32 holds: 10000 and some 2^-10, of which deviations are about ten.
    steps = np.random.default_rng(6)
    numbers.x[:], numbers.w[:], numbers.s[:], numbers.var[:] = 0.0, 0.0, 1.0, 0.0
    numbers.x[:, 0], numbers.w[:, 0] = 100.0, 100.0
    numbers.x[:, 1:9] = steps.integers(-8, 9, (m, 8))
    numbers.w[:, 1:9] = steps.integers(-1, 2, (len(numbers.w), 8)) * 2.0**-10
    _, _, variance = model.call("forward", *(getattr(numbers, a) for a in ("x", "w", "s", "mean", "var", "r")))
    _, _, expected = numbers.expected()
    assert np.abs(variance - expected).max() <= 2.0**-14 * expected.max()
