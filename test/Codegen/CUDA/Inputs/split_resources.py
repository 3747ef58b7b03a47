# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles kernels of tenon.split and checks that they keep their rows in registers, and with how many.

Fails where a kernel spills, has local memory, makes ptxas give up an optimisation (C75xx), or needs so many registers
that fewer threads than it counts on are resident at once.
"""

from __future__ import annotations

import re
import sys

from tiled_cases import run
from tiled_resources import REGISTERS_OF_MULTIPROCESSOR, allot

TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a")
# Of each kind: rows of 16, 8 and 4 warps and of one, rows read twice, ends that are no vector, pairs, padding alone.
WIDTHS = (16384, 8192, 4096, 40000, 32770, 16385, 100, 31, 1)
RESIDENT_THREADS = 1024


def write_split(k: int, parts: int) -> str:
    """Return a function that splits rows of `k` elements."""
    columns = -(-k // 8) * 8 if parts == 1 else 2 * -(-k // 32) * 32
    x, halves, factors = f"memref<?x{k}xf32>", f"memref<?x{columns}xf16>", "memref<?x1xf32>"
    return f"""func.func @k{k}_p{parts}(%x: {x}, %halves: {halves}, %factors: {factors}) {{
  tenon.split %x outs(%halves, %factors) : ({x}, {halves}, {factors}) -> ()
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
    if allot(needs["registers"]) * RESIDENT_THREADS > REGISTERS_OF_MULTIPROCESSOR:
        failures.append(f"needs {needs['registers']} registers: {RESIDENT_THREADS} threads are not resident at once")
    return failures


def main() -> None:
    """Check all kernels."""
    source = "".join(write_split(k, parts) for k in WIDTHS for parts in (1, 2))
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
