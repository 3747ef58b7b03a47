# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""The section of docs/Performance.md on layers of f32 that tiled kernels compute by f16 halves.

From the reports of tenon-bench (configs/fp32.json, fp32_compile.json, fp32_schedules.json, and of batch_norm.json
the layer of f32 that is asked for here) and of profile_kernels.py (fp32_kernels.json), as far as they are there;
report.py calls it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from report_sm90a import gains
from report_tiled import TIMINGS, age, burst, contenders, extents, under_load
from tables import markdown

NAMES = ("fp32", "fp32_compile", "fp32_schedules", "fp32_kernels", "batch_norm")
# How many times faster than eager is asked for, in bursts: by model, dtype, M, N, K and whether parameters are new.
GOALS = {
    ("bias_mul2_leaky_relu", "fp32", 1024, 8192, 8192, False): 4.8,
    ("bias_mul2_leaky_relu", "fp32", 1024, 8192, 8192, True): 3.8,
    ("bias_scale_batch_norm", "fp32", 16384, 4096, 4096, False): 4.5,
    ("bias_gelu_residual", "fp32", 8192, 8192, 8192, False): 4.4,
    ("bias_mul2_leaky_relu", "tf32", 1024, 8192, 8192, False): 1.8,
}
FEW_ROWS = 64  # up to which Tenon should never be slower than eager
PEERS = {"compile_default": "torch.compile", "compile": "its max-autotune"}


def read_fp32(folder: Path) -> dict[str, dict]:
    """Return the reports that are there, by file name."""
    return {n: json.loads((folder / f"{n}.json").read_text()) for n in NAMES if (folder / f"{n}.json").exists()}


def label(case: dict) -> str:
    """Return what a case is, as cells: model, shape and precision."""
    model = f"{case['model']}, new parameters" if case.get("new_parameters") else case["model"]
    return f"{model} | {extents(case)} | {case['dtype']}"


def gain_cells(ours: dict, peer: dict) -> str:
    """Write a peer's time over ours in each way of timing."""
    return " | ".join(f"{gain:.2f}×" for gain in gains(ours, peer))


def error(contender: dict) -> str:
    """Write a contender's largest and rms error."""
    return f"{contender['max_error']:.1e} / {contender['rms_error']:.1e}"


def goal(case: dict) -> float | None:
    """Return what is asked for, None where nothing is."""
    key = (*(case[name] for name in ("model", "dtype", "m", "n", "k")), case.get("new_parameters", False))
    return GOALS.get(key, 1.0 if case["dtype"] == "fp32" and case["m"] <= FEW_ROWS else None)


def judged(case: dict) -> dict:
    """Return Tenon's contender of which it is asked: what it chooses itself, or tiled kernels."""
    found = contenders(case)
    return found.get("auto") or found.get("tiled", {})


def goal_table(reports: dict[str, dict]) -> list[str]:
    """One row a case of which something is asked, with its errors and KernelBench's check."""
    rows = []
    for case in [case for name in ("fp32", "batch_norm") if name in reports for case in reports[name]["cases"]]:
        asked, eager, ours = goal(case), contenders(case).get("eager", {}), judged(case)
        if asked is None or "times" not in eager or "times" not in ours:
            continue
        gain = dict(zip(TIMINGS, gains(ours, eager), strict=True))
        verdict = "yes" if gain["burst"] >= asked else "no"
        close = f"{ours['close_to_eager']:.2%}" if "close_to_eager" in ours else "–"
        rows.append(
            f"{label(case)} | {ours['name']} | {asked:.1f}× | **{gain['burst']:.2f}×** | {verdict} "
            f"| {gain['sustained']:.2f}× | {error(ours)} | {error(eager)} | {close}"
        )
    header = "model | M×N×K | precision | Tenon by | asked for | faster than eager: burst | met | sustained"
    header += " | error, max / rms | eager's | outputs within 1e-4 of eager"
    return ["Asked of ten calls back to back:", "", *markdown(header, rows), "", "All contenders:", ""] if rows else []


def time_table(report: dict) -> list[str]:
    """One row a case and way of Tenon's to compute it: times beside eager's, and errors."""
    rows = []
    for case in report["cases"]:
        eager = contenders(case).get("eager", {})
        for one in case["contenders"]:
            if one["tenon"] and "times" in one and "times" in eager:
                rows.append(
                    f"{label(case)} | {one['name']} | {burst(eager):.4f} | {burst(one):.4f} "
                    f"| {one['burst_tflop_per_s']:.0f} | {gain_cells(one, eager)} | {error(one)} | {error(eager)}"
                )
    return markdown(
        "model | M×N×K | precision | Tenon by | eager, burst ms | Tenon, burst ms | TFLOP/s "
        "| faster than eager: single | burst | sustained | error, max / rms | eager's",
        rows,
    )


