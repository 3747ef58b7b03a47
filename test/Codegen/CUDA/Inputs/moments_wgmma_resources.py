# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles wgmma kernels that give moments, with tiles that leave a thread few registers."""

from __future__ import annotations

import re

from wgmma_assembly import check

# Types of x and w (or the method that halves them) and of the result; the tile, warps, stages, and what else is to be
# said. Subtiles of 168 columns of f32 are of 8. The last have operands swapped.
SCHEDULES = (
    ("bf16", "bf16", "128x256x64", "8x1", 4, ", cluster = 2x1"),
    ("f32", "f32", "256x128x32", "8x1", 4, ", stream_k = true, cluster = 1x2"),
    ("bf16", "bf16", "128x192x64", "4x1", 4, ", cluster = 2x1, ping_pong = true"),
    ("f16", "f16", "192x128x64", "4x1", 5, ", cluster = 1x2, ping_pong = true"),
    ("bf16", "f32", "128x168x64", "8x1", 4, ", stream_k = true"),
    ("fp16x3", "f32", "128x168x64", "8x1", 5, ", cluster = 1x2"),
    ("fp16x3", "f32", "128x192x64", "8x1", 4, ", stream_k = true"),
    ("fp16x3", "f16", "64x192x64", "4x1", 6, ", ping_pong = true"),
    ("bf16", "bf16", "192x128x64", "1x4", 5, ", cluster = 1x2, ping_pong = true"),
    ("f16", "f16", "192x256x64", "1x8", 3, ", cluster = 2x1"),
    ("f16", "f16", "256x128x64", "1x8", 4, ", cluster = 1x2"),
    ("bf16", "f32", "192x256x64", "1x8", 3, ", stream_k = true, cluster = 2x1"),
    ("f32", "f32", "256x128x32", "1x8", 4, ", stream_k = true, cluster = 1x2"),
    ("fp16x3", "f32", "192x128x64", "1x8", 4, ", stream_k = true"),
    ("bf16", "bf16", "256x128x64", "1x8", 4, ", cluster = 1x2, defer = true"),
    ("fp16", "f32", "256x128x64", "1x8", 4, ", cluster = 1x2, defer = true"),
)
# M and N: tiles that fit, and tiles beyond both.
SHAPES = ((4096, 4032), ("?", 4040))
ROWS = 64  # that have moments together
K, LONG_K = 512, 4096  # the latter where something is to be hidden


def write_layer(name: str, schedule: tuple, shape: tuple, has_bias: bool) -> str:
    """Return a function with a layer that yields its results, the product or that and a bias, and their moments."""
    (element, result, tile, warps, stages, options), (m, n) = schedule, shape
    is_split = element in ("fp16", "fp16x3")
    k = LONG_K if "defer" in options else K
    if is_split:
        element, options = "f16", f"{options}, method = {element}"
    height, width, _ = map(int, tile.split("x"))
    x, w, fx, fw, b = f"{m}x{k}x{element}", f"{n}x{k}x{element}", f"{m}x1xf32", f"{n}x1xf32", f"{n}xf32"
    product, y = f"tensor<{m}x{n}xf32>", f"{m}x{n}x{result}"
    moments = f"{m if m == '?' else (3 if result == 'f32' else 2) * -(-m // ROWS)}x{n}xf32"
    workspace = f"memref<{192 * (8 + height * width * 4)}xi8>"
    cast = f"%1 = tenon.cast %0 : {product} -> tensor<{y}>" if result != "f32" else ""
    value = "%1" if cast else "%0"
    if not has_bias:
        cast, value = cast.replace("%0", "%acc"), "%1" if cast else "%acc"
    added = f"%0 = tenon.add %acc, %bias : {product}, tensor<{b}>" if has_bias else ""
    return f"""func.func @{name}(%x: memref<{x}>, %w: memref<{w}>, %fx: memref<{fx}>, %fw: memref<{fw}>,
    %b: memref<{b}>, %y: memref<{y}>, %m: memref<{moments}>, %s: {workspace}) {{
  tenon.tiled_linear %x, %w : memref<{x}>, memref<{w}>
      {f"factors(%fx, %fw : memref<{fx}>, memref<{fw}>)" if is_split else ""}
      epilogue(%acc: {product}, %bias = %b: memref<{b}>) outs(%y: memref<{y}>, %m: memref<{moments}>)
      {f"workspace(%s: {workspace})" if "stream_k" in options else ""}
      schedule<wgmma, tile = {tile}, warps = {warps}, stages = {stages}, swizzle = 128, raster = 8,
               blocks = 1{options}, reduction = two_phase> {{
    {added}
    {cast}
    %p = tenon.moments {value} {{rows = {ROWS}}} : tensor<{y}> -> tensor<{moments}>
    tenon.yield {value}, %p : tensor<{y}>, tensor<{moments}>
  }}
  return
}}
"""


def write_functions(schedule: tuple) -> dict[str, str]:
    """Return the functions of a schedule, by name."""
    options = re.findall(r"\w+", schedule[5])
    stem = "_".join(map(str, (*schedule[:4], *options)))
    layers = {
        f"{stem}_{'m' if m == '?' else m}_{n}{'' if has_bias else '_bare'}": ((m, n), has_bias)
        for m, n in SHAPES
        for has_bias in (True, False)
    }
    return {name: write_layer(name, schedule, *layer) for name, layer in layers.items()}


if __name__ == "__main__":
    check(SCHEDULES, write_functions)
