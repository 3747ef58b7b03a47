# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""Lines and tables of the measurements through PyTorch, from their JSON reports alone."""

from __future__ import annotations

import math
from collections.abc import Iterable

# What a slower case than this over eager is named for, and the other promises that tables are read against.
SLOWER = 1.03
OVERHEAD_US = 15.0
FIRST_CALL_S = {"warm": 1.0, "cold": 4.0}
CONTENDERS = {
    "eager": "eager",
    "tenon": "Tenon",
    "compile": "torch.compile",
    "compile-tenon": 'torch.compile, backend="tenon"',
}


def case_name(case: dict) -> str:
    """Return what --cases is matched with."""
    return f"{case['model']}-{case['precision']}-{case['batch']}x{case['width']}"


def case_line(case: dict) -> str:
    """Return one line on a case: times, their ratio to eager's, max errors, failures."""
    words = [f"{case_name(case)}:"]
    for name, times in case["ms"].items():
        ratio = f" ({case['time_over_eager'][name]:.3f})" if name != "eager" else ""
        words.append(f"{name} {times['median']:.4f} ms{ratio}")
    found = case.get("errors", {})
    words += [f"max error {name} {found[name]['max']:.1e}" for name in ("eager", "tenon") if name in found]
    words += [f"FAILED {name}: {why.splitlines()[0][:160]}" for name, why in case["failed"].items()]
    return ", ".join(words).replace(":,", ":", 1)


def markdown(header: str, rows: Iterable[str]) -> list[str]:
    """Return a table; its columns are given between bars."""
    return [f"| {header} |", "|" + "---|" * (header.count("|") + 1), *(f"| {row} |" for row in rows)]


def groups(cases: list[dict]) -> dict[tuple[str, str], list[dict]]:
    """Return cases by precision and by whether the batch is the smallest."""
    found: dict[tuple[str, str], list[dict]] = {}
    for case in cases:
        size = "batch 128" if case["batch"] == 128 else "larger batches"
        found.setdefault((case["precision"], size), []).append(case)
    return found


def summary_table(cases: list[dict]) -> list[str]:
    """One row a precision and size: how Tenon's times are to eager's, and its errors."""
    rows = []
    for (precision, size), members in groups(cases).items():
        ratios = {case_name(c): c["time_over_eager"]["tenon"] for c in members if "tenon" in c["time_over_eager"]}
        if not ratios:
            continue
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        slowest = max(ratios, key=ratios.get)
        slower = sum(ratio > SLOWER for ratio in ratios.values())
        errors = [relative_error(case) for case in members if "tenon" in case.get("errors", {})]
        worst = [f"{max(column):.1e}" for column in zip(*errors, strict=True)] or ["–", "–"]
        rows.append(
            f"{precision} | {size} | {len(ratios)} | {1 / mean:.2f}× | {1 / min(ratios.values()):.2f}× "
            f"| {1 / ratios[slowest]:.2f}× ({slowest}) | {slower} | {worst[0]} | {worst[1]}"
        )
    header = (
        "precision | size | models | speed-up over eager, geometric mean | largest | least | slower by more than "
        f"{SLOWER - 1:.0%} | largest relative rms error: Tenon | eager"
    )
    return markdown(header, rows)


def relative_error(case: dict) -> tuple[float, float]:
    """Return Tenon's and eager's rms error over the rms of the exact results."""
    return tuple(case["errors"][name]["rms"] / (case["scale"] or 1.0) for name in ("tenon", "eager"))


def slower_cases(cases: list[dict]) -> list[dict]:
    """Return the cases at which Tenon is slower than promised, the worst first."""
    slower = [case for case in cases if case["time_over_eager"].get("tenon", 0) > SLOWER]
    return sorted(slower, key=lambda case: -case["time_over_eager"]["tenon"])


def case_table(cases: list[dict]) -> list[str]:
    """One row a case: times, speed-up, and errors beside eager's."""

    def time(case: dict, name: str) -> str:
        return f"{case['ms'][name]['median']:.4f}" if name in case["ms"] else "–"

    def error(case: dict, name: str) -> str:
        found = case.get("errors", {}).get(name)
        return f"{found['max']:.1e} / {found['rms']:.1e}" if found else "–"

    rows = []
    for case in cases:
        ratio = case["time_over_eager"].get("tenon")
        times = " | ".join(time(case, name) for name in CONTENDERS)
        speed_up = f"{1 / ratio:.2f}×" if ratio else "failed"
        rows.append(
            f"{case['model']} | {case['batch']}×{case['width']} | {case['precision']} | {times} | {speed_up} "
            f"| {error(case, 'tenon')} | {error(case, 'eager')}"
        )
    names = " | ".join(CONTENDERS.values())
    return markdown(
        f"model | batch×width | precision | {names} | eager / Tenon | error of Tenon, max / rms | of eager", rows
    )


def host_table(report: dict) -> list[str]:
    """Host time of a call, one row a model."""
    rows = []
    for case in report["cases"]:
        us = case["us"]
        cells = [us["bare"], us["remainder"], us["tenon"], case["overhead_us"], us["eager"], us["compile-tenon"]]
        rows.append(
            f"{case['model']} | {case['precision']} | " + " | ".join(f"{t:.1f}" for t in [*cells, us["guards"]])
        )
    header = (
        "model | precision | bare C call | rest of the graph | tenon.torch.optimize | overhead "
        '| eager | torch.compile, backend="tenon" | torch.compile that does nothing'
    )
    return markdown(header, rows)


def first_call_table(report: dict) -> list[str]:
    """Seconds of the first call in fresh processes, one row a kind of process."""
    rows = []
    for run in report["runs"]:
        calls = run["calls"]
        seconds = " ".join(f"{call['seconds']:.2f}" for call in calls)
        counts = " | ".join("/".join(sorted({str(c[key]) for c in calls})) for key in ("compiled", "hits"))
        rows.append(f"{run['front_end']} | {run['model']} | {run['precision']} | {run['cache']} | {seconds} | {counts}")
    return markdown("front end | model | precision | cache | seconds | compiled | from the cache", rows)


def summary_lines(report: dict) -> list[str]:
    """Return what bench_torch.py prints at its end."""
    cases = report["cases"]
    lines = [*summary_table(cases), ""]
    lines += [f"slower than eager by more than {SLOWER - 1:.0%}: {case_line(case)}" for case in slower_cases(cases)]
    failed = [case for case in cases if case["failed"]]
    lines += [f"failed: {case_line(case)}" for case in failed]
    lines.append(f"{len(cases)} cases measured, {len(failed)} with failures, {len(report['not_reached'])} not reached")
    return lines
