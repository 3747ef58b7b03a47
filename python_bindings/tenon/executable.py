# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled model and its entries."""

from __future__ import annotations

import copy
import functools
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tenon import _native, cache
from tenon import device as devices
from tenon.arrays import Adapter, View, adapter_of
from tenon.errors import ArgumentError, NotFoundError, Remark
from tenon.files import copy_whole, open_model
from tenon.function import Arguments, Function, TensorSpec

_Specs = Sequence[tuple[int, TensorSpec]]  # with positions, from 1 on


class Prepared:
    """An entry whose parameters are given and prepared; call it with the activations alone."""

    def __init__(self, entry: Entry, parameters: Arguments, prepared: Sequence[View]) -> None:
        """Keep what `entry` prepared."""
        self._entry, self._parameters, self._prepared = entry, parameters, prepared

    def __call__(self, /, *activations: Any, **named: Any) -> Any:
        """Run with one array for each of the entry's `activations`; else as Entry.__call__."""
        entry = self._entry
        arguments = self._parameters.copy()
        adapter = entry._add(arguments, entry._activations, activations, named)
        return entry._run(arguments, self._prepared, adapter)

    def __reduce__(self) -> tuple[Any, ...]:
        """Raise TypeError: what was prepared is memory of this process."""
        raise TypeError("what Entry.prepare gives cannot be copied or pickled; copy the entry and prepare again")


