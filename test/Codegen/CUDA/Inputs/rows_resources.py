# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles kernels that reduce rows or groups of their columns, with tiles that leave a thread few registers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

from tiled_cases import run
from wgmma_assembly import find_failures

PASSES = "--tenon-to-tiled", "--canonicalize", "--cse", "--tenon-bufferize", "--canonicalize", "--cse"
EXCHANGE, IN_TILE, SPLIT = "resident_rows", "in_tile", ", method = fp16x3"
K = 512


class Kernel(NamedTuple):
    """A kernel of a norm of groups of columns, or of a pooling."""

    schedule: str
    reduction: str
    element: str
    n: int
    columns: int  # of a group
    heads: tuple[str, ...]
    target: str = "sm_90a"


def wgmma(tile: str, warps: str, stages: int, more: str = "") -> str:
    return f"wgmma, tile = {tile}, warps = {warps}, stages = {stages}, swizzle = 128, raster = 8, blocks = 1{more}"


def mma_sync(tile: str, warps: str, stages: int, more: str = "") -> str:
    return f"mma_sync, tile = {tile}, warps = {warps}, stages = {stages}, swizzle = 128, raster = 8, blocks = 1{more}"


NORMS = "norm", "residual", "softmax"
# Beside an f32 operand [M, N] that comes before the reduction some bytes spill (docs/Kernels.md).
SPLIT_NORMS = "norm", "softmax"
KERNELS = (
    Kernel(wgmma("128x192x64", "8x1", 4, ", cluster = 2x1" + SPLIT), EXCHANGE, "f32", 4096, 4096, SPLIT_NORMS),
    Kernel(wgmma("128x128x64", "8x1", 5, ", cluster = 2x1" + SPLIT), EXCHANGE, "f32", 8192, 512, SPLIT_NORMS),
    Kernel(wgmma("128x256x64", "8x1", 4, ", cluster = 2x1"), EXCHANGE, "bf16", 8192, 8192, NORMS),
    Kernel(wgmma("64x256x64", "4x1", 4, ", ping_pong = true"), EXCHANGE, "bf16", 8192, 512, NORMS),
    Kernel(mma_sync("128x128x64", "2x4", 4), EXCHANGE, "bf16", 4096, 4096, NORMS, "sm_80"),
    Kernel(mma_sync("64x256x64", "2x4", 3), EXCHANGE, "f16", 8192, 512, NORMS, "sm_80"),
    Kernel(mma_sync("64x128x64", "2x4", 3, SPLIT), EXCHANGE, "f32", 4096, 4096, NORMS, "sm_80"),
    Kernel(wgmma("128x128x64", "4x1", 5, ", cluster = 2x1, ping_pong = true"), IN_TILE, "bf16", 8192, 32, NORMS),
    Kernel(wgmma("128x128x64", "4x1", 5, ", cluster = 2x1, ping_pong = true"), IN_TILE, "bf16", 8192, 128, NORMS),
    Kernel(wgmma("64x256x64", "4x1", 4, ", ping_pong = true"), IN_TILE, "bf16", 8192, 64, NORMS),
    Kernel(wgmma("128x128x64", "4x1", 5, ", cluster = 2x1, ping_pong = true"), IN_TILE, "bf16", 8192, 4, ("pool",)),
    Kernel(wgmma("128x128x64", "4x1", 5, ", cluster = 2x1, ping_pong = true"), IN_TILE, "bf16", 8192, 2, ("pool",)),
    Kernel(wgmma("128x256x64", "8x1", 4, ", cluster = 2x1"), IN_TILE, "f16", 8192, 8, ("norm", "pool")),
    Kernel(wgmma("128x192x64", "8x1", 4, ", cluster = 2x1" + SPLIT), IN_TILE, "f32", 8064, 64, NORMS),
    Kernel(wgmma("128x192x64", "8x1", 4, ", cluster = 2x1" + SPLIT), IN_TILE, "f32", 8064, 4, ("pool",)),
    Kernel(mma_sync("128x128x64", "4x2", 4), IN_TILE, "bf16", 8192, 64, NORMS, "sm_80"),
    Kernel(mma_sync("128x128x64", "2x4", 4), IN_TILE, "f16", 8192, 4, ("pool",), "sm_80"),
)


