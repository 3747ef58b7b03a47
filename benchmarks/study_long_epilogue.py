#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the long epilogue costs over a bias alone, on an NVIDIA GPU: both tiled layers in turn in one process.

tenon-bench times one model after the other. Under load the card's clock changes from one to the next, which is as
much as what is asked for.

Usage: study_long_epilogue.py RESULT.json    (docs/Performance.md has benchmarks/results/sm90a_long.json)
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import sys
from collections.abc import Callable, Collection
from pathlib import Path

import tenon
import torch
from tenon.bench.calls import Call, precision
from tenon.bench.compilation import Compiled
from tenon.bench.config import Case, read_cases
from tenon.bench.contender import of_peer, of_strategy
from tenon.bench.measure import BASE, Trial
from tenon.bench.timing import LOAD, METHODS, Gpu, summary, time_in_turn

CONFIG = Path(__file__).parent / "configs/sm90a.json"
SHORT, LONG = "bias", "bias_gelu_residual_clamp"
ROUNDS = 60


def group_cases(epilogues: Collection[str]) -> list[list[Case]]:
    """Return the cases of sm90a.json that have these epilogues, those of one problem together."""
    groups: dict[tuple, list[Case]] = {}
    for case in read_cases(json.loads(CONFIG.read_text())):
        p = case.problem
        if p.epilogue.name in epilogues:
            groups.setdefault((p.m, p.n, p.k, p.dtype), []).append(case)
    return list(groups.values())


def make_calls(cases: list[Case]) -> dict[str, Call]:
    """Return the calls of cuBLAS's product and of the tiled layers, by the models' names; results were checked."""
    tiled, calls = of_strategy("tiled"), {}
    for case in cases:
        compiled = {tiled: Compiled(tenon.compile(case.problem.mlir(), "sm_90a", strategy="tiled"), 0.0)}
        trial = Trial(dataclasses.replace(case, contenders=[of_peer(BASE), tiled]), compiled, "cuda")
        trial.check()
        if trial.failed or not trial.within(tiled.name):
            sys.exit(f"{case.name}: {trial.failed or 'the result is wrong'}")
        calls |= {BASE: trial.calls[BASE], case.problem.epilogue.name: trial.calls[tiled.name]}
    return calls


def attempt(_name: str, action: Callable[[], None]) -> bool:
    """Do it; what it raises ends the study."""
    action()
    return True


def measure(cases: list[Case]) -> dict:
    """Return the times of one problem's two layers, and of cuBLAS's product."""
    p = cases[0].problem
    with torch.no_grad(), precision(p):
        samples = time_in_turn(make_calls(cases), Gpu(flush=False), ROUNDS, attempt)
    times = {name: {method: summary(taken[method]) for method in METHODS} for name, taken in samples.items()}
    return {"case": f"{p.dtype} {p.m}x{p.n}x{p.k}", "times": times}


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path)
    options = parser.parse_args()
    report = {
        "device": torch.cuda.get_device_name(),
        "date": datetime.date.today().isoformat(),
        **LOAD,
        "what": f"A long epilogue in turn with a bias alone, in one process; {ROUNDS} rounds.",
        "rows": [measure(cases) for cases in group_cases((SHORT, LONG))],
    }
    options.result.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
