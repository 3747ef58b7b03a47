# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From MLIR text to executables and lowered IR."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

from tenon import _native, cache
from tenon.device import default_target
from tenon.errors import CompileError, NotFoundError, Remark, read_records
from tenon.executable import Executable


class Options(TypedDict, total=False):
    """Keywords of `compile`: the options of tenon-compile, of which docs/reference/CompileOptions.md has the defaults.

    Attributes:
        name: the model's name, a C identifier, with which its C functions' names begin. Default: the
            file's name, or "model".
        allow_rounding_changes: also apply algebra that is exact for real numbers but changes rounding.
        fold_weights: multiply scales that are parameters into the weights, in the prepare function.
        reference: add a float64 reference of each function, on the CPU.
        cpu: level of x86-64 that the CPU code may use: "x86-64-v2", "x86-64-v3" or "x86-64-v4".
        host: of `build`: "x86-64" or "aarch64", the architecture of the machines that call the model.
        strategy: how linear layers are computed on the GPU: "library" by cuBLASLt, "tiled" by one kernel
            each where a layer can have it, or "auto". `Executable.remarks` of category
            "tenon-select-strategy" say what was chosen and why.
        schedule: of every tiled layer, "#tenon.schedule<mma_sync, tile = 128x256x64, ...>" or what stands within.
            Default: one is chosen for each.
        reduction: how tiled layers reduce, where a layer can have it, or "auto". For a training batch norm: "separate",
            by kernels after the product, "two_phase", with moments from the product, "resident", in one kernel,
            "input_moments", with moments from x and w. For rows: "separate", "in_tile", where tiles have whole ones,
            "reduce_only", where nothing else is stored, "resident_rows", where tiles exchange what they have of a row.
        pairs: whether two layers of one x, of which one's epilogue reads the other's result, and layers whose products
            are added, have one kernel: "always" where they can have it, "never", or "auto".
        siblings: whether layers of one x, such as q, k and v, have one launch: "always" where they can have it, or
            "never"; "auto" is never.
        parameters_prefix: of `build`: what the parameters' names begin with in their file and not in the model.
        cast_parameters: of `build`: round parameters to the model's types where their file has others.

    """

    name: str | None
    allow_rounding_changes: bool
    fold_weights: bool
    reference: bool
    cpu: str
    host: str
    strategy: str
    schedule: str
    reduction: str
    pairs: str
    siblings: str
    parameters_prefix: str
    cast_parameters: bool


def compile(
    mlir: str | os.PathLike[str], target: str | Sequence[str] | None = None, **options: Unpack[Options]
) -> Executable:
    """Compile a model of tenon ops, or take it from the cache.

    Args:
        mlir: the model as MLIR text, or the path of a file with it. A string is text if it has a
            newline or "func.func".
        target: GPU architectures to make code for beside the CPU's: "sm_90a", or several. "cpu" alone
            makes none. Default: this machine's GPU, if it has one.
        **options: as `Options` says.

    Raises:
        CompileError: the model or an option is not right; its `diagnostics` say where and why.
        NotFoundError: there is no such file.
        TypeError: `mlir` is neither text nor a path, such as a PyTorch model, or an option is of another type.

    """
    source = Source.read(mlir)
    facts = _facts(source, target, options)
    entry = cache.get(_key(source, facts), f"lib{facts['name']}.so", functools.partial(_build, source, facts))
    return Executable(entry.library, _report(source, entry.records))


def lower(
    mlir: str | os.PathLike[str],
    stage: str = "fuse",
    target: str | Sequence[str] | None = "cpu",
    **options: Unpack[Options],
) -> str:
    """Return a model's IR after `stage`, one of those that `tenon-compile --stop-after=help` lists.

    The other arguments are those of `compile`, and so is what it raises.
    """
    source = Source.read(mlir)
    _check_type("stage", stage, str)
    native = _native.Options(**_facts(source, target, options), remarks=False)
    with _failures():
        text, records = _native.lower(source.text, source.name, stage, native)
    _report(source, records)
    return text


def build(
    mlir: str | os.PathLike[str],
    output: str | os.PathLike[str],
    target: str | Sequence[str] | None = None,
    *,
    parameters: str | os.PathLike[str] = "",
    **options: Unpack[Options],
) -> list[Remark]:
    """Compile a model to the shared object `output` and the C header beside it, without the cache.

    `parameters` is a safetensors file whose values, by name, are packed into the model. The other
    arguments are those of `compile`, and so is what it raises. Returns the compiler's remarks.
    """
    source = Source.read(mlir)
    return _report(source, _build(source, _facts(source, target, options), Path(output), os.fspath(parameters)))


