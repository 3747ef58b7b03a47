# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times calls on a GPU by events, in turn, in three ways.

single: one call from idle; burst: ten back to back from idle; sustained: ten after a while of the
contender's own load. How one measures decides a few percent, so a contender is judged by the worst.
Every contender is replayed from CUDA graphs, and the GPU is held until the host has enqueued all:
no host time is in a figure.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import torch

Step = Callable[[], object]
BURST = 10
SETTLE_S = 0.003  # idle before a single call or a burst
LOAD_S = 0.1
HOLD_CYCLES = 400_000  # for which the GPU waits while the host enqueues
FLUSHED_BYTES = 1 << 28  # several times any L2 cache
METHODS = ("single", "burst", "sustained")


def elapsed(step: Step, calls: int) -> float:
    """Return milliseconds a call of `calls` calls on the GPU, between two events."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(calls):
        step()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / calls


def copy_rate() -> float:
    """Return the bytes read and written a second by a large device-to-device copy."""
    source = torch.rand(1 << 29, device="cuda")
    target = torch.empty_like(source)
    times = [elapsed(lambda: target.copy_(source), 1) for _ in range(12)]
    return 2 * source.numel() * 4 / (statistics.median(times) * 1e-3)


class Bench(Protocol):
    """What timing in turn needs of a device."""

    def capture(self, step: Step) -> None:
        """Make a contender ready."""

    def idle(self) -> None:
        """Wait until the device has nothing to do, and a little longer."""

    def load(self, step: Step) -> None:
        """Keep the device busy with a contender."""

    def time(self, step: Step, calls: int, hold: bool) -> float:
        """Return milliseconds a call; `hold`: from idle."""


class Gpu:
    """A GPU; `flush`: every timed call begins with a cold L2 cache."""

    def __init__(self, flush: bool) -> None:
        """Allocate what flushing writes."""
        self._flushed = torch.empty(FLUSHED_BYTES, dtype=torch.uint8, device="cuda") if flush else None
        self._graphs: dict[Step, dict[int, torch.cuda.CUDAGraph]] = {}

    def capture(self, step: Step) -> None:
        """Capture one call and a burst; the contender has run before."""
        graphs = {}
        for calls in (1, BURST):
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for _ in range(calls):
                    step()
            graph.replay()
            graphs[calls] = graph
        torch.cuda.synchronize()
        self._graphs[step] = graphs

    def idle(self) -> None:
        """Wait."""
        torch.cuda.synchronize()
        time.sleep(SETTLE_S)

    def load(self, step: Step) -> None:
        """Replay bursts; one is left to run when this returns."""
        graph = self._graphs[step][BURST]
        begin = time.perf_counter()
        while time.perf_counter() - begin < LOAD_S:
            graph.replay()
            torch.cuda.synchronize()
        graph.replay()

    def time(self, step: Step, calls: int, hold: bool) -> float:
        """Replay between events."""
        if hold:
            torch.cuda._sleep(HOLD_CYCLES)
        if self._flushed is None:
            return elapsed(self._graphs[step][calls].replay, 1) / calls
        pairs = []
        for _ in range(calls):
            self._flushed.zero_()
            pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            pair[0].record()
            self._graphs[step][1].replay()
            pair[1].record()
            pairs.append(pair)
        torch.cuda.synchronize()
        return sum(start.elapsed_time(end) for start, end in pairs) / calls


def time_in_turn(
    steps: dict[str, Step],
    bench: Bench,
    rounds: int,
    attempt: Callable[[str, Callable[[], None]], bool],
    methods: Sequence[str] = METHODS,
) -> dict[str, dict[str, list[float]]]:
    """Return each contender's samples of each method in milliseconds a call, one a round, taken in turn.

    `attempt` does what may fail and tells whether it did not; a contender that fails gets no more turns. The order
    differs from round to round, always the same way: what L2 keeps is what the contender before left there.
    """
    order = random.Random(0)
    samples: dict[str, dict[str, list[float]]] = {name: {method: [] for method in methods} for name in steps}
    left = {name: step for name, step in steps.items() if attempt(name, lambda step=step: bench.capture(step))}

    def play(turn: Callable[[Step, dict[str, list[float]]], None]) -> None:
        for name, step in order.sample(list(left.items()), len(left)):
            if not attempt(name, lambda name=name, step=step: turn(step, samples[name])):
                del left[name]

    def from_idle(step: Step, taken: dict[str, list[float]]) -> None:
        for method, calls in (("single", 1), ("burst", BURST)):
            if method in methods:
                bench.idle()
                taken[method].append(bench.time(step, calls, hold=True))

    def under_load(step: Step, taken: dict[str, list[float]]) -> None:
        bench.load(step)
        taken["sustained"].append(bench.time(step, BURST, hold=False))

    for _ in range(rounds):
        play(from_idle)
    for _ in range(sustained_rounds(rounds) if "sustained" in methods else 0):
        play(under_load)
    return {name: samples[name] for name in left}


def sustained_rounds(rounds: int) -> int:
    """Return how often each contender is timed under load: half as often, as it takes longest, but three if it can be.

    The card changes its clock in steps then, so a few samples tell less than those from idle.
    """
    return max(min(rounds, 3), rounds // 2)


def summary(samples: Iterable[float]) -> dict[str, float]:
    """Return what reports have of samples in milliseconds: the median, and how far they spread."""
    times = sorted(samples)
    return {"median_ms": statistics.median(times), "min_ms": times[0], "max_ms": times[-1], "count": len(times)}
