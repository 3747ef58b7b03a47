#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tenon.compile takes for each model of configs/sm90a.json, one at a time and without a cache.

tenon-bench compiles as many models at a time as there are processors, so its seconds are of a busy machine. Needs no
GPU, but ptxas.

Usage: study_compile_alone.py RESULT.json (measures)
       study_compile_alone.py RESULT.json --report docs/Rationale.md
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import study
import tenon
from tables import markdown
from tenon.bench.config import Case, read_cases

BEGIN, END = (f"<!-- study_compile_alone: {word} -->" for word in ("begin", "end"))
CONFIG = Path(__file__).parent / "configs/sm90a.json"
ROUNDS = 3
ASKED = 1.5  # seconds


def measure(case: Case) -> list[float]:
    """Return the seconds of each round."""
    seconds = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TENON_CACHE_DIR"] = folder
            begin = time.perf_counter()
            tenon.compile(case.problem.mlir(), "sm_90a", strategy="tiled")
            seconds.append(time.perf_counter() - begin)
    return seconds


def measure_all() -> Iterator[dict]:
    """Give each model with its seconds."""
    cases = list(read_cases(json.loads(CONFIG.read_text())))
    measure(cases[0])  # what is read from disk then is in memory
    for case in cases:
        p = case.problem
        facts = {"model": p.epilogue.name, "dtype": p.dtype, "m": p.m, "n": p.n, "k": p.k}
        yield facts | {"seconds": measure(case)}


def report(cases: list[dict]) -> list[str]:
    """Return the table: one row an epilogue and type."""
    found: dict[tuple[str, str], list[float]] = {}
    for case in cases:
        found.setdefault((case["model"], case["dtype"]), []).append(statistics.median(case["seconds"]))
    rows = [
        f"{model} | {dtype} | {len(medians)} | {min(medians):.2f} | {max(medians):.2f} | "
        f"{sum(median <= ASKED for median in medians)}"
        for (model, dtype), medians in found.items()
    ]
    return markdown(f"epilogue | precision | shapes | least, s | most, s | at most {ASKED} s", rows)


if __name__ == "__main__":
    study.run(__doc__, measure_all, report, BEGIN, END)
