# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles wgmma kernels of split rows whose tiles leave a thread few registers, with several epilogues.

Fails where a kernel spills, has local memory, or makes ptxas give up an optimisation (C75xx).
"""

from __future__ import annotations

import itertools
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor

from tiled_cases import run
from tiled_resources import keep_kernels

# The method, the tile, warps, stages, and what else is to be said.
SCHEDULES = (
    ("fp16x3", "128x192", "8x1", 4, ", cluster = 2x1"),
    ("fp16x3", "128x192", "8x1", 4, ", stream_k = true"),
    ("fp16x3", "128x176", "8x1", 5, ", stream_k = true, cluster = 2x1"),
    ("fp16x3", "128x168", "8x1", 5, ", cluster = 1x2"),
    ("fp16x3", "256x96", "8x1", 4, ", stream_k = true, cluster = 1x2"),
    ("fp16x3", "128x96", "4x1", 6, ""),
    ("fp16x3", "64x192", "4x1", 6, ", stream_k = true"),
    ("fp16x3", "64x192", "4x1", 6, ", ping_pong = true"),
    ("fp16", "128x256", "8x1", 4, ", cluster = 2x1"),
    ("fp16", "256x128", "8x1", 4, ", stream_k = true, cluster = 1x2"),
    ("fp16", "128x176", "4x1", 5, ", cluster = 1x2, ping_pong = true"),
)
# M and N: tiles that fit, and tiles beyond both.
SHAPES = ((4096, 4032), ("?", 4040))
# TMA cannot store its rows. The tiles of fp16x3 with 64 rows a warpgroup have registers for that.
SHAPE_BY_THREADS = ("?", 4033)
ROWS_BY_THREADS = {"4x1": "64x", "8x1": "128x"}
K = 512  # columns of the halves
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


def write_layer(name: str, schedule: tuple, shape: tuple, epilogue: str, result: str) -> str:
    """Return a function with a layer of split rows."""
    (method, tile, warps, stages, options), (m, n) = schedule, shape
    y = f"tensor<{m}x{n}xf32>"
    declared, ops = EPILOGUES[epilogue]
    declared = declared.format(n=n, y=y)
    argument = f", %b: {declared.replace('tensor', 'memref')}" if declared else ""
    operand = f", %arg = %b: {declared.replace('tensor', 'memref')}" if declared else ""
    body, value = [], "%acc"
    for number, op in enumerate([*ops, f"cast @ : {{y}} -> tensor<{{m}}x{{n}}x{result}>"] if result != "f32" else ops):
        body.append(f"%{number} = tenon.{op.format(m=m, n=n, y=y).replace('@', value)}")
        value = f"%{number}"
    height, width = map(int, tile.split("x"))
    workspace = f"memref<{192 * (8 + height * width * 4)}xi8>"
    scratch = (f", %s: {workspace}", f" workspace(%s: {workspace})") if "stream_k" in options else ("", "")
    x, w, of_x, of_w = f"memref<{m}x{K}xf16>", f"memref<{n}x{K}xf16>", f"memref<{m}x1xf32>", f"memref<{n}x1xf32>"
    shared = f"stages = {stages}, swizzle = 128, raster = 8, blocks = 1"
    inside = "\n    ".join(body)
    operands = f"%x: {x}, %w: {w}, %fx: {of_x}, %fw: {of_w}{argument}, %y: memref<{m}x{n}x{result}>{scratch[0]}"
    return f"""func.func @{name}({operands}) {{
  tenon.tiled_linear %x, %w : {x}, {w} factors(%fx, %fw : {of_x}, {of_w})
      epilogue(%acc: {y}{operand}) outs(%y: memref<{m}x{n}x{result}>){scratch[1]}
      schedule<wgmma, tile = {tile}x64, warps = {warps}, {shared}{options}, method = {method}> {{
    {inside}
    tenon.yield {value} : tensor<{m}x{n}x{result}>
  }}
  return
}}
"""


def assemble(schedule: tuple) -> tuple[int, list[str]]:
    """Return how many kernels a schedule has here, and what is wrong with them."""
    method, tile, warps, _, _ = schedule
    can_by_threads = method == "fp16x3" and tile.startswith(ROWS_BY_THREADS[warps])
    shapes = (*SHAPES, SHAPE_BY_THREADS) if can_by_threads else SHAPES
    names, source = [], ""
    results = itertools.cycle(("f16", "f32"))
    for shape in shapes:
        for epilogue in EPILOGUES:
            result = "f32" if shape == SHAPE_BY_THREADS else next(results)
            parts = (schedule[0], schedule[1], f"w{schedule[2]}", *shape, epilogue, result)
            names.append("_".join(map(str, parts)).replace("?", "m"))
            source += write_layer(names[-1], schedule, shape, epilogue, result)
    text, _ = run(["--tenon-emit-kernels", "--canonicalize", "--cse"], source)
    kept = keep_kernels(text, {f"{name}_tiled" for name in names})
    assembled, said = run(["--tenon-serialize-kernels=targets=sm_90a"], kept)
    failures = [line for line in said.splitlines() if re.search(r"C75\d\d", line)]
    for name in names:
        found = re.search(rf"\b{name}_tiled = {{([^}}]*)}}", assembled)
        if not found:
            failures.append(f"{name}{schedule[4]} was not assembled")
            continue
        spilled = int(re.search(r"spilled_bytes = (\d+)", found[1])[1])
        if spilled:
            failures.append(f"{name}{schedule[4]} spills {spilled} bytes")
        entry = assembled[assembled.index(f".entry {name}_tiled(") :]
        if ".local " in entry[: entry.find(".entry ", 1)]:
            failures.append(f"{name}{schedule[4]} has local memory")
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
