# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles the kernels of tiled_cases.py and holds what they need against a budget.

Fails where a kernel spills, has local memory, makes ptxas give up an optimisation (C75xx), needs more registers
than tiled_resources.json allows its tile or more shared memory than its schedule says, or leaves no room for the
blocks that are to be resident together. Of the kernels for unaligned pointers, which have one tile, there is one
for each type and epilogue.

`--update` writes the budget: what is needed now, rounded up to the 8 registers in which they are allotted.
"""

from __future__ import annotations

import json
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from tiled_cases import TARGETS, Case, choose_cases, run, write_case

BUDGET = Path(__file__).with_suffix(".json")
KERNELS_AT_A_TIME = 8
MAX_REGISTERS = 255  # of a thread
REGISTERS_OF_MULTIPROCESSOR = 65536


@dataclass
class Kernel:
    """A kernel, what it needs, and what is wrong with it."""

    case: Case
    name: str
    registers: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def is_unaligned(self) -> bool:
        """Return whether it is the kernel for unaligned pointers."""
        return self.name.endswith("_unaligned")

    @property
    def key(self) -> str:
        """Return its place in the budget."""
        tile = "unaligned" if self.is_unaligned else self.case.schedule.field("tile")
        return f"{tile} {self.case.layer.types[0]}"


def keep_kernels(text: str, names: set[str]) -> str:
    """Return the module of the kernels in `names`, without the host's part."""
    body = text[text.index("gpu.module @kernels") :]
    parts = re.split(r"(?m)^(?=    llvm\.)", body)
    kept = [part for part in parts[1:] if not (name := re.match(r" *llvm\.func @(\w+)", part)) or name[1] in names]
    kept[-1] = re.sub(r"\s*\}\s*\}\s*$", "\n", kept[-1]) if kept[-1] is parts[-1] else kept[-1]
    return "module attributes {gpu.container_module} {\n" + parts[0] + "".join(kept) + "}\n}\n"


