# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that find where rows are largest and smallest, run by the emulator of PTX: of equal numbers the first."""

import shutil

import numpy as np
import pytest
from ptx_emulator.host import ELEMENTS, Model
from ptx_emulator.layers import compile_layer, mma_sync, to_bits, wgmma

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

FMA = "mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 2, blocks = 1, method = fma"
WIDE = "mma_sync, tile = 64x256x64, warps = 2x4, stages = 3, swizzle = 128, raster = 2, blocks = 1"
PARTS = "mma_sync, tile = 64x128x64, warps = 2x4, stages = 3, swizzle = 128, raster = 2, blocks = 1"


def integers(*shape, seed=0):
    """Return few numbers, of which products are exact and often equal."""
    return np.random.default_rng([seed, *shape]).integers(-1, 2, shape).astype(np.float32)


def biases(n):
    """Return what leaves equal numbers, and what adds NaN and infinities at two places or everywhere."""
    plain = integers(1, n, seed=1)[0]
    cases = {"plain": plain, "low": np.full(n, -np.inf, np.float32), "high": np.full(n, np.inf, np.float32)}
    for name, value in (("nan", np.nan), ("inf", np.inf), ("minus_inf", -np.inf)):
        cases[name] = plain.copy()
        cases[name][[n // 3, n - 1]] = value
    cases["nans"] = np.full(n, np.nan, np.float32)
    return cases


def body(n, element, x="%acc", groups=1):
    """Return ops that find both places of z, and a chain on one of them; and the three values' type."""
    t, r, v = f"tensor<?x{n}xf32>", f"tensor<?x{groups}xf32>", f"tensor<{n}xf32>"
    how = f" {{groups = {groups}}}" if groups != 1 else ""
    text = f"""
    %a = tenon.cast {x} : tensor<?x{n}x{element}> -> {t}
    %z = tenon.add %a, %bias : {t}, {v}
    %first = tenon.reduce_row argmax %z{how} : {t}
    %least = tenon.reduce_row argmin %z{how} : {t}
    %top = tenon.reduce_row max %z{how} : {t}
    %next = tenon.add %first, 1.0 : {r}
    tenon.yield %first, %least, %top, %next : {", ".join([r] * 4)}"""
    return text, r


def check(got, z, groups=1):
    parts = z.reshape(len(z), groups, -1)
    begin = np.arange(groups) * parts.shape[2]
    first = parts.argmax(2) + begin
    for ours, theirs in zip(got, (first, parts.argmin(2) + begin, parts.max(2), first + 1), strict=True):
        np.testing.assert_array_equal(ours, theirs)


# Target, schedule, M, N, K, type.
LAYERS = {
    "mma_two_warps": ("sm_80", mma_sync(64, ", reduction = in_tile"), 70, 40, 136, "bf16"),
    "mma_four_warps": ("sm_80", WIDE + ", reduction = in_tile", 70, 200, 72, "f16"),
    "fma": ("sm_80", FMA + ", reduction = in_tile", 70, 40, 72, "f32"),
    "wgmma": ("sm_90a", wgmma("64x48", 64, "4x1", ", reduction = in_tile"), 70, 40, 72, "bf16"),
    "wgmma_one_column": ("sm_90a", wgmma("64x8", 64, "4x1", ", reduction = in_tile"), 70, 2, 72, "f16"),
    "mma_fp16x3": ("sm_80", mma_sync(64, ", method = fp16x3, reduction = in_tile"), 70, 40, 100, "f32"),
    "parts_mma": ("sm_80", PARTS + ", reduction = reduce_only", 70, 200, 72, "f16"),
    "parts_stream_k": ("sm_80", mma_sync(64, ", stream_k = true, reduction = reduce_only"), 70, 72, 512, "f16"),
    "parts_fma": ("sm_80", FMA + ", reduction = reduce_only", 70, 100, 72, "f32"),
    "parts_wgmma": ("sm_90a", wgmma("64x64", 64, "4x1", ", reduction = reduce_only"), 70, 131, 72, "f16"),
    "parts_cluster": (
        "sm_90a",
        wgmma("128x64", 64, "8x1", ", cluster = 1x2, reduction = reduce_only"),
        150,
        150,
        72,
        "f16",
    ),
    "parts_ping_pong": (
        "sm_90a",
        wgmma("64x128", 64, "4x1", ", ping_pong = true, reduction = reduce_only"),
        200,
        256,
        72,
        "bf16",
    ),
    "parts_fp16x3": (
        "sm_90a",
        wgmma("64x64", 64, "4x1", ", method = fp16x3, reduction = reduce_only"),
        70,
        100,
        100,
        "f32",
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name, tmp_path):
    target, schedule, m, n, k, element = LAYERS[name]
    text, r = body(n, element)
    x, w, v = f"tensor<?x{k}x{element}>", f"tensor<{n}x{k}x{element}>", f"tensor<{n}xf32>"
    results = ", ".join([r] * 4)
    attributes = f"schedule = #tenon.schedule<{schedule}>, strategy = #tenon.strategy<tiled>"
    source = f"""
func.func @layer(%x: {x}, %w: {w}, %b: {v}) -> ({results}) {{
  %0:4 = tenon.fused_linear %x, %w : {x}, {w}
      epilogue(%acc: tensor<?x{n}x{element}>, %bias = %b: {v}) -> ({results}) attributes {{{attributes}}} {{{text}
  }}
  return %0#0, %0#1, %0#2, %0#3 : {results}
}}"""
    model = compile_layer(source, target, tmp_path)
    x, w = integers(m, k), integers(n, k, seed=4)
    for kind, bias in biases(n).items():
        shift = (2 if element != "f32" else 4) if kind == "plain" else 0
        for by in {0, shift}:
            model.device.seed = by or 1
            got = model.call("layer", model.device.put(to_bits(x, element), by), to_bits(w, element), bias)
            check(got, x @ w.T + bias)


# N, type and groups: rows of a warp, of a block, such that are read again, and groups.
ROWS = [(40, "f16", 1), (7, "f32", 1), (1030, "f32", 1), (20000, "f32", 1), (40, "f32", 5), (4096, "bf16", 2)]


@pytest.fixture(scope="module")
def rows_model(tmp_path_factory):
    source = ""
    for n, element, groups in ROWS:
        text, r = body(n, element, groups=groups)
        x, r = f"memref<?x{n}x{element}>", r.replace("tensor", "memref")
        arguments = ", ".join(f"%r{i}: {r}" for i in range(4))
        source += f"""
func.func @rows_{n}_{element}(%x: {x}, %b: memref<{n}xf32>, {arguments}) {{
  tenon.epilogue ins(%acc = %x: {x}, %bias = %b: memref<{n}xf32>) outs({arguments}) {{{text}
  }}
  return
}}"""
    return Model(source, "sm_80", tmp_path_factory.mktemp("rows"))


@pytest.mark.parametrize(("n", "element", "groups"), ROWS)
def test_epilogue(rows_model, n, element, groups):
    device = rows_model.device
    for kind, bias in biases(n).items():
        m, shift = (3, ELEMENTS[element]().itemsize) if kind == "plain" else (2, 0)
        x = integers(m, n)
        buffers = [device.put(to_bits(x, element), shift), device.put(bias)]
        buffers += [device.put(np.full((m, groups), -1.0, np.float32)) for _ in range(4)]
        rows_model.run(f"rows_{n}_{element}", *buffers)
        check([device.get(buffer) for buffer in buffers[2:]], x + bias, groups)


def test_numbers(tmp_path):
    """Numbers stand in the place of columns; of equal elements it is the smallest."""
    m, n = 5, 40
    x, numbers = integers(m, n), np.random.default_rng(3).permuted(np.tile(np.arange(n), (m, 1)), axis=1)
    t, r = f"memref<?x{n}xf32>", "memref<?x1xf32>"
    source = f"""
func.func @rows(%x: {t}, %n: {t}, %r: {r}) {{
  tenon.epilogue ins(%z = %x: {t}, %at = %n: {t}) outs(%r: {r}) {{
    %0 = tenon.reduce_row argmax %z at %at : tensor<?x{n}xf32>, tensor<?x{n}xf32>
    tenon.yield %0 : tensor<?x1xf32>
  }}
  return
}}"""
    model = Model(source, "sm_80", tmp_path)
    buffers = [model.device.put(a.astype(np.float32)) for a in (x, numbers, np.zeros((m, 1)))]
    model.run("rows", *buffers)
    expected = np.where(x == x.max(1, keepdims=True), numbers, n).min(1, keepdims=True)
    np.testing.assert_array_equal(model.device.get(buffers[2]), expected)
