# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that read x and w of 16 bits along M or N as they lie, run by the emulator of PTX beside float64."""

import shutil

import numpy as np
import pytest
from ptx_emulator.layers import Layer, Operands, mma_sync, random, wgmma

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

M, N, K = 136, 200, 152  # no multiples of a tile, but of 16 bytes
LAYOUTS = ["mk_kn", "km_nk", "km_kn"]
SCHEDULES = {
    "one_box": wgmma("64x64", 64, "4x1"),
    "boxes": wgmma("128x192", 64, "8x1"),
    "blocks": wgmma("256x64", 64, "8x1"),
    "ping_pong": wgmma("64x128", 64, "4x1", ", ping_pong = true"),
    "stream_k": wgmma("128x64", 64, "8x1", ", stream_k = true"),
    "cluster_along_m": wgmma("64x128", 64, "4x1", ", cluster = 2x1"),
    "cluster_along_n": wgmma("128x64", 64, "8x1", ", cluster = 1x2"),
    "swapped": wgmma("64x64", 64, "1x4"),
    "swapped_boxes": wgmma("128x128", 64, "1x8"),
}


def run(layer, folder, shift=0, seed=None):
    made = Operands(layer, random(M, layer.k), random(layer.n, layer.k, seed=4))
    model = layer.compile(folder)
    first = made.run(model, shift, seed=seed)
    assert made.right(first)
    assert np.array_equal(first, made.run(model, shift, seed=seed))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_as_they_lie(tmp_path, schedule, layout):
    m = M if layout.startswith("km") else None
    run(Layer("sm_90a", SCHEDULES[schedule], N, K, "bf16", layout=layout, m=m), tmp_path)


def test_held_tiles(tmp_path):
    """Of few stages and of many: with these the products of a stage are a loop."""
    for k in (152, 640):
        schedule = wgmma("128x128", 64, "1x8", ", defer = true")
        run(Layer("sm_90a", schedule, N, k, "bf16", layout="mk_kn"), tmp_path)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_f16_in_any_order_of_warps(tmp_path, layout):
    m = M if layout.startswith("km") else None
    run(Layer("sm_90a", SCHEDULES["boxes"], N, K, "f16", layout=layout, m=m), tmp_path, seed=3)


def test_few_rows_by_swapped_operands(tmp_path):
    layer = Layer("sm_90a", wgmma("24x64", 64, "1x4", ", stream_k = true"), N, K, "bf16", layout="mk_kn")
    made = Operands(layer, random(20, K), random(N, K, seed=4))
    assert made.right(made.run(layer.compile(tmp_path)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_element_by_element(tmp_path, target, layout):
    """Of pointers that are not aligned, and by mma_sync of any."""
    m = M if layout.startswith("km") else None
    schedule = mma_sync(64) if target == "sm_80" else SCHEDULES["boxes"]
    layer = Layer(target, schedule, N, K, "bf16", layout=layout, m=m)
    run(layer, tmp_path, shift=2)
    if target == "sm_80":
        run(layer, tmp_path)
