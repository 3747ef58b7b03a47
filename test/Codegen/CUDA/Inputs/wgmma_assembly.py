# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles kernels of functions that hold a tiled layer each, and reports what is wrong with them.

Fails where a kernel spills, has local memory, needs more registers than it may, or makes ptxas give up an optimisation
(C75xx).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

from tiled_cases import run
from tiled_resources import keep_kernels

TARGET = "sm_90a"
# What kernels' names end in, and how many registers a thread may have.
KERNELS = {"tiled": 255}


def find_failures(
    functions: Mapping[str, str], kernels: Mapping[str, int] = KERNELS, target: str = TARGET
) -> list[str]:
    """Return what is wrong with the kernels for aligned pointers of `functions`, texts by name."""
    text, _ = run(["--tenon-emit-kernels", "--tenon-clean-kernels"], "".join(functions.values()))
    limits = {f"{name}_{kind}": limit for name in functions for kind, limit in kernels.items()}
    assembled, said = run([f"--tenon-serialize-kernels=targets={target}"], keep_kernels(text, set(limits)))
    failures = [line for line in said.splitlines() if re.search(r"C75\d\d", line)]
    for name, limit in limits.items():
        found = re.search(rf"\b{name} = {{([^}}]*)}}", assembled)
        if not found:
            failures.append(f"{name} was not assembled")
            continue
        needs = {key: int(value) for key, value in re.findall(r"(\w+) = (\d+)", found[1])}
        if needs["spilled_bytes"]:
            failures.append(f"{name} spills {needs['spilled_bytes']} bytes")
        if needs["registers"] > limit:
            failures.append(f"{name} needs {needs['registers']} registers, more than {limit}")
        entry = assembled[assembled.index(f".entry {name}(") :]
        if ".local " in entry[: entry.find(".entry ", 1)]:
            failures.append(f"{name} has local memory")
    return failures


def check(
    schedules: Iterable[tuple],
    write_functions: Callable[[tuple], dict[str, str]],
    kernels: Mapping[str, int] = KERNELS,
    target: str = TARGET,
) -> None:
    """Check the functions of each schedule, print what is wrong with them, and exit."""
    groups = [write_functions(schedule) for schedule in schedules]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(find_failures, groups, repeat(kernels), repeat(target))
        failures = [failure for of_group in found for failure in of_group]
    count = len(kernels) * sum(map(len, groups))
    print("\n".join([*failures, f"{count} kernels, {len(failures)} failures"]))
    sys.exit(bool(failures))
