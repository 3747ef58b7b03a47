# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: RUF001
"""The part of docs/Performance.md on batch norm over several GPUs.

From sync_batch_norm.json: what test/python/test_sync_batch_norm_gpu.py prints, its times and its errors;
report_batch_norm.py calls it.
"""

from __future__ import annotations

from tables import markdown

MODES = {
    "eager": "tenon.torch.SyncBatchNorm, eager",
    "compiled": "tenon.torch.SyncBatchNorm, tenon",
    "of_torch": "torch.nn.SyncBatchNorm",
}


def time_table(report: dict) -> list[str]:
    """Return the milliseconds of a step, of the slower GPU."""
    rows, ranks = [], {}
    for entry in report["times"]:
        ranks.setdefault(entry["MxNxK"], []).append(entry["milliseconds"])
    for size, of_ranks in ranks.items():
        slower = {name: max(times[name] for times in of_ranks) for name in of_ranks[0]}
        peer = slower["torch.nn.SyncBatchNorm"]
        rows += [f"{size.replace('x', '×')} | {name} | {ms:.3f} | {peer / ms:.2f}" for name, ms in slower.items()]
    return markdown("rows a GPU × N × K | layer | ms | times as fast as PyTorch's", rows)


def error_table(report: dict) -> list[str]:
    """Return the largest errors of each way to compute it, over all divisions of the batch."""
    rows = []
    for mode, name in MODES.items():
        for dtype in ("float32", "bfloat16", "float64"):
            found = [
                e
                for e in report["errors"]
                if e["mode"] == mode
                and "far" not in e["case"]
                and (f"dtype={dtype}" in e["case"] or (dtype == "float32" and "dtype" not in e["case"]))
            ]
            worst = [max(e[key] for e in found) for key in ("result_error", "statistics_error")]
            rows.append(f"{name} | {dtype} | {worst[0]:.1e} | {worst[1]:.1e}")
    return markdown("layer | type | results, absolute | statistics, relative", rows)


def section(report: dict) -> list[str]:
    """Return the section."""
    facts = report["environment"]
    return [
        "### Over several GPUs",
        "",
        f"From `benchmarks/results/sync_batch_norm.json`, which has what `{report['source']}` prints: "
        f"{facts['count']} {facts['device']}, NCCL, PyTorch {facts['torch']}, {facts['date']}. A layer without "
        "bias, batch norm over both GPUs and GELU in bf16; medians of the slower GPU.",
        "",
        *time_table(report),
        "",
        "Largest errors against one process with the whole batch in float64, of small layers whose batch is divided in "
        "several ways:",
        "",
        *error_table(report),
        "",
    ]
