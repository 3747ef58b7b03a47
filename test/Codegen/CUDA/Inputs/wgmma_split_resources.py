# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles wgmma kernels of split rows, and of 8 bits, whose tiles leave a thread few registers.

They have several epilogues.
"""

from __future__ import annotations

import itertools
import re

from wgmma_assembly import check

# The method, or fp8_blocks where blocks of both operands have scales, the tile, warps, stages, and what else is to be
# said.
SCHEDULES = (
    ("fp16x3", "128x192", "8x1", 4, ", cluster = 2x1"),
    ("fp16x3", "128x192", "8x1", 4, ", stream_k = true"),
    ("fp16x3", "128x176", "8x1", 5, ", stream_k = true, cluster = 2x1"),
    ("fp16x3", "128x168", "8x1", 5, ", cluster = 1x2"),
    ("fp16x3", "256x96", "8x1", 4, ", stream_k = true, cluster = 1x2"),
    ("fp16x3", "128x96", "4x1", 6, ""),
    ("fp16x3", "64x192", "4x1", 6, ", stream_k = true"),
    ("fp16x3", "64x192", "4x1", 6, ", ping_pong = true"),
    ("fp16x3", "96x128", "1x4", 6, ", stream_k = true"),
    ("fp16x3", "176x128", "1x8", 4, ", cluster = 2x1"),
    ("fp16x3", "192x128", "1x8", 4, ", cluster = 1x2"),
    ("fp8", "128x192", "8x1", 4, ", cluster = 2x1"),
    ("fp8", "128x192", "8x1", 4, ", stream_k = true"),
    ("fp8", "128x128", "8x1", 6, ", cluster = 1x2"),
    ("fp8", "256x96", "8x1", 4, ", stream_k = true, cluster = 1x2"),
    ("fp8", "64x192", "4x1", 6, ", stream_k = true"),
    ("fp8", "128x128", "1x8", 6, ", cluster = 1x2"),
    ("fp8_blocks", "128x192", "8x1", 4, ", cluster = 2x1"),
    ("fp8_blocks", "128x192", "8x1", 4, ", stream_k = true"),
    ("fp8_blocks", "128x160", "8x1", 5, ""),
    ("fp8_blocks", "256x96", "8x1", 4, ", stream_k = true, cluster = 1x2"),
    ("fp8_blocks", "64x128", "4x1", 6, ", stream_k = true"),
    ("fp16", "128x256", "8x1", 4, ", cluster = 2x1"),
    ("fp16", "256x128", "8x1", 4, ", stream_k = true, cluster = 1x2"),
    ("fp16", "128x176", "4x1", 5, ", cluster = 1x2, ping_pong = true"),
    ("fp16", "16x128", "1x4", 10, ", stream_k = true"),
    ("fp16", "176x128", "1x4", 5, ", cluster = 1x2, ping_pong = true"),
    ("fp16", "256x128", "1x8", 4, ", cluster = 1x2, defer = true"),
    ("fp16", "128x256", "1x8", 4, ", cluster = 2x1, defer = true"),
    ("fp16", "192x128", "1x8", 4, ", cluster = 1x2, defer = true"),
)
# M and N: tiles that fit, and tiles beyond both.
SHAPES = ((4096, 4032), ("?", 4040))
# TMA cannot store its rows. The tiles of fp16x3 with 64 rows a warpgroup have registers for that.
SHAPE_BY_THREADS = ("?", 4033)
ROWS_BY_THREADS = {"4x1": "64x", "8x1": "128x", "1x4": "96x", "1x8": "176x"}
K, LONG_K = 512, 4096  # columns of the halves; where they have to hide something
# Each an operand's declaration, if it has one, and the ops on what `@` stands for.
EPILOGUES = {
    "bare": ("", ()),
    "leaky": (
        "tensor<{n}xf32>",
        ("add @, %arg : {y}, tensor<{n}xf32>", "mul @, 2.0 : {y}", "leaky_relu @ {{negative_slope = 0.1}} : {y}"),
    ),
    "residual": (
        "{y}",
        ("gelu @ : {y}", "add @, %arg : {y}, {y}", "clamp @ {{min = -1.0, max = 1.0}} : {y}"),
    ),
}
# Of 8 bits.
SCALED_EPILOGUES = {
    "bare": EPILOGUES["bare"],
    "rows": ("tensor<{m}x1xf32>", ("mul @, %arg : {y}, tensor<{m}x1xf32>", "silu @ : {y}")),
    "residual": EPILOGUES["residual"],
}
# Deferred ones hold as much of a tile as steps leave registers for, which depends on what these need: with them all
# have results of both types.
DEFERRED_EPILOGUES = EPILOGUES | {
    "gelu": ("tensor<{n}xf32>", ("add @, %arg : {y}, tensor<{n}xf32>", "gelu @ : {y}")),
    "silu": ("{y}", ("silu @ : {y}", "add @, %arg : {y}, {y}")),
    "rows": ("tensor<{m}x1xf32>", ("mul @, %arg : {y}, tensor<{m}x1xf32>", "gelu @ : {y}")),
}


def write_layer(name: str, schedule: tuple, shape: tuple, epilogue: str, result: str) -> str:
    """Return a function with a layer of split rows."""
    (method, tile, warps, stages, options), (m, n) = schedule, shape
    y = f"tensor<{m}x{n}xf32>"
    declared, ops = (DEFERRED_EPILOGUES | SCALED_EPILOGUES)[epilogue]
    declared = declared.format(m=m, n=n, y=y)
    argument = f", %b: {declared.replace('tensor', 'memref')}" if declared else ""
    operand = f", %arg = %b: {declared.replace('tensor', 'memref')}" if declared else ""
    body, value = [], "%acc"
    for number, op in enumerate([*ops, f"cast @ : {{y}} -> tensor<{{m}}x{{n}}x{result}>"] if result != "f32" else ops):
        body.append(f"%{number} = tenon.{op.format(m=m, n=n, y=y).replace('@', value)}")
        value = f"%{number}"
    height, width = map(int, tile.split("x"))
    workspace = f"memref<{192 * (8 + height * width * 4)}xi8>"
    scratch = (f", %s: {workspace}", f" workspace(%s: {workspace})") if "stream_k" in options else ("", "")
    k = LONG_K if "defer" in options else K
    element, tile_k = ("f8E4M3FN", 128) if method.startswith("fp8") else ("f16", 64)
    x, w = f"memref<{m}x{k}x{element}>", f"memref<{n}x{k}x{element}>"
    of_x, of_w = f"memref<{m}x1xf32>", f"memref<{n}x1xf32>"
    if method == "fp8_blocks":
        of_x, of_w = f"memref<{m}x{k // 128}xf32>", f"memref<{-(-n // 128)}x{k // 128}xf32>"
    factors = "" if method == "fp8" else f" factors(%fx, %fw : {of_x}, {of_w})"
    shared = f"stages = {stages}, swizzle = 128, raster = 8, blocks = 1"
    inside = "\n    ".join(body)
    multiplies = method.partition("_")[0]
    operands = f"%x: {x}, %w: {w}, %fx: {of_x}, %fw: {of_w}{argument}, %y: memref<{m}x{n}x{result}>{scratch[0]}"
    return f"""func.func @{name}({operands}) {{
  tenon.tiled_linear %x, %w : {x}, {w}{factors}
      epilogue(%acc: {y}{operand}) outs(%y: memref<{m}x{n}x{result}>){scratch[1]}
      schedule<wgmma, tile = {tile}x{tile_k}, warps = {warps}, {shared}{options}, method = {multiplies}> {{
    {inside}
    tenon.yield {value} : tensor<{m}x{n}x{result}>
  }}
  return
}}
"""


def write_functions(schedule: tuple) -> dict[str, str]:
    """Return the functions of a schedule, by name."""
    method, tile, warps, _, options = schedule
    can_by_threads = method != "fp16" and tile.startswith(ROWS_BY_THREADS[warps])
    shapes = (*SHAPES, SHAPE_BY_THREADS) if can_by_threads else SHAPES
    is_fp8 = method.startswith("fp8")
    results = itertools.cycle(("f16", "f32", "f8E4M3FN") if is_fp8 else ("f16", "f32"))
    epilogues = SCALED_EPILOGUES if is_fp8 else EPILOGUES
    if "defer" in options:
        kinds = list(itertools.product(shapes, DEFERRED_EPILOGUES, ("f16", "f32")))
    else:
        kinds = [(s, e, "f32" if s == SHAPE_BY_THREADS else next(results)) for s in shapes for e in epilogues]
    functions = {}
    for shape, epilogue, result in kinds:
        parts = (method, tile, f"w{warps}", *re.findall(r"\w+", options), *shape, epilogue, result)
        name = "_".join(map(str, parts)).replace("?", "m")
        functions[name] = write_layer(name, schedule, shape, epilogue, result)
    return functions


if __name__ == "__main__":
    check(SCHEDULES, write_functions)
