# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that reduce columns between product and epilogue, run by the emulator of PTX with all blocks at once."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass

import numpy as np
import pytest
from ptx_emulator.host import ELEMENTS, Model
from ptx_emulator.layers import compile_layer as compile_tensors
from ptx_emulator.layers import random, to_bits, to_numbers, wgmma
from test_batch_norm_emulated import Numbers
from test_batch_norm_emulated import source as tensor_source

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

EPS, MOMENTUM, SLOPE = 1e-3, 0.25, 0.125
MAX_BLOCKS = 192


@dataclass
class Norm:
    """y = leaky_relu(batch_norm(leaky_relu(scale x w^T + bias))) + residual; parts of it are left out.

    A residual is added `after` the batch norm, or `before` it to what it normalises, or `both`. Without the activation
    before it what is normalised is `affine` in the product.
    """

    m: int
    n: int
    k: int
    schedule: str
    element: str = "bf16"
    full: bool = True  # else batch norm of the bare product, without parameters
    residual: str = "after"
    affine: bool = False
    returned: str = ""  # besides: the product, what is scaled, or the norm's input, with a residual summed

    @property
    def workspace(self) -> int:
        tile_n = int(re.search(r"tile = \d+x(\d+)", self.schedule)[1])
        if "mma_sync" in self.schedule:  # the kernel for any pointer has tiles of 64 columns
            tile_n = max(tile_n, 64)
        of_column = 4 * 16 if "defer" in self.schedule else 2 * 16
        return MAX_BLOCKS * (8 + of_column * tile_n)

    def source(self) -> str:
        def types(kind: str) -> tuple[str, str, str]:
            return tuple(
                f"{kind}<{shape}>"
                for shape in (f"{self.m}x{self.n}x{self.element}", f"{self.m}x{self.n}xf32", f"{self.n}xf32")
            )

        (y, _, v), (yt, t, vt) = types("memref"), types("tensor")
        names = ["scale", "bias", "weight", "shift", "mean", "var"] if self.full else []
        operands = "".join(f", %{name} = %{name}_: {v}" for name in names)
        residual = f", %residual = %r: {y}" if self.full else ""
        cast = self.element != "f32"
        kept = {"": "", "product": "%acc", "scaled": "%0", "input": "%1" if self.affine else "%2", "summed": "%b"}[
            self.returned
        ]
        if self.full:
            activation = f"tenon.leaky_relu %1 {{negative_slope = {SLOPE}}} : {t}"
            normalised, result = "%1" if self.affine else "%2", "%4"
            before = after = ""
            if self.residual != "after":
                before, normalised = f"%b = tenon.add {normalised}, %residual : {t}, {yt}", "%b"
            if self.residual != "before":
                after, result = f"%5 = tenon.add %4, %residual : {t}, {yt}", "%5"
            body = f"""
    %0 = tenon.mul %acc, %scale : {t}, {vt}
    %1 = tenon.add %0, %bias : {t}, {vt}
    {"" if self.affine else f"%2 = {activation}"}
    {before}
    %3:3 = tenon.batch_norm_training {normalised} weight(%weight) bias(%shift) running(%mean, %var)
        {{eps = {EPS}, momentum = {MOMENTUM}}} : ({", ".join([t] + 4 * [vt])}) -> ({t}, {vt}, {vt})
    %4 = tenon.leaky_relu %3#0 {{negative_slope = {SLOPE}}} : {t}
    {after}"""
        else:
            result = "%5"
            body = f"""
    %5 = tenon.batch_norm_training %acc {{eps = {EPS}}} : ({t}) -> {t}"""
        last = f"%6 = tenon.cast {result} : {t} -> {yt}" if cast else ""
        if cast and kept:
            last, kept = f"{last}\n    %7 = tenon.cast {kept} : {t} -> {yt}", "%7"
        result = "%6" if cast else result
        outs = f"%y: {y}, %mean_: {v}, %var_: {v}" if self.full else f"%y: {y}"
        yields = f"{result}, %3#1, %3#2 : {yt}, {vt}, {vt}" if self.full else f"{result} : {yt}"
        if kept:
            outs, yields = f"%z: {y}, {outs}", f"{kept}, {yields.replace(' : ', f' : {yt}, ')}"
        x, w = f"memref<{self.m}x{self.k}x{self.element}>", f"memref<{self.n}x{self.k}x{self.element}>"
        s = f"memref<{self.workspace}xi8>"
        arguments = "".join(f", %{name}_: {v}" for name in names)
        return f"""
func.func @layer(%x: {x}, %w: {w}, %r: {y}, %y: {y}, %z: {y}, %s: {s}{arguments}) {{
  tenon.tiled_linear %x, %w : {x}, {w}
      epilogue(%acc: {t}{operands}{residual}) outs({outs})
      workspace(%s: {s}) schedule<{self.schedule}, reduction = resident> {{{body}
    {last}
    tenon.yield {yields}
  }}
  return
}}"""


