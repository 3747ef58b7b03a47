# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each op of ONNX is in tenon ops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tenon.importer import rows, tensors
from tenon.importer.builder import TYPES, WHOLE_TYPES, Builder, Factor, InexpressibleError, Value, constant
from tenon.importer.shapes import Shape
from tenon.importer.tensors import Tensor

if TYPE_CHECKING:
    import onnx

    from tenon.formats.onnx_graph import Graph


Rule = Callable[["Graph", "onnx.NodeProto", dict[str, Any]], Tensor]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Enter a function as the rule of these ops."""

    def enter(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return enter


# Products


@rule("Gemm")
def _gemm(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    b, names = g.builder, list(node.input)
    x = _factor(g, names[0], bool(given.get("transA", 0)))
    w = _factor(g, names[1], not given.get("transB", 0))
    alpha, beta = given.get("alpha", 1.0), given.get("beta", 1.0)
    name = names[2] if len(names) > 2 and names[2] and beta else ""
    is_bias = alpha == beta == 1.0 and name in g.constants and g.constants[name].shape in ((w.rows(),), (1, w.rows()))
    y = b.linear(x, w, g.parameter(name) if is_bias else None)
    y = y if alpha == 1.0 else b.binary("mul", y, alpha)
    if name and not is_bias:
        addend, _ = g.operand(name)
        if beta != 1.0:
            addend = beta * addend if isinstance(addend, float) else b.binary("mul", addend, beta)
        y = b.binary("add", y, addend)
    return Tensor(y, (x.rows(), w.rows()))


@rule("MatMul")
def _matmul(g: Graph, node: onnx.NodeProto, _: dict[str, Any]) -> Tensor:
    shape, weight = g.shape_of(node.input[0]), g.shape_of(node.input[1])
    if len(shape) < 2 or len(weight) != 2:
        return tensors.product(g.builder, g.tensor(node.input[0]), g.tensor(node.input[1]))
    y = g.builder.linear(_factor(g, node.input[0], False), _factor(g, node.input[1], True))
    return Tensor(y, (*shape[:-1], weight[1]))


def _factor(g: Graph, name: str, transposed: bool) -> Factor:
    """Return a matrix of a product; of a constant its transpose is passed."""
    if name in g.constants:
        if g.constants[name].ndim != 2:
            raise InexpressibleError("it is not a product of two matrices")
        return Factor(g.parameter(name, transposed=transposed))
    return Factor(g.tensor(name).value, transposed)


# Arithmetic


_BINARY = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Min": "min", "Max": "max"}


_WHOLE = {"Add": "addi", "Sub": "subi", "Mul": "muli", "Div": "divsi", "Min": "minsi", "Max": "maxsi"}
_FLOATING = {"Add": "addf", "Sub": "subf", "Mul": "mulf", "Div": "divf", "Min": "minimumf", "Max": "maximumf"}


@rule(*_BINARY)
def _binary(g: Graph, node: onnx.NodeProto, _: dict[str, Any]) -> Tensor:
    parts = [g.part(name) for name in node.input]
    x = parts[0]
    for y in parts[1:]:
        x = _two(g.builder, node.op_type, x, y)
    if not isinstance(x, Tensor):
        raise InexpressibleError("it computes with numbers alone")
    return x


def _two(b: Builder, op: str, x: tensors.Part, y: tensors.Part) -> tensors.Part:
    given = [part for part in (x, y) if isinstance(part, Tensor)]
    dtype = given[0].value.dtype
    if dtype in WHOLE_TYPES:
        return tensors.apply(b, f"arith.{_WHOLE[op]}", [x, y], dtype, WHOLE_TYPES[dtype])
    shape = broadcast([part.shape for part in given])
    if all(_is_of_rows(part.shape, shape) for part in given):
        operands = [part.value if isinstance(part, Tensor) else part for part in (x, y)]
        return Tensor(b.binary(_BINARY[op], *operands), shape)
    return tensors.apply(b, f"arith.{_FLOATING[op]}", [x, y], dtype, TYPES[dtype])


def broadcast(shapes: list[Shape]) -> Shape:
    """Return the shape that all broadcast to; dynamic extents are taken to be none that is repeated."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(next((e for e in extents if e != 1), 1) for extents in zip(*padded, strict=True))


def _is_of_rows(shape: Shape, whole: Shape) -> bool:
    """Whether a tensor has each row of the whole, or one for all."""
    ahead = shape[:-1]
    return all(extent == 1 for extent in ahead) or ahead == whole[:-1]


