# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times contenders in turn, on a GPU by events and on the CPU by the clock."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from tenon.bench.timing import HOLD_CYCLES, Cpu, Step, elapsed

BURST = 10  # calls back to back, at least
SETTLE_S = 0.002


def synchronize(device: str) -> None:
    """Wait until the device has done all work."""
    if device == "cuda":
        torch.cuda.synchronize()


def burst(step: Step, device: str, calls: int = BURST, is_held: bool = False) -> float:
    """Return milliseconds a call of `calls` calls back to back from idle.

    `is_held`: a GPU begins when the host has enqueued the first calls, so that what a call takes on the host is in the
    time only where it is longer than on the GPU, as in a program that keeps the GPU busy.
    """
    synchronize(device)
    time.sleep(SETTLE_S)
    if device != "cuda":
        return Cpu(flush=False).time(step, calls)
    if is_held:
        torch.cuda._sleep(HOLD_CYCLES)
    return elapsed(step, calls)


def rotated(names: list[str], number: int) -> list[str]:
    """Return the names in the order of a round: each is first, second and last equally often."""
    at = number % len(names) if names else 0
    turned = names[at:] + names[:at]
    return turned if number // max(len(names), 1) % 2 == 0 else turned[::-1]


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
