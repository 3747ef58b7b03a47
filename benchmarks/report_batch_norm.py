# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""The section of docs/Performance.md on layers that end in training batch norm.

From the reports of tenon-bench (configs/batch_norm.json, batch_norm_compile.json) and of profile_kernels.py
(batch_norm_kernels.json), as far as they are there; report.py calls it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from report_fp32 import complaints, error, kernel_section
from report_sync_batch_norm import section as sync_section
from report_tiled import ELEMENT_BYTES, age, contenders, extents, under_load
from tables import markdown

NAMES = ("batch_norm", "batch_norm_compile", "batch_norm_kernels", "sync_batch_norm")
PEERS = ("cublas", "eager", "compile")
OURS = ("auto", "separate", "two_phase", "resident", "input_moments")
SHOWN = ("burst", "sustained")  # ways of timing; what is asked for is asked of the first
COPY = 1.1  # of the time of one read and one write of y, what batch norm may take beside the product
PRODUCT = "cuBLAS's bare product"


@dataclass(frozen=True)
class Goal:
    """A contender of Tenon's takes at most `limit` times as long as another, or as what `beside` says."""

    limit: float
    beside: str
    ours: str = "auto"


BOUND = "bound"
# What is asked for, by dtype, M, N, K.
GOALS = {
    ("bf16", 1024, 8192, 8192): (Goal(1.03, "cublas"),),
    ("tf32", 1024, 8192, 8192): (Goal(1.03, "cublas"),),
    ("fp32", 1024, 8192, 8192): (Goal(1 / 4.7, "eager"),),
    ("bf16", 16384, 4096, 4096): (Goal(1.0, BOUND), Goal(0.92, "compile")),
    ("tf32", 16384, 4096, 4096): (Goal(1.0, BOUND),),
    ("fp32", 16384, 4096, 4096): (Goal(1 / 4.5, "eager"),),
    ("fp32", 16384, 8192, 128): (Goal(1 / 1.5, "two_phase", "input_moments"), Goal(1 / 2, "compile")),
    ("bf16", 16384, 8192, 128): (Goal(1 / 1.5, "two_phase", "input_moments"), Goal(1 / 2, "compile")),
    ("bf16", 65536, 4096, 512): (Goal(1 / 1.15, "compile"),),
}
TITLES = {
    "cublas": PRODUCT,
    "eager": "PyTorch eager",
    "compile": "torch.compile",
    "two_phase": "two_phase",
    BOUND: f"{PRODUCT} + {COPY} × (y read and written)",
}


def read_batch_norm(folder: Path) -> dict[str, dict]:
    """Return the reports that are there, by file name."""
    return {n: json.loads((folder / f"{n}.json").read_text()) for n in NAMES if (folder / f"{n}.json").exists()}


def label(case: dict) -> str:
    """Return what a case is, as cells: model, shape and precision."""
    model = case["model"] if case["data"] == "random" else f"{case['model']}, {case['data']}"
    return f"{model} | {extents(case)} | {case['dtype']}"


def copy_ms(case: dict, rate: float) -> float:
    """Return milliseconds of one read and one write of y at the copy rate."""
    return 2 * case["m"] * case["n"] * ELEMENT_BYTES[case["dtype"]] / rate * 1e3


def time_of(case: dict, name: str, timing: str, rate: float) -> float | None:
    """Return milliseconds of a contender, or of the bound; None where it was not timed."""
    if name == BOUND:
        product = time_of(case, "cublas", timing, rate)
        return None if product is None else product + COPY * copy_ms(case, rate)
    found = contenders(case).get(name, {})
    return found["times"][timing]["median_ms"] if "times" in found else None


def number(value: float | None, form: str) -> str:
    """Write a figure, or that there is none."""
    return "–" if value is None else format(value, form)


def goal_rows(report: dict) -> Iterator[str]:
    """Give a row for each thing that is asked for."""
    rate = report["copy_bytes_per_s"]
    for case in report["cases"]:
        if case["data"] != "random":
            continue
        for goal in GOALS.get((case["dtype"], case["m"], case["n"], case["k"]), ()):
            ours, other = ([time_of(case, n, t, rate) for t in SHOWN] for n in (goal.ours, goal.beside))
            ratios = [a / b if a and b else None for a, b in zip(ours, other, strict=True)]
            met = "not measured" if ratios[0] is None else "yes" if ratios[0] <= goal.limit else "no"
            yield (
                f"{label(case)} | {goal.ours} | {number(ours[0], '.4f')} | {TITLES[goal.beside]} "
                f"| {number(other[0], '.4f')} | {goal.limit:.3f} | **{number(ratios[0], '.3f')}** | {met} "
                f"| {number(ratios[1], '.3f')}"
            )


def goal_table(report: dict) -> list[str]:
    """One row for each thing that is asked for, in bursts; sustained beside."""
    return markdown(
        "model | M×N×K | precision | Tenon by | burst, ms | beside | its burst, ms | at most | ratio | met | sustained",
        goal_rows(report),
    )


