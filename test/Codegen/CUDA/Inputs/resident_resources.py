# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles wgmma kernels that reduce columns themselves, with tiles that leave a thread few registers.

Fails where a kernel spills, or makes ptxas give up an optimisation (C75xx).
"""

from __future__ import annotations

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor

from tiled_cases import run
from tiled_resources import keep_kernels

# Type, tile, warps, stages, what else is to be said.
SCHEDULES = (
    ("bf16", "128x256x64", "8x1", 4, ", cluster = 2x1"),
    ("f32", "128x256x32", "8x1", 4, ""),
    ("f16", "128x192x64", "8x1", 4, ", cluster = 1x2"),
    ("bf16", "128x128x64", "8x1", 5, ", cluster = 2x1"),
    ("f32", "256x128x32", "8x1", 4, ", cluster = 2x1"),
    ("bf16", "64x256x64", "4x1", 4, ""),
    ("bf16", "128x128x64", "4x1", 5, ""),
)
# M and N: tiles that fit, and tiles beyond both.
SHAPES = ((3072, 6144), (3000, 4040))
K = 512


def write_layer(name: str, schedule: tuple, shape: tuple) -> str:
    """Return a function with gelu(batch_norm(x w^T * scale)) + residual."""
    (element, tile, warps, stages, options), (m, n) = schedule, shape
    x, w, y, t = (f"{a}x{b}x{c}" for a, b, c in ((m, K, element), (n, K, element), (m, n, element), (m, n, "f32")))
    v, workspace = f"{n}xf32", f"memref<{192 * (8 + 32 * int(tile.split('x')[1]))}xi8>"
    names = ("scale", "weight", "bias", "mean", "var")
    operands = "".join(f", %{a} = %{a}_: memref<{v}>" for a in names)
    cast = f"%4 = tenon.cast %3 : tensor<{t}> -> tensor<{y}>" if element != "f32" else ""
    value = "%4" if cast else "%3"
    return f"""func.func @{name}(%x: memref<{x}>, %w: memref<{w}>, %r: memref<{y}>, %y: memref<{y}>, %s: {workspace}
    {"".join(f", %{a}_: memref<{v}>" for a in names)}) {{
  tenon.tiled_linear %x, %w : memref<{x}>, memref<{w}>
      epilogue(%acc: tensor<{t}>{operands}, %res = %r: memref<{y}>)
      outs(%y: memref<{y}>, %mean_: memref<{v}>, %var_: memref<{v}>) workspace(%s: {workspace})
      schedule<wgmma, tile = {tile}, warps = {warps}, stages = {stages}, swizzle = 128, raster = 8,
               blocks = 1{options}, reduction = resident> {{
    %0 = tenon.mul %acc, %scale : tensor<{t}>, tensor<{v}>
    %1:3 = tenon.batch_norm_training %0 weight(%weight) bias(%bias) running(%mean, %var)
        : (tensor<{t}>{4 * f", tensor<{v}>"}) -> (tensor<{t}>, tensor<{v}>, tensor<{v}>)
    %2 = tenon.gelu %1#0 : tensor<{t}>
    %3 = tenon.add %2, %res : tensor<{t}>, tensor<{y}>
    {cast}
    tenon.yield {value}, %1#1, %1#2 : tensor<{y}>, tensor<{v}>, tensor<{v}>
  }}
  return
}}
"""


def assemble(schedule: tuple) -> tuple[int, list[str]]:
    """Return how many kernels a schedule has here, and what is wrong with them."""
    names = ["_".join(map(str, (*schedule[:4], *shape))) for shape in SHAPES]
    source = "".join(write_layer(name, schedule, shape) for name, shape in zip(names, SHAPES, strict=True))
    text, _ = run(["--tenon-emit-kernels", "--canonicalize", "--cse"], source)
    kept = keep_kernels(text, {f"{name}_tiled" for name in names})
    assembled, said = run(["--tenon-serialize-kernels=targets=sm_90a"], kept)
    failures = [line for line in said.splitlines() if re.search(r"C75\d\d", line)]
    for name in names:
        found = re.search(rf"\b{name}_tiled = {{[^}}]*spilled_bytes = (\d+)", assembled)
        if not found or int(found[1]):
            failures.append(f"{name}{schedule[4]}: " + (f"spills {found[1]} bytes" if found else "was not assembled"))
    return len(names), failures


def main() -> None:
    """Check all kernels."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(assemble, SCHEDULES))
    failures = [failure for _, of_schedule in results for failure in of_schedule]
    print("\n".join([*failures, f"{sum(count for count, _ in results)} kernels, {len(failures)} failures"]))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