def compile_table(report: dict) -> list[str]:
    """One row a case and mode of torch.compile: its time over the tiled kernels'."""
    rows = []
    for case in report["cases"]:
        found = contenders(case)
        for name, title in PEERS.items():
            tiled, peer = found.get("tiled", {}), found.get(name, {})
            if "times" in tiled and "times" in peer:
                rows.append(
                    f"{label(case)} | {title} | {burst(peer):.4f} | {burst(tiled):.4f} | {gain_cells(tiled, peer)}"
                )
    return markdown(
        "model | M×N×K | precision | beside | its burst, ms | tiled, burst ms | tiled faster by: single | burst "
        "| sustained",
        rows,
    )


def schedule_table(report: dict) -> list[str]:
    """One row a case and schedule, the fastest first."""
    rows = []
    for case in report["cases"]:
        timed = [one for one in case["contenders"] if one["tenon"] and "times" in one]
        for one in sorted(timed, key=lambda one: one["worst_time_over_cublas"]):
            times = " | ".join(f"{one['times'][timing]['median_ms']:.4f}" for timing in TIMINGS)
            rows.append(
                f"{extents(case)} | {one['name'].removeprefix('tiled-')} | {times} | {one['burst_tflop_per_s']:.0f} "
                f"| {one['worst_time_over_cublas']:.3f} | {error(one)}"
            )
    return markdown(
        "M×N×K | schedule | single, ms | burst | sustained | TFLOP/s | worst / cuBLAS | error, max / rms", rows
    )


def short(kernel: str) -> str:
    """Return a kernel's name without what it returns, its template's arguments and its own."""
    return re.sub(r"[<(].*", "", kernel).removeprefix("void ").strip() or kernel


def kernel_table(report: dict) -> list[str]:
    """One row a kernel of a case's contender."""
    rows = [
        f"{case['name']} | {one['name']} | `{short(kernel)}` | {microseconds:.1f}"
        for case in report["cases"]
        for one in case["contenders"]
        for kernel, microseconds in one.get("kernels_us", {}).items()
    ]
    return markdown("case | Tenon by | kernel | µs a call", rows)


def kernel_section(name: str, report: dict) -> list[str]:
    """Return the part on a report of profile_kernels.py."""
    return [
        "### The kernels of one call",
        "",
        f"GPU time of each kernel, the mean of {report['calls']} calls back to back under PyTorch's profiler; from "
        f"`benchmarks/results/{name}.json`. A kernel that starts while the one before it ends, as the guard does, "
        "counts its wait too.",
        "",
        *kernel_table(report),
        "",
    ]


def complaints(report: dict) -> list[str]:
    """Return a line for each of Tenon's contenders that failed or is not right."""
    lines = []
    for case in report["cases"]:
        for one in case["contenders"]:
            if one["tenon"] and "failed" in one:
                lines.append(f"- {case['name']}, {one['name']}: {one['failed'].splitlines()[0]}")
            elif one["tenon"] and not (one["within_tolerance"] and one["same_bits"]):
                how = "other bits each time" if one["within_tolerance"] else "wrong"
                lines.append(f"- {case['name']}, {one['name']}: {how}")
    return ["Not as they should be:", "", *lines, ""] if lines else []


def section(reports: dict[str, dict]) -> list[str]:
    """Return the section."""
    report = reports["fp32"]
    facts = report["environment"]
    lines = [
        f"## Products of f32 on an {facts['device']}",
        "",
        f"From `benchmarks/results/fp32.json`; {facts['device']}, driver {facts['driver']}, CUDA {facts['cuda']}, "
        f"PyTorch {facts['torch']}, {facts['date'][:10]}, copy rate {report['copy_bytes_per_s'] / 1e12:.2f} TB/s. "
        "`tiled` computes a product of precision fp32 by f16 halves ([Precision.md](Precision.md)), the split of x and "
        "the kernel for rows that they do not hold included; *new parameters*: that of w too. Eager is PyTorch with "
        "`highest` precision for fp32, `high` for tf32. Errors are against float64, of the whole model. How times are "
        "taken: [Benchmarking.md](Benchmarking.md#how-times-are-taken)." + under_load(facts) + age(facts),
        "",
        *goal_table(reports),
        *time_table(report),
        "",
        *complaints(report),
    ]
    for name, title, table in (
        ("fp32_compile", "Products of f32 beside torch.compile", compile_table),
        ("fp32_schedules", "Schedules of fp16x3", schedule_table),
    ):
        if name in reports:
            lines += [f"### {title}", "", f"From `benchmarks/results/{name}.json`.", "", *table(reports[name]), ""]
            lines += complaints(reports[name])
    if "fp32_kernels" in reports:
        lines += kernel_section("fp32_kernels", reports["fp32_kernels"])
    return lines
