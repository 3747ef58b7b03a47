# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""The table of layers from PyTorch, of what bench_layers.py measured."""

from __future__ import annotations

from collections.abc import Iterable

from measured import number
from tables import markdown

NAMES = {
    "lse": "logsumexp",
    "max": "maximum",
    "argmax": "argmax",
    "mean": "mean",
    "sigmoid_sum": "sum after a sigmoid",
    "gelu_softmax": "GELU, softmax",
    "group_norm": "group norm of 16, SiLU",
    "max_pool": "max pooling of 4",
    "layer_norm": "layer norm",
    "rms_norm": "RMS norm",
    "log_softmax": "log_softmax",
    "cross_entropy": "cross entropy",
    "small_norm": "layer norm, GELU",
    "scaled_silu": "bias, SiLU",
    "scaled_silu_wide": "bias, SiLU",
    "scaled_silu_large": "bias, SiLU",
    "quantised": "bias, SiLU, result of 8 bits",
    "quantised_rows": "bias, SiLU, rows of 8 bits with a scale",
    "blocks": "scales of blocks, bias, SiLU",
    "blocks_few_rows": "scales of blocks, bias, SiLU",
}
OTHERS = ("product", "compile", "eager")


def _over(ours: dict, other: dict, figure: str) -> float | None:
    a, b = ours.get(figure), other.get(figure)
    return a / b if a and b else None


def layers_table(cases: Iterable[dict]) -> list[str]:
    """One row a layer: milliseconds, over the other contenders' times, and the error over theirs."""
    lines = []
    for case in cases:
        found = case["contenders"]
        ours = found.get("tenon", {})
        others = [found.get(name, {}) for name in OTHERS]
        cells = [f"{NAMES[case['name']]}, {case['type']}", f"{case['m']}×{case['n']}×{case['k']}"]
        cells += [number(ours.get("ms"), ".3f"), *(number(_over(ours, other, "ms"), ".3f") for other in others)]
        cells += [number(_over(ours, other, "error"), ".2f") for other in others[1:]]
        lines.append(" | ".join([*cells, case["date"][:10]]))
    header = "layer | M×N×K | ms | of the bare product | of torch.compile | of eager"
    return markdown(header + " | error of torch.compile's | of eager's | date", lines)
