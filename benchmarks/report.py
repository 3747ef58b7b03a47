#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""Writes docs/Performance.md and its charts from benchmarks/results.

Every figure of those pages comes from there (library.json; sm90a.json, sm90a_sweep.json and
sm90a_compile.json; fp32*.json; batch_norm*.json; sm80.json, sm80_ragged.json and triton_mma.json); none is typed by
hand. Whole models of PyTorch have a page of their own, by whole_models/report.py.
Needs matplotlib. The tables of docs/Precision.md come from precision.json.

Usage: report.py
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import report_batch_norm
import report_fp32
import report_precision
import report_sm90a
import report_tiled
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks/results"
ELEMENT_BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2}
KINDS = ("single", "burst", "sustained")
PEERS = {
    "cublas": "cuBLAS product alone",
    "tenon": "Tenon",
    "eager": "PyTorch eager",
    "compile-default": "torch.compile",
    "compile-max-autotune-no-cudagraphs": "torch.compile, max-autotune",
}


def epilogue_budget(case: dict, rate: float) -> float:
    """Milliseconds of 1.3 times one read and one write of y at the copy rate."""
    moved = 2 * case["m"] * case["n"] * ELEMENT_BYTES[case["precision"]]
    return 1.3 * moved / rate * 1e3


def model_name(case: dict) -> str:
    """Return what a reader calls the case."""
    names = {
        "leaky_relu": "× 2, LeakyReLU",
        "scale_batch_norm": "scale, BatchNorm (training)",
    }
    return f"{names[case['family']]}, {case['m']}×{case['n']}×{case['k']}"


def precision_name(case: dict) -> str:
    """Return a case's precision, with the strategy where it was not left to the compiler."""
    strategy = case.get("strategy", "auto")
    return case["precision"] if strategy == "auto" else f"{case['precision']}, {strategy}"