@rule("Neg", "Abs", "Reciprocal", "Sqrt", "Erf")
def _arithmetic(g: Graph, node: onnx.NodeProto, _: dict[str, Any]) -> Tensor:
    b, (x, shape) = g.builder, g.tensor(node.input[0])
    match node.op_type:
        case "Neg":
            y = b.binary("mul", x, -1.0)
        case "Abs":
            y = b.binary("max", x, b.binary("mul", x, -1.0))
        case "Reciprocal":
            y = b.binary("div", 1.0, x)
        case _:
            y = b.elementwise(f"math.{node.op_type.lower()}", x)
    return Tensor(y, shape)


@rule("Pow")
def _pow(g: Graph, node: onnx.NodeProto, _: dict[str, Any]) -> Tensor:
    b, (x, shape) = g.builder, g.tensor(node.input[0])
    exponent = g.number(node.input[1])
    if exponent == 0.5:
        return Tensor(b.elementwise("math.sqrt", x), shape)
    if exponent not in (2.0, 3.0):
        return tensors.apply(b, "math.powf", [Tensor(x, shape), exponent], x.dtype, TYPES[x.dtype])
    square = b.binary("mul", x, x)
    return Tensor(square if exponent == 2.0 else b.binary("mul", square, x), shape)


# Functions of one tensor


_UNARY = {"Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Exp": "exp", "Log": "log", "Mish": "mish"}


@rule(*_UNARY)
def _unary(g: Graph, node: onnx.NodeProto, _: dict[str, Any]) -> Tensor:
    x, shape = g.tensor(node.input[0])
    return Tensor(g.builder.unary(_UNARY[node.op_type], x), shape)


# By op: tenon's, and the attributes of both with ONNX's defaults.
_WITH_ATTRIBUTES: dict[str, tuple[str, dict[str, tuple[str, float]]]] = {
    "LeakyRelu": ("leaky_relu", {"negative_slope": ("alpha", 0.01)}),
    "Elu": ("elu", {"alpha": ("alpha", 1.0)}),
    "Selu": ("elu", {"alpha": ("alpha", 1.6732632423543772), "scale": ("gamma", 1.0507009873554805)}),
    "Softplus": ("softplus", {}),
}


