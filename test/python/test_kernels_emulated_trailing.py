# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A product that marks what is stored, and the kernel that normalises behind it.

The emulator of PTX runs them one after the other, beside NumPy in float64.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass

import numpy as np
import pytest
from ptx_emulator.host import ELEMENTS, Model
from ptx_emulator.layers import random, to_bits, to_numbers, wgmma

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

EPS, MOMENTUM, SLOPE = 1e-3, 0.25, 0.125
ERROR = {"f32": 2e-5, "f16": 2.0**-10, "bf16": 2.0**-7}
VECTORS = ("scale", "bias", "weight", "shift", "mean", "var", "s", "t")


@dataclass
class Layer:
    """y = leaky_relu(s batch_norm(z) + t) + residual, z = leaky_relu(scale x w^T + bias); parts of it are left out."""

    m: int | str
    n: int
    k: int
    schedule: str
    element: str = "bf16"
    stored: str = ""  # z's type; none: as x
    result: str = ""  # y's type; none: as x
    full: bool = True  # else batch norm of the bare product, without parameters
    vectors: bool = False  # s and t
    residual: bool = False
    second: bool = False  # whether what the norm gives is a result too

    def __post_init__(self) -> None:
        self.stored, self.result = self.stored or self.element, self.result or self.element

    @property
    def names(self) -> tuple[str, ...]:
        """The per-column operands."""
        return (VECTORS[:6] if self.full else ()) + (VECTORS[6:] if self.vectors else ())

    def body(self) -> tuple[list[str], str]:
        """Return the region's ops, and which value is y."""
        z, v, y = (
            f"tensor<{a}>"
            for a in (f"{self.m}x{self.n}x{self.stored}", f"{self.n}xf32", f"{self.m}x{self.n}x{self.result}")
        )
        ops, value = [], "%acc"

        def add(op: str, operand: str = "", types: str = "") -> None:
            nonlocal value
            name, _, attributes = op.partition(" ")
            ops.append(f"%{len(ops)} = tenon.{name} {value}{operand} {attributes} : {z}{types}")
            value = f"%{len(ops) - 1}"

        leaky = f"leaky_relu {{negative_slope = {SLOPE}}}"
        if self.full:
            add("mul", ", %scale", f", {v}")
            add("add", ", %bias", f", {v}")
            add(leaky)
        parameters = "weight(%weight) bias(%shift) running(%mean, %var)" if self.full else ""
        statistics = [v, v] if self.full else []
        results = ", ".join([z, *statistics])
        ops.append(
            f"%norm{':3' if self.full else ''} = tenon.batch_norm_training {value} {parameters} "
            f"{{eps = {EPS}, momentum = {MOMENTUM}}} : ({', '.join([z, *2 * statistics])}) -> "
            f"{f'({results})' if self.full else results}"
        )
        value = self.normalised
        if self.vectors:
            add("mul", ", %s", f", {v}")
            add("add", ", %t", f", {v}")
        if self.full:
            add(leaky)
        if self.residual:
            add("add", ", %residual", f", {y}")
        if z != y:
            add("cast", "", f" -> {y}")
        return ops, value

    @property
    def normalised(self) -> str:
        return "%norm#0" if self.full else "%norm"

    def source(self) -> str:
        x, w, z, y, v = (
            f"memref<{a}>"
            for a in (
                f"{self.m}x{self.k}x{self.element}",
                f"{self.n}x{self.k}x{self.element}",
                f"{self.m}x{self.n}x{self.stored}",
                f"{self.m}x{self.n}x{self.result}",
                f"{self.n}xf32",
            )
        )
        ops, value = self.body()
        body = "\n    ".join(ops)
        operands = [f"%acc: {z.replace('memref', 'tensor')}", *(f"%{a} = %{a}_: {v}" for a in self.names)]
        if self.residual:
            operands.append(f"%residual = %r_: {y}")
        yielded = [(value, "%y_", y)]
        if self.second:
            yielded.append((self.normalised, "%z_", z))
        if self.full:
            yielded += [("%norm#1", "%mean_", v), ("%norm#2", "%var_", v)]
        values, outputs, types = zip(*yielded, strict=True)
        arguments = [f"%x: {x}", f"%w: {w}", f"%r_: {y}", f"%y_: {y}", f"%z_: {z}", *(f"%{a}_: {v}" for a in VECTORS)]
        return f"""
func.func @layer({", ".join(arguments)}) {{
  tenon.tiled_linear %x, %w : {x}, {w}
      epilogue({", ".join(operands)})
      outs({", ".join(f"{a}: {b}" for a, b in zip(outputs, types, strict=True))})
      schedule<{self.schedule}, reduction = trailing> {{
    {body}
    tenon.yield {", ".join(values)} : {", ".join(types).replace("memref", "tensor")}
  }}
  return
}}"""


