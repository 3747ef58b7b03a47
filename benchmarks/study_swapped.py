#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""What swapped operands give for few rows on sm_90a, and how well that is predicted: needs no GPU.

First every schedule was timed in a CUDA graph, cuBLAS's bare product beside it; then auto and some schedules beside the
library, in bursts and alone. docs/Rationale.md has the tables that --report writes there.

Usage: study_swapped.py benchmarks/results [--report docs/Rationale.md]
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import study
from study_few_rows import CHOSEN, RASTER, SCHEDULE, WAYS, microseconds, source
from study_schedules import ask, predict, spread
from tables import markdown

BEGIN, END = "<!-- study_swapped: begin -->", "<!-- study_swapped: end -->"
COLUMNS = 64  # of the tiles that are considered


def is_swapped(schedule: str) -> bool:
    """Whether warps lie along N."""
    return "wgmma" in schedule and "warps = 1x" in schedule


def columns(schedule: str) -> int:
    """Return a tile's columns."""
    return int(schedule.partition("tile = ")[2].split("x")[1])


def product(case: dict) -> float:
    """Return what cuBLAS's product took in a graph, on average."""
    return mean([case["library"]["cublas"], *(each["cublas"] for each in case["schedules"].values())])


def errors(cases: list[dict]) -> list[float]:
    """Return the logarithms of predicted over measured bursts of swapped schedules of the width that is considered."""
    return [
        math.log(predict(source(case), schedule)[0] / microseconds(contender, "burst"))
        for case in cases
        if not case["flush"]
        for schedule, contender in written(case)
        if is_swapped(schedule) and columns(schedule) == COLUMNS
    ]


def written(case: dict) -> Iterator[tuple[str, dict]]:
    """Give the schedules that were written in a case, and what they took."""
    for contender in case["contenders"]:
        if schedule := contender.get("options", {}).get("schedule"):
            yield schedule, contender


def best(case: dict, *, swapped: bool) -> str:
    """Return the fastest schedule of a kind, and its time."""
    times = {key: each["graph"] for key, each in case["schedules"].items() if is_swapped(key) == swapped}
    schedule = min(times, key=times.get)
    family = "mma_sync " if schedule.startswith("mma_sync") else ""
    tile = schedule.partition("tile = ")[2].partition(",")[0]
    return f"{family}{tile} {times[schedule]:.1f}"


def choose(layer: str) -> str:
    """Return what auto chooses: the library, or a schedule."""
    text, _ = ask(layer, "targets=sm_90a")
    return "library" if CHOSEN.search(text).group(1) == "library" else SCHEDULE.search(text).group(1)


def shorten(schedule: str) -> str:
    """Return a tile and what is special of it."""
    if schedule == "library":
        return schedule
    tile = schedule.partition("tile = ")[2].partition(",")[0]
    return tile + (", swapped" if is_swapped(schedule) else "") + (", stream-K" if "stream_k" in schedule else "")


def row(case: dict) -> str:
    """One row: what was measured in a graph, and what auto chooses."""
    return (
        f"{case['m']}×{case['n']}×{case['k']} | {product(case):.1f} | {case['library']['graph']:.1f} "
        f"| {best(case, swapped=False)} | {best(case, swapped=True)}"
    )


def find(case: dict, schedule: str) -> dict | None:
    """Return what was measured of auto's choice; a raster makes no difference to one row of tiles."""
    if schedule == "library":
        return next(one for one in case["contenders"] if one["name"] == "library")
    ours = RASTER.sub("", schedule)
    return next((one for other, one in written(case) if RASTER.sub("", other) == ours), None)


def beside(case: dict) -> str:
    """One row: the library, and what auto chooses now."""
    chosen = choose(source(case))
    library, ours = find(case, "library"), find(case, chosen)
    cells = [f"{case['m']}×{case['n']}×{case['k']} {case['dtype']}{', cold L2' if case['flush'] else ''}"]
    for one in (library, ours):
        cells.append(" / ".join(f"{microseconds(one, way):.1f}" for way in WAYS) if one else "not measured")
    ratio = max(microseconds(ours, way) / microseconds(library, way) for way in WAYS) if ours else None
    return " | ".join([*cells[:2], shorten(chosen), cells[2], f"{ratio:.2f}" if ratio else "–"])


def report(folder: Path) -> list[str]:
    """Return the tables."""
    graphs, cases = (study.read_cases(folder / f"{stem}.json") for stem in ("sm90a_swapped", "sm90a_few_rows_auto"))
    found = errors(cases)
    return [
        *markdown(
            "M×N×K bf16 | product, µs | library | fastest of those not swapped | fastest swapped", map(row, graphs)
        ),
        "",
        *markdown(
            "M×N×K | library, µs, bursts / alone | auto chooses | µs | ratio, the worse of both", map(beside, cases)
        ),
        "",
        f"Of {len(found)} swapped schedules of {COLUMNS} columns predicted bursts err by {spread(found)}, rms.",
    ]


if __name__ == "__main__":
    study.show(__doc__, report, BEGIN, END)
