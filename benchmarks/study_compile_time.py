#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a compilation takes, for one or several builds of tenon-compile: needs no GPU, but ptxas.

Each model is compiled some times, one after the other, with the builds in turn. Counted are the processors' time of
tenon-compile and of ptxas and fatbinary, its children, by the median, and the least time by the clock.
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
from tables import markdown
from tenon.bench.epilogue import NAMED, read_epilogue
from tenon.bench.source import Problem

ROUNDS = 5
# Epilogue, dtype, and M, N and K.
MODELS = (
    ("bias_mul2_leaky_relu", "bf16", (1024, 8192, 8192)),
    ("bias_mul2_leaky_relu", "bf16", (4096, 4096, 4096)),
    ("bias_mul2_leaky_relu", "tf32", (1024, 8192, 8192)),
    ("bias_gelu_residual_clamp", "bf16", (4096, 4096, 4096)),
    ("bias_gelu_residual_clamp", "tf32", (4096, 4096, 4096)),
    ("bias_mul2_leaky_relu", "fp32", (1024, 8192, 8192)),
    ("bias_scale_batch_norm", "bf16", (16384, 4096, 4096)),
)
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


def ptxas(ptx: Path, folder: Path) -> list[str | Path]:
    """Return the command that assembles a text as tenon-compile does."""
    return ["ptxas", "-arch=sm_90a", "-O3", "--split-compile=0", ptx, "-o", folder / "kernels.cubin"]


def digest(tool: Path, source: Path, folder: Path) -> str:
    """Return what tells the kernels of two builds apart: their code, without the text's names of labels."""
    subprocess.run(ptxas(write_ptx(tool, source, folder), folder), check=True)
    return hashlib.sha256((folder / "kernels.cubin").read_bytes()).hexdigest()


def compare(model: str, dtype: str, shape: tuple[int, ...], tools: dict[str, Path], folder: Path) -> dict:
    """Return what each build takes for one model, ptxas alone, and whether all make the same code."""
    source = folder / f"{model}_{dtype}.mlir"
    output = "f32" if dtype in ("tf32", "fp32") else dtype
    source.write_text(Problem(read_epilogue(model, NAMED[model]), *shape, dtype, output).mlir())
    commands = {name: [tool, source, *OPTIONS, "-o", folder / "libmodel.so"] for name, tool in tools.items()}
    digests = {digest(tool, source, folder) for tool in tools.values()}
    commands["ptxas"] = ptxas(write_ptx(list(tools.values())[-1], source, folder), folder)
    taken = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            taken[name].append(measure([str(part) for part in command]))
    seconds = {
        name: {"cpu_s": statistics.median(cpu for cpu, _ in pairs), "least_wall_s": min(wall for _, wall in pairs)}
        for name, pairs in taken.items()
    }
    return {"model": model, "dtype": dtype, "shape": shape, "same_code": len(digests) == 1, "seconds": seconds}


def report(cases: list[dict]) -> list[str]:
    """Return the table."""
    names = list(cases[0]["seconds"])
    rows = []
    for case in cases:
        shape = "×".join(map(str, case["shape"]))  # noqa: RUF001
        for key, name in (("cpu_s", "processors"), ("least_wall_s", "clock")):
            cells = [f"{case['seconds'][build][key]:.2f}" for build in names]
            layer = f"{case['model']}, {case['dtype']} {shape}"
            rows.append(" | ".join([layer, name, *cells, "yes" if case["same_code"] else "no"]))
    return markdown(f"model | seconds of the | {' | '.join(names)} | the same code", rows)


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
    if not options.builds:
        parser.error("name a build at least, as NAME=TENON_COMPILE")
    tools = {name: Path(path).resolve() for name, _, path in (build.partition("=") for build in options.builds)}
    with tempfile.TemporaryDirectory() as folder:
        study.write_cases(options.result, [compare(*model, tools, Path(folder)) for model in MODELS])


if __name__ == "__main__":
    main()
