# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sends each call of an optimized module to code that was compiled for its kind."""

from __future__ import annotations

import contextlib
import functools
import logging
import operator
import threading
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import fx, nn
from torch.utils import _pytree as pytree

import tenon
from tenon import forks
from tenon.torch.backend import compile_graph, device_of, needs_gradient, tenon_backend
from tenon.torch.calls.call import FusedCall
from tenon.torch.calls.function import function_of, no_lazy_modules
from tenon.torch.failures import failed, strictness
from tenon.torch.fusion.readers import is_library_call
from tenon.torch.fusion.views import is_view
from tenon.torch.modules.arguments import CallArguments, take_apart, take_result_apart
from tenon.torch.modules.guards import (
    TENSOR_TYPES,
    check_plain,
    guard_apart,
    guard_tree,
    is_plain_context,
    is_plain_tensor,
)
from tenon.torch.modules.purity import Scan
from tenon.torch.modules.reads import Impure
from tenon.torch.modules.record import CannotRepeatError, Recorder
from tenon.torch.modules.specialization import Dims, Specialization, kind_of
from tenon.torch.options import Options

_log = logging.getLogger("tenon.torch")
_MOST_ENTRIES = 8
# After so many calls in a row with nothing to fuse, so many are PyTorch's without a look.
_MOST_UNFUSED, _IDLE = 8, 256

_Found = tuple[Specialization, tuple[torch.Tensor, ...]]


class _Tree:
    """One state of the module's tree and the calls compiled for it, the latest first."""

    def __init__(self, scan: Scan) -> None:
        self.guard = guard_tree(scan.reads)
        self.signature = scan.reads.signature()
        self.modules = scan.modules
        self.entries: tuple[Specialization, ...] = ()

    def has(self, modules: Sequence[nn.Module]) -> bool:
        """Tell whether the tree is made of these modules, or some were replaced for good."""
        return len(modules) == len(self.modules) and all(map(operator.is_, modules, self.modules))


