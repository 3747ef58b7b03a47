#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a compilation takes, for one or several builds of tenon-compile: needs no GPU, but ptxas.

Each model is compiled some times, one after the other, with the builds in turn. Counted is the processors' time of
tenon-compile and of ptxas and fatbinary, its children: on a machine where others work the clock on the wall says less.
docs/Rationale.md has the table that --report writes there.

Usage: study_compile_time.py RESULT.json NAME=TENON_COMPILE... (measures)
       study_compile_time.py RESULT.json --report docs/Rationale.md
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import study
from tenon.bench.epilogue import NAMED, read_epilogue
from tenon.bench.source import Problem
from torch_tables import markdown

MODEL, ROUNDS = "bias_mul2_leaky_relu", 9
LAYERS = {"bf16": (1024, 8192, 8192), "tf32": (1024, 8192, 8192), "fp32": (1024, 8192, 8192)}
OPTIONS = ["--target=sm_90a", "--strategy=tiled"]
BEGIN, END = "<!-- study_compile_time: begin -->", "<!-- study_compile_time: end -->"


def measure(command: list[str]) -> tuple[float, float]:
    """Return seconds of processors, children included, and on the clock."""
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command[0]} failed")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - start


def write_ptx(tool: Path, source: Path, folder: Path) -> Path:
    """Write the kernels of a model as text."""
    ptx = folder / "kernels.ptx"
    subprocess.run([tool, source, *OPTIONS, "--emit=ptx", "-o", ptx], check=True)
    return ptx


def compare(dtype: str, tools: dict[str, Path], folder: Path) -> dict:
    """Return what each build takes for one model, ptxas alone, and whether all write the same kernels."""
    source = folder / f"{dtype}.mlir"
    output = "f32" if dtype in ("tf32", "fp32") else dtype
    source.write_text(Problem(read_epilogue(MODEL, NAMED[MODEL]), *LAYERS[dtype], dtype, output).mlir())
    commands = {name: [tool, source, *OPTIONS, "-o", folder / "libmodel.so"] for name, tool in tools.items()}
    texts = [write_ptx(tool, source, folder).read_bytes() for tool in tools.values()]
    commands["ptxas"] = ["ptxas", "-arch=sm_90a", "-O3", write_ptx(next(iter(tools.values())), source, folder)]
    commands["ptxas"] += ["-o", folder / "kernels.cubin"]
    taken = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            taken[name].append(measure([str(part) for part in command]))
    seconds = {
        name: {"cpu_s": statistics.median(cpu for cpu, _ in pairs), "least_wall_s": min(wall for _, wall in pairs)}
        for name, pairs in taken.items()
    }
    digests = {hashlib.sha256(text).hexdigest() for text in texts}
    return {"dtype": dtype, "shape": LAYERS[dtype], "same_ptx": len(digests) == 1, "seconds": seconds}


def report(cases: list[dict]) -> list[str]:
    """Return the table."""
    names = list(cases[0]["seconds"])
    rows = []
    for case in cases:
        cells = [f"{case['seconds'][name]['cpu_s']:.2f}" for name in names]
        shape = "×".join(map(str, case["shape"]))  # noqa: RUF001
        rows.append(" | ".join([f"{case['dtype']} {shape}", *cells, "yes" if case["same_ptx"] else "no"]))
    return markdown(f"seconds of processors | {' | '.join(names)} | the same PTX", rows)


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path, help="JSON, written or, with --report, read")
    parser.add_argument("builds", nargs="*", help="NAME=TENON_COMPILE")
    parser.add_argument("--report", type=Path, help="the page whose table to replace")
    options = parser.parse_args()
    if options.report:
        study.replace(parser, options.report, BEGIN, END, report(study.read_cases(options.result)))
        return
    tools = {name: Path(path).resolve() for name, _, path in (build.partition("=") for build in options.builds)}
    with tempfile.TemporaryDirectory() as folder:
        study.write_cases(options.result, [compare(dtype, tools, Path(folder)) for dtype in LAYERS])


if __name__ == "__main__":
    main()
