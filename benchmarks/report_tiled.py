# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001, RUF002
"""The section of docs/Performance.md on tiled kernels, and its charts.

From the reports of tenon-bench (configs/sm80.json, configs/sm80_ragged.json) and of
peers/triton_mma.py; report.py calls it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import plot_bench
from tables import markdown

TIMINGS = ("single", "burst", "sustained")
SHORT, LONG = "bias", "bias_gelu_residual_clamp"
# What Triton's kernels compute, so what they are compared with.
TRITON_MODEL = "bias_mul2_leaky_relu"
# Reading w is what a product waits for if cuBLAS reads it at more than this part of the copy rate.
BOUND_BY_W = 0.5
# When kernels of wgmma last changed such that their times may have.
WGMMA_CHANGED = "2026-11-25T09:00"
ELEMENT_BYTES = {"tf32": 4, "fp32": 4, "bf16": 2, "f16": 2}


def read_tiled(folder: Path) -> dict[str, dict]:
    """Return the reports that are there, by file name."""
    names = ("sm80", "sm80_ragged", "triton_mma")
    return {n: json.loads((folder / f"{n}.json").read_text()) for n in names if (folder / f"{n}.json").exists()}


def age(facts: dict) -> str:
    """Say so where a report's kernels of wgmma are not today's; facts: its environment."""
    if facts["date"] >= WGMMA_CHANGED:
        return ""
    return (
        f" Measured before the kernels of {WGMMA_CHANGED[:10]} ([what changed]"
        "(Rationale.md#what-tma-loads-comes-in-time-2026-11-25))."
    )


def under_load(facts: dict) -> str:
    """Say what *sustained* is in a report; facts: its environment."""
    if "warm_s" not in facts:
        return " *sustained*: ten calls after 0.1 s of a contender's own load."
    return (
        f" *sustained*: the mean of {facts['unsettled_s']} to {facts['sustained_s']} s of a contender's own load, when "
        f"all have loaded the GPU for {facts['warm_s']:.0f} s."
    )


def extents(case: dict) -> str:
    """Return M×N×K."""
    return f"{case['m']}×{case['n']}×{case['k']}"


def contenders(case: dict) -> dict[str, dict]:
    """Return a case's contenders by name."""
    return {contender["name"]: contender for contender in case["contenders"]}


def timed(report: dict) -> Iterator[tuple[dict, dict, dict, dict]]:
    """Give each case with cuBLAS, eager and the tiled kernel, where all were timed."""
    for case in report["cases"]:
        found = contenders(case)
        trio = [found.get(name, {}) for name in ("cublas", "eager", "tiled")]
        if all("times" in one for one in trio) and trio[2]["strategy"] == "tiled":
            yield case, *trio


def burst(contender: dict) -> float:
    """Return milliseconds a call, ten back to back."""
    return contender["times"]["burst"]["median_ms"]


def ratios(contender: dict) -> str:
    """Return the three ratios to cuBLAS as cells."""
    return " | ".join(f"{contender['time_over_cublas'][timing]:.3f}" for timing in TIMINGS)


def time_table(report: dict) -> list[str]:
    """One row a case: ratios to cuBLAS in each way of timing."""
    rows = [
        f"{case['model']} | {extents(case)} | {case['dtype']} | {burst(cublas):.4f} | {burst(tiled):.4f} "
        f"| {tiled['burst_tflop_per_s']:.0f} | {ratios(tiled)} | {ratios(eager)}"
        for case, cublas, eager, tiled in timed(report)
    ]
    return markdown(
        "model | M×N×K | precision | cuBLAS product, burst ms | tiled, burst ms | TFLOP/s | tiled / cuBLAS: single "
        "| burst | sustained | eager / cuBLAS: single | burst | sustained",
        rows,
    )


def summary_table(report: dict) -> list[str]:
    """One row a precision: the span of the worst ratios."""
    worst: dict[str, list[tuple[float, str]]] = {}
    for case, _, _, tiled in timed(report):
        found = tiled["worst_time_over_cublas"], f"{case['model']}, {extents(case)}"
        worst.setdefault(case["dtype"], []).append(found)
    rows = [
        f"{dtype} | {len(found)} | {min(found)[0]:.3f} ({min(found)[1]}) | {max(found)[0]:.3f} ({max(found)[1]})"
        for dtype, found in worst.items()
    ]
    return markdown("precision | cases | least | largest", rows)


def error_table(report: dict) -> list[str]:
    """One row a case: errors against float64, max / rms."""

    def error(contender: dict) -> str:
        return f"{contender['max_error']:.1e} / {contender['rms_error']:.1e}"

    rows = [
        f"{case['model']} | {extents(case)} | {case['dtype']} | {error(tiled)} | {error(cublas)} | {error(eager)} "
        f"| {tiled['rms_error_over_cublas']:.2f}"
        for case, cublas, eager, tiled in timed(report)
    ]
    header = "model | M×N×K | precision | tiled | cuBLAS, exact epilogue | eager | rms, tiled / cuBLAS"
    return markdown(header, rows)