def leaky(a: np.ndarray) -> np.ndarray:
    return np.where(a > 0, a, SLOPE * a)


class Case:
    """A layer's operands, and what comes of them in float64."""

    def __init__(self, layer: Layer, m: int = 0, offset: float = 0.0) -> None:
        self.layer, self.m, element = layer, m or layer.m, layer.element
        x, w = random(self.m, layer.k), random(layer.n, layer.k, seed=4)
        if element == "f32":  # numbers that tf32 holds
            x, w = ((a.view(np.uint32) & 0xFFFFE000).view(np.float32) for a in (x, w))
        self.x, self.w = to_bits(x, element), to_bits(w, element)
        self.vectors = dict(zip(VECTORS, random(len(VECTORS), layer.n, seed=5), strict=True))
        self.vectors["var"] = np.abs(self.vectors["var"])
        # Deviations that are not small beside the rounding of what is stored.
        self.vectors["scale"] = 1 + np.abs(self.vectors["scale"])
        self.vectors["bias"] = self.vectors["bias"] + np.float32(offset)
        self.residual = to_bits(random(self.m, layer.n, seed=6), layer.result)
        # What is normalised is rounded to f32 before, far from zero.
        self.rounding = offset * 2.0**-22

    def expect(self, mean: np.ndarray, variance: np.ndarray) -> list[np.ndarray]:
        """Return y, what the norm gives, new running statistics."""
        layer = self.layer
        v = {name: vector.astype(np.float64) for name, vector in self.vectors.items()}
        z = to_numbers(self.x, layer.element) @ to_numbers(self.w, layer.element).T
        if layer.full:
            z = leaky(v["scale"] * z + v["bias"])
        y = (z - z.mean(0)) / np.sqrt(z.var(0) + EPS)
        if layer.full:
            y = y * v["weight"] + v["shift"]
        normalised = y
        if layer.vectors:
            y = y * v["s"] + v["t"]
        y = leaky(y) if layer.full else y
        y = y + to_numbers(self.residual, layer.result) if layer.residual else y
        mean = (1 - MOMENTUM) * mean + MOMENTUM * z.mean(0)
        return [y, normalised, mean, (1 - MOMENTUM) * variance + MOMENTUM * z.var(0, ddof=1)]

    def check(self, model: Model, launches: int = 1, seed: int | None = None, shift: int = 0) -> None:
        """Launch a few times, x `shift` bytes off; statistics are updated in place."""
        layer, device = self.layer, model.device
        device.seed = seed
        x, w, residual = device.put(self.x, shift), device.put(self.w), device.put(self.residual)
        vectors = {name: device.put(vector) for name, vector in self.vectors.items()}
        mean, variance = (self.vectors[name].astype(np.float64) for name in ("mean", "var"))
        first = None
        for _ in range(launches):
            y = device.empty((self.m, layer.n), ELEMENTS[layer.result])
            z = device.empty((self.m, layer.n), ELEMENTS[layer.stored])
            model.run("layer", x, w, residual, y, z, *vectors.values())
            expected = self.expect(mean, variance)
            bits = device.get(y)
            assert first is None or np.array_equal(bits, first)
            first = bits
            self.compare(bits, layer.result, expected[0])
            if layer.second:
                self.compare(device.get(z), layer.stored, expected[1])
            if layer.full:
                mean, variance = expected[2:]
                rounded = ERROR[layer.stored] + self.rounding
                for name, value in (("mean", mean), ("var", variance)):
                    assert np.allclose(device.get(vectors[name]), value, rtol=rounded, atol=rounded)

    def compare(self, bits: np.ndarray, element: str, expected: np.ndarray) -> None:
        error = max(ERROR[element], 4 * ERROR[self.layer.stored])
        assert np.allclose(to_numbers(bits, element), expected, rtol=error, atol=error + self.rounding)


