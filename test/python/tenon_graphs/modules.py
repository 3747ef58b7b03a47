# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The modules of random graphs that GPU tests and tests of calls run; scripts/gpu_bundle.py compiles them ahead."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import permutations
from pathlib import Path

from tenon_model import Model

from .execute import TENON_COMPILE, compile_graphs, open_model, tool, write_module
from .generate import random_graph
from .graph import Graph, Op, Value

GPU_TARGETS = "--target=sm_80,sm_90a"
GRAPHS_PER_MODULE = 40


def _dynamic_graphs() -> list[Graph]:
    """Return graphs of dynamic M, every second one with training batch norm and running statistics."""
    drawn = [random_graph(f"calls {i}", f"c{i}") for i in range(600)]
    drawn = [g for g in drawn if g.dynamic and list(g.extents) == ["m"] and len(g.ops) > 2]
    plain = [g for g in drawn if not has_statistics(g)]
    updating = [g for g in drawn if running_statistics(g)]
    return plain[:10] + updating[:10]


def _cast_graphs() -> list[Graph]:
    """Return a graph for pairs of types: casts that stand alone, one of each shape, and one behind a linear."""
    graphs = []
    pairs = [*permutations(("f32", "f16", "bf16"), 2), *permutations(("f32", "f8E4M3FN", "f8E5M2"), 2)]
    pairs += [("f16", "f8E4M3FN"), ("bf16", "f8E5M2"), ("f8E4M3FN", "bf16"), ("f8E5M2", "f16")]
    for source, target in pairs:
        graph = Graph(f"{source}_to_{target}", {"m": 0}, dynamic=True)
        for i, shape in enumerate([("m", 8), (16, 8), ("m", 1), (1, 8), (8,), (), ("m", 8)]):
            graph.inputs.append(Value(f"x{i}", shape, source))
            graph.returns.append(Value(f"y{i}", shape, target))
            graph.ops.append(Op("cast", graph.inputs[-1:], graph.returns[-1:]))
        # The last cast reads x + 0, computed in one epilogue.
        x, last = graph.inputs[-1], graph.ops.pop()
        z, w = Value("z", ("m", 8), source), Value("w", (8, 8), source)
        product, total = Value("p", ("m", 8), source), Value("s", ("m", 8), source)
        graph.inputs += [z, w]
        graph.ops += [Op("linear", [z, w], [product]), Op("add", [x, product], [total])]
        graph.ops.append(Op("cast", [total], last.results))
        graphs.append(graph)
    return graphs


def has_statistics(graph: Graph) -> bool:
    """Tell whether a graph normalises over the batch, which takes two rows or more."""
    return any(op.kind == "batch_norm_training" for op in graph.ops)


def running_statistics(graph: Graph) -> dict[str, int]:
    """Return the running statistics whose new values are results: input's name to number of the result."""
    pairs = {}
    for op in graph.ops:
        if op.kind == "batch_norm_training":
            for old, new in zip(op.group("running"), op.results[1:], strict=True):
                if graph.returns.count(new) == 1:
                    pairs[old.name] = graph.returns.index(new)
    return pairs


def with_batch(graph: Graph, rows: int) -> Graph:
    """Return a dynamic graph at another M."""
    return replace(graph, extents={"m": rows})


def modules() -> dict[str, list[Graph]]:
    """Return all modules by name."""
    named = {"calls": _dynamic_graphs(), "casts": _cast_graphs()}
    for start in range(0, 160, GRAPHS_PER_MODULE):
        named[f"graphs{start}"] = [random_graph(seed) for seed in range(start, start + GRAPHS_PER_MODULE)]
    return named


def compile_modules(folder: Path, *flags: str, only: str = "") -> None:
    """Compile modules into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, graphs in modules().items():
        if only in ("", name):
            compile_graphs(graphs, folder / name, *flags)


def compile_for(device: str, source: Path, output: Path) -> None:
    """Compile a module for the CPU, or with the package, which is where there is no build, for the GPU that is here."""
    if device == "cpu":
        tool(TENON_COMPILE, source, "-o", output)
        return
    from tenon.compiler import build

    build(source, output, GPU_TARGETS.removeprefix("--target="))


def compiled_module(name: str, device: str, scratch: Path) -> tuple[list[Graph], Path]:
    """Return a module's graphs and shared object: in $TENON_GPU_MODELS, or compiled here for the CPU or for GPUs."""
    graphs = modules()[name]
    ahead = os.environ.get("TENON_GPU_MODELS") if device == "cuda" else None
    folder = Path(ahead or scratch)
    if not ahead:
        compile_modules(folder, *([GPU_TARGETS] if device == "cuda" else []), only=name)
    written = (folder / f"{name}.mlir").read_text()
    again = write_module(graphs, scratch / f"{name}-again.mlir").read_text()
    assert written == again, f"{folder} was made by another version of the generator; make it again"
    return graphs, folder / f"{name}.so"


def open_module(name: str, device: str, scratch: Path) -> tuple[list[Graph], Model]:
    """Open a module."""
    graphs, path = compiled_module(name, device, scratch)
    return graphs, open_model(path)
