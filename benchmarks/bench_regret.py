#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure what the choice of a strategy costs: the time of what `auto` takes over that of the fastest.

Layers are those of benchmarks/whole_models, and random ones whose M, N and K are between LEAST and MOST. Each is
compiled with strategy library, tiled and auto, and all are timed in turn. Two choices are held against the fastest:
`auto`'s, by prediction, and that of the first half of the rounds, as `torch.compile` chooses, judged by the other half.
Needs the wheel and a GPU; writes benchmarks/results/regret.json.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tenon
import torch
from tenon.bench.epilogue import NAMED, read_epilogue
from tenon.bench.source import Problem
from tenon.torch.choice.timing import time_in_turn

# Drawn as logarithms are uniform; but for the last of them, multiples of 8, which TMA can move.
LEAST, MOST, RANDOM, RAGGED, SEED = 64, 8192, 60, 15, 38
# [M, N, K] of all linear layers in benchmarks/whole_models with 16 features or more; M of bench_whole_models.py.
LAYERS = [
    *[(8192, n, k) for n, k in ((768, 768), (2304, 768), (3072, 768), (768, 3072), (10000, 4096))],
    *[(12608, n, k) for n, k in ((768, 768), (3072, 768), (768, 3072))],
    *[(4096, n, k) for n, k in ((2048, 2048), (5632, 2048), (2048, 5632), (4096, 4096), (4096, 8192))],
    *[(4096, n, k) for n, k in ((16384, 4096), (4096, 16384), (11008, 4096), (4096, 11008), (16, 4096), (4096, 16))],
    *[(200704, n, k) for n, k in ((96, 96), (384, 96), (96, 384))],
    *[(50176, n, k) for n, k in ((192, 192), (192, 384), (768, 192), (192, 768))],
    *[(12544, n, k) for n, k in ((384, 384), (384, 768), (1536, 384), (384, 1536), (3072, 768), (768, 3072))],
    *[(3136, n, k) for n, k in ((768, 768), (768, 1536), (3072, 768), (768, 3072))],
    *[(49152, n, k) for n, k in ((384, 196), (196, 384))],
    *[(65536, n, k) for n, k in ((1024, 512), (512, 1024), (256, 512))],
    *[(262144, n, k) for n, k in ((256, 63), (256, 256), (256, 319), (128, 283))],
    (64, 1000, 768),
]
STRATEGIES = ("library", "tiled", "auto")
EPILOGUES = ("bias_relu", "bias_gelu")


def random_layers() -> list[tuple[int, int, int]]:
    """Draw [M, N, K]."""
    draw = random.Random(SEED)
    layers = []
    for number in range(RANDOM):
        step = 8 if number < RANDOM - RAGGED else 1
        extents = [math.exp(draw.uniform(math.log(LEAST), math.log(MOST))) for _ in range(3)]
        layers.append(tuple(max(LEAST, round(extent / step) * step) for extent in extents))
    return layers


def compile_all(problem: Problem) -> dict[str, tenon.Executable]:
    """Return the layer by strategy."""
    return {s: tenon.compile(problem.mlir(), name="layer", strategy=s) for s in STRATEGIES}


def is_tiled(executable: tenon.Executable) -> bool:
    """Tell what was chosen."""
    return any(r.values.get("strategy") == "tiled" for r in executable.remarks)


def measure(problem: Problem, executables: dict[str, tenon.Executable]) -> dict[str, Any]:
    """Time a layer."""
    generator = torch.Generator("cuda").manual_seed(0)
    inputs = [
        torch.randn(problem.shape_of(kind), device="cuda", generator=generator).to(torch.bfloat16)
        for kind in problem.inputs.values()
    ]
    calls = []
    for executable in executables.values():
        entry = next(iter(executable.entries.values()))
        names = {spec.name for spec in entry.parameters}
        of = dict(zip(problem.inputs, inputs, strict=True))
        prepared = entry.prepare(**{n: of[n] for n in names})
        given = [t for n, t in of.items() if n not in names]
        calls.append(lambda prepared=prepared, given=given: prepared(*given))
    halves = [dict(zip(STRATEGIES, time_in_turn(calls), strict=True)) for _ in range(2)]
    mean = {s: statistics.mean(half[s] for half in halves) for s in STRATEGIES}
    # auto's kernels are those of one of the others, whose times differ by noise alone.
    chosen = "tiled" if is_tiled(executables["auto"]) else "library"
    fastest = min(mean["library"], mean["tiled"])
    tried = min(("library", "tiled"), key=halves[0].__getitem__)
    layer = (problem.m, problem.n, problem.k)
    return {
        "layer": layer,
        "kind": "of the models" if layer in LAYERS else "random",
        "epilogue": problem.epilogue.name,
        "ms": mean,
        "auto_chose": chosen,
        "tiled_is_tiled": is_tiled(executables["tiled"]),
        "predicted": mean[chosen] / fastest,
        "measured": halves[1][tried] / min(halves[1]["library"], halves[1]["tiled"]),
    }


def summary(rows: list[dict[str, Any]], choice: str) -> dict[str, float]:
    """Return the most and the geometric mean."""
    regrets = [row[choice] for row in rows]
    return {"most": max(regrets), "mean": math.exp(statistics.mean(map(math.log, regrets)))}


def main() -> None:
    """Measure all, write the file, and print what is worst."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "results/regret.json")
    parser.add_argument("--layers", type=int, help="only the first so many")
    options = parser.parse_args()
    layers = [*LAYERS, *random_layers()][: options.layers]
    problems = [
        Problem(read_epilogue(name, NAMED[name]), *layer, "bf16", "bf16") for layer in layers for name in EPILOGUES
    ]
    with ThreadPoolExecutor() as pool:
        compiled = list(pool.map(compile_all, problems))
    rows = [measure(problem, executables) for problem, executables in zip(problems, compiled, strict=True)]
    environment = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "tenon": tenon.__version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    facts = {"environment": environment, "precision": "bf16", "seed": SEED}
    found = {choice: summary(rows, choice) for choice in ("predicted", "measured")}
    options.output.write_text(json.dumps(facts | found | {"rows": rows}, indent=1) + "\n")
    print(json.dumps(found))
    for row in sorted(rows, key=lambda row: -row["predicted"])[:40]:
        times = ", ".join(f"{s} {ms * 1e3:.1f}" for s, ms in row["ms"].items())
        regrets = f"{row['predicted']:.3f} {row['measured']:.3f}"
        print(f"{regrets} {row['layer']} {row['epilogue']}: {times} us, {row['auto_chose']}")


if __name__ == "__main__":
    main()
