# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times calls on a GPU while a model is compiled."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import torch
from torch._dispatch.python import no_python_dispatcher

_CALLS, _LEAST_ROUNDS, _MOST_ROUNDS = 10, 5, 25
_AGREEMENT = 1.01
_LEAD_CYCLES = 1_000_000  # half a millisecond, in which the host gets ahead of the GPU


@contextlib.contextmanager
def undisturbed(device: torch.device) -> Iterator[None]:
    """Compute with real tensors on a device, whatever modes a compilation has on."""
    with (
        torch.cuda.device(device),
        torch.no_grad(),
        torch._C._DisableAutocast(),
        torch._C._DisableTorchDispatch(),
        no_python_dispatcher(),
    ):
        yield


def time_in_turn(calls: Sequence[Callable[[], None]]) -> list[float]:
    """Return the milliseconds of each call on the current device.

    Bursts of calls back to back, all in turn; the least of the rounds, since what else uses the GPU or its host
    meanwhile only adds to a time. There are more rounds until the two least of each call agree.
    """
    for call in calls:
        call()
    samples: list[list[float]] = [[] for _ in calls]
    while len(samples[0]) < _MOST_ROUNDS:
        for call, times in zip(calls, samples, strict=True):
            times.append(_time_burst(call))
        if len(samples[0]) >= _LEAST_ROUNDS and all(_agree(times) for times in samples):
            break
    return [min(times) for times in samples]


def _agree(times: Sequence[float]) -> bool:
    least, second, *_ = sorted(times)
    return second <= least * _AGREEMENT


def _time_burst(call: Callable[[], None]) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(_LEAD_CYCLES)
    start.record()
    for _ in range(_CALLS):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / _CALLS
