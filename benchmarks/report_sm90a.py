# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""The section of docs/Performance.md on tiled kernels for sm_90a, and its charts.

From the reports of tenon-bench (configs/sm90a.json, configs/sm90a_sweep.json,
configs/sm90a_compile.json, the last in one file or in parts), as far as they are there;
report.py calls it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import report_ladder
import report_sweep
from report_tiled import (
    BOUND_BY_W,
    LONG,
    SHORT,
    TIMINGS,
    age,
    bound_by_w,
    burst,
    complaints,
    contenders,
    draw_charts,
    epilogue_table,
    error_table,
    extents,
    ratios,
    timed,
    under_load,
)
from tables import markdown

MODEL = "bias_mul2_leaky_relu"
COMPILE = "sm90a_compile"  # how the parts of that report begin
IN_TURN = ("sm90a_long", "sm90a_long_again")
# The ratio to cuBLAS's bare product that is asked for, by M, N, K: in 16 bits and in tf32.
GOALS = {
    (1024, 8192, 8192): (1.00, 1.00),
    (16384, 4096, 4096): (1.00, 1.00),
    (8192, 8192, 8192): (1.01, 1.02),
    (4096, 4096, 4096): (1.00, 1.02),
}


def read_sm90a(folder: Path) -> dict[str, dict]:
    """Return the reports that are there, by file name."""
    names = ("sm90a", "sm90a_again", "sm90a_sweep", "sm90a_ladder", *IN_TURN)
    found = {n: json.loads((folder / f"{n}.json").read_text()) for n in names if (folder / f"{n}.json").exists()}
    parts = {path.name: json.loads(path.read_text()) for path in sorted(folder.glob(f"{COMPILE}*.json"))}
    return found | ({COMPILE: join(parts)} if parts else {})


def join(parts: dict[str, dict]) -> dict:
    """Return one report of parts that were measured apart; a case that is in several is the latest part's."""
    cases = {}
    for name, part in sorted(parts.items(), key=lambda item: item[1]["environment"]["date"]):
        cases |= {case["name"]: case | {"part": name} for case in part["cases"]}
    used = {case["part"] for case in cases.values()}
    return {
        "cases": sorted(cases.values(), key=lambda case: (case["m"], case["n"], case["k"], case["dtype"])),
        "parts": {name: part["environment"] for name, part in parts.items() if name in used},
    }


def goal(case: dict) -> float | None:
    """Return the ratio that is asked for, None where none is."""
    found = GOALS.get((case["m"], case["n"], case["k"])) if case["model"] == MODEL else None
    return found[case["dtype"] == "tf32"] if found else None


def gains(ours: dict, peer: dict) -> list[float]:
    """Return a peer's time over ours, in each way of timing."""
    return [peer["times"][timing]["median_ms"] / ours["times"][timing]["median_ms"] for timing in TIMINGS]


def time_table(report: dict) -> list[str]:
    """One row a case: ratios to cuBLAS's bare product, and what eager takes at least of Tenon's time."""
    rows = []
    for case, cublas, eager, tiled in timed(report):
        asked, worst = goal(case), tiled["worst_time_over_cublas"]
        verdict = "– | –" if asked is None else f"{asked:.2f} | {'yes' if worst <= asked else 'no'}"
        rows.append(
            f"{case['model']} | {extents(case)} | {case['dtype']} | {burst(cublas):.4f} | {burst(tiled):.4f} "
            f"| {tiled['burst_tflop_per_s']:.0f} | {ratios(tiled)} | **{worst:.3f}** | {verdict} "
            f"| {min(gains(tiled, eager)):.2f}× | {tiled['rms_error_over_cublas'] or 0:.2f}"
        )
    return markdown(
        "model | M×N×K | precision | cuBLAS product, burst ms | tiled, burst ms | TFLOP/s | tiled / cuBLAS: single "
        "| burst | sustained | worst | asked for | met | faster than eager, at least | rms error / cuBLAS's",
        rows,
    )


def again(report: dict) -> list[str]:
    """Return the cases of which something is asked, as another run measured them."""
    asked = [case for case in report["cases"] if goal(case) is not None]
    facts = report["environment"]
    when = facts["date"][:16].replace("T", " ")
    return [
        f"Those of which something is asked, in another run ({facts['device']}, {when}, "
        f"`benchmarks/results/sm90a_again.json`).{under_load(facts)}",
        "",
        *time_table({"cases": asked}),
        "",
    ]


def in_turn(runs: dict[str, dict]) -> list[str]:
    """Return what the long epilogue costs where both layers took turns: one row a case, each cell of all runs."""
    if not runs:
        return []
    facts = next(iter(runs.values()))
    rows = []
    for same in zip(*(run["rows"] for run in runs.values()), strict=True):
        dtype, shape = same[0]["case"].split()
        taken = [row["times"] for row in same]
        cells = (
            " / ".join(f"{times[LONG][t]['median_ms'] / times[SHORT][t]['median_ms'] - 1:+.1%}" for times in taken)
            for t in TIMINGS
        )
        rows.append(f"{shape.replace('x', '×')} | {dtype} | " + " | ".join(cells))
    cards = " / ".join(f"{run['device']}, {run['date']}, `benchmarks/results/{n}.json`" for n, run in runs.items())
    return [
        f"The two in turn in one process ({cards}).{under_load(facts)}",
        "",
        *markdown("M×N×K | precision | single | burst | sustained", rows),
        "",
    ]


