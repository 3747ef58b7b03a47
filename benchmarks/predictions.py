#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How well the compiler predicts schedules' times: for whoever changes a heuristic. Needs no GPU, and takes minutes.

Each result file has schedules that were timed on an H200, which the constants of the predictions were fitted to.
tenon-opt says what it predicts of each. Of a layer's schedules the one with the least prediction is compared with the
fastest.

Usage: PYTHONPATH=build/python predictions.py [RESULT.json...], by default all that have schedules
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from measured import contenders, geometric_mean, milliseconds, read
from tables import markdown
from tenon.bench.epilogue import NAMED, read_epilogue
from tenon.bench.source import Problem

TENON_OPT = Path(__file__).resolve().parent.parent / "build/bin/tenon-opt"
FILES = (
    "sm90a_schedules",
    "sm90a_swapped",
    "sm90a_swapped_large",
    "sm90a_few_rows",
    "sm90a_few_rows_auto",
    "sm80_few_rows",
    "sm80_tiles",
)
NEAR = 1.25  # of the fastest's time; slower schedules are no matter
PREDICTED = re.compile(r'"seconds":([\d.e-]+)')


def schedules(case: dict) -> dict[str, float]:
    """Return microseconds of ten calls back to back by schedule."""
    if "schedules" in case:
        return {text: times.get("burst", times.get("graph")) for text, times in case["schedules"].items()}
    return {
        one["options"]["schedule"]: milliseconds(one) * 1e3
        for one in contenders(case).values()
        if one["tenon"] and "schedule" in one["options"] and one.get("strategy") == "tiled" and "times" in one
    }


def layer(report: dict, case: dict) -> str:
    """Return the MLIR of a case."""
    model = case.get("model") or report["model"]
    output = case.get("output") or ("f32" if case["dtype"] == "tf32" else case["dtype"])
    return Problem(read_epilogue(model, NAMED[model]), case["m"], case["n"], case["k"], case["dtype"], output).mlir()


def predict(source: str, schedule: str) -> float | None:
    """Return the microseconds that are predicted of a schedule, None where it is refused now."""
    options = f"targets=sm_90a strategy=tiled schedule='{schedule}'"
    command = [TENON_OPT, "-", "--tenon-simplify", "--tenon-fuse-epilogue", f"--tenon-select-strategy={options}"]
    done = subprocess.run(
        [*command, "--remarks-filter=tenon-select-strategy"], input=source, capture_output=True, text=True, check=False
    )
    found = PREDICTED.search(done.stderr)
    return float(found.group(1)) * 1e6 if found else None


def compare(report: dict, pool: ThreadPoolExecutor) -> Iterator[tuple[list[float], float]]:
    """Give for each case the logarithms of predicted over measured times, and what the choice by prediction loses."""
    for case in report["cases"]:
        source, measured = layer(report, case), schedules(case)
        predicted = list(pool.map(lambda text, source=source: predict(source, text), measured))
        pairs = [(p, t) for p, t in zip(predicted, measured.values(), strict=True) if p and t]
        if pairs:
            fastest = min(t for _, t in pairs)
            yield [math.log(p / t) for p, t in pairs if t < NEAR * fastest], min(pairs)[1] / fastest


def main(names: list[str]) -> None:
    """Print a row a file."""
    rows = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name in names:
            found = list(compare(read(name), pool))
            errors = [error for one, _ in found for error in one]
            lost = [factor for _, factor in found]
            rms = math.expm1(math.sqrt(sum(error * error for error in errors) / len(errors)))
            rows.append(
                f"{name} | {len(found)} | {len(errors)} | {rms:.0%} | {geometric_mean(lost):.3f} | {max(lost):.2f}"
            )
    header = f"file | layers | schedules within {NEAR - 1:.0%} of the fastest | error of the prediction, rms"
    print("\n".join(markdown(f"{header} | time of the one predicted fastest over the fastest's, mean | largest", rows)))


if __name__ == "__main__":
    main([Path(name).stem for name in sys.argv[1:]] or list(FILES))
