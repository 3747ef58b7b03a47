#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/Performance.md, its chart, and the figures in README.md and docs/Precision.md from benchmarks/results.

No figure of those pages is typed by hand. whole_models/report.py writes docs/WholeModels.md. Needs matplotlib.

Usage: report.py
"""

from __future__ import annotations

from pathlib import Path

import report_from_pytorch
import report_headline
import report_layers
import report_precision
from measured import RESULTS, join, origin, read, wrong
from report_headline import layers, whole_models

ROOT = Path(__file__).resolve().parent.parent
PAGE, README, CHART = ROOT / "docs/Performance.md", ROOT / "README.md", ROOT / "docs/performance.svg"
BEGIN, END = "<!-- performance: begin -->", "<!-- performance: end -->"
REPORTS = ("sm90a", "sm90a_again", "sm90a_sweep", "fp32", "batch_norm", "sm80")
TEXT = """\
# Performance

![Speed of whole models over torch.compile's, and times of layers over cuBLAS's bare product](performance.svg)

## In short

{models}

Each model, its times and its errors: [Whole models](WholeModels.md). The layers of `examples/`, ten calls back to
back, with everything that follows the product:

{layers}

## How it is measured

- `benchmarks/report.py` writes this page from `benchmarks/results`. To measure anew: [Benchmarking](Benchmarking.md).
- All contenders of a case take turns in one process on the same random data; a time is a median of CUDA graphs,
  without the host. *Single* is one call from idle, *burst* ten back to back, *sustained* the calls under a
  contender's own load. Where a table says nothing else, it has the **worst** ratio of the three.
- cuBLAS's bare product is `torch.mm` without anything that follows; eager and torch.compile (max-autotune) compute
  the whole layer. Below 1 of the product is faster than it. Whole models are timed with the host's part.
- Errors are against float64, over those of eager, or of cuBLAS's product with an exact epilogue.

## Layers on Hopper

Kernels of TMA and `wgmma` (`--target=sm_90a`), strategy `tiled`, over cuBLAS's bare product: geometric mean of the
shapes, and the largest. {origin_sm90a}; {origin_sm90a_again}.

{tiled}

Beside torch.compile, max-autotune ({origin_compile}):

{compile}

## A sweep of shapes

`bias_mul2_leaky_relu`, M from 1 to 32768, odd sizes and primes among the shapes: the tiled kernel over cuBLAS's bare
product, also where `auto` would leave the layer to the library. {origin_sm90a_sweep}.

{sweep}

## What the choice costs

Strategy `library` or `tiled`: the time of what is chosen over that of the faster one, in bf16, on all linear layers of
the whole models and on random ones between 64 and 8192 in M, N and K, each with a bias and ReLU (which cuBLASLt has) or
GELU (which it has not). {origin_regret}.

{regret}

## Products of f32

Precision fp32 is computed by f16 halves ([Precision](Precision.md)), what splits x included; *new parameters*: what
splits w too. Eager computes fp32 with `highest`, tf32 with `high`. Ten calls back to back. {origin_fp32}.

{eager}

## Layers from PyTorch

Layers whose rows are reduced or normalised, and `torch._scaled_mm` on float8_e4m3fn with scales of rows and sums in
f32, beside products of the same type; ten calls back to back, the host (some 0.1 ms a call) ahead if it can;
below 1 is faster, or errs less. A loss is that of each row. {origin_rows}; {origin_fp8}.

{from_pytorch}

## Training batch norm

Layers with their batch statistics and new running statistics, ten calls back to back. {origin_batch_norm}.

{batch_norm}

{offset}

Over {sync[count]} GPUs, a layer without bias, batch norm over both and GELU in bf16 (`sync_batch_norm.json`, what
`test/python/test_sync_batch_norm_gpu.py` prints: {sync[device]}, NCCL, PyTorch {sync[torch]}, {sync[date]}):

{sync_table}

## Kernels on mma.sync

What GPUs before Hopper run, on a Hopper, where cuBLAS has `wgmma` and these have not; nothing was measured on an
Ampere or Ada GPU. Triton {triton} is lowered to `mma.sync` too ([how](../benchmarks/peers/README.md)).
{origin_sm80}; `triton_mma.json`.

{mma_sync}

{wrong}
"""


def page(folder: Path = RESULTS) -> str:
    """Return docs/Performance.md."""
    found = {name: read(name, folder) for name in REPORTS}
    compiled = join(read(path.stem, folder) for path in sorted(folder.glob("sm90a_compile*.json")))
    sync, triton, regret = (read(name, folder) for name in ("sync_batch_norm", "triton_mma", "regret"))
    rows, fp8 = read("rows", folder), read("fp8", folder)
    complaints = wrong(found.values(), ("auto",)) + wrong((found[n] for n in REPORTS if n.startswith("sm")), ("tiled",))
    tables = {
        "models": report_headline.model_table(whole_models(folder)),
        "layers": report_headline.layer_table(list(layers(folder))),
        "tiled": report_layers.tiled_table([found["sm90a"], found["sm90a_again"]]),
        "compile": report_layers.compile_lines(compiled),
        "sweep": report_layers.sweep_table(found["sm90a_sweep"]),
        "regret": report_layers.regret_table(regret),
        "eager": report_layers.eager_table(found["fp32"]),
        "from_pytorch": report_from_pytorch.layers_table([*rows["cases"], *fp8["cases"]]),
        "batch_norm": report_layers.batch_norm_table(found["batch_norm"]),
        "offset": report_layers.offset_lines(found["batch_norm"]),
        "sync_table": report_layers.sync_table(sync),
        "mma_sync": report_layers.mma_sync_table(found["sm80"], triton),
        "wrong": ["Not as they should be:", "", *complaints] if complaints else ["Every result shown is right."],
    }
    origins = {f"origin_{name}": origin(name, report) for name, report in found.items()}
    return TEXT.format(
        **{name: "\n".join(lines) for name, lines in tables.items()},
        **origins,
        origin_compile=origin("sm90a_compile", compiled),
        origin_regret=origin("regret", regret),
        origin_rows=origin("rows", rows),
        origin_fp8=origin("fp8", fp8),
        sync=sync["environment"],
        triton=triton["triton"],
    )


def readme(text: str, folder: Path = RESULTS) -> str:
    """Return README.md with its table as the results have it."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"README.md has no lines {BEGIN} and {END}; put the table's place back")
    table = report_headline.short_table(whole_models(folder), list(layers(folder)))
    return "\n".join([before + BEGIN, *table, end + after])


def main() -> None:
    """Write the pages and the chart."""
    report_headline.draw(whole_models(), list(layers()), CHART)
    PAGE.write_text(page())
    README.write_text(readme(README.read_text()))
    report_precision.main()


if __name__ == "__main__":
    main()
