# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can go wrong, and what the compiler has to say: exceptions, diagnostics and remarks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


def _located(text: str, file: str, line: int, column: int) -> str:
    """Return `text` after its place, as compilers print it."""
    places = [file, *(str(number) for number in (line, column) if number)] if file else []
    return ":".join([*places, f" {text}"]) if places else text


@dataclass(frozen=True)
class Diagnostic:
    """A message of the compiler and its place in the source; line and column count from 1, and 0 is unknown."""

    severity: str  # "error", "warning", "note" or "remark"
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    notes: tuple[Diagnostic, ...] = ()

    def __str__(self) -> str:
        """Return the message as a compiler prints it, with its notes."""
        own = _located(f"{self.severity}: {self.message}", self.file, self.line, self.column)
        return "\n".join([own, *map(str, self.notes)])


@dataclass(frozen=True)
class Remark:
    """What the compiler did, could not do or chose, and why; programs read `values`, and people the rest."""

    kind: str  # "passed", "missed", "analysis" or "failure"
    category: str
    name: str
    function: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    arguments: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def values(self) -> dict[str, Any]:
        """Return what programs can read: reasons by their codes, with data, a layer's strategy and its kernels."""
        return self.arguments.get("Values", {})

    @property
    def reason(self) -> str:
        """Return why, in words; "" if the message says it all."""
        return self.arguments.get("Reason", "")

    def __str__(self) -> str:
        """Return the remark in a line."""
        return _located(f"{self.kind}: {self.message}", self.file, self.line, self.column)


class TenonError(RuntimeError):
    """Any failure that Tenon reports."""


class CompileError(TenonError):
    """The source or an option is not right; `diagnostics` has what the compiler says of it."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        """Make the message of all errors among `diagnostics`."""
        self.diagnostics = list(diagnostics)
        errors = [diagnostic for diagnostic in self.diagnostics if diagnostic.severity == "error"]
        super().__init__("\n".join(map(str, errors or self.diagnostics)) or "compilation failed")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by diagnostics, for worker processes that compile."""
        return CompileError, (self.diagnostics,)


class ArgumentError(TenonError, ValueError):
    """A call's argument has the wrong device, dtype, shape or kind, or their number is wrong."""


class NotFoundError(TenonError):
    """A file, function, GPU or library is not there."""


class UnsupportedError(TenonError):
    """The model has no code for this GPU or CPU, or an array library lacks a dtype."""


class DeviceError(TenonError):
    """The CUDA driver or cuBLASLt reported an error."""


def is_strict_process() -> bool:
    """Tell whether TENON_STRICT asks for failures to raise that would be reported otherwise."""
    return os.environ.get("TENON_STRICT", "") not in ("", "0")


def read_records(records: Sequence[dict[str, Any]]) -> tuple[list[Diagnostic], list[Remark]]:
    """Return diagnostics, with their notes, and remarks from what `_native` gives."""
    diagnostics: list[Diagnostic] = []
    remarks: list[Remark] = []
    for record in records:
        if "kind" in record:
            remarks.append(Remark(**{key: value for key, value in record.items() if key != "severity"}))
            continue
        diagnostic = Diagnostic(**record)
        if diagnostic.severity == "note" and diagnostics:
            last = diagnostics.pop()
            diagnostic = Diagnostic(**{**vars(last), "notes": (*last.notes, diagnostic)})
        diagnostics.append(diagnostic)
    return diagnostics, remarks
