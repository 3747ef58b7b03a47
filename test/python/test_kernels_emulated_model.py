# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A layer of precision fp32 as tenon-compile makes it, run by the emulator of PTX: splits, product, guard."""

import shutil

import numpy as np
import pytest
from ptx_emulator.host import Model
from ptx_emulator.layers import ERROR, mma_sync, random, wgmma

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

M, N, K = 130, 72, 100
SCHEDULES = {
    "sm_80": ("sm_80", mma_sync(64, ", method = fp16x3")),
    "sm_90a": ("sm_90a", wgmma("128x16", 64, "8x1", ", cluster = 2x1, method = fp16x3")),
    "swapped": ("sm_90a", wgmma("48x64", 64, "1x4", ", cluster = 1x2, method = fp16x3")),
}
Y = f"tensor<?x{N}xf32>"
# The types of x and w by layout, M known where x is [K, M].
LAYOUTS = {
    "mk_kn": (f"tensor<?x{K}xf32>", f"tensor<{K}x{N}xf32>"),
    "km_nk": (f"tensor<{K}x{M}xf32>", f"tensor<{N}x{K}xf32>"),
    "km_kn": (f"tensor<{K}x{M}xf32>", f"tensor<{K}x{N}xf32>"),
}


def transposed_source(layout):
    x, w = LAYOUTS[layout]
    y = f"tensor<{M}x{N}xf32>" if layout.startswith("km") else Y
    return f"""
func.func @forward(%x: {x}, %w: {w}, %b: tensor<{N}xf32>, %r: {y}) -> {y} {{
  %0 = tenon.linear %x, %w, %b layout<{layout}> : ({x}, {w}, tensor<{N}xf32>) -> {y}
  %1 = tenon.relu %0 : {y}
  %2 = tenon.add %1, %r : {y}, {y}
  return %2 : {y}
}}"""


SOURCE = f"""
func.func @forward(%x: tensor<?x{K}xf32>, %w: tensor<{N}x{K}xf32> {{tenon.param}}, %b: tensor<{N}xf32> {{tenon.param}},
                   %r: {Y}) -> {Y} {{
  %0 = tenon.linear %x, %w, %b : (tensor<?x{K}xf32>, tensor<{N}x{K}xf32>, tensor<{N}xf32>) -> {Y}
  %1 = tenon.relu %0 : {Y}
  %2 = tenon.add %1, %r : {Y}, {Y}
  return %2 : {Y}
}}"""
KERNELS = ["forward_prepare_split_v4", "forward_run_split_v4", "forward_run_tiled", "forward_run_tiled_guard"]


@pytest.fixture(scope="module", params=SCHEDULES)
def model(request, tmp_path_factory):
    target, schedule = SCHEDULES[request.param]
    flags = ["--strategy=tiled", f"--schedule={schedule}"]
    return Model(SOURCE, target, tmp_path_factory.mktemp("model"), flags)


def operands():
    return {
        "x": random(M, K, spread=3),
        "w": random(N, K, spread=3, seed=1),
        "b": random(1, N, seed=2)[0],
        "r": random(M, N, seed=3),
    }


def assert_right(model, tensors, outside, kernels=KERNELS, layout="mk_nk"):
    x, w, b, r = (tensors[name].astype(np.float64) for name in "xwbr")
    before = model.device.variable("tenon_rows_outside", np.uint64)[0]
    model.launched.clear()
    turned = {name: name in "xw" and {"x": "km_", "w": "_kn"}[name] in layout for name in tensors}
    (y,) = model.forward(**{n: np.ascontiguousarray(t.T) if turned[n] else t for n, t in tensors.items()})
    assert model.launched == kernels
    assert model.device.variable("tenon_rows_outside", np.uint64)[0] - before == outside
    with np.errstate(all="ignore"):
        product = x @ w.T + b
        expected = np.where(product < 0, 0, product) + r
        size = np.abs(x) @ np.abs(w).T + np.abs(b) + np.abs(r)
        close = np.abs(y - expected) <= ERROR["fp16x3"] * size
    assert (close | (y == expected) | (np.isnan(y) & np.isnan(expected))).all()


def test_rows_that_a_split_holds(model):
    assert_right(model, operands(), 0)


def test_rows_that_it_does_not_hold(model):
    tensors = operands()
    tensors["x"][3] *= np.float32(10) ** np.linspace(-20, 0, K, dtype=np.float32)
    tensors["x"][100, 5] = np.inf
    tensors["w"][7, 9] = np.nan
    assert_right(model, tensors, 3)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("schedule", ["sm_80", "sm_90a"])
def test_transposed_operands(tmp_path, layout, schedule):
    target, text = SCHEDULES[schedule]
    model = Model(transposed_source(layout), target, tmp_path, ["--strategy=tiled", f"--schedule={text}"])
    of_x = "forward_split_panels_v2" if layout.startswith("km") else "forward_split_v4"
    of_w = "forward_split_panels_v2" if layout.endswith("kn") else "forward_split_v4"
    kernels = [of_x, of_w if of_w != of_x else f"{of_w}_1", "forward_tiled", "forward_tiled_guard"]
    assert_right(model, operands(), 0, kernels, layout)
    tensors = operands()
    tensors["x"][3] *= np.float32(10) ** np.linspace(-20, 0, K, dtype=np.float32)
    tensors["x"][100, 5] = np.inf
    tensors["w"][7, 9] = np.nan
    assert_right(model, tensors, 3, kernels, layout)
