# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that reduce rows, run by the emulator of PTX beside float64: in a tile, and as epilogues of their own."""

import shutil

import numpy as np
import pytest
from ptx_emulator.host import ELEMENTS, Model
from ptx_emulator.layers import compile_layer, mma_sync, random, to_bits, to_numbers, wgmma

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

IN_TILE = ", reduction = in_tile"
WIDE = "mma_sync, tile = 64x256x64, warps = 2x4, stages = 3, swizzle = 128, raster = 2, blocks = 1"
FMA = "mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 2, blocks = 1, method = fma"
TOLERANCE = {"f32": 2e-5, "f16": 4e-3, "bf16": 3e-2}
EPS = 1e-5


def body(n, element, x="%acc", bias="%bias"):
    """Return ops, all of a layer norm and what is found of the rows of its result, and the names of the results."""
    t, r, v = f"tensor<?x{n}xf32>", "tensor<?x1xf32>", f"tensor<{n}xf32>"
    y = f"tensor<?x{n}x{element}>"
    return f"""
    %a = tenon.cast {x} : {y} -> {t}
    %z = tenon.add %a, {f"{bias} : {t}, {v}" if bias else f"-0.0 : {t}"}
    %mean = tenon.reduce_row mean %z : {t}
    %d = tenon.sub %z, %mean : {t}, {r}
    %s = tenon.mul %d, %d : {t}, {t}
    %var = tenon.reduce_row mean %s : {t}
    %e = tenon.add %var, {EPS:e} : {r}
    %inv = tenon.rsqrt %e : {r}
    %f = tenon.mul %d, %inv : {t}, {r}
    %max = tenon.reduce_row max %f : {t}
    %g = tenon.sub %f, %max : {t}, {r}
    %h = tenon.exp %g : {t}
    %sum = tenon.reduce_row sum %h : {t}
    %log = tenon.log %sum : {r}
    %lse = tenon.add %log, %max : {r}, {r}
    %y = tenon.cast %f : {t} -> {y}
"""


def expected(product, bias):
    """Return the layer norm and its rows' logsumexp."""
    x = product + bias
    d = x - x.mean(1, keepdims=True)
    y = d / np.sqrt((d * d).mean(1, keepdims=True) + EPS)
    top = y.max(1, keepdims=True)
    return y, np.log(np.exp(y - top).sum(1, keepdims=True)) + top


def layer_source(n, k, element, schedule):
    y, r, v = f"tensor<?x{n}x{element}>", "tensor<?x1xf32>", f"tensor<{n}xf32>"
    x, w = f"tensor<?x{k}x{element}>", f"tensor<{n}x{k}x{element}>"
    attributes = f"schedule = #tenon.schedule<{schedule}{IN_TILE}>, strategy = #tenon.strategy<tiled>"
    return f"""
func.func @layer(%x: {x}, %w: {w}, %b: {v}) -> ({y}, {r}) {{
  %0:2 = tenon.fused_linear %x, %w : {x}, {w}
      epilogue(%acc: {y}, %bias = %b: {v}) -> ({y}, {r}) attributes {{{attributes}}} {{{body(n, element)}
    tenon.yield %y, %lse : {y}, {r}
  }}
  return %0#0, %0#1 : {y}, {r}
}}"""


# Target, schedule, M, N, K, type.
LAYERS = {
    "mma_two_warps": ("sm_80", mma_sync(64), 70, 40, 136, "bf16"),
    "mma_ragged": ("sm_80", mma_sync(64), 70, 35, 72, "f16"),
    "mma_four_warps": ("sm_80", WIDE, 70, 200, 72, "f16"),
    "mma_stream_k": ("sm_80", mma_sync(64, ", stream_k = true"), 70, 20, 512, "f16"),
    "fma": ("sm_80", FMA, 70, 40, 72, "f32"),
    "mma_fp16x3": ("sm_80", mma_sync(64, ", method = fp16x3"), 70, 40, 100, "f32"),
    "wgmma_fp16x3": ("sm_90a", wgmma("64x40", 64, "4x1", ", method = fp16x3"), 70, 40, 100, "f32"),
    "wgmma": ("sm_90a", wgmma("64x48", 64, "4x1"), 70, 40, 72, "bf16"),
    "wgmma_whole": ("sm_90a", wgmma("128x64", 64, "8x1", ", cluster = 2x1"), 300, 64, 72, "f16"),
    "wgmma_ragged": ("sm_90a", wgmma("64x40", 64, "4x1"), 70, 35, 72, "f16"),
    "wgmma_turns": ("sm_90a", wgmma("64x32", 64, "4x1"), 600, 32, 72, "bf16"),
    "wgmma_one_column": ("sm_90a", wgmma("64x8", 64, "4x1"), 70, 2, 72, "f16"),
}


