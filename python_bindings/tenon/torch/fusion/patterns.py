# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activations written as chains of other ops, such as `x * sigmoid(x)`.

A chain of sums, products and powers is compared as a polynomial, so that the order of
its factors and terms does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from torch import fx

from tenon.importer.builder import constant
from tenon.torch.fusion.lowering import uniform_value
from tenon.torch.fusion.views import arguments, dtype_of, op_name, strip

# Coefficients by the exponents of the variables.
Polynomial = dict[tuple[int, ...], float]
_MAX_DEPTH = 8
# How far constants of gelu may be from its own, as a part of them: less than a value's rounding shows.
_TOLERANCES = {"float64": 1e-14}
_TOLERANCE = 1e-6


class Match(NamedTuple):
    """An activation of `x`: one of Tenon's ops and its attributes."""

    op: str
    x: fx.Node
    attributes: str = ""


def match(node: fx.Node) -> Match | None:
    """Return the activation that a node computes, if it is written as a chain."""
    for matcher in _MATCHERS.get(op_name(node), ()):
        found = matcher(node)
        if found and dtype_of(found.x) == dtype_of(node):
            return found
    return None


def _match_product(node: fx.Node) -> Match | None:
    """Match `x * sigmoid(x)`, `x * tanh(softplus(x))` and both forms of gelu."""
    for inner in _algebra(node):
        x = _sigmoid_of(inner)
        if x and polynomial(node, x, inner) == {(1, 1): 1.0}:
            return Match("silu", x)
        name = op_name(inner)
        if name not in ("aten.tanh", "aten.erf"):
            continue
        argument = strip(inner.args[0])
        x = _softplus_of(argument) if name == "aten.tanh" else None
        if x and polynomial(node, x, inner) == {(1, 1): 1.0}:
            return Match("mish", x)
        found = _match_gelu(node, inner, argument)
        if found:
            return found
    return None


def _match_gelu(node: fx.Node, inner: fx.Node, argument: fx.Node) -> Match | None:
    root = math.sqrt(2 / math.pi)
    is_tanh = op_name(inner) == "aten.tanh"
    expected = {(1,): root, (3,): root * 0.044715} if is_tanh else {(1,): math.sqrt(0.5)}
    halves = {(1, 0): 0.5, (1, 1): 0.5}
    tolerance = _TOLERANCES.get(dtype_of(node), _TOLERANCE)
    for x in _algebra(argument):
        is_inner = _close(polynomial(argument, x), expected, tolerance)
        if is_inner and _close(polynomial(node, x, inner), halves, tolerance):
            return Match("gelu", x, "approximate<tanh>" if is_tanh else "")
    return None


def _match_maximum(node: fx.Node) -> Match | None:
    """Match `max(x, a * x)` with 0 < a <= 1."""
    operands = list(arguments(node).values())[:2]
    for x, other in (operands, operands[::-1]):
        slope = _multiple(other, x)
        if slope is not None and 0 < slope <= 1:
            return _leaky_relu(strip(x), slope)
    return None


def _match_where(node: fx.Node) -> Match | None:
    """Match `where(x > 0, x, a * x)` and `where(x < 0, 0, x)`; `where(x > 0, x, 0)` makes 0 of NaN, so is no relu."""
    given = arguments(node)
    condition, chosen, other = given["condition"], given.get("self"), given.get("other")
    comparison = op_name(condition)
    if comparison in ("aten.le", "aten.lt"):
        chosen, other = other, chosen
    elif comparison not in ("aten.gt", "aten.ge"):
        return None
    if not isinstance(chosen, fx.Node) or _number(condition.args[1]) != 0:
        return None
    x = strip(chosen)
    if strip(condition.args[0]) is not x:
        return None
    if _number(other) == 0:
        return Match("relu", x) if comparison in ("aten.le", "aten.lt") else None
    slope = _multiple(other, x)
    return _leaky_relu(x, slope) if slope is not None and math.isfinite(slope) else None


def _match_quotient(node: fx.Node) -> Match | None:
    """Match `x / (1 + exp(-x))`, and `1 / (1 + exp(-x))` with either spelling of the quotient."""
    x = _sigmoid_of(node)
    if x:
        return Match("sigmoid", x)
    given = arguments(node)
    if not isinstance(given.get("other"), fx.Node) or given.get("rounding_mode") is not None:
        return None
    x = _exponent_below(given["other"])
    return Match("silu", x) if x and isinstance(given["self"], fx.Node) and strip(given["self"]) is x else None


_MATCHERS: dict[str, tuple[Callable[[fx.Node], Match | None], ...]] = {
    "aten.mul": (_match_product,),
    "aten.div": (_match_quotient, _match_product),
    "aten.reciprocal": (_match_quotient,),
    "aten.maximum": (_match_maximum,),
    "aten.where": (_match_where,),
}


def _leaky_relu(x: fx.Node, slope: float) -> Match:
    return Match("leaky_relu", x, f"{{negative_slope = {constant(slope)}}}")


def _sigmoid_of(node: fx.Node) -> fx.Node | None:
    """Return x where a node is `sigmoid(x)` or `1 / (1 + exp(-x))`."""
    name = op_name(node)
    if name == "aten.sigmoid":
        return strip(node.args[0])
    if name == "aten.reciprocal":
        return _exponent_below(node.args[0])
    if name == "aten.div" and arguments(node).get("rounding_mode") is None and _number(node.args[0]) == 1:
        return _exponent_below(node.args[1])
    return None


