#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""How few rows are computed on sm_90a, and how well their times are predicted: needs no GPU.

What auto chose in the sweep of shapes stands beside what tenon-opt chooses now, with the times that were measured of
both; and all mma_sync schedules that were measured on an H200 stand beside what is predicted of them. docs/Rationale.md
has the tables that --report writes there.

Usage: study_few_rows.py benchmarks/results [--report docs/Rationale.md]
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import study
from study_schedules import ask, spread
from tables import markdown
from tenon.bench.epilogue import NAMED, read_epilogue
from tenon.bench.source import Problem

MOST_ROWS, MMA_ROWS = 64, 16
TIMED = ("sm90a_few_rows", "sm90a_few_rows_auto", "auto", "sm80", "sm80_tiles", "sm80_few_rows")
WAYS = ("burst", "single")
PREDICTED = re.compile(r"([\d.]+) us tiled, ([\d.]+) us by the library")
CHOSEN = re.compile(r"strategy = #tenon\.strategy<(\w+)>")
SCHEDULE = re.compile(r"schedule = #tenon\.schedule<([^>]*)>")
RASTER = re.compile(r"raster = \d+, ")  # makes no difference to one row of tiles
BEGIN, END = "<!-- study_few_rows: begin -->", "<!-- study_few_rows: end -->"


def source(case: dict) -> str:
    """Return the layer of a case."""
    epilogue = read_epilogue(case["model"], NAMED[case["model"]])
    return Problem(epilogue, case["m"], case["n"], case["k"], case["dtype"], case["output"]).mlir()


def name(case: dict) -> str:
    """Return the extents of a case, and its type."""
    return f"{case['m']}×{case['n']}×{case['k']} {case['dtype']}"


def microseconds(contender: dict, way: str) -> float:
    """Return the median."""
    return contender["times"][way]["median_ms"] * 1e3


def schedules(case: dict, family: str) -> Iterator[tuple[str, dict]]:
    """Give the schedules of a family that were written in a case, and what they took."""
    for contender in case["contenders"]:
        schedule = contender.get("options", {}).get("schedule", "") if contender["tenon"] else ""
        if schedule.startswith(family) and contender["strategy"] == "tiled":
            yield schedule, contender


def choose(case: dict) -> tuple[str, str]:
    """Return the strategy that tenon-opt chooses, and the schedule where it is tiled."""
    text, _ = ask(source(case), "targets=sm_90a")
    strategy = CHOSEN.search(text).group(1)
    return strategy, SCHEDULE.search(text).group(1) if strategy == "tiled" else ""


def measured(case: dict, strategy: str, schedule: str, timed: list[dict]) -> tuple[dict, dict] | None:
    """Return what auto's choice of the sweep took and what this choice did, in one run; none if it was not measured."""
    found = {contender["name"]: contender for contender in case["contenders"]}
    before = found["auto"]
    if strategy == "library":
        return before, found["library"] if before["strategy"] == "tiled" else before
    tile = schedule.partition("tile = ")[2].partition(",")[0]
    if before["strategy"] == "tiled" and f"tiles of {tile} " in before["remarks"][0]:
        return before, before
    for other in timed:
        if name(other) == name(case) and other["model"] == case["model"] and not other["flush"]:
            then = [
                one
                for one in other["contenders"]
                if one["name"] in ("auto", "library") and one["strategy"] == before["strategy"] == "library"
            ]
            for found_schedule, contender in schedules(other, schedule.partition(",")[0]):
                if RASTER.sub("", found_schedule) == RASTER.sub("", schedule) and then:
                    return then[0], contender
    return None


def row(case: dict, timed: list[dict]) -> str:
    """One row: what was chosen, what is, and the times of both."""
    strategy, schedule = choose(case)
    chosen = schedule.split(", swizzle")[0] or strategy
    before = next(one for one in case["contenders"] if one["name"] == "auto")["strategy"]
    pair = measured(case, strategy, schedule, timed)
    if not pair:
        return " | ".join([name(case), before, "–", chosen, "not measured", "–"])
    then, now = (f"{microseconds(one, 'burst'):.1f}" for one in pair)
    worst = max(microseconds(pair[1], way) / microseconds(pair[0], way) for way in WAYS)
    return " | ".join([name(case), before, then, chosen, now, f"{worst:.2f}"])


def read(folder: Path, stem: str) -> list[dict]:
    """Return the cases of a result of tenon-bench."""
    return json.loads((folder / f"{stem}.json").read_text())["cases"]


def errors(cases: list[dict], rows: range) -> list[float]:
    """Return the logarithms of predicted over measured bursts, of one block a multiprocessor."""
    found = []
    for case in cases:
        if case["m"] not in rows:
            continue
        for schedule, contender in schedules(case, "mma_sync"):
            if "blocks = 1" in schedule:
                _, remarks = ask(source(case), f"targets=sm_90a strategy=tiled schedule='{schedule}'")
                predicted = float(PREDICTED.search(remarks).group(1))
                found.append(math.log(predicted / microseconds(contender, "burst")))
    return found


def report(folder: Path) -> list[str]:
    """Return the tables."""
    timed = [case for stem in TIMED for case in read(folder, stem)]
    swept = [case for case in read(folder, "sm90a_sweep") if case["m"] <= MOST_ROWS]
    lines = markdown(
        "M×N×K | auto chose | µs | auto chooses | µs | ratio, the worse of bursts and single calls",
        [row(case, timed) for case in swept],
    )
    few, more = errors(timed, range(MMA_ROWS + 1)), errors(timed, range(MMA_ROWS + 1, 1 << 20))
    rows = [
        f"at most {MMA_ROWS} | {len(few)} | {spread(few)}",
        f"more | {len(more)} | {spread(more)}",
    ]
    return [*lines, "", *markdown("rows of x | mma_sync schedules measured | error of the prediction, rms", rows)]


if __name__ == "__main__":
    study.show(__doc__, report, BEGIN, END)