@pytest.mark.parametrize("name", LAYERS)
def test_in_tile(name, tmp_path):
    target, schedule, m, n, k, element = LAYERS[name]
    model = compile_layer(layer_source(n, k, element, schedule), target, tmp_path)
    x, w = to_bits(random(m, k), element), to_bits(random(n, k, seed=4), element)
    bias = random(1, n, seed=1)[0]
    product = to_numbers(x, element) @ to_numbers(w, element).T
    y, lse = expected(product, bias)
    for shift, seed in ((0, 1), (2 if element != "f32" else 4, None)):
        model.device.seed = seed
        model.launched.clear()
        got, rows = model.call("layer", model.device.put(x, shift), w, bias)
        assert bool(shift) == any("tiled_unaligned" in name for name in model.launched) or "fp16x3" in name
        assert np.abs(to_numbers(got, element) - y).max() <= TOLERANCE[element] * 4
        assert np.abs(rows - lse).max() <= 1e-4


@pytest.mark.parametrize("name", ["mma_fp16x3", "wgmma_fp16x3"])
def test_rows_outside(name, tmp_path):
    """A row that its split does not hold is computed anew, and reduced anew; w leaves nothing of its large element."""
    target, schedule, m, n, k, element = LAYERS[name]
    model = compile_layer(layer_source(n, k, element, schedule), target, tmp_path)
    x, w, bias = random(m, k), random(n, k, seed=4), random(1, n, seed=1)[0]
    w[:, 3], x[60, 3] = 0.0, 1e12
    y, lse = expected(x.astype(np.float64) @ w.astype(np.float64).T, bias)
    for shift in (0, 4):
        got, rows = model.call("layer", model.device.put(x, shift), w, bias)
        assert any("guard" in kernel for kernel in model.launched)
        assert np.abs(got - y).max() <= TOLERANCE[element] * 4
        assert np.abs(rows - lse).max() <= 1e-4


def epilogue_source(n, element, bias="%bias"):
    y, r, v = f"?x{n}x{element}", "?x1xf32", f"{n}xf32"
    return f"""
func.func @rows_{n}_{element}{"" if bias else "_packed"}(%x: memref<{y}>, %b: memref<{v}>, %r: memref<{r}>) {{
  tenon.epilogue ins(%acc = %x: memref<{y}>, %bias = %b: memref<{v}>)
      outs(%x: memref<{y}>, %r: memref<{r}>) {{{body(n, element, bias=bias)}
    tenon.yield %y, %lse : tensor<{y}>, tensor<{r}>
  }}
  return
}}"""


# N, and type: rows of a warp, of a block, and such that are read again.
ROWS = [(40, "f16"), (7, "f32"), (1024, "bf16"), (1030, "f32"), (1032, "f16"), (20000, "f32"), (33000, "f16")]
# Long ones of 16 bits that are kept as they lie in memory: all that is reduced follows from them.
PACKED = [(16392, "bf16"), (20002, "f16"), (32000, "bf16")]


@pytest.fixture(scope="module")
def rows_model(tmp_path_factory):
    source = "".join(epilogue_source(n, element) for n, element in ROWS)
    source += "".join(epilogue_source(n, element, bias="") for n, element in PACKED)
    return Model(source, "sm_80", tmp_path_factory.mktemp("rows"))


@pytest.mark.parametrize(("n", "element"), ROWS)
def test_epilogue(rows_model, n, element):
    device = rows_model.device
    for m, shift in ((11, 0), (3, ELEMENTS[element]().itemsize)):
        x, bias = to_bits(random(m, n), element), random(1, n, seed=1)[0]
        y, lse = expected(to_numbers(x, element), bias)
        buffers = [device.put(x, shift), device.put(bias), device.put(np.full((m, 1), np.nan, np.float32))]
        rows_model.run(f"rows_{n}_{element}", *buffers)
        assert np.abs(to_numbers(device.get(buffers[0]), element) - y).max() <= TOLERANCE[element]
        assert np.abs(device.get(buffers[2]) - lse).max() <= 1e-4


