# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""The page on whole models, made of the report alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from whole_models.jobs import CAPTURED, MODES, SCENARIOS
from whole_models.rows import geometric_mean

Row = dict[str, Any]
LEAST = 0.98  # of torch.compile's speed, for every model
MEANS = {"bf16": 1.10, "fp32": 2.2}  # of the speeds of a scenario in default mode
ERROR = 1.1  # times eager's
FIRST_CALL = {"cold_s": 3.0, "warm_s": 0.5}  # seconds more than torch.compile
TITLES = {
    "bert": "BERT-base",
    "gpt2": "GPT-2",
    "llama": "Llama, 4 layers",
    "t5": "T5-base encoder",
    "vit": "ViT-B/16",
    "swin": "Swin-T",
    "mixer": "Mixer-B/16",
    "prenorm_mlp": "pre-norm MLP",
    "swiglu": "SwiGLU",
    "geglu": "packed GEGLU",
    "recommender": "recommender, batch norm",
    "nerf": "NeRF MLP",
    "lora": "LoRA",
    "classifier": "classifier, log_softmax",
    "linear_act": "linear, × 2, LeakyReLU",
    "linear_norm": "linear, scale, training batch norm",
    "gelu_mlp": "GELU MLP",
    "gelu_mlp_wide": "GELU MLP of 4096",
    "swiglu_1": "SwiGLU, one row",
    "swiglu_8": "SwiGLU, 8 rows",
    "swiglu_64": "SwiGLU, 64 rows",
    "swiglu_8192": "SwiGLU, 8192 rows",
    "geglu_8192": "packed GEGLU of 2048",
    "projections_8": "RMS norm, q, k, v, 8 rows",
    "projections_4096": "RMS norm, q, k, v, 4096 rows",
}


