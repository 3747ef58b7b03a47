# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles kernels of tenon.product_moments and checks that they keep their sums in registers.

Fails where a kernel spills, has local memory, or needs more registers than a multiprocessor has for a block.
"""

from __future__ import annotations

import re
import sys

from tiled_cases import run
from tiled_resources import REGISTERS_OF_MULTIPROCESSOR, allot

TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a")
# Every number of tiles along a side, with ends and without.
DEPTHS = (1, 30, 64, 96, 128, 131, 160, 192, 224, 256)
ELEMENTS = ("bf16", "f32")


def write_moments(element: str, k: int) -> str:
    """Return a function that has the moments of a product of depth `k`."""
    x, w, vector = f"memref<?x{k}x{element}>", f"memref<100x{k}x{element}>", "memref<100xf32>"
    return f"""func.func @{element}_k{k}(%x: {x}, %w: {w}, %a: {vector}, %b: {vector}, %c: {vector}) {{
  tenon.product_moments %x, %w outs(%a, %b, %c) : ({x}, {w}, {vector}, {vector}, {vector}) -> ()
  return
}}
"""


def find_failures(needs: dict[str, int], ptx: str) -> list[str]:
    """Return what is wrong with a kernel."""
    failures = []
    if needs["spilled_bytes"]:
        failures.append(f"spills {needs['spilled_bytes']} bytes")
    if ".local " in ptx:
        failures.append("has local memory")
    threads = int(re.search(r"\.reqntid (\d+)", ptx)[1])
    if allot(needs["registers"]) * threads > REGISTERS_OF_MULTIPROCESSOR:
        failures.append(f"needs {needs['registers']} registers for each of {threads} threads")
    return failures


def main() -> None:
    """Check all kernels."""
    source = "".join(write_moments(element, k) for element in ELEMENTS for k in DEPTHS)
    passes = ["--tenon-emit-kernels", f"--tenon-serialize-kernels=targets={','.join(TARGETS)}"]
    assembled, _ = run(passes, source)
    kernels, failures = 0, []
    for target in TARGETS:
        text = assembled[assembled.index(f'chip = "{target}"') :]
        text = text[: text.index("#gpu.object", 1)]
        for entry in text.split(".entry ")[1:]:
            name = re.match(r"\w+", entry)[0]
            found = re.search(rf"\b{name} = {{([^}}]*)}}", text)[1]
            needs = {key: int(value) for key, value in re.findall(r"(\w+) = (\d+)", found)}
            failures += [f"{target} {name} {what}" for what in find_failures(needs, entry)]
            kernels += 1
    print("\n".join([*failures, f"{kernels} kernels, {len(failures)} failures"]))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