class Case:
    """A layer's operands in memory, and what comes of them in float64."""

    def __init__(self, layer: Norm, offset: float = 0.0) -> None:
        self.layer, element = layer, layer.element
        x, w = random(layer.m, layer.k), random(layer.n, layer.k, seed=4)
        if element == "f32":  # numbers that tf32 holds
            x, w = ((a.view(np.uint32) & 0xFFFFE000).view(np.float32) for a in (x, w))
        self.x, self.w = to_bits(x, element), to_bits(w, element)
        vectors = random(6, layer.n, seed=5)
        if offset:
            vectors[0], vectors[1] = 1 + np.abs(vectors[0]), vectors[1] + offset
        vectors[5] = np.abs(vectors[5])
        self.vectors = vectors
        self.residual = to_bits(random(layer.m, layer.n, seed=6), element)
        # What is normalised is rounded to f32 before, far from zero.
        self.rounding = offset * 2.0**-22

    def product(self) -> np.ndarray:
        return to_numbers(self.x, self.layer.element) @ to_numbers(self.w, self.layer.element).T

    def expect_returned(self) -> np.ndarray:
        z, (scale, bias) = self.product(), self.vectors[:2].astype(np.float64)
        if self.layer.returned == "product":
            return z
        z = z * scale
        if self.layer.returned == "scaled":
            return z
        z += bias
        if not self.layer.affine:
            return np.where(z > 0, z, SLOPE * z)
        return z + to_numbers(self.residual, self.layer.element) * (self.layer.returned == "summed")

    def expect(self, mean: np.ndarray, variance: np.ndarray) -> list[np.ndarray]:
        layer = self.layer

        def leaky(a: np.ndarray) -> np.ndarray:
            return np.where(a > 0, a, SLOPE * a)

        z = self.product()
        scale, bias, weight, shift = self.vectors[:4].astype(np.float64)
        residual = to_numbers(self.residual, layer.element)
        if layer.full:
            z = scale * z + bias if layer.affine else leaky(scale * z + bias)
            z += residual if layer.residual != "after" else 0
        y = (z - z.mean(0)) / np.sqrt(z.var(0) + EPS)
        if not layer.full:
            return [y]
        y = leaky(y * weight + shift) + (residual if layer.residual != "before" else 0)
        return [
            y,
            (1 - MOMENTUM) * mean + MOMENTUM * z.mean(0),
            (1 - MOMENTUM) * variance + MOMENTUM * z.var(0, ddof=1),
        ]

    def check(self, model: Model, seed: int | None, launches: int = 1, replays: bool = False, shift: int = 0) -> None:
        """Launch a few times on one workspace, x `shift` bytes off; statistics are updated in place."""
        layer, device = self.layer, model.device
        device.seed = seed
        x, w, residual = device.put(self.x, shift), device.put(self.w), device.put(self.residual)
        workspace = device.put(np.random.default_rng(3).integers(0, 256, layer.workspace).astype(np.uint8))
        vectors = [device.put(v) for v in self.vectors] if layer.full else []
        mean, variance = self.vectors[4].astype(np.float64), self.vectors[5].astype(np.float64)
        token, first = model.token, None
        for launch in range(launches):
            if replays:  # of other numbers, whose states must not be taken for those before
                model.token, first = token, None
                self.x = to_bits(random(layer.m, layer.k, seed=launch), layer.element)
                x = device.put(self.x)
            y, z = (device.empty((layer.m, layer.n), ELEMENTS[layer.element]) for _ in range(2))
            model.run("layer", x, w, residual, y, z, workspace, *vectors)
            expected = self.expect(mean, variance)
            bits = device.get(y)
            flags = device.get(workspace)[: 8 * model.resident]
            assert not replays or not flags.any()
            assert first is None or np.array_equal(bits, first)
            first = bits
            error = {"f32": 2e-5, "f16": 2.0**-10, "bf16": 2.0**-7}[layer.element]
            # What is held is rounded by a quarter of that of what it differs from a mean, 4 deviations at most.
            # What is returned too is held as that is rounded.
            held = (1 + 3 * bool(layer.returned)) * error * np.abs(self.vectors[2]) if "defer" in layer.schedule else 0
            tolerance = error + self.rounding + held
            if layer.returned:
                returned = to_numbers(device.get(z), layer.element)
                exact = self.expect_returned()
                assert np.allclose(returned, exact, rtol=error, atol=2e-6 * np.abs(exact).max())
            assert np.allclose(to_numbers(bits, layer.element), expected[0], rtol=error, atol=tolerance)
            if layer.full:
                mean, variance = expected[1:]
                for buffer, value in zip(vectors[4:], expected[1:], strict=True):
                    assert np.allclose(device.get(buffer), value, rtol=2e-5, atol=2e-5 + self.rounding)

    def check_not_finite(self, model: Model, columns: list[int], seed: int | None) -> None:
        """Launch with NaN and infinity in rows of w: they keep their columns, and stop no block that waits for them."""
        layer, device = self.layer, model.device
        device.seed = seed
        w = to_numbers(self.w, layer.element).astype(np.float32)
        w[columns[0]], w[columns[1]] = np.nan, np.inf
        self.w = to_bits(w, layer.element)
        workspace = device.put(np.full(layer.workspace, 255, np.uint8))
        y = device.empty((layer.m, layer.n), ELEMENTS[layer.element])
        model.run("layer", *map(device.put, (self.x, self.w, self.residual)), y, y, workspace)
        numbers = to_numbers(device.get(y), layer.element)
        assert np.isnan(numbers[:, columns]).all()
        others = np.delete(np.arange(layer.n), columns)
        with np.errstate(invalid="ignore"):
            expected = self.expect(np.zeros(0), np.zeros(0))[0]
        assert np.allclose(numbers[:, others], expected[:, others], rtol=2.0**-7, atol=2.0**-7)


