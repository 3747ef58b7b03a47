# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles products and the kernels that finish beside them, which share a multiprocessor's registers.

Each of its four parts has 16384. A product's block has three warps in each, a finishing one a warp.
"""

from __future__ import annotations

import re

from wgmma_assembly import check

# Type, tile, warps, stages, what else is to be said.
SCHEDULES = (
    ("bf16", "256x128x64", "8x1", 4, ", cluster = 2x1"),
    ("f16", "128x192x64", "8x1", 4, ", cluster = 1x2"),
    ("bf16", "128x240x64", "8x1", 4, ""),
    ("f32", "256x128x32", "8x1", 4, ""),
    ("bf16", "128x128x64", "4x1", 5, ", ping_pong = true"),
)
# M and N: tiles that fit, and tiles beyond both.
SHAPES = ((3072, 6144), ("?", 4040))
K = 512
# After the norm: nothing, or gelu, vectors and a residual.
TAILS = ("", "long")


def write_layer(name: str, schedule: tuple, shape: tuple, tail: str) -> str:
    """Return a function with batch_norm(x w^T * scale) and what follows it."""
    (element, tile, warps, stages, options), (m, n) = schedule, shape
    x, w, y = (f"{a}x{b}x{element}" for a, b in ((m, K), (n, K), (m, n)))
    t, v = f"tensor<{y}>", f"{n}xf32"
    names = ("scale", "weight", "bias", "mean", "var", *(("a", "b") if tail else ()))
    operands = "".join(f", %{a} = %{a}_: memref<{v}>" for a in names)
    operands += f", %res = %r: memref<{y}>" if tail else ""
    rest = f"""%2 = tenon.mul %1#0, %a : {t}, tensor<{v}>
    %3 = tenon.add %2, %b : {t}, tensor<{v}>
    %4 = tenon.gelu %3 : {t}
    %5 = tenon.add %4, %res : {t}, {t}"""
    return f"""func.func @{name}(%x: memref<{x}>, %w: memref<{w}>, %r: memref<{y}>, %y: memref<{y}>
    {"".join(f", %{a}_: memref<{v}>" for a in names)}) {{
  tenon.tiled_linear %x, %w : memref<{x}>, memref<{w}>
      epilogue(%acc: {t}{operands}) outs(%y: memref<{y}>, %mean_: memref<{v}>, %var_: memref<{v}>)
      schedule<wgmma, tile = {tile}, warps = {warps}, stages = {stages}, swizzle = 128, raster = 8,
               blocks = 1{options}, reduction = trailing> {{
    %0 = tenon.mul %acc, %scale : {t}, tensor<{v}>
    %1:3 = tenon.batch_norm_training %0 weight(%weight) bias(%bias) running(%mean, %var)
        : ({t}{4 * f", tensor<{v}>"}) -> ({t}, tensor<{v}>, tensor<{v}>)
    {rest if tail else ""}
    tenon.yield {"%5" if tail else "%1#0"}, %1#1, %1#2 : {t}, tensor<{v}>, tensor<{v}>
  }}
  return
}}
"""


def write_functions(schedule: tuple) -> dict[str, str]:
    """Return the functions of a schedule, by name."""
    options = re.findall(r"\w+", schedule[4])
    functions = {}
    for shape in SHAPES:
        for tail in TAILS:
            name = "_".join(map(str, (*schedule[:3], *options, *shape, tail))).replace("?", "m")
            functions[name] = write_layer(name, schedule, shape, tail)
    return functions


if __name__ == "__main__":
    check(SCHEDULES, write_functions, {"tiled": 152, "finish": 56})
