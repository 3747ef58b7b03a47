#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the benchmark's models for bench_gpu.py, which runs elsewhere.

Writes into a folder: one shared object a case, and cases.json with each case's
family, precision, strategy, shape and seconds of compilation (whole process, to sm_90a).

Usage: compile_models.py FOLDER [--build build] [--targets sm_90a]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
SHAPES = [
    ("leaky_relu", 1024, 8192, 8192),
    ("scale_batch_norm", 1024, 8192, 8192),
    ("scale_batch_norm", 16384, 4096, 4096),
]
# Of the compiler: how the tensors are stored, and the contract on the product.
PRECISIONS = {
    "fp32": ["--dtype=f32"],
    "tf32": ["--dtype=f32", "--precision=tf32"],
    "bf16": ["--dtype=bf16"],
    "fp16": ["--dtype=f16"],
}


def cases() -> list[dict]:
    """Return all cases: family, precision, strategy and shape; fp32 also forced to tiled kernels."""
    result = [
        {"family": family, "precision": precision, "strategy": strategy, "m": m, "n": n, "k": k}
        for family, m, n, k in SHAPES
        for precision, strategy in [*((precision, "auto") for precision in PRECISIONS), ("fp32", "tiled")]
    ]
    result.append(
        {
            "family": "leaky_relu",
            "precision": "fp32",
            "strategy": "auto",
            "m": 128,
            "n": 128,
            "k": 128,
            "compile": False,
        }
    )
    return result


def compile_case(case: dict, folder: Path, build: Path, targets: str) -> None:
    """Compile one case and complete it with its name, model and seconds."""
    case["name"] = "{family}_{precision}_{m}x{n}x{k}".format(**case)
    if case["strategy"] != "auto":
        case["name"] += f"_{case['strategy']}"
    source = folder / f"{case['name']}.mlir"
    case["model"] = f"lib{case['name']}.so"
    shape = [f"-{letter}={case[letter]}" for letter in "mnk"]
    subprocess.run(
        [sys.executable, HERE / "make_models.py", case["family"], *shape, *PRECISIONS[case["precision"]], "-o", source],
        check=True,
    )
    start = time.perf_counter()
    options = [f"--target={targets}", f"--strategy={case['strategy']}"]
    subprocess.run(
        [build / "bin" / "tenon-compile", source, *options, "-o", folder / case["model"]],
        check=True,
    )
    case["compile_seconds"] = time.perf_counter() - start


def main() -> None:
    """Compile all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--build", type=Path, default=HERE.parent / "build")
    parser.add_argument("--targets", default="sm_90a")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    made = cases()
    for case in made:
        compile_case(case, options.folder, options.build, options.targets)
        print(f"{case['name']}: {case['compile_seconds']:.2f} s")
    (options.folder / "cases.json").write_text(json.dumps(made, indent=1))


if __name__ == "__main__":
    main()
