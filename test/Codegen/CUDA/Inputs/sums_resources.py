# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles kernels of wgmma that add up products of several x, whose copying thread has a branch for each."""

from __future__ import annotations

from wgmma_assembly import check

# Types of x and w and of the result, the tile, and what else is to be said: what tenon-select-strategy considers.
SCHEDULES = (
    (("bf16", "bf16"), "128x256x64", "8x1", 4, "cluster = 2x1"),
    (("bf16", "bf16"), "64x256x64", "4x1", 4, "cluster = 2x1, ping_pong = true"),
    (("f16", "f16"), "128x64x64", "8x1", 4, "stream_k = true"),
    (("f32", "f32"), "128x256x32", "8x1", 4, "cluster = 2x1"),
    (("bf16", "bf16"), "192x256x64", "1x8", 3, "stream_k = true, cluster = 2x1"),
    (("bf16", "bf16"), "256x128x64", "1x8", 4, "cluster = 1x2, defer = true"),
    (("bf16", "bf16"), "8x64x64", "1x4", 8, "stream_k = true"),
)
# M, N and K of each term.
SHAPES = ((4096, 4096, (4096, 16)), ("?", 4040, (4096, 1024, 1024, 72)))
WORKSPACE = "memref<25167360xi8>"


def write_layer(name: str, types: tuple[str, str], schedule: str, shape: tuple) -> str:
    """Return a function on memrefs: silu(sum + b) + r."""
    (element, result), (m, n, columns) = types, shape
    terms = [(f"memref<{m}x{k}x{element}>", f"memref<{n}x{k}x{element}>") for k in columns]
    flat = [matrix for term in terms for matrix in term]
    names = [f"%{matrix}{i}" for i in range(len(terms)) for matrix in "xw"]
    given = ", ".join(f"{name}: {matrix}" for name, matrix in zip(names, flat, strict=True))
    y, b, t = f"memref<{m}x{n}x{result}>", f"memref<{n}xf32>", f"tensor<{m}x{n}x{result}>"
    return f"""
func.func @{name}({given}, %b: {b}, %r: {y}, %y: {y}, %ws: {WORKSPACE}) {{
  tenon.tiled_linear {", ".join(names[:2])} : {", ".join(flat[:2])} plus({", ".join(names[2:])} : {", ".join(flat[2:])})
      epilogue(%acc: {t}, %bias = %b: {b}, %res = %r: {y}) outs(%y: {y})
      {f"workspace(%ws: {WORKSPACE})" if "stream_k" in schedule else ""} schedule<{schedule}, terms = {len(columns)}> {{
    %0 = tenon.add %acc, %bias : {t}, tensor<{n}xf32>
    %1 = tenon.silu %0 : {t}
    %2 = tenon.add %1, %res : {t}, {t}
    tenon.yield %2 : {t}
  }}
  return
}}
"""


def write_functions(schedule: tuple) -> dict[str, str]:
    """Return layers with a schedule."""
    types, tile, warps, stages, options = schedule
    text = f"wgmma, tile = {tile}, warps = {warps}, stages = {stages}, swizzle = 128, raster = 8, blocks = 1, {options}"
    functions = {}
    for shape in SHAPES:
        name = f"{types[0]}_{tile}_{warps}_{len(shape[2])}"
        functions[name] = write_layer(name, types, text, shape)
    return functions


if __name__ == "__main__":
    check(SCHEDULES, write_functions)