def groups(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return the rows of each scenario and mode, models in the order of TITLES."""
    order = list(TITLES)
    found = {}
    for mode in MODES:
        for scenario in SCENARIOS:
            chosen = [row for row in rows if (row["scenario"], row["mode"]) == (scenario, mode)]
            if chosen:
                found[scenario, mode] = sorted(chosen, key=lambda row: order.index(row["model"]))
    return found


def group_title(scenario: str, mode: str) -> str:
    """Return what a reader calls a scenario in a mode."""
    how = {"default": "", CAPTURED: ", each step one CUDA graph"}.get(mode, f', mode="{mode}"')
    return SCENARIOS[scenario].title + how


def speed_of(row: Row, pair: str = "compile/tenon") -> float | None:
    """Return how much faster the second of a pair is; None where one has failed."""
    found = row["speed"].get(pair)
    return found and found["median"]


def error_ratio(row: Row) -> float | None:
    """Return Tenon's error over eager's, the worst of output and gradients; None where one is not known."""
    ours, theirs = row["errors"].get("tenon"), row["errors"].get("eager")
    return max(float(ours[what]) / float(theirs[what]) for what in theirs) if ours and theirs else None


def memory_ratio(row: Row) -> float | None:
    """Return Tenon's memory at its peak over torch.compile's; None where one is not known."""
    ours, theirs = (row.get("peak_mib", {}).get(name) for name in ("tenon", "compile"))
    return ours / theirs if ours and theirs else None


def number(value: float | str | None, form: str = ".3f") -> str:
    """Return a cell of a table, a dash where there is no number."""
    return "–" if value is None or math.isnan(float(value)) else format(float(value), form)


def sizes_of(row: Row) -> str:
    """Return the inputs' shapes."""
    return ", ".join("×".join(map(str, shape)) for shape in row.get("inputs", []))


def error_cell(row: Row, contender: str) -> str:
    """Return a contender's errors: of the output, and behind a stroke of the gradients."""
    found = row["errors"].get(contender)
    return " / ".join(number(e, ".1e") for e in found.values()) if found else "–"


def cells(row: Row) -> list[str]:
    """Return the cells of a row of a table."""
    ms, ours = row["ms"], row["speed"].get("compile/tenon")
    spread = f" ({ours['low']:.3f}–{ours['high']:.3f})" if ours else ""
    return [
        TITLES[row["model"]],
        sizes_of(row),
        *(number(ms.get(name), ".3f") for name in ("eager", "compile", "tenon")),
        number(speed_of(row)) + spread,
        number(speed_of(row, "eager/tenon")),
        *(error_cell(row, name) for name in ("tenon", "compile", "eager")),
        number(error_ratio(row), ".2f"),
        number(memory_ratio(row), ".2f"),
        row.get("card", "–"),
        row.get("date", "–").partition("T")[0],
    ]


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """Return a table of Markdown."""
    lines = [head, ["---"] * len(head), *body]
    return [f"| {' | '.join(line)} |" for line in lines]


def group_lines(scenario: str, mode: str, rows: Sequence[Row]) -> list[str]:
    """Return the part of the page on a scenario in a mode."""
    head = ["model", "inputs", "eager ms", "torch.compile ms", "Tenon ms", "compile / Tenon (quartiles)"]
    head += ["eager / Tenon", "error of Tenon", "of torch.compile", "of eager", "Tenon's / eager's"]
    head += ["peak memory / torch.compile's", "card", "date"]
    mean = number(geometric_mean(s for row in rows if (s := speed_of(row)) is not None))
    eager = number(geometric_mean(s for row in rows if (s := speed_of(row, "eager/tenon")) is not None))
    last = ["geometric mean", "", "", "", "", mean, eager, "", "", "", "", "", "", ""]
    return [f"## {group_title(scenario, mode)}", "", *table(head, [*map(cells, rows), last]), ""]


def target_row(scenario: str, mode: str, rows: Sequence[Row]) -> list[str]:
    """Return what was to be reached by a scenario in a mode, and what was."""
    speeds = {row["model"]: s for row in rows if (s := speed_of(row)) is not None}
    mean = MEANS.get(scenario) if mode == "default" else None
    slow = [f"{TITLES[model]} {s:.3f}" for model, s in speeds.items() if s < LEAST]
    slow += [f"{TITLES[row['model']]} not measured" for row in rows if row["model"] not in speeds]
    wrong = [
        f"{TITLES[row['model']]} {ratio:.2f}"
        for row in rows
        if (ratio := error_ratio(row)) is not None and ratio > ERROR
    ]
    return [
        group_title(scenario, mode),
        f"{len(speeds)} of {len(SCENARIOS[scenario].models)}",
        number(min(speeds.values(), default=None)),
        "; ".join(slow) or "none",
        number(geometric_mean(speeds.values())),
        number(mean, ".2f"),
        "; ".join(wrong) or "none",
    ]


def first_call_lines(calls: Sequence[Row]) -> list[str]:
    """Return the part of the page on first calls."""
    found = {(c["model"], c["scenario"], c["contender"]): c for c in calls}
    body = []
    for model, scenario in dict.fromkeys(name[:2] for name in found):
        theirs, ours = (found.get((model, scenario, name)) for name in ("compile", "tenon"))
        if not theirs or not ours:
            continue
        seconds = [min(c[kind], default=None) for kind in FIRST_CALL for c in (theirs, ours)]
        more = [None if None in pair else pair[1] - pair[0] for pair in (seconds[:2], seconds[2:])]
        facts = [ours.get("card", "–"), ours.get("date", "–").partition("T")[0]]
        body.append([TITLES[model], SCENARIOS[scenario].title, *(number(s, ".2f") for s in (*seconds, *more)), *facts])
    if not body:
        return []
    head = ["model", "", "cold: torch.compile s", "Tenon s", "warm: torch.compile s", "Tenon s"]
    head += ["more, cold", "more, warm", "card", "date"]
    return [
        "## First calls",
        "",
        f"To be reached: at most {FIRST_CALL['cold_s']:g} s more than torch.compile with empty caches, and "
        f"{FIRST_CALL['warm_s']:g} s with those that a process before left. The fastest of the processes of a kind.",
        "",
        *table(head, body),
        "",
    ]


def failure_lines(report: dict) -> list[str]:
    """Return what failed, by its message."""
    found = [
        f"- {TITLES[row['model']]}, {group_title(row['scenario'], row['mode'])}, {who}: `{' '.join(why.split())[:200]}`"
        for row in report["rows"]
        for who, why in row["failed"].items()
    ]
    return ["## What failed", "", *found, ""] if found else []
