# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of activations in Tenon's words: the ops that PyTorch's backward pass has behind a product.

Each multiplies a gradient by a factor that is finite where x is, in float32 or float64, and rounds once.
"""

from __future__ import annotations

import math
from typing import Any

from torch import fx

from tenon.importer.builder import InexpressibleError, Value
from tenon.torch.fusion.lowering import Lowering
from tenon.torch.fusion.ops import Rule, rule
from tenon.torch.fusion.views import dtype_of

GRADIENTS: dict[str, Rule] = {}


@rule(GRADIENTS, "gelu_backward", whole=True)
def _gelu(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    gradient, x = b.tensor(given["grad_output"]), b.tensor(given["self"])
    if given["approximate"] != "tanh":
        # Not in float32: of 16 bits the derivative has fewer terms, and inside a call it is not rounded.
        return b.promoted("mul", gradient, b.unary("gelu_derivative", x), dtype_of(node))
    # (1 + tanh(u)) / 2 is sigmoid(2 u).
    x, slope, cubic = b.widen(x), 2.0 * math.sqrt(2.0 / math.pi), 0.044715
    square = b.binary("mul", x, x)
    inner = b.binary("mul", x, _affine(b, square, slope * cubic, slope))
    s = b.unary("sigmoid", inner)
    bend = b.binary("mul", b.binary("mul", s, b.binary("sub", 1.0, s)), x)
    factor = b.binary("add", b.binary("mul", bend, _affine(b, square, 3.0 * slope * cubic, slope)), s)
    return _scaled(b, node, gradient, factor)


@rule(GRADIENTS, "silu_backward", whole=True)
def _silu(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    x = b.widen(b.tensor(given["self"]))
    s = b.unary("sigmoid", x)
    rise = b.binary("add", b.binary("mul", x, b.binary("sub", 1.0, s)), 1.0)
    return _scaled(b, node, b.tensor(given["grad_output"]), b.binary("mul", s, rise))


@rule(GRADIENTS, "sigmoid_backward", whole=True)
def _sigmoid(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    y = b.widen(b.tensor(given["output"]))
    factor = b.binary("mul", b.binary("sub", 1.0, y), y)
    return _scaled(b, node, b.tensor(given["grad_output"]), factor)


@rule(GRADIENTS, "tanh_backward", whole=True)
def _tanh(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    y = b.widen(b.tensor(given["output"]))
    return _scaled(b, node, b.tensor(given["grad_output"]), b.binary("sub", 1.0, b.binary("mul", y, y)))


@rule(GRADIENTS, "threshold_backward", whole=True)
def _threshold(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    distance = _above(b, b.tensor(given["self"]), b.number(given["threshold"]))
    return b.cast(b.binary("gate", b.tensor(given["grad_output"]), distance), dtype_of(node))


@rule(GRADIENTS, "hardtanh_backward", whole=True)
def _hardtanh(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    x = b.widen(b.tensor(given["self"]))
    gradient = b.binary("gate", b.tensor(given["grad_output"]), _above(b, x, b.number(given["min_val"])))
    below = b.binary("sub", b.number(given["max_val"]), x)
    return b.cast(b.binary("gate", gradient, below), dtype_of(node))


@rule(GRADIENTS, "leaky_relu_backward", whole=True)
def _leaky_relu(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    slope, x = b.number(given["negative_slope"]), b.tensor(given["self"])
    if not 0 <= slope <= 1:
        raise InexpressibleError("its slope is not between 0 and 1")
    # The sign, but 0 of NaN too, whose gradient PyTorch multiplies by the slope.
    sign = b.binary("sub", b.binary("gate", 1.0, x), b.binary("gate", 1.0, b.binary("mul", x, -1.0)))
    return _scaled(b, node, b.tensor(given["grad_output"]), b.binary("max", sign, slope))


def _above(b: Lowering, x: Value, threshold: float) -> Value:
    """Return what is above 0 where x is above a threshold."""
    return b.binary("sub", b.widen(x), threshold) if threshold else x


def _affine(b: Lowering, x: Value, factor: float, addend: float) -> Value:
    return b.binary("add", b.binary("mul", x, factor), addend)


def _scaled(b: Lowering, node: fx.Node, gradient: Value, factor: Value) -> Value:
    """Return a gradient times a factor, of the dtype that PyTorch gives it."""
    return b.cast(b.binary("mul", factor, gradient), dtype_of(node))
