# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ops of epilogues, and how one is read from its text. tenon.bench.epilogue says what the text is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tenon.dtypes import DATA_TYPES
from tenon.elementwise import UNARY

EXAMPLE = "%0 = tenon.add %acc, %bias : tensor<MxNxA>, tensor<NxT>"
BINARY = ("add", "sub", "mul", "div", "min", "max")
BATCH_NORM = "batch_norm_training"
# The groups of its optional operands with their roles, in the order in which it takes them.
BATCH_NORM_GROUPS = {"weight": ("weight",), "bias": ("bias",), "running": ("running_mean", "running_var")}
BATCH_NORM_ATTRIBUTES = {"eps": 1e-5, "momentum": 0.1}
SHAPES = ((), ("N",), ("M", "1"), ("M", "N"))
OUTPUTS = tuple(kind.spelling for kind in DATA_TYPES.values() if kind.bytes <= 4)
ELEMENTS = ("T", "A", *OUTPUTS)
_OP = re.compile(r"((?:%\w+\s*,\s*)*%\w+)\s*=\s*tenon\.(\w+)\s+(.*?)\s*:\s*(\(?tensor<.*)")
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
    # Of batch norm: what each argument is, and its results beside the normalised values.
    roles: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()

    def argument(self, role: str) -> str | None:
        """Return batch norm's argument of a role; None if it is not there."""
        found = dict(zip(self.roles, self.arguments, strict=True)).get(role)
        return None if found is None else str(found)

    @property
    def updates(self) -> dict[str, str]:
        """Give batch norm's new running statistics in order: the result's name, and the operand that it replaces."""
        running = self.arguments[len(self.arguments) - len(self.statistics) :]
        return dict(zip(self.statistics, map(str, running), strict=True))


def spell(kind: Type) -> str:
    """Write a type as the text has it."""
    return f"tensor<{'x'.join([*kind.shape, kind.element])}>"


def read_op(line: str) -> Op:
    """Read one op; raises EpilogueError."""
    found = _OP.fullmatch(line)
    if not found:
        raise EpilogueError(f"'{line}' is no op; write one a line, as in '{EXAMPLE}'")
    results, name, body, kinds = found.groups()
    result, *others = (word.strip("% ") for word in results.split(","))
    try:
        if name == BATCH_NORM:
            return _batch_norm(result, tuple(others), body, kinds)
        if others:
            raise EpilogueError(f"tenon.{name} has one result")
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
    raise EpilogueError(
        f"'{line}': tenon.{name} is not known here; use {', '.join([*BINARY, *UNARY, 'cast', BATCH_NORM])}"
    )


def _unary(result: str, name: str, body: str, types: tuple[Type, ...]) -> Op:
    _check_count(types, 1)
    approximate = "none"
    if name == "gelu" and (found := re.search(r"\s+approximate\s*<(none|tanh)>", body)):
        approximate, body = found[1], body.replace(found[0], "")
    operand, _, rest = body.partition("{")
    attributes = _attributes(name, rest, UNARY[name])
    return Op(result, name, _arguments(operand, 1), types, types[0], attributes, approximate)


def _attributes(name: str, text: str, known: dict[str, float]) -> dict[str, float]:
    """Read what stands behind the opening brace; `known` has the default values."""
    attributes = dict(known)
    for item in filter(None, (part.strip() for part in text.rstrip("} ").split(","))):
        read = _ATTRIBUTE.fullmatch(item)
        if not read or read[1] not in attributes:
            takes = ", ".join(attributes) or "none"
            raise EpilogueError(f"'{item}' is no attribute of tenon.{name}, which takes {takes}")
        attributes[read[1]] = float(read[2])
    return attributes


def _batch_norm(result: str, statistics: tuple[str, ...], body: str, kinds: str) -> Op:
    """Read a training batch norm, whose types are those of a function."""
    operands, _, rest = body.partition("{")
    head, _, groups = operands.strip().partition(" ")
    arguments, roles = list(_arguments(head, 1)), ["input"]
    for group, names in re.findall(r"(\S+?)\s*\(([^()]*)\)", groups):
        found, known = re.findall(r"%(\w+)", names), BATCH_NORM_GROUPS.get(group, ())
        if len(found) != len(known) or not found or known[0] in roles:
            raise EpilogueError(f"'{group}({names})' is none of weight(%a), bias(%b) and running(%c, %d), each once")
        arguments += found
        roles += known
    before, arrow, after = kinds.partition("->")
    types, results = ([Type.read(t) for t in re.findall(r"tensor<[^<>]*>", text)] for text in (before, after))
    _check_count(tuple(types), len(arguments))
    expected = [kind for kind, role in zip(types, roles, strict=True) if role.startswith(("input", "running"))]
    if not arrow or results != expected or len(statistics) != len(expected) - 1:
        raise EpilogueError(
            f"write the results that there are, and '-> ({', '.join(map(spell, expected))})' at the end"
        )
    attributes = _attributes(BATCH_NORM, rest, BATCH_NORM_ATTRIBUTES)
    return Op(
        result, BATCH_NORM, tuple(arguments), tuple(types), types[0], attributes, "none", tuple(roles), statistics
    )


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
