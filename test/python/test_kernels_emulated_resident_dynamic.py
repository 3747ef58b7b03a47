# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resident batch norm of a dynamic M, in the emulator of PTX: a call whose tiles do not fit has two phases."""

import shutil
from dataclasses import dataclass, replace

import numpy as np
import pytest
from ptx_emulator.copies import Box
from ptx_emulator.layers import wgmma
from test_kernels_emulated_resident import CLUSTER, WIDE_CLUSTER, Case, Norm, compile_layer

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

ROWS = 999  # of the source, which no other extent is


@dataclass
class Dynamic(Norm):
    """A layer whose source has no M; `m` is that of a call."""

    def source(self) -> str:
        return Norm.source(replace(self, m=ROWS)).replace(f"<{ROWS}x", "<?x")


# A layer, how many blocks run at once, Ms that fit and Ms that do not.
LAYERS = {
    "bare": (Dynamic(0, 32, 64, wgmma("128x32", 64, "8x1"), full=False), 4, (2, 128, 300), (513, 700)),
    "bf16": (Dynamic(0, 96, 128, wgmma("128x32", 64, "8x1")), 6, (1, 256, 200), (800,)),
    "tf32": (Dynamic(0, 72, 72, wgmma("64x32", 32, "4x1"), "f32"), 3, (130, 64), (193,)),
    "cluster": (Dynamic(0, 64, 72, wgmma("64x32", 32, "4x1", CLUSTER), "f32"), 6, (300, 70), (400,)),
    "wide_cluster": (Dynamic(0, 96, 64, wgmma("64x32", 64, "4x1", WIDE_CLUSTER)), 6, (130, 192), (200,)),
    "affine": (Dynamic(0, 72, 72, wgmma("64x32", 64, "4x1"), affine=True), 9, (200, 576), (600,)),
    "residual_before": (Dynamic(0, 72, 72, wgmma("64x32", 64, "4x1"), residual="before"), 4, (200,), (300,)),
    "two_row_blocks": (Dynamic(0, 32, 64, wgmma("256x32", 64, "8x1")), 2, (300, 512), (513,)),
    "swapped": (Dynamic(0, 72, 72, wgmma("64x64", 64, "1x4")), 4, (100, 256), (300,)),
    "returned_input": (Dynamic(0, 72, 72, wgmma("64x32", 64, "4x1"), returned="input"), 9, (200,), (600,)),
    "many_row_tiles": (Dynamic(0, 32, 64, wgmma("64x32", 64, "4x1")), 20, (64 * 19 + 3, 64 * 8, 1100), (64 * 20 + 1,)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_what_fits_is_one_kernel(name, tmp_path):
    layer, resident, fitting, others = LAYERS[name]
    model = compile_layer(layer, tmp_path, resident)
    assert "trap" in model.ptx
    for m in fitting:
        model.launched.clear()
        if m > 1:
            Case(replace(layer, m=m)).check(model, seed=None, launches=2)
            assert model.launched == 2 * ["layer_tiled"]
    for m in others:
        model.launched.clear()
        Case(replace(layer, m=m)).check(model, seed=None)
        assert model.launched[0] == "layer_tiled_1" and len(model.launched) > 1, model.launched


def test_replayed(tmp_path):
    """A replayed graph brings the token of the launch before it: no tag may outlive a launch of several turns."""
    layer = Dynamic(0, 160, 64, wgmma("64x32", 64, "4x1"))
    model = compile_layer(layer, tmp_path, 2)
    for m in (128, 100):
        Case(replace(layer, m=m)).check(model, seed=1, launches=3, replays=True)


@pytest.mark.parametrize(("m", "begins"), [(128, {0: 0, 32: 0}), (256, {0: 0, 32: 41920})])
def test_every_second_turn_goes_backward(m, begins, tmp_path, monkeypatch):
    """Where x and w are more than 25 MiB, through the last K tile first. The two tiles of columns are two turns."""
    layer = Dynamic(0, 64, 41984, wgmma("64x32", 64, "4x1"), full=False)
    model = compile_layer(layer, tmp_path, m // 64)
    make, seen = Box.__init__, {}

    def watch(box, tensor, column, row):
        make(box, tensor, column, row)
        if tensor.rows == layer.n:  # w: where in K a tile of its rows begins
            seen.setdefault(row, column)

    monkeypatch.setattr(Box, "__init__", watch)
    Case(replace(layer, m=m)).check(model, seed=None)
    assert model.launched == ["layer_tiled"]
    assert seen == begins


def test_unaligned(tmp_path):
    layer = Dynamic(0, 40, 72, wgmma("64x32", 64, "4x1"))
    model = compile_layer(layer, tmp_path, 4)
    Case(replace(layer, m=100)).check(model, seed=None, shift=4)
    assert model.launched[0] == "layer_tiled_unaligned"


def test_no_rows(tmp_path):
    """Running statistics of an empty batch are as with other reductions."""
    layer = Dynamic(0, 40, 72, wgmma("64x32", 64, "4x1"), element="f16")
    model = compile_layer(layer, tmp_path, 4)
    case, device = Case(replace(layer, m=0)), model.device
    vectors = [device.put(v) for v in case.vectors]
    arrays = [device.put(a) for a in (case.x, case.w, case.residual)]
    workspace = device.put(np.zeros(layer.workspace, np.uint8))
    model.run("layer", *arrays, *(device.empty((0, layer.n), np.float16) for _ in range(2)), workspace, *vectors)
    for buffer, before in zip(vectors[4:], case.vectors[4:], strict=True):
        assert np.allclose(device.get(buffer), 0.75 * before)
