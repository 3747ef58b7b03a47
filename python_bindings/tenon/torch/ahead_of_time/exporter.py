# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a model, through torch.export, to one MLIR function."""

from __future__ import annotations

import dataclasses
import operator
import re
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind, TensorArgument
from torch.utils._pytree import tree_leaves, tree_map

from tenon.errors import UnsupportedError
from tenon.importer import builder
from tenon.importer.builder import TYPES, Value, module_text, return_text, type_of
from tenon.importer.names import Names
from tenon.importer.shapes import flatten
from tenon.torch.fusion.group_function import Importer, source_line
from tenon.torch.fusion.shapes import torch_shape
from tenon.torch.fusion.views import dtype_of, op_name, strip
from tenon.torch.fusion.words import find_words

_PARAMETERS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


@dataclasses.dataclass(frozen=True)
class Exported:
    """A model as MLIR text, and the values of its parameters by their names in it."""

    text: str
    parameters: dict[str, torch.Tensor]


def export_model(
    model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_batch: bool, precision: str
) -> Exported:
    """Capture a model and write it; see tenon.torch.export."""
    program = _capture(model, args, kwargs, dynamic_batch)
    return _write(type(model).__name__, list(model.state_dict()), program, precision)


def export_program(program: ExportedProgram, precision: str) -> Exported:
    """Write what torch.export gave."""
    return _write("the program", list(program.state_dict), program, precision)


def _write(name: str, order: Sequence[str], program: ExportedProgram, precision: str) -> Exported:
    """Write a program in Tenon's words, or else in those of other dialects besides."""
    exporter = _Exporter(name, order, program.run_decompositions({}), precision)
    try:
        return exporter.export()
    except UnsupportedError as error:
        from tenon.torch.ahead_of_time.foreign import export_foreign

        return export_foreign(program, precision, error)


def without_locations(text: str) -> str:
    """Return MLIR text whose ops have no `loc(...)`: they are where they are in the text."""
    return re.sub(r' loc\("(?:[^"\\]|\\.)*":\d+:\d+\)$', "", text, flags=re.MULTILINE)


def _capture(
    model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_batch: bool
) -> ExportedProgram:
    """Return the model's ATen ops."""
    shapes = None
    if dynamic_batch:
        batch = torch.export.Dim("batch", min=2)  # PyTorch's tracing knows no 1 that could be more
        args, kwargs = tree_map(lambda t: _at_least_two_rows(t) if _has_rows(t) else t, (args, kwargs))
        shapes = torch.export.ShapesCollection()
        for tensor in filter(_has_rows, tree_leaves((args, kwargs))):
            shapes[tensor] = {0: batch}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # PyTorch's own
        return torch.export.export(model, args, kwargs, dynamic_shapes=shapes, strict=False)


