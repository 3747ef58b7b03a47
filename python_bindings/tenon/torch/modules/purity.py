# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Proves that a module's forward is a function of its arguments and of what it is seen to read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import torch
from torch import nn

from tenon.torch.modules.abstract import BUILTINS, CLASSES, ITERATION, VALUE, Abstract, Known, Method
from tenon.torch.modules.body import result_of
from tenon.torch.modules.reads import Impure, Reads, is_plain

_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
_CONTAINER_METHODS = ("__iter__", "__getitem__", "__len__", "items", "keys", "values")


def class_of(module: nn.Module) -> type[nn.Module]:
    """Return a module's class as its author wrote it, without `optimize`'s."""
    return getattr(type(module), "_tenon_base", type(module))


class Scan:
    """Reads a tree of modules.

    Attributes:
        reads: what was read.
        modules: the tree's modules, each once, the root first.
        changes: whether a container may be changed, which may be an argument.

    """

    def __init__(self, root: nn.Module) -> None:
        """Scan; raise Impure where that proves nothing."""
        self.reads = Reads()
        self.root = root
        self.modules = list(root.modules())
        self.changes = False
        self._in_tree = {id(module) for module in self.modules}
        self._results: dict[tuple[int, int], Abstract | None] = {}
        for dictionary in _GLOBAL_HOOKS:
            self.reads.size(dictionary)
            if dictionary:
                raise Impure("there are hooks for all modules (torch.nn.modules.module.register_module_*)")
        for module in self.modules:
            self._scan_module(module)

    def _scan_module(self, module: nn.Module) -> None:
        reads, cls, name = self.reads, type(module), type(module).__name__
        reads.attribute(module, "__class__")
        own = reads.attribute(module, "__dict__")
        for protocol in ("__call__", "__getattr__", "__getattribute__", "__bool__"):
            if getattr(class_of(module), protocol, None) is not getattr(nn.Module, protocol, None):
                raise Impure(f"{name} has a {protocol} of its own")
        for base in cls.__mro__[:-1]:
            reads.names(base)  # a new name there may hide what is read below
        for registry in ("_parameters", "_buffers", "_modules"):
            reads.item(own, registry)
        reads.size(own["_modules"])
        for child in own["_modules"]:
            reads.item(own["_modules"], child)
        reads.no_item(own, "forward")
        if "forward" in own:
            raise Impure(f"forward of {name} is replaced on the object")
        if module is not self.root:
            self._scan_hooks(module)
        forward = self._class_attribute(module, "forward")
        if not isinstance(_find(class_of(module), "forward"), FunctionType):
            raise Impure(f"forward of {name} is no method")
        if forward is not nn.Module.forward and self.call(forward, module) is not VALUE:
            raise Impure(f"forward of {name} returns modules")

    def _scan_hooks(self, module: nn.Module) -> None:
        own = vars(module)
        for hooks in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"):
            self.reads.size(self.reads.item(own, hooks))
            if own[hooks]:
                raise Impure(f"{type(module).__name__} has hooks")
        self.reads.no_item(own, "_compiled_call_impl")
        if "_compiled_call_impl" in own:
            raise Impure(f"{type(module).__name__} is compiled (Module.compile)")

    def call(self, function: FunctionType, owner: nn.Module | None) -> Abstract:
        """Scan a function, once an owner, and return the kind of its results."""
        key = (id(function), id(owner))
        if key not in self._results:
            self._results[key] = None
            self._results[key] = result_of(self, function, owner)
        result = self._results[key]
        if result is None:
            raise Impure(f"{function.__qualname__} calls itself")
        return result

    def function_of(self, value: partial) -> Any:
        """Return what a functools.partial calls; raise Impure unless its own arguments are constants."""
        for name in ("func", "args", "keywords"):
            self.reads.attribute(value, name)
        self.reads.all_items(value.keywords)
        if not all(map(is_plain, (*value.args, *value.keywords.values()))):
            raise Impure("a functools.partial has an argument that may change")
        return self.function_of(value.func) if type(value.func) is partial else value.func

    def is_buffer(self, module: nn.Module, name: str) -> bool:
        """Tell whether an attribute that was resolved is a buffer, so that setting it to itself changes nothing."""
        buffers = vars(module)["_buffers"]
        plain = self.reads.attribute(class_of(module), "__setattr__") is nn.Module.__setattr__
        return plain and (id(buffers), name) in self.reads.tensors and type(buffers[name]) is torch.Tensor

    def resolve(self, owner: Any, name: str) -> Abstract:
        """Return the attribute `name` of a known object."""
        if isinstance(owner, nn.Module):
            return self._module_attribute(owner, name)
        if isinstance(owner, ModuleType) and name in vars(owner):
            return self.classify(self.reads.item(vars(owner), name), f"{owner.__name__}.{name}")
        raise Impure(f"attribute {name} of {owner!r}")

    def _module_attribute(self, module: nn.Module, name: str) -> Abstract:
        reads, own, where = self.reads, vars(module), f"{type(module).__name__}.{name}"
        in_class = any(name in vars(base) for base in class_of(module).__mro__)
        if name in own:
            if in_class and hasattr(_find(class_of(module), name), "__set__"):
                raise Impure(f"{where} is a property")
            if isinstance(own[name], torch.Tensor):
                reads.tensor(own, name)
                return VALUE
            return self._submodule(reads.item(own, name), where)
        reads.no_item(own, name)
        if in_class:
            value = self._class_attribute(module, name)
            if isinstance(module, _CONTAINERS) and name in _CONTAINER_METHODS:
                return Method(None, self.container(Known(module)))
            if isinstance(value, FunctionType) and not isinstance(_find(class_of(module), name), staticmethod):
                return Method(value, module)
            return self.classify(value, where)
        for registry in (own["_parameters"], own["_buffers"]):
            if name in registry:
                if registry[name] is None:
                    return self.classify(reads.item(registry, name), where)
                reads.tensor(registry, name)
                return VALUE
        if name in own["_modules"]:
            return self._submodule(own["_modules"][name], where)
        raise Impure(f"{where} does not exist")

    def _submodule(self, value: Any, where: str) -> Abstract:
        return Known(value) if id(value) in self._in_tree else self.classify(value, where)

    def _class_attribute(self, module: nn.Module, name: str) -> Any:
        cls = class_of(module)
        found = _find(cls, name)
        if hasattr(type(found), "__get__") and not isinstance(found, FunctionType | staticmethod):
            raise Impure(f"{cls.__name__}.{name} is a property or another descriptor")
        return self.reads.attribute(cls, name)

    def container(self, value: Abstract) -> nn.Module:
        """Return a known container of modules; raise Impure if it is none, or a special one."""
        module = value.value if isinstance(value, Known) else None
        for kind in _CONTAINERS:
            if isinstance(module, kind):
                for name in _CONTAINER_METHODS:
                    if _find(class_of(module), name) is not _find(kind, name):
                        raise Impure(f"{class_of(module).__name__} has a {name} of its own")
                return module
        raise Impure(f"iterates over {value}")

    def classify(self, value: Any, where: str) -> Abstract:
        """Return the kind of an object that was found, which is no submodule."""
        if is_plain(value):
            return VALUE
        if isinstance(value, ModuleType | FunctionType | BuiltinFunctionType) or type(value) is partial:
            return Known(value)
        if isinstance(value, type) and (
            issubclass(value, Exception | nn.Module) or value in (*CLASSES, *BUILTINS, *ITERATION)
        ):
            return Known(value)
        raise Impure(f"{where} is a {type(value).__name__}, which may change")


def _find(cls: type, name: str) -> Any:
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def _global_hooks() -> Iterator[dict]:
    for name, value in vars(nn.modules.module).items():
        if name.startswith("_global_") and name.endswith("_hooks") and isinstance(value, dict):
            yield value


_GLOBAL_HOOKS = list(_global_hooks())
