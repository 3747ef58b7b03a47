# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a PTX file is made of."""

from __future__ import annotations

from dataclasses import dataclass, field


class PtxError(Exception):
    """PTX that the emulator does not know, or that does what no program may do."""


@dataclass(frozen=True)
class Register:
    """A register: its place among a thread's registers, and its width."""

    slot: int
    bits: int
    name: str


@dataclass(frozen=True)
class Immediate:
    """A number as it is written."""

    text: str


@dataclass(frozen=True)
class Symbol:
    """A label, a variable, a parameter or a special register."""

    name: str


@dataclass(frozen=True)
class Vector:
    """{a, b, ...} or a|b."""

    items: tuple


@dataclass(frozen=True)
class Address:
    """[base + offset], or [base, {coordinates}]."""

    base: Register | Symbol
    offset: int = 0
    coordinates: tuple = ()


@dataclass
class Instruction:
    """One instruction; `guard` is the predicate and what it must not be."""

    opcode: str
    operands: list
    guard: tuple[Register, bool] | None
    line: int
    text: str

    @property
    def parts(self) -> list[str]:
        return self.opcode.split(".")


@dataclass
class Kernel:
    """An entry: its parameters' names with their bytes, and its code."""

    name: str
    parameters: list[tuple[str, int]] = field(default_factory=list)
    threads: int = 0
    registers: list[Register] = field(default_factory=list)
    code: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    jumps: dict[str, list[str]] = field(default_factory=dict)  # a .branchtargets' label: those in it


@dataclass
class Variable:
    """A module's variable; `size` is None for dynamic shared memory."""

    name: str
    space: str
    alignment: int
    size: int | None
    initial: bytes
    kernel: str = ""  # of the one that declares it inside


@dataclass
class Module:
    """All of a PTX file."""

    kernels: dict[str, Kernel]
    variables: dict[str, Variable]
