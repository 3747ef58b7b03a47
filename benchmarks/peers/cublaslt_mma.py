#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times cuBLASLt's own kernels for sm_80 on the GPU at hand, as a peer of Tenon's tiled kernels for sm_80.

On a Hopper cuBLAS chooses wgmma; its kernels on mma.sync are still in the library. Each algorithm
that it lists is run once under PyTorch's profiler and kept when its kernel is named as one of sm_80
(ampere, sm80, cutlass_80); of those, the fastest few are timed in turn with torch.mm. The product
is bare: cuBLAS has no LeakyReLU.

Usage: cublaslt_mma.py -o RESULT.json [--cases REGEX] [--limit-s SECONDS]
"""

from __future__ import annotations

import re
import sys

import torch
from cublaslt import Algorithm, Problem
from measure import Inputs, Record, main
from torch_timing import elapsed

SM80_NAME = re.compile(r"ampere|sm80|cutlass_80|cutlass::.*Sm80|s16816|s1688")
OTHER_NAME = re.compile(r"nvjet|sm90|wgmma|hopper", re.IGNORECASE)
FINALISTS = 8


class LtProduct:
    """A product by one configured algorithm; a call launches it."""

    def __init__(self, problem: Problem, algorithm: Algorithm) -> None:
        """Bind an algorithm to a problem, whose output all its products share."""
        self.problem, self.algorithm, self.y = problem, algorithm, problem.y

    def __call__(self) -> torch.Tensor:
        """Launch the kernel, and return the output."""
        self.problem.launch(self.algorithm)
        return self.y

    def kernels(self) -> list[str]:
        """Return the names of the kernels that a call launches."""
        activities = [torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profile:
            self()
            torch.cuda.synchronize()
        return sorted({e.name for e in profile.events() if e.device_type == torch.autograd.DeviceType.CUDA})

    def check(self) -> Record:
        """Run once, and return the kernel's name. Raises where it is not one of sm_80."""
        self.y.zero_()
        names = self.kernels()
        if not is_sm80(names):
            raise RuntimeError(f"not a kernel of sm_80: {names}")
        return {"kernels": names}


def is_sm80(names: list[str]) -> bool:
    """Tell whether all kernels are named as such of sm_80."""
    return bool(names) and all(SM80_NAME.search(n) and not OTHER_NAME.search(n) for n in names)


def screen(problem: Problem) -> dict[str, float]:
    """Return the milliseconds of a launch of each configuration of sm_80, by name."""
    seen: list[str] = []
    times: dict[str, float] = {}
    for identifier in problem.identifiers():
        configurations = {n: LtProduct(problem, a) for n, a in problem.algorithms(identifier).items()}
        for number, (name, product) in enumerate(configurations.items()):
            try:
                if number == 0:
                    names = product.kernels()
                    seen += names
                    if not is_sm80(names):
                        break
                times[name] = elapsed(product, 2)
            except RuntimeError:  # what cuBLASLt accepts may still not run
                continue
    if not times:
        raise RuntimeError(f"cuBLASLt lists no kernel of sm_80 here; it has {sorted(set(seen))}")
    return times


class Search:
    """The fastest configurations: looked for with the first shape of a data type, and used for its others."""

    def __init__(self) -> None:
        """Start with nothing found."""
        self.names: dict[torch.dtype, list[str]] = {}

    def __call__(self, inputs: Inputs, fused: bool) -> dict[str, LtProduct]:
        """Return a callable for each configuration, by name; all share one output."""
        if fused:
            raise ValueError("cuBLASLt has no LeakyReLU: only the bare product can be asked for")
        problem = Problem(inputs.x, inputs.w, inputs.output())
        if inputs.x.dtype not in self.names:
            times = screen(problem)
            self.names[inputs.x.dtype] = sorted(times, key=times.get)[:FINALISTS]
        algorithms: dict[str, Algorithm] = {}
        for identifier in problem.identifiers():
            algorithms |= problem.algorithms(identifier)
        return {n: LtProduct(problem, algorithms[n]) for n in self.names[inputs.x.dtype] if n in algorithms}


if __name__ == "__main__":
    sys.argv.append("--bare")
    sys.exit(main(__doc__, {"cublaslt_sm80": Search()}, {"cuda": str(torch.version.cuda)}))
