# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes down the ATen ops of one real call, as a functional graph.

Unlike Dynamo and AOTAutograd, whose import alone takes seconds, this costs what the call
costs. It sees what the call did, not what it might have done: whoever uses the graph
again must know that Python would do the same again.
"""

from __future__ import annotations

import dataclasses
import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
_READS_VALUES = {aten._local_scalar_dense.default, aten.equal.default, aten.is_nonzero.default}
# Ops without a tensor in or out, by which PyTorch asks a tensor what it is.
_NAMESPACES_OF_QUERIES = ("prim",)


@dataclasses.dataclass
class Recording:
    """One call, written down.

    Attributes:
        result: what the call returned.
        graph: from the inputs to the flat list of the result's tensors, with changes of
            inputs as `aten.copy_` at its end; None where the call cannot be repeated.
        reason: why there is no graph.
        structure: of the result, whose leaves are tensors and constants.
        leaves: for each leaf the number of the graph's output, or the constant itself.

    """

    result: Any
    graph: fx.GraphModule | None = None
    reason: str = ""
    structure: pytree.TreeSpec | None = None
    leaves: list[tuple[bool, Any]] = dataclasses.field(default_factory=list)


def record(function: Callable[[], Any], inputs: Sequence[torch.Tensor]) -> Recording:
    """Call `function` and write down what it does with `inputs`, all distinct tensors."""
    recorder = _Recorder(inputs)
    with recorder:
        result = function()
    recording = Recording(result, reason=recorder.reason)
    if not recorder.reason:
        try:
            recorder.finish(recording)
        except _CannotRepeatError as error:
            recording.reason = str(error)
    return recording


class _CannotRepeatError(Exception):
    pass


class _Recorder(TorchDispatchMode):
    def __init__(self, inputs: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self.reason = ""
        self._graph = fx.Graph()
        # Tensors are told by their address, as long as they live.
        self._tensors: dict[int, weakref.ref[torch.Tensor]] = {}
        self._nodes: dict[int, fx.Node] = {}
        self._inputs = list(inputs)
        self._placeholders = []
        self._changed: dict[int, int] = {}
        for i, tensor in enumerate(inputs):
            node = self._graph.placeholder(f"arg{i}")
            self._placeholders.append(node)
            self._know(tensor, node)

    def _know(self, tensor: torch.Tensor, node: fx.Node) -> None:
        key = id(tensor)
        self._tensors[key] = weakref.ref(tensor, lambda _: self._forget(key))
        self._nodes[key] = node
        node.meta["val"] = _stand_in(tensor)

    def _forget(self, key: int) -> None:
        self._tensors.pop(key, None)
        self._nodes.pop(key, None)

    def _node_of(self, tensor: torch.Tensor) -> fx.Node:
        node = self._nodes.get(id(tensor))
        if node is None:
            raise _CannotRepeatError("it uses a tensor that is neither an input nor a parameter or buffer")
        return node

    def dispatch(self, function: Any, args: tuple, kwargs: dict) -> Any:
        """Run an op, and write it down as long as that is possible."""
        result = function(*args, **kwargs)
        if not self.reason and function.namespace not in _NAMESPACES_OF_QUERIES:
            try:
                self._write(function, args, kwargs, result)
            except _CannotRepeatError as error:
                self.reason = str(error)
        return result

    def _write(self, op: Any, args: tuple, kwargs: dict, result: Any) -> None:
        if torch.Tag.nondeterministic_seeded in op.tags:
            raise _CannotRepeatError(f"{op} is random")
        if op in _READS_VALUES:
            raise _CannotRepeatError(f"{op} brings a tensor's value into Python")
        target, changed = (_functional(op, args), args[0]) if op._schema.is_mutable else (op, None)
        if changed is not None:
            self._check_alone(changed)
        node_args, node_kwargs = pytree.tree_map_only(torch.Tensor, self._node_of, (args, kwargs))
        node = self._graph.call_function(target, node_args, node_kwargs)
        if changed is not None:
            self._know(changed, node)
            for i, tensor in enumerate(self._inputs):
                if tensor is changed:
                    self._changed[i] = id(changed)
        elif isinstance(result, torch.Tensor):
            self._know(result, node)
        elif isinstance(result, tuple | list):
            node.meta["val"] = [_stand_in(t) if isinstance(t, torch.Tensor) else t for t in result]
            for i, tensor in enumerate(result):
                if isinstance(tensor, torch.Tensor):
                    self._know(tensor, self._graph.call_function(operator.getitem, (node, i)))
        else:
            raise _CannotRepeatError(f"{op} gives Python something other than tensors")

    def _check_alone(self, changed: torch.Tensor) -> None:
        """Refuse a change in place that other tensors would see."""
        storage = changed.untyped_storage()._cdata
        for reference in list(self._tensors.values()):
            tensor = reference()
            if tensor is not None and tensor is not changed and tensor.untyped_storage()._cdata == storage:
                raise _CannotRepeatError("it changes a tensor in place that has views")

    def finish(self, recording: Recording) -> None:
        """Complete the graph with changes of inputs and the result."""
        leaves, recording.structure = pytree.tree_flatten(recording.result)
        outputs = []
        for leaf in leaves:
            is_tensor = isinstance(leaf, torch.Tensor)
            recording.leaves.append((is_tensor, len(outputs) if is_tensor else leaf))
            if is_tensor:
                outputs.append(self._node_of(leaf))
        for i, tensor in self._changed.items():
            node = self._graph.call_function(aten.copy_.default, (self._placeholders[i], self._nodes[tensor]))
            node.meta["val"] = self._placeholders[i].meta["val"]
        self._graph.output(tuple(outputs))
        self._graph.eliminate_dead_code(lambda node: _changes_something(node))
        recording.graph = fx.GraphModule({}, self._graph)


# Assigned and not defined in the class: TorchDispatchMode wraps what the class defines
# so that Dynamo skips it, which imports Dynamo.
def _dispatch(self: _Recorder, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
    return self.dispatch(function, args, kwargs or {})


_Recorder.__torch_dispatch__ = _dispatch


def _changes_something(node: fx.Node) -> bool:
    """Tell whether a node must stay, even if nothing uses it."""
    if node.op in ("placeholder", "output"):
        return True
    # Batch norm's older forms change the running statistics without saying so.
    name = getattr(node.target, "_schema", None) and node.target._schema.name
    return node.target is aten.copy_.default or (name is not None and name.endswith("batch_norm"))


def _functional(op: Any, args: tuple) -> Any:
    """Return the op that gives what `op` writes to its first argument."""
    name = op._schema.name.removeprefix("aten::")
    writes = [a.alias_info is not None and a.alias_info.is_write for a in op._schema.arguments]
    packet = getattr(aten, name.removesuffix("_"), None) if name.endswith("_") and name[-2] != "_" else None
    plain = getattr(packet, op._overloadname, None)
    if plain is None or writes != [True] + [False] * (len(writes) - 1):
        raise _CannotRepeatError(f"{op} changes a tensor in a way that is not known")
    if len({a.dtype for a in args if isinstance(a, torch.Tensor)}) > 1:
        raise _CannotRepeatError(f"{op} converts between types in place")
    return plain


def _stand_in(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor of the same shape, dtype and device that takes no memory."""
    return tensor.new_empty(1).expand(tensor.shape) if tensor.dim() else tensor.new_empty(())
