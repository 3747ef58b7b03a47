# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiled layers of any schedule as hand-written IR, run by the emulator beside float64."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from split_reference import columns, split
from tenon_graphs.dtypes import ROUNDOFF, SUBNORMAL, decode, encode
from tenon_graphs.execute import TENON_OPT, tool

from .floats import bf16_to_f32, f32_to_bf16
from .host import ELEMENTS, Model

WORKSPACE = 6292992
SLOPE = 0.125
# Parts of what a row's split is made of, by method.
PARTS = {"fp16": 1, "fp16x3": 2}
# Relative to |x| |w|^T: f16 rounds x and w to 11 bits; the others err in sums alone.
ERROR = {"fp16": 2.0**-10, "fp16x3": 2.0**-20, "fma": 2.0**-20, "direct": 2.0**-18, "fp8": 2.0**-18}


def mma_sync(k, more=""):
    """Return a schedule of small tiles with K tiles of k."""
    return f"mma_sync, tile = 64x64x{k}, warps = 2x2, stages = 3, swizzle = 128, raster = 2, blocks = 1{more}"


def wgmma(tile, k, warps, more=""):
    return f"wgmma, tile = {tile}x{k}, warps = {warps}, stages = 3, swizzle = 128, raster = 2, blocks = 1{more}"


def random(*shape, spread=0.0, seed=0):
    """Return f32 whose rows are of different sizes, 10^-spread to 10^spread."""
    numbers = np.random.default_rng([seed, *shape])
    return (numbers.standard_normal(shape) * 10 ** numbers.uniform(-spread, spread, (shape[0], 1))).astype(np.float32)


@dataclass
class Layer:
    """y = leaky_relu(x w^T + bias) + residual, on memrefs: one kernel, and one for pointers that are not aligned."""

    target: str
    schedule: str
    n: int
    k: int
    element: str = "f32"  # of residual and y, and of x and w where they are not split or have a type of their own
    factors: bool = False
    layout: str = "mk_nk"
    m: int | None = None  # known with x [K, M]
    input_element: str | None = None  # of x and w

    @property
    def of_inputs(self):
        return self.input_element or self.element

    @property
    def method(self):
        return self.schedule.rpartition("method = ")[2] if "method" in self.schedule else "direct"

    def source(self):
        split_columns = columns(self.k, PARTS[self.method]) if self.method in PARTS else self.k
        element = "f16" if self.method in PARTS else self.of_inputs
        x, w = f"memref<?x{split_columns}x{element}>", f"memref<{self.n}x{split_columns}x{element}>"
        if self.turns("x"):
            x = f"memref<{self.k}x{self.m}x{element}>"
        if self.turns("w"):
            w = f"memref<{self.k}x{self.n}x{element}>"
        rows = self.m or "?"
        y, t = f"memref<{rows}x{self.n}x{self.element}>", f"tensor<{rows}x{self.n}xf32>"
        fx, fw = f"memref<{rows}x1xf32>", f"memref<{self.n}x1xf32>"
        factors = f"factors(%fx, %fw : {fx}, {fw})" if self.factors else ""
        cast = self.element != "f32"
        return f"""
func.func @layer(%x: {x}, %w: {w}, %fx: {fx}, %fw: {fw}, %b: memref<{self.n}xf32>, %r: {y}, %y: {y},
                 %s: memref<{WORKSPACE}xi8>) {{
  tenon.tiled_linear %x, %w layout<{self.layout}> : {x}, {w} {factors}
      epilogue(%acc: {t}, %bias = %b: memref<{self.n}xf32>, %residual = %r: {y}) outs(%y: {y})
      {f"workspace(%s: memref<{WORKSPACE}xi8>)" if "stream_k" in self.schedule else ""}
      schedule<{self.schedule}> {{
    %0 = tenon.add %acc, %bias : {t}, tensor<{self.n}xf32>
    %1 = tenon.leaky_relu %0 {{negative_slope = {SLOPE}}} : {t}
    %2 = tenon.add %1, %residual : {t}, {y.replace("memref", "tensor")}
    {f"%3 = tenon.cast %2 : {t} -> {y.replace('memref', 'tensor')}" if cast else ""}
    tenon.yield %{3 if cast else 2} : {y.replace("memref", "tensor")}
  }}
  return
}}"""

    def turns(self, matrix):
        """Tell whether x or w is given transposed."""
        return {"x": "km_", "w": "_kn"}[matrix] in self.layout

    def compile(self, folder: Path, resident: int = 4) -> Model:
        return Model(self.source(), self.target, folder, resident=resident)


