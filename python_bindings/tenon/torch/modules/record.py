# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes down the ATen ops of one real call, as a functional graph.

Unlike Dynamo and AOTAutograd, whose import alone takes seconds, this costs what the call
costs. It sees what the call did, not what it might have done: whoever uses the graph
again must know that Python would do the same again.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from tenon.torch.modules.guards import is_plain_tensor

aten = torch.ops.aten
# PyTorch has a kernel for each, and takes it apart where a mode is active, as a recorder is.
_WHOLE = {aten.rms_norm.default, aten.scaled_dot_product_attention.default}
_READS_VALUES = {aten._local_scalar_dense.default, aten.equal.default, aten.is_nonzero.default}
# Ops without a tensor in or out, by which PyTorch asks a tensor what it is.
_NAMESPACES_OF_QUERIES = ("prim",)


# Random ops that draw the same numbers when they are called again, and those that stay without a use.
_RANDOM = {aten.native_dropout.default}
_KEPT = {aten.copy_.default, *_RANDOM}


class CannotRepeatError(Exception):
    """A call that a graph of ATen ops would not do again; the message says why."""


class Recorder(TorchDispatchMode):
    """Writes down what happens to tensors inside of `with recorder`."""

    def __init__(self, inputs: Sequence[torch.Tensor]) -> None:
        """Take the tensors, all distinct, that the graph will be called with."""
        super().__init__()
        self._reason = ""
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

    @property
    def changed(self) -> set[int]:
        """Which inputs were written to."""
        return set(self._changed)

    def finish(self, results: Sequence[torch.Tensor]) -> fx.GraphModule:
        """Return the graph, from the inputs to `results`, with changes of inputs as `aten.copy_` at its end.

        Raises:
            CannotRepeatError: something happened that a graph does not express.

        """
        if self._reason:
            raise CannotRepeatError(self._reason)
        outputs = tuple(map(self._result_of, results))
        for i, tensor in self._changed.items():
            node = self._graph.call_function(aten.copy_.default, (self._placeholders[i], self._nodes[tensor]))
            node.meta["val"] = self._placeholders[i].meta["val"]
        self._graph.output(outputs)
        self._graph.eliminate_dead_code(lambda n: n.op in ("placeholder", "output") or n.target in _KEPT)
        return fx.GraphModule({}, self._graph)

    def _know(self, tensor: torch.Tensor, node: fx.Node) -> None:
        if not is_plain_tensor(tensor):
            raise CannotRepeatError(f"{node.target} gives a tensor that is sparse, nested or without memory")
        key = id(tensor)
        self._tensors[key] = weakref.ref(tensor, lambda _: self._forget(key))
        self._nodes[key] = node
        node.meta["val"] = _StandIn(tensor)

    def _forget(self, key: int) -> None:
        self._tensors.pop(key, None)
        self._nodes.pop(key, None)

    def _node_of(self, tensor: torch.Tensor) -> fx.Node:
        node = self._nodes.get(id(tensor))
        if node is None:
            raise CannotRepeatError("it uses a tensor that is neither an input nor a parameter or buffer")
        return node

    def _result_of(self, tensor: torch.Tensor) -> fx.Node:
        for i in self._changed:
            own = self._inputs[i]
            if tensor is own:
                return self._placeholders[i]  # which has its new values by then
            if tensor.untyped_storage()._cdata == own.untyped_storage()._cdata:
                raise CannotRepeatError("a result is a view of a tensor that it changes in place")
        return self._node_of(tensor)

    def dispatch(self, function: Any, args: tuple, kwargs: dict) -> Any:
        """Run an op, and write it down as long as that is possible."""
        composite = torch._C._dispatch_has_kernel_for_dispatch_key(function.name(), "CompositeImplicitAutograd")
        if composite and not _stays_whole(function, args, kwargs):
            with self:
                return function._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, *args, **kwargs)
        result = function(*args, **kwargs)
        if not self._reason and function.namespace not in _NAMESPACES_OF_QUERIES:
            try:
                self._write(function, args, kwargs, result)
            except CannotRepeatError as error:
                self._reason = str(error)
        return result

    def _write(self, op: Any, args: tuple, kwargs: dict, result: Any) -> None:
        if torch.Tag.nondeterministic_seeded in op.tags and op not in _RANDOM and op not in _WHOLE:
            raise CannotRepeatError(f"{op} is random")
        if op in _READS_VALUES:
            raise CannotRepeatError(f"{op} brings a tensor's value into Python")
        if torch.Tag.dynamic_output_shape in op.tags and not _indexes_by_position(op, args):
            raise CannotRepeatError(f"{op} gives a shape that depends on values")
        if _updates_statistics(op, args):
            # The older forms change the running statistics without saying so.
            result, changed = (*result[:3], *args[3:5]), args[3:5]
            op, args = aten._native_batch_norm_legit_functional.default, (*args[:5], True, *args[-2:])
        elif op._schema.is_mutable:
            op, result, changed = _functional(op, args), args[0], args[:1]
        else:
            changed = ()
        for tensor in changed:
            self._check_alone(tensor)
        node_args, node_kwargs = pytree.tree_map_only(torch.Tensor, self._node_of, (args, kwargs))
        self._know_result(self._graph.call_function(op, node_args, node_kwargs), result)
        for tensor in changed:
            self._changed |= {i: id(tensor) for i, own in enumerate(self._inputs) if own is tensor}

    def _know_result(self, node: fx.Node, result: Any) -> None:
        if isinstance(result, torch.Tensor):
            self._know(result, node)
        elif isinstance(result, tuple | list):
            node.meta["val"] = [_StandIn(t) if isinstance(t, torch.Tensor) else t for t in result]
            for i, tensor in enumerate(result):
                if isinstance(tensor, torch.Tensor):
                    self._know(tensor, self._graph.call_function(operator.getitem, (node, i)))
        else:
            raise CannotRepeatError(f"{node.target} gives Python something other than tensors")

    def _check_alone(self, changed: torch.Tensor) -> None:
        """Refuse a change in place that other tensors would see."""
        storage = changed.untyped_storage()._cdata
        for reference in list(self._tensors.values()):
            tensor = reference()
            if tensor is not None and tensor is not changed and tensor.untyped_storage()._cdata == storage:
                raise CannotRepeatError("it changes a tensor in place that has views")


