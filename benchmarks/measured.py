# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001, RUF002
"""What pages take from the reports of tenon-bench in benchmarks/results."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
TIMINGS = ("single", "burst", "sustained")


def read(name: str, folder: Path = RESULTS) -> dict:
    """Return a report."""
    return json.loads((folder / f"{name}.json").read_text())


def join(reports: Iterable[dict]) -> dict:
    """Return one report of some that were measured apart; a case that is in several is the latest one's."""
    ordered = sorted(reports, key=lambda report: report["environment"]["date"])
    cases = {case["name"]: case for report in ordered for case in report["cases"]}
    return ordered[-1] | {"cases": list(cases.values())}


def contenders(case: dict) -> dict[str, dict]:
    """Return a case's contenders by name."""
    return {contender["name"]: contender for contender in case["contenders"]}


def ours(case: dict) -> dict:
    """Return what Tenon chose itself, or, where that was not measured, its tiled kernel; empty if neither ran."""
    found = contenders(case)
    return next((found[name] for name in ("auto", "tiled") if "times" in found.get(name, {})), {})


def milliseconds(contender: dict, timing: str = "burst") -> float | None:
    """Return the median of a way of timing, None where the contender was not timed."""
    return contender["times"][timing]["median_ms"] if "times" in contender else None


def ratio(one: dict, other: dict, timing: str = "burst") -> float | None:
    """Return one contender's time over another's."""
    a, b = milliseconds(one, timing), milliseconds(other, timing)
    return a / b if a and b else None


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms))


def number(value: float | None, form: str = ".3f", unit: str = "") -> str:
    """Write a figure, or that there is none."""
    return "–" if value is None else format(value, form) + unit


def extents(case: dict) -> str:
    """Return M×N×K."""
    return f"{case['m']}×{case['n']}×{case['k']}"


def card(report: dict) -> str:
    """Return the GPU's short name."""
    return report["environment"]["device"].removeprefix("NVIDIA ").partition(" ")[0]


def date(report: dict) -> str:
    """Return the day of a measurement."""
    return report["environment"]["date"][:10]


def origin(name: str, report: dict) -> str:
    """Say where figures are from: file, card, PyTorch and day, unless each case has its own."""
    day = f", {date(report)}" if "date" in report["environment"] else ""
    return f"`{name}.json`: {card(report)}, PyTorch {report['environment']['torch']}{day}"


def wrong(reports: Iterable[dict], names: Collection[str]) -> list[str]:
    """Return a line for each result of the named contenders of Tenon's that is not right, or is not there."""
    lines = []
    for report in reports:
        for case in report["cases"]:
            for name, one in contenders(case).items():
                if name not in names:
                    continue
                if "failed" in one:
                    lines.append(f"- {case['name']}, {name}: {one['failed'].splitlines()[0]}")
                elif not (one["within_tolerance"] and one["same_bits"]):
                    how = "other bits each time" if one["within_tolerance"] else "wrong"
                    lines.append(f"- {case['name']}, {name}: {how}")
    return lines
