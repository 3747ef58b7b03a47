#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""How well times of wgmma kernels are predicted, and schedules chosen: needs no GPU, and takes some minutes.

The measurements are many schedules of many layers, each timed in bursts and alone. tenon-opt says what it predicts of
each. Of a layer's measured schedules the one that WgmmaCandidates.cpp would choose is compared with the fastest.
docs/Rationale.md has the table that --report writes there.

Usage: study_schedules.py benchmarks/results/sm90a_schedules.json [--report docs/Rationale.md]
"""

from __future__ import annotations

import math
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import study
from report_sweep import geometric_mean
from tables import markdown
from tenon.bench.epilogue import NAMED, read_epilogue
from tenon.bench.source import Problem

TENON_OPT = Path(__file__).resolve().parent.parent / "build/bin/tenon-opt"
MODEL = "bias_mul2_leaky_relu"
NEAR = 1.25
LEAST_ROWS = 64  # of M: with fewer TMA copied rows that were not there when this was measured
BEGIN, END = "<!-- study_schedules: begin -->", "<!-- study_schedules: end -->"
PREDICTED = re.compile(r"([\d.]+) us tiled, ([\d.]+) us by the library")


def ask(source: str, options: str) -> tuple[str, str]:
    """Return what select-strategy makes of a layer, and its remarks."""
    command = [TENON_OPT, "-", "--tenon-simplify", "--tenon-fuse-epilogue", f"--tenon-select-strategy={options}"]
    command += ["--remarks-filter=tenon-select-strategy"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def predict(source: str, schedule: str) -> tuple[float, float]:
    """Return the microseconds that are predicted of a schedule and of the library."""
    _, remarks = ask(source, f"targets=sm_90a strategy=tiled schedule='{schedule}'")
    tiled, library = PREDICTED.search(remarks).groups()
    return float(tiled), float(library)


def compare(case: dict, pool: ThreadPoolExecutor) -> dict:
    """Return what is predicted of a case, beside what was measured."""
    output = "f32" if case["dtype"] == "tf32" else case["dtype"]
    epilogue = read_epilogue(MODEL, NAMED[MODEL])
    source = Problem(epilogue, case["m"], case["n"], case["k"], case["dtype"], output).mlir()
    measured = case["schedules"]
    found = pool.map(lambda schedule: predict(source, schedule), measured)
    tiled, library = zip(*found, strict=True)
    times = [each["burst"] for each in measured.values()]
    chosen = min(range(len(times)), key=lambda i: tiled[i])
    ours = {"burst": times[chosen], "single": list(measured.values())[chosen]["single"]}
    return {
        "errors": [math.log(a / b) for a, b in zip(tiled, times, strict=True) if b < NEAR * min(times)],
        "library": math.log(library[0] / case["library"]["burst"]) if "library" in case else None,
        "lost": times[chosen] / min(times),
        "over_cublas": max(ours[way] / case["cublas"][way] for way in ours),
        "name": f"{case['dtype']} {case['m']}×{case['n']}×{case['k']}",
    }


def spread(errors: list[float]) -> str:
    """Return the root of the mean square, of logarithms, as a percentage."""
    return f"{math.expm1(math.sqrt(sum(e * e for e in errors) / len(errors))):.0%}"


def report(measured: Path) -> list[str]:
    """Return the table."""
    cases = [case for case in study.read_cases(measured) if case["m"] >= LEAST_ROWS]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = [compare(case, pool) for case in cases]
    worst = max(results, key=lambda result: result["lost"])
    near = [error for result in results for error in result["errors"]]
    library = [result["library"] for result in results if result["library"] is not None]
    rows = [
        f"layers, and schedules within {NEAR - 1:.0%} of a layer's fastest | {len(results)}, {len(near)}",
        f"error of the time predicted of such a schedule, rms | {spread(near)}",
        f"error of the library's, of {len(library)} layers, rms | {spread(library)}",
        "time of the measured schedule with the least prediction over the fastest's, geometric mean "
        f"| {geometric_mean(result['lost'] for result in results):.3f}",
        f"the largest | {worst['lost']:.2f} ({worst['name']})",
        "its time over cuBLAS's bare product, the worse of bursts and single calls, geometric mean "
        f"| {geometric_mean(result['over_cublas'] for result in results):.3f}",
    ]
    return markdown("schedules measured on an H200 | ", rows)


if __name__ == "__main__":
    study.show(__doc__, report, BEGIN, END)
