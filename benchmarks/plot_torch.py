#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001, RUF002
"""Draws the measurements of bench_torch.py: docs/torch_performance.svg and docs/torch_zoo.svg.

The first has bars for the models that torch.compile was timed with, the second a line for
every model of the zoo. Lengths are speed-up over eager. Needs matplotlib.

Usage: plot_torch.py [REPORT.json [FOLDER]]
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch_tables import SLOWER

ROOT = Path(__file__).resolve().parent.parent
# The first is drawn for every case, the others where they were timed.
BARS = {
    "tenon": ("tenon.torch.optimize", "#1f5fa8"),
    "compile-tenon": ('torch.compile, backend="tenon"', "#8db8e4"),
    "compile": ("torch.compile (Inductor)", "#e39a3b"),
}
PRECISIONS = {"bf16": "#1f5fa8", "tf32": "#2a9d8f", "fp32": "#b5485d"}
OTHER_TYPES = "#7a7f87"
INK, PALE, GRID = "#22272e", "#5b626c", "#d9dde3"
STYLE = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.hashsalt": "tenon",  # the same file each time
}


def speed_up(case: dict, name: str) -> float | None:
    """Return how many times as fast as eager a contender is."""
    ratio = case["time_over_eager"].get(name)
    return 1 / ratio if ratio else None


def label(cases: dict[str, dict]) -> str:
    """Return a model's name and its batch × width, naming precisions at which the batch is another."""
    first = next(iter(cases.values()))
    size = f"{first['batch']} × {first['width']}"
    size += "".join(f", {p}: {c['batch']}" for p, c in cases.items() if c["batch"] != first["batch"])
    return f"{first['model'].replace('_', ' ')}\n{size}"


def compared_models(cases: list[dict]) -> dict[str, dict[str, dict]]:
    """Return, by model and then precision, the cases of models that torch.compile was timed with."""
    models = dict.fromkeys(case["model"] for case in cases if "compile" in case["time_over_eager"])
    largest: dict[str, dict[str, dict]] = {model: {} for model in models}
    # The first of a model and precision is the one at its real size.
    for case in sorted(cases, key=lambda case: "compile" not in case["time_over_eager"]):
        if case["model"] in models:
            largest[case["model"]].setdefault(case["precision"], case)
    return largest


def trim(axes: Axes) -> None:
    """Leave of the axes what a reader needs."""
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0)
    axes.grid(axis="x", color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)


def draw_panel(axes: Axes, models: dict[str, dict[str, dict]], precision: str) -> None:
    """Draw a group of bars for each model, from top to bottom."""
    height = 0.8 / len(BARS)
    for row, cases in enumerate(models.values()):
        if precision not in cases:
            continue
        values = {name: speed_up(cases[precision], name) for name in BARS}
        shown = {name: value for name, value in values.items() if value}
        for i, (name, value) in enumerate(shown.items()):
            y = row + (i - (len(shown) - 1) / 2) * height
            axes.barh(y, value, 0.9 * height, color=BARS[name][1], label=BARS[name][0])
            ink = INK if name == "compile-tenon" else "white"
            axes.text(0.03, y, f"{value:.2f}", va="center", fontsize=7, color=ink)
    axes.axvline(1, color=INK, linewidth=1)
    axes.set_title(precision, fontweight="bold", loc="left")
    axes.set_xlabel("speed-up over eager")
    trim(axes)


def draw_bars(report: dict) -> Figure:
    """Return bars of speed-up by model, a panel for each precision."""
    models = compared_models(report["cases"])
    figure, panels = plt.subplots(1, len(PRECISIONS), figsize=(11, 1.6 + 0.52 * len(models)), sharey=True, sharex=True)
    for axes, precision in zip(panels, PRECISIONS, strict=True):
        draw_panel(axes, models, precision)
    names = [label(cases) for cases in models.values()]
    panels[0].set_yticks(range(len(models)), names)
    panels[0].set_ylim(len(models) - 0.4, -0.6)
    panels[0].set_xlim(0, 1.12 * max((bar.get_width() for axes in panels for bar in axes.patches), default=1))
    found = {}
    for axes in panels:
        found |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(found.values(), found, loc="upper right", ncols=len(found), frameon=False)
    _title(figure, "Models in PyTorch: speed-up over eager", report)
    return figure


