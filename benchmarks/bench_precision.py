#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of products of f32 against float64, Tenon's beside cuBLAS's on the same data.

For each distribution of precision_data.py, K and precision: the largest and the rms error of each way to compute
x w^T, alone and in units of the norms of x's and w's rows; the share of outputs that are as close to PyTorch's eager
result as KernelBench asks; and how many rows f16 on one scale does not hold. report_precision.py makes the tables of
docs/Precision.md of it.

Usage: bench_precision.py RESULT.json [--k 256 8192] [--device cpu] [--rows 1024]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from precision_data import DISTRIBUTIONS, Draw
from tenon import Executable, device
from tenon.bench.checks import close
from tenon.bench.compilation import Compiled, Job
from tenon.bench.results import environment, write_whole

EXTENTS = [1, 16, 64, 256, 1024, 4096, 8192, 65536]
FACTORS = "factors"  # no contender: the split whose factors tell which rows are outside
WGMMA = "wgmma, tile = 128x{n}x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, method = {method}"
MMA_SYNC = (
    "mma_sync, tile = 128x128x{k}, warps = 2x4, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = {method}"
)
Options = tuple[tuple[str, str], ...]


def tiled(schedule: str = "") -> Options:
    """Return the options of a tiled kernel."""
    return (("strategy", "tiled"), *([("schedule", schedule)] if schedule else []))


def contenders(precision: str, k: int, target: str) -> dict[str, Options]:
    """Return Tenon's ways to multiply, by name: how it would, and each method by itself."""

    def split(method: str, n: int) -> Options:
        family = WGMMA.format(n=n, method=method) if target == "sm_90a" else MMA_SYNC.format(k=64, method=method)
        return tiled(family)

    if precision == "tf32":
        return {"auto": (("strategy", "auto"),), "direct": tiled(), "fp16": split("fp16", 256)}
    found = {"auto": (("strategy", "auto"),), "tiled": tiled(), "fma": tiled(MMA_SYNC.format(k=32, method="fma"))}
    return found | ({"fp16x3": split("fp16x3", 192)} if k >= 64 else {})


def layer(m: int, n: int, k: int, precision: str) -> str:
    """Write a bare product."""
    x, w, y = f"tensor<{m}x{k}xf32>", f"tensor<{n}x{k}xf32>", f"tensor<{m}x{n}xf32>"
    return (
        f"func.func @forward(%x: {x}, %w: {w} {{tenon.param}}) -> {y} {{\n"
        f"  %y = tenon.linear %x, %w precision<{precision}> : ({x}, {w}) -> {y}\n  return %y : {y}\n}}\n"
    )