class Dispatcher:
    """Runs an optimized module.

    Attributes:
        original: the module as it was given.
        dynamic, options: as `tenon.torch.optimize` got them.

    """

    def __init__(self, original: nn.Module, dynamic: bool | None, options: Options) -> None:
        """Start with nothing compiled."""
        self.original = original
        self.dynamic = dynamic
        self.options = options
        self._declined: dict[bool, str] = {}  # by whether the module is in training mode
        self._trees: tuple[_Tree, ...] = ()
        self._compiled: dict[bool, Callable[..., Any]] = {}  # likewise
        self._lock = forks.Lock()
        self._unfused = 0  # calls in a row with nothing to fuse
        self._idle = 0  # calls to come that are not looked at
        self._trained: Callable[[], torch.Tensor | None] = _nothing  # a parameter that requires a gradient

    @property
    def declined(self) -> str | None:
        """Why calls of a new kind go through `torch.compile`, in the module's present mode; None if they do not."""
        return self._declined.get(self.original.training)

    def __call__(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call the module."""
        if self._idle > 0:
            self._idle -= 1
            return type(self.original).forward(self.original, *args, **kwargs)
        if not is_plain_context():
            return self._run_original(*args, **kwargs)
        if not kwargs:
            found = self._find(len(args), args)
            if found is not None:
                entry, tensors = found
                return entry(tensors) if entry.suits(tensors) else self._run_unfused(args, kwargs)
        return self._call_general(args, kwargs)

    def _find(self, structure: Any, given: Sequence[Any]) -> _Found | None:
        """Return what was compiled for a call, and the tensors to call it with."""
        if any(type(t) in TENSOR_TYPES and t.is_nested for t in given):
            return None  # PyTorch's guards cannot look at them
        for tree in self._trees:
            read = tree.guard()
            if read is None:
                continue
            tensors = (*read, *given)
            for entry in tree.entries:
                if entry.admits(structure, tensors):
                    if entry is not tree.entries[0]:
                        tree.entries = (entry, *(other for other in tree.entries if other is not entry))
                    return entry, tensors
        return None

    def _call_general(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call with arguments of any form, and compile where the kind is new."""
        trained = self._trained()
        if trained is not None and trained.requires_grad and torch.is_grad_enabled():
            return self._run_with_gradient(args, kwargs)  # as quickly as it can be known
        arguments = found = None
        with contextlib.suppress(Impure):
            arguments = take_apart(args, kwargs)
            found = self._find(arguments.structure, arguments.tensors)
        return self._call(*found, args, kwargs) if found else self._call_new(arguments, args, kwargs)

    def _call_new(self, arguments: CallArguments | None, args: tuple, kwargs: dict[str, Any]) -> Any:
        self._unfused = 0
        leaves = pytree.tree_leaves((args, kwargs))
        if any(isinstance(leaf, torch.Tensor | fx.Proxy) and not is_plain_tensor(leaf) for leaf in leaves):
            return self._run_original(*args, **kwargs)
        if torch.is_grad_enabled():
            trained = next((p for p in self.original.parameters() if p.requires_grad), None)
            self._trained = weakref.ref(trained) if trained is not None else _nothing
            if trained is not None or needs_gradient(leaves):
                return self._run_with_gradient(args, kwargs)
        if arguments is None or self.declined is not None:
            return self._run_compiled(args, kwargs)
        with self._lock:
            found = self._find(arguments.structure, arguments.tensors)
            if found is None and self.declined is None:
                return self._call_and_compile(arguments, args, kwargs)
        return self._call(*found, args, kwargs) if found else self._run_compiled(args, kwargs)

    def _call(self, entry: Specialization, tensors: Sequence[torch.Tensor], args: tuple, kwargs: dict[str, Any]) -> Any:
        return entry(tensors) if entry.suits(tensors) else self._run_unfused(args, kwargs)

    def _call_and_compile(self, arguments: CallArguments, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Make a call of a new kind, and compile for others like it."""
        try:
            scan = Scan(self.original)
            if needs_gradient(scan.reads.present_tensors()):
                return self._run_with_gradient(args, kwargs)
            tree = self._find_tree(scan)
            tensors = (*scan.reads.present_tensors(), *arguments.tensors)
            check_plain(tensors)
            entry = next((entry for entry in tree.entries if entry.admits(arguments.structure, tensors)), None)
            if entry is None and sum(len(tree.entries) for tree in self._trees) == _MOST_ENTRIES:
                raise Impure(f"it was called in more than {_MOST_ENTRIES} ways")
            entry = entry or self._trace(scan, tree, arguments)
            unfinished = None if entry else Specialization(scan, arguments)
        except Impure as error:
            self._decline(str(error))
            return self._run_compiled(args, kwargs)
        if unfinished:
            return self._record(unfinished, tree, args, kwargs)
        return self._call(entry, tensors, args, kwargs)

    def _find_tree(self, scan: Scan) -> _Tree:
        """Return the tree in its present state, with guards that are up to date."""
        trees = [tree for tree in self._trees if tree.has(scan.modules)]
        tree = next((tree for tree in trees if tree.signature == scan.reads.signature()), None)
        if tree is None:
            tree = _Tree(scan)
            trees.insert(0, tree)
        tree.guard = guard_tree(scan.reads)
        self._trees = tuple(trees)
        return tree

    def _trace(self, scan: Scan, tree: _Tree, arguments: CallArguments) -> Specialization | None:
        """Compile for dynamic extents, if there are to be any and that is possible."""
        dynamic = self._choose_dynamic(tree, arguments)
        if not any(dynamic):
            return None
        # Imported where it is needed: with Dynamo, that takes seconds on some machines.
        from tenon.torch.modules.symbolic import compile_symbolic

        entry = Specialization(scan, arguments, dynamic)
        try:
            compile_symbolic(entry, scan, arguments, self.options)
        except tenon.TenonError:
            raise
        except Exception as error:
            _log.info("tenon: no dynamic extents: %s", error)
            return None
        tree.entries = (entry, *tree.entries)
        return entry

    def _record(self, entry: Specialization, tree: _Tree, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Make the call, as PyTorch makes it, and compile what it did."""
        recorder = Recorder(entry.tensors)
        # Below autograd, composite ops reach the recorder whole.
        with _no_autocast_cache(), torch._C._AutoDispatchBelowAutograd(), recorder:
            result = self._run_original(*args, **kwargs)
        try:
            results, rebuild = take_result_apart(result)
            graph = recorder.finish(results)
            changed = recorder.changed
            apart = guard_apart(entry.tensors, entry.dynamic, changed) if changed else None
            if apart and not apart(entry.tensors):
                return result  # no graph tells what that does
        except (Impure, CannotRepeatError) as error:
            self._decline(str(error))
        else:
            self._compile(graph, entry, tree, rebuild, apart)
        return result

    def _compile(self, graph: fx.GraphModule, entry: Specialization, tree: _Tree, rebuild: Any, apart: Any) -> None:
        """Compile what a call did; where Tenon's calls are not all of it, Inductor may have the rest."""
        fused = _compile_recorded(graph, entry.parameters, self.options)
        if not _is_light(graph) and self._rest(entry.tensors) == "inductor":
            self._decline("Inductor compiles what Tenon leaves over")
            return
        entry.complete(graph.forward if fused else None, rebuild, apart=apart)
        tree.entries = (entry, *tree.entries)

    def _choose_dynamic(self, tree: _Tree, arguments: CallArguments) -> Dims:
        """Return the extents to leave open: those seen to vary, or the batch's if so asked."""
        tensors = arguments.tensors
        varying: list[set[int]] = [set() for _ in tensors]
        if self.dynamic:
            varying = [{0} for _ in tensors]
        elif self.dynamic is None:
            kind = kind_of(arguments)
            for shapes in (entry.shapes for entry in tree.entries if entry.kind == kind):
                for dims, tensor, shape in zip(varying, tensors, shapes, strict=True):
                    dims.update(d for d, n in enumerate(tensor.shape) if n != shape[d])
        # PyTorch's symbolic extents are at least 2.
        return tuple(
            frozenset(d for d in dims if t.dim() > 1 and t.shape[d] > 1 and t.is_contiguous())
            for dims, t in zip(varying, tensors, strict=True)
        )

    # === PyTorch's own ways ========================================================

    def _run_original(self, *args: Any, **kwargs: Any) -> Any:
        return type(self.original).forward(self.original, *args, **kwargs)

    def _run_unfused(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call where nothing is to be fused; where that goes on, stop looking for a while."""
        self._unfused += 1
        if self._unfused >= _MOST_UNFUSED:
            self._unfused = 0
            self._idle = 0 if self._any_fuses() else _IDLE
        return self._run_original(*args, **kwargs)

    def _any_fuses(self) -> bool:
        return any(entry.fuses for tree in self._trees for entry in tree.entries)

    def _run_with_gradient(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call where autograd records: a training step is compiled as torch.compile compiles it."""
        if self.original.training in self._compiled or self._rest(args, kwargs) == "inductor":
            return self._run_compiled(args, kwargs)
        return self._run_original(*args, **kwargs)

    def _rest(self, *inputs: Any) -> str:
        """Return what computes what Tenon leaves over in a call; PyTorch, where it compiles for no such device."""
        leaves = pytree.tree_leaves(inputs)
        device = device_of([*leaves, *self.original.parameters()])
        return self.options.rest_for(device) if self.options.compiles_for(device) else "eager"

    def _decline(self, reason: str) -> None:
        _log.info("tenon: %s goes through torch.compile: %s", type(self.original).__name__, reason)
        self._declined[self.original.training] = reason

    def _run_compiled(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        training = self.original.training
        if training in self._compiled:
            return self._compiled[training](*args, **kwargs)
        # Dynamo limits recompilations by code object, so it gets the class's own forward.
        compiled = torch.compile(
            types.MethodType(type(self.original).forward, self.original),
            backend=functools.partial(_count_graphs, options=self.options),
            dynamic=self.dynamic,
        )
        graphs, fused = _counts.graphs, _counts.fused
        result = compiled(*args, **kwargs)
        useless = _counts.graphs > graphs and _counts.fused == fused
        self._compiled[training] = self._run_original if useless else compiled
        if useless and not self._any_fuses():
            self._idle = _IDLE
        return result


class _Counts(threading.local):
    """How many graphs Dynamo had this thread compile, and in how many something was fused."""

    graphs = fused = 0


_counts = _Counts()


def _count_graphs(graph: fx.GraphModule, inputs: Sequence[Any], **options: Any) -> Callable[..., Any]:
    function_of(graph)
    with no_lazy_modules():
        compiled = tenon_backend(graph, inputs, **options)
    _counts.graphs += 1
    _counts.fused += compiled != graph.forward
    return compiled


def _compile_recorded(graph: fx.GraphModule, parameters: set[int], options: Options) -> list[FusedCall]:
    """Compile what a call did; nothing where Tenon fails on it."""
    with strictness(options.strict):
        try:
            return compile_graph(graph, parameters, options)
        except Exception as error:
            failed("a graph", error)
            return []


def _is_light(graph: fx.GraphModule) -> bool:
    """Tell whether a graph is Tenon's calls, views and products that PyTorch has a library for."""
    return all(_costs_nothing_more(node) for node in graph.graph.nodes if node.op == "call_function")


def _costs_nothing_more(node: fx.Node) -> bool:
    own = isinstance(node.target, FusedCall) or node.target is operator.getitem
    return own or is_view(node) or getattr(node.target, "is_view", False) or is_library_call(node)


def _nothing() -> None:
    """Stand for a reference to an object that is gone."""


@contextlib.contextmanager
def _no_autocast_cache() -> Iterator[None]:
    """Have autocast convert parameters anew, so that the conversions are seen."""
    enabled = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(enabled)
