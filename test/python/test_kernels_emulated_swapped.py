# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of wgmma with swapped operands, run by the emulator of PTX on few rows, ragged ones and large tiles."""

import math
import re
import shutil

import numpy as np
import pytest
from ptx_emulator.host import ELEMENTS, Model
from ptx_emulator.layers import SLOPE, Layer, Operands, random, to_bits, to_numbers, wgmma

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

STREAM, CLUSTERS, PING_PONG = ", stream_k = true", [", cluster = 2x1", ", cluster = 1x2"], ", ping_pong = true"
DEFER = ", defer = true"
FP16, FP16X3 = ", method = fp16", ", method = fp16x3"
# A layer, the values of M that one executable is run with, and how many blocks run at once. Threads move what TMA
# cannot: rows of 20 elements of 16 bits, or of 21 of f32.
PRODUCTS = {
    "bf16_8": (Layer("sm_90a", wgmma("8x64", 64, "1x4"), 72, 136, "bf16"), (1, 8, 13), 4),
    "f16_16_stream_k": (Layer("sm_90a", wgmma("16x128", 64, "1x8", STREAM), 200, 512, "f16"), (1, 13, 64), 3),
    "bf16_40_three_blocks": (Layer("sm_90a", wgmma("40x192", 64, "1x4", STREAM), 200, 200, "bf16"), (13, 100), 4),
    "f16_24_ping_pong": (Layer("sm_90a", wgmma("24x64", 64, "1x4", PING_PONG), 136, 200, "f16"), (100,), 2),
    "bf16_256": (Layer("sm_90a", wgmma("256x64", 64, "1x4"), 72, 72, "bf16"), (200,), 2),
    "bf16_256_by_two": (Layer("sm_90a", wgmma("256x128", 64, "1x8", CLUSTERS[1]), 200, 136, "bf16"), (300,), 2),
    "f16_most_accumulators": (Layer("sm_90a", wgmma("192x256", 64, "1x8", CLUSTERS[0]), 264, 72, "f16"), (300,), 2),
    "bf16_192_ping_pong": (
        Layer("sm_90a", wgmma("192x128", 64, "1x4", CLUSTERS[1] + PING_PONG), 392, 136, "bf16"),
        (200,),
        2,
    ),
    "bf16_cluster_of_x": (Layer("sm_90a", wgmma("16x64", 64, "1x4", CLUSTERS[1]), 200, 136, "bf16"), (13, 64), 4),
    "f16_cluster_of_w": (Layer("sm_90a", wgmma("8x128", 64, "1x8", STREAM + CLUSTERS[0]), 136, 264, "f16"), (64,), 4),
    "tf32_8": (Layer("sm_90a", wgmma("8x64", 32, "1x4"), 72, 72), (1, 8, 13), 4),
    "tf32_72_cluster": (Layer("sm_90a", wgmma("72x128", 32, "1x8", STREAM + CLUSTERS[0]), 200, 264), (100, 200), 4),
    "fp16": (Layer("sm_90a", wgmma("16x64", 64, "1x4", FP16), 72, 100, factors=True), (13,), 4),
    "fp16x3": (Layer("sm_90a", wgmma("16x128", 64, "1x8", STREAM + FP16X3), 136, 300, factors=True), (1, 64), 4),
    "bf16_deferred": (
        Layer("sm_90a", wgmma("256x128", 64, "1x8", CLUSTERS[1] + DEFER), 520, 520, "bf16"),
        (300, 600),
        4,
    ),
    "f16_deferred_whole": (
        Layer("sm_90a", wgmma("64x128", 64, "1x8", CLUSTERS[0] + DEFER), 264, 456, "f16"),
        (200, 1),
        4,
    ),
    "f16_deferred_three_columns": (Layer("sm_90a", wgmma("40x192", 64, "1x4", DEFER), 392, 648, "f16"), (100, 13), 2),
    "tf32_deferred": (Layer("sm_90a", wgmma("128x128", 32, "1x8", DEFER), 264, 520), (300,), 2),
    "fp16_deferred": (Layer("sm_90a", wgmma("72x64", 64, "1x4", DEFER + FP16), 136, 700, factors=True), (200,), 2),
    # These are finished one by one all the same: K has few stages, and threads move rows of 20 elements.
    "bf16_deferred_short": (Layer("sm_90a", wgmma("256x64", 64, "1x4", DEFER), 136, 392, "bf16"), (300,), 2),
    "bf16_deferred_by_threads": (Layer("sm_90a", wgmma("16x64", 64, "1x4", DEFER), 84, 512, "bf16"), (40,), 2),
    "bf16_by_threads": (Layer("sm_90a", wgmma("16x64", 64, "1x4", STREAM), 84, 512, "bf16"), (1, 13, 64), 3),
    "f16_by_threads": (Layer("sm_90a", wgmma("24x64", 64, "1x4"), 85, 136, "f16"), (1, 40), 4),
    "tf32_by_threads": (Layer("sm_90a", wgmma("24x64", 32, "1x4"), 85, 72), (1, 40), 4),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_product(name, tmp_path):
    layer, rows, resident = PRODUCTS[name]
    model = layer.compile(tmp_path, resident)
    spread = 3.0 if layer.factors else 0.0
    for m in rows:
        x, w = random(m, layer.k, spread=spread), random(layer.n, layer.k, spread=spread, seed=4)
        if layer.element == "f32" and not layer.factors:  # numbers that tf32 holds
            x, w = ((a.view(np.uint32) & 0xFFFFE000).view(np.float32) for a in (x, w))
        operands = Operands(layer, x, w)
        assert operands.right(operands.run(model, seed=1)), f"M = {m}"
        assert operands.right(operands.run(model, seed=2)), f"M = {m}, once more"
    assert operands.right(operands.run(model, shift=4 if layer.element == "f32" and not layer.factors else 2))


# M that is known, N, and the tile, which with defer K is long for: TMA moves [M, N] tensors, or threads do.
STATIC = {
    "one_row": (1, 72, "8x64", "1x4", ""),
    "one_row_stream_k": (1, 136, "8x128", "1x8", STREAM),
    "one_row_by_threads": (1, 74, "8x64", "1x4", ""),
    "ragged": (13, 72, "16x64", "1x4", ""),
    "whole": (48, 128, "48x128", "1x8", ""),
    "two_tiles": (48, 64, "24x64", "1x4", ""),
    "many_subtiles": (100, 264, "40x192", "1x4", PING_PONG),
    "by_threads": (13, 74, "16x64", "1x4", ""),
    "acquired_one_by_one": (200, 264, "192x256", "1x8", CLUSTERS[0]),
    "acquired_one_by_one_in_turn": (200, 520, "192x128", "1x4", CLUSTERS[1] + PING_PONG),
    "deferred": (100, 520, "48x128", "1x8", DEFER),
    "deferred_three_columns": (100, 392, "40x192", "1x4", DEFER),
    "deferred_one_turn": (48, 256, "48x128", "1x8", DEFER),
}
WORKSPACE = 6292992


def static_layer(m, n, k, schedule):
    """Return y = (x w^T + b) * s and z = leaky_relu(y) + r - q, in three types; y may stand in r's memory."""
    x, w, t = f"memref<{m}x{k}xbf16>", f"memref<{n}x{k}xbf16>", f"tensor<{m}x{n}xf32>"
    r, q, y = (f"memref<{m}x{n}x{element}>" for element in ("f32", "f16", "bf16"))
    s, b = f"memref<{m}x1xf32>", f"memref<{n}xf32>"
    return f"""
func.func @layer(%x: {x}, %w: {w}, %b: {b}, %s: {s}, %r: {r}, %q: {q}, %y: {y}, %ws: memref<{WORKSPACE}xi8>) {{
  tenon.tiled_linear %x, %w : {x}, {w}
      epilogue(%acc: {t}, %bias = %b: {b}, %scale = %s: {s}, %res = %r: {r}, %sub = %q: {q}) outs(%r: {r}, %y: {y})
      {f"workspace(%ws: memref<{WORKSPACE}xi8>)" if "stream_k" in schedule else ""}
      schedule<{schedule}> {{
    %0 = tenon.add %acc, %bias : {t}, tensor<{n}xf32>
    %1 = tenon.mul %0, %scale : {t}, tensor<{m}x1xf32>
    %2 = tenon.leaky_relu %1 {{negative_slope = {SLOPE}}} : {t}
    %3 = tenon.add %2, %res : {t}, {t}
    %4 = tenon.sub %3, %sub : {t}, {q.replace("memref", "tensor")}
    %5 = tenon.cast %1 : {t} -> {y.replace("memref", "tensor")}
    tenon.yield %4, %5 : {t}, {y.replace("memref", "tensor")}
  }}
  return
}}"""


@pytest.mark.parametrize("name", STATIC)
def test_epilogue(name, tmp_path):
    m, n, tile, warps, options = STATIC[name]
    k = 1096 if options == DEFER else 200
    model = Model(static_layer(m, n, k, wgmma(tile, 64, warps, options)), "sm_90a", tmp_path, resident=3)
    x, w = to_bits(random(m, k), "bf16"), to_bits(random(n, k, seed=4), "bf16")
    b, s, r = random(1, n, seed=5)[0], random(m, 1, seed=6), random(m, n, seed=7)
    q = to_bits(random(m, n, seed=8), "f16")
    device, workspace = model.device, np.zeros(WORKSPACE, np.uint8)
    z, y = device.put(r), device.empty((m, n), ELEMENTS["bf16"])
    model.run("layer", x, w, b, s, z, q, y, workspace)
    assert model.launched == ["layer_tiled"]
    x, w = to_numbers(x, "bf16"), to_numbers(w, "bf16")
    expected = (x @ w.T + b) * s
    bound = 2.0**-18 * (np.abs(x) @ np.abs(w).T + np.abs(b)) * np.abs(s)
    assert (np.abs(to_numbers(device.get(y), "bf16") - expected) <= bound + 2.0**-8 * np.abs(expected)).all()
    other = np.where(expected > 0, expected, SLOPE * expected) + r - to_numbers(q, "f16")
    assert (np.abs(device.get(z) - other) <= bound + 2.0**-20 * (np.abs(r) + np.abs(expected) + 1)).all()


# Of deferred layers whose tiles have more subtiles before the held ones than there are buffers: the type of the
# residual, if there is one, and those of the results. With a long K as many are held as registers are left for, most
# where M is known, and with a longer one each second stage has no step; the layers with rows have an operand of one
# value a row too.
DEFERRED_SCHEDULE = wgmma("256x128", 64, "1x8", CLUSTERS[1] + DEFER).replace("stages = 3", "stages = 4")
DEFERRED = {
    "bf16": ("", ["bf16"]),
    "f32": ("", ["f32"]),
    "two": ("", ["bf16", "f32"]),
    "two_of_16_bits": ("", ["bf16", "f16"]),
    "residual_bf16": ("bf16", ["bf16"]),
    "residual_f32": ("f32", ["f32"]),
    "residual_f32_to_bf16": ("f32", ["bf16"]),
    "residual_and_two": ("bf16", ["bf16", "f16"]),
    "long_residual_f32": ("f32", ["f32"]),
    "long_two": ("f32", ["bf16", "f32"]),
    "long_f32": ("", ["f32"]),
    "long_f32_of_known_m": ("", ["f32"]),
    "long_rows": ("f32", ["f32"]),
    "long_rows_of_known_m": ("f32", ["f32"]),
    "spread_rows_of_known_m": ("f32", ["f32"]),
    "spread_rows_of_odd_m": ("f32", ["f32"]),
}
STAGES = {"long": 40, "spread": 58}


def deferred_layer(m, n, k, residual, results, has_rows):
    """Return gelu(x w^T s + b) and that plus r, the last result; tiles are those of large layers."""
    x, w, b, s = f"memref<{m}x{k}xbf16>", f"memref<{n}x{k}xbf16>", f"memref<{n}xf32>", f"memref<{m}x1xf32>"
    f32, outs = f"tensor<{m}x{n}xf32>", [f"memref<{m}x{n}x{element}>" for element in results]
    types = [out.replace("memref", "tensor") for out in outs]
    r = f"memref<{m}x{n}x{residual}>"
    arguments = (f", %s: {s}" if has_rows else "") + (f", %r: {r}" if residual else "")
    operands = (f", %row = %s: {s}" if has_rows else "") + (f", %res = %r: {r}" if residual else "")
    lines = [f"%p = tenon.mul %acc, %row : {f32}, tensor<{m}x1xf32>"] if has_rows else []
    lines += [f"%0 = tenon.add {'%p' if has_rows else '%acc'}, %bias : {f32}, tensor<{n}xf32>"]
    lines += [f"%1 = tenon.gelu %0 : {f32}"]
    if residual:
        lines.append(f"%2 = tenon.add %1, %res : {f32}, {r.replace('memref', 'tensor')}")
    values = ["%1"] * (len(results) - 1) + ["%2" if residual else "%1"]
    for i, (element, kind) in enumerate(zip(results, types, strict=True)):
        if element != "f32":
            lines.append(f"%y{i} = tenon.cast {values[i]} : {f32} -> {kind}")
            values[i] = f"%y{i}"
    body = "\n    ".join(lines)
    named = ", ".join(f"%o{i}: {out}" for i, out in enumerate(outs))
    return f"""
func.func @layer(%x: {x}, %w: {w}, %b: {b}{arguments}, {named}) {{
  tenon.tiled_linear %x, %w : {x}, {w}
      epilogue(%acc: {f32}, %bias = %b: {b}{operands}) outs({named}) schedule<{DEFERRED_SCHEDULE}> {{
    {body}
    tenon.yield {", ".join(values)} : {", ".join(types)}
  }}
  return
}}"""


def gelu(v):
    return v * 0.5 * (1 + np.vectorize(math.erf)(v / math.sqrt(2)))


@pytest.mark.parametrize("name", DEFERRED)
def test_deferred_epilogue(name, tmp_path):
    """A step waits for no buffer that is given back only when the step itself has released another."""
    residual, results = DEFERRED[name]
    m, n, k = 529 if "odd" in name else 530, 264, 64 * STAGES.get(name.split("_")[0], 24)
    known, has_rows = m if "known" in name or "odd" in name else "?", "rows" in name
    model = Model(deferred_layer(known, n, k, residual, results, has_rows), "sm_90a", tmp_path, resident=4)
    x, w, b = to_bits(random(m, k), "bf16"), to_bits(random(n, k, seed=4), "bf16"), random(1, n, seed=5)[0]
    r = [to_bits(random(m, n, seed=7), residual)] if residual else []
    rows = random(m, 1, seed=8) if has_rows else np.ones((m, 1), np.float32)
    outs = [model.device.empty((m, n), ELEMENTS[element]) for element in results]
    model.run("layer", x, w, b, *([rows] if has_rows else []), *r, *outs)
    assert model.launched == ["layer_tiled"]
    x, w = to_numbers(x, "bf16"), to_numbers(w, "bf16")
    v = x @ w.T * rows + b
    expected = gelu(v)
    scale = np.abs(x) @ np.abs(w).T * np.abs(rows) + np.abs(b)
    bound = 1.2 * 2.0**-18 * scale + 2.0**-20 * (np.abs(v) + 1)
    for i, (out, element) in enumerate(zip(outs, results, strict=True)):
        value = expected + (to_numbers(r[0], residual) if r and i == len(outs) - 1 else 0)
        rounding = {"f32": 2.0**-22, "f16": 2.0**-11, "bf16": 2.0**-8}[element]
        assert (np.abs(to_numbers(model.device.get(out), element) - value) <= bound + rounding * np.abs(value)).all()


# Of layers whose whole tiles are held, rounded: the type of x, the ops, and the types of the results, the first of
# which is %y and the second %z. %bias, %row and %res have one value a column, a row and an element.
ROUNDED = {
    "gelu": ("bf16", ["%y = tenon.gelu %acc"], ["bf16"]),
    "bias": ("bf16", ["%0 = tenon.add %acc, %bias", "%y = tenon.gelu %0"], ["bf16"]),
    "f16": ("f16", ["%0 = tenon.add %acc, %bias", "%y = tenon.gelu %0"], ["f16"]),
    "residual": ("bf16", ["%0 = tenon.add %acc, %bias", "%1 = tenon.gelu %0", "%y = tenon.add %1, %res"], ["bf16"]),
    "residual_first": ("bf16", ["%0 = tenon.add %acc, %res", "%y = tenon.gelu %0"], ["bf16"]),
    "row_first": ("f16", ["%0 = tenon.mul %acc, %row", "%y = tenon.add %0, %res"], ["f16"]),
    "used_twice": ("bf16", ["%0 = tenon.gelu %acc", "%y = tenon.add %0, %acc"], ["bf16"]),
    "both_stored": ("bf16", ["%y = tenon.add %acc, %bias", "%z = tenon.gelu %y"], ["bf16", "bf16"]),
    "spread": ("f16", ["%0 = tenon.mul %acc, %row", "%1 = tenon.gelu %0", "%y = tenon.add %1, %res"], ["f16"]),
}


def rounded_layer(n, k, of_x, ops, count):
    """Return a layer of `ops`, each on the results of those before it."""
    x, w = f"memref<?x{k}x{of_x}>", f"memref<{n}x{k}x{of_x}>"
    shapes = {"%bias": f"{n}", "%row": "?x1", "%res": f"?x{n}"}
    used = [name for name in shapes if any(name in op for op in ops)]
    typed = lambda name: f"tensor<{shapes.get(name, f'?x{n}')}x{of_x}>"  # noqa: E731
    lines = []
    for op in ops:
        operands = re.findall(r"%\w+", op)[1:]
        types = ", ".join(map(typed, operands))
        lines.append(f"{op} : {types}")
    named = ", ".join(f"%o{i}: memref<?x{n}x{of_x}>" for i in range(count))
    arguments = "".join(f", {name}_m: memref<{shapes[name]}x{of_x}>" for name in used)
    epilogue = "".join(f", {name} = {name}_m: memref<{shapes[name]}x{of_x}>" for name in used)
    body, results = "\n    ".join(lines), ["%y", "%z"][:count]
    return (
        f"""
func.func @layer(%x: {x}, %w: {w}{arguments}, {named}) {{
  tenon.tiled_linear %x, %w : {x}, {w}
      epilogue(%acc: {typed("%acc")}{epilogue}) outs({named}) schedule<{DEFERRED_SCHEDULE}> {{
    {body}
    tenon.yield {", ".join(results)} : {", ".join(map(typed, results))}
  }}
  return
}}""",
        used,
    )


@pytest.mark.parametrize("name", ROUNDED)
def test_whole_tiles_are_deferred(name, tmp_path):
    """The product is rounded, and all that follows computed of that in f32."""
    of_x, ops, results = ROUNDED[name]
    m, n, k = 530, 264, 64 * (42 if name == "spread" else 24)
    layer, used = rounded_layer(n, k, of_x, ops, len(results))
    model = Model(layer, "sm_90a", tmp_path, resident=4)
    shapes = {"%bias": (1, n), "%row": (m, 1), "%res": (m, n)}
    values = {name: to_bits(random(*shapes[name], seed=5 + i), of_x) for i, name in enumerate(used)}
    x, w = to_bits(random(m, k), of_x), to_bits(random(n, k, seed=4), of_x)
    outs = [model.device.empty((m, n), ELEMENTS[of_x]) for _ in results]
    shaped = [value[0] if name == "%bias" else value for name, value in values.items()]
    model.run("layer", x, w, *shaped, *outs)
    assert model.launched == ["layer_tiled"]
    x, w = to_numbers(x, of_x), to_numbers(w, of_x)
    product = to_numbers(to_bits(x @ w.T, of_x), of_x)
    known = {name: to_numbers(value, of_x) for name, value in values.items()} | {"%acc": product}
    for op in ops:
        result, kind, *operands = re.findall(r"%\w+|(?<=tenon\.)\w+", op)
        apply = {"add": np.add, "mul": np.multiply, "gelu": gelu}[kind]
        known[result] = apply(*(known[operand] for operand in operands))
    unit = {"f16": 2.0**-11, "bf16": 2.0**-8}[of_x]
    for out, result in zip(outs, ("%y", "%z"), strict=False):
        value, got = known[result], to_numbers(model.device.get(out), of_x)
        # Where the sums of f32 and of float64 are rounded apart, the product differs by a unit of its last place.
        bound = unit * (np.abs(value) + 2.4 * np.abs(product)) + 2.0**-14 * (np.abs(x) @ np.abs(w).T)
        assert (np.abs(got - value) <= bound).all()
        assert (got == to_numbers(to_bits(value, of_x), of_x)).mean() > 0.9


BATCH_NORM = """
func.func @forward(%x: tensor<40x128xbf16>, %w: tensor<72x128xbf16> {tenon.param}) -> tensor<40x72xbf16> {
  %0 = tenon.linear %x, %w : (tensor<40x128xbf16>, tensor<72x128xbf16>) -> tensor<40x72xbf16>
  %1 = tenon.batch_norm_training %0 : (tensor<40x72xbf16>) -> tensor<40x72xbf16>
  %2 = tenon.relu %1 : tensor<40x72xbf16>
  return %2 : tensor<40x72xbf16>
}"""


def test_batch_norm_by_moments_of_x(tmp_path):
    """The one reduction whose product's kernel reduces nothing."""
    schedule = wgmma("40x64", 64, "1x4", ", reduction = input_moments")
    model = Model(BATCH_NORM, "sm_90a", tmp_path, ["--strategy=tiled", f"--schedule={schedule}"])
    x, w = to_bits(random(40, 128), "bf16"), to_bits(random(72, 128, seed=4), "bf16")
    (y,) = model.forward(x=x, w=w)
    assert model.launched[-1] == "forward_tiled"
    z = to_numbers(x, "bf16") @ to_numbers(w, "bf16").T
    expected = np.maximum((z - z.mean(axis=0)) / np.sqrt(z.var(axis=0) + 1e-5), 0)
    assert (np.abs(to_numbers(y, "bf16") - expected) <= 2.0**-8 * expected + 1e-4).all()