def factors(rows: int, k: int, parts: int) -> str:
    """Write a function that gives the factors of a split's rows."""
    columns = 2 * (-(-k // 32) * 32) if parts == 2 else -(-k // 8) * 8
    kinds = f"(tensor<{rows}x{k}xf32>) -> (tensor<{rows}x{columns}xf16>, tensor<{rows}x1xf32>)"
    return (
        f"func.func @forward(%x: tensor<{rows}x{k}xf32>) -> tensor<{rows}x1xf32> {{\n"
        f"  %halves, %factors = tenon.split %x : {kinds}\n  return %factors : tensor<{rows}x1xf32>\n}}\n"
    )


def jobs_of(rows: int, k: int, target: str) -> dict[tuple[str, str], Job]:
    """Return what is compiled for one K, by precision and name."""
    jobs = {}
    for precision, parts in (("fp32", 2), ("tf32", 1)):
        source = layer(rows, rows, k, precision)
        jobs |= {(precision, name): Job(source, target, o) for name, o in contenders(precision, k, target).items()}
        jobs[precision, FACTORS] = Job(factors(rows, k, parts), target, ())
    return jobs


def usable(made: Compiled, job: Job) -> Executable | str:
    """Return what was compiled, or why it is not what it should be."""
    if dict(job.options).get("strategy") == "tiled" and made.strategy == "library":
        return "; ".join(made.remarks)
    return made.executable or made.failed


def errors(got: torch.Tensor, exact: torch.Tensor, norms: torch.Tensor, eager: torch.Tensor) -> dict[str, Any]:
    """Return a result's errors; elements that are no numbers are counted, and left out."""
    off = (got.double() - exact).abs()
    finite = off.isfinite()
    off[~finite] = 0.0
    scaled = off / torch.where(norms > 0, norms, 1.0)
    return {
        "max": off.max().item(),
        "rms": off.square().mean().sqrt().item(),
        "max_scaled": scaled.max().item(),
        "rms_scaled": scaled.square().mean().sqrt().item(),
        "close": close(got, eager),
        "not_finite": int((~finite).sum()),
    }


@dataclass(frozen=True)
class Data:
    """x and w with their product in float64, and the norms of the rows that meet in each of its elements."""

    x: torch.Tensor
    w: torch.Tensor
    exact: torch.Tensor
    norms: torch.Tensor

    @classmethod
    def of(cls, x: torch.Tensor, w: torch.Tensor) -> Data:
        """Compute what takes longest once for all precisions."""
        wide = x.double(), w.double()
        return cls(x, w, wide[0] @ wide[1].T, wide[0].norm(dim=1)[:, None] * wide[1].norm(dim=1))


def measure(found: Mapping[str, Executable | str], precision: str, data: Data) -> dict[str, Any]:
    """Return the errors of a precision's contenders on some data, and the rows outside."""
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    x, w, exact, norms = data.x, data.w, data.exact, data.norms
    eager = torch.mm(x, w.T)
    result: dict[str, Any] = {"cublas": errors(eager, exact, norms, eager)}
    for name, one in found.items():
        if name != FACTORS:
            result[name] = {"failed": one} if isinstance(one, str) else errors(one(x, w), exact, norms, eager)
    split = found[FACTORS]
    outside = {} if isinstance(split, str) else {n: int((split(t) < 0).sum()) for n, t in (("x", x), ("w", w))}
    return {"contenders": result, "rows_outside": outside}


def cases(rows: int, extents: Iterable[int], where: str, target: str) -> Iterable[dict[str, Any]]:
    """Yield the result of each distribution, K and precision."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the compiler works without Python's lock
        all_jobs = {k: jobs_of(rows, k, target) for k in extents}
        pending = {k: {key: pool.submit(job.run) for key, job in jobs.items()} for k, jobs in all_jobs.items()}
        for k, jobs in all_jobs.items():
            made = {key: future.result() for key, future in pending[k].items()}
            for seed, (name, draw_data) in enumerate(DISTRIBUTIONS.items()):
                data = Data.of(*draw_data(Draw(seed, where), rows, rows, k))
                for precision in ("fp32", "tf32"):
                    case = {"distribution": name, "k": k, "precision": precision}
                    found = {key[1]: usable(one, jobs[key]) for key, one in made.items() if key[0] == precision}
                    yield case | measure(found, precision, data)


def run(rows: int, extents: Iterable[int], where: str, show: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Return the report; `show` is given it after each case."""
    target = device.default_target() if where == "cuda" else "cpu"
    report: dict[str, Any] = {"environment": environment(where), "target": target, "rows": rows, "cases": []}
    for case in cases(rows, extents, where, target):
        report["cases"].append(case)
        show(report)
    return report


def main() -> None:
    """Measure and write the result after each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path)
    parser.add_argument("--k", type=int, nargs="+", default=EXTENTS, help="extents of K")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"), help="where (default: cuda)")
    parser.add_argument("--rows", type=int, default=1024, help="rows of x and of w (default: 1024)")
    options = parser.parse_args()

    def show(report: dict[str, Any]) -> None:
        write_whole(options.result, report)
        case = report["cases"][-1]
        words = [f"{case['distribution']}, K = {case['k']}, {case['precision']}: outside {case['rows_outside']}"]
        words += [
            f"{name} {one.get('failed') or format(one['max_scaled'], '.1e') + ' / ' + format(one['rms_scaled'], '.1e')}"
            for name, one in case["contenders"].items()
        ]
        print("; ".join(words), flush=True)

    with torch.no_grad():
        run(options.rows, options.k, options.device, show)


if __name__ == "__main__":
    main()
