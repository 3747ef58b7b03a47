# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `torch.compile(..., backend="tenon", options={...})` may say."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tenon import _native
from tenon.device import best_target, known_targets
from tenon.torch.precision import default_precision

PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "fp8")
RESTS = ("inductor", "eager")


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of a compilation.

    Attributes:
        precision: how accurate a product of float32 tensors must be: "fp32", "tf32",
            "bf16" or "fp16". None: as torch.get_float32_matmul_precision() says. "fp8" quantises layers of 16 and 32
            bits whose weight is a parameter, in inference: x and w to float8_e4m3fn with a scale a row.
        strategy: how linear layers are computed on a GPU: "library" by cuBLASLt, "tiled" by one
            kernel each where a layer can have it, or "auto".
        reduction: how tiled layers reduce, where a layer can have it, or "auto". For a training batch norm:
            "separate", "two_phase", "resident" or "input_moments"; for rows: "separate", "in_tile", "reduce_only" or
            "resident_rows".
        pairs: whether two linear layers of one x, such as those of SwiGLU, and layers whose products are added, have
            one kernel: "always" where they can have it, "never", or "auto".
        siblings: whether linear layers of one x, such as q, k and v, have one launch: "always" where they can have it,
            "never", or "auto", where they have few rows and a trial on the GPU finds it faster.
        norms_ahead: whether linear layers of parameters take what an RMS norm ahead of them takes, in 16 bits and
            float32: "always", "never", or "auto", where a trial on the GPU finds all of them faster so, and its memory
            has room for a copy of each layer's weight, by the norm's. With "always" also what a layer norm or an
            inference batch norm takes, in 16 bits.
        target: "cpu", or GPU architectures such as "sm_90a". None: the device of
            the tensors.
        verbose: print to stderr what was fused and what was not.
        rest: what computes what Tenon leaves over: "inductor", as torch.compile does, or "eager", PyTorch op by op.
            None: "inductor" where it has what it needs, Triton or on the CPU a C++ compiler.
        strict: raise where Tenon fails on a part of a model, rather than warn and leave that part to the rest;
            TENON_STRICT=1 does so everywhere.
        inductor: Inductor's own options, by the names of `torch._inductor.config`; `of` takes them beside the others.

    """

    precision: str | None = None
    strategy: str = "auto"
    reduction: str = "auto"
    pairs: str = "auto"
    siblings: str = "auto"
    norms_ahead: str = "auto"
    target: str | Sequence[str] | None = None
    verbose: bool = False
    rest: str | None = None
    strict: bool = False
    inductor: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ValueError where a value is not one of those allowed."""
        if self.precision is not None:
            _check("precision", self.precision, PRECISIONS)
        for name, value in self.of_compiler().items():
            _check(name, value, _native.OPTIONS[name][1])
        _check("norms_ahead", self.norms_ahead, ("auto", "always", "never"))
        if self.reduction != "auto" and self.strategy == "library":
            raise ValueError(
                f"tenon: option reduction={self.reduction!r} is for tiled layers, but strategy='library' leaves none; "
                "leave one of the two out"
            )
        if self.target is not None and not (isinstance(self.target, Sequence) and self.target):
            raise ValueError(
                f"tenon: option target={self.target!r} is neither a name such as 'sm_90a' nor a list of them"
            )
        for target in [self.target] if isinstance(self.target, str) else self.target or []:
            _check("target", target, ("cpu", *known_targets()))
        for name in ("verbose", "strict"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"tenon: option {name}={getattr(self, name)!r} is not a bool")
        if self.rest is not None:
            _check("rest", self.rest, RESTS)
        if self.rest == "eager" and self.inductor:
            raise ValueError(
                f"tenon: option {next(iter(self.inductor))!r} is Inductor's, but rest='eager' leaves it out"
            )

    @classmethod
    def of(cls, options: Options | Mapping[str, Any] | None) -> Options:
        """Return options made of a mapping; an unknown name raises ValueError, what is no mapping TypeError."""
        if isinstance(options, Options):
            return options
        if not isinstance(options, Mapping | None):
            example = '{"precision": "tf32"}'
            raise TypeError(f"tenon: options is a mapping such as {example}, not {type(options).__name__}")
        names = [field.name for field in dataclasses.fields(cls) if field.name != "inductor"]
        own = {name: value for name, value in (options or {}).items() if name in names}
        others = {name: value for name, value in (options or {}).items() if name not in names}
        for name in others:
            if not _is_inductors(name):
                _check("option", name, names)
        return cls(**own, inductor=others)

    def of_compiler(self) -> dict[str, str]:
        """Return those that are options of `tenon.compile`."""
        return {name: value for name, value in vars(self).items() if name in _native.OPTIONS}

    def of_partition(self) -> dict[str, Any]:
        """Return those that are arguments of `partition`."""
        return {"siblings": self.siblings == "always", "norms_ahead": self.norms_ahead}

    def fitting(self, device: torch.device) -> Options:
        """Return these options; unasked, no norm joins layers where copies of all weights might take half of a GPU."""
        if self.norms_ahead != "auto" or device.type != "cuda":
            return self
        has_room = 4 * torch.cuda.memory_allocated(device) <= torch.cuda.get_device_properties(device).total_memory
        return self if has_room else dataclasses.replace(self, norms_ahead="never")

    def with_settings(self, settings: Mapping[str, Any]) -> Options:
        """Return these options with those of `tenon.compile` that a trial chose."""
        return dataclasses.replace(self, **{name: settings[name] for name in self.of_compiler() if name in settings})

    def compiles_for(self, device: torch.device) -> bool:
        """Tell whether anything is compiled for tensors on a device: on the CPU, only where that is asked for."""
        return device.type != "cpu" or self.target is not None

    def rest_for(self, device: torch.device) -> str:
        """Return what computes what Tenon leaves over, given the tensors' device."""
        return self.rest or default_rest(device.type)

    def linear_precision(self) -> str:
        """Return the precision for products of float32 tensors."""
        return self.precision or default_precision()

    def targets_for(self, device: torch.device) -> list[str]:
        """Return the targets to compile for, given the tensors' device."""
        if self.target is not None:
            return [self.target] if isinstance(self.target, str) else list(self.target)
        if device.type == "cpu":
            return ["cpu"]
        target = best_target(torch.cuda.get_device_capability(device))
        if target == "cpu":
            raise ValueError(f"tenon: {torch.cuda.get_device_name(device)} is not supported; it needs capability 8.0")
        return [target]


@functools.cache
def default_rest(device_type: str) -> str:
    """Return "inductor" where that has what it needs to compile for a device, else "eager"."""
    from torch.utils._triton import has_triton

    if device_type != "cpu":
        return "inductor" if has_triton() else "eager"
    from torch._inductor import cpp_builder, exc

    try:
        cpp_builder.get_cpp_compiler()
    except (exc.InvalidCxxCompiler, OSError, RuntimeError):
        return "eager"
    return "inductor"


def _is_inductors(name: str) -> bool:
    """Tell whether Inductor has an option of this name."""
    from torch._inductor import config

    return isinstance(name, str) and name.replace("-", "_") in config.get_config_copy()


def _check(what: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ValueError(f"tenon: {what} {value!r} is not known; choose one of {', '.join(map(repr, allowed))}")
