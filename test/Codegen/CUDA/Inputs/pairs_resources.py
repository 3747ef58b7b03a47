# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles kernels that have two products of one x, with several epilogues of both.

Usage: pairs_resources.py [TARGET]

With a target, kernels of mma_sync for it, else those of wgmma.
"""

from __future__ import annotations

import sys

from wgmma_assembly import check

# Types of x and w and of the result, the tile, and what else is to be said: what tenon-select-strategy considers.
SCHEDULES = (
    (("bf16", "bf16"), "128x128x64", "8x1", 4, "cluster = 2x1"),
    (("f16", "f16"), "256x64x64", "8x1", 4, "cluster = 1x2"),
    (("bf16", "bf16"), "64x128x64", "4x1", 4, "cluster = 2x1, ping_pong = true"),
    (("bf16", "bf16"), "128x96x64", "4x1", 5, "ping_pong = true"),
    (("bf16", "bf16"), "128x64x64", "8x1", 4, "stream_k = true"),
    (("f32", "f32"), "128x128x32", "8x1", 4, "cluster = 2x1"),
    (("bf16", "bf16"), "192x128x64", "1x8", 3, "cluster = 1x2"),
    (("f16", "f16"), "192x64x64", "1x4", 5, "cluster = 1x2, ping_pong = true"),
    (("bf16", "bf16"), "8x64x64", "1x4", 8, "stream_k = true"),
    (("bf16", "bf16"), "128x128x64", "1x8", 4, "cluster = 1x2, defer = true"),
    (("bf16", "f32"), "128x128x64", "1x8", 4, "cluster = 2x1, defer = true"),
    (("f16", "f32"), "96x128x64", "1x8", 4, "cluster = 2x1, method = fp16x3"),
    (("f16", "f32"), "128x96x64", "8x1", 4, "cluster = 2x1, method = fp16x3"),
    (("f16", "f32"), "128x128x64", "1x8", 4, "cluster = 1x2, defer = true, method = fp16"),
)
# The same of mma_sync.
MMA_SCHEDULES = (
    (("bf16", "bf16"), "128x128x64", "2x4", 3, "stream_k = true"),
    (("f16", "f16"), "256x64x64", "4x2", 3, "stream_k = true"),
    (("bf16", "bf16"), "64x128x64", "2x4", 3, "stream_k = true"),
    (("bf16", "bf16"), "16x64x64", "1x2", 4, "stream_k = true"),
    (("f32", "f32"), "128x128x32", "2x4", 3, "stream_k = true"),
    (("f16", "f32"), "128x64x64", "4x2", 3, "stream_k = true, method = fp16x3"),
    (("f16", "f32"), "128x128x64", "2x4", 3, "stream_k = true, method = fp16"),
)
# M, N and K: tiles that fit, and tiles beyond M and N.
SHAPES = ((4096, 4096, 4096), ("?", 4040, 4096))
# The ops, %acc and %gate being the products, %b and %c of one value a column, %res of one an element.
EPILOGUES = {
    "swiglu": ("%0 = tenon.silu %gate", "%y = tenon.mul %acc, %0"),
    "geglu_biases": (
        "%0 = tenon.add %gate, %c",
        "%1 = tenon.gelu %0",
        "%2 = tenon.add %acc, %b",
        "%y = tenon.mul %1, %2",
    ),
    "residual": ("%0 = tenon.silu %gate", "%1 = tenon.mul %acc, %0", "%y = tenon.add %1, %res"),
    "sum": ("%y = tenon.add %acc, %gate",),
    "products_too": ("%0 = tenon.silu %gate", "%y = tenon.mul %acc, %0"),
}
WORKSPACE = "memref<25167360xi8>"


def write_layer(name: str, types: tuple[str, str], schedule: str, ops: tuple[str, ...], shape: tuple) -> str:
    """Return a function on memrefs."""
    (element, result), (m, n, k) = types, shape
    x, w = f"memref<{m}x{k}x{element}>", f"memref<{n}x{k}x{element}>"
    y, b, t = f"memref<{m}x{n}x{result}>", f"memref<{n}xf32>", f"tensor<{m}x{n}x{result}>"
    fx, fw = f"memref<{m}x1xf32>", f"memref<{n}x1xf32>"
    lines = []
    for op in ops:
        operands = op.partition(" = ")[2].split(maxsplit=1)[1].split(", ")
        of = [f"tensor<{n}xf32>" if operand in ("%b", "%c") else t for operand in operands]
        lines.append(f"{op} : {', '.join(of)}")
    body = "\n    ".join(lines)
    factors = f"factors(%fx, %fw, %fw : {fx}, {fw}, {fw})" if "method" in schedule else ""
    inputs = f"%b = %bm: {b}, %c = %cm: {b}" + (f", %res = %r: {y}" if "%res" in body else "")
    results = ["%y", "%gate", "%acc"] if "products_too" in name else ["%y"]
    outputs = ", ".join(f"%{name}: {y}" for name in "opq"[: len(results)])
    return f"""
func.func @{name}(%x: {x}, %w: {w}, %v: {w}, %bm: {b}, %cm: {b}, %r: {y}, %o: {y}, %p: {y}, %q: {y},
                  %ws: {WORKSPACE}, %fx: {fx}, %fw: {fw}) {{
  tenon.tiled_linear %x, %w, %v : {x}, {w}, {w} {factors}
      epilogue(%acc: {t}, %gate: {t}, {inputs}) outs({outputs})
      {f"workspace(%ws: {WORKSPACE})" if "stream_k" in schedule else ""} schedule<{schedule}> {{
    {body}
    tenon.yield {", ".join(results)} : {", ".join([t] * len(results))}
  }}
  return
}}
"""


def write_functions(schedule: tuple) -> dict[str, str]:
    """Return layers with a schedule."""
    (element, result), tile, warps, stages, options = schedule
    family = "mma_sync" if schedule in MMA_SCHEDULES else "wgmma"
    text = (
        f"{family}, tile = {tile}, warps = {warps}, stages = {stages}, swizzle = 128, raster = 8, blocks = 1, {options}"
    )
    head, comma, method = text.partition(", method")
    text = f"{head}, weights = 2{comma}{method}"
    functions = {}
    for epilogue, ops in EPILOGUES.items():
        for shape in SHAPES:
            m = "m" if shape[0] == "?" else shape[0]
            name = f"{element}_{result}_{tile}_{warps}_{epilogue}_{m}".replace("=", "")
            functions[name] = write_layer(name, (element, result), text, ops, shape)
    return functions


if __name__ == "__main__":
    if len(sys.argv) > 1:
        check(MMA_SCHEDULES, write_functions, target=sys.argv[1])
    check(SCHEDULES, write_functions)
