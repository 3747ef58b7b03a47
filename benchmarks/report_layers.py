# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""The part of docs/Performance.md on single layers: a row a kind of layer, from the reports of tenon-bench."""

from __future__ import annotations

from collections.abc import Iterator

from measured import (
    TIMINGS,
    card,
    contenders,
    extents,
    geometric_mean,
    milliseconds,
    number,
    ours,
    ratio,
)
from tables import markdown

FEW_ROWS = 128  # up to which a layer mostly reads w


def tiled(report: dict) -> Iterator[tuple[dict, dict, dict]]:
    """Give each case with eager and the tiled kernel, where both were timed."""
    for case in report["cases"]:
        found = contenders(case)
        pair = [found.get(name, {}) for name in ("eager", "tiled")]
        if all("times" in one for one in pair) and pair[1]["strategy"] == "tiled":
            yield case, *pair


def kind(case: dict) -> tuple[str, str, str]:
    """Return the kind of layer that a row is of: epilogue, rows and precision."""
    return case["model"], f"at most {FEW_ROWS}" if case["m"] <= FEW_ROWS else "more", case["dtype"]


def worst_of(cases: list[dict]) -> str:
    """Write the mean and the largest of the worst ratios to cuBLAS."""
    worst = [contenders(case)["tiled"]["worst_time_over_cublas"] for case in cases]
    return f"{geometric_mean(worst):.3f} / {max(worst):.3f}" if worst else "–"


def tiled_table(reports: list[dict]) -> list[str]:
    """One row a kind of layer, with what every report, a card's, has of it."""
    rows = []
    for one in dict.fromkeys(kind(case) for report in reports for case, _, _ in tiled(report)):
        found = [[entry for entry in tiled(report) if kind(entry[0]) == one] for report in reports]
        every = [entry for entries in found for entry in entries]
        gains = [min(ratio(eager, mine, timing) for timing in TIMINGS) for _, eager, mine in every]
        errors = [mine["rms_error_over_cublas"] for _, _, mine in every]
        cells = " | ".join(worst_of([case for case, _, _ in entries]) for entries in found)
        rows.append(
            f"{' | '.join(one)} | {max(map(len, found))} | {cells} | {geometric_mean(gains):.2f}× / {min(gains):.2f}× "
            f"| {max(errors):.2f}"
        )
    cards = " | ".join(f"{card(report)}: mean / largest" for report in reports)
    return markdown(
        f"epilogue | rows | precision | shapes | {cards} | faster than eager: mean / least "
        "| rms error / cuBLAS's, at most",
        rows,
    )


def compile_lines(report: dict) -> list[str]:
    """Return how the tiled kernels stand beside torch.compile: a row a precision, and what could not be compared."""
    by_dtype: dict[str, list[tuple[float, float, dict]]] = {}
    for case in report["cases"]:
        found = contenders(case)
        gains = [ratio(found.get("compile", {}), found.get("tiled", {}), timing) for timing in TIMINGS]
        if None not in gains:
            by_dtype.setdefault(case["dtype"], []).append((min(gains), gains[1], case))
    rows = []
    for dtype, entries in by_dtype.items():
        least, _, where = min(entries, key=lambda entry: entry[0])
        mean = geometric_mean(gain for _, gain, _ in entries)
        ahead = sum(gain > 1 for gain, _, _ in entries)
        rows.append(
            f"{dtype} | {ahead} of {len(entries)} | {mean:.2f}× | {least:.2f}× ({where['model']}, {extents(where)})"
        )
    failed = [
        f"- {case['name']}, torch.compile: {one['failed'].splitlines()[0]}"
        for case in report["cases"]
        if "failed" in (one := contenders(case).get("compile", {}))
    ]
    header = "precision | faster in every way of timing | in bursts, geometric mean | least of any timing"
    return [*markdown(header, rows), *(["", "Not compared:", "", *failed] if failed else [])]


def sweep_table(report: dict) -> list[str]:
    """One row a precision, and one of all: tiled kernels over cuBLAS, the geometric mean and the largest."""
    by_dtype: dict[str, list[tuple[float, dict]]] = {}
    for case in report["cases"]:
        if "worst_time_over_cublas" in (one := contenders(case).get("tiled", {})):
            by_dtype.setdefault(case["dtype"], []).append((one["worst_time_over_cublas"], case))
    rows = []
    for dtype, entries in [*by_dtype.items(), ("all", [e for found in by_dtype.values() for e in found])]:
        most, where = max(entries, key=lambda entry: entry[0])
        mean = geometric_mean(ratio for ratio, _ in entries)
        rows.append(f"{dtype} | {len(entries)} | **{mean:.3f}** | {most:.2f} ({extents(where)} {where['dtype']})")
    return markdown("precision | shapes | tiled / cuBLAS, mean | largest", rows)


def regret_table(report: dict) -> list[str]:
    """One row a way to choose and a set of layers: the time of what was chosen over that of the fastest."""
    ways = {"predicted": "`auto`, by prediction", "measured": "`torch.compile`, by trials"}
    rows = []
    for way, title in ways.items():
        for kind in ("of the models", "random"):
            found = [(row[way], row) for row in report["rows"] if row["kind"] == kind]
            most, where = max(found, key=lambda one: one[0])
            mean = geometric_mean(regret for regret, _ in found)
            layer = "×".join(map(str, where["layer"]))
            rows.append(f"{title} | {kind} | {len(found)} | **{mean:.3f}** | {most:.2f} ({where['epilogue']}, {layer})")
    return markdown("choice | layers | count | over the fastest, mean | largest", rows)


