#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""What swapped operands, and clusters of four, give for large layers on sm_90a, beside what is predicted: needs no GPU.

Each schedule was timed in three ways, cuBLAS's bare product beside it; what counts is the worst of its three ratios.
Schedules were picked by hand, and are the finalists of a tuning (tenon-bench --tune).
docs/Rationale.md has the tables that --report writes there.

Usage: study_swapped_large.py benchmarks/results/sm90a_swapped_large.json [--report docs/Rationale.md]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from statistics import mean

import study
from study_few_rows import source
from study_schedules import MODEL, predict
from tables import markdown

BEGIN, END = "<!-- study_swapped_large: begin -->", "<!-- study_swapped_large: end -->"
WAYS = ("graph", "single", "sustained")


def field(schedule: str, name: str, default: str = "") -> str:
    """Return a field of a schedule's text."""
    _, found, rest = schedule.partition(f"{name} = ")
    return rest.partition(",")[0] if found else default


def is_swapped(schedule: str) -> bool:
    """Whether warps lie along N."""
    return field(schedule, "warps").startswith("1x")


def blocks(schedule: str) -> int:
    """Return the blocks of a cluster."""
    return math.prod(map(int, field(schedule, "cluster", "1x1").split("x")))


def ratios(times: dict) -> list[float]:
    """Return a schedule's times over cuBLAS's."""
    return [times[way] / times["cublas"][way] for way in WAYS]


def best(case: dict, kind: Callable[[str], bool]) -> str:
    """Return the schedule of a kind with the least worst ratio; "" where none was measured."""
    times = {schedule: max(ratios(times)) for schedule, times in case["schedules"].items() if kind(schedule)}
    return min(times, key=times.get, default="")


def in_short(schedule: str) -> str:
    """Return what tells the schedules apart."""
    form = "ping-pong" if field(schedule, "ping_pong") else field(schedule, "warps")
    return f"{field(schedule, 'tile').rpartition('x')[0]} {form} {field(schedule, 'cluster', '1x1')}"


def row(case: dict) -> str:
    """One row: the best schedule of each kind, with its three ratios."""
    kinds = (
        lambda schedule: not is_swapped(schedule) and blocks(schedule) < 4,
        lambda schedule: is_swapped(schedule) and blocks(schedule) < 4,
        lambda schedule: blocks(schedule) == 4,
    )
    cells = []
    for kind in kinds:
        schedule = best(case, kind)
        if not schedule:
            cells.append("")
            continue
        three = " ".join(f"{ratio:.3f}" for ratio in ratios(case["schedules"][schedule]))
        cells.append(f"{in_short(schedule)}: {three}")
    return f"{case['dtype']} {case['m']}×{case['n']}×{case['k']} | " + " | ".join(cells)


def turned(schedule: str) -> str:
    """Return the same with the other order of operands."""
    warps = field(schedule, "warps")
    return schedule.replace(f"warps = {warps}", f"warps = {'x'.join(reversed(warps.split('x')))}")


def gains(cases: list[dict]) -> list[float]:
    """Return times in a graph with operands swapped over those of the same schedule with operands as they are."""
    return [
        ratios(times)[0] / ratios(case["schedules"][turned(schedule)])[0]
        for case in cases
        for schedule, times in case["schedules"].items()
        if is_swapped(schedule) and blocks(schedule) < 4 and turned(schedule) in case["schedules"]
    ]


def errors(cases: list[dict], *, swapped: bool) -> list[float]:
    """Return the logarithms of predicted times over measured ones."""
    return [
        math.log(predict(source(case | {"model": MODEL, "output": case["dtype"]}), schedule)[0] / times["graph"])
        for case in cases
        for schedule, times in case["schedules"].items()
        if is_swapped(schedule) == swapped and blocks(schedule) < 4
    ]


def report(measured: Path) -> list[str]:
    """Return the tables."""
    cases = study.read_cases(measured)
    first = "over cuBLAS in a graph, alone, sustained | operands as they are | swapped | clusters of four"
    four = [
        ratios(times)[0] for case in cases for schedule, times in case["schedules"].items() if blocks(schedule) == 4
    ]
    found = gains(cases)
    rows = [
        f"time in a graph of {len(found)} swapped schedules, over the same not swapped | "
        f"{min(found):.2f} to {max(found):.2f}",
        f"of {len(four)} with clusters of four, over cuBLAS | {min(four):.2f} to {max(four):.2f}",
    ]
    for swapped, what in ((False, "operands as they are"), (True, "swapped")):
        found = errors(cases, swapped=swapped)
        off = f"{math.expm1(mean(found)):+.1%}, {math.expm1(min(found)):+.1%} to {math.expm1(max(found)):+.1%}"
        rows.append(f"predicted beside measured, {what}: mean, and range of {len(found)} | {off}")
    return [*markdown(first, map(row, cases)), "", *markdown("large layers on an H200 | ", rows)]


if __name__ == "__main__":
    study.show(__doc__, report, BEGIN, END)