@rule(*_WITH_ATTRIBUTES)
def _with_attributes(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    x, shape = g.tensor(node.input[0])
    op, attributes = _WITH_ATTRIBUTES[node.op_type]
    return Tensor(_call(g.builder, op, x, {ours: given.get(*theirs) for ours, theirs in attributes.items()}), shape)


def _call(b: Builder, op: str, x: Value, attributes: dict[str, float]) -> Value:
    text = ", ".join(f"{name} = {constant(value)} : f64" for name, value in attributes.items())
    return b.unary(op, x, text and f"{{{text}}}")


def find_softplus_threshold(g: Graph, node: onnx.NodeProto) -> onnx.NodeProto | None:
    """Return the comparison of a softplus that is x beyond a threshold, as PyTorch's exporter writes one."""
    condition, function = g.producer(node.input[0]), g.producer(node.input[2])
    is_softplus = (
        condition is not None
        and condition.op_type == "Greater"
        and condition.input[0] == node.input[1]
        and function is not None
        and function.op_type == "Softplus"
        and function.input[0] == node.input[1]
    )
    return condition if is_softplus else None


@rule("Where")
def _where(g: Graph, node: onnx.NodeProto, _: dict[str, Any]) -> Tensor:
    condition = find_softplus_threshold(g, node)
    if condition is not None:
        x, shape = g.tensor(node.input[1])
        return Tensor(_call(g.builder, "softplus", x, {"threshold": g.number(condition.input[1])}), shape)
    parts = [g.part(name) for name in node.input]
    given = [part.value.dtype for part in parts[1:] if isinstance(part, Tensor)]
    dtype = given[0] if given else g.constants[node.input[1]].dtype.name
    kind = tensors.spelling(dtype)
    return tensors.pointwise(g.builder, parts, dtype, lambda e: ([f"%r = arith.select {', '.join(e)} : {kind}"], "%r"))


@rule("Celu")
def _celu(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    x, shape = g.tensor(node.input[0])
    alpha = given.get("alpha", 1.0)
    return Tensor(_call(g.builder, "elu", x, {"alpha": alpha, "input_scale": 1.0 / alpha}), shape)


@rule("Gelu")
def _gelu(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    x, shape = g.tensor(node.input[0])
    approximate = "approximate<tanh>" if given.get("approximate", b"none") == b"tanh" else ""
    return Tensor(g.builder.unary("gelu", x, approximate), shape)


@rule("Swish")
def _swish(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    b, (x, shape) = g.builder, g.tensor(node.input[0])
    alpha = given.get("alpha", 1.0)
    if alpha == 1.0:
        return Tensor(b.unary("silu", x), shape)
    wide = b.widen(x)
    y = b.binary("mul", wide, b.unary("sigmoid", b.binary("mul", wide, alpha)))
    return Tensor(b.cast(y, x.dtype), shape)


@rule("HardSigmoid", "HardSwish")
def _hard(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    b, (x, shape) = g.builder, g.tensor(node.input[0])
    wide = b.widen(x)
    is_sigmoid = node.op_type == "HardSigmoid"
    slope, offset = (given.get("alpha", 0.2), given.get("beta", 0.5)) if is_sigmoid else (1.0 / 6.0, 0.5)
    y = _clamp(b, b.binary("add", b.binary("mul", wide, slope), offset), 0.0, 1.0)
    return Tensor(b.cast(y if is_sigmoid else b.binary("mul", wide, y), x.dtype), shape)


@rule("Clip")
def _clip(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    x, shape = g.tensor(node.input[0])
    bounds = [given.get("min", -math.inf), given.get("max", math.inf)]
    for i, name in enumerate(node.input[1:]):
        bounds[i] = g.number(name) if name else bounds[i]
    return Tensor(_clamp(g.builder, x, *bounds), shape)


def _clamp(b: Builder, x: Value, low: float, high: float) -> Value:
    return _call(b, "clamp", x, {"min": low, "max": high})


@rule("Cast")
def _cast(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    from onnx import helper

    dtype = helper.tensor_dtype_to_np_dtype(given["to"]).name
    if dtype not in TYPES and dtype not in WHOLE_TYPES:
        raise InexpressibleError(f"Tenon has no tensors of {dtype}")
    return tensors.convert(g.builder, g.tensor(node.input[0]), dtype)


@rule("ai.onnx.ml.Scaler")
def _scaler(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    b, (x, shape) = g.builder, g.tensor(node.input[0])
    y = b.binary("sub", x, g.attribute(node, "offset", given.get("offset", [0.0])))
    return Tensor(b.binary("mul", y, g.attribute(node, "scale", given.get("scale", [1.0]))), shape)


# Norms and rows


@rule("BatchNormalization")
def _batch_norm(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    x, shape = g.tensor(node.input[0])
    if given.get("training_mode", 0) or len(shape) != 2:
        raise InexpressibleError("Tenon takes batch norm of [batch, features] with given statistics")
    weight, bias, mean, variance = (g.tensor(name).value for name in node.input[1:5])
    y = g.builder.batch_norm_inference(x, mean, variance, weight, bias, given.get("epsilon", 1e-5))
    return Tensor(y, shape)


def _check_last_axis(shape: Shape, axis: int) -> None:
    if axis not in (-1, len(shape) - 1):
        raise InexpressibleError(f"Tenon takes rows, the last dimension, and not dimension {axis}")


@rule("LayerNormalization", "RMSNormalization")
def _row_norm(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    b, (x, shape) = g.builder, g.tensor(node.input[0])
    _check_last_axis(shape, given.get("axis", -1))
    weight, bias = (
        b.widen(g.parameter(name) if name in g.constants else g.tensor(name).value) if name else None
        for name in (*node.input[1:], "", "")[:2]
    )
    eps = given.get("epsilon", 1e-5)
    if node.op_type == "RMSNormalization":
        y = rows.rms_norm(b, b.widen(x), weight, eps)[0]
    else:
        y = rows.layer_norm(b, b.widen(x), weight, bias, eps)[0]
    return Tensor(b.cast(y, x.dtype), shape)


@rule("Softmax", "LogSoftmax")
def _softmax(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    b, (x, shape) = g.builder, g.tensor(node.input[0])
    _check_last_axis(shape, given.get("axis", -1 if g.opset >= 13 else 1))
    function = rows.softmax if node.op_type == "Softmax" else rows.log_softmax
    return Tensor(b.cast(function(b, b.widen(x)), x.dtype), shape)


_REDUCTIONS = {"ReduceMean": "mean", "ReduceSum": "sum", "ReduceMax": "max", "ReduceMin": "min"}


@rule(*_REDUCTIONS)
def _reduce(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    b, (x, shape) = g.builder, g.tensor(node.input[0])
    axes = given.get("axes") or (g.array(node.input[1]).tolist() if len(node.input) > 1 and node.input[1] else [])
    axes = [axis % len(shape) for axis in axes or range(len(shape))]
    keeps, kind = given.get("keepdims", 1), _REDUCTIONS[node.op_type]
    if axes != [len(shape) - 1] or len(x.shape) != 2:
        return tensors.reduce(b, kind, Tensor(x, tensors.static(shape)), axes, bool(keeps))
    y = Tensor(b.cast(b.reduce_row(kind, b.widen(x)), x.dtype), (*shape[:-1], 1))
    return y if keeps else tensors.view(b, y, tensors.static(shape[:-1]))


# What computes nothing


@rule("Identity", "Dropout")
def _nothing(g: Graph, node: onnx.NodeProto, _: dict[str, Any]) -> Tensor:
    return g.tensor(node.input[0])
