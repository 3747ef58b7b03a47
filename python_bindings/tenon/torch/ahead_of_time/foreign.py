# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models, of which Tenon has words for a part: through ONNX, as `tenon-import` takes it."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import warnings
from collections.abc import Iterator

import numpy as np
import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind

from tenon.errors import UnsupportedError
from tenon.torch.ahead_of_time.exporter import Exported
from tenon.torch.fusion.views import op_name


def export_foreign(program: ExportedProgram, precision: str, obstacle: UnsupportedError) -> Exported:
    """Write a program, with linalg where Tenon has no word; raise `obstacle`, and why, if that cannot be."""
    outputs = program.graph_signature.output_specs
    if any(spec.kind != OutputKind.USER_OUTPUT for spec in outputs) or _is_random(program):
        raise obstacle
    if any(importlib.util.find_spec(name) is None for name in ("onnx", "onnxscript")):
        raise UnsupportedError(
            f"{obstacle}\nWith onnx and onnxscript installed, such ops are tried as linalg, for the CPU"
        ) from None
    from tenon.formats import onnx_graph

    names = ["y"] if len(outputs) == 1 else [f"y{i}" for i in range(len(outputs))]
    try:
        with _quiet():
            proto = torch.onnx.export(program, dynamo=True, verbose=False).model_proto
    except Exception as error:  # whatever the exporter raises
        raise UnsupportedError(f"{obstacle}\nNor can torch.onnx export it: {error}") from None
    try:
        model = onnx_graph.read(proto, "the program", precision=precision, results=names)
    except UnsupportedError as error:
        raise UnsupportedError(f"{obstacle}\nNor can its form in ONNX be imported: {error}") from None
    return Exported(model.text, {name: _tensor(array) for name, array in model.parameters.items()})


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Leave out what PyTorch's exporter warns of itself, and which of its optional packages are not there."""
    logger = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _is_random(program: ExportedProgram) -> bool:
    """Whether the program draws numbers, which PyTorch's exporter takes for inference, and leaves out."""
    return any(map(_draws, program.run_decompositions({}).graph.nodes))


def _draws(node: fx.Node) -> bool:
    if torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
        return False
    given = dict(zip((argument.name for argument in node.target._schema.arguments), node.args, strict=False))
    given |= node.kwargs
    # Attention and recurrent layers draw for a dropout alone, as which 0 is what attention has if none is given.
    if op_name(node) == "aten.scaled_dot_product_attention":
        return bool(given.get("dropout_p"))
    return not ("dropout" in given and (not given["dropout"] or not given["train"]))


def _tensor(array: np.ndarray) -> torch.Tensor:
    array = np.ascontiguousarray(array)
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.uint16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())
