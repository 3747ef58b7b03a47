# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One function of a loaded model, called with views of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenon import _native
from tenon import device as devices
from tenon.arrays import Adapter, Device, View, device_name
from tenon.errors import ArgumentError


@dataclass(frozen=True)
class TensorSpec:
    """What a function's tensor must be; a name in `shape` is a dynamic extent."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    role: str = ""  # of inputs: "activation", "param" or "prepared"

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> TensorSpec:
        """Return what an entry of the manifest says."""
        return cls(entry["name"], entry["dtype"], tuple(entry["shape"]), entry.get("role", ""))

    def __str__(self) -> str:
        """Return "float32 [m, 8]"."""
        return f"{self.dtype} [{', '.join(map(str, self.shape))}]"


class Arguments:
    """The checked arguments of one call, by name; all live on one device."""

    def __init__(self, caller: str) -> None:
        """Begin without arguments; `caller` is named by errors."""
        self.caller = caller
        self.views: dict[str, View] = {}
        self.extents: dict[str, int] = {}
        self._bound: dict[str, tuple[str, int]] = {}  # who gave each extent
        self.device: Device = (devices.CPU, 0)  # without arguments, the CPU

    def copy(self) -> Arguments:
        """Return arguments to which others can be added."""
        other = Arguments(self.caller)
        other.views, other.device = dict(self.views), self.device
        other.extents, other._bound = dict(self.extents), dict(self._bound)
        return other

    def add(self, spec: TensorSpec, position: int, array: Any, adapter: Adapter) -> None:
        """Check `array`, which was given at `position` (from 1 on), against `spec` and add it."""
        try:
            view = adapter.view(array)
        except ArgumentError as error:
            raise self._wrong(spec, position, str(error)) from error
        if view.dtype != spec.dtype:
            raise self._wrong(spec, position, f"expected dtype {spec.dtype}, but got {view.dtype}")
        self._bind(spec, position, view)
        if not self.views:
            self.device = view.device
        elif view.device != self.device:
            raise self._wrong(
                spec,
                position,
                f"expected all tensors to be on the same device, but got {device_name(view.device)} "
                f"after {device_name(self.device)}",
            )
        self.views[spec.name] = view

    def _bind(self, spec: TensorSpec, position: int, view: View) -> None:
        given = list(view.shape)
        fits = len(given) == len(spec.shape)
        for expected, extent in zip(spec.shape, given, strict=False):
            fits = fits and (isinstance(expected, str) or expected == extent)
        if not fits:
            wanted = f"[{', '.join(map(str, spec.shape))}]"
            raise self._wrong(spec, position, f"expected shape {wanted}, but got {given}")
        for dimension, (symbol, extent) in enumerate(zip(spec.shape, given, strict=True)):
            if not isinstance(symbol, str):
                continue
            if self.extents.setdefault(symbol, extent) != extent:
                name, other = self._bound[symbol]
                raise self._wrong(
                    spec,
                    position,
                    f"dimension {dimension} is '{symbol}' and has extent {extent}, but dimension {other} of "
                    f"argument '{name}' made it {self.extents[symbol]}",
                )
            self._bound.setdefault(symbol, (spec.name, dimension))

    def _wrong(self, spec: TensorSpec, position: int, what: str) -> ArgumentError:
        return ArgumentError(f"{self.caller}(): argument '{spec.name}' (position {position}): {what}")


class Function:
    """A function of a model; safe to call from several threads."""

    def __init__(self, model: _native.Model, description: Mapping[str, Any]) -> None:
        """Find the function that an entry of the manifest's "functions" describes."""
        self.name: str = description["name"]
        self.inputs = [TensorSpec.read(entry) for entry in description["inputs"]]
        self.outputs = [TensorSpec.read(entry) for entry in description["outputs"]]
        self._function = model.function(self.name)
        self._launchers: dict[Device, _native.Launcher] = {}

    def _launcher(self, device: Device) -> _native.Launcher:
        if device not in self._launchers:
            self._launchers[device] = self._function.launcher(*device)
        return self._launchers[device]

    def run(
        self, arguments: Arguments, prepared: Sequence[View], adapter: Adapter, *, hidden: bool = False
    ) -> list[View]:
        """Enqueue a call on the caller's stream and return its outputs.

        Inputs are taken from `arguments` by name, prepared ones from `prepared` in order. Outputs that
        are `hidden` from the caller need not be arrays of the library's.
        """
        allocate = adapter.hidden if hidden else adapter.empty
        device, extents = arguments.device, arguments.extents
        queue = iter(prepared)
        inputs = [next(queue) if spec.role == "prepared" else arguments.views[spec.name] for spec in self.inputs]
        outputs = []
        for spec in self.outputs:
            shape = [extents[extent] if isinstance(extent, str) else extent for extent in spec.shape]
            outputs.append(allocate(shape, spec.dtype, device))
        launcher = self._launcher(device)
        values = [extents[symbol] for symbol in launcher.symbols]
        size = launcher.workspace_bytes(values)
        workspace = adapter.workspace(size, device) if size else None
        pointers = [view.pointer for view in (*inputs, *outputs)]
        launcher(pointers, values, workspace.pointer if workspace else 0, size, adapter.stream(device))
        return outputs
