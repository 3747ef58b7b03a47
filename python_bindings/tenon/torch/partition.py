# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cuts a graph of ATen ops into calls of compiled code and what stays with PyTorch."""

from __future__ import annotations

from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily

from tenon.torch.builder import UnsupportedError
from tenon.torch.grouping import Group, Grouping, describe, is_worthwhile
from tenon.torch.importer import Function, Importer, import_group, source_line
from tenon.torch.rewrite import replace_group, sort_graph, sweep
from tenon.torch.specs import InputDim, InputRows, Missed, OutputSpec, Partition, TensorSpec
from tenon.torch.views import cast_source, op_name, strip
from tenon.torch.words import find_words, is_of_interest, is_product

__all__ = ["InputDim", "InputRows", "Missed", "OutputSpec", "Partition", "TensorSpec", "missed_of", "partition"]

_MISSED = "tenon_missed"


def partition(gm: fx.GraphModule, parameters: set[str], precision: str | None = None) -> list[Partition]:
    """Replace what Tenon can fuse by one call each, and leave the rest as it is.

    Args:
        gm: functional ATen ops whose nodes have fake tensors as `meta["val"]`; copies to
            placeholders may stand at the end. Rewritten in place.
        parameters: names of the placeholders whose values change rarely.
        precision: of float32 products: "fp32", "tf32", "bf16", "fp16", or None for what
            the dialect takes by default.

    Returns:
        the partitions in the order of their calls. What was not taken of linear layers
        and what follows them is in their `missed`, and all of it in `missed_of(gm)`.

    """
    # AOTAutograd has a fake mode on, in which a constant has no value.
    with unset_fake_temporarily():
        words, reasons = find_words(gm.graph, parameters)
        grouping = Grouping(gm.graph, words, reasons)
        functions = _import_groups(grouping, parameters, precision)
        missed = _find_missed(gm.graph, grouping)
        behind = {g: [m for n, m in missed.items() if _is_behind(n, set(g.members))] for g, _ in functions}
        names: set[str] = set()
        replaced: dict[fx.Node, fx.Node] = {}
        partitions = []
        for group, function in functions:
            name = _unique_name(function.kinds, names)
            node = replace_group(gm.graph, function, name, replaced)
            source, inputs, outputs = function.source(name), function.inputs, function.outputs
            partitions.append(Partition(node, name, source, inputs, outputs, behind[group], function.origins))
        sweep(gm.graph, set(grouping.group_of), [part.node for part in partitions])
        sort_graph(gm.graph)
        gm.recompile()
    gm.meta[_MISSED] = list(missed.values())
    return partitions


def missed_of(gm: fx.GraphModule) -> list[Missed]:
    """Return what `partition` left to PyTorch of linear layers and what follows them."""
    return gm.meta.get(_MISSED, [])


def _import_groups(grouping: Grouping, parameters: set[str], precision: str | None) -> list[tuple[Group, Function]]:
    """Lower every group that is worth it, and dissolve the others."""
    while True:
        live = grouping.live_nodes()
        takers = grouping.takers(live)
        functions = []
        for group in grouping.groups():
            reason = None if is_worthwhile(group, grouping.words, live) else describe(group, grouping.reasons)
            if reason is None:
                try:
                    importer = Importer(_inlined(group, grouping, takers), parameters, precision)
                    functions.append((group, import_group(importer, group.members, live, takers)))
                except UnsupportedError as error:
                    reason = str(error)
            if reason is not None:
                grouping.dissolve(group, reason)
                break  # what was dead may be needed now
        else:
            return functions


def _inlined(group: Group, grouping: Grouping, takers: dict[fx.Node, list[fx.Node]]) -> set[fx.Node]:
    """Return nodes outside that are lowered with a group: what its parameters need, and casts of its own inputs."""
    members = set(group.members)
    inlined = {node for node, word in grouping.words.items() if word.is_prepared}
    for node in grouping.words:
        if cast_source(node) is not None and node not in grouping.group_of:
            users = takers.get(node, [])
            if users and all(user in members for user in users):
                inlined.add(node)
    return inlined


def _find_missed(graph: fx.Graph, grouping: Grouping) -> dict[fx.Node, Missed]:
    live = grouping.live_nodes()
    behind: set[fx.Node] = set()
    missed = {}
    for node in graph.nodes:
        if is_product(node) or any(n in behind for n in node.all_input_nodes):
            behind.add(node)
        taken = node in grouping.group_of or (node in grouping.words and grouping.words[node].is_prepared)
        if node in behind and node in live and not taken and is_of_interest(node):
            line = source_line(node)
            reason = grouping.reasons.get(node, "no linear layer whose call it could join comes before it")
            where = f"{line[0]}:{line[1]}" if line else None
            missed[node] = Missed(node.name, op_name(node), _sentence(reason), where)
    return missed


def _sentence(reason: str) -> str:
    return f"{reason[0].upper()}{reason[1:]}."


def _is_behind(node: fx.Node, members: set[fx.Node]) -> bool:
    """Tell whether a node takes a member's value, through views."""
    return any(strip(n) in members or n in members for n in node.all_input_nodes)


def _unique_name(kinds: list[str], names: set[str]) -> str:
    base = "_".join(kinds[:6])
    name, number = base, 1
    while name in names:
        number += 1
        name = f"{base}_{number}"
    names.add(name)
    return name
