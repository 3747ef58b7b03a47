# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""The head of docs/Performance.md, which README.md has in short: whole models and the three layers of examples/."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from measured import RESULTS, card, contenders, date, extents, geometric_mean, join, milliseconds, number, ours, ratio
from measured import read as read_report
from tables import markdown
from whole_models.jobs import CAPTURED, SCENARIOS
from whole_models.page import TITLES, Row, error_ratio, group_title, groups, speed_of
from whole_models.rows import read as read_rows

# The layers of examples/: what a reader calls them, model and shape, the reports that have them, in the order in which
# they are asked, and those that have torch.compile, in one file or in parts.
MUL_LEAKY_RELU = "linear, × 2, LeakyReLU", "bias_mul2_leaky_relu"
BATCH_NORM = "linear, scale, batch norm", "bias_scale_batch_norm"
LAYERS = (
    (*MUL_LEAKY_RELU, (1024, 8192, 8192), ("sm90a", "fp32"), ("sm90a_compile", "fp32_compile")),
    (*BATCH_NORM, (1024, 8192, 8192), ("batch_norm",), ("batch_norm_compile",)),
    (*BATCH_NORM, (16384, 4096, 4096), ("batch_norm",), ("batch_norm",)),
)
PRECISIONS = ("bf16", "f16", "tf32", "fp32")
COLORS = ("#1f5fa8", "#e39a3b", "#b3b8bf")
PEERS = {"ours": "Tenon", "compile": "torch.compile, max-autotune", "eager": "PyTorch eager"}


@dataclass(frozen=True)
class Layer:
    """One of these layers in one precision; ratios are None where a peer was not measured."""

    name: str
    dtype: str
    product_ms: float
    ours_ms: float
    over_product: dict[str, float | None]  # by peer: its time over cuBLAS's bare product, of bursts
    error: float  # Tenon's rms error over eager's
    origin: str

    def gain(self, peer: str) -> float | None:
        """Return how many times faster Tenon is."""
        theirs = self.over_product[peer]
        return theirs / self.over_product["ours"] if theirs else None


def find(report: dict, model: str, shape: tuple[int, int, int], dtype: str) -> dict | None:
    """Return a case of a report."""
    for case in report["cases"]:
        key = (case["model"], (case["m"], case["n"], case["k"]), case["dtype"])
        if key == (model, shape, dtype) and case["data"] == "random" and not case["new_parameters"]:
            return case
    return None


def over_compile(case: dict | None) -> float | None:
    """Return torch.compile's time over Tenon's, both of one run."""
    return ratio(contenders(case).get("compile", {}), ours(case)) if case else None


def layers(folder: Path = RESULTS) -> Iterator[Layer]:
    """Give the layers of examples/ as they were measured."""
    for title, model, shape, sources, compiled in LAYERS:
        parts = [path.stem for name in compiled for path in sorted(folder.glob(f"{name}*.json"))]
        beside = join(read_report(part, folder) for part in parts)
        reports = [read_report(source, folder) for source in sources]
        for dtype in PRECISIONS:
            found = [(report, case) for report in reports if (case := find(report, model, shape, dtype)) and ours(case)]
            if found:
                yield layer(title, *found[0], over_compile(find(beside, model, shape, dtype)))


def layer(name: str, report: dict, case: dict, compile_gain: float | None) -> Layer:
    """Return a layer as a report has it; torch.compile, which another run may have timed, by its time over Tenon's."""
    found, mine = contenders(case), ours(case)
    over = {"ours": ratio(mine, found["cublas"]), "eager": ratio(found["eager"], found["cublas"])}
    return Layer(
        f"{name}, {extents(case)}",
        case["dtype"],
        milliseconds(found["cublas"]),
        milliseconds(mine),
        over | {"compile": compile_gain and compile_gain * over["ours"]},
        mine["rms_error"] / found["eager"]["rms_error"],
        f"{card(report)}, {date(report)}",
    )


def layer_table(found: list[Layer]) -> list[str]:
    """One row a layer and precision."""
    rows = [
        f"{one.name} | {one.dtype} | {one.product_ms:.3f} | {one.ours_ms:.3f} | **{one.over_product['ours']:.3f}** "
        f"| {number(one.gain('compile'), '.2f', '×')} | {number(one.gain('eager'), '.2f', '×')} | {one.error:.2f} "
        f"| {one.origin}"
        for one in found
    ]
    return markdown(
        "layer, M×N×K | precision | cuBLAS's bare product, ms | Tenon's whole layer, ms | Tenon / product "
        "| faster than torch.compile | than eager | rms error / eager's | measured",
        rows,
    )