def eager_table(report: dict) -> list[str]:
    """One row a case: Tenon's choice beside eager, with both errors."""
    rows = []
    for case in report["cases"]:
        eager, mine = contenders(case).get("eager", {}), ours(case)
        gains = [ratio(eager, mine, timing) for timing in TIMINGS[1:]]
        if None in gains:
            continue
        model = f"{case['model']}, new parameters" if case["new_parameters"] else case["model"]
        rows.append(
            f"{model} | {extents(case)} | {case['dtype']} | {mine['strategy']} | {milliseconds(eager):.4f} "
            f"| {milliseconds(mine):.4f} | **{gains[0]:.2f}×** | {gains[1]:.2f}× "
            f"| {mine['rms_error'] / eager['rms_error']:.2f}"
        )
    return markdown(
        "epilogue | M×N×K | precision | auto chose | eager, ms | Tenon, ms | faster in bursts | sustained "
        "| rms error / eager's",
        rows,
    )


def statistics_errors(case: dict) -> list[float]:
    """Return Tenon's rms errors over eager's, of y and of each new running statistic."""
    mine, eager = ours(case) or contenders(case).get("auto", {}), contenders(case).get("eager", {})
    pairs = [(mine, eager), *zip(mine["statistics"].values(), eager["statistics"].values(), strict=True)]
    return [a["rms_error"] / b["rms_error"] if b["rms_error"] else float(a["rms_error"] > 0) for a, b in pairs]


def batch_norm_table(report: dict) -> list[str]:
    """One row a timed case of random data: Tenon's choice beside all peers."""
    rows = []
    for case in report["cases"]:
        found, mine = contenders(case), ours(case)
        if case["data"] != "random" or not mine:
            continue
        eager, compiled = (ratio(found.get(peer, {}), mine) for peer in ("eager", "compile"))
        rows.append(
            f"{case['model']} | {extents(case)} | {case['dtype']} | {mine['reduction']} "
            f"| {milliseconds(found['cublas']):.4f} | {milliseconds(mine):.4f} | {ratio(mine, found['cublas']):.2f} "
            f"| {number(compiled, '.2f', '×')} | {number(eager, '.2f', '×')} | {max(statistics_errors(case)):.2f}"
        )
    return markdown(
        "epilogue | M×N×K | precision | auto chose | product, ms | Tenon, ms | Tenon / product "
        "| faster than torch.compile | than eager | rms error / eager's, largest of the results",
        rows,
    )


def offset_lines(report: dict) -> list[str]:
    """Say how Tenon errs where columns have large means."""
    found = [max(statistics_errors(case)) for case in report["cases"] if case["data"] == "offset"]
    return [
        "Where every fourth column has a mean of about 1e4 and a deviation of about 1e-2 (data `offset`,",
        f"{len(found)} cases), Tenon's rms error over eager's is {max(found):.2f} at most.",
    ]


def sync_table(report: dict) -> list[str]:
    """One row a layer and size: milliseconds of the slower GPU."""
    rows = []
    for size in dict.fromkeys(entry["MxNxK"] for entry in report["times"]):
        of_ranks = [entry["milliseconds"] for entry in report["times"] if entry["MxNxK"] == size]
        slower = {name: max(times[name] for times in of_ranks) for name in of_ranks[0]}
        peer = slower["torch.nn.SyncBatchNorm"]
        rows += [f"{size.replace('x', '×')} | {name} | {ms:.3f} | {peer / ms:.2f}×" for name, ms in slower.items()]
    return markdown("rows a GPU × N × K | layer | ms | faster than PyTorch's", rows)


def triton_best(report: dict) -> dict[tuple[str, tuple[int, ...]], float]:
    """Return, by type and shape, the time of Triton's best configuration over torch.mm's."""
    best: dict[tuple[str, tuple[int, ...]], float] = {}
    for case in report["cases"]:
        key = case["dtype"], tuple(case["shape"])
        for result in case["configs"].values():
            if "ratio" in result:
                best[key] = min(best.get(key, float("inf")), 1 / result["ratio"])
    return best


def mma_sync_table(report: dict, triton: dict) -> list[str]:
    """One row a precision: kernels on mma.sync over cuBLAS, which uses wgmma, and beside Triton's on mma.sync."""
    theirs, rows = triton_best(triton), []
    for dtype in dict.fromkeys(case["dtype"] for case, _, _ in tiled(report)):
        entries = [entry for entry in tiled(report) if entry[0]["dtype"] == dtype]
        beside = [
            theirs[key] / mine["time_over_cublas"]["burst"]
            for case, _, mine in entries
            if case["model"] == "bias_mul2_leaky_relu" and (key := (dtype, (case["m"], case["n"], case["k"]))) in theirs
        ]
        rows.append(
            f"{dtype} | {len(entries)} | {worst_of([case for case, _, _ in entries])} "
            f"| {geometric_mean(beside):.2f}× of {len(beside)}"
        )
    return markdown("precision | layers | over cuBLAS: mean / largest | faster than Triton's best, mean", rows)
