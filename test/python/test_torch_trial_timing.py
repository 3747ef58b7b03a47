# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How often trials of a compilation time their calls, with bursts that are made up."""

import itertools
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

from tenon.torch.choice import timing  # noqa: E402


def bursts(monkeypatch: pytest.MonkeyPatch, times: Iterator[float]) -> list[float]:
    """Have the bursts take these times; the list returned has one entry a burst, later."""
    taken: list[float] = []

    def burst(call: object) -> float:
        taken.append(next(times))
        return taken[-1]

    monkeypatch.setattr(timing, "_time_burst", burst)
    return taken


def test_quiet_gpu_takes_the_fewest_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = bursts(monkeypatch, itertools.cycle([2.0, 3.0]))
    assert timing.time_in_turn([lambda: None] * 2) == [2.0, 3.0]
    assert len(taken) == 10


def test_disturbed_bursts_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = bursts(monkeypatch, itertools.chain([9.0, 8.0, 7.0, 6.0, 5.0, 1.0, 4.0], itertools.repeat(1.0)))
    assert timing.time_in_turn([lambda: None]) == [1.0]
    assert len(taken) == 8


def test_rounds_end(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = bursts(monkeypatch, (2.0**-i for i in itertools.count()))
    assert timing.time_in_turn([lambda: None]) == [2.0**-24]
    assert len(taken) == 25
