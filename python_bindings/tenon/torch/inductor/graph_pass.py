# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pass of Inductor's that puts Tenon's calls into each graph: inference, forward and backward."""

from __future__ import annotations

import collections
import copy
import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import fx
from torch._inductor.custom_graph_pass import CustomGraphPass

import tenon
from tenon.torch.backend import device_of
from tenon.torch.calls.op import register
from tenon.torch.choice.judge import Judge
from tenon.torch.explanation.verbose import print_notes, print_report
from tenon.torch.failures import failed, strictness
from tenon.torch.fusion.columns import cut_products, products_to_cut, ranges_of
from tenon.torch.fusion.joined_inputs import joined_inputs, split_joined
from tenon.torch.fusion.packed_gradients import Gradient, find_gradient, forward_of, products_of, split_gradient
from tenon.torch.fusion.padding import find_unpadded, pad_products
from tenon.torch.fusion.partition import Partition, partition
from tenon.torch.fusion.scales import scale_weights
from tenon.torch.fusion.unread import find_unread, leave_unread
from tenon.torch.fusion.words import is_of_training
from tenon.torch.inductor.calls import insert_op
from tenon.torch.inductor.decompositions import decompose, spell_out, spell_out_vectors
from tenon.torch.options import Options


class _Cut(NamedTuple):
    """A copy of a module to try, and the products in it by the name of what they stand for."""

    trial: fx.GraphModule
    parts: dict[str, list[fx.Node]]


