# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles kernels for every family of targets, and reports what is wrong with them.

Fails where a kernel spills, has local memory, makes ptxas give up an optimisation (C75xx), or needs so many registers
that fewer threads than are counted on are resident at once.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator

from tiled_cases import run
from tiled_resources import REGISTERS_OF_MULTIPROCESSOR, allot

TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a")


def find_failures(needs: dict[str, int], ptx: str, threads: int) -> Iterator[str]:
    """Yield what is wrong with a kernel of which `threads` are to be resident."""
    if needs["spilled_bytes"]:
        yield f"spills {needs['spilled_bytes']} bytes"
    if ".local " in ptx:
        yield "has local memory"
    if allot(needs["registers"]) * threads > REGISTERS_OF_MULTIPROCESSOR:
        yield f"needs {needs['registers']} registers: {threads} threads are not resident at once"


def check(source: str, count_threads: Callable[[str], int]) -> None:
    """Check all kernels of `source`, print what is wrong with them, and exit.

    `count_threads` gives how many threads are to be resident, from a kernel's PTX.
    """
    assembled, said = run(["--tenon-emit-kernels", f"--tenon-serialize-kernels=targets={','.join(TARGETS)}"], source)
    kernels, failures = 0, [line for line in said.splitlines() if re.search(r"C75\d\d", line)]
    for target in TARGETS:
        text = assembled[assembled.index(f'chip = "{target}"') :]
        text = text[: text.index("#gpu.object", 1)]
        for entry in text.split(".entry ")[1:]:
            name = re.match(r"\w+", entry)[0]
            found = re.search(rf"\b{name} = {{([^}}]*)}}", text)[1]
            needs = {key: int(value) for key, value in re.findall(r"(\w+) = (\d+)", found)}
            failures += [f"{target} {name} {what}" for what in find_failures(needs, entry, count_threads(entry))]
            kernels += 1
    print("\n".join([*failures, f"{kernels} kernels, {len(failures)} failures"]))
    sys.exit(bool(failures))