def allot(registers: int) -> int:
    """Return how many registers a thread gets that needs `registers`."""
    return -(-registers // 8) * 8


def inspect(kernel: Kernel, emitted: str, assembled: str) -> None:
    """Fill in what is known of `kernel` once it is assembled."""
    found = re.search(rf"\b{kernel.name} = {{([^}}]*)}}", assembled)
    if not found:
        kernel.failures.append("was not assembled")
        return
    needs = {key: int(value) for key, value in re.findall(r"(\w+) = (\d+)", found[1])}
    kernel.registers = needs["registers"]
    if needs["spilled_bytes"]:
        kernel.failures.append(f"spills {needs['spilled_bytes']} bytes")
    entry = assembled[assembled.index(f".entry {kernel.name}(") :]
    if ".local " in entry[: entry.find(".entry ", 1)]:
        kernel.failures.append("has local memory")
    blocks, threads = map(
        int, re.search(rf"@{kernel.name}\(.*minctasm = (\d+) .*reqntid = array<i32: (\d+)>", emitted).groups()
    )
    if allot(kernel.registers) * threads * blocks > REGISTERS_OF_MULTIPROCESSOR:
        kernel.failures.append(
            f"leaves no room for {blocks} blocks of {threads} threads with {kernel.registers} registers"
        )
    dynamic = re.search(rf"@kernels::@{kernel.name} .*shared\(%c(\d+)_i32\)", emitted)
    shared, allowed = needs["shared_bytes"] + int(dynamic[1]), kernel.case.schedule.shared_bytes
    if shared > allowed and not kernel.is_unaligned:
        kernel.failures.append(f"has {shared} bytes of shared memory, where its schedule says {allowed}")


def assemble(cases: list[Case], unaligned: set[Case]) -> list[Kernel]:
    """Return the kernels of `cases`, which have one target; for unaligned pointers those of `unaligned` alone."""
    passes = ["--tenon-fuse-epilogue", "--tenon-to-tiled", "--tenon-bufferize", "--tenon-emit-kernels"]
    text, _ = run([*passes, "--tenon-clean-kernels"], "".join(map(write_case, cases)))
    kernels = [Kernel(case, f"{case.name}_tiled") for case in cases]
    kernels += [Kernel(case, f"{case.name}_tiled_unaligned") for case in cases if case in unaligned]
    kept = keep_kernels(text, {kernel.name for kernel in kernels})
    assembled, _ = run([f"--tenon-serialize-kernels=targets={cases[0].target}"], kept)
    for kernel in kernels:
        inspect(kernel, text, assembled)
    return kernels


def find_failures(kernels: list[Kernel]) -> list[str]:
    """Return what is wrong with kernels, whatever registers they need."""
    return [f"{kernel.case.target} {kernel.name} {what}" for kernel in kernels for what in kernel.failures]


def conclude(kernels: list[Kernel], failures: list[str]) -> NoReturn:
    """Print what is wrong, and exit."""
    print("\n".join([*failures, f"{len(kernels)} kernels, {len(failures)} failures"]))
    sys.exit(bool(failures))


def check(groups: list[list[Case]]) -> NoReturn:
    """Assemble kernels that have no budget of registers, a group at once; print what is wrong, and exit."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        assembled = pool.map(lambda cases: assemble(cases, set()), groups)
        kernels = [kernel for group in assembled for kernel in group]
    conclude(kernels, find_failures(kernels))


def assemble_all() -> list[Kernel]:
    """Assemble all cases, some at a time, large ones first: no processor is left alone with them."""
    cases = sorted(choose_cases(), key=lambda case: -case.schedule.accumulators)
    unaligned = {(case.layer.types, case.layer.epilogue): case for case in cases if case.target == "sm_80"}
    groups = []
    for target in TARGETS:
        own = [case for case in cases if case.target == target]
        groups += [own[i : i + KERNELS_AT_A_TIME] for i in range(0, len(own), KERNELS_AT_A_TIME)]
    groups.sort(key=lambda group: -group[0].schedule.accumulators)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda group: assemble(group, set(unaligned.values())), groups)
    return [kernel for result in results for kernel in result]


def check_registers(kernels: list[Kernel], budget: dict[str, dict[str, int]]) -> list[str]:
    """Return which kernels need too many registers, and which entries of the budget no kernel needs."""
    failures = []
    unused = {(target, key) for target, of_target in budget.items() for key in of_target}
    for kernel in kernels:
        target = kernel.case.target
        unused.discard((target, kernel.key))
        allowed = budget.get(target, {}).get(kernel.key)
        if allowed is None:
            failures.append(
                f"{target} {kernel.name}: {BUDGET.name} has no '{kernel.key}'; run {Path(__file__).name} --update"
            )
        elif kernel.registers > allowed:
            failures.append(
                f"{target} {kernel.name} needs {kernel.registers} registers; {BUDGET.name} allows {allowed}"
            )
    return failures + [f"{BUDGET.name} has '{key}' on {target}, but no kernel is it" for target, key in sorted(unused)]


def update(kernels: list[Kernel]) -> None:
    """Write the budget."""
    budget: dict[str, dict[str, int]] = {target: {} for target in TARGETS}
    for kernel in sorted(kernels, key=lambda kernel: kernel.key):
        of_target = budget[kernel.case.target]
        allotted = min(MAX_REGISTERS, allot(kernel.registers))
        of_target[kernel.key] = max(of_target.get(kernel.key, 0), allotted)
    BUDGET.write_text(json.dumps(budget, indent=2) + "\n")


def main() -> None:
    """Check all kernels, and write their budget if asked to."""
    kernels = assemble_all()
    if sys.argv[1:] == ["--update"]:
        update(kernels)
    conclude(kernels, find_failures(kernels) + check_registers(kernels, json.loads(BUDGET.read_text())))


if __name__ == "__main__":
    main()
