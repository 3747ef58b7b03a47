# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""The part of docs/Performance.md on the sweep of shapes for sm_90a, from the report of tenon-bench.

report_sm90a.py calls it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from report_tiled import age, contenders, extents, under_load
from tables import markdown

# What is asked for: the geometric mean, and the most where a tiled kernel was chosen.
GOAL_MEAN, GOAL_MOST = 1.05, 1.5
MUCH_MORE = 10  # than cuBLAS errs, which a product of tf32 does beside one of f32
WGMMA = re.compile(r"\bwgmma( \w+)?, tiles of")


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms))


def swept(report: dict) -> Iterator[tuple[dict, dict, dict]]:
    """Give each case with the tiled kernel and with what auto chose, where both were timed."""
    for case in report["cases"]:
        found = contenders(case)
        pair = [found.get(name, {}) for name in ("tiled", "auto")]
        if all("worst_time_over_cublas" in one for one in pair):
            yield case, *pair


def mean_table(report: dict) -> list[str]:
    """One row a precision, and one of all: geometric means over cuBLAS."""
    by_dtype: dict[str, list[tuple[dict, dict, dict]]] = {}
    for entry in swept(report):
        by_dtype.setdefault(entry[0]["dtype"], []).append(entry)
    rows = []
    for dtype, entries in [*by_dtype.items(), ("all", list(swept(report)))]:
        worst = [auto["worst_time_over_cublas"] for _, _, auto in entries]
        bursts = [auto["time_over_cublas"]["burst"] for _, _, auto in entries]
        forced = [tiled["worst_time_over_cublas"] for _, tiled, _ in entries]
        chosen = {case["name"]: auto for case, _, auto in entries if auto["strategy"] == "tiled"}
        most = max(chosen.items(), key=lambda item: item[1]["worst_time_over_cublas"], default=None)
        largest = f"{most[1]['worst_time_over_cublas']:.2f} ({most[0]})" if most else "–"
        rows.append(
            f"{dtype} | {len(entries)} | {len(chosen)} | **{geometric_mean(worst):.3f}** "
            f"| {geometric_mean(bursts):.3f} | {geometric_mean(forced):.3f} | {largest}"
        )
    return markdown(
        "precision | shapes | auto chose tiled | auto / cuBLAS, geometric mean of the worst timing | of bursts "
        "| tiled / cuBLAS, of the worst | largest where auto chose tiled",
        rows,
    )


def sweep_table(report: dict) -> list[str]:
    """One row a shape: both ratios, and what auto chose."""
    rows = [
        f"{extents(case)} | {case['dtype']} | {tiled['worst_time_over_cublas']:.3f}{family(tiled)} "
        f"| {auto['strategy']} | {auto['worst_time_over_cublas']:.3f} | {auto['rms_error_over_cublas'] or 0:.2f}"
        for case, tiled, auto in swept(report)
    ]
    return markdown(
        "M×N×K | precision | tiled / cuBLAS | auto chose | auto / cuBLAS | rms error / cuBLAS's",
        rows,
    )


def family(tiled: dict) -> str:
    """Mark what a forced tiled kernel was not: of wgmma, or tiled at all."""
    if tiled["strategy"] != "tiled":
        return f" ({tiled['strategy']})"
    return "" if any(WGMMA.search(remark) for remark in tiled["remarks"]) else " (mma_sync)"


def lost_table(report: dict) -> list[str]:
    """One row a shape at which what auto chose is slower than the other choice would be."""
    rows = []
    for case, tiled, auto in swept(report):
        ours, forced = auto["worst_time_over_cublas"], tiled["worst_time_over_cublas"]
        if auto["strategy"] != "tiled" and tiled["strategy"] == "tiled" and forced < ours:
            rows.append(f"{extents(case)} | {case['dtype']} | {auto['strategy']} | {ours:.3f} | {forced:.3f}")
    return markdown("M×N×K | precision | auto chose | auto / cuBLAS | tiled / cuBLAS", rows) if rows else ["None."]


def wrong(report: dict) -> list[str]:
    """Return a line for each result of Tenon's that is not right, or is not there."""
    lines = []
    for case in report["cases"]:
        for one in case["contenders"]:
            if one["tenon"] and "failed" in one:
                lines.append(f"- {case['name']}, {one['name']}: {one['failed'].splitlines()[0]}")
            elif one["tenon"] and not (one["within_tolerance"] and one["same_bits"]):
                how = "other bits each time" if one["within_tolerance"] else "wrong"
                lines.append(f"- {case['name']}, {one['name']}: {how}")
    return ["Not as they should be:", "", *lines] if lines else ["Every result is right, and the same twice."]


def of_f32(report: dict) -> list[str]:
    """Return a line on products of tf32 that cuBLAS computes as those of f32, if there are any."""
    found = [
        extents(case)
        for case, _, auto in swept(report)
        if case["dtype"] == "tf32" and (auto["rms_error_over_cublas"] or 0) > MUCH_MORE
    ]
    if not found:
        return []
    return [f"At {', '.join(found)} in tf32 cuBLAS does not round x and w: its error is that of f32.", ""]


def section(report: dict) -> list[str]:
    """Return the part on the sweep."""
    models = ", ".join(f"`{name}`" for name in dict.fromkeys(case["model"] for case in report["cases"]))
    return [
        "### A sweep of shapes",
        "",
        f"{models} at the {len(report['cases'])} shapes of `benchmarks/configs/sm90a_sweep.json`, M from 1 to 32768, "
        "odd sizes and primes among them; each with the strategy that `auto` takes and with `tiled`, over cuBLAS's "
        f"bare product. Asked for: a geometric mean of {GOAL_MEAN}, and {GOAL_MOST} at most where `auto` takes a tiled "
        "kernel. The library takes a product and, for an epilogue that is not its own, one kernel more."
        + under_load(report["environment"])
        + age(report["environment"]),
        "",
        *mean_table(report),
        "",
        *wrong(report),
        "",
        "Shapes at which `auto` left the layer to the library although the tiled kernel measured faster:",
        "",
        *lost_table(report),
        "",
        "All shapes, the worst of the three ways of timing:",
        "",
        *sweep_table(report),
        "",
        *of_f32(report),
    ]
