# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches of several layers of one x, run by the emulator of PTX: of unequal N, each with an epilogue of its own."""

import shutil

import numpy as np
import pytest
from ptx_emulator.host import ELEMENTS, Model
from ptx_emulator.layers import mma_sync, random, to_bits, to_numbers, wgmma
from tenon_graphs.execute import TENON_OPT, tool

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

# The target and schedule; the type of x, w and the results, or one of x and w and one of the results; N of each layer,
# K and the values of M. Rows of 84 or 85 elements are moved by threads.
KERNELS = {
    "few_rows": ("sm_90a", wgmma("8x64", 64, "1x4"), "bf16", (136, 64, 72), 200, (1, 8, 13, 64)),
    "rows": ("sm_90a", wgmma("128x64", 64, "8x1"), "f16", (72, 200, 8), 136, (130, 300)),
    "one_warpgroup": ("sm_90a", wgmma("64x32", 64, "4x1"), "bf16", (96, 32), 72, (65,)),
    "wide": ("sm_90a", wgmma("64x128", 64, "1x8"), "bf16", (264, 136, 136), 72, (100,)),
    "tf32": ("sm_90a", wgmma("64x32", 32, "4x1"), "f32", (72, 40), 100, (70,)),
    "fp8": ("sm_90a", wgmma("16x64", 128, "1x4", ", method = fp8"), "f8E4M3FN bf16", (72, 64), 144, (1, 13)),
    "by_threads": ("sm_90a", wgmma("16x64", 64, "1x4"), "bf16", (84, 85, 64), 72, (13, 40)),
    "many": ("sm_90a", wgmma("8x64", 64, "1x4"), "bf16", (64, 8, 64, 8, 64, 8, 64, 8), 64, (8,)),
    "mma_sync": ("sm_80", mma_sync(64), "bf16", (136, 64, 72), 136, (1, 130)),
    "fma": ("sm_80", mma_sync(32, ", method = fma"), "f32", (72, 40), 40, (70,)),
    "mma_sync_f32": ("sm_80", mma_sync(32), "f32", (72, 72), 72, (70,)),
}
ROUNDING = {"f32": 2.0**-20, "f16": 2.0**-10, "bf16": 2.0**-7}


def siblings(m, columns, k, elements, schedule):
    """Return layers of which each adds a bias, and every second one also takes a leaky relu and adds a residual."""
    of_inputs, element = elements.split()[0], elements.split()[-1]
    x = f"memref<{m}x{k}x{of_inputs}>"
    arguments, layers = [f"%x: {x}"], []
    for i, n in enumerate(columns):
        t, result = f"tensor<{m}x{n}xf32>", f"tensor<{m}x{n}x{element}>"
        w, b, y = f"memref<{n}x{k}x{of_inputs}>", f"memref<{n}xf32>", f"memref<{m}x{n}x{element}>"
        arguments += [f"%w{i}: {w}", f"%b{i}: {b}", f"%r{i}: {y}", f"%y{i}: {y}"]
        ops = [f"tenon.add %acc, %bias : {t}, tensor<{n}xf32>"]
        if i % 2:
            ops.append(f"tenon.leaky_relu %0 {{negative_slope = 0.125 : f64}} : {t}")
            ops.append(f"tenon.add %1, %res : {t}, {result}")
        if element != "f32":
            ops.append(f"tenon.cast %{len(ops) - 1} : {t} -> {result}")
        body = "".join(f"\n    %{number} = {op}" for number, op in enumerate(ops))
        layers.append(f"""
  tenon.tiled_linear %x, %w{i} : {x}, {w}
      epilogue(%acc: {t}, %bias = %b{i}: {b}{f", %res = %r{i}: {y}" if i % 2 else ""}) outs(%y{i}: {y})
      schedule<{schedule}, siblings = {len(columns)}> {{{body}
    tenon.yield %{len(ops) - 1} : {result}
  }}""")
    return f"func.func @layers({', '.join(arguments)}) {{{''.join(layers)}\n  return\n}}"


