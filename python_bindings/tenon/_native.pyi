# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tenon's compiler and runtime; written in C++ (python_bindings/src)."""

from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Any, final

DATA_TYPES: list[tuple[str, str, str, int]]

@final
class CompileFailed(RuntimeError):
    """A compilation failed; `args[0]` is the list of what it said."""

@final
class Options:
    """How to compile."""

    def __init__(
        self,
        targets: Sequence[str],
        remarks: bool,
        **options: bool | str,
    ) -> None: ...

# The default of each of these options, and the words that it may be, none where it is no choice.
OPTIONS: dict[str, tuple[bool | str, tuple[str, ...]]]

@final
class Model:
    """A compiled model, opened."""

    def __init__(self, path: str) -> None: ...
    @property
    def manifest(self) -> str: ...
    def load(self, device_type: int, device_id: int) -> None: ...
    def rows_outside(self, device_type: int, device_id: int) -> int: ...
    def function(self, name: str) -> NativeFunction: ...

@final
class NativeFunction:
    """A function of a model."""

    def launcher(self, device_type: int, device_id: int) -> Launcher: ...

@final
class Launcher:
    """Calls a function on one device."""

    @property
    def symbols(self) -> list[str]: ...
    @property
    def tensors(self) -> list[str]: ...
    def workspace_bytes(self, extents: tuple[int, ...] | list[int]) -> int: ...
    def __call__(
        self,
        pointers: tuple[int, ...] | list[int],
        extents: tuple[int, ...] | list[int],
        workspace: int,
        workspace_bytes: int,
        stream: int,
        /,
    ) -> None: ...

@final
class Guard:
    """Compares objects, by identity, with what they were."""

    def __init__(
        self,
        *,
        items: Iterable[tuple[dict[str, Any], str, Any]],
        absent: Iterable[tuple[dict[str, Any], str]],
        attributes: Iterable[tuple[Any, str, Any]],
        sizes: Iterable[tuple[Sized, int]],
        results: Iterable[tuple[dict[str, Any], str]],
        admits: Callable[[Any], bool],
    ) -> None: ...
    def __call__(self) -> tuple[Any, ...] | None: ...

@final
class Version:
    """A version of some parameters."""

    def __init__(self, tensors: list[Any], storages: list[Any], expired: Callable[[int], bool]) -> None: ...
    def holds(self, tensors: Sequence[Any]) -> bool: ...
    def is_current(self) -> bool: ...
    def is_of(self, tensors: Sequence[Any]) -> bool: ...
    def parameters(self) -> list[Any] | None: ...

@final
class Prepared:
    """What was made of one version of some parameters, for the op's kernel."""

    def __init__(self, version: Version, tensors: list[Any], addresses: Sequence[int]) -> None: ...
    def add_stream(self, stream: int) -> None: ...
    def end(self) -> None: ...

def compile(
    source: str, source_name: str, output: str, header: str | None, options: Options
) -> list[dict[str, Any]]: ...
def lower(source: str, source_name: str, stage: str, options: Options) -> tuple[str, list[dict[str, Any]]]: ...
def implement_op(key: str) -> bool: ...
def bind_op(
    text: str,
    device_index: int,
    launcher: Launcher,
    num_inputs: int,
    sources: Sequence[int],
    parameters: Sequence[int],
    widths: Sequence[tuple[int, int]],
) -> None: ...
def bind_prepared(text: str, device_index: int, identities: Sequence[int], prepared: Prepared) -> None: ...
def end_versions() -> None: ...
def op_text(number: int) -> str: ...
def keep_op_error(error: BaseException) -> bool: ...
def fingerprint() -> str: ...
def toolchain() -> str: ...
def targets() -> str: ...
def runtime_version() -> str: ...
