# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles wgmma kernels of functions that hold a tiled layer each, and reports what is wrong with them.

Fails where a kernel spills, has local memory, or makes ptxas give up an optimisation (C75xx).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from tiled_cases import run
from tiled_resources import keep_kernels

TARGET = "sm_90a"


def find_failures(functions: dict[str, str]) -> list[str]:
    """Return what is wrong with the kernels for aligned pointers of `functions`, texts by name."""
    text, _ = run(["--tenon-emit-kernels", "--canonicalize", "--cse"], "".join(functions.values()))
    kept = keep_kernels(text, {f"{name}_tiled" for name in functions})
    assembled, said = run([f"--tenon-serialize-kernels=targets={TARGET}"], kept)
    failures = [line for line in said.splitlines() if re.search(r"C75\d\d", line)]
    for name in functions:
        found = re.search(rf"\b{name}_tiled = {{([^}}]*)}}", assembled)
        if not found:
            failures.append(f"{name} was not assembled")
            continue
        spilled = int(re.search(r"spilled_bytes = (\d+)", found[1])[1])
        if spilled:
            failures.append(f"{name} spills {spilled} bytes")
        entry = assembled[assembled.index(f".entry {name}_tiled(") :]
        if ".local " in entry[: entry.find(".entry ", 1)]:
            failures.append(f"{name} has local memory")
    return failures


def check(schedules: Iterable[tuple], write_functions: Callable[[tuple], dict[str, str]]) -> None:
    """Check the functions of each schedule, print what is wrong with them, and exit."""
    groups = [write_functions(schedule) for schedule in schedules]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [failure for found in pool.map(find_failures, groups) for failure in found]
    print("\n".join([*failures, f"{sum(map(len, groups))} kernels, {len(failures)} failures"]))
    sys.exit(bool(failures))