class Operands:
    """Operands of such layers, and what comes of them in float64."""

    def __init__(self, m, columns, k, elements):
        of_inputs, self.element = elements.split()[0], elements.split()[-1]
        self.m, self.columns = m, columns
        numbers = [random(m, k), *(random(n, k, seed=4 + i) / 4 for i, n in enumerate(columns))]
        if of_inputs == "f32":  # numbers that tf32 holds
            numbers = [(a.view(np.uint32) & 0xFFFFE000).view(np.float32) for a in numbers]
        self.x, *self.ws = (to_bits(a, of_inputs) for a in numbers)
        self.bs = [random(1, n, seed=20 + i)[0] for i, n in enumerate(columns)]
        self.rs = [to_bits(random(m, n, seed=30 + i), self.element) for i, n in enumerate(columns)]
        self.expected, self.error = [], []
        for i, (w, b, r) in enumerate(zip(self.ws, self.bs, self.rs, strict=True)):
            x, w = (to_numbers(a, of_inputs) for a in (self.x, w))
            r = to_numbers(r, self.element)
            y = x @ w.T + b
            if i % 2:
                y = np.where(y < 0, 0.125 * y, y) + r
            self.expected.append(y)
            self.error.append(
                2.0**-18 * (np.abs(x) @ np.abs(w).T + np.abs(b)) + ROUNDING[self.element] * (np.abs(y) + np.abs(r))
            )

    def run(self, model, shift=0, seed=None):
        device = model.device
        device.seed = seed
        model.launched.clear()
        results = [device.empty((self.m, n), ELEMENTS[self.element]) for n in self.columns]
        given = [a for four in zip(self.ws, self.bs, self.rs, results, strict=True) for a in four]
        model.run("layers", device.put(self.x, shift), *given)
        return [to_numbers(device.get(y), self.element) for y in results]

    def check(self, results):
        for i, (y, expected, error) in enumerate(zip(results, self.expected, self.error, strict=True)):
            assert (np.abs(y - expected) <= error).all(), f"layer {i}, M = {self.m}"


@pytest.mark.parametrize("name", KERNELS)
def test_siblings(name, tmp_path):
    target, schedule, elements, columns, k, rows = KERNELS[name]
    model = Model(siblings("?", columns, k, elements, schedule), target, tmp_path, resident=4)
    for m in rows:
        operands = Operands(m, columns, k, elements)
        for seed in (1, 2):
            operands.check(operands.run(model, seed=seed))
            assert model.launched == ["layers_tiled_siblings"]
    operands.check(operands.run(model, shift=4 if elements == "f32" else 2))
    assert len(model.launched) == len(columns)
    assert all("unaligned" in kernel for kernel in model.launched)


@pytest.mark.parametrize("name", ["few_rows", "wide", "mma_sync"])
def test_siblings_of_known_rows(name, tmp_path):
    target, schedule, elements, columns, k, (m, *_) = KERNELS[name]
    model = Model(siblings(m, columns, k, elements, schedule), target, tmp_path, resident=4)
    operands = Operands(m, columns, k, elements)
    operands.check(operands.run(model, seed=1))
    assert model.launched == ["layers_tiled_siblings"]


def test_what_lies_between_or_needs_a_result_parts_a_launch(tmp_path):
    _, schedule, elements, _, k, _ = KERNELS["few_rows"]
    together = siblings("?", (64, 64), k, elements, schedule)
    first, middle, last = together.partition("\n  tenon.tiled_linear %x, %w1")
    copy = "\n  memref.copy %r0, %y0 : memref<?x64xbf16> to memref<?x64xbf16>"
    path = tmp_path / "module.mlir"
    for text, is_one in (
        (together, True),
        (first + copy + middle + last, False),
        (together.replace("%res = %r1", "%res = %y0"), False),
    ):
        path.write_text(text)
        assert ("@layers_tiled_siblings" in tool(TENON_OPT, path, "--tenon-emit-kernels")) == is_one
