# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tunes one case: checks and times all candidates quickly, then the best few as a case is measured.

Bursts alone do not tell candidates apart whose limit is power, so those near the fastest are timed under load too.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

import torch

from tenon.bench.calls import precision
from tenon.bench.choice import choose, finalists, near
from tenon.bench.compilation import Compiled
from tenon.bench.config import Case
from tenon.bench.contender import Contender, is_candidate
from tenon.bench.measure import BASE, Trial, checked, describe, header, timed
from tenon.bench.timing import METHODS, Bench, summary, time_in_turn

QUICK_ROUNDS = 3
HANG_S = 60.0  # in which a candidate has surely run
HUNG = 3  # exit code


class Watched(Trial):
    """A trial that ends the process when a kernel does not end: nothing else ends such a kernel."""

    def attempt(self, name: str, action: Callable[[], None]) -> bool:
        """Do something with a contender, but not for ever."""
        timer = threading.Timer(HANG_S, give_up, (self.case.name, name))
        timer.daemon = True
        timer.start()
        try:
            return super().attempt(name, action)
        finally:
            timer.cancel()

    def drop_wrong(self) -> None:
        """Leave out those of Tenon's contenders whose results are not right: their times mean nothing."""
        for contender in self.case.contenders:
            name = contender.name
            if contender.tenon and name in self.calls and not (self.within(name) and self.same_bits[name]):
                del self.calls[name]

    def take_times(self, names: list[str], bench: Bench, rounds: int, methods: tuple[str, ...]) -> dict[str, Any]:
        """Return summaries of the samples of those that did not fail."""
        steps = {name: self.calls[name] for name in names if name in self.calls}
        samples = time_in_turn(steps, bench, rounds, self.attempt, methods)
        return {name: {method: summary(taken[method]) for method in methods} for name, taken in samples.items()}


def give_up(case: str, name: str) -> None:
    """End the process."""
    print(
        f"tenon-bench: error: {case}: {name} still ran after {HANG_S:.0f} s; the report has the cases before. "
        "Find out why it hangs, or go on with --filter",
        file=sys.stderr,
        flush=True,
    )
    os._exit(HUNG)


def tune_case(
    case: Case,
    compiled: Mapping[Contender, Compiled],
    device: str,
    copy_bytes_per_s: float | None,
    make_bench: Callable[[bool], Bench],
) -> dict[str, Any]:
    """Return a case's result: as run_case does, with `quick_ms` of all, `times` of the best few, and `chosen`."""
    with torch.no_grad(), precision(case.problem):
        trial = Watched(case, compiled, device)
        trial.check()
        trial.drop_wrong()
        bench = make_bench(case.flush)
        quick = take_quick_times(trial, bench)
        peers = [c.name for c in case.contenders if not is_candidate(c)]
        best = finalists({name: ratio for name, ratio in worst_ratios(quick).items() if name not in peers})
        times = trial.take_times([*peers, *best], bench, case.repeat, METHODS)
    contenders = []
    for contender in case.contenders:
        name = contender.name
        entry = describe(contender, compiled.get(contender)) | checked(trial, contender)
        if name in quick:
            entry["quick_ms"] = quick[name]
        if name in times:
            entry |= timed(case.problem, times[name], times.get(BASE), copy_bytes_per_s)
        contenders.append(entry)
    return header(case) | {"contenders": contenders, "chosen": mark_chosen(contenders, best)}


def take_quick_times(trial: Watched, bench: Bench) -> dict[str, dict[str, float]]:
    """Return medians in milliseconds: of bursts of all, and under load of cuBLAS and of what is near the least."""
    quick: dict[str, dict[str, float]] = {}
    names = list(trial.calls)
    for method in ("burst", "sustained"):
        for name, times in trial.take_times(names, bench, QUICK_ROUNDS, (method,)).items():
            quick.setdefault(name, {})[method] = times[method]["median_ms"]
        ours = {c.name for c in trial.case.contenders if is_candidate(c)}
        names = [BASE, *near({name: times["burst"] for name, times in quick.items() if name in ours})]
    return quick


def worst_ratios(quick: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return the worse ratio to cuBLAS of those that were timed both ways; nothing where cuBLAS was not."""
    base = quick.get(BASE, {})
    return {
        name: max(times[method] / base[method] for method in base)
        for name, times in quick.items()
        if len(base) == len(times) == 2
    }


def mark_chosen(contenders: list[dict[str, Any]], best: list[str]) -> str | None:
    """Mark the contender that is chosen, and return its name."""
    ratios = {c["name"]: c["worst_time_over_cublas"] for c in contenders if "worst_time_over_cublas" in c}
    name = choose({finalist: ratios[finalist] for finalist in best if finalist in ratios})
    for contender in contenders:
        if contender["name"] == name:
            contender["chosen"] = True
    return name
