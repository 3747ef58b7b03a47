#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""What swapped operands give for few rows on sm_90a, and how well that is predicted: needs no GPU.

Each schedule was timed in a CUDA graph, cuBLAS's bare product beside it; predictions are of bursts. What a graph takes
longer is found from cuBLAS's product, which was measured both ways. docs/Rationale.md has the tables that --report
writes there.

Usage: study_swapped.py benchmarks/results [--report docs/Rationale.md]
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from statistics import mean

import study
from study_few_rows import CHOSEN, SCHEDULE, source
from study_schedules import MODEL, ask, predict, spread
from torch_tables import markdown

BEGIN, END = "<!-- study_swapped: begin -->", "<!-- study_swapped: end -->"
WIDE = 256  # columns of tiles that are not considered


def name(case: dict) -> tuple:
    """Return what tells cases apart."""
    return case["dtype"], case["m"], case["n"], case["k"]


def model(case: dict) -> str:
    """Return the layer of a case."""
    return source(case | {"model": MODEL, "output": case["dtype"]})


def is_swapped(schedule: str) -> bool:
    """Whether warps lie along N."""
    return "wgmma" in schedule and "warps = 1x" in schedule


def columns(schedule: str) -> int:
    """Return a tile's columns."""
    return int(schedule.partition("tile = ")[2].split("x")[1])


def product(case: dict) -> float:
    """Return what cuBLAS's product took in a graph, on average."""
    return mean([case["library"]["cublas"], *(each["cublas"] for each in case["schedules"].values())])


def excess(cases: list[dict], bursts: list[dict]) -> float:
    """Return how much longer a launch in a graph takes than one of a burst."""
    found = {name(case): case["cublas"]["burst"] for case in bursts}
    return mean(product(case) - found[name(case)] for case in cases if name(case) in found)


def errors(cases: list[dict], longer: float) -> list[float]:
    """Return the logarithms of predicted over measured times of swapped schedules."""
    return [
        math.log(predict(model(case), schedule)[0] / (each["graph"] - longer))
        for case in cases
        for schedule, each in case["schedules"].items()
        if is_swapped(schedule) and columns(schedule) < WIDE
    ]


def best(case: dict, *, swapped: bool) -> str:
    """Return the fastest schedule of a kind, and its time."""
    times = {key: each["graph"] for key, each in case["schedules"].items() if is_swapped(key) == swapped}
    schedule = min(times, key=times.get)
    family = "mma_sync " if schedule.startswith("mma_sync") else ""
    tile = schedule.partition("tile = ")[2].partition(",")[0]
    return f"{family}{tile} {times[schedule]:.1f}"


def choose(case: dict) -> str:
    """Return what auto chooses: the library, or a tile."""
    text, _ = ask(model(case), "targets=sm_90a")
    if CHOSEN.search(text).group(1) == "library":
        return "library"
    schedule = SCHEDULE.search(text).group(1)
    return schedule.partition("tile = ")[2].partition(",")[0] + (", swapped" if is_swapped(schedule) else "")


def row(case: dict) -> str:
    """One row: what was measured in a graph, and what auto chooses."""
    return (
        f"{case['m']}×{case['n']}×{case['k']} | {product(case):.1f} | {case['library']['graph']:.1f} "
        f"| {best(case, swapped=False)} | {best(case, swapped=True)} | {choose(case)}"
    )


def report(folder: Path) -> list[str]:
    """Return the tables."""
    cases = study.read_cases(folder / "sm90a_swapped.json")
    longer = excess(cases, study.read_cases(folder / "sm90a_schedules.json"))
    found = errors(cases, longer)
    first = "M×N×K bf16 | product, µs | library | fastest of those not swapped | fastest swapped | auto chooses"
    rows = [
        f"a launch in a graph takes longer than in a burst | {longer:.1f} µs",
        f"error of the times predicted of {len(found)} swapped schedules, rms | {spread(found)}",
    ]
    return [*markdown(first, map(row, cases)), "", *markdown("of predictions | ", rows)]


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="folder of JSON")
    parser.add_argument("--report", type=Path, help="the page whose tables to replace")
    options = parser.parse_args()
    lines = report(options.results)
    print("\n".join(lines))
    if options.report:
        study.replace(parser, options.report, BEGIN, END, lines)


if __name__ == "__main__":
    main()
