#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Count what a wgmma kernel's epilogue costs: a warp's instructions from its last products to its last release.

    scripts/count_epilogue.py --cuobjdump /usr/local/cuda/bin/cuobjdump

Layers are compiled by build/bin/tenon-compile with the schedules that are tuned for their shapes, and taken apart by
cuobjdump, which the CUDA toolkit has. The table is in Markdown. A multiprocessor's four schedulers issue one
instruction a clock each, so an epilogue that nothing hides takes no fewer clocks than instructions times the
warpgroups that finish together.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
# M, N, K: a schedule whose two warpgroups finish one tile together, and one of ping-pong.
SHAPES = ((4096, 4096, 4096), (16384, 4096, 4096))
BIAS = "%0 = tenon.add %acc, %bias : {y}, {b}"
EPILOGUES = {
    "bias": (BIAS,),
    "bias_mul2_leaky_relu": (
        BIAS,
        "%1 = tenon.mul %0, 2.0 : {y}",
        "%2 = tenon.leaky_relu %1 {{negative_slope = 0.1}} : {y}",
    ),
    "bias_gelu_residual_clamp": (
        BIAS,
        "%1 = tenon.gelu %0 : {y}",
        "%2 = tenon.add %1, %residual : {y}, {y}",
        "%3 = tenon.clamp %2 {{min = -1.0, max = 1.0}} : {y}",
    ),
}
# The first that the name begins with.
KINDS = {
    "f32": "FADD FMUL FFMA",
    "choice": "FMNMX FSET FSETP FSEL HMNMX2",
    "exp2": "MUFU",
    "16 bits": "F2FP HADD2 PRMT SHF.L IMAD.U32 LOP3",
    "memory": "LDG LDS LDSM STS STSM",
}


def source(shape: tuple[int, int, int], element: str, lines: tuple[str, ...]) -> str:
    """Return the model of a layer and its epilogue."""
    m, n, k = shape
    x, w, y = (f"tensor<{a}x{b}x{element}>" for a, b in ((m, k), (n, k), (m, n)))
    body = "\n".join(lines).format(y=y, b=f"tensor<{n}x{element}>")
    return f"""func.func @forward(%x: {x}, %w: {w} {{tenon.param}}, %bias: tensor<{n}x{element}> {{tenon.param}},
    %residual: {y}) -> {y} {{
  %acc = tenon.linear %x, %w : ({x}, {w}) -> {y}
  {body}
  return %{len(lines) - 1} : {y}
}}"""


def disassemble(text: str, cuobjdump: str) -> list[str]:
    """Return the instructions of the model's tiled kernel."""
    with tempfile.TemporaryDirectory() as folder:
        model, cubin = Path(folder, "model.mlir"), Path(folder, "model.cubin")
        model.write_text(text)
        flags = ["--target=sm_90a", "--strategy=tiled", "--emit=cubin", "-o", cubin]
        subprocess.run([ROOT / "build/bin/tenon-compile", model, *flags], check=True)
        command = [cuobjdump, "-sass", cubin]
        listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    kernel = next(part for part in listing.split("Function : ") if part.startswith("forward_tiled\n"))
    return re.findall(r"^\s+/\*[0-9a-f]{4,5}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", kernel, re.MULTILINE)


def count(instructions: list[str]) -> Counter:
    """Count the epilogue's instructions by kind."""
    last_products = max(i for i, name in enumerate(instructions) if name.startswith("WARPGROUP.DEPBAR"))
    last_release = max(i for i, name in enumerate(instructions) if name.startswith("SYNCS.ARRIVE"))
    counts: Counter = Counter()
    for name in instructions[last_products : last_release + 1]:
        kinds = (kind for kind, names in KINDS.items() if any(re.match(rf"{n}(\.|$)", name) for n in names.split()))
        counts[next(kinds, "rest")] += 1
    return counts


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuobjdump", default="cuobjdump", help="the disassembler (default: the one in PATH)")
    options = parser.parse_args()
    columns = [*KINDS, "rest"]
    print("| MxNxK | element | epilogue | all |", " | ".join(columns), "|")
    print("|---" * (4 + len(columns)) + "|")
    for shape in SHAPES:
        for element in ("bf16", "f16"):
            for name, lines in EPILOGUES.items():
                counts = count(disassemble(source(shape, element, lines), options.cuobjdump))
                cells = ["x".join(map(str, shape)), element, name, str(counts.total())]
                print("|", " | ".join(cells + [str(counts[kind]) for kind in columns]), "|")


if __name__ == "__main__":
    main()