def compared(report: dict) -> Iterator[tuple[dict, dict, dict]]:
    """Give each case with the tiled kernel and torch.compile, where both were timed."""
    for case in report["cases"]:
        found = contenders(case)
        tiled, peer = found.get("tiled", {}), found.get("compile", {})
        if "times" in tiled and "times" in peer:
            yield case, tiled, peer


def compile_table(report: dict) -> list[str]:
    """One row a case: torch.compile's time over Tenon's."""
    rows = []
    for case, tiled, peer in compared(report):
        cells = [f"{burst(tiled):.4f}", f"{burst(peer):.4f}", *(f"{gain:.2f}×" for gain in gains(tiled, peer))]
        rows.append(f"{case['model']} | {extents(case)} | {case['dtype']} | " + " | ".join(cells))
    return markdown(
        "model | M×N×K | precision | tiled, burst ms | torch.compile, burst ms | tiled faster by: single | burst "
        "| sustained",
        rows,
    )


def compile_section(report: dict) -> list[str]:
    """Return the part on torch.compile."""
    origins = [
        f"`benchmarks/results/{name}` ({facts['device']}, PyTorch {facts['torch']}, {facts['date'][:10]})"
        for name, facts in report["parts"].items()
    ]
    least = [(min(gains(tiled, peer)), case) for case, tiled, peer in compared(report)]
    lines = [
        "### Beside torch.compile on sm_90a",
        "",
        "Max-autotune, the whole model, its own CUDA graphs left out since every contender is timed in one; in tf32 "
        f'with PyTorch\'s `set_float32_matmul_precision("high")`. From {" and ".join(origins)}.'
        + "".join(dict.fromkeys(map(under_load, report["parts"].values()))),
        "",
        *compile_table(report),
        "",
    ]
    if least:
        gain, case = min(least, key=lambda one: one[0])
        ahead = sum(gain > 1 for gain, _ in least)
        lines += [
            f"Faster in every way of timing in {ahead} of {len(least)} cases; least {gain:.3f}×, at {extents(case)} in "
            f"{case['dtype']}.",
            "",
        ]
    failed = [
        f"- {case['name']}, torch.compile: {one['failed'].splitlines()[0]}"
        for case in report["cases"]
        if "failed" in (one := contenders(case).get("compile", {}))
    ]
    return [*lines, *complaints(report), *(["Not compared:", "", *failed, ""] if failed else [])]


def section(reports: dict[str, dict], folder: Path) -> list[str]:
    """Return the section of docs/Performance.md; its charts go to `folder`."""
    report = reports["sm90a"]
    facts, rate = report["environment"], report["copy_bytes_per_s"]
    lines = [
        f"## Tiled kernels for sm_90a on an {facts['device']}",
        "",
        f"From `benchmarks/results/sm90a.json`; {facts['device']}, driver {facts['driver']}, CUDA {facts['cuda']}, "
        f"PyTorch {facts['torch']}, {facts['date'][:10]}, copy rate {rate / 1e12:.2f} TB/s. Every layer is forced to "
        "strategy `tiled`, whose kernels use TMA and `wgmma` here. How times are taken and results checked: "
        "[Benchmarking.md](Benchmarking.md#how-times-are-taken). Ratios are of medians, over cuBLAS's product without "
        "an epilogue; below 1 is faster. What is asked for is asked of the worst of the three ways of timing."
        + under_load(facts)
        + age(facts),
        "",
        *draw_charts(report, folder / "sm90a", "Tiled kernels for sm_90a"),
        *time_table(report),
        "",
        *complaints(report),
        *(again(reports["sm90a_again"]) if "sm90a_again" in reports else []),
        "### What the long epilogue costs on sm_90a",
        "",
        f"`{LONG}` over `{SHORT}`: a GELU, a residual of the product's shape and a clamp more. Microseconds are of "
        "bursts; the percentages are of the kernel's whole time. The two were timed one after the other.",
        "",
        *epilogue_table(report),
        "",
        *in_turn({name: reports[name] for name in IN_TURN if name in reports}),
        "### Bound by the weight on sm_90a",
        "",
        f"Cases in which cuBLAS reads w at more than {BOUND_BY_W:.0%} of the copy rate: w's bytes over a burst's time, "
        "over that rate. A copy both reads and writes.",
        "",
        *bound_by_w(report),
        "",
        "### Errors of tiled kernels for sm_90a",
        "",
        "Against float64, max / rms. cuBLAS's product is rounded to x's type, then given an exact epilogue and rounded "
        "once more.",
        "",
        *error_table(report),
        "",
    ]
    if COMPILE in reports:
        lines += compile_section(reports[COMPILE])
    if "sm90a_sweep" in reports:
        lines += report_sweep.section(reports["sm90a_sweep"])
    if "sm90a_ladder" in reports:
        lines += report_ladder.section(reports["sm90a_ladder"])
    return lines
