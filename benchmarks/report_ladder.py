# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""What each change to the kernels for sm_90a gave: a table from results/sm90a_ladder.json."""

from __future__ import annotations

from tables import markdown

INTRODUCTION = (
    "From `benchmarks/results/sm90a_ladder.json`: what was tried, in order, with what it was expected to give, and the "
    "ratios to cuBLAS's bare product in bf16 measured in the same minute. These are quick looks on the way, by "
    "differently built kernels and on more than one machine of a kind; launches in one CUDA graph make cuBLAS about a "
    "twentieth faster than launches one by one do, so only rows of one kind compare. The tables above are the result."
)


def short(schedule: str) -> str:
    """Give a schedule's tile, cluster and form."""
    words = dict(part.split(" = ") for part in schedule.split(", ") if " = " in part)
    form = "ping-pong" if words.get("ping_pong") == "true" else f"{words['warps']} warps"
    parts = [words["tile"], form, f"{words['stages']} stages", words.get("cluster", "")]
    return ", ".join(filter(None, [*parts, "stream-K" if words.get("stream_k") == "true" else ""]))


def row(step: dict) -> str:
    """Write a step of the ladder as a row."""
    cases = "<br>".join(
        f"{c['m']}×{c['n']}×{c['k']}{' (long)' if 'gelu' in c['model'] else ''}: **{c['ms'] / c['cublas_ms']:.3f}**"
        for c in step["cases"]
    )
    schedule = short(step["cases"][0]["schedule"])
    how = step["timing"].removeprefix("ten launches ")
    return f"{step['change']} | {schedule} | {step['predicted']} | {how} | {cases} | {step['verdict']}"


def section(report: dict) -> list[str]:
    """Return the lines of the section."""
    header = "change | schedule, of the first | expected | ten launches | time / cuBLAS's | what became of it"
    return ["### The ladder of sm_90a", "", INTRODUCTION, "", *markdown(header, [row(s) for s in report["steps"]]), ""]