def load(path: str | os.PathLike[str]) -> Executable:
    """Open a compiled model: what `Executable.save` or tenon-compile wrote.

    Raises:
        NotFoundError: there is no such file, or it is no compiled model.
        UnsupportedError: a newer Tenon made it.

    """
    return Executable(path)


def identifier_of(text: str) -> str:
    """Return the C identifier that tenon-compile makes of a file's name; of none, "model"."""
    name = re.sub("[^0-9A-Za-z]", "_", text) or "model"
    return f"_{name}" if name[0].isdigit() else name


@dataclass(frozen=True)
class Source:
    """A model's text, and what diagnostics call the file."""

    text: str
    name: str

    @classmethod
    def read(cls, mlir: str | os.PathLike[str]) -> Source:
        """Return text as it is, and what a path leads to."""
        if isinstance(mlir, str) and ("\n" in mlir or "func.func" in mlir):
            return cls(mlir, "<string>")
        if not isinstance(mlir, str | os.PathLike):
            raise TypeError(
                f"a model is MLIR text or the path of a file with it, but got an object of {type(mlir).__name__}; "
                "a PyTorch model is made faster by tenon.torch.optimize, and compiled to a file by "
                "tenon.torch.aot_compile"
            )
        path = os.fspath(mlir)
        if not path:
            raise NotFoundError("the model is an empty string; expected MLIR text or the path of a file with it")
        try:
            return cls(Path(path).read_text(encoding="utf-8"), path)
        except OSError as error:
            raise NotFoundError(f"cannot read model '{path}': {error.strerror}") from error

    @property
    def stem(self) -> str:
        """The C identifier that the model is called by default."""
        return "model" if self.name == "<string>" else identifier_of(Path(self.name).stem)


def _facts(source: Source, target: str | Sequence[str] | None, options: Options) -> dict[str, Any]:
    """Return the arguments of _native.Options but `remarks` and `parameters`."""
    defaults = {name: default for name, (default, _) in _native.OPTIONS.items() if name != "parameters"}
    for unknown in options.keys() - defaults.keys():
        raise TypeError(f"{unknown} is not an option; there are {', '.join(defaults)}")
    facts = defaults | options | {"name": options.get("name") or source.stem}
    for name, value in facts.items():
        _check_type(name, value, type(defaults[name]))
    return facts | {"targets": _targets(target)}


def _check_type(name: str, value: Any, kind: type) -> None:
    """Raise TypeError for an argument of another type: the native module's own does not tell which it is."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} should be {'True or False' if kind is bool else 'a string'}, but is {value!r:.60}")


def _targets(target: str | Sequence[str] | None) -> list[str]:
    """Return the GPU architectures that an argument names, each once."""
    given: Any = default_target() if target is None else target
    names = given.split(",") if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f'target should be "cpu", a GPU such as "sm_90a", or several of them, but is {given!r:.60}')
    return [name for name in dict.fromkeys(names) if name != "cpu"]


@functools.cache
def fingerprint() -> str:
    """Return the hash of the compiler itself: what it makes of a model is the same as long as this is."""
    return _native.fingerprint()


@functools.cache
def _toolchain(path: str) -> str:
    """Return the CUDA tools as they are with this TENON_CUDA_PATH; asking ptxas takes a while."""
    return _native.toolchain()


def _key(source: Source, facts: dict[str, Any]) -> str:
    toolchain = _toolchain(os.environ.get("TENON_CUDA_PATH", "")) if facts["targets"] else ""
    return cache.key_of({"source": source.text, **facts, "compiler": fingerprint(), "toolchain": toolchain})


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    """Turn the native module's failure into a CompileError."""
    try:
        yield
    except _native.CompileFailed as failed:
        raise CompileError(read_records(failed.args[0])[0]) from None


def _build(source: Source, facts: dict[str, Any], output: Path, parameters: str = "") -> cache.Records:
    """Compile to `output` and a header beside it."""
    options = _native.Options(**facts, remarks=True, parameters=parameters)
    with _failures():
        records = _native.compile(source.text, source.name, str(output), str(output.with_suffix(".h")), options)
    # The same text may come from another file next time.
    return [record | {"file": None if record["file"] == source.name else record["file"]} for record in records]


def _report(source: Source, records: cache.Records) -> list[Remark]:
    """Show the compiler's warnings as Python's, and return its remarks."""
    located = [record | {"file": source.name if record["file"] is None else record["file"]} for record in records]
    diagnostics, remarks = read_records(located)
    for diagnostic in diagnostics:
        if diagnostic.severity == "warning":
            warnings.warn(str(diagnostic), stacklevel=3)
    return remarks
