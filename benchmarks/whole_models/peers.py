# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""What programs of benchmarks/peers have measured, for the page on whole models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from whole_models.jobs import CAPTURED
from whole_models.page import TITLES, Row, table

RESULTS = Path(__file__).resolve().parents[1] / "results"
QUACK, PAIRS = RESULTS / "quack_mlp.json", RESULTS / "cublaslt_pairs.json"
# What cuBLASLt has for training, and Tenon's kernel of the same.
EPILOGUES = {
    "DRELU_BGRAD": ("backward drelu_bgrad", "backward drelu_sum"),
    "DGELU_BGRAD": ("backward dgelu_bgrad", "backward dgelu_tanh_sum"),
    "RELU_AUX_BIAS": ("forward relu_aux_bias", "forward relu"),
    "GELU_AUX_BIAS": ("forward gelu_aux_bias", "forward gelu_tanh"),
}


def peer_lines(rows: Sequence[Row]) -> list[str]:
    """Return the sections on peers that have been measured."""
    quack = quack_lines(json.loads(QUACK.read_text()), rows) if QUACK.exists() else []
    return [*quack, *(pair_lines(json.loads(PAIRS.read_text())) if PAIRS.exists() else [])]


def quack_lines(report: dict, rows: Sequence[Row]) -> list[str]:
    """Return the section on QuACK's gated layers, beside Tenon's of the same sizes."""
    ours = {row["model"]: row["ms"] for row in rows if (row["scenario"], row["mode"]) == ("bf16-blocks", CAPTURED)}

    def line(title: str, ours: dict[str, float], theirs: dict) -> list[str]:
        shares = [
            theirs["graphs_ms"][name] / theirs["graphs_ms"]["compile"] for name in ("quack_tuned", "quack_default")
        ]
        cells = [f"{ours['tenon'] / ours['compile']:.3f}", *(f"{share:.3f}" for share in shares)]
        return [title, *cells, f"{theirs['errors']['quack_tuned']:.1e}"]

    modules = {"swiglu": "swiglu_8192", "geglu": "geglu_8192"}
    found = [line(TITLES[key], ours[key], report[name]) for name, key in modules.items() if key in ours]
    return [
        "## QuACK's gated layers",
        "",
        f"Shares of torch.compile's time, each in the process of its own contenders; QuACK's of {report['date'][:10]},",
        f"{report['card']}. Its gelu is tanh's form. bf16, no gradients, each call one CUDA graph.",
        "",
        *table(["model", "Tenon", "QuACK, tuned", "QuACK, by default", "error of QuACK"], found),
        "",
    ]


def pair_lines(report: dict) -> list[str]:
    """Return the section on cuBLASLt's epilogues of training: their times over those of Tenon's kernels."""

    def cell(contenders: dict, theirs: str, ours: str) -> str:
        exact = ours.replace("_tanh", "")  # f32 has no other
        ours_us = contenders.get(f"tenon {ours}", contenders[f"tenon {exact}"])["us"]
        return f"{contenders[f'cublaslt {theirs}']['us'] / ours_us:.2f}"

    found = [
        [
            "×".join(map(str, case["shape"])),
            case["dtype"],
            *(cell(case["contenders"], *pair) for pair in EPILOGUES.values()),
        ]
        for case in report["cases"]
    ]
    facts = report["environment"]
    return [
        "## cuBLASLt's epilogues of training",
        "",
        "Their time over that of Tenon's kernel of the same, in which a derivative has the bias' sums too; of f32",
        f"Tenon's gelu is the exact one. {facts['device']}, PyTorch {facts['torch']}, {facts['date'][:10]}.",
        "",
        *table(["M×N×K", "precision", *EPILOGUES], found),
        "",
    ]