def _exponent_below(node: fx.Node) -> fx.Node | None:
    """Return x where a node is `1 + exp(-x)`."""
    for inner in _algebra(node) if isinstance(node, fx.Node) else ():
        if op_name(inner) == "aten.exp" and polynomial(node, inner) == {(0,): 1.0, (1,): 1.0}:
            negated = strip(inner.args[0])
            return next((x for x in _algebra(negated) if polynomial(negated, x) == {(1,): -1.0}), None)
    return None


def _softplus_of(node: fx.Node) -> fx.Node | None:
    """Return x where a node is `softplus(x)`, `log1p(exp(x))` or `log(1 + exp(x))`."""
    name = op_name(node)
    if name == "aten.softplus":
        given = arguments(node)
        return strip(node.args[0]) if given["beta"] == 1 and given["threshold"] >= 20 else None
    if name not in ("aten.log1p", "aten.log"):
        return None
    argument = strip(node.args[0])
    expected = {(1,): 1.0} if name == "aten.log1p" else {(0,): 1.0, (1,): 1.0}
    for inner in _algebra(argument):
        if op_name(inner) == "aten.exp" and polynomial(argument, inner) == expected:
            return strip(inner.args[0])
    return None


def _multiple(node: object, x: object) -> float | None:
    """Return a where a node is `a * x`."""
    if not isinstance(node, fx.Node) or not isinstance(x, fx.Node):
        return None
    terms = polynomial(strip(node), strip(x))
    return terms[(1,)] if terms and list(terms) == [(1,)] else None


def _number(argument: object) -> float | None:
    if isinstance(argument, fx.Node):
        return uniform_value(argument)
    return float(argument) if isinstance(argument, int | float) else None


def _algebra(node: fx.Node) -> list[fx.Node]:
    """Return a node and those that it is a sum, product or power of, outermost first."""
    found, level = {}, [strip(node)]
    for _ in range(_MAX_DEPTH):
        found.update(dict.fromkeys(level))
        below = [strip(n) for inner in level if op_name(inner) in _ALGEBRA for n in inner.all_input_nodes]
        level = [n for n in dict.fromkeys(below) if n not in found]
    return list(found)


def polynomial(node: fx.Node, *variables: fx.Node) -> Polynomial | None:
    """Return a node as a polynomial of others; None if it is not one."""
    return _polynomial(node, variables, dtype_of(variables[0]), 0)


def _polynomial(argument: object, variables: tuple[fx.Node, ...], dtype: object, depth: int) -> Polynomial | None:
    number = _number(argument)
    if number is not None:
        return {(0,) * len(variables): number}
    node = strip(argument) if isinstance(argument, fx.Node) else None
    if node in variables:
        return {tuple(int(v is node) for v in variables): 1.0}
    if node is None or op_name(node) not in _ALGEBRA or dtype_of(node) != dtype or depth > _MAX_DEPTH:
        return None
    given = arguments(node)
    terms = [_polynomial(a, variables, dtype, depth + 1) for a in list(given.values())[:2]]
    if op_name(node) in ("aten.neg", "aten.square"):
        terms.append({(0,) * len(variables): 1.0})
    if None in terms:
        return None
    return _ALGEBRA[op_name(node)](terms[0], terms[1], given)


def _sum(a: Polynomial, b: Polynomial, sign_a: float = 1, sign_b: float = 1) -> Polynomial:
    total = {power: sign_a * c for power, c in a.items()}
    for power, c in b.items():
        total[power] = total.get(power, 0.0) + sign_b * c
    return {power: c for power, c in total.items() if c != 0}


def _product(a: Polynomial, b: Polynomial) -> Polynomial:
    total: Polynomial = {}
    for p, c in a.items():
        for q, d in b.items():
            power = tuple(x + y for x, y in zip(p, q, strict=True))
            total[power] = total.get(power, 0.0) + c * d
    return total


def _only_number(a: Polynomial) -> float | None:
    return next(iter(a.values())) if len(a) == 1 and not any(next(iter(a))) else None


def _quotient(a: Polynomial, b: Polynomial, given: dict) -> Polynomial | None:
    divisor = _only_number(b)
    if not divisor or given.get("rounding_mode") is not None:
        return None
    return {power: c / divisor for power, c in a.items()}


def _power(a: Polynomial, b: Polynomial, given: dict) -> Polynomial | None:
    exponent = _only_number(b)
    if exponent not in (1, 2, 3):
        return None
    result = a
    for _ in range(int(exponent) - 1):
        result = _product(result, a)
    return result


_ALGEBRA: dict[str, Callable[[Polynomial, Polynomial, dict], Polynomial | None]] = {
    "aten.add": lambda a, b, given: _sum(a, b, sign_b=given.get("alpha", 1)),
    "aten.sub": lambda a, b, given: _sum(a, b, sign_b=-given.get("alpha", 1)),
    "aten.rsub": lambda a, b, given: _sum(a, b, sign_a=-given.get("alpha", 1)),
    "aten.mul": lambda a, b, given: _product(a, b),
    "aten.div": _quotient,
    "aten.pow": _power,
    "aten.neg": lambda a, b, given: {power: -c for power, c in a.items()},
    "aten.square": lambda a, b, given: _product(a, a),
}


def _close(a: Polynomial | None, b: Polynomial, tolerance: float) -> bool:
    return a is not None and a.keys() == b.keys() and all(math.isclose(a[p], b[p], rel_tol=tolerance) for p in b)