@pytest.mark.parametrize(("n", "element"), PACKED)
def test_packed_rows(rows_model, n, element):
    device = rows_model.device
    for m, shift in ((5, 0), (2, ELEMENTS[element]().itemsize)):
        x = to_bits(random(m, n), element)
        y, lse = expected(to_numbers(x, element), 0.0)
        buffers = [device.put(x, shift), device.put(np.zeros(n, np.float32))]
        buffers.append(device.put(np.full((m, 1), np.nan, np.float32)))
        rows_model.run(f"rows_{n}_{element}_packed", *buffers)
        assert np.abs(to_numbers(device.get(buffers[0]), element) - y).max() <= TOLERANCE[element]
        assert np.abs(device.get(buffers[2]) - lse).max() <= 1e-4


def groups_source(groups, times, element):
    """Return group norms with a weight of each group, the groups' maxima repeated, and sums of [M, G] and [G] repeated.

    One group is a row. The second function reduces nothing.
    """
    n = groups * times
    y, t, r = f"?x{n}x{element}", f"tensor<?x{n}xf32>", f"tensor<?x{groups}xf32>"
    g, found, one = f"{groups}xf32", f"?x{groups}xf32", f"1x{groups}xf32"
    return f"""
func.func @groups_{groups}_{times}(%x: memref<{y}>, %g: memref<{g}>, %o: memref<{one}>, %m: memref<?x{n}xf32>) {{
  tenon.epilogue ins(%acc = %x: memref<{y}>, %weight = %g: memref<{g}>, %shift = %o: memref<{one}>)
      outs(%x: memref<{y}>, %m: memref<?x{n}xf32>) {{
    %a = tenon.cast %acc : tensor<{y}> -> {t}
    %mean = tenon.reduce_row mean %a {{groups = {groups}}} : {t}
    %shifted = tenon.add %mean, %shift : {r}, tensor<{one}>
    %means = tenon.repeat_columns %shifted {{times = {times}}} : {r}
    %d = tenon.sub %a, %means : {t}, {t}
    %weighted = tenon.mul %weight, 2.0 : tensor<{g}>
    %max = tenon.reduce_row max %d {{groups = {groups}}} : {t}
    %f = tenon.mul %max, %weighted : {r}, tensor<{g}>
    %maxima = tenon.repeat_columns %f {{times = {times}}} : {r}
    %e = tenon.tanh %maxima : {t}
    %z = tenon.add %d, %e : {t}, {t}
    %y = tenon.cast %z : {t} -> tensor<{y}>
    tenon.yield %y, %maxima : tensor<{y}>, {t}
  }}
  return
}}
func.func @repeat_{groups}_{times}(%x: memref<{found}>, %g: memref<{g}>, %y: memref<?x{n}xf32>) {{
  tenon.epilogue ins(%acc = %x: memref<{found}>, %bias = %g: memref<{g}>) outs(%y: memref<?x{n}xf32>) {{
    %a = tenon.add %acc, %bias : {r}, tensor<{g}>
    %all = tenon.repeat_columns %a {{times = {times}}} : {r}
    tenon.yield %all : {t}
  }}
  return
}}"""


GROUPS = [(4, 16, "f16"), (3, 5, "f32"), (1, 40, "bf16"), (2, 1500, "f32"), (40, 2, "f16")]


@pytest.fixture(scope="module")
def groups_model(tmp_path_factory):
    source = "".join(groups_source(*case) for case in GROUPS)
    return Model(source, "sm_80", tmp_path_factory.mktemp("groups"))


@pytest.mark.parametrize(("groups", "times", "element"), GROUPS)
def test_groups(groups_model, groups, times, element):
    device, n = groups_model.device, groups * times
    weight, offset = random(1, groups, seed=1)[0], random(1, groups, seed=2)
    for m, shift in ((11, 0), (3, ELEMENTS[element]().itemsize)):
        x = to_bits(random(m, n), element)
        unset = np.full((m, n), np.nan, np.float32)
        buffers = [device.put(x, shift), device.put(weight), device.put(offset), device.put(unset)]
        groups_model.run(f"groups_{groups}_{times}", *buffers)
        columns = to_numbers(x, element).reshape(m, groups, times)
        distance = columns - (columns.mean(2) + offset)[:, :, None]
        maxima = distance.max(2) * (2 * weight)
        y = (distance + np.tanh(maxima)[:, :, None]).reshape(m, n)
        got = to_numbers(device.get(buffers[0]), element)
        assert (np.abs(got - y) <= TOLERANCE[element] * np.maximum(1, abs(y))).all()
        assert np.abs(device.get(buffers[3]) - maxima.repeat(times, 1)).max() <= 1e-4
        found, result = random(m, groups), device.put(unset)
        groups_model.run(f"repeat_{groups}_{times}", device.put(found), device.put(weight), result)
        assert (device.get(result) == (found + weight).repeat(times, 1)).all()
