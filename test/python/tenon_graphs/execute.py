# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles graphs, calls what comes out, and compares it with the oracle."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from tenon_model import Call, Model

from .bounded import Bounded, blocks_of_rows
from .dtypes import decode
from .graph import Graph
from .memory import Guarded

SOURCE = Path(__file__).resolve().parents[3]


def _find_build() -> Path:
    """Return the build folder, or in build/gpu-bundle the bundle; the package where neither is. All have one layout."""
    folder = Path(os.environ.get("TENON_BUILD", SOURCE / "build"))
    if folder.is_dir():
        return folder
    from tenon import get_library_dir

    return Path(get_library_dir()).parent


BUILD = _find_build()
RUNTIME = BUILD / "lib" / "libtenon_runtime.so.0"
TENON_COMPILE = BUILD / "bin" / "tenon-compile"
TENON_OPT = BUILD / "bin" / "tenon-opt"
TENON_RUN = BUILD / "bin" / "tenon-run"


def tool(*command: object) -> str:
    """Run a tool; return what it wrote to standard output."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\nexit code {done.returncode}\n{done.stderr[-4000:]}"
    return done.stdout


def write_module(graphs: Iterable[Graph], path: Path) -> Path:
    """Write a module with a function for each graph."""
    path.write_text("\n".join(graph.mlir() for graph in graphs) + "\n")
    return path


def compile_graphs(graphs: Iterable[Graph], stem: Path, *flags: str) -> Path:
    """Compile graphs, with their float64 references, to one shared object."""
    source, output = write_module(graphs, stem.with_suffix(".mlir")), stem.with_suffix(".so")
    tool(TENON_COMPILE, source, "--reference", "-o", output, *flags)
    return output


def open_model(path: Path) -> Model:
    """Open a compiled model."""
    return Model(path, RUNTIME)


def bind(model: Model, name: str, tensors: list, memory: Guarded | None = None) -> Call:
    """Return a call of a function; with `memory`, its outputs and workspace are cut out of that."""
    if memory is None:
        return model.bind(name, tensors)
    outputs = [
        memory.allocate(shape, entry["dtype"], tensors[0], f"{name}.{entry['name']}")
        for shape, entry in zip(model.output_shapes(name, tensors), model.functions[name]["outputs"], strict=True)
    ]
    workspace = memory.allocate_bytes(model.workspace_size(name, tensors), tensors[0])
    return model.bind(name, tensors, outputs, workspace)


def bind_entry(model: Model, name: str, tensors: dict, memory: Guarded | None = None) -> Call:
    """Return a call of an entry of the source with inputs by name, its parameters prepared."""
    entry = next(e for e in model.manifest["entries"] if e["name"] == name)
    prepared = []
    if "prepare" in entry:
        inputs = model.functions[entry["prepare"]]["inputs"]
        prepared = bind(model, entry["prepare"], [tensors[i["name"]] for i in inputs], memory)()
    waiting = iter(prepared)
    inputs = model.functions[entry["run"]]["inputs"]
    arguments = [next(waiting) if i["role"] == "prepared" else tensors[i["name"]] for i in inputs]
    return bind(model, entry["run"], arguments, memory)


def bind_reference(model: Model, name: str, tensors: dict) -> Call:
    """Return a call of an entry's float64 reference."""
    name += "_reference"
    return model.bind(name, [tensors[i["name"]] for i in model.functions[name]["inputs"]])


def bind_bounds(model: Model, name: str, tensors: dict) -> Call:
    """Return a call of what bounds an entry's errors beside its reference."""
    name = next(e["bounds"] for e in model.manifest["entries"] if e["name"] == name)
    return model.bind(name, [tensors[i["name"]] for i in model.functions[name]["inputs"]])


def _excess(got: np.ndarray, value: np.ndarray, error: np.ndarray) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        off = abs(got - value)
        ratio = np.where(off == 0.0, 0.0, off / error)
    return float(np.max(np.where(np.isfinite(got), ratio, np.inf), initial=0.0))


def excess(got: np.ndarray, expected: Bounded) -> float:
    """Return the largest error in units of its bound; a NaN and any infinity exceed every bound."""
    assert got.shape == expected.value.shape
    if got.ndim != 2:
        return _excess(got, expected.value, expected.error)
    blocks = blocks_of_rows(got.shape)
    return max((_excess(got[b], expected.value[b], expected.error[b]) for b in blocks), default=0.0)


def describe_misses(graph: Graph, got: list[np.ndarray], expected: list[Bounded]) -> str:
    """Return which results (as stored) are too far off and where; empty if none is."""
    lines = []
    for index, (value, stored, wanted) in enumerate(zip(graph.returns, got, expected, strict=True)):
        values = decode(stored, value.dtype)
        if excess(values, wanted) <= 1.0:
            continue
        off = np.where(np.isfinite(values), abs(values - wanted.value) - wanted.error, np.inf)
        at = np.unravel_index(np.argmax(off), off.shape)
        lines.append(
            f"result {index} (%{value.name}) at {tuple(map(int, at))}: got {values[at]!r}, expected "
            f"{wanted.value[at]!r} +- {wanted.error[at]:.2g}; {int((off > 0).sum())} of {off.size} are off"
        )
    return "\n".join([*lines, graph.mlir()]) if lines else ""
