# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From StableHLO text, as jax.export gives it, to a function of tenon ops: through torch-mlir and linalg."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from torch_mlir import ir

from tenon.errors import UnsupportedError
from tenon.formats.model import Model
from tenon.formats.tidy import tidy
from tenon.importer.shapes import flatten

_PASSES = ("--inline", "--symbol-dce", "--stablehlo-legalize-to-linalg", "--canonicalize")
_FOREIGN = re.compile(r"\b(?:stablehlo|chlo|mhlo)\.\w+ ")


def load(path: Path) -> Model:
    """Return the model in a file of StableHLO; constants of several values are parameters."""
    command = [sys.executable, "-m", "torch_mlir.tools.opt", "-", *_PASSES]
    text = _state_extents(path.read_text())
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if result.returncode:
        raise UnsupportedError(f"torch-mlir cannot read {path}:\n{result.stderr.strip()}")
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(result.stdout)
        parameters = {}
        for name in list(module.operation.attributes):
            del module.operation.attributes[name]
        for function in module.body.operations:
            parameters |= _take_constants(function)
        text = str(module)
    if left := sorted({name.strip() for name in _FOREIGN.findall(text)}):
        raise UnsupportedError(f"torch-mlir leaves ops of {path} that Tenon does not know: {', '.join(left)}")
    return Model(tidy(text), {name: array.reshape(flatten(array.shape)) for name, array in parameters.items()})


def _take_constants(function: ir.OpView) -> dict[str, np.ndarray]:
    """Make arguments of a function's constants, and drop what other dialects say of the rest."""
    block = function.regions[0].blocks[0]
    types, attributes = list(function.type.inputs), [ir.DictAttr.get({}) for _ in function.type.inputs]
    parameters = {}
    for op in list(block.operations):
        value = op.attributes["value"] if op.operation.name == "arith.constant" else None
        if not isinstance(value, ir.DenseFPElementsAttr) or value.is_splat:
            continue
        name = f"p{len(parameters)}"
        parameters[name] = np.array(value)
        argument = block.add_argument(op.result.type, ir.Location.unknown())
        op.result.replace_all_uses_with(argument)
        op.operation.erase()
        types.append(argument.type)
        marks = {"tenon.param": ir.UnitAttr.get(), "tenon.name": ir.StringAttr.get(name)}
        attributes.append(ir.DictAttr.get(marks))
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, function.type.results))
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
    if "res_attrs" in function.attributes:
        del function.attributes["res_attrs"]
    return parameters


def _state_extents(text: str) -> str:
    """Write what depends on dynamic extents so that torch-mlir can take it.

    A check of extents is left to the compiled model, which checks its arguments. A dynamic extent is never
    repeated: JAX knows two such extents to be the same, or refuses the model.
    """
    text = re.sub(r"^\s*stablehlo.custom_call @shape_assertion\(.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(
        r"^( *)(%\w+) = stablehlo.get_dimension_size (%\w+), dim = (\d+) : \((tensor<[^>]*>)\) -> tensor<i32>.*$",
        _write_extent,
        text,
        flags=re.MULTILINE,
    )
    pattern = r"(stablehlo.dynamic_broadcast_in_dim %\w+, %\w+, dims = \[[\d, ]*\])( : \(tensor<([\dx?]*)\w+>)"
    return re.sub(pattern, _state_repetition, text)


def _write_extent(match: re.Match[str]) -> str:
    indent, result, tensor, dim, kind = match.groups()
    name = result.removeprefix("%")
    return "\n".join(
        (
            f"{indent}%index_{name} = arith.constant {dim} : index",
            f"{indent}%dim_{name} = tensor.dim {tensor}, %index_{name} : {kind}",
            f"{indent}%cast_{name} = arith.index_cast %dim_{name} : index to i32",
            f"{indent}{result} = tensor.from_elements %cast_{name} : tensor<i32>",
        )
    )


def _state_repetition(match: re.Match[str]) -> str:
    op, types, shape = match.groups()
    extents = shape.split("x")[:-1]
    repeated = [i for i, extent in enumerate(extents) if extent == "1"]
    kept = [i for i, extent in enumerate(extents) if extent != "1"]
    lists = [f"array<i64{': ' if dims else ''}{', '.join(map(str, dims))}>" for dims in (repeated, kept)]
    return f"{op} {{known_expanding_dimensions = {lists[0]}, known_nonexpanding_dimensions = {lists[1]}}}{types}"