def compile_layer(layer: Norm, folder, resident: int) -> Model:
    return Model(layer.source(), "sm_90a", folder, resident=resident)


CLUSTER, WIDE_CLUSTER, DEFER = ", cluster = 2x1", ", cluster = 1x2", ", defer = true"
# A layer and how many blocks run at once.
LAYERS = {
    "bare": (Norm(256, 32, 64, wgmma("128x32", 64, "8x1"), full=False), 4),
    "bf16": (Norm(256, 96, 128, wgmma("128x32", 64, "8x1")), 4),
    "f16": (Norm(256, 64, 72, wgmma("128x64", 64, "8x1"), "f16"), 2),
    "tf32": (Norm(128, 64, 72, wgmma("64x32", 32, "4x1"), "f32"), 3),
    "ragged": (Norm(200, 72, 72, wgmma("64x32", 64, "4x1")), 9),
    "few_rows": (Norm(70, 40, 64, wgmma("64x32", 64, "4x1"), "f16"), 2),
    "two_row_blocks": (Norm(300, 32, 64, wgmma("256x32", 64, "8x1")), 2),
    "cluster": (Norm(300, 64, 72, wgmma("64x32", 32, "4x1", CLUSTER), "f32"), 6),
    "cluster_full": (Norm(256, 96, 64, wgmma("64x32", 64, "4x1", CLUSTER)), 8),
    "wide_cluster": (Norm(130, 96, 64, wgmma("64x32", 64, "4x1", WIDE_CLUSTER)), 6),
    "affine": (Norm(200, 72, 72, wgmma("64x32", 64, "4x1"), affine=True), 9),
    "affine_f32": (Norm(256, 32, 64, wgmma("128x32", 32, "8x1", CLUSTER), "f32", affine=True), 2),
    "residual_before": (Norm(200, 72, 72, wgmma("64x32", 64, "4x1"), residual="before"), 9),
    "residual_both": (Norm(300, 32, 64, wgmma("256x32", 32, "8x1"), "f32", residual="both"), 2),
    "affine_and_residual": (Norm(128, 64, 64, wgmma("128x32", 64, "8x1"), "f16", affine=True, residual="before"), 2),
    # Long enough for one warpgroup to end its products before the other.
    "long": (Norm(256, 64, 640, wgmma("128x32", 64, "8x1", CLUSTER).replace("stages = 3", "stages = 4")), 4),
    "two_rows": (Norm(2, 32, 64, wgmma("64x32", 64, "4x1"), "f16"), 1),
    "swapped": (Norm(128, 128, 72, wgmma("64x64", 64, "1x4")), 4),
    "swapped_bare": (Norm(96, 64, 64, wgmma("32x64", 64, "1x4"), full=False), 3),
    "swapped_f32": (Norm(64, 128, 72, wgmma("32x128", 32, "1x8"), "f32", affine=True), 2),
    "swapped_ragged": (Norm(77, 72, 72, wgmma("24x64", 64, "1x4"), "f16"), 8),
    "swapped_cluster": (Norm(100, 120, 136, wgmma("16x64", 64, "1x4", WIDE_CLUSTER), affine=True), 14),
    # Of so few rows four buffers would fit, of which the barriers would not.
    "swapped_small": (Norm(16, 192, 72, wgmma("8x64", 64, "1x4")), 2),
    "deferred_small": (Norm(32, 192, 1536, wgmma("16x64", 64, "1x4", DEFER)), 2),
    "swapped_cluster_of_w": (Norm(100, 248, 64, wgmma("32x128", 64, "1x4", CLUSTER)), 8),
    "swapped_residual": (Norm(70, 192, 64, wgmma("40x192", 64, "1x4"), "f16", affine=True), 2),
    # Of the cluster's two warpgroups of a block, one may come to its end late.
    "swapped_two_warpgroups_cluster": (Norm(64, 136, 64, wgmma("64x128", 64, "1x8", CLUSTER), "f16"), 8),
    # Tiles are held while those of the next turn are multiplied: three turns, one, and some of blocks without rows.
    "deferred": (Norm(128, 192, 1216, wgmma("64x64", 64, "1x4", DEFER)), 2),
    "deferred_one_turn": (Norm(100, 64, 1216, wgmma("64x64", 64, "1x4", DEFER), full=False), 2),
    "deferred_affine": (Norm(77, 144, 1216, wgmma("24x64", 64, "1x4", DEFER), "f16", affine=True), 4),
    "deferred_block_without_rows": (Norm(70, 256, 1216, wgmma("32x64", 64, "1x4", CLUSTER + DEFER)), 4),
    "deferred_cluster": (Norm(100, 200, 1216, wgmma("32x64", 64, "1x4", CLUSTER + DEFER), affine=True), 5),
    "deferred_wide_cluster": (Norm(96, 256, 1216, wgmma("32x64", 64, "1x4", WIDE_CLUSTER + DEFER), "f16"), 6),
    "deferred_two_warpgroups": (Norm(80, 256, 1304, wgmma("40x128", 64, "1x8", DEFER)), 2),
    "deferred_four_columns": (Norm(64, 384, 1216, wgmma("32x128", 64, "1x4", DEFER), affine=True), 2),
    "returned_product": (Norm(200, 72, 72, wgmma("64x32", 64, "4x1"), affine=True, returned="product"), 9),
    "returned_scaled": (Norm(256, 32, 64, wgmma("128x32", 32, "8x1"), "f32", affine=True, returned="scaled"), 2),
    "returned_input": (Norm(200, 72, 72, wgmma("64x32", 64, "4x1"), "f16", returned="input"), 9),
    "swapped_returned_product": (Norm(100, 128, 72, wgmma("64x64", 64, "1x4"), affine=True, returned="product"), 4),
    "swapped_returned_input": (Norm(77, 72, 72, wgmma("32x64", 64, "1x4"), "f16", returned="input"), 6),
    "deferred_returned_scaled": (
        Norm(128, 192, 1280, wgmma("64x64", 64, "1x4", DEFER), affine=True, returned="scaled"),
        2,
    ),
    "deferred_returned_input": (
        Norm(70, 256, 1280, wgmma("32x64", 64, "1x4", CLUSTER + DEFER), "f16", returned="input"),
        4,
    ),
    "returned_residual": (
        Norm(128, 64, 64, wgmma("128x32", 64, "8x1"), affine=True, residual="before", returned="summed"),
        2,
    ),
    "many_row_tiles": (Norm(64 * 19 + 3, 32, 64, wgmma("64x32", 64, "4x1")), 20),
}


