# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles mma_sync kernels with 128 accumulators a thread that give moments of gelu(x w^T + bias) + residual."""

from __future__ import annotations

import re

from wgmma_assembly import check

# Type, tile, warps.
SCHEDULES = (
    ("bf16", "256x128x64", "4x2"),
    ("bf16", "128x256x64", "2x4"),
    ("f32", "256x128x32", "4x2"),
    ("f32", "128x256x32", "2x4"),
)
# M and N: tiles that fit, and tiles beyond both.
SHAPES = ((3072, 6144), (3000, 4040))
K = 512


def write_layer(name: str, schedule: tuple, shape: tuple, stream_k: bool) -> str:
    (element, tile, warps), (m, n) = schedule, shape
    rows, columns = map(int, re.findall(r"\d+", tile)[:2])
    moments = f"{(3 if element == 'f32' else 2) * -(-m // rows)}x{n}xf32"
    x, w, y, t = (f"{a}x{b}x{c}" for a, b, c in ((m, K, element), (n, K, element), (m, n, element), (m, n, "f32")))
    v, space = f"{n}xf32", f"memref<{192 * (8 + 4 * rows * columns)}xi8>"
    cast = f"%3 = tenon.cast %2 : tensor<{t}> -> tensor<{y}>" if element != "f32" else ""
    value = "%3" if cast else "%2"
    return f"""func.func @{name}(%x: memref<{x}>, %w: memref<{w}>, %b: memref<{v}>, %r: memref<{y}>, %y: memref<{y}>,
                             %m: memref<{moments}>, %s: {space}) {{
  tenon.tiled_linear %x, %w : memref<{x}>, memref<{w}>
      epilogue(%acc: tensor<{t}>, %bias = %b: memref<{v}>, %res = %r: memref<{y}>)
      outs(%y: memref<{y}>, %m: memref<{moments}>) {f"workspace(%s: {space})" if stream_k else ""}
      schedule<mma_sync, tile = {tile}, warps = {warps}, stages = 3, swizzle = 128, raster = 8, blocks = 1,
               stream_k = {str(stream_k).lower()}, reduction = two_phase> {{
    %0 = tenon.add %acc, %bias : tensor<{t}>, tensor<{v}>
    %1 = tenon.gelu %0 : tensor<{t}>
    %2 = tenon.add %1, %res : tensor<{t}>, tensor<{y}>
    {cast}
    %4 = tenon.moments {value} {{rows = {rows}}} : tensor<{y}> -> tensor<{moments}>
    tenon.yield {value}, %4 : tensor<{y}>, tensor<{moments}>
  }}
  return
}}
"""


def write_functions(schedule: tuple) -> dict[str, str]:
    """Return the functions of a schedule, by name."""
    stem = "_".join(schedule)
    # Without stream-K, with which all are chosen, ragged ones of f32 spill a few bytes.
    streams = (True,) if schedule[0] == "f32" else (False, True)
    layers = {f"{stem}_{m}_{n}{'_stream' * s}": ((m, n), s) for m, n in SHAPES for s in streams}
    return {name: write_layer(name, schedule, *layer) for name, layer in layers.items()}


if __name__ == "__main__":
    check(SCHEDULES, write_functions, target="sm_80")