def bound_by_w(report: dict) -> list[str]:
    """One row a case in which w's bytes decide: their rate over the copy rate."""
    rows = []
    for case, cublas, eager, tiled in timed(report):
        rates = [one["w_bytes_over_copy_rate"] for one in (tiled, cublas, eager)]
        if rates[1] > BOUND_BY_W:
            rows.append(
                f"{case['model']} | {extents(case)} | {case['dtype']} | {tiled['w_bytes_per_s'] / 1e12:.2f} | "
                + " | ".join(f"{rate:.3f}" for rate in rates)
            )
    return markdown("model | M×N×K | precision | tiled, TB/s of w | over the copy rate: tiled | cuBLAS | eager", rows)


def epilogue_table(report: dict) -> list[str]:
    """One row a shape and precision: what the long epilogue costs over a bias."""
    found = {(case["model"], extents(case), case["dtype"]): (case, e, t) for case, _, e, t in timed(report)}
    rows = []
    for (model, shape, dtype), (case, eager, tiled) in found.items():
        if model != LONG or (SHORT, shape, dtype) not in found:
            continue
        _, short_eager, short_tiled = found[SHORT, shape, dtype]
        residual = case["m"] * case["n"] * ELEMENT_BYTES[dtype] / report["copy_bytes_per_s"]
        parts = [
            tiled["times"][timing]["median_ms"] / short_tiled["times"][timing]["median_ms"] - 1 for timing in TIMINGS
        ]
        rows.append(
            f"{shape} | {dtype} | {1e3 * (burst(tiled) - burst(short_tiled)):.1f} "
            f"| {1e3 * (burst(eager) - burst(short_eager)):.1f} | {residual * 1e6:.1f} | "
            + " | ".join(f"{part:+.1%}" for part in parts)
        )
    return markdown(
        "M×N×K | precision | tiled, µs | eager, µs | the residual at the copy rate, µs | tiled: single | burst "
        "| sustained",
        rows,
    )


def triton_best(report: dict) -> dict[str, tuple[dict, str, dict]]:
    """Return, by the name that tenon-bench gives such a case, Triton's best configuration."""
    best: dict[str, tuple[dict, str, dict]] = {}
    for case in report["cases"]:
        m, n, k = case["shape"]
        name = f"{TRITON_MODEL}-{case['dtype']}-{m}x{n}x{k}"
        for configuration, result in case["configs"].items():
            if "ratio" in result and (name not in best or result["ratio"] > best[name][2]["ratio"]):
                best[name] = case, configuration, result
    return best


def triton_table(report: dict, ours: dict) -> list[str]:
    """One row a case: Triton's best configuration beside the tiled kernel, each over cuBLAS in its own run."""
    tiled_of = {case["name"]: tiled for case, _, _, tiled in timed(ours)}
    rows = []
    for name, (case, configuration, result) in triton_best(report).items():
        m, n, k = case["shape"]
        tiled = tiled_of.get(name)
        ratio = tiled["time_over_cublas"]["burst"] if tiled else None
        rows.append(
            f"{m}×{n}×{k} | {case['dtype']} | {case['peer'].removeprefix('triton_')} {configuration} "
            f"| {result['ms']:.4f} | {case['torch_mm_ms']:.4f} | {1 / result['ratio']:.3f} | "
            + (f"{ratio:.3f} | {1 / result['ratio'] / ratio:.2f}×" if ratio else "– | –")
        )
    return markdown(
        "M×N×K | precision | Triton's best | Triton, ms | torch.mm beside it, ms | Triton / cuBLAS | tiled / cuBLAS "
        "| tiled faster by",
        rows,
    )


def ragged_table(report: dict) -> list[str]:
    """One row a precision: how many shapes were right."""
    by_dtype: dict[str, list[dict]] = {}
    for case in report["cases"]:
        tiled = contenders(case).get("tiled")
        if tiled:
            by_dtype.setdefault(case["dtype"], []).append(tiled)
    rows = []
    for dtype, results in by_dtype.items():
        tiled = sum(r.get("strategy") == "tiled" for r in results)
        correct, same = (sum(bool(r.get(key)) for r in results) for key in ("within_tolerance", "same_bits"))
        largest = max(r.get("worst_error_over_tolerance", float("inf")) for r in results)
        rows.append(f"{dtype} | {len(results)} | {tiled} | {correct} | {same} | {largest:.2f}")
    return markdown("precision | shapes | tiled | right | same bits twice | largest error over its tolerance", rows)