def time_table(report: dict) -> list[str]:
    """One row a case and way of timing: every contender's milliseconds."""
    rate, rows = report["copy_bytes_per_s"], []
    for case in report["cases"]:
        if not case["repeat"]:
            continue
        for timing in SHOWN:
            cells = [number(time_of(case, name, timing, rate), ".4f") for name in (*PEERS, *OURS)]
            bound = number(time_of(case, BOUND, timing, rate), ".4f")
            rows.append(f"{label(case)} | {timing} | {' | '.join(cells)} | {bound}")
    return markdown(
        f"model | M×N×K | precision | timing | {PRODUCT} | eager | torch.compile | {' | '.join(OURS)} "
        f"| product + {COPY} × y's copy",
        rows,
    )


def ratio(ours: dict, theirs: dict) -> str:
    """Write an rms error over another, thick where it is above what is asked for."""
    if not theirs["rms_error"]:
        return "–" if ours["rms_error"] else "1.00"
    found = ours["rms_error"] / theirs["rms_error"]
    return f"**{found:.2f}**" if found > 1.1 else f"{found:.2f}"


def error_table(report: dict) -> list[str]:
    """One row a case and contender of Tenon's: errors against float64 beside eager's."""
    rows = []
    for case in report["cases"]:
        eager = contenders(case).get("eager", {})
        for name in OURS:
            one = contenders(case).get(name, {})
            if "statistics" not in one or "statistics" not in eager:
                continue
            cells = []
            for ours, theirs in zip(
                [one, *one["statistics"].values()], [eager, *eager["statistics"].values()], strict=True
            ):
                cells.append(f"{error(ours)} | {error(theirs)} | {ratio(ours, theirs)}")
            rows.append(f"{label(case)} | {name} | {' | '.join(cells)} | {one['close_to_eager']:.2%}")
    outputs = " | ".join(f"{output}, max / rms | eager's | rms ratio" for output in ("y", "running mean", "variance"))
    return markdown(f"model | M×N×K | precision | Tenon by | {outputs} | within 1e-4 of eager", rows)


def chosen_table(report: dict) -> list[str]:
    """One row a case and contender: what the compiler said on its choice, and the kernels that it made."""
    rows = []
    for case in report["cases"]:
        for one in case["contenders"]:
            if one["tenon"] and "failed" not in one:
                said = "; ".join(one["remarks"]).replace("|", "\\|")
                how = " ".join(filter(None, [one["strategy"], one["reduction"]]))
                rows.append(f"{label(case)} | {one['name']} | {how} | {said} | {', '.join(one['kernels'])}")
    return markdown("model | M×N×K | precision | asked for | chosen | why | kernels", rows)


def section(reports: dict[str, dict]) -> list[str]:
    """Return the section."""
    report = reports["batch_norm"]
    facts, rate = report["environment"], report["copy_bytes_per_s"]
    lines = [
        f"## Training batch norm on an {facts['device']}",
        "",
        f"From `benchmarks/results/batch_norm.json`; {facts['device']}, driver {facts['driver']}, CUDA "
        f"{facts['cuda']}, PyTorch {facts['torch']}, {facts['date'][:10]}, copy rate {rate / 1e12:.2f} TB/s, measured "
        "in the same run. `auto` is what Tenon chooses; `separate`, `two_phase`, `resident` and `input_moments` are "
        "tiled kernels with that reduction asked for. Results are y and the new running statistics, which PyTorch "
        "updates in place. torch.compile is max-autotune. What is asked for is asked of bursts. How times are taken: "
        "[Benchmarking.md](Benchmarking.md#how-times-are-taken)." + under_load(facts) + age(facts),
        "",
        *goal_table(report),
        "",
        *complaints(report),
        "### Times of each reduction",
        "",
        *time_table(report),
        "",
    ]
    if "batch_norm_compile" in reports:
        lines += ["From `benchmarks/results/batch_norm_compile.json`:", "", *time_table(reports["batch_norm_compile"])]
        lines += ["", *complaints(reports["batch_norm_compile"])]
    if "batch_norm_kernels" in reports:
        lines += kernel_section("batch_norm_kernels", reports["batch_norm_kernels"])
    return [
        *lines,
        "### Errors of batch norm",
        "",
        "Against float64; thick where an rms error is above 1.1 of eager's. *offset*: every fourth column of the "
        "product has a mean of about 1e4 and a deviation of about 1e-2. There bf16 has steps of 64, and PyTorch and "
        "all reductions but `resident` and `input_moments` store what is normalised: a column with values on both "
        "sides of a step's middle gets a variance from rounding alone, which depends on the order of the product's "
        "sums.",
        "",
        *error_table(report),
        "",
        "### What was chosen",
        "",
        *chosen_table(report),
        "",
        *(sync_section(reports["sync_batch_norm"]) if "sync_batch_norm" in reports else ()),
    ]