class FusePass(CustomGraphPass):
    """Cuts a functional graph of ATen ops, and decomposes what stays for Inductor."""

    def __init__(self, options: Options, parameters: frozenset[int], num_inputs: int) -> None:
        """Take how to compile, and which of the model's inputs are parameters."""
        self.options = options
        self._parameters, self._num_inputs = parameters, num_inputs
        self._precision = options.linear_precision()
        self._judge = Judge(options)

    def __call__(self, graph: fx.Graph) -> None:
        """Rewrite a graph in place."""
        with strictness(self.options.strict):
            before = copy.deepcopy(graph)
            try:
                self._fuse(graph.owning_module)
            except Exception as error:
                failed("a graph", error)
                restore(graph, before)
            decompose(graph)
            graph.owning_module.recompile()

    def uuid(self) -> Any:
        """Return what tells this pass from others, for the keys of Inductor's caches."""
        parameters = sorted(self._parameters)
        return (tenon.compiler.fingerprint(), _sources(), repr(self.options), self._precision, parameters)

    def _fuse(self, module: fx.GraphModule) -> None:
        spell_out(module.graph)
        notes = []
        if self._judges(module):
            scale_weights(module.graph)
            notes = [*spell_out_vectors(module.graph), *pad_products(module.graph)]
            found = products_to_cut(module.graph)
            cut_products(module.graph, self._worth_cutting(module, found, functools.partial(_try, cut_products)))
            notes += self._split(module.graph, functools.partial(_try, split_joined))
        calls = []
        for part in self._partition(module):
            call, arguments = self._judge.call_of(part)
            insert_op(module.graph, part, register(call, arguments))
            calls.append(call)
        print_notes(notes, self.options)
        print_report(calls, self.options)

    def may_rewrite_together(self, graph: fx.Graph) -> bool:
        """Tell whether `rewrite_together` finds what it is for."""
        if not self._judges(graph.owning_module):
            return False
        if find_unread(graph):
            return True
        if not is_of_training(graph):
            return False
        return bool(joined_inputs(graph) or find_unpadded(graph, of_joined=True) or self._gradients_to_cut(graph))

    def rewrite_together(self, graph: fx.Graph) -> None:
        """Rewrite products before forward and backward are parted, and before Inductor pads them."""
        notes = leave_unread(graph)
        if is_of_training(graph):
            notes += self._split(graph, _try_split_forward)
            notes += pad_products(graph, of_joined=True)  # of which backward reads what forward pads
            self._cut_for_training(graph)
        print_notes(notes, self.options)

    def _split(self, graph: fx.Graph, cut: Callable[[fx.GraphModule, set[str]], _Cut]) -> list[str]:
        """Leave inputs of layers in parts where forward has a kernel for them; return which, as sentences."""
        names = split_joined(graph, self._worth_cutting(graph.owning_module, joined_inputs(graph), cut))
        return [f"{name} is not put together: the products of its parts are added up" for name in names]

    def _cut_for_training(self, graph: fx.Graph) -> None:
        """Cut products of a training step into ranges of columns, and their gradients, where that gains time.

        Forward gains what a pair's kernel saves. In backward products are more, and smaller, which costs what they say.
        """
        if not (gradients := self._gradients_to_cut(graph)):
            return
        gains = self._worth_cutting(graph.owning_module, set(gradients), _try_cut_forward)
        ranges = {node.name: ranges_of(node) for node in graph.nodes if node.name in gains}
        device = self._device(graph)
        losses = {name: self._judge.loss_of(*products_of(gradients[name], ranges[name]), device) for name in gains}
        names = {name for name, gain in gains.items() if gain > losses[name]}
        cut_products(graph, names)
        for name in names:
            split_gradient(gradients[name], ranges[name])

    def _gradients_to_cut(self, graph: fx.Graph) -> dict[str, Gradient]:
        """Return the gradients of products that may be cut in a graph of forward and backward, by products' names."""
        names = products_to_cut(graph)
        found = {node.name: find_gradient(node) for node in graph.nodes if node.name in names}
        # Of a weight that several products have, a gradient might be another's.
        count = collections.Counter(gradient.together for gradient in found.values() if gradient)
        return {name: gradient for name, gradient in found.items() if gradient and count[gradient.together] == 1}

    def _judges(self, module: fx.GraphModule) -> bool:
        return self._judge.measures(self._device(module.graph))

    def _device(self, graph: fx.Graph) -> torch.device:
        return device_of([node.meta.get("val") for node in graph.nodes])

    def _partition(self, module: fx.GraphModule) -> list[Partition]:
        names = self._names(module.graph)
        given = self.options.of_partition()
        return partition(module, names, self._precision, self._judge, self._judges(module), **given)

    def _worth_cutting(
        self, module: fx.GraphModule, names: set[str], cut: Callable[[fx.GraphModule, set[str]], _Cut]
    ) -> dict[str, float]:
        """Return which products become calls of Tenon's in all parts, and how many milliseconds these gain.

        To PyTorch a part is worth no kernel. `cut` puts parts in the place of products in a copy of a module.
        """
        while names:
            trial, parts = cut(module, names)
            calls = self._partition(trial)
            left = set(trial.graph.nodes)
            whole = {name for name in names if not left.isdisjoint(parts[name])}
            if not whole:
                made_of = {name: {part.name for part in parts[name]} for name in names}
                behind = {name: [c for c in calls if not made_of[name].isdisjoint(c.origins)] for name in names}
                return {name: sum(map(self._judge.gain_of, behind[name])) for name in names}
            names = names - whole
        return {}

    def _names(self, graph: fx.Graph) -> set[str]:
        """Return the names of the graph's inputs that are parameters, and change rarely.

        In a training step they change each time. Where AOTAutograd leaves out inputs that are given twice, or adds
        some, none is known to be one.
        """
        placeholders = [node.name for node in graph.find_nodes(op="placeholder")]
        if is_of_training(graph) or len(placeholders) != self._num_inputs:
            return set()
        return {placeholders[i] for i in self._parameters}


def _try(
    cut: Callable[[fx.Graph, set[str]], dict[str, list[fx.Node]]], module: fx.GraphModule, names: set[str]
) -> _Cut:
    """Cut a copy of a graph."""
    trial = fx.GraphModule(module, copy.deepcopy(module.graph))
    return _Cut(trial, cut(trial.graph, names))


def _try_cut_forward(module: fx.GraphModule, names: set[str]) -> _Cut:
    """Cut the forward part of a copy of a graph."""
    trial = forward_of(module, copy.deepcopy(module.graph))
    return _Cut(trial, cut_products(trial.graph, names))


def _try_split_forward(module: fx.GraphModule, names: set[str]) -> _Cut:
    """Leave inputs in parts in a copy of a graph, and return its forward part."""
    graph = copy.deepcopy(module.graph)
    parts = split_joined(graph, names)
    return _Cut(forward_of(module, graph), parts)


def restore(graph: fx.Graph, before: fx.Graph) -> None:
    """Give a graph the nodes of a copy that was made of it."""
    for node in reversed(graph.nodes):
        graph.erase_node(node)
    results, output = graph.graph_copy(before, {}, return_output_node=True)
    graph.output(results).meta = dict(output.meta)


@functools.cache
def _sources() -> str:
    """Return the hash of the Python code that a graph's calls depend on."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
