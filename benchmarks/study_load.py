#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""How a card's speed swings when load begins, on an NVIDIA GPU: burst by burst, cuBLAS and tiled layers in turn.

A card at its power limit changes its clock until it has found one, and goes too far at first. tenon-bench's
`sustained` begins after that, and is a mean; before 2026-11-27 it was ten calls after 0.1 s, amid the swings.

Usage: study_load.py RESULT.json    (docs/Rationale.md has benchmarks/results/sm90a_load.json, by --report)
"""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable, Iterator
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
SAMPLE = slice(4, 10)  # the windows that `sustained` is
SETTLED = slice(3, ROUNDS)  # rounds
TURNS = 10  # the first, of which to tell
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


def sample(taken: dict) -> float:
    """Return what `sustained` is of a round."""
    return fmean(taken["windows_ms"][SAMPLE])


def turns(names: list[str]) -> list[tuple[int, str]]:
    """Return the first turns: the round, and whose it is."""
    order = random.Random(0)
    return [(number, name) for number in range(ROUNDS) for name in order.sample(names, len(names))][:TURNS]


def swings(cases: list[dict]) -> list[str]:
    """Return the table of the first turns, over what each contender settles to."""
    rows = []
    for number, (taken, name) in enumerate(turns(list(cases[0]["rounds"]))):
        windows = []
        for case in cases:
            rounds = case["rounds"][name]
            settled = median(map(sample, rounds[SETTLED]))
            windows.append([ms / settled for ms in rounds[taken]["windows_ms"]])
        least, most = min(map(min, windows)), max(map(max, windows))
        rows.append(f"{number * SECONDS:.1f} s | {name} | {fmean(map(fmean, windows)):.3f} | {least:.2f} to {most:.2f}")
    return markdown(f"turn begins at | contender | mean of {len(cases)} layers | windows of {WINDOW_MS} ms", rows)


def costs(case: dict, find: Callable[[dict], float]) -> str:
    """Return the long epilogue's cost over a bias, x2 LeakyReLU's time over cuBLAS's, and how far samples spread."""
    found = {name: list(map(find, rounds[SETTLED])) for name, rounds in case["rounds"].items()}
    ms = {name: median(times) for name, times in found.items()}
    bias, scaled, long = (ms[name] for name in EPILOGUES)
    deviation = fmean(pstdev(times) / ms[name] for name, times in found.items())
    return f"{long / bias - 1:+.1%} | {scaled / ms['cublas']:.3f} | {deviation:.2%}"


def report(cases: list[dict]) -> list[str]:
    """Return the tables: how times swing in the first seconds, and what both ways of timing say after those."""
    rows = [
        f"{case['case']} | {costs(case, lambda taken: taken['early_ms'])} | {costs(case, sample)}" for case in cases
    ]
    columns = "long over bias | ×2 LeakyReLU over cuBLAS | deviation"
    return [
        f"{cases[0]['device']}. The first turns, over what a contender settles to:",
        "",
        *swings(cases),
        "",
        f"Medians of rounds {SETTLED.start + 1} to {ROUNDS}: of ten calls after 100 ms, and of means of 200 to 500 ms:",
        "",
        *markdown(f"layer | {columns} | mean: {columns}", rows),
    ]


if __name__ == "__main__":
    study.run(__doc__, measure_all, report, BEGIN, END)
