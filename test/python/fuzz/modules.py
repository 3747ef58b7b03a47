# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random modules of some functions: their values on the CPU, and their code for GPUs.

Fused, op by op and the float64 reference are within the oracle's bounds (tenon_graphs/oracle.py); simplification keeps
special values where it is exact, and makes no infinities where it is not. Each strategy and reduction gives kernels for
sm_80 and sm_90a, and ptxas takes those of one of them, in turn. Every third module has a layer of random_layers.py, of
large shapes, beside.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from itertools import product
from pathlib import Path

from random_layers import Module
from tenon_graphs.checks import (
    bounds_misses,
    fused_misses,
    has_one_type,
    reference_misses,
    special_misses,
    stages_misses,
)
from tenon_graphs.execute import open_model
from tenon_graphs.generate import random_graph
from tenon_graphs.graph import Graph, stages
from tenon_graphs.modules import has_statistics

from . import runner
from .tools import describe, run_tool

TARGETS = ("sm_80", "sm_90a")  # each alone, so that no choice is made for both
STRATEGIES = {"auto": "", "library": "--strategy=library", "tiled": "--strategy=tiled"}
REDUCTIONS = {name: f"--strategy=tiled --reduction={name}" for name in ("resident", "two_phase", "input_moments")}
ROUNDING = ("--allow-rounding-changes", "--fold-weights")
SECONDS = 120  # of one compilation, ptxas with it


class Checker:
    """Checks one module."""

    def __init__(self, seed: int, scratch: Path, counts: Counter) -> None:
        rng = random.Random(f"module {seed}")
        functions = rng.choice([1, 1, 2, 3])
        self.graphs = [random_graph(f"module {seed} {i}", f"f{i}", views=True, rows=True) for i in range(functions)]
        self.scratch, self.counts = scratch, counts
        self.layer = Module(seed, "layer") if seed % 3 == 0 else None
        self.problems: list[str] = []

    def compile(self, name: str, text: str, *flags: str) -> Path | None:
        source, log = self.scratch / f"{name}.mlir", self.scratch / "log"
        source.write_text(text)
        output = source.with_suffix(".so")
        status = run_tool("tenon-compile", source, *flags, "-o", output, log=log, seconds=SECONDS)
        if status == 0:
            return output
        why = log.read_text(errors="replace")[-2000:]
        self.problems.append(f"tenon-compile {' '.join(flags)}: {describe(status)}\n{why}\n{text}")
        return None

    def values(self) -> None:
        """Run the code for the CPU."""
        parts = [part for graph in self.graphs for part in stages(graph)]
        if not parts:  # inputs are returned
            return
        texts = [graph.mlir() for graph in self.graphs]
        paths = [
            self.compile("fused", "\n".join(texts), "--reference"),
            self.compile("stages", "\n".join(part.mlir() for part in parts)),
            self.compile("rounding", "\n".join(texts), *ROUNDING),
        ]
        if not all(paths):
            return
        fused, plain, rounding = map(open_model, paths)
        for graph in self.graphs:
            self.check(graph, "fused", fused_misses, fused)
            self.check(graph, "op by op", stages_misses, plain)
            self.check(graph, "reference", reference_misses, fused)
            self.check(graph, "bounds of --check", bounds_misses, fused)
            if has_one_type(graph):
                self.check(graph, "simplified", special_misses, fused, plain, exact=True)
                self.check(graph, " ".join(ROUNDING), special_misses, rounding, plain, exact=False)
        for model in (fused, plain, rounding):
            model.close()

    def check(self, graph: Graph, what: str, check: object, *models: object, **more: object) -> None:
        self.counts[f"functions, {what}"] += 1
        if misses := check(graph, *models, **more):
            self.problems.append(f"{what}: {misses}")

    def code(self, turn: int) -> None:
        """Make the code for GPUs, and assemble one."""
        text = "\n".join([*(graph.mlir() for graph in self.graphs), *([self.layer.mlir()] if self.layer else [])])
        reduces = any(map(has_statistics, self.graphs)) or self.layer
        choices = [*product(TARGETS, (STRATEGIES | (REDUCTIONS if reduces else {})).items())]
        for i, (target, (name, flags)) in enumerate(choices):
            assembled = i == turn % len(choices)
            self.counts[f"{target}, {name}, {'assembled' if assembled else 'lowered'}"] += 1
            last = [] if assembled else ["--stop-after=cuda-llvm"]
            self.compile("gpu", text, f"--target={target}", *flags.split(), *last)


def check(seed: int, scratch: Path) -> tuple[str, Counter]:
    """Check the module of a seed."""
    counts = Counter()
    checker = Checker(seed, scratch, counts)
    checker.values()
    checker.code(seed)
    return "\n".join(checker.problems), counts


def main() -> int:
    """Run the command line."""
    args = runner.parser(__doc__, 2000).parse_args()
    os.environ["TENON_NUM_THREADS"] = "1"
    return runner.main("random modules", args, check, limit_s=600)


if __name__ == "__main__":
    sys.exit(main())
