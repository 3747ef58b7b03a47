# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs whose layers a tiled kernel can compute, and their compilation by strategy `tiled`.

They are compiled with the Python package where the tests run: for sm_80, whose PTX later GPUs run too, or for
sm_90a, where a layer is of family wgmma if its rows of K are whole chunks of 16 bytes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path

from tenon_model import Model

from .ahead import JoinedModel, compilers
from .execute import open_model, write_module
from .generate import random_graph
from .graph import Graph, Op, Value
from .modules import has_statistics

TARGET = "sm_80"
# What can be tiled: the element type of x and w, and of f32 the precision.
KINDS = {
    "f16": ("f16", None),
    "bf16": ("bf16", None),
    "tf32": ("f32", "tf32"),
    "f32_by_bf16": ("f32", "bf16"),
    "f32_by_fp16": ("f32", "fp16"),
}
# What a layer of these tests can be: also of full f32, which takes two kernels and the splits before them.
LAYERS = {**KINDS, "fp32": ("f32", None)}
# Less than a tile, its multiples and neighbours, rows of odd and even numbers of 16-byte chunks.
FEATURES = [1, 2, 7, 8, 33, 64, 136, 200, 257, 520, 1030]
OPERANDS = ["f32", "f16", "bf16"]
# So many that a module compiles in seconds, and that some hold more than one.
GRAPHS_PER_MODULE = 3


def linear(kind: str, x: Value, w: Value, product: Value) -> Op:
    """Return a layer of a kind."""
    precision = LAYERS[kind][1]
    return Op("linear", [x, w], [product], {"precision": precision} if precision else {})


def _random_graph(number: int) -> Graph | None:
    """Return a random graph of which all layers of f32 are less precise than f32; None if it has no layer to tile."""
    kind = list(KINDS)[number % len(KINDS)]
    dtype, precision = KINDS[kind]
    graph = random_graph(f"tiled {number}", f"t{number}", dtype, FEATURES)
    layers = [op for op in graph.ops if op.kind == "linear"]
    for op in layers:
        if op.operands[0].dtype == "f32":
            op.attributes["precision"] = precision or "tf32"
    return graph if layers and not has_statistics(graph) else None


def random_graphs() -> list[Graph]:
    """Return random graphs, all of whose layers can be tiled."""
    graphs = [graph for graph in map(_random_graph, range(60)) if graph]
    assert len(graphs) >= 30
    return graphs


def operand_graph(kind: str, operand: str, output: str, n: int, k: int) -> Graph:
    """Return a layer whose epilogue reads operands of every shape, in a type, and has three results."""
    dtype = LAYERS[kind][0]
    graph = Graph(f"o_{kind}_{operand}_{output}_{n}_{k}", {"m": 1}, dynamic=True)
    x, w = Value("x", ("m", k), dtype), Value("w", (n, k), dtype, "weight", is_param=True)
    shapes = {"scalar": (), "feature": (n,), "line": (1, n), "row": ("m", 1), "full": ("m", n), "one": (1, 1)}
    operands = {name: Value(name, shape, operand) for name, shape in shapes.items()}
    graph.inputs = [x, w, *operands.values()]
    y = Value("p", ("m", n), dtype)
    graph.ops = [linear(kind, x, w, y)]
    for index, (op, name) in enumerate(zip(["add", "mul", "max", "sub", "add", "mul"], operands, strict=True)):
        y, before = Value(f"v{index}", ("m", n), dtype), y
        graph.ops.append(Op(op, [before, operands[name]], [y]))
        if op == "sub":
            graph.returns.append(y)
    last = Value("y", ("m", n), output)
    graph.ops += [Op("tanh", [y], [Value("t", y.shape, dtype)])]
    graph.ops += [Op("cast", graph.ops[-1].results, [last])]
    graph.returns += [last, graph.ops[0].results[0]]
    return graph


def operand_graphs() -> list[Graph]:
    """Return a graph for each kind of layer and type of operands, with results of every type."""
    shapes = [(257, 200), (64, 64), (1, 7), (8, 1), (520, 1030), (200, 33), (136, 264)]
    pairs = [(kind, operand) for kind in KINDS for operand in OPERANDS]
    graphs = []
    for i, (kind, operand) in enumerate(pairs):
        output = OPERANDS[(i + i // len(OPERANDS)) % len(OPERANDS)]
        graphs.append(operand_graph(kind, operand, output, *shapes[i % len(shapes)]))
    return graphs


def static_graphs() -> list[Graph]:
    """Return graphs of operands of every shape whose M the compiler sees: one row, less than a tile, a multiple."""
    graphs = []
    for i, (kind, rows) in enumerate(product(KINDS, [1, 67, 256])):
        graph = operand_graph(kind, OPERANDS[i % 3], OPERANDS[i // 3 % 3], *[(136, 72), (65, 33)][i % 2])
        graphs.append(replace(graph, name=f"{graph.name}_{rows}", extents={"m": rows}, dynamic=False))
    return graphs


def shuffled_precisions(graphs: list[Graph]) -> list[Graph]:
    """Give the layers of f32 of random graphs that ask for fp32 another precision, so that they can be tiled."""
    for graph in graphs:
        rng = random.Random(graph.name)
        for op in graph.ops:
            if op.kind == "linear" and op.operands[0].dtype == "f32" and rng.random() < 0.8:
                op.attributes["precision"] = rng.choice(["tf32", "bf16", "fp16"])
    return graphs


@dataclass
class Tiled:
    """A model, its graphs, and how many of their layers became tiled kernels, those of wgmma, and library calls."""

    graphs: list[Graph]
    model: Model | JoinedModel
    tiled: int
    wgmma: int
    library: int


def compile_tiled(graphs: Sequence[Graph], stem: Path, device: str, schedule: str = "", target: str = TARGET) -> Tiled:
    """Compile graphs to one model, and open it."""
    from tenon import compiler

    source, output = write_module(graphs, stem.with_suffix(".mlir")), stem.with_suffix(".so")
    remarks = compiler.build(source, output, target, strategy="tiled", schedule=schedule)
    choices = [remark.values for remark in remarks if "strategy" in remark.values]
    chosen = [values["strategy"] for values in choices]
    wgmma = [values.get("family") for values in choices].count("wgmma")
    model = open_model(output)
    if device == "cuda":
        model.load()
    return Tiled(list(graphs), model, chosen.count("tiled"), wgmma, chosen.count("library"))


def compile_apart(graphs: Sequence[Graph], stem: Path, device: str, schedule: str = "", target: str = TARGET) -> Tiled:
    """Compile graphs at once, each to a model of its own; the one that is given calls them all."""

    def compile_one(graph: Graph) -> Tiled:
        return compile_tiled([graph], stem.with_name(f"{stem.name}-{graph.name}"), device, schedule, target)

    parts = list(compilers().map(compile_one, graphs))
    tiled, wgmma, library = (sum(getattr(part, kind) for part in parts) for kind in ("tiled", "wgmma", "library"))
    return Tiled(list(graphs), JoinedModel([part.model for part in parts]), tiled, wgmma, library)


def jobs_of_parts(graphs: Sequence[Graph], stem: Path, device: str, target: str = TARGET) -> list[Callable[[], Tiled]]:
    """Return what compiles many graphs, some to a model."""
    parts = [graphs[i : i + GRAPHS_PER_MODULE] for i in range(0, len(graphs), GRAPHS_PER_MODULE)]
    return [
        partial(compile_tiled, part, stem.with_name(f"{stem.name}{i}"), device, target=target)
        for i, part in enumerate(parts)
    ]
