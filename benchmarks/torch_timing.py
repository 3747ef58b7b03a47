# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times contenders in turn, on a GPU by events and on the CPU by the clock."""

from __future__ import annotations

import math
import signal
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from tenon.bench.timing import Step, elapsed

BURST = 10  # calls back to back, at least
# A burst takes this long at least, or most of it would be the host's waking up.
BURST_S = 0.006
FEWEST_ROUNDS, MOST_ROUNDS = 9, 30
# Contenders this near to each other get CLOSE_ROUNDS times as many rounds.
CLOSE, CLOSE_ROUNDS = 0.06, 3
SETTLE_S = 0.002


def synchronize(device: str) -> None:
    """Wait until the device has done all work."""
    if device == "cuda":
        torch.cuda.synchronize()


def burst(step: Step, device: str, calls: int = BURST) -> float:
    """Return milliseconds a call of `calls` calls back to back from idle."""
    synchronize(device)
    time.sleep(SETTLE_S)
    if device != "cuda":
        begin = time.perf_counter()
        for _ in range(calls):
            step()
        return (time.perf_counter() - begin) * 1e3 / calls
    return elapsed(step, calls)


def time_in_turn(steps: dict[str, Step], device: str, limit_s: float) -> dict[str, list[float]]:
    """Return each contender's bursts in milliseconds a call, one a round, taken in turn; all of as many calls.

    The first of `steps` is the one that others are compared with. The number of rounds
    depends on what they take, and on how close the others are to the first.
    """
    for step in steps.values():
        for _ in range(3):
            step()
    samples: dict[str, list[float]] = {name: [] for name in steps}

    fastest = min(burst(step, device) for step in steps.values())
    calls = max(BURST, math.ceil(BURST_S * 1e3 / fastest))

    def play(rounds: int) -> None:
        for _ in range(rounds):
            for name, step in steps.items():
                samples[name].append(burst(step, device, calls))

    begin = time.perf_counter()
    play(1)
    fit = int(limit_s / (time.perf_counter() - begin))
    rounds = min(max(fit, FEWEST_ROUNDS), MOST_ROUNDS)
    play(rounds - 1)
    if is_close(samples):
        play((CLOSE_ROUNDS - 1) * rounds)
    return samples


def is_close(samples: dict[str, list[float]]) -> bool:
    """Tell whether a contender's median is near the first one's."""
    first, *others = (statistics.median(times) for times in samples.values())
    return any(abs(other / first - 1) < CLOSE for other in others)


def summary(samples: list[float]) -> dict[str, float]:
    """Return what of the samples is kept."""
    return {"median": statistics.median(samples), "min": min(samples), "rounds": len(samples)}


def host_us(steps: dict[str, Step], device: str, calls: int = 200, rounds: int = 25) -> dict[str, list[float]]:
    """Return each step's host time in microseconds a call, one figure a round, taken in turn.

    The device's work is not waited for. A host's speed drifts: compare within rounds.
    """
    samples: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds + 1):  # the first one warms up
        for name, step in steps.items():
            synchronize(device)
            begin = time.perf_counter()
            for _ in range(calls):
                step()
            taken = time.perf_counter() - begin
            if number:
                samples[name].append(taken * 1e6 / calls)
    synchronize(device)
    return samples


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the body when it takes longer; in the main thread alone."""

    def interrupt(*_: object) -> None:
        raise TimeoutError(f"took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
