# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From an ONNX file to one MLIR function of tenon ops."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from tenon.errors import UnsupportedError
from tenon.formats import onnx_layouts, onnx_recurrent  # noqa: F401 (their rules)
from tenon.formats.model import Model
from tenon.formats.onnx_ops import RULES, find_softplus_threshold
from tenon.formats.tidy import tidy
from tenon.importer import tensors
from tenon.importer.builder import (
    TYPES,
    WHOLE_TYPES,
    Builder,
    InexpressibleError,
    Operand,
    Value,
    module_text,
    return_text,
    type_of,
)
from tenon.importer.names import Names
from tenon.importer.shapes import Extent, Shape, is_expressible
from tenon.importer.tensors import Tensor

_FOLDED_BYTES = 1 << 26  # what constants are computed up to
_PASSED_WHOLE = "float64"  # how whole numbers are passed: exact up to 2^53


class Initialiser(NamedTuple):
    """A constant of the graph as an argument: the value, and what it is called."""

    value: Value
    array: np.ndarray
    name: str


def load(
    path: Path, outputs: Sequence[str] = (), precision: str | None = None, extents: Mapping[str, int] | None = None
) -> Model:
    """Return the model in an ONNX file; `extents` are those of dynamic dimensions. See `tenon-import`."""
    try:
        proto = onnx.load(path)
    except OSError:
        raise
    except Exception as error:  # protobuf's, or onnx's of external data
        raise UnsupportedError(f"cannot read {path} as ONNX: {error}") from None
    return read(proto, str(path), outputs, precision, extents)


def read(
    proto: onnx.ModelProto,
    name: str,
    outputs: Sequence[str] = (),
    precision: str | None = None,
    extents: Mapping[str, int] | None = None,
    results: Sequence[str] = (),
) -> Model:
    """Return a model; `results` are other names of its outputs."""
    _set_extents(proto, extents or {})
    try:
        proto = shape_inference.infer_shapes(proto, data_prop=True)
    except Exception as error:
        raise UnsupportedError(f"cannot read {name} as ONNX: {error}") from None
    if not proto.graph.output:
        raise UnsupportedError(f"cannot read {name} as ONNX: it has no outputs")
    return Graph(proto, precision).write(list(outputs), list(results))


def _set_extents(proto: onnx.ModelProto, extents: Mapping[str, int]) -> None:
    dims = [d for info in proto.graph.input for d in info.type.tensor_type.shape.dim if d.HasField("dim_param")]
    if unknown := set(extents) - {d.dim_param for d in dims}:
        known = ", ".join(dict.fromkeys(d.dim_param for d in dims)) or "none"
        raise UnsupportedError(f"no input has a dynamic extent {', '.join(sorted(unknown))}; there are: {known}")
    for d in dims:
        if d.dim_param in extents:
            d.dim_value = extents[d.dim_param]
    if extents:
        del proto.graph.value_info[:]  # inferred anew


def flatten(shape: Shape) -> Shape:
    """Return Tenon's shape of a tensor: all dimensions but the last become rows."""
    if len(shape) < 3:
        return shape
    numbers = math.prod(d for d in shape[:-1] if isinstance(d, int))
    symbols = sorted(str(d) for d in shape[:-1] if not isinstance(d, int))
    if not symbols:
        return numbers, shape[-1]
    return "*".join([*symbols, *([str(numbers)] if numbers != 1 else [])]), shape[-1]