def complaints(report: dict) -> list[str]:
    """Return a line for each tiled kernel that was not made, not timed or not right."""
    lines = []
    for case in report["cases"]:
        tiled = contenders(case).get("tiled", {"failed": "no such contender"})
        if "failed" in tiled:
            lines.append(f"- {case['name']}: {tiled['failed'].splitlines()[0]}")
        elif tiled["strategy"] != "tiled":
            lines.append(f"- {case['name']}: left to the strategy {tiled['strategy']}")
        elif not (tiled["within_tolerance"] and tiled["same_bits"]):
            lines.append(f"- {case['name']}: {'other bits each time' if tiled['within_tolerance'] else 'wrong'}")
    return ["Not as they should be:", "", *lines, ""] if lines else []


def triton_marks(reports: dict[str, dict]) -> dict[str, dict[str, float]]:
    """Return what the charts show of Triton."""
    best = triton_best(reports.get("triton_mma", {"cases": []}))
    return {"Triton on mma.sync, burst": {name: 1 / found[2]["ratio"] for name, found in best.items()}}


def draw_charts(
    report: dict, prefix: Path, kernels: str, marks: dict[str, dict[str, float]] | None = None
) -> list[str]:
    """Write a chart for each precision to `prefix`_PRECISION.svg; return the lines that show them."""
    lines = []
    for dtype in dict.fromkeys(case["dtype"] for case in report["cases"]):
        path = prefix.with_name(f"{prefix.name}_{dtype}.svg")
        plot_bench.draw(report, path, f"-{dtype}-", marks)
        lines += [f"![{kernels} in {dtype}: time over cuBLAS's bare product]({path.name})", ""]
    return lines


def section(reports: dict[str, dict], folder: Path) -> list[str]:
    """Return the section of docs/Performance.md; its charts go to `folder`."""
    report = reports["sm80"]
    facts, rate = report["environment"], report["copy_bytes_per_s"]
    lines = [
        f"## Tiled kernels: sm_80 code on an {facts['device']}",
        "",
        f"From `benchmarks/results/sm80.json`; {facts['device']}, driver {facts['driver']}, CUDA {facts['cuda']}, "
        f"PyTorch {facts['torch']}, {facts['date'][:10]}, copy rate {rate / 1e12:.2f} TB/s. Every layer is forced to "
        "strategy `tiled`, whose kernels use `mma.sync`; cuBLAS on this GPU uses `wgmma`, which is faster, and "
        "[`auto` reckons with that](Rationale.md#the-choice-of-strategy-2026-11-22). How the kernels work: "
        "[Kernels.md](Kernels.md); how times are taken and results checked: "
        "[Benchmarking.md](Benchmarking.md#how-times-are-taken). Ratios are of medians; below 1 is faster than "
        "cuBLAS's product without an epilogue." + under_load(facts),
        "",
        *draw_charts(report, folder / "tiled", "Tiled kernels", triton_marks(reports)),
        "The worst of the three ways of timing, over cuBLAS:",
        "",
        *summary_table(report),
        "",
        *time_table(report),
        "",
        *complaints(report),
        "### What the long epilogue costs",
        "",
        f"`{LONG}` over `{SHORT}`: a GELU, a residual of the product's shape and a clamp more. Microseconds are of "
        "bursts; the percentages are of the kernel's whole time. The two were timed one after the other, so the GPU's "
        "clock may have differed: a negative figure is that.",
        "",
        *epilogue_table(report),
        "",
        "### Bound by the weight",
        "",
        f"Cases in which cuBLAS reads w at more than {BOUND_BY_W:.0%} of the copy rate: w's bytes over a burst's time, "
        "over that rate. A copy both reads and writes.",
        "",
        *bound_by_w(report),
        "",
        "### Errors of tiled kernels",
        "",
        "Against float64, max / rms. cuBLAS's product is rounded to x's type, then given an exact epilogue and rounded "
        "once more.",
        "",
        *error_table(report),
        "",
    ]
    if "triton_mma" in reports:
        lines += [
            "### Beside Triton on mma.sync",
            "",
            f"Triton {reports['triton_mma']['triton']}, lowered for sm_80, with bias, × 2 and LeakyReLU fused, from "
            "`benchmarks/results/triton_mma.json`: the best of its configurations "
            "([which](../benchmarks/peers/README.md)), in bursts. Each is over cuBLAS in its own run; in tf32 Triton "
            "truncates operands where Tenon rounds them.",
            "",
            *triton_table(reports["triton_mma"], report),
            "",
        ]
    if "sm80_ragged" in reports:
        lines += [
            "### Ragged shapes",
            "",
            f"`{TRITON_MODEL}` at every M, N and K of `benchmarks/configs/sm80_ragged.json`, compiled for any M, each "
            "result held against float64 and computed twice; from `benchmarks/results/sm80_ragged.json`.",
            "",
            *ragged_table(reports["sm80_ragged"]),
            "",
        ]
    return lines