@dataclass(frozen=True)
class Group:
    """All whole models of a scenario and mode."""

    name: str
    models: int  # that are to be measured
    rows: list[Row]

    def speeds(self, pair: str) -> list[float]:
        """Return the speeds of those that were measured."""
        return [speed for row in self.rows if (speed := speed_of(row, pair)) is not None]

    def origin(self) -> str:
        """Return card and day."""
        facts = {(row["card"].removeprefix("NVIDIA "), row["date"][:10]) for row in self.rows if "card" in row}
        return "; ".join(f"{gpu}, {day}" for gpu, day in sorted(facts))

    def errors(self) -> list[float]:
        """Return Tenon's errors over eager's."""
        return [error for row in self.rows if (error := error_ratio(row)) is not None]


def whole_models(folder: Path = RESULTS) -> list[Group]:
    """Return the groups in the order of docs/WholeModels.md, without those of the GPU's time alone."""
    rows = read_rows(folder / "whole_models.json")["rows"]
    return [
        Group(group_title(scenario, mode), len(SCENARIOS[scenario].models), found)
        for (scenario, mode), found in groups(rows).items()
        if mode != CAPTURED
    ]


def model_table(found: list[Group]) -> list[str]:
    """One row a scenario: means, and the worst model."""
    rows = []
    for one in found:
        compiled = one.speeds("compile/tenon")
        rows.append(
            f"{one.name} | {len(compiled)} of {one.models} | **{geometric_mean(compiled):.2f}×** "
            f"| {min(compiled):.2f}× | {geometric_mean(one.speeds('eager/tenon')):.2f}× | {max(one.errors()):.2f} "
            f"| {one.origin()}"
        )
    return markdown(
        "whole models | measured | faster than torch.compile, geometric mean | the slowest | than eager, mean "
        "| error / eager's, largest | measured on",
        rows,
    )


def short_table(models: list[Group], found: list[Layer]) -> list[str]:
    """README's table: one row a scenario of whole models, then one a layer and precision of bf16 and fp32."""
    rows = []
    for one in models:
        compiled = one.speeds("compile/tenon")
        rows.append(
            f"{len(compiled)} whole models, {one.name} | {geometric_mean(compiled):.2f}× ({min(compiled):.2f}× to "
            f"{max(compiled):.2f}×) | {geometric_mean(one.speeds('eager/tenon')):.2f}× | {max(one.errors()):.2f} "
            f"| {one.origin()}"
        )
    rows += [
        f"{one.name}, {one.dtype} | {number(one.gain('compile'), '.2f', '×')} "
        f"| {number(one.gain('eager'), '.2f', '×')} | {one.error:.2f} | {one.origin}"
        for one in found
        if one.dtype in ("bf16", "fp32")
    ]
    return markdown("on one GPU | faster than torch.compile | than eager | error / eager's | measured", rows)


def draw(models: list[Group], found: list[Layer], path: Path) -> None:
    """Draw speeds of whole models over torch.compile's, and times of the layers over cuBLAS's bare product."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (above, below) = plt.subplots(2, 1, figsize=(10, 6.4))
    names = [TITLES[row["model"]] for row in models[0].rows]
    speeds = [speed_of(row) or 0 for row in models[0].rows]
    above.bar_label(above.bar(range(len(names)), speeds, color=COLORS[0]), [f"{s:.2f}" for s in speeds], fontsize=7)
    above.axhline(1, color="black", linewidth=0.8)
    above.set_xticks(range(len(names)), names, rotation=20, ha="right", fontsize=7)
    above.set_ylabel("speed / torch.compile's", fontsize=8)
    above.set_title(f"Whole models, {models[0].name} ({models[0].origin()}): longer is better", fontsize=9)
    for i, (peer, label) in enumerate(PEERS.items()):
        heights = [one.over_product[peer] or 0 for one in found]
        bars = below.bar([j + i * 0.27 for j in range(len(found))], heights, 0.27, label=label, color=COLORS[i])
        below.bar_label(bars, [f"{height:.2f}" if height else "" for height in heights], fontsize=6)
    below.axhline(1, color="black", linewidth=0.8)
    labels = ["\n".join([*one.name.removeprefix("linear, ").rsplit(", ", 1), one.dtype]) for one in found]
    below.set_xticks([j + 0.27 for j in range(len(found))], labels, fontsize=6)
    below.set_ylabel("time / cuBLAS's bare product", fontsize=8)
    below.set_title("Linear layers with what follows them: shorter is better", fontsize=9)
    below.legend(fontsize=7, loc="upper left", ncols=len(PEERS))
    below.set_ylim(0, 1.2 * max(height or 0 for one in found for height in one.over_product.values()))
    figure.tight_layout()
    with plt.rc_context({"svg.hashsalt": "tenon", "svg.fonttype": "none"}):  # the same file each time
        figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
