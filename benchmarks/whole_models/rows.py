# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of the report: what is kept of samples, a line a row, and reading, merging and writing; free of PyTorch."""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from whole_models.jobs import SCENARIOS, Job

PAIRS = (("compile", "tenon"), ("eager", "tenon"), ("eager", "compile"))


def empty_row(job: Job) -> dict[str, Any]:
    """Return a row in which nothing is measured yet."""
    return {
        "model": job.model,
        "scenario": job.scenario,
        "mode": job.mode,
        "precision": SCENARIOS[job.scenario].precision,
        "tiny": job.tiny,
        "options": job.options,
        "calls": 0,
        "ms": {},
        "speed": {},
        "errors": {},
        "peak_mib": {},
        "first_call_s": {},
        "failed": dict(job.failed),
        "samples_ms": {},
    }


def key(row: dict) -> tuple[str, str, str]:
    """Return what a row is about; a report has one row of a kind."""
    return row["model"], row["scenario"], row["mode"]


def summarize(row: dict) -> None:
    """Set a row's medians, and how much faster one contender is than another."""
    samples = {name: s for name, s in row["samples_ms"].items() if name not in row["failed"]}
    row["ms"] = {name: statistics.median(taken) for name, taken in samples.items()}
    row["speed"] = {
        f"{slow}/{fast}": speed(samples[slow], samples[fast])
        for slow, fast in PAIRS
        if slow in samples and fast in samples
    }


def speed(slow: Sequence[float], fast: Sequence[float]) -> dict[str, float]:
    """Return the quotient of the medians, and the quartiles of the rounds' quotients, which tell the noise."""
    quotients = [a / b for a, b in zip(slow, fast, strict=False)]  # a round that is cut off has fewer
    low, _, high = statistics.quantiles(quotients, n=4) if len(quotients) > 1 else quotients * 3
    return {"median": statistics.median(slow) / statistics.median(fast), "low": low, "high": high}


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean; NaN of nothing."""
    logs = [math.log(v) for v in values]
    return math.exp(statistics.fmean(logs)) if logs else math.nan


def line(row: dict) -> str:
    """Return a row as one line of a table: times, speeds, errors, and who failed."""
    name = "-".join(part for part in key(row) if part != "default")
    times = " ".join(f"{who} {ms:.3f}" for who, ms in row["ms"].items())
    speeds = " ".join(
        f"{pair} {s['median']:.3f} ({s['low']:.3f}-{s['high']:.3f})" if pair == "compile/tenon" else ""
        for pair, s in row["speed"].items()
    ).strip()
    eager = row["speed"].get("eager/tenon")
    errors = " ".join(f"{who} {'/'.join(f'{e:.2e}' for e in found.values())}" for who, found in row["errors"].items())
    parts = [f"{name:26}", f"ms {times or '-'}", speeds or "-"]
    parts += [f"eager/tenon {eager['median']:.3f}"] if eager else []
    parts += [f"errors {errors or '-'}"]
    parts += [f"FAILED {who}: {why[:110]}" for who, why in row["failed"].items()]
    return " | ".join(" ".join(part.split("\n")) for part in parts)


def with_row(rows: Sequence[dict], row: dict) -> list[dict]:
    """Return the rows with one more, in place of what they have of its kind."""
    kept = [other for other in rows if key(other) != key(row)]
    return [*kept, row]


def read(path: Path) -> dict[str, Any]:
    """Return a report, an empty one where there is no file."""
    if not path.exists():
        return {"rows": [], "first_calls": [], "not_reached": []}
    return json.loads(path.read_text())


def write(path: Path, report: dict[str, Any]) -> None:
    """Write a report in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(finite(report), indent=1, allow_nan=False) + "\n")
    os.replace(part, path)  # noqa: PTH105


def finite(value: Any) -> Any:
    """Return a value of JSON with text in place of NaN and infinities, which JSON has not."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    return [finite(v) for v in value] if isinstance(value, list | tuple) else value


def merge(reports: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return one report of several; of rows of a kind the last one stays."""
    rows: list[dict] = []
    calls: dict[tuple, dict] = {}
    for report in reports:
        for row in report["rows"]:
            rows = with_row(rows, row)
        calls |= {(c["model"], c["scenario"], c["contender"]): c for c in report.get("first_calls", [])}
    return {"rows": rows, "first_calls": list(calls.values()), "not_reached": []}