class Graph:
    """One import: what is constant, what was written, and the arguments."""

    def __init__(self, proto: onnx.ModelProto, precision: str | None) -> None:
        """Read constants and what is known of shapes."""
        self.proto, self.builder = proto, Builder(precision)
        self.constants = {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer}
        self.tensors: dict[str, Tensor] = {}
        self._producers = {name: node for node in proto.graph.node for name in node.output}
        self._names = Names()
        self._initialisers: dict[tuple[str, bool], Initialiser] = {}
        self._shapes = {
            info.name: (self._shape_of(info), self._dtype_of(info))
            for info in [*proto.graph.value_info, *proto.graph.output, *proto.graph.input]
        }
        opsets = {entry.domain: entry.version for entry in proto.opset_import}
        self.opset = opsets.get("", opsets.get("ai.onnx", 1))

    def write(self, outputs: list[str], names: list[str]) -> Model:
        """Write what the outputs need, all of the graph's if none are named, under their names or others."""
        known = [info.name for info in self.proto.graph.output]
        if unknown := set(outputs) - set(known):
            raise UnsupportedError(f"the model has no output {', '.join(sorted(unknown))}; it has {', '.join(known)}")
        outputs = outputs or known
        inputs = self._inputs()
        self._append_all(outputs)
        results = [self._result(name) for name in outputs]
        arguments = [*inputs, *(self._argument(i.value, i.name, ", tenon.param") for i in self._initialisers.values())]
        gives = [
            f'{type_of(value)} {{tenon.name = "{self._names.take(name)}"}}'
            for value, name in zip(results, names or outputs, strict=True)
        ]
        takes = ",\n".join(f"    {argument}" for argument in arguments)
        signature = f"(\n{takes})\n    -> ({', '.join(gives)})"
        text = module_text("forward", signature, [*self.builder.lines, return_text(results)])
        # Older files spell functions out with these.
        text = tidy(text) if "math." in text else text
        return Model(text, {i.name: i.array for i in self._initialisers.values()})

    # What rules ask for

    def shape_of(self, name: str) -> Shape | None:
        """Return what is known of a tensor's shape, as the file has it."""
        if name in self.constants:
            return self.constants[name].shape
        return self.tensors[name].shape if name in self.tensors else self._shapes.get(name, (None,))[0]

    def tensor(self, name: str) -> Tensor:
        """Return a tensor of the function; a constant becomes a parameter."""
        if name not in self.constants:
            return self.tensors[name]
        array = self.constants[name]
        if array.dtype.name in WHOLE_TYPES:
            return tensors.fold(self.builder, tensors.literal(self.builder, array))
        return Tensor(self.parameter(name), array.shape)

    def part(self, name: str) -> tensors.Part:
        """Return a number, if the tensor is one that is known, or the tensor."""
        value, shape = self.operand(name)
        return Tensor(value, shape) if isinstance(value, Value) else value

    def operand(self, name: str) -> tuple[Operand, Shape]:
        """Return a number, if the tensor is one that is known, or the tensor; and its shape."""
        array = self.constants.get(name)
        if array is not None and array.size == 1 and array.dtype.name in TYPES:
            return float(array.reshape(())), array.shape
        tensor = self.tensor(name)
        return tensor.value, tensor.shape

    def producer(self, name: str) -> onnx.NodeProto | None:
        """Return the op that gives a tensor."""
        return self._producers.get(name)

    def number(self, name: str) -> float:
        """Return the number that a tensor is known to be."""
        array = self.constants.get(name)
        if array is None or array.size != 1:
            raise InexpressibleError(f"its operand {name} is not a known number")
        return float(array.reshape(()))

    def array(self, name: str) -> np.ndarray:
        """Return the values of a tensor that is known."""
        if name not in self.constants:
            raise InexpressibleError(f"its operand {name} is not known when the model is read")
        return self.constants[name]

    def attribute(self, node: onnx.NodeProto, name: str, values: Sequence[float]) -> Operand:
        """Return what an attribute has for all elements, or for each column."""
        constant = f"{node.name or node.output[0]}_{name}"
        self.constants[constant] = np.array(values, np.float32)
        return self.operand(constant)[0]

    def parameter(self, name: str, *, transposed: bool = False) -> Value:
        """Return the argument that a constant is passed in, or its transpose."""
        key = name, transposed
        if key not in self._initialisers:
            array = self.constants[name]
            if array.dtype.name not in TYPES:
                raise InexpressibleError(f"its operand {name} is of {array.dtype.name}")
            while array.ndim > 1 and array.shape[0] == 1:
                array = array[0]
            array = array.T if transposed else array.reshape(flatten(array.shape))
            unique = self._names.take(name)
            value = Value(f"%{self.builder.fresh(unique)}", array.dtype.name, array.shape)
            if not is_expressible(array.shape):
                raise InexpressibleError(f"its operand {name} has no elements")
            self._initialisers[key] = Initialiser(value, array, unique)
        return self._initialisers[key].value

    # The walk

    def _inputs(self) -> list[str]:
        arguments = []
        for info in self.proto.graph.input:
            if info.name in self.constants:
                continue
            shape, dtype = self._shapes[info.name]
            is_whole = dtype in WHOLE_TYPES
            if shape is None or (dtype not in TYPES and not is_whole) or not is_expressible(flatten(shape)):
                raise UnsupportedError(
                    f"cannot import input {info.name}, {dtype}{list(shape or ())}: Tenon has tensors of numbers, of "
                    "which the rows alone may be dynamic; give other extents with --extent"
                )
            unique = self._names.take(info.name)
            value = Value(f"%{self.builder.fresh(unique)}", _PASSED_WHOLE if is_whole else dtype, flatten(shape))
            arguments.append(self._argument(value, unique, ""))
            self.tensors[info.name] = Tensor(value, shape)
            if is_whole:
                self.tensors[info.name] = tensors.convert(self.builder, self.tensors[info.name], dtype)
        return arguments

    def _append_all(self, outputs: Sequence[str]) -> None:
        needed: set[str] = set()
        conditions: set[str] = set()  # which are read as they are written
        stack = list(outputs)
        while stack:
            node = self._producers.get(stack.pop())
            if node and node.output[0] not in needed:
                needed.add(node.output[0])
                stack.extend(node.input)
                if node.op_type == "Where" and find_softplus_threshold(self, node):
                    conditions.add(node.input[0])
        problems, lacking = [], set()
        for node in self.proto.graph.node:
            if node.output[0] not in needed or node.output[0] in conditions or self._fold(node):
                continue
            if lacking.intersection(node.input):
                lacking.update(node.output)
                continue
            try:
                self._append(node)
            except InexpressibleError as error:
                problems.append(f"  {node.op_type} {node.name or node.output[0]}: {error}")
                lacking.update(node.output)
        if problems:
            raise UnsupportedError(
                f"cannot import the model: all of it must be expressible, but {len(problems)} of its ops "
                f"{'is' if len(problems) == 1 else 'are'} not:\n" + "\n".join(problems)
            )

    def _append(self, node: onnx.NodeProto) -> None:
        name = node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
        rule = RULES.get(name)
        if rule is None:
            raise InexpressibleError(f"Tenon has no word for {name}")
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        self.builder.name = "v"
        self.tensors[node.output[0]] = rule(self, node, attributes)

    def _fold(self, node: onnx.NodeProto) -> bool:
        """Compute what depends on constants alone."""
        if any(name and name not in self.constants for name in node.input):
            return self._fold_shape(node)
        if sum(self.constants[name].nbytes for name in node.input if name) > _FOLDED_BYTES:
            return False
        try:
            feeds = {name: self.constants[name] for name in node.input if name}
            opsets = {entry.domain: entry.version for entry in self.proto.opset_import}
            results = ReferenceEvaluator(node, opsets=opsets).run(None, feeds)
        except Exception:  # it knows not all ops; then a rule has to
            return False
        self.constants.update(zip(node.output, (np.asarray(r) for r in results), strict=False))
        return True

    def _fold_shape(self, node: onnx.NodeProto) -> bool:
        shape = self.shape_of(node.input[0]) if node.op_type == "Shape" else None
        if shape is None or not all(isinstance(d, int) for d in shape):
            return False
        part = slice(*({a.name: a.i for a in node.attribute}.get(name) for name in ("start", "end")))
        self.constants[node.output[0]] = np.array(shape[part], np.int64)
        return True

    def _result(self, name: str) -> Value:
        value = self.tensor(name).value
        if value.dtype not in TYPES:
            raise UnsupportedError(f"output {name} is of {value.dtype}; name those to import with --output")
        return value

    def _argument(self, value: Value, name: str, mark: str) -> str:
        return f'{value.name}: {type_of(value)} {{tenon.name = "{name}"{mark}}}'

    @staticmethod
    def _shape_of(info: onnx.ValueInfoProto) -> Shape | None:
        tensor = info.type.tensor_type
        if not tensor.HasField("shape"):
            return None
        dims: list[Extent] = [d.dim_value if d.HasField("dim_value") else d.dim_param for d in tensor.shape.dim]
        return tuple(f"{info.name}_{i}" if d == "" else d for i, d in enumerate(dims))

    @staticmethod
    def _dtype_of(info: onnx.ValueInfoProto) -> Any:
        kind = info.type.tensor_type.elem_type
        return helper.tensor_dtype_to_np_dtype(kind).name if kind else ""
