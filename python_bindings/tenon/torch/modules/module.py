# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tenon.torch.optimize`: a module that stands in for another and runs faster."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from typing import Any, TypeVar

import torch
from torch import nn

from tenon.torch.modules.dispatch import Dispatcher
from tenon.torch.options import Options

ModuleT = TypeVar("ModuleT", bound=nn.Module)


def optimize(
    model: ModuleT, *, dynamic: bool | None = None, options: Options | Mapping[str, Any] | None = None
) -> ModuleT:
    """Return a module that computes what `model` does, with what Tenon can fuse compiled.

    It is an instance of a subclass of the model's class and shares all of the model's
    state: parameters, buffers, attributes, hooks, training flags. What changes in one
    changes in the other; the model itself goes on running as before.

    A call is compiled the first time that its kind is seen. Where a gradient is needed,
    where a mode or transform of PyTorch's is active, and for subclasses of Tensor, the
    original forward runs. A forward that cannot be proved free of side effects goes
    through `torch.compile`.

    Args:
        model: any module; one that was optimized before is optimized anew.
        dynamic: True to compile for any batch size at once, False to compile once a
            shape, None to do so from the second batch size on.
        options: see `tenon.torch.Options`.

    Raises:
        TypeError: `model` is no module, or one that cannot be shared.
        ValueError: an option that is not known.

    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"tenon: optimize needs a torch.nn.Module, not {type(model).__name__}")
    options = Options.of(options)
    original = original_of(model)
    base = type(original)
    if isinstance(model, torch.jit.ScriptModule) or any(vars(c).get("__slots__") for c in base.__mro__):
        raise TypeError(f"tenon: {base.__name__} keeps state outside __dict__, which a second module cannot share")
    namespace = {
        "__module__": base.__module__,
        "__qualname__": base.__qualname__,
        "__doc__": base.__doc__,
        "__reduce_ex__": _reduce,
        "__copy__": _copy,
        "__deepcopy__": _deepcopy,
        "_get_name": _get_name,
        "_tenon_base": base,
        "_tenon": Dispatcher(original, dynamic, options),
    }
    namespace["forward"] = _make_forward(base, namespace["_tenon"])
    optimized = object.__new__(type(base)(base.__name__, (base,), namespace))
    object.__setattr__(optimized, "__dict__", vars(original))
    return optimized


def original_of(module: nn.Module) -> nn.Module:
    """Return the module that was optimized, or the module itself."""
    dispatcher = getattr(type(module), "_tenon", None)
    return dispatcher.original if dispatcher else module


def _make_forward(base: type[nn.Module], dispatcher: Dispatcher) -> Any:
    state = vars(dispatcher.original)

    @functools.wraps(base.forward)
    def forward(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        # A compiler sees the original; and replicas, as DataParallel makes them, have other state.
        if torch.compiler.is_compiling() or self.__dict__ is not state:
            return base.forward(self, *args, **kwargs)
        return dispatcher(args, kwargs)

    return forward


def _again(original: nn.Module, dynamic: bool | None, options: Options) -> nn.Module:
    return optimize(original, dynamic=dynamic, options=options)


def _reduce(self: nn.Module, protocol: Any) -> tuple[Any, ...]:
    dispatcher = type(self)._tenon
    return _again, (dispatcher.original, dispatcher.dynamic, dispatcher.options)


def _copy(self: nn.Module) -> nn.Module:
    dispatcher = type(self)._tenon
    return _again(copy.copy(dispatcher.original), dispatcher.dynamic, dispatcher.options)


def _deepcopy(self: nn.Module, memo: dict[int, Any]) -> nn.Module:
    dispatcher = type(self)._tenon
    return _again(copy.deepcopy(dispatcher.original, memo), dispatcher.dynamic, dispatcher.options)


def _get_name(self: nn.Module) -> str:
    return f"{type(self)._tenon_base.__name__}[tenon]"
