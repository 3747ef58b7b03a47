# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of the measured schedules goes on, and which is taken: of those that noise cannot tell apart, the first."""

from __future__ import annotations

from collections.abc import Mapping

TIE = 0.005  # the part of a finalist's time within which two are equal
QUICK_TIE = 0.01  # the same of times of few rounds
NEAR = 0.05  # the part within which another way of timing may have the order otherwise
FINALISTS = 6  # that are measured in all ways of timing


def near(times: Mapping[str, float]) -> list[str]:
    """Return the names whose times are near the least, in the order of `times`; at least so many as finalists."""
    least = min(times.values(), default=0.0)
    few = finalists(times)
    return [name for name, time in times.items() if name in few or time <= least * (1 + NEAR)]


def finalists(times: Mapping[str, float]) -> list[str]:
    """Return the names with the least times, in the order of `times`; in steps of noise, the earlier is the less."""
    least = min(times.values(), default=0.0)
    places = list(times)
    ranked = sorted(places, key=lambda name: int((times[name] / least - 1) / QUICK_TIE))  # stable
    return sorted(ranked[:FINALISTS], key=places.index)


def choose(times: Mapping[str, float]) -> str | None:
    """Return the first name whose time is within noise of the least; None of none."""
    least = min(times.values(), default=0.0)
    return next((name for name, time in times.items() if time <= least * (1 + TIE)), None)