def compile_layer(layer: Layer, folder, resident: int = 4) -> Model:
    return Model(layer.source(), "sm_90a", folder, resident=resident)


CLUSTER, PING_PONG = ", cluster = 2x1", ", ping_pong = true"
# A layer and M where it is dynamic.
LAYERS = {
    "bare": (Layer(256, 96, 64, wgmma("128x32", 64, "8x1"), full=False), 0),
    "bf16": (Layer(256, 320, 72, wgmma("128x64", 64, "8x1")), 0),
    "f16": (Layer(192, 64, 72, wgmma("64x64", 64, "4x1", PING_PONG), "f16", residual=True), 0),
    "tf32": (Layer(128, 160, 72, wgmma("64x32", 32, "4x1", PING_PONG), "f32", residual=True), 0),
    "f32_stored": (Layer(128, 160, 72, wgmma("64x32", 64, "4x1", PING_PONG), stored="f32", residual=True), 0),
    "f32_result": (Layer(128, 64, 72, wgmma("64x32", 64, "4x1", PING_PONG), result="f32", residual=True), 0),
    "vectors": (Layer(128, 328, 64, wgmma("128x64", 64, "8x1"), vectors=True), 0),
    "second": (Layer(128, 64, 64, wgmma("64x64", 64, "4x1", PING_PONG), vectors=True, second=True), 0),
    "ragged": (Layer(203, 72, 72, wgmma("64x32", 64, "4x1", PING_PONG), residual=True), 0),
    "ragged_tf32": (Layer(70, 140, 72, wgmma("128x32", 32, "8x1"), "f32"), 0),
    "dynamic": (Layer("?", 72, 64, wgmma("128x32", 64, "8x1"), residual=True), 131),
    "two_rows": (Layer("?", 72, 64, wgmma("64x32", 64, "4x1", PING_PONG), stored="f32"), 2),
    "cluster": (Layer(300, 64, 72, wgmma("128x32", 32, "8x1", CLUSTER), "f32"), 0),
    "many_rows": (Layer(64 * 19 + 3, 32, 64, wgmma("64x32", 64, "4x1", PING_PONG)), 0),
}


@pytest.mark.parametrize("name", LAYERS)
def test_trailing(name, tmp_path):
    layer, m = LAYERS[name]
    model = compile_layer(layer, tmp_path)
    Case(layer, m).check(model, launches=2)
    assert model.launched == 2 * ["layer_tiled", "layer_finish"]


@pytest.mark.parametrize("seed", [1, 2])
def test_any_order(seed, tmp_path):
    """Warps that run in a random order wait for one another."""
    layer = Layer(200, 328, 64, wgmma("64x32", 64, "4x1", PING_PONG), residual=True)
    Case(layer).check(compile_layer(layer, tmp_path), seed=seed)


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("name", ["bf16", "tf32", "second", "ragged", "dynamic"])
def test_beside(name, seed, tmp_path):
    """The kernel that finishes starts when the product's blocks let it, waits for flags, and ends after them."""
    layer, m = LAYERS[name]
    model = compile_layer(layer, tmp_path)
    model.device.pairs = True
    Case(layer, m).check(model, launches=2, seed=seed)


def test_large_mean(tmp_path):
    """Columns of mean 10000 and deviations near 8: sums of squares would have no digits left."""
    layer = Layer(200, 32, 64, wgmma("64x32", 32, "4x1", PING_PONG), "f32")
    Case(layer, offset=10000.0).check(compile_layer(layer, tmp_path))


def test_unaligned(tmp_path):
    """TMA cannot take such an x: a product of mma.sync, then kernels that reduce and normalise."""
    layer = Layer(100, 40, 72, wgmma("64x32", 64, "4x1", PING_PONG))
    model = compile_layer(layer, tmp_path)
    Case(layer).check(model, shift=4)
    assert model.launched[0] == "layer_tiled_unaligned"
    assert "layer_finish" not in model.launched
