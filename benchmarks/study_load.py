#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""How a card's speed swings when load begins, on an NVIDIA GPU: burst by burst, cuBLAS and tiled layers in turn.

A card at its power limit changes its clock until it has found one, and goes too far at first. tenon-bench's
`sustained` is the mean of a while after that; before 2026-11-27 it was ten calls after 0.1 s, amid the swings.

Usage: study_load.py RESULT.json    (docs/Rationale.md has benchmarks/results/sm90a_load.json, by --report)
"""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from statistics import fmean, median, pstdev

import study
from torch_tables import markdown

CONFIG = Path(__file__).parent / "configs/sm90a.json"
EPILOGUES = ("bias", "bias_mul2_leaky_relu", "bias_gelu_residual_clamp")
SHAPES = ((1024, 8192, 8192), (4096, 4096, 4096))
ROUNDS = 10
SECONDS = 0.52
WINDOW_MS = 50
WINDOWS = 10
SETTLED = slice(6, 10)  # the windows that `sustained` is
EARLY_MS = 100.0  # of load before the ten calls that `sustained` was
BEGIN, END = "<!-- study_load: begin -->", "<!-- study_load: end -->"


def between(bursts: list[float], begin: float, end: float) -> list[float]:
    """Return the bursts of ten calls that end in a window of milliseconds after load began."""
    return [ms for ms, at in zip(bursts, accumulate(10 * ms for ms in bursts), strict=True) if begin < at <= end]


def summarise(bursts: list[float]) -> dict:
    """Return a burst's milliseconds a call after some load, and the mean of each window."""
    windows = [fmean(between(bursts, WINDOW_MS * i, WINDOW_MS * (i + 1))) for i in range(WINDOWS)]
    return {"early_ms": round(between(bursts, EARLY_MS, 1e9)[0], 5), "windows_ms": [round(ms, 5) for ms in windows]}


def measure_all() -> Iterator[dict]:
    """Yield for each case its contenders' times under load, round by round."""
    import tenon
    import torch
    from tenon.bench.calls import precision
    from tenon.bench.compilation import Compiled
    from tenon.bench.config import read_cases
    from tenon.bench.contender import of_peer, of_strategy
    from tenon.bench.measure import BASE, Trial, release
    from tenon.bench.timing import Gpu

    tiled = of_strategy("tiled")
    groups: dict[tuple, list] = {}
    for case in read_cases(json.loads(CONFIG.read_text())):
        p = case.problem
        if p.epilogue.name in EPILOGUES and (p.m, p.n, p.k) in SHAPES:
            groups.setdefault((p.dtype, p.m, p.n, p.k), []).append(case)
    for (dtype, m, n, k), cases in groups.items():
        gpu, steps, order = Gpu(flush=False), {}, random.Random(0)
        with torch.no_grad(), precision(cases[0].problem):
            for case in cases:
                made = {tiled: Compiled(tenon.compile(case.problem.mlir(), "sm_90a", strategy="tiled"), 0.0)}
                trial = Trial(dataclasses.replace(case, contenders=[of_peer(BASE), tiled]), made, "cuda")
                steps.setdefault(BASE, trial.calls[BASE])
                steps[case.problem.epilogue.name] = trial.calls[tiled.name]
            for step in steps.values():
                step()
                gpu.capture(step)
            rounds: dict[str, list] = {name: [] for name in steps}
            for _ in range(ROUNDS):
                for name, step in order.sample(list(steps.items()), len(steps)):
                    rounds[name].append(summarise(gpu.time_bursts(step, SECONDS)))
        yield {"case": f"{dtype} {m}x{n}x{k}", "device": torch.cuda.get_device_name(), "rounds": rounds}
        del gpu, steps, trial, step
        release()


def settle(taken: dict) -> float:
    """Return what a round's time settles to."""
    return fmean(taken["windows_ms"][SETTLED])


def spread(times: list[float]) -> str:
    """Return a median, and the standard deviation in percent of it."""
    return f"{median(times) * 1e3:.1f} | {pstdev(times) / median(times) * 100:.1f} %"


def swings(times: Iterable[float], settled: float) -> str:
    """Return windows' times over what they settle to."""
    return " ".join(f"{ms / settled:.2f}" for ms in times)


def costs(case: dict, find: Callable[[dict], float]) -> str:
    """Return the long epilogue's cost over a bias, and x2 LeakyReLU's time over cuBLAS's; the first round left out."""
    ms = {name: median(map(find, rounds[1:])) for name, rounds in case["rounds"].items()}
    bias, scaled, long = (ms[name] for name in EPILOGUES)
    return f"{long / bias - 1:+.1%} | {scaled / ms['cublas']:.3f}"


def compare(cases: list[dict]) -> list[str]:
    """Return the table of what both ways of timing say."""
    rows = [
        f"{case['case']} | {costs(case, lambda taken: taken['early_ms'])} | {costs(case, settle)}" for case in cases
    ]
    old, new = "ten calls after 100 ms", "mean of 300 to 500 ms"
    return markdown(
        f"layer | long over bias, {old} | ×2 LeakyReLU over cuBLAS | long over bias, {new} | ×2 LeakyReLU over cuBLAS",
        rows,
    )


def report(cases: list[dict]) -> list[str]:
    """Return the table: how a kernel's time swings, and how far both ways of timing spread."""
    rows = []
    for case in cases:
        for name, rounds in case["rounds"].items():
            first, *rest = [taken["windows_ms"] for taken in rounds]
            early = [taken["early_ms"] for taken in rounds[1:]]
            settled = list(map(settle, rounds[1:]))
            usual = swings(map(median, zip(*rest, strict=True)), median(settled))
            rows.append(
                f"{case['case']} | {name} | {swings(first, median(settled))} | {usual} | {spread(early)} "
                f"| {spread(settled)}"
            )
    header = (
        "layer | contender | each 50 ms of the first round, over the last column | of the others, median "
        "| ten calls after 100 ms, µs | deviation | mean of 300 to 500 ms, µs | deviation"
    )
    return [f"{cases[0]['device']}; ten rounds, contenders in turn.", "", *markdown(header, rows), "", *compare(cases)]


if __name__ == "__main__":
    study.run(__doc__, measure_all, report, BEGIN, END)