def _has_rows(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dim() >= 2


def _at_least_two_rows(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.shape[0] > 1 else torch.cat([tensor, tensor])


class _Exporter:
    """One export: the graph, its words, and the importer that writes them."""

    def __init__(self, name: str, order: Sequence[str], program: ExportedProgram, precision: str) -> None:
        self._name, self._order, self._program = name, order, program
        self._graph = program.graph_module.graph
        self._nodes = {node.name: node for node in self._graph.nodes}
        self._specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
        self._changed = self._find_changed()
        for name, spec in self._specs.items():
            self._nodes[name]._rename(Names().take(spec.target or name))
        parameters = {
            self._nodes[name].name
            for name, spec in self._specs.items()
            if spec.kind in _PARAMETERS and spec.target not in self._changed
        }
        self._words, self._reasons = find_words(self._graph, parameters)
        self._importer = Importer(set(), parameters, precision)

    def _find_changed(self) -> dict[str, fx.Node]:
        """Return new values of the buffers that the model changes, less its counters of batches."""
        changed = {}
        for spec in self._program.graph_signature.output_specs:
            if spec.kind == OutputKind.USER_INPUT_MUTATION:
                raise UnsupportedError(f"cannot export {self._name}: it changes its input '{spec.target}'")
            if spec.kind == OutputKind.BUFFER_MUTATION:
                node = self._nodes[spec.arg.name]
                if dtype_of(node) in TYPES or not spec.target.endswith("num_batches_tracked"):
                    changed[spec.target] = node
        return changed

    def export(self) -> Exported:
        """Return the function's text, and the parameters' values."""
        results = self._results()
        self._import([node for _, node in results])
        values = {node: self._importer.value(strip(node), flatten(torch_shape(node))) for _, node in results}
        names = Names()
        arguments, parameters = self._arguments(names)
        types = [type_of(values[node]) for _, node in results]
        gives = [
            f'{text} {{tenon.name = "{names.take(name)}"}}' for text, (name, _) in zip(types, results, strict=True)
        ]
        takes = ",\n".join(f"    {argument}" for argument in arguments)
        joined = ",\n        ".join(gives)
        signature = f"(\n{takes})\n    -> ({joined})"
        body = [*map(without_locations, self._importer.lines), return_text([values[node] for _, node in results])]
        return Exported(module_text("forward", signature, body), parameters)

    def _results(self) -> list[tuple[str, fx.Node]]:
        """Return names and nodes of the results: the model's own, then new values of buffers."""
        own = []
        for spec in self._program.graph_signature.output_specs:
            if spec.kind != OutputKind.USER_OUTPUT:
                continue
            if isinstance(spec.arg, TensorArgument):
                own.append(self._nodes[spec.arg.name])
            elif not isinstance(spec.arg, ConstantArgument):
                raise UnsupportedError(f"cannot export {self._name}: one of its results is not a tensor")
        named = [("y" if len(own) == 1 else f"y{i}", node) for i, node in enumerate(own)]
        return named + [(f"{target}_new", node) for target, node in self._changed.items()]

    def _import(self, results: Sequence[fx.Node]) -> None:
        """Lower all that the results need."""
        needed: set[fx.Node] = set()
        stack = [strip(node) for node in results]
        unsupported = {}
        while stack:
            node = stack.pop()
            if node in needed:
                continue
            needed.add(node)
            if node in self._words:
                stack.extend(self._words[node].operands)
            elif node.target is operator.getitem and node.args[0] not in self._words:
                stack.append(node.args[0])  # the op that gives several results is what is lacking
            elif node.op != "placeholder":
                unsupported[node] = self._why(node)
                stack.extend(strip(source) for source in node.all_input_nodes)
        for node in results:
            if dtype_of(node) not in TYPES:
                unsupported.setdefault(strip(node), "it gives a result that is not of floating-point numbers")
        if unsupported:
            raise UnsupportedError(self._message(unsupported))
        for node in self._graph.nodes:
            if node in needed and node in self._words:
                try:
                    self._importer.append(node)
                except builder.InexpressibleError as error:
                    raise UnsupportedError(self._message({node: str(error)})) from None

    def _why(self, node: fx.Node) -> str:
        gives_several = isinstance(node.meta.get("val"), tuple | list)
        unknown = f"Tenon has no word for {op_name(node) or node.target}"
        return unknown if gives_several else self._reasons.get(node, unknown)

    def _message(self, unsupported: dict[fx.Node, str]) -> str:
        lines = []
        for node in self._graph.nodes:
            if node in unsupported:
                line = source_line(node)
                lines.append(f"  {f'{line[0]}:{line[1]}: ' if line else ''}{node.target}: {unsupported[node]}")
        return (
            f"cannot export {self._name}: all of it must be expressible, but {len(lines)} of its ops "
            f"{'is' if len(lines) == 1 else 'are'} not:\n" + "\n".join(lines)
        )

    def _arguments(self, names: Names) -> tuple[list[str], dict[str, torch.Tensor]]:
        """Return the function's arguments as text, in their order, and the parameters' values."""
        order = {name: i for i, name in enumerate(self._order)}
        placed: list[tuple[tuple[int, int], str, Value, torch.Tensor | None]] = []
        for position, (name, spec) in enumerate(self._specs.items()):
            node = self._nodes[name]
            uses = [(t, v) for (n, _, t), v in self._importer._arguments.items() if n is node]
            if spec.kind == InputKind.USER_INPUT:
                uses = uses or self._unused_input(node)
                placed += [((0, position), name, value, None) for _, value in uses]
            elif spec.target in self._changed:
                placed += [((1, order.get(spec.target, position)), spec.target, value, None) for _, value in uses]
            else:
                values = self._value_of(spec.target)
                rank = (2, order.get(spec.target, len(order) + position))
                for transposed, value in uses:
                    tensor = values.t() if transposed else values.reshape(value.shape)
                    placed.append((rank, spec.target, value, tensor))
        arguments, parameters = [], {}
        for _, name, value, tensor in sorted(placed, key=lambda entry: entry[0]):
            unique = names.take(name)
            mark = "" if tensor is None else ", tenon.param"
            arguments.append(f'{value.name}: {type_of(value)} {{tenon.name = "{unique}"{mark}}}')
            if tensor is not None:
                parameters[unique] = tensor
        return arguments, parameters

    def _unused_input(self, node: fx.Node) -> list[tuple[bool, Value]]:
        """Keep an input's place among the arguments, where Tenon has such tensors."""
        shape = torch_shape(node)
        if shape is None or dtype_of(node) not in TYPES:
            return []
        return [(False, self._importer.value(node, flatten(shape)))]

    def _value_of(self, target: str) -> torch.Tensor:
        values = self._program.state_dict
        return values[target] if target in values else self._program.constants[target]
