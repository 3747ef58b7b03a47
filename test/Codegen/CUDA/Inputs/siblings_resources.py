# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles wgmma kernels of three layers of one x, with an epilogue each."""

from __future__ import annotations

from wgmma_assembly import check

# The type, the tile, its warps and stages: what tenon-select-strategy considers for few rows, and the largest tiles.
SCHEDULES = (
    ("bf16", "8x64x64", "1x4", 10),
    ("f16", "64x64x64", "1x4", 8),
    ("bf16", "64x32x64", "4x1", 10),
    ("bf16", "64x256x64", "4x1", 4),
    ("bf16", "128x256x64", "8x1", 3),
    ("f16", "192x128x64", "1x8", 4),
    ("f32", "128x128x32", "8x1", 4),
)
ROWS = (8, "?")
COLUMNS = (4096, 1024, 1032)
EPILOGUES = (
    ("%y = tenon.add %acc, %b",),
    ("%0 = tenon.add %acc, %b", "%y = tenon.gelu %0"),
    ("%0 = tenon.add %acc, %b", "%1 = tenon.silu %0", "%y = tenon.add %1, %res"),
)


def write_function(name: str, element: str, schedule: str, m: int | str, k: int = 4096) -> str:
    """Return three layers on memrefs."""
    x = f"memref<{m}x{k}x{element}>"
    arguments, layers = [f"%x: {x}"], []
    for i, (n, ops) in enumerate(zip(COLUMNS, EPILOGUES, strict=True)):
        w, y, b = f"memref<{n}x{k}x{element}>", f"memref<{m}x{n}x{element}>", f"memref<{n}xf32>"
        t = f"tensor<{m}x{n}x{element}>"
        arguments += [f"%w{i}: {w}", f"%b{i}: {b}", f"%r{i}: {y}", f"%y{i}: {y}"]
        types = {"%b": f"tensor<{n}xf32>"}
        body = "\n    ".join(
            f"{op} : {', '.join(types.get(o, t) for o in op.partition(' = ')[2].split(maxsplit=1)[1].split(', '))}"
            for op in ops
        )
        layers.append(f"""
  tenon.tiled_linear %x, %w{i} : {x}, {w}
      epilogue(%acc: {t}, %b = %b{i}: {b}, %res = %r{i}: {y}) outs(%y{i}: {y})
      schedule<{schedule}, siblings = 3> {{
    {body}
    tenon.yield %y : {t}
  }}""")
    return f"func.func @{name}({', '.join(arguments)}) {{{''.join(layers)}\n  return\n}}\n"


def write_functions(schedule: tuple) -> dict[str, str]:
    """Return functions whose layers have a schedule."""
    element, tile, warps, stages = schedule
    text = f"wgmma, tile = {tile}, warps = {warps}, stages = {stages}, swizzle = 128, raster = 8, blocks = 1"
    names = {m: f"{element}_{tile}_{warps}_{'m' if m == '?' else m}" for m in ROWS}
    return {name: write_function(name, element, text, m) for m, name in names.items()}


if __name__ == "__main__":
    check(SCHEDULES, write_functions, {"tiled_siblings": 255})
