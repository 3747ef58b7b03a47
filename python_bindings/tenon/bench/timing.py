# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times calls on a GPU by events, or on the CPU by its clock, in turn, in three ways.

single: one call from idle; burst: ten back to back from idle; sustained: the mean of a while of the
contender's own load, when all have loaded the GPU for some seconds. How one measures decides a few
percent, so a contender is judged by the worst.
On a GPU every contender is replayed from CUDA graphs, and the GPU is held until the host has enqueued all:
no host time is in a figure.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import torch

Step = Callable[[], object]
Pair = tuple[torch.cuda.Event, torch.cuda.Event]
BURST = 10
SETTLE_S = 0.003  # idle before a single call or a burst
# From idle a card seeks for some seconds the clock that it can hold under load, and a while more when the load
# becomes another.
WARM_S = 4.0
SUSTAINED_S = 0.5
UNSETTLED_S = 0.2  # the part of that which is left out
LOAD = {"warm_s": WARM_S, "unsettled_s": UNSETTLED_S, "sustained_s": SUSTAINED_S}  # what reports say of it
AHEAD = 3  # bursts that are enqueued while one runs
HOLD_CYCLES = 400_000  # for which the GPU waits while the host enqueues
FLUSHED_BYTES = 1 << 28  # several times any L2 cache
METHODS = ("single", "burst", "sustained")


def new_pair() -> Pair:
    """Return two events to record before and after what is timed."""
    return torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)


def mean_ms(pairs: Sequence[Pair], calls: int) -> float:
    """Wait for what is between the events; return milliseconds of each of its `calls` calls."""
    pairs[-1][1].synchronize()
    return sum(start.elapsed_time(end) for start, end in pairs) / calls


def elapsed(step: Step, calls: int) -> float:
    """Return milliseconds a call of `calls` calls on the GPU, between two events."""
    pair = new_pair()
    pair[0].record()
    for _ in range(calls):
        step()
    pair[1].record()
    return mean_ms([pair], calls)


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

    def time(self, step: Step, calls: int) -> float:
        """Return milliseconds a call, from idle."""

    def time_bursts(self, step: Step, seconds: float) -> list[float]:
        """Keep the device busy with a contender for a while; return milliseconds a call of each burst."""


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

    def time(self, step: Step, calls: int) -> float:
        """Replay one call, or a burst, behind a pause in which the host enqueues all of it."""
        torch.cuda._sleep(HOLD_CYCLES)
        return mean_ms(self._enqueue(step, calls), calls)

    def time_bursts(self, step: Step, seconds: float) -> list[float]:
        """Replay bursts, a few ahead of the one that runs."""
        times: list[float] = []
        pending: deque[list[Pair]] = deque()
        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds:
            pending.append(self._enqueue(step, BURST))
            if len(pending) > AHEAD:
                times.append(mean_ms(pending.popleft(), BURST))
        return times + [mean_ms(pairs, BURST) for pairs in pending]

    def _enqueue(self, step: Step, calls: int) -> list[Pair]:
        """Replay calls between two events; each between its own, and from a cold L2 cache, if that is flushed."""
        replays = 1 if self._flushed is None else calls
        pairs = []
        for _ in range(replays):
            if self._flushed is not None:
                self._flushed.zero_()
            pair = new_pair()
            pair[0].record()
            self._graphs[step][calls // replays].replay()
            pair[1].record()
            pairs.append(pair)
        return pairs


class Cpu:
    """The host's processor, by its clock."""

    def __init__(self, flush: bool) -> None:
        """Refuse what is a GPU's."""
        if flush:
            raise ValueError("flush empties a GPU's L2 cache; leave it out on the CPU")

    def capture(self, step: Step) -> None:
        """Call once."""
        step()

    def idle(self) -> None:
        """Wait."""
        time.sleep(SETTLE_S)

    def time(self, step: Step, calls: int) -> float:
        """Call by the clock."""
        begin = time.perf_counter()
        for _ in range(calls):
            step()
        return (time.perf_counter() - begin) * 1e3 / calls

    def time_bursts(self, step: Step, seconds: float) -> list[float]:
        """Call bursts after each other."""
        times: list[float] = []
        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds:
            times.append(self.time(step, BURST))
        return times


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
                taken[method].append(bench.time(step, calls))

    def under_load(step: Step, taken: dict[str, list[float]]) -> None:
        bursts = bench.time_bursts(step, SUSTAINED_S)
        unsettled = min(math.ceil(len(bursts) * UNSETTLED_S / SUSTAINED_S), len(bursts) - 1)
        taken["sustained"].append(statistics.fmean(bursts[unsettled:]))

    for _ in range(rounds):
        play(from_idle)
    if "sustained" in methods:
        for _ in range(math.ceil(WARM_S / SUSTAINED_S / max(1, len(left)))):
            play(lambda step, _taken: bench.time_bursts(step, SUSTAINED_S))
        for _ in range(sustained_rounds(rounds)):
            play(under_load)
    return {name: samples[name] for name in left}


def sustained_rounds(rounds: int) -> int:
    """Return how often each contender is timed under load: less often, as it takes longest, but thrice if it can be.

    Each time is the mean of many bursts, and tells more than one from idle does.
    """
    return max(min(rounds, 3), rounds // 6)


def summary(samples: Iterable[float]) -> dict[str, float]:
    """Return what reports have of samples in milliseconds: the median, and how far they spread."""
    times = sorted(samples)
    return {"median_ms": statistics.median(times), "min_ms": times[0], "max_ms": times[-1], "count": len(times)}