def time_rows(cases: list[dict], rate: float) -> list[str]:
    """One row a case and way of timing."""
    rows = [
        "| model (M×N×K) | precision | timing | cuBLAS product | Tenon | eager "
        "| torch.compile | its max-autotune | Tenon − cuBLAS | 1.3 × (y read and written) |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for case in cases:
        for kind in KINDS:
            ms = {peer: case["ms"].get(peer, {}).get(kind) for peer in PEERS}
            times = " | ".join(f"{t:.4f}" if t else "–" for t in ms.values())
            rows.append(
                f"| {model_name(case)} | {precision_name(case)} | {kind} | {times} "
                f"| {ms['tenon'] - ms['cublas']:.4f} | {epilogue_budget(case, rate):.4f} |"
            )
    return rows


def error_rows(cases: list[dict]) -> list[str]:
    """Errors against float64, Tenon's beside eager's, which uses cuBLAS."""
    rows = [
        "| model (M×N×K) | precision | output | Tenon max | Tenon rms | eager max | eager rms |",
        "|---|---|---|---|---|---|---|",
    ]
    for case in cases:
        for output, ours in case["errors"]["tenon"].items():
            theirs = case["errors"]["eager"][output]
            rows.append(
                f"| {model_name(case)} | {precision_name(case)} | {output} | {ours['max']:.2e} "
                f"| {ours['rms']:.2e} | {theirs['max']:.2e} | {theirs['rms']:.2e} |"
            )
    return rows


def overhead_rows(cases: list[dict]) -> list[str]:
    """Host time of a call, and seconds of compilation."""
    rows = [
        "| model (M×N×K) | precision | host µs a call | eager's | compilation, s |",
        "|---|---|---|---|---|",
    ]
    for case in cases:
        host = case["host_us"]
        rows.append(
            f"| {model_name(case)} | {precision_name(case)} | {host['tenon']:.1f} "
            f"| {host['eager']:.1f} | {case['compile_seconds']:.2f} |"
        )
    return rows


def fp32_models(folder: Path) -> list[str]:
    """Return the part on models of fp32 as tiled kernels compute them, with what is behind batch norm."""
    source = folder / "fp32_models.json"
    if not source.exists():
        return []
    report = json.loads(source.read_text())
    return [
        "### Models of fp32 beside all peers",
        "",
        f"From `{source.relative_to(ROOT)}`, timed as at the head of this page; *tiled*: forced to tiled kernels.",
        "",
        *time_rows(report["cases"], report["copy_bytes_per_second"]),
        "",
        *error_rows(report["cases"]),
        "",
    ]


def draw(cases: list[dict], path: Path) -> None:
    """Bars of time relative to cuBLAS's bare product, one panel a model."""
    models: dict[str, list[dict]] = {}
    for case in cases:
        if len(case["ms"]) == len(PEERS):
            models.setdefault(model_name(case), []).append(case)
    figure, panels = plt.subplots(1, len(models), figsize=(4 * len(models), 3.6), sharey=True)
    peers = [peer for peer in PEERS if peer != "cublas"]
    width = 0.8 / len(peers)
    for axes, (model, shown) in zip(panels, models.items(), strict=True):
        for i, peer in enumerate(peers):
            heights = [c["ms"][peer]["burst"] / c["ms"]["cublas"]["burst"] for c in shown]
            places = [j + (i + 0.5) * width for j in range(len(shown))]
            axes.bar(places, heights, width, label=PEERS[peer])
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_xticks([j + 0.4 for j in range(len(shown))], [precision_name(c) for c in shown])
        axes.set_title(model, fontsize=9)
    panels[0].set_ylabel("time / cuBLAS's bare product")
    panels[0].legend(fontsize=7, loc="lower left")
    figure.tight_layout()
    with plt.rc_context({"svg.hashsalt": "tenon"}):  # the same file each time
        figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    """Write the pages and the charts."""
    source = RESULTS / "library.json"
    report = json.loads(source.read_text())
    tiled, sm90a = report_tiled.read_tiled(RESULTS), report_sm90a.read_sm90a(RESULTS)
    fp32, batch_norm = report_fp32.read_fp32(RESULTS), report_batch_norm.read_batch_norm(RESULTS)
    cases, rate = report["cases"], report["copy_bytes_per_second"]
    draw(cases, ROOT / "docs/performance.svg")
    page = [
        "# Performance",
        "",
        f"Written by `benchmarks/report.py` from `{source.relative_to(ROOT)}`; "
        f"{report['device']}, PyTorch {report['torch']}, copy rate {rate / 1e12:.2f} TB/s.",
        "Milliseconds are medians; all peers run in turn in one process on the same random data. "
        "*single*: one call from idle; *burst*: ten calls back to back from idle; *sustained*: ten calls "
        "after 100 ms of the peer's own load, or what a section says. Tenon is strategy `library` here, a cuBLASLt "
        "call and an epilogue kernel; what `auto` takes, and is faster, is in the sections on kernels for sm_90a, "
        "products of f32 and batch norm.",
        "",
        "![Time relative to cuBLAS's bare product, ten calls back to back](performance.svg)",
        "",
        "## Times",
        "",
        *time_rows(cases, rate),
        "",
        "## Errors against float64",
        "",
        *error_rows(cases),
        "",
        "## Host time and compile time",
        "",
        "Host time is that of a call through ctypes, its kernel launches and cuBLASLt's included. Compilation "
        "is a whole run of tenon-compile for sm_90a on the build machine, ptxas included.",
        "",
        *overhead_rows(cases),
        "",
        *(report_sm90a.section(sm90a, ROOT / "docs") if "sm90a" in sm90a else []),
        *([*report_fp32.section(fp32), *fp32_models(RESULTS)] if "fp32" in fp32 else []),
        *(report_batch_norm.section(batch_norm) if "batch_norm" in batch_norm else []),
        *(report_tiled.section(tiled, ROOT / "docs") if "sm80" in tiled else []),
    ]
    (ROOT / "docs/Performance.md").write_text("\n".join(page))
    if report_precision.RESULT.exists():
        report_precision.main()


if __name__ == "__main__":
    main()
