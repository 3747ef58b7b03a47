# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A report as a table of plain text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

HEADER = ("worst/cuBLAS", "case", "contender", "single ms", "burst ms", "sustained ms", "TFLOP/s", "w/copy")
ERRORS = ("max error", "rms error", "rms/cuBLAS", "result")
NONE = "-"


def table(cases: Iterable[dict[str, Any]]) -> list[str]:
    """Return a report's cases, a line for each contender; the ratio is of the worst of the three ways of timing."""
    return aligned([HEADER + ERRORS, *(row(case["name"], c) for case in cases for c in case["contenders"])])


def row(name: str, contender: dict[str, Any]) -> tuple[str, ...]:
    """Return a contender's cells."""
    times = contender.get("times", {})
    return (
        number(contender.get("worst_time_over_cublas"), ".3f"),
        name,
        who(contender),
        *(number(times.get(method, {}).get("median_ms"), ".4f") for method in ("single", "burst", "sustained")),
        number(contender.get("burst_tflop_per_s"), ".1f"),
        number(contender.get("w_bytes_over_copy_rate"), ".3f"),
        number(contender.get("max_error"), ".1e"),
        number(contender.get("rms_error"), ".1e"),
        number(contender.get("rms_error_over_cublas"), ".2f"),
        verdict(contender),
    )


def who(contender: dict[str, Any]) -> str:
    """Return a contender's name, with the strategy and the reduction that were chosen where they are others."""
    taken = [contender.get("strategy"), contender.get("reduction")]
    others = [word for word in taken if word and not contender["name"].startswith(word)]
    return f"{contender['name']} ({', '.join(others)})" if others else contender["name"]


def verdict(contender: dict[str, Any]) -> str:
    """Say in a word or a line how it went."""
    words = []
    if not contender.get("within_tolerance", True):
        words.append("WRONG" if contender["tenon"] else "beyond tolerance")
    elif not contender.get("same_bits", True):
        words.append("NOT REPEATABLE" if contender["tenon"] else "not repeatable")
    if "failed" in contender:
        words.append(f"FAILED {first_line(contender['failed'])}")
    return ", ".join(words) or ("chosen" if contender.get("chosen") else "correct")


def first_line(text: str) -> str:
    """Return what of a message fits into a table."""
    return (text.splitlines() or [""])[0][:120]


def number(value: float | None, form: str) -> str:
    """Write a figure, or that there is none."""
    return NONE if value is None else format(value, form)


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Return rows in columns: words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    words = {HEADER.index("case"), HEADER.index("contender"), len(HEADER + ERRORS) - 1}

    def cell(i: int, text: str) -> str:
        return text.ljust(widths[i]) if i in words else text.rjust(widths[i])

    return ["  ".join(cell(i, text) for i, text in enumerate(row)).rstrip() for row in rows]