def zoo_models(cases: list[dict]) -> dict[str, list[dict]]:
    """Return each model's cases at its own width, those of the least speed-up first."""
    models: dict[str, list[dict]] = {}
    for case in cases:
        if "tenon" in case["time_over_eager"]:
            models.setdefault(case["model"], []).append(case)
    kept = {name: [c for c in members if c["width"] == members[0]["width"]] for name, members in models.items()}
    return dict(sorted(kept.items(), key=lambda item: statistics.median(speed_up(c, "tenon") for c in item[1])))


def draw_zoo(report: dict) -> Figure:
    """Return a dot for each case of each model; hollow ones at batch 128."""
    models = zoo_models(report["cases"])
    figure, axes = plt.subplots(figsize=(9, 1.8 + 0.155 * len(models)))
    for row, members in enumerate(models.values()):
        values = [speed_up(case, "tenon") for case in members]
        axes.plot([min(values), max(values)], [row, row], color=GRID, linewidth=2.5, solid_capstyle="round", zorder=1)
        for case, value in zip(members, values, strict=True):
            color = PRECISIONS.get(case["precision"], OTHER_TYPES)
            fill = "white" if case["batch"] == 128 else color
            axes.plot(value, row, "o", markersize=4.5, markeredgecolor=color, markerfacecolor=fill, zorder=2)
    axes.axvline(1, color=INK, linewidth=1)
    axes.axvline(1 / SLOWER, color=INK, linewidth=0.7, linestyle=(0, (2, 2)))
    axes.set_xscale("log", base=2)
    low, high = axes.get_xlim()
    ticks = [t for t in (0.5, 0.7, 0.8, 0.9, 1, 1.2, 1.4, 1.7, 2, 2.5, 3, 4, 6, 8, 12, 16) if low <= t <= high]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(models)), [name.replace("_", " ") for name in models], fontsize=7)
    axes.set_ylim(-1, len(models))
    axes.set_xlabel(f"speed-up of tenon.torch.optimize over eager; dashed: {SLOWER - 1:.0%} slower")
    trim(axes)
    marks = {**{name: (color, color) for name, color in PRECISIONS.items()}, "fp16, fp64": (OTHER_TYPES, OTHER_TYPES)}
    for name, (edge, fill) in {**marks, "batch 128": (INK, "white")}.items():
        axes.plot([], [], "o", markersize=5, markeredgecolor=edge, markerfacecolor=fill, label=name)
    figure.legend(loc="upper right", ncols=5, frameon=False, handletextpad=0.1, columnspacing=1.2)
    _title(figure, "Every model of the zoo", report)
    return figure


def _title(figure: Figure, text: str, report: dict) -> None:
    """Put a title and where it was measured at the top left, and leave room for them."""
    inches = figure.get_figheight()
    figure.text(0.01, 1 - 0.12 / inches, text, fontsize=13, fontweight="bold", va="top")
    under = f"{report['device']}, PyTorch {report['torch']}, {report['date']}; medians of bursts of ten calls or more"
    figure.text(0.01, 1 - 0.38 / inches, under, fontsize=8, va="top", color=PALE)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.55 / inches))


def draw(report: dict, folder: Path) -> list[Path]:
    """Write both charts; return their paths."""
    written = []
    with plt.rc_context(STYLE):
        for name, make in (("torch_performance", draw_bars), ("torch_zoo", draw_zoo)):
            figure = make(report)
            written.append(folder / f"{name}.svg")
            figure.savefig(written[-1], facecolor="white", metadata={"Date": None})
            plt.close(figure)
    return written


def main() -> None:
    """Draw a report."""
    arguments = [Path(a) for a in sys.argv[1:]]
    source = arguments[0] if arguments else ROOT / "benchmarks/results/torch.json"
    for path in draw(json.loads(source.read_text()), arguments[1] if arguments[1:] else ROOT / "docs"):
        print(path)


if __name__ == "__main__":
    main()
