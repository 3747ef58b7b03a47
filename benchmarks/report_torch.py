# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""The section of docs/Performance.md on PyTorch, and docs/TorchPerformance.md with every case.

From the reports of bench_torch.py, bench_host.py and bench_first_call.py; report.py calls it.
"""

from __future__ import annotations

import json
from pathlib import Path

from torch_tables import (
    FIRST_CALL_S,
    OVERHEAD_US,
    SLOWER,
    case_table,
    first_call_table,
    host_table,
    markdown,
    slower_cases,
    summary_table,
)


def read_reports(folder: Path) -> dict[str, dict]:
    """Return the reports that are there, by file name."""
    names = ("torch", "torch_host", "torch_first_call")
    return {n: json.loads((folder / f"{n}.json").read_text()) for n in names if (folder / f"{n}.json").exists()}


LIBRARY_UNTIL = "2026-11-22"  # measured by then: before the default, `auto`, took tiled kernels and products by f16


def origin(report: dict) -> str:
    """Return where and with what a report was measured."""
    place = f"{report['device']}, PyTorch {report['torch']}, Python {report['python']}, {report['date']}"
    if report["date"] > LIBRARY_UNTIL:
        return place
    return (
        f"{place}: before `auto` took tiled kernels, so every layer is a cuBLASLt call and an epilogue kernel, and "
        "products of fp32 are SGEMM's"
    )


def promises(reports: dict[str, dict]) -> list[str]:
    """One row for each figure that issue 3 asks for."""
    cases, rows = reports["torch"]["cases"], []
    ratios = [case["time_over_eager"]["tenon"] for case in cases if "tenon" in case["time_over_eager"]]
    rows.append(
        f"time over eager's, largest of {len(ratios)} cases | {max(ratios):.3f} | {SLOWER:.2f} "
        f"| {len(slower_cases(cases))} cases above"
    )
    if "torch_host" in reports:
        microseconds = [case["overhead_us"] for case in reports["torch_host"]["cases"]]
        above = sum(t > OVERHEAD_US for t in microseconds)
        rows.append(
            f"Python's time a call over the bare C call, largest | {max(microseconds):.1f} µs | {OVERHEAD_US:.0f} µs "
            f"| {above} of {len(microseconds)} above"
        )
    for run in reports.get("torch_first_call", {}).get("runs", []):
        if run["front_end"] == "optimize":
            seconds, limit = [call["seconds"] for call in run["calls"]], FIRST_CALL_S[run["cache"]]
            rows.append(
                f"first call, {run['cache']} cache, {run['model']}, largest | {max(seconds):.2f} s | {limit:.1f} s "
                f"| {sum(s > limit for s in seconds)} of {len(seconds)} above"
            )
    return markdown("what | measured | allowed | beyond it", rows)


def section(reports: dict[str, dict]) -> list[str]:
    """Return the section of docs/Performance.md."""
    report = reports["torch"]
    compared = [case for case in report["cases"] if "compile" in case["time_over_eager"]]
    lines = [
        "## Through PyTorch",
        "",
        f"{origin(report)}. The models are those of `test/python/torch_models`; every case is in "
        "[TorchPerformance.md](TorchPerformance.md). Contenders run in turn in one process, on the same random "
        "data, under `no_grad`: milliseconds are medians of bursts of calls back to back from idle, ten or for "
        "6 ms. Errors are against float64, over whole results.",
        "",
        "![Speed-up over eager, by model and precision](torch_performance.svg)",
        "",
        *summary_table(report["cases"]),
        "",
        *promises(reports),
        "",
        *case_table(compared),
        "",
    ]
    if "torch_host" in reports:
        lines += [
            "### Host time of a call",
            "",
            "Microseconds on the host, of calls with small tensors that are not waited for. The bare C call has its "
            "pointers and workspace ready; *overhead* is `tenon.torch.optimize` less that and less the rest of the "
            "graph. The last column is the price of torch.compile's own guards.",
            "",
            *host_table(reports["torch_host"]),
            "",
        ]
    if "torch_first_call" in reports:
        lines += [
            "### First call of a fresh process",
            "",
            "From a model on the GPU, a product behind it, to its first result; `import tenon` is within. "
            "*compile-eager* is `torch.compile` with PyTorch's backend that compiles nothing.",
            "",
            *first_call_table(reports["torch_first_call"]),
            "",
        ]
    return lines


def full_page(report: dict) -> str:
    """Return docs/TorchPerformance.md."""
    lines = [
        "# Performance through PyTorch: every case",
        "",
        f"Written by `benchmarks/report.py` from `benchmarks/results/torch.json`; {origin(report)}.",
        "How it was measured, and the summary: [Performance.md](Performance.md). Times in milliseconds; errors "
        "against float64, max / rms; models with random numbers have none.",
        "",
        "![Speed-up over eager of every model](torch_zoo.svg)",
        "",
        *case_table(report["cases"]),
        "",
    ]
    if failed := [case for case in report["cases"] if case["failed"]]:
        lines += ["## Failures", ""]
        lines += [
            f"- {c['model']}, {c['precision']}, {c['batch']}×{c['width']}: {name}: {why.splitlines()[0]}"
            for c in failed
            for name, why in c["failed"].items()
        ]
        lines.append("")
    if report["not_reached"]:
        lines += [f"Not measured, for want of time: {', '.join(report['not_reached'])}.", ""]
    return "\n".join(lines)