@pytest.mark.parametrize("name", LAYERS)
def test_resident(name, tmp_path):
    layer, resident = LAYERS[name]
    model = compile_layer(layer, tmp_path, resident)
    assert "trap" in model.ptx
    Case(layer).check(model, seed=None, launches=2)
    assert model.launched == 2 * ["layer_tiled"]


REPLAYED = [
    *(Norm(128, columns, 64, wgmma("64x32", 64, "4x1")) for columns in (32, 64, 96, 160)),
    *(Norm(64, columns, 1216, wgmma("32x64", 64, "1x4", DEFER)) for columns in (64, 128, 192)),
]


@pytest.mark.parametrize("layer", REPLAYED, ids=lambda layer: f"{layer.n}_{layer.k}")
def test_replayed(layer, tmp_path):
    """A replayed graph brings the token of the launch before it: no tag may outlive a launch of 1 to 5 turns."""
    Case(layer).check(compile_layer(layer, tmp_path, 2), seed=1, launches=3, replays=True)


WITHOUT_ROWS = {
    "short": (Norm(70, 256, 64, wgmma("32x64", 64, "1x4", CLUSTER)), 3),
    "short_other_warps": (Norm(70, 256, 64, wgmma("64x32", 64, "4x1", CLUSTER)), 3),
    "deferred": (Norm(70, 256, 1216, wgmma("32x64", 64, "1x4", CLUSTER + DEFER)), 3),
    "deferred_with_rows": (Norm(70, 256, 1216, wgmma("32x64", 64, "1x4", CLUSTER + DEFER)), 2),
}


