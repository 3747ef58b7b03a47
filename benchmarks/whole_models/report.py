#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001, E402
"""Writes docs/WholeModels.md and its chart from benchmarks/results.

It reads whole_models.json, op_host.json, and what peers.py does.

Needs matplotlib. Exits 1 where there is no whole_models.json, or it was measured with --tiny.

Usage: report.py [RESULTS.json [PAGE.md]]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from whole_models.page import (
    ERROR,
    LEAST,
    TITLES,
    Row,
    failure_lines,
    first_call_lines,
    group_lines,
    group_title,
    groups,
    speed_of,
    table,
    target_row,
)
from whole_models.peers import peer_lines
from whole_models.rows import read

RESULTS = ROOT / "benchmarks/results/whole_models.json"
OP_HOST = ROOT / "benchmarks/results/op_host.json"
PAGE = ROOT / "docs/WholeModels.md"
PAIRS = {"eager": "eager", "tenon": "Tenon"}


def relative_speeds(rows: Sequence[Row], contender: str) -> list[float]:
    """Return a contender's speed over torch.compile's for each row; 0 where one has failed."""
    return [
        row["ms"]["compile"] / row["ms"][contender] if {"compile", contender} <= {*row["ms"]} else 0 for row in rows
    ]


def draw(found: dict[tuple[str, str], list[Row]], path: Path) -> None:
    """Bars of speed relative to torch.compile, a panel for each scenario and mode."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(len(found), 1, figsize=(11, 2.9 * len(found)), squeeze=False)
    for axes, ((scenario, mode), rows) in zip(panels[:, 0], found.items(), strict=True):
        for i, (contender, label) in enumerate(PAIRS.items()):
            places = [j + (i - 0.5) * 0.4 for j in range(len(rows))]
            speeds = relative_speeds(rows, contender)
            labels = [f"{speed:.2f}" if speed else "not measured" for speed in speeds]
            axes.bar_label(axes.bar(places, speeds, 0.4, label=label), labels, fontsize=6)
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_xticks(range(len(rows)), [TITLES[row["model"]] for row in rows], rotation=25, ha="right", fontsize=7)
        axes.set_title(group_title(scenario, mode), fontsize=9)
        axes.set_ylabel("speed / torch.compile's", fontsize=8)
    panels[0, 0].legend(fontsize=7)
    figure.tight_layout()
    with plt.rc_context({"svg.hashsalt": "tenon", "svg.fonttype": "none"}):  # the same file each time
        figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def page(report: dict, source: str, chart: str) -> str:
    """Return the page."""
    found = groups(report["rows"])
    facts = sorted(
        {f"{row['card']}, PyTorch {row['torch']}, Triton {row['triton']}" for row in report["rows"] if "card" in row}
    )
    head = [
        "",
        "models",
        "slowest",
        f"below {LEAST}",
        "geometric mean",
        "to be reached",
        f"error above {ERROR}× eager's",
    ]
    lines = [
        "# Whole models",
        "",
        f"Written by `benchmarks/whole_models/report.py` from `{source}` alone; {'; '.join(facts)}.",
        "Each model with random weights and inputs, without dropout. Eager, torch.compile and",
        '`torch.compile(model, backend="tenon")` take turns in one process; a time is the median of bursts of ten or',
        "more calls between two events, the host's part included. *compile / Tenon*: how many times faster Tenon is.",
        "A training step is forward and backward, without an optimizer where none is said. Errors: the norm of the",
        "differences from a float64 run over that run's norm, of the output / of all gradients.",
        "",
        f"![Speed relative to torch.compile of every model]({chart})",
        "",
        "## What was to be reached",
        "",
        f"Each model at least {LEAST} of torch.compile's speed, and an error at most {ERROR} times eager's.",
        "",
        *table(head, [target_row(*name, rows) for name, rows in found.items()]),
        "",
    ]
    for name, rows in found.items():
        lines += group_lines(*name, rows)
    return "\n".join([*lines, *first_call_lines(report["first_calls"]), *failure_lines(report)]).rstrip() + "\n"


def host_lines(report: dict) -> list[str]:
    """Return the section on the host's time of a call in Inductor's code, of what bench_op_host.py wrote."""
    facts = f"{report['device']}, PyTorch {report['torch']}, {report['date']}"
    rows = [[f"`{op}`", f"{us:.1f}"] for op, us in report["us_per_call"].items()]
    return [
        "## The host's time of a call",
        "",
        f"Microseconds to enqueue a call of a small bf16 layer, and of PyTorch's product; {facts}.",
        "Where something is prepared of a weight, a call asks whether that has changed.",
        "",
        *table(["op", "us"], rows),
        "",
    ]


def main(source: Path = RESULTS, target: Path = PAGE) -> int:
    """Draw."""
    report = read(source)
    measured = [row for row in report["rows"] if speed_of(row) is not None]
    if not measured:
        print(f"report.py: error: {source} has no results; bench_whole_models.py writes them on a GPU", file=sys.stderr)
        return 1
    if any(row["tiny"] for row in report["rows"]) and target == PAGE:
        print(f"report.py: error: {source} was measured with --tiny, which only tries the script", file=sys.stderr)
        return 1
    chart = target.with_name("whole_models.svg")
    shown = source.relative_to(ROOT) if source.is_relative_to(ROOT) else source.name
    draw(groups(report["rows"]), chart)
    host = host_lines(json.loads(OP_HOST.read_text())) if target == PAGE and OP_HOST.exists() else []
    peers = peer_lines(report["rows"]) if target == PAGE else []
    target.write_text("\n".join([page(report, str(shown), chart.name), *host, *peers]).rstrip() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*(Path(arg).resolve() for arg in sys.argv[1:])))
