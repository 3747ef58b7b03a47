# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's ops in Tenon's words: one rule for each ATen op."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from torch import fx

from tenon.elementwise import UNARY
from tenon.importer.builder import Factor, InexpressibleError, Operand, Value, constant
from tenon.torch.fusion.lowering import Lowering
from tenon.torch.fusion.shapes import torch_shape
from tenon.torch.fusion.views import dtype_of

# Takes the node and its arguments by name.
Rule = Callable[[Lowering, fx.Node, dict[str, Any]], Value]
LINEAR: dict[str, Rule] = {}
ELEMENTWISE: dict[str, Rule] = {}
NORMALIZE = "tenon.normalize"
# Ops that Inductor is to leave whole until Tenon has seen them.
WHOLE: set[str] = set()


def rule(table: dict[str, Rule], *names: str, whole: bool = False) -> Callable[[Rule], Rule]:
    """Enter a function into a table as the rule of some ATen ops, which are of `WHOLE` if that is said."""

    def enter(function: Rule) -> Rule:
        rules = {f"aten.{name}": function for name in names}
        table.update(rules)
        WHOLE.update(rules if whole else ())
        return function

    return enter


@rule(LINEAR, "linear")
def _linear(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    x, w = b.activation(given["input"]), b.weight(given["weight"], is_transposed=False)
    return _add_bias(b, node, x, w, given["bias"])


@rule(LINEAR, "addmm")
def _addmm(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    alpha, beta = b.number(given["alpha"]), b.number(given["beta"])
    if alpha == 0:
        raise InexpressibleError("it ignores its product, NaN in it too, since alpha is 0")
    x = b.activation(given["mat1"])
    w = b.weight(given["mat2"], is_transposed=True, x=x)
    if alpha == beta == 1:
        return _add_bias(b, node, x, w, given["self"])
    y = b.linear(x, w)
    if alpha != 1:
        y = b.binary("mul", y, alpha)
    return y if beta == 0 else b.binary("add", y, _scaled(b, b.operand(given["self"]), beta))


@rule(LINEAR, "mm", "bmm", "matmul")
def _matmul(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    left, right = given["self"], given.get("mat2", given.get("other"))
    x = b.activation(left)
    return b.linear(x, b.weight(right, is_transposed=True, x=x), dtype=dtype_of(node))


@rule(LINEAR, "_scaled_mm")
def _scaled_mm(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    if given["scale_result"] is not None:
        raise InexpressibleError("it scales its result")
    x, w = b.activation(given["self"]), b.weight(given["mat2"], is_transposed=True)
    shape = torch_shape(given["scale_a"])
    if len(shape) == 2 and math.prod(shape) != 1 and shape != (x.rows(), 1):
        return _end_scaled(b, node, given, _multiply_blocks(b, x, w, given["scale_a"], given["scale_b"]))
    if x.value.dtype != w.value.dtype:  # no kernel multiplies two types of 8 bits, but float16 has the numbers of both
        x, w = (matrix._replace(value=b.cast(matrix.value, "float16")) for matrix in (x, w))
    y = b.linear(x, w, dtype="float32")
    for name, of_rows in (("scale_a", (x.rows(), 1)), ("scale_b", (1, w.rows()))):
        shape = torch_shape(given[name])
        if math.prod(shape) != 1 and shape != of_rows:
            raise InexpressibleError("its scales are not of a whole tensor, or of rows of x and columns of w")
        vector = () if math.prod(shape) == 1 else shape[1:] if name == "scale_b" else shape
        y = b.binary("mul", y, b.reshaped(given[name], vector))
    return _end_scaled(b, node, given, y)


@rule(LINEAR, "_scaled_mm_v2")
def _scaled_mm_v2(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    """Return what `F.scaled_mm` gives with one scale a matrix, a row, or a block of 128."""
    recipes = [*given["recipe_a"], *given["recipe_b"]]
    if any(given["swizzle_a"]) or any(given["swizzle_b"]) or given["contraction_dim"]:
        raise InexpressibleError("its scales are swizzled, or K is not where it is in a product of matrices")
    if recipes not in ([TENSOR_WISE, TENSOR_WISE], [ROW_WISE, ROW_WISE], [BLOCKS_OF_X, BLOCKS_OF_W]):
        raise InexpressibleError("its scales are not of tensors, rows, or blocks of 1x128 and 128x128")
    given = given | {"scale_a": given["scale_a"][0], "scale_b": given["scale_b"][0], "scale_result": None}
    return _scaled_mm(b, node, given)


# Of torch.nn.functional.ScalingType.
TENSOR_WISE, ROW_WISE, BLOCKS_OF_X, BLOCKS_OF_W = 0, 1, 4, 5
BLOCK = 128


def _multiply_blocks(b: Lowering, x: Factor, w: Factor, scales_of_x: fx.Node, scales_of_w: fx.Node) -> Value:
    """Return a product of matrices of which blocks of 1x128, and of 128x128 of w, have scales."""
    of_x, of_w = b.activation(scales_of_x), b.weight(scales_of_w, is_transposed=True)
    if x.is_transposed or w.is_transposed or of_w.is_transposed:
        raise InexpressibleError("its scales are of blocks, and one of its matrices lies transposed")
    # PyTorch has those of x lie column by column.
    x_scaled = b.scale_blocks(x.value, b.as_vector(of_x.value) if of_x.is_transposed else of_x.value, 1, BLOCK)
    w_scaled = b.scale_blocks(w.value, of_w.value, BLOCK, BLOCK)
    # Sums of 8 bits err less than tf32.
    return b.linear(x_scaled, w_scaled, precision="tf32")


def _end_scaled(b: Lowering, node: fx.Node, given: dict[str, Any], y: Value) -> Value:
    if given["bias"] is not None:
        y = b.binary("add", y, b.tensor(given["bias"]))
    return b.cast(y, dtype_of(node))


def _add_bias(b: Lowering, node: fx.Node, x: Factor, w: Factor, bias: fx.Node | None) -> Value:
    if bias is None:
        return b.linear(x, w)
    addend = b.operand(bias)
    if isinstance(addend, Value) and addend.shape == (w.rows(),):
        return b.linear(x, w, addend)
    return b.promoted("add", b.linear(x, w), addend, dtype_of(node))


@rule(ELEMENTWISE, "add", "sub")
def _add(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    other = _scaled(b, b.operand(given["other"]), b.number(given.get("alpha", 1)))
    return b.promoted(_kind(node), b.operand(given["self"]), other, dtype_of(node))


@rule(ELEMENTWISE, "rsub")
def _rsub(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    subtrahend = _scaled(b, b.operand(given["self"]), b.number(given.get("alpha", 1)))
    return b.promoted("sub", b.operand(given["other"]), subtrahend, dtype_of(node))


@rule(ELEMENTWISE, "mul", "div", "true_divide", "maximum", "minimum", "max", "min", "clamp_min", "clamp_max")
def _binary(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    if given.get("rounding_mode") is not None:
        raise InexpressibleError("it rounds its quotient")
    operands = list(given.values())[:2]
    if len(operands) < 2 or isinstance(operands[1], bool):
        raise InexpressibleError("it is a reduction")
    x, y = (b.operand(operand) for operand in operands)
    return b.promoted(_BINARY.get(_kind(node), _kind(node)), x, y, dtype_of(node))


_BINARY = {"true_divide": "div", "maximum": "max", "minimum": "min", "clamp_min": "max", "clamp_max": "min"}


@rule(ELEMENTWISE, *UNARY, whole=True)
def _unary(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    values = {name: b.number(given[name]) for name in UNARY[_kind(node)]}
    for name, value in values.items():
        if not math.isfinite(value):
            raise InexpressibleError(f"its {name} is not finite")
    attributes = ", ".join(f"{name} = {constant(value)}" for name, value in values.items())
    return b.unary(_kind(node), b.tensor(given["self"]), attributes and f"{{{attributes}}}")


@rule(ELEMENTWISE, "clamp", "hardtanh", "relu6", whole=True)
def _clamp(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    x = b.tensor(given["self"])
    low, high = (given.get(name, given.get(f"{name}_val")) for name in ("min", "max"))
    if _kind(node) == "relu6":
        low, high = 0, 6
    if isinstance(low, fx.Node) or isinstance(high, fx.Node) or dtype_of(node) != x.dtype:
        y = x if low is None else b.promoted("max", x, b.operand(low), dtype_of(node))
        return y if high is None else b.promoted("min", y, b.operand(high), dtype_of(node))
    return clamp(b, x, -math.inf if low is None else b.number(low), math.inf if high is None else b.number(high))


def clamp(b: Lowering, x: Value, low: float, high: float) -> Value:
    """Return x within two numbers, of which each may be infinite."""
    if math.isnan(low) or math.isnan(high):
        raise InexpressibleError("a bound is NaN")
    bounds = [f"min = {constant(low)} : f64"] if low != -math.inf else []
    bounds += [f"max = {constant(high)} : f64"] if high != math.inf else []
    return b.unary("clamp", x, f"{{{', '.join(bounds)}}}") if bounds else x


@rule(ELEMENTWISE, "celu", whole=True)
def _celu(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    alpha = b.number(given["alpha"])
    inverse = 1.0 / alpha if alpha else math.inf
    if not math.isfinite(alpha) or not math.isfinite(inverse):
        raise InexpressibleError("its alpha is not finite, or has no finite inverse")
    attributes = f"{{alpha = {constant(alpha)}, input_scale = {constant(inverse)}}}"
    return b.unary("elu", b.tensor(given["self"]), attributes)


@rule(ELEMENTWISE, "selu")
def _selu(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    # PyTorch's constants, by which torch.compile makes an elu of it.
    attributes = f"{{alpha = {constant(1.6732632423543772)}, scale = {constant(1.0507009873554805)}}}"
    return b.unary("elu", b.tensor(given["self"]), attributes)


@rule(ELEMENTWISE, "gelu", whole=True)
def _gelu(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    return b.unary("gelu", b.tensor(given["self"]), "approximate<tanh>" if given["approximate"] == "tanh" else "")


@rule(ELEMENTWISE, "threshold", whole=True)
def _threshold(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    threshold, x = b.number(given["threshold"]), b.tensor(given["self"])
    if threshold != b.number(given["value"]):
        raise InexpressibleError("it jumps at its threshold")
    return b.unary("relu", x) if threshold == 0 else b.binary("max", x, threshold)


@rule(ELEMENTWISE, "hardsigmoid", "hardswish", whole=True)
def _hardsigmoid(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    x = b.widen(b.tensor(given["self"]))
    y = clamp(b, b.binary("add", x, 3.0), 0.0, 6.0)
    y = b.binary("mul", x, y) if _kind(node) == "hardswish" else y
    return b.cast(b.binary("div", y, 6.0), dtype_of(node))


@rule(ELEMENTWISE, "neg", "abs", "square", "reciprocal")
def _arithmetic(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    x, kind = b.tensor(given["self"]), _kind(node)
    if kind == "neg":
        return b.binary("mul", x, -1.0)
    if kind == "abs":
        # Of two zeros either may be the maximum; -0.0 + 0.0 is 0.0.
        return b.binary("add", b.binary("max", x, b.binary("mul", x, -1.0)), 0.0)
    return b.binary("mul", x, x) if kind == "square" else b.binary("div", 1.0, x)


@rule(ELEMENTWISE, "pow")
def _pow(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    exponent, x = b.number(given["exponent"]), b.tensor(given["self"])
    if exponent == 2:
        return b.binary("mul", x, x)
    if exponent == 3:
        wide = b.widen(x)
        return b.cast(b.binary("mul", b.binary("mul", wide, wide), wide), dtype_of(node))
    if exponent == -1:
        return b.binary("div", 1.0, x)
    raise InexpressibleError(f"Tenon has no power of {exponent:g}")


def _normalize(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    x, mean, variance = (b.tensor(given[name]) for name in ("x", "mean", "variance"))
    if len(given["x"].meta["val"].shape) != 2:
        raise InexpressibleError("it normalises a dimension that is not the last of two")
    weight, bias = b.optional_tensor(given["weight"]), b.optional_tensor(given["bias"])
    return b.batch_norm_inference(x, mean, variance, weight, bias, b.number(given["eps"]))


ELEMENTWISE[NORMALIZE] = _normalize


def _kind(node: fx.Node) -> str:
    return node.target._opname


def _scaled(b: Lowering, x: Operand, factor: float) -> Operand:
    """Return a factor times a number or tensor, with no rounding that PyTorch does not have."""
    if factor == 1:
        return x
    return b.binary("mul", b.widen(x), factor) if isinstance(x, Value) else x * factor