@pytest.mark.parametrize("name", WITHOUT_ROWS)
def test_late_block(name, tmp_path):
    """The last block of a panel, which has no rows, or the one before comes late: nobody waits for it but its peer."""
    layer, late = WITHOUT_ROWS[name]
    model = compile_layer(layer, tmp_path, 4)
    model.device.late = late
    Case(layer).check(model, seed=None)


def test_not_finite(tmp_path):
    layer = Norm(128, 64, 64, wgmma("64x32", 64, "4x1"), full=False)
    Case(layer).check_not_finite(compile_layer(layer, tmp_path, 4), [3, 40], seed=1)


def test_affine_edges(tmp_path):
    """A bias cancels unless it is no number, and a scale of 0 leaves the norm's own bias."""
    layer = Norm(128, 32, 64, wgmma("128x32", 64, "8x1"), affine=True, element="f16")
    case = Case(layer)
    case.vectors[1, 3], case.vectors[1, 7], case.vectors[1, 9], case.vectors[0, 5] = np.inf, np.nan, 1e6, 0
    model = compile_layer(layer, tmp_path, 1)
    device = model.device
    workspace, y = device.put(np.zeros(layer.workspace, np.uint8)), device.empty((layer.m, layer.n), ELEMENTS["f16"])
    x, w, residual = (device.put(a) for a in (case.x, case.w, case.residual))
    model.run("layer", x, w, residual, y, y, workspace, *map(device.put, case.vectors))
    numbers = to_numbers(device.get(y), "f16")
    assert np.isnan(numbers[:, [3, 7]]).all()
    with np.errstate(invalid="ignore"):
        expected = case.expect(*case.vectors[4:].astype(np.float64))[0]
    others = np.delete(np.arange(layer.n), [3, 7])
    assert np.allclose(numbers[:, others], expected[:, others], rtol=2.0**-9, atol=2.0**-9)