# Assigned and not defined in the class: TorchDispatchMode wraps what the class defines
# so that Dynamo skips it, which imports Dynamo.
def _dispatch(self: Recorder, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
    return self.dispatch(function, args, kwargs or {})


Recorder.__torch_dispatch__ = _dispatch


def _stays_whole(op: Any, args: tuple, kwargs: dict) -> bool:
    """Tell whether a composite op is written down as it is."""
    dropout = kwargs.get("dropout_p", args[4] if len(args) > 4 else 0.0)
    return op in _WHOLE and not (op is aten.scaled_dot_product_attention.default and dropout)


def _updates_statistics(op: Any, args: tuple) -> bool:
    """Tell whether this is a training batch norm with running statistics, in any of PyTorch's forms."""
    name = op._schema.name.removeprefix("aten::")
    if name == "_batch_norm_with_update":
        return True
    forms = ("native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm", "_native_batch_norm_legit")
    return name in forms and op._overloadname == "default" and args[3] is not None and bool(args[5])


def _functional(op: Any, args: tuple) -> Any:
    """Return the op that gives what `op` writes to its first argument."""
    name = op._schema.name.removeprefix("aten::")
    writes = [a.alias_info is not None and a.alias_info.is_write for a in op._schema.arguments]
    packet = getattr(aten, name.removesuffix("_"), None) if name.endswith("_") and name[-2] != "_" else None
    plain = getattr(packet, op._overloadname, None)
    if plain is None or writes != [True] + [False] * (len(writes) - 1):
        raise CannotRepeatError(f"{op} changes a tensor in a way that is not known")
    if len({a.dtype for a in args if isinstance(a, torch.Tensor)}) > 1:
        raise CannotRepeatError(f"{op} converts between types in place")
    return plain


def _indexes_by_position(op: Any, args: tuple) -> bool:
    """Tell whether an op is an indexing without masks, whose result's shape is known."""
    masks = (torch.bool, torch.uint8)
    return op is aten.index.Tensor and all(index is None or index.dtype not in masks for index in args[1])


class _StandIn(torch.Tensor):
    """A tensor without memory that tells another's shape, strides, dtype and device."""

    @staticmethod
    def __new__(cls: type[_StandIn], tensor: torch.Tensor) -> _StandIn:
        make = torch.Tensor._make_wrapper_subclass
        return make(cls, tensor.shape, strides=tensor.stride(), dtype=tensor.dtype, device=tensor.device)

    __torch_dispatch__ = None  # nothing is computed with it

    def t(self) -> _StandIn:
        """Return what stands in for the transpose of a matrix."""
        make = torch.Tensor._make_wrapper_subclass
        shape, strides = self.shape[::-1], self.stride()[::-1]
        return make(type(self), shape, strides=strides, dtype=self.dtype, device=self.device)