def body(kernel: Kernel, head: str, types: tuple[str, str, str]) -> str:
    """Return what follows z, f32, as far as %g."""
    t, r, v = types
    group = f"{{groups = {kernel.n // kernel.columns}}}"
    whole = kernel.columns == kernel.n
    wide, mark = (r, "") if whole else (t, "s")

    def spread(name: str) -> str:
        return "" if whole else f"%{name}s = tenon.repeat_columns %{name} {{times = {kernel.columns}}} : {r}"

    if head == "pool":
        return f"""
    %top = tenon.reduce_row max %z {group} : {t}
    %g = tenon.leaky_relu %top {{negative_slope = 0.125}} : {r}"""
    if head == "softmax":
        return f"""
    %gelu = tenon.gelu %z : {t}
    %max = tenon.reduce_row max %gelu {group} : {t}
    {spread("max")}
    %d = tenon.sub %gelu, %max{mark} : {t}, {wide}
    %p = tenon.exp %d : {t}
    %sum = tenon.reduce_row sum %p {group} : {t}
    {spread("sum")}
    %g = tenon.div %p, %sum{mark} : {t}, {wide}"""
    y = t.replace("f32", kernel.element)
    rounded = f"%rounded = tenon.cast %h : {t} -> {y}" if kernel.element != "f32" else ""
    return f"""
    %mean = tenon.reduce_row mean %z {group} : {t}
    {spread("mean")}
    %d = tenon.sub %z, %mean{mark} : {t}, {wide}
    %q = tenon.mul %d, %d : {t}, {t}
    %var = tenon.reduce_row mean %q {group} : {t}
    %e = tenon.add %var, 1.0e-05 : {r}
    %inv = tenon.rsqrt %e : {r}
    {spread("inv")}
    %f = tenon.mul %d, %inv{mark} : {t}, {wide}
    %h = tenon.add %f, %bias : {t}, {v}
    {rounded}
    %silu = tenon.silu %{"rounded" if rounded else "h"} : {y if rounded else t}
    %g = tenon.{f"cast %silu : {y} -> {t}" if rounded else f"add %silu, 0.0 : {t}"}"""


def write_layer(name: str, kernel: Kernel, head: str) -> str:
    n, element, groups = kernel.n, kernel.element, kernel.n // kernel.columns
    y, t, r = f"tensor<?x{n}x{element}>", f"tensor<?x{n}xf32>", f"tensor<?x{groups}xf32>"
    x, w, v = f"tensor<?x{K}x{element}>", f"tensor<{n}x{K}x{element}>", f"tensor<{n}xf32>"
    result, of = (y, t) if head != "pool" else (f"tensor<?x{groups}x{element}>", r)
    widened = f"cast %acc : {y} -> {t}" if element != "f32" else f"add %acc, 0.0 : {t}"
    rounded = f"cast %g : {of} -> {result}" if element != "f32" else f"add %g, 0.0 : {of}"
    added = f"add %c, %res : {t}, {y}" if head == "residual" else f"add %c, 0.0 : {t}"
    schedule = f"#tenon.schedule<{kernel.schedule}, reduction = {kernel.reduction}>"
    return f"""
func.func @{name}(%x: {x}, %w: {w}, %b: {v}, %r: {y}) -> {result} {{
  %0 = tenon.fused_linear %x, %w : {x}, {w}
      epilogue(%acc: {y}, %bias = %b: {v}, %res = %r: {y}) -> {result}
      attributes {{schedule = {schedule}, strategy = #tenon.strategy<tiled>}} {{
    %a = tenon.{widened}
    %c = tenon.add %a, %bias : {t}, {v}
    %z = tenon.{added}{body(kernel, head, (t, r, v))}
    %y = tenon.{rounded}
    tenon.yield %y : {result}
  }}
  return %0 : {result}
}}
"""


def check() -> Iterator[str]:
    """Give what is wrong with each kernel, and in the end how many there were."""
    count = 0
    for number, kernel in enumerate(KERNELS):
        functions = {f"k{number}_{head}": write_layer(f"k{number}_{head}", kernel, head) for head in kernel.heads}
        text, _ = run([*PASSES], "".join(functions.values()))
        kinds = {"tiled": 255, "tiled_guard": 255} if SPLIT in kernel.schedule else {"tiled": 255}
        count += len(functions) * len(kinds)
        texts = {name: text if name == next(iter(functions)) else "" for name in functions}
        yield from (f"{kernel.schedule}, {kernel.columns}: {f}" for f in find_failures(texts, kinds, kernel.target))
    yield f"{count} kernels"


if __name__ == "__main__":
    *failures, summary = check()
    print("\n".join([*failures, f"{summary}, {len(failures)} failures"]))
    sys.exit(bool(failures))