def compile_layer(text: str, target: str, folder: Path, **options: int) -> Model:
    """Compile a function of tensors whose layers say their strategy and schedule, without what would choose them."""
    path = folder / "layer.mlir"
    path.write_text(text)
    passes = "--tenon-to-tiled", "--canonicalize", "--cse", "--tenon-bufferize", "--canonicalize", "--cse"
    return Model(tool(TENON_OPT, path, *passes), target, folder, **options)


def to_bits(x, element):
    if element.startswith("f8"):
        return encode(x, element)
    return f32_to_bf16(x) if element == "bf16" else x.astype(ELEMENTS[element])


def to_numbers(x, element):
    if element.startswith("f8"):
        return decode(x, element)
    with np.errstate(invalid="ignore"):  # a NaN may be a signalling one
        return (bf16_to_f32(x) if element == "bf16" else x).astype(np.float64)


@dataclass
class Operands:
    """Operands of a layer as its kernel takes them, and what comes of them in float64."""

    layer: Layer
    x: np.ndarray
    w: np.ndarray
    factors: tuple

    def __init__(self, layer, x, w, factors=None):
        self.layer = layer
        if layer.method in PARTS:
            parts = PARTS[layer.method]
            (self.x, fx, _), (self.w, fw, _) = split(x, parts), split(w, parts)
            self.factors = (fx, fw)
        else:
            self.x, self.w = to_bits(x, layer.of_inputs), to_bits(w, layer.of_inputs)
            self.factors = factors or (np.ones((len(x), 1), np.float32), np.ones((len(w), 1), np.float32))
        self.bias, residual = random(1, layer.n, seed=1)[0], random(len(x), layer.n, seed=2)
        self.residual = to_bits(residual, layer.element)
        x, w = (
            a if layer.method in PARTS else to_numbers(to_bits(a, layer.of_inputs), layer.of_inputs) for a in (x, w)
        )
        with np.errstate(all="ignore"):
            product = x.astype(np.float64) @ w.astype(np.float64).T + self.bias
            added = to_numbers(self.residual, layer.element)
            self.expected = np.where(product > 0, product, SLOPE * product) + added
            size = np.abs(x).astype(np.float64) @ np.abs(w).astype(np.float64).T + np.abs(self.bias) + np.abs(added)
        self.error = ERROR[layer.method] * size
        if layer.element != "f32":
            self.error += ROUNDOFF[layer.element] * np.abs(self.expected) + SUBNORMAL[layer.element]

    @classmethod
    def with_row_outside(cls, layer, m, row, value, factor=-0.5):
        """Return operands of which at most one row, as ("x", 70), has this factor, and `value` as its element 7."""
        operands = {"x": random(m, layer.k), "w": random(layer.n, layer.k, seed=4)}
        factors = {"x": np.ones((m, 1), np.float32), "w": np.ones((layer.n, 1), np.float32)}
        if row:
            matrix, index = row
            operands[matrix][index, 7] = value
            factors[matrix][index] = factor
        made = cls(layer, operands["x"], operands["w"], (factors["x"], factors["w"]))
        if layer.method == "direct":
            made.error = made.error * 2.0**-10 / ERROR["direct"]
        return made

    def run(self, model, shift=0, y=None, seed=None):
        """Run the layer, x `shift` bytes off an aligned address, warps in step or in a random order."""
        device = model.device
        device.seed = seed
        shape = (len(self.x), self.layer.n)
        y = device.empty(shape, ELEMENTS[self.layer.element]) if y is None else device.put(y)
        workspace = np.random.default_rng(3).integers(0, 256, WORKSPACE).astype(np.uint8)
        model.launched.clear()
        x, w = (
            np.ascontiguousarray(a.T) if self.layer.turns(name) else a for name, a in (("x", self.x), ("w", self.w))
        )
        model.run("layer", device.put(x, shift), w, *self.factors, self.bias, self.residual, y, workspace)
        guard = "_guard" if self.layer.factors and self.layer.method not in PARTS else ""
        assert model.launched == [f"layer_tiled{guard}{'_unaligned' if shift else ''}"]
        return to_numbers(device.get(y), self.layer.element)

    def right(self, y, where=True):
        """Tell whether results are within their bound, infinities and NaN where they must be."""
        with np.errstate(invalid="ignore"):
            close = np.abs(y - self.expected) <= self.error
        same = (y == self.expected) | (np.isnan(y) & np.isnan(self.expected))
        return bool((close | same | ~np.asarray(where)).all())
