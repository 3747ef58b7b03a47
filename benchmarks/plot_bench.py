#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws a report of tenon-bench: for each case a bar of each contender's time over cuBLAS's bare product.

A bar is as long as the worst of the three ways of timing; ticks on it show all three. Needs matplotlib.

Usage: plot_bench.py REPORT.json CHART.svg [CASES], a regular expression on their names
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

COLORS = ("#1f5fa8", "#e39a3b", "#2a9d8f", "#b5485d", "#8db8e4")  # Tenon's contenders
PEERS = {"eager": "#7a7f87", "compile": "#b3b8bf"}
INK, GRID = "#22272e", "#d9dde3"
STYLE = {"font.family": ["DejaVu Sans"], "font.size": 8, "text.color": INK, "svg.hashsalt": "tenon"}


def bars(report: dict, pattern: str = "") -> dict[str, dict[str, float]]:
    """Return the ratios that are drawn, by case and contender; cuBLAS itself is the line at 1."""
    found = {}
    for case in report["cases"]:
        ratios = {
            contender["name"]: contender["worst_time_over_cublas"]
            for contender in case["contenders"]
            if "worst_time_over_cublas" in contender and contender["name"] != "cublas"
        }
        if ratios and re.search(pattern, case["name"]):
            found[case["name"]] = ratios
    return found


def timings(report: dict) -> dict[tuple[str, str], list[float]]:
    """Return the ratios in each way of timing, by case and contender."""
    return {
        (case["name"], contender["name"]): list(contender.get("time_over_cublas", {}).values())
        for case in report["cases"]
        for contender in case["contenders"]
    }


def draw(report: dict, path: Path, pattern: str = "", marks: dict[str, dict[str, float]] | None = None) -> None:
    """Write the chart. `marks` are ratios measured elsewhere, by name and case, drawn as diamonds."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    shown, ticks = bars(report, pattern), timings(report)
    contenders = list(dict.fromkeys(name for ratios in shown.values() for name in ratios))
    own = [name for name in contenders if name not in PEERS]
    colors = PEERS | {name: COLORS[i % len(COLORS)] for i, name in enumerate(own)}
    height = 0.8 / max(len(contenders), 1)
    with plt.rc_context(STYLE):
        inches = 1.4 + 0.16 * len(shown) * (1 + len(contenders))
        figure, axes = plt.subplots(figsize=(9, inches))
        for row, (case, ratios) in enumerate(shown.items()):
            for i, (name, ratio) in enumerate(ratios.items()):
                y = row + (i - (len(ratios) - 1) / 2) * height
                axes.barh(y, ratio, 0.9 * height, color=colors[name], label=name)
                axes.vlines(ticks[case, name], y - 0.3 * height, y + 0.3 * height, color="white", linewidth=0.8)
                axes.text(ratio, y, f" {ratio:.2f}", va="center", fontsize=7)
            for name, found in (marks or {}).items():
                if case in found:
                    axes.plot(found[case], row, "D", markersize=4, color=INK, markerfacecolor="white", label=name)
        axes.axvline(1, color=INK, linewidth=1)
        axes.set_yticks(range(len(shown)), list(shown))
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlabel("time / cuBLAS's bare product, worst of single, burst and sustained; ticks: each of them")
        for side in axes.spines.values():
            side.set_visible(False)
        axes.tick_params(length=0)
        axes.grid(axis="x", color=GRID, linewidth=0.7)
        axes.set_axisbelow(True)
        handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        figure.legend(handles.values(), handles.keys(), loc="upper right", ncols=len(handles), frameon=False)
        facts = report["environment"]
        origin = f"{facts['device']}, PyTorch {facts['torch']}, {facts['date'][:10]}"
        figure.text(0.01, 1 - 0.1 / inches, origin, va="top")
        figure.tight_layout(rect=(0, 0, 1, 1 - 0.25 / inches))
        figure.savefig(path, facecolor="white", metadata={"Date": None})
        plt.close(figure)


def main() -> None:
    """Draw a report."""
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    source, target, *pattern = sys.argv[1:]
    report = json.loads(Path(source).read_text())
    if not bars(report, *pattern):
        sys.exit(f"plot_bench.py: error: no case in {source} has times of a contender beside cublas's")
    draw(report, Path(target), *pattern)


if __name__ == "__main__":
    main()
