# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles wgmma kernels that reduce columns themselves, with tiles that leave a thread few registers."""

from __future__ import annotations

import re

from wgmma_assembly import check

# Type, tile, warps, stages, what else is to be said.
SCHEDULES = (
    ("bf16", "128x256x64", "8x1", 4, ", cluster = 2x1"),
    ("f32", "128x256x32", "8x1", 4, ""),
    ("f16", "128x192x64", "8x1", 4, ", cluster = 1x2"),
    ("bf16", "128x128x64", "8x1", 5, ", cluster = 2x1"),
    ("f32", "256x128x32", "8x1", 4, ", cluster = 2x1"),
    ("bf16", "64x256x64", "4x1", 4, ""),
    ("bf16", "128x128x64", "4x1", 5, ""),
    ("bf16", "256x128x64", "1x8", 4, ", cluster = 1x2"),
    ("f16", "128x256x64", "1x8", 4, ", cluster = 2x1"),
    ("f32", "256x128x32", "1x8", 4, ", cluster = 2x1"),
    ("bf16", "40x192x64", "1x4", 5, ""),
    ("bf16", "256x128x64", "1x8", 4, ", cluster = 1x2, defer = true"),
    ("f16", "256x128x64", "1x8", 4, ", cluster = 2x1, defer = true"),
    ("f16", "128x256x64", "1x8", 4, ", cluster = 2x1, defer = true"),
    ("f16", "40x192x64", "1x4", 5, ", defer = true"),
)
# M and N: tiles that fit, and tiles beyond both; of wgmma, but for swapped operands, also any M.
SHAPES = ((3072, 6144), (3000, 4040))
DYNAMIC = ("?", 4096)
K, LONG_K = 512, 2048  # the latter where tiles are deferred


def write_layer(name: str, family: str, schedule: tuple, shape: tuple, bends: bool) -> str:
    """Return a function with gelu(batch_norm(x w^T * scale)) + residual.

    Where the norm's input `bends`, it is relu(x w^T * scale), and is computed before it is reduced. x and w of split
    products are halves of f32, with factors.
    """
    (element, tile, warps, stages, options), (m, n) = schedule, shape
    is_split, is_deferred = "method = fp16" in options, "defer" in options
    k = LONG_K if is_deferred else K
    stored = "f32" if is_split else element
    x, w, y, t = (f"{a}x{b}x{c}" for a, b, c in ((m, k, element), (n, k, element), (m, n, stored), (m, n, "f32")))
    fx, fw = f"memref<{m}x1xf32>", f"memref<{n}x1xf32>"
    factors = f"factors(%fx, %fw : {fx}, {fw})" if is_split else ""
    v, workspace = f"{n}xf32", f"memref<{192 * (8 + (64 if is_deferred else 32) * int(tile.split('x')[1]))}xi8>"
    names = ("scale", "weight", "bias", "mean", "var")
    operands = "".join(f", %{a} = %{a}_: memref<{v}>" for a in names)
    cast = f"%4 = tenon.cast %3 : tensor<{t}> -> tensor<{y}>" if stored != "f32" else ""
    bent = f"%5 = tenon.relu %0 : tensor<{t}>" if bends else ""
    value = "%4" if cast else "%3"
    return f"""func.func @{name}(%x: memref<{x}>, %w: memref<{w}>, %r: memref<{y}>, %y: memref<{y}>, %s: {workspace},
                             %fx: {fx}, %fw: {fw}
    {"".join(f", %{a}_: memref<{v}>" for a in names)}) {{
  tenon.tiled_linear %x, %w : memref<{x}>, memref<{w}> {factors}
      epilogue(%acc: tensor<{t}>{operands}, %res = %r: memref<{y}>)
      outs(%y: memref<{y}>, %mean_: memref<{v}>, %var_: memref<{v}>) workspace(%s: {workspace})
      schedule<{family}, tile = {tile}, warps = {warps}, stages = {stages}, swizzle = 128, raster = 8,
               blocks = 1{options}, reduction = resident> {{
    %0 = tenon.mul %acc, %scale : tensor<{t}>, tensor<{v}>
    {bent}
    %1:3 = tenon.batch_norm_training {"%5" if bends else "%0"} weight(%weight) bias(%bias) running(%mean, %var)
        : (tensor<{t}>{4 * f", tensor<{v}>"}) -> (tensor<{t}>, tensor<{v}>, tensor<{v}>)
    %2 = tenon.gelu %1#0 : tensor<{t}>
    %3 = tenon.add %2, %res : tensor<{t}>, tensor<{y}>
    {cast}
    tenon.yield {value}, %1#1, %1#2 : tensor<{y}>, tensor<{v}>, tensor<{v}>
  }}
  return
}}
"""


def write_functions(schedule: tuple, family: str = "wgmma") -> dict[str, str]:
    """Return the functions of a schedule, by name."""
    options = re.findall(r"\w+", schedule[4])
    stem = "_".join(map(str, (*schedule[:3], *options)))
    shapes = (*SHAPES, DYNAMIC) if family == "wgmma" and schedule[2].endswith("x1") else SHAPES
    layers = {
        f"{stem}_{'m' if m == '?' else m}_{n}{'_bent' * bends}": ((m, n), bends)
        for m, n in shapes
        for bends in (False, True)
    }
    return {name: write_layer(name, family, schedule, *layer) for name, layer in layers.items()}


if __name__ == "__main__":
    check(SCHEDULES, write_functions)