def test_large_mean(tmp_path):
    """Columns of mean 10000 and deviations near 8: sums of squares would have no digits left."""
    layer = Norm(200, 32, 64, wgmma("64x32", 32, "4x1"), "f32")
    Case(layer, offset=10000.0).check(compile_layer(layer, tmp_path, 4), seed=2)


@pytest.mark.parametrize("returned", ["", "scaled", "input"])
@pytest.mark.parametrize("element", ["bf16", "f32"])
def test_unaligned(element, returned, tmp_path):
    """TMA cannot take such an x: a product of mma.sync, then kernels that reduce and normalise."""
    schedule = wgmma("64x32", 32 if element == "f32" else 64, "4x1")
    layer = Norm(100, 40, 72, schedule, element, affine=returned == "scaled", returned=returned)
    model = compile_layer(layer, tmp_path, 4)
    Case(layer).check(model, seed=None, shift=4)
    assert [name.rpartition("_v")[0] for name in model.launched] == ["", "layer_reduce", "layer_map"]
    assert model.launched[0] == "layer_tiled_unaligned"


@pytest.mark.parametrize("m", [2, 150])
@pytest.mark.parametrize("precision", ["bf16", "tf32"])
def test_tensors(precision, m, tmp_path):
    """From a layer on tensors: one kernel, and statistics in the buffers that they were in."""
    schedule = wgmma("64x32", 64 if precision == "bf16" else 32, "4x1", ", reduction = resident")
    model = compile_tensors(tensor_source(schedule, precision, 40, m), "sm_90a", tmp_path)
    Numbers(precision, m, 40).assert_right(model)
    assert model.launched == ["forward_tiled"]


def scaled_norm(m: int, element: str, defer: bool) -> str:
    """Return an activation between a scale and a batch norm, in a kernel that holds what it normalises or does not."""
    schedule = wgmma("64x64", 64, "1x4", (", defer = true" if defer else "") + ", reduction = resident")
    x, w, y = f"tensor<{m}x1216x{element}>", f"tensor<64x1216x{element}>", f"tensor<{m}x64x{element}>"
    v, t = "tensor<64xf32>", f"tensor<{m}x64xf32>"
    return f"""
func.func @forward(%x: {x}, %w: {w}, %s: {v}) -> {y} {{
  %0 = tenon.fused_linear %x, %w : {x}, {w}
      epilogue(%acc: {t}, %scale = %s: {v}) -> {y}
      attributes {{strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<{schedule}>}} {{
    %1 = tenon.mul %acc, %scale : {t}, {v}
    %2 = tenon.leaky_relu %1 {{negative_slope = 0.5}} : {t}
    %3 = tenon.batch_norm_training %2 {{eps = 0.0}} : ({t}) -> {t}
    %4 = tenon.cast %3 : {t} -> {y}
    tenon.yield %4 : {y}
  }}
  return %0 : {y}
}}"""


@pytest.mark.parametrize(("element", "error"), [("bf16", 0.04), ("f16", 0.005)])
def test_held_in_16_bits_at_any_scale(element, error, tmp_path):
    """What is held neither overflows nor underflows, also where f32 squares do: there y is 0, or as exact as ever."""
    m, scales = 67, [1e30, 1e25, 1e16, 1.0, 1e-15, 1e-19, 1e-20, 1e-21]
    scale = np.resize(np.array(scales, np.float32), 64)
    x, w = (to_bits(random(rows, 1216), element) for rows in (m, 64))
    results = []
    for defer in (False, True):
        (tmp_path / str(defer)).mkdir()
        model = compile_tensors(scaled_norm(m, element, defer), "sm_90a", tmp_path / str(defer))
        model.resident = 2
        results.append(to_numbers(model.call("forward", x, w, scale)[0], element))
    plain, deferred = results
    assert np.all(np.abs(plain[:, :2]) == 0.0) and np.all(np.ptp(plain[:, 2:8], axis=0) > 2)
    np.testing.assert_allclose(deferred, plain, rtol=0, atol=error)
