#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""Writes what was measured into docs/Precision.md, from benchmarks/results/precision.json.

Replaces what stands between the two markers; report.py calls it.

Usage: report_precision.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from precision_data import DISTRIBUTIONS
from tables import markdown

ROOT = Path(__file__).resolve().parent.parent
RESULT, PAGE = ROOT / "benchmarks/results/precision.json", ROOT / "docs/Precision.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
# The contender whose table stands first, and what it is.
FIRST = {"fp32": ("tiled", "fp16x3, and fma below K = 64"), "tf32": ("fp16", "one product of f16")}
LONG_K = 8192


def of_precision(report: dict, precision: str) -> Iterator[dict]:
    """Give the cases of a precision."""
    return (case for case in report["cases"] if case["precision"] == precision)


def ratio(case: dict, name: str, figure: str) -> float | None:
    """Return a contender's error over cuBLAS's, None where there is none or cuBLAS's is exact."""
    ours, theirs = case["contenders"].get(name, {}), case["contenders"]["cublas"]
    if "failed" in ours or figure not in ours or ours["not_finite"]:
        return None
    if not theirs[figure]:
        return None if ours[figure] else 1.0
    return ours[figure] / theirs[figure]


def ratio_cell(case: dict, name: str) -> str:
    """Write the ratios of the largest and of the rms error, thick where one is above 1."""
    found = [ratio(case, name, figure) for figure in ("max_scaled", "rms_scaled")]
    if None in found:
        return "–"
    text = " / ".join(f"{value:.3f}" for value in found)
    return f"**{text}**" if max(found) > 1.0 else text


def ratio_table(report: dict, precision: str, name: str) -> list[str]:
    """One row a distribution, one column a K: a contender's errors over cuBLAS's."""
    extents = sorted({case["k"] for case in of_precision(report, precision)})
    rows = []
    for distribution in DISTRIBUTIONS:
        found = {case["k"]: case for case in of_precision(report, precision) if case["distribution"] == distribution}
        if found:
            cells = [ratio_cell(found[k], name) if k in found else "–" for k in extents]
            rows.append(" | ".join([distribution, *cells]))
    return markdown(" | ".join(["data", *(f"K = {k}" for k in extents)]), rows)


def error_cell(one: dict) -> str:
    """Write a contender's errors and its share of close outputs."""
    if "failed" in one:
        return "failed"
    if one["not_finite"]:
        return f"{one['not_finite']} not finite"
    return f"{one['max']:.1e} / {one['rms']:.1e}, {one['close']:.1%}"


def error_table(report: dict, precision: str) -> list[str]:
    """One row a distribution at the long K: every contender's errors, and the rows outside."""
    rows, names = [], []
    for case in of_precision(report, precision):
        if case["k"] == LONG_K:
            names = list(case["contenders"])
            outside = ", ".join(
                f"{count / report['rows']:.0%} of {name}" for name, count in case["rows_outside"].items()
            )
            rows.append(" | ".join([case["distribution"], outside, *map(error_cell, case["contenders"].values())]))
    return markdown(" | ".join(["data", "rows outside", *names]), rows)


def worse(report: dict, precision: str) -> list[str]:
    """Name the cases in which a contender's largest or rms error is above cuBLAS's."""
    lines = []
    for case in of_precision(report, precision):
        for name in case["contenders"]:
            found = [ratio(case, name, figure) for figure in ("max_scaled", "rms_scaled")]
            if name != "cublas" and None not in found and max(found) > 1.0:
                lines.append(f"- {name}: {case['distribution']}, K = {case['k']}: {ratio_cell(case, name)}")
    return lines or ["None."]


def failures(report: dict) -> list[str]:
    """Name what was not computed."""
    lines = []
    for case in report["cases"]:
        for name, one in case["contenders"].items():
            if "failed" in one:
                text = one["failed"].splitlines()[0]
                lines.append(f"- {case['precision']}, {name}, K = {case['k']}: {text}")
    return ["Not computed:", "", *dict.fromkeys(lines), ""] if lines else []


def section(report: dict) -> list[str]:
    """Return what stands between the markers."""
    facts, rows = report["environment"], report["rows"]
    lines = [
        f"Written by `benchmarks/report_precision.py` from `benchmarks/results/precision.json`: {facts['device']}, "
        f"target {report['target']}, CUDA {facts['cuda']}, PyTorch {facts['torch']}, {facts['date'][:10]}. Products of "
        f"{rows} rows of x and {rows} of w; [`benchmarks/precision_data.py`](../benchmarks/precision_data.py) draws "
        "them. Errors are against float64, cuBLAS's (`torch.mm`) on the same data. A ratio is Tenon's error over "
        "cuBLAS's, largest / rms, each in units of the norms of its row of x and of w. *Lost* did not depend on K "
        "then: beyond K = 64 some more rows of `outliers` would be inside now.",
        "",
        *failures(report),
    ]
    for precision, (name, what) in FIRST.items():
        lines += [
            f"### Precision {precision}",
            "",
            f"`{name}`, {what}, over cuBLAS's; thick where it is above 1:",
            "",
            *ratio_table(report, precision, name),
            "",
            f"All ways at K = {LONG_K}: largest / rms error, and the share of outputs within 1e-4 (absolute and "
            "relative) of PyTorch's eager result, which is what KernelBench asks:",
            "",
            *error_table(report, precision),
            "",
            "Above cuBLAS's error, largest / rms:",
            "",
            *worse(report, precision),
            "",
        ]
    return lines


def update(page: str, lines: list[str]) -> str:
    """Return the page with other lines between the markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"report_precision.py: error: {PAGE} lacks {BEGIN} or {END}")
    return "\n".join([before + begin, *lines, end + after])


def main() -> None:
    """Write the page."""
    PAGE.write_text(update(PAGE.read_text(), section(json.loads(RESULT.read_text()))))


if __name__ == "__main__":
    main()
