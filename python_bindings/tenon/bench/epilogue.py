# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Epilogues: what follows the product, as MLIR text with letters for extents and element types.

The same text makes the model that Tenon compiles, the one that PyTorch runs and the float64 reference.
In its types M and N are the product's extents, T is the element type of x and w, and A that of the
product, %acc. What the text uses and does not define is an operand. Its last op gives the result.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_BIAS = "%0 = tenon.add %acc, %bias : tensor<MxNxA>, tensor<NxT>"
NAMED = {
    "none": (),
    "bias": (_BIAS,),
    "bias_relu": (_BIAS, "%1 = tenon.relu %0 : tensor<MxNxA>"),
    "bias_gelu": (_BIAS, "%1 = tenon.gelu %0 : tensor<MxNxA>"),
    "bias_silu": (_BIAS, "%1 = tenon.silu %0 : tensor<MxNxA>"),
    "bias_mul2_leaky_relu": (
        _BIAS,
        "%1 = tenon.mul %0, 2.0 : tensor<MxNxA>",
        "%2 = tenon.leaky_relu %1 {negative_slope = 0.1} : tensor<MxNxA>",
    ),
    "bias_gelu_residual_clamp": (
        _BIAS,
        "%1 = tenon.gelu %0 : tensor<MxNxA>",
        "%2 = tenon.add %1, %residual : tensor<MxNxA>, tensor<MxNxT>",
        "%3 = tenon.clamp %2 {min = -1.0, max = 1.0} : tensor<MxNxA>",
    ),
    "scale": ("%0 = tenon.mul %acc, %scale : tensor<MxNxA>, tensor<NxT>",),
    "row_scale_bias": (
        "%0 = tenon.mul %acc, %row : tensor<MxNxA>, tensor<Mx1xT>",
        "%1 = tenon.add %0, %bias : tensor<MxNxA>, tensor<NxT>",
    ),
}

BINARY = ("add", "sub", "mul", "div", "min", "max")
# Attributes of the ops on one tensor, with their default values.
UNARY: dict[str, dict[str, float]] = {
    **{name: {} for name in ("relu", "gelu", "silu", "mish", "sigmoid", "tanh")},
    "leaky_relu": {"negative_slope": 0.01},
    "clamp": {"min": float("-inf"), "max": float("inf")},
}
TAKEN = ("x", "weight", "y", "acc")  # names of the model's own
SHAPES = ((), ("N",), ("M", "1"), ("M", "N"))
ELEMENTS = ("T", "A", "f32", "f16", "bf16")
_OP = re.compile(r"%(\w+)\s*=\s*tenon\.(\w+)\s+(.*?)\s*:\s*(tensor<.*)")
_ARGUMENT = re.compile(r"%(?P<name>\w+)|(?P<number>-?\d[\w.+-]*)")
_ATTRIBUTE = re.compile(r"(\w+)\s*=\s*(-?[\d.]+(?:e[+-]?\d+)?)(?:\s*:\s*f64)?")


class EpilogueError(ValueError):
    """The text is not one that this module reads; the message says what to change."""


@dataclass(frozen=True)
class Type:
    """A tensor's type with letters."""

    shape: tuple[str, ...]
    element: str

    @classmethod
    def read(cls, text: str) -> Type:
        """Read "tensor<MxNxA>"."""
        inner = re.fullmatch(r"tensor<([^<>]*)>", text.strip())
        *shape, element = inner[1].split("x") if inner else [""]
        if tuple(shape) not in SHAPES or element not in ELEMENTS:
            raise EpilogueError(
                f"'{text.strip()}' is no type; write tensor<MxNxA>, tensor<NxT>, tensor<Mx1xT> or tensor<T>, "
                f"where the element type is one of {', '.join(ELEMENTS)}"
            )
        return cls(tuple(shape), element)


@dataclass(frozen=True)
class Op:
    """One op: arguments are names of values, or numbers."""

    result: str
    name: str
    arguments: tuple[str | float, ...]
    types: tuple[Type, ...]  # of the arguments that are names
    type: Type
    attributes: dict[str, float] = field(default_factory=dict)
    approximate: str = "none"  # of gelu


@dataclass(frozen=True)
class Epilogue:
    """An epilogue as text and as ops; `operands` are in the order of their first use."""

    name: str
    lines: tuple[str, ...]
    ops: tuple[Op, ...]
    operands: dict[str, Type]

    @property
    def result(self) -> str:
        """Name the value that the model returns."""
        return self.ops[-1].result if self.ops else "acc"

    @property
    def type(self) -> Type:
        """Give that value's type."""
        return self.ops[-1].type if self.ops else Type(("M", "N"), "A")


