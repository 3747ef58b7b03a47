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

import random
from collections.abc import Callable, Iterator
from itertools import accumulate
from statistics import fmean, median, pstdev

import study
from tables import markdown

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


def turns(names: list[str]) -> list[tuple[int, str]]:
    """Return the turns of a case in their order: the round, and whose it is."""
    order = random.Random(0)
    return [(number, name) for number in range(ROUNDS) for name in order.sample(names, len(names))]


def measure_all() -> Iterator[dict]:
    """Yield for each case its contenders' times under load, round by round."""
    import torch
    from study_long_epilogue import group_cases, make_calls
    from tenon.bench.calls import precision
    from tenon.bench.measure import release
    from tenon.bench.timing import Gpu

    for cases in group_cases(EPILOGUES):
        p = cases[0].problem
        if (p.m, p.n, p.k) not in SHAPES:
            continue
        gpu = Gpu(flush=False)
        with torch.no_grad(), precision(p):
            calls = make_calls(cases)
            for call in calls.values():
                gpu.capture(call)
            rounds: dict[str, list] = {name: [] for name in calls}
            for _, name in turns(list(calls)):
                rounds[name].append(summarise(gpu.time_bursts(calls[name], SECONDS)))
        yield {"case": f"{p.dtype} {p.m}x{p.n}x{p.k}", "device": torch.cuda.get_device_name(), "rounds": rounds}
        del gpu, calls, call
        release()


def sample(taken: dict) -> float:
    """Return what `sustained` is of a round."""
    return fmean(taken["windows_ms"][SAMPLE])


def swings(cases: list[dict]) -> list[str]:
    """Return the table of the first turns, over what each contender settles to."""
    rows = []
    for number, (taken, name) in enumerate(turns(list(cases[0]["rounds"]))[:TURNS]):
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