class Entry:
    """A function of the source, and how it is called. Safe to call from several threads.

    `inputs` and `outputs` have name, dtype and shape of each tensor; `parameters` are the
    inputs that the source marks `tenon.param`, `activations` the others.
    """

    def __init__(self, executable: Executable, description: dict[str, Any]) -> None:
        """Find the functions that an item of the manifest's "entries" names."""
        self.name: str = description["name"]
        prepare = description.get("prepare")
        self._function = executable._function(description["run"])
        self._prepare_function = executable._function(prepare) if prepare else None
        functions = [self._function, *([self._prepare_function] if self._prepare_function else [])]
        specs = {spec.name: spec for function in functions for spec in function.inputs if spec.role != "prepared"}
        self.inputs: list[TensorSpec] = [specs[name] for name in description["inputs"]]
        self._inputs = list(enumerate(self.inputs, 1))
        self._parameters = [(position, spec) for position, spec in self._inputs if spec.role == "param"]
        self._activations = [(position, spec) for position, spec in self._inputs if spec.role != "param"]
        self.parameters = [spec for _, spec in self._parameters]
        self.activations = [spec for _, spec in self._activations]
        self.outputs: list[TensorSpec] = self._function.outputs
        self._executable = executable._make_again  # not the executable, which has this entry

    def __copy__(self) -> Entry:
        """Return the same entry of another executable of the same model."""
        return self._executable()[self.name]

    def __deepcopy__(self, memo: dict[int, Any]) -> Entry:
        """Return what copy.copy does."""
        return copy.copy(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as Executable does."""
        return Executable.__getitem__, (self._executable(), self.name)

    def __repr__(self) -> str:
        """Return the entry's signature."""
        inputs = ", ".join(f"{spec.name}: {spec}" for spec in self.inputs)
        outputs = ", ".join(f"{spec.name}: {spec}" for spec in self.outputs)
        return f"<tenon entry {self.name}({inputs}) -> ({outputs})>"

    def __call__(self, /, *inputs: Any, **named: Any) -> Any:
        """Prepare the parameters and run.

        Takes one array for each of `self.inputs`, in order or by name, of its dtype and shape, all on
        one device: NumPy, PyTorch, CuPy, JAX, or on the CPU anything with `__dlpack__`. What is not
        contiguous is copied.
        Returns a new array, or a tuple where there are several outputs, of the kind of the first input.
        On a GPU the work is put on the caller's current stream, and the call does not wait for it.

        Raises:
            ArgumentError: an argument's kind, device, dtype or shape is wrong, or their number or a name.
            UnsupportedError: the model has no code for that device.
            DeviceError: the GPU reported an error.

        """
        arguments = Arguments(self.name)
        adapter = self._add(arguments, self._inputs, inputs, named)
        return self._run(arguments, self._prepare(arguments, adapter), adapter)

    def prepare(self, /, *parameters: Any, **named: Any) -> Prepared:
        """Prepare one version of the parameters, for any number of calls.

        Takes one array for each of `self.parameters`, in order or by name. What depends on them alone is computed here;
        those that the model also uses as they are stay referenced. On a GPU the work is put on the
        caller's current stream, where calls belong as well. Raises as `__call__` does.
        """
        arguments = Arguments(self.name)
        adapter = self._add(arguments, self._parameters, parameters, named)
        return Prepared(self, arguments, self._prepare(arguments, adapter))

    def _add(self, arguments: Arguments, specs: _Specs, arrays: Sequence[Any], named: Mapping[str, Any]) -> Adapter:
        """Check and add arrays; return the adapter of the first, to whose kind results belong."""
        if named:
            arrays = self._in_order(specs, arrays, named)
        if len(arrays) != len(specs):
            names = ", ".join(spec.name for _, spec in specs)
            raise ArgumentError(f"{self.name}(): expected {len(specs)} arguments ({names}), but got {len(arrays)}")
        adapters = [adapter_of(array) for array in arrays]
        for (position, spec), array, adapter in zip(specs, arrays, adapters, strict=True):
            arguments.add(spec, position, array, adapter)
        return adapters[0] if adapters else adapter_of(None)

    def _in_order(self, specs: _Specs, arrays: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """Return all arrays by position."""
        names = [spec.name for _, spec in specs]
        takes = f"it takes {', '.join(names) or 'none'}"
        if unknown := [name for name in named if name not in names]:
            raise ArgumentError(f"{self.name}(): there is no argument '{unknown[0]}'; {takes}")
        if twice := [name for name in names[: len(arrays)] if name in named]:
            raise ArgumentError(f"{self.name}(): argument '{twice[0]}' is given both by position and by name")
        if missing := [name for name in names[len(arrays) :] if name not in named]:
            raise ArgumentError(f"{self.name}(): argument '{missing[0]}' is missing; {takes}")
        return [*arrays, *(named[name] for name in names[len(arrays) :])]

    def _prepare(self, arguments: Arguments, adapter: Adapter) -> list[View]:
        function = self._prepare_function
        return function.run(arguments, [], adapter, hidden=True) if function else []

    def _run(self, arguments: Arguments, prepared: Sequence[View], adapter: Adapter) -> Any:
        outputs = self._function.run(arguments, prepared, adapter)
        results = adapter.finish(outputs, arguments.device)
        return results[0] if len(results) == 1 else tuple(results)


class Executable:
    """A compiled model, loaded. `exe(*inputs)` calls it; `exe["name"]` is one of several entries.

    Attributes:
        path: the shared object that was loaded.
        manifest: what the model says of itself: functions, tensors, targets, kernels.
        remarks: what the compiler did and did not do, and why; empty for a model from `tenon.load`.

    """

    def __init__(self, path: str | os.PathLike[str], remarks: Sequence[Remark] = ()) -> None:
        """Open the shared object at `path`; see tenon.load."""
        self._take(Path(path), remarks, open_model(Path(path)))

    def _take(self, path: Path, remarks: Sequence[Remark], model: _native.Model) -> None:
        self.path, self.remarks, self.model = path, list(remarks), model
        self._make_again = functools.partial(_share, type(self), path, remarks, model)
        self.manifest: dict[str, Any] = json.loads(self.model.manifest)
        self.name: str = self.manifest["name"]
        self._functions = {f["name"]: Function(self.model, f) for f in self.manifest["functions"]}
        self.entries: dict[str, Entry] = {e["name"]: Entry(self, e) for e in self.manifest["entries"]}

    @property
    def functions(self) -> list[str]:
        """Names of the functions that C code calls."""
        return list(self._functions)

    @property
    def targets(self) -> list[str]:
        """What the model has code for: "cpu", "sm_80", ..."""
        return [*(["cpu"] if "cpu" in self.manifest else []), *self.manifest.get("cuda", [])]

    @property
    def kernels(self) -> list[str]:
        """Names of the model's GPU kernels."""
        return list(self.manifest.get("kernels", []))

    def __repr__(self) -> str:
        """Return name, targets and entries."""
        return f"<tenon.Executable {self.name} for {', '.join(self.targets)}: {', '.join(self.entries)}>"

    def __getitem__(self, name: str) -> Entry:
        """Return an entry; raises NotFoundError."""
        if name not in self.entries:
            raise NotFoundError(f"model '{self.name}' has no entry '{name}'; it has: {', '.join(self.entries)}")
        return self.entries[name]

    def __call__(self, /, *inputs: Any, **named: Any) -> Any:
        """Call the only entry; see Entry.__call__."""
        if len(self.entries) != 1:
            raise ArgumentError(
                f"model '{self.name}' has several entries ({', '.join(self.entries)}); "
                f"call one of them, as in executable['{next(iter(self.entries))}'](...)"
            )
        return next(iter(self.entries.values()))(*inputs, **named)

    def load(self, device_type: int, device_id: int = 0) -> None:
        """Load kernels on a device (DLPack's type: 1 CPU, 2 CUDA) now rather than at the first call there."""
        self.model.load(device_type, device_id)

    def rows_outside(self, device_id: int = 0) -> int:
        """Count the rows for which the slower path ran on GPU `device_id`, in all calls so far.

        These are rows of x and of w outside what f16 parts can stand for (docs/Precision.md), in tiled f32 products:
        each tile of the result with such a row is computed once more. Rows of w count each time that they are
        prepared; those that are outside only because their largest magnitude is below 2^-87 or not below 2^87 do
        not count. Always 0 for models without such products. It waits for the GPU: keep it out of a hot path and
        of graph captures. Raises DeviceError where the GPU reports an error.
        """
        return self.model.rows_outside(devices.CUDA, device_id)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the shared object to `path`, and its C header beside it, as tenon-compile does.

        A C program that is linked with it looks for `lib<name>.so` when it starts: give it that
        name, or `tenon.compile` another `name`. A model loaded from a file without a header
        beside it has none to write. Raises OSError where `path` cannot be written.
        """
        target = Path(path)
        if target.suffix == ".h":
            raise ArgumentError(f"'{target}' is where the C header would be; name the shared object lib{self.name}.so")
        header = self.path.with_suffix(".h")
        copy_whole(self.path, target)
        if header.exists():
            copy_whole(header, target.with_suffix(".h"))

    def __copy__(self) -> Executable:
        """Return another executable of the same model."""
        return self._make_again()

    def __deepcopy__(self, memo: dict[int, Any]) -> Executable:
        """Return what copy.copy does: a model does not change."""
        return self._make_again()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the files that `save` writes; loading puts them into the cache. Raises OSError if they are gone."""
        header = self.path.with_suffix(".h")
        parts = self.path.read_bytes(), header.read_bytes() if header.exists() else None
        return _restore, (type(self), f"lib{self.name}.so", *parts, self.remarks)

    def _function(self, name: str) -> Function:
        return self._functions[name]


def _share(kind: type[Executable], path: Path, remarks: Sequence[Remark], model: _native.Model) -> Executable:
    """Return an executable of a model that is open."""
    executable = object.__new__(kind)
    executable._take(path, remarks, model)
    return executable


def _restore(
    kind: type[Executable], name: str, library: bytes, header: bytes | None, remarks: Sequence[Remark]
) -> Executable:
    """Return the executable that was pickled."""
    return kind(cache.keep(name, library, header), remarks)