def read_epilogue(name: str, lines: tuple[str, ...]) -> Epilogue:
    """Read an epilogue's text; raises EpilogueError."""
    lines = tuple(line.strip() for line in lines if line.strip())
    values = {"acc": Type(("M", "N"), "A")}
    operands: dict[str, Type] = {}
    ops = []
    for line in lines:
        op = _read_op(line)
        for argument, given in zip([a for a in op.arguments if isinstance(a, str)], op.types, strict=True):
            known = values.get(argument) or operands.setdefault(argument, given)
            if known != given:
                raise EpilogueError(f"'{line}': %{argument} has the type {spell(known)} elsewhere; give it one type")
        if op.result in values or op.result in operands or op.result in TAKEN:
            raise EpilogueError(f"'{line}': %{op.result} is there already; give the result another name")
        values[op.result] = op.type
        ops.append(op)
    for operand in operands:
        if operand in TAKEN or not operand.isidentifier():
            raise EpilogueError(
                f"an operand cannot be called %{operand}: values are defined before their use, and names are "
                f"identifiers other than {', '.join(TAKEN)}"
            )
    epilogue = Epilogue(name, lines, tuple(ops), operands)
    if epilogue.type.shape != ("M", "N"):
        raise EpilogueError(f"the last op gives {spell(epilogue.type)}; it must give tensor<MxN...>, the result")
    return epilogue


def spell(kind: Type) -> str:
    """Write a type as the text has it."""
    return f"tensor<{'x'.join([*kind.shape, kind.element])}>"


def _read_op(line: str) -> Op:
    found = _OP.fullmatch(line)
    if not found:
        raise EpilogueError(f"'{line}' is no op; write one a line, as in '{NAMED['bias'][0]}'")
    result, name, body, kinds = found.groups()
    try:
        if name == "cast":
            source, _, target = kinds.partition("->")
            return Op(result, name, _arguments(body, 1), (Type.read(source),), Type.read(target))
        types = tuple(Type.read(kind) for kind in kinds.split(","))
        if name in BINARY:
            arguments = _arguments(body, 2)
            _check_count(types, sum(isinstance(a, str) for a in arguments))
            return Op(result, name, arguments, types, _broadcast(types))
        if name in UNARY:
            return _unary(result, name, body, types)
    except EpilogueError as error:
        raise EpilogueError(f"'{line}': {error}") from None
    raise EpilogueError(f"'{line}': tenon.{name} is not known here; use {', '.join([*BINARY, *UNARY, 'cast'])}")


def _unary(result: str, name: str, body: str, types: tuple[Type, ...]) -> Op:
    _check_count(types, 1)
    approximate = "none"
    if name == "gelu" and (found := re.search(r"\s+approximate\s*<(none|tanh)>", body)):
        approximate, body = found[1], body.replace(found[0], "")
    operand, _, rest = body.partition("{")
    attributes = dict(UNARY[name])
    for item in filter(None, (part.strip() for part in rest.rstrip("} ").split(","))):
        read = _ATTRIBUTE.fullmatch(item)
        if not read or read[1] not in attributes:
            takes = ", ".join(attributes) or "none"
            raise EpilogueError(f"'{item}' is no attribute of tenon.{name}, which takes {takes}")
        attributes[read[1]] = float(read[2])
    return Op(result, name, _arguments(operand, 1), types, types[0], attributes, approximate)


def _arguments(text: str, count: int) -> tuple[str | float, ...]:
    found = [_ARGUMENT.fullmatch(part.strip()) for part in text.split(",")]
    if len(found) != count or None in found or not any(f and f["name"] for f in found):
        raise EpilogueError(f"'{text.strip()}' should be {count} of %value or number, with one %value at least")
    return tuple(f["name"] or _number(f["number"]) for f in found if f)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise EpilogueError(f"'{text}' is no number; write it like 2.0") from None


def _check_count(types: tuple[Type, ...], expected: int) -> None:
    if len(types) != expected:
        raise EpilogueError(f"there should be {expected} type(s) after the colon, one for each %value")


def _broadcast(types: tuple[Type, ...]) -> Type:
    """Return the type of an op on two tensors: every shape spans the same M and N."""
    letters = {letter for kind in types for letter in kind.shape}
    rank = max(len(kind.shape) for kind in types)
    if "M" in letters:
        return Type(("M", "N" if "N" in letters else "1"), types[0].element)
    return Type(("N",) * rank, types[0].element)
