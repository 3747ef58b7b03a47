# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cuts a graph of ATen ops into calls of compiled code and what stays with PyTorch."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import NamedTuple

from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily

from tenon.importer.builder import InexpressibleError
from tenon.importer.specs import FunctionSpec, InputDim, InputRows, InputSpec, OutputSpec
from tenon.torch.choice.candidate import Candidate, describe, hinted, norm_ahead
from tenon.torch.failures import failed
from tenon.torch.fusion.ahead import Moves, forget_norms, move_norms
from tenon.torch.fusion.ahead_trials import norms_worth_moving
from tenon.torch.fusion.group_function import GroupFunction, Importer, import_group
from tenon.torch.fusion.grouping import Group, Grouping, is_worthwhile
from tenon.torch.fusion.how import How, Judge
from tenon.torch.fusion.layouts import restore_layouts, spell_layouts
from tenon.torch.fusion.missed import find_missed, sources_of
from tenon.torch.fusion.places import restore_places, spell_places
from tenon.torch.fusion.rewrite import replace_group, sort_graph, sweep
from tenon.torch.fusion.rows import add_indices, forget_indices
from tenon.torch.fusion.shapes import torch_shape
from tenon.torch.fusion.specs import Missed, Partition
from tenon.torch.fusion.views import cast_source
from tenon.torch.fusion.words import find_words, is_map

__all__ = ["InputDim", "InputRows", "InputSpec", "Missed", "OutputSpec", "Partition", "missed_of", "partition"]

_MISSED = "tenon_missed"


def partition(
    gm: fx.GraphModule,
    parameters: set[str],
    precision: str | None = None,
    judge: Judge | None = None,
    for_inductor: bool = False,
    siblings: bool = False,
    norms_ahead: str = "never",
) -> list[Partition]:
    """Replace what Tenon can fuse by one call each, and leave the rest as it is.

    Args:
        gm: functional ATen ops whose nodes have fake tensors as `meta["val"]`; copies to
            placeholders may stand at the end. Rewritten in place.
        parameters: names of the placeholders whose values change rarely.
        precision: of float32 products: "fp32", "tf32", "bf16", "fp16", or None for what
            the dialect takes by default.
        judge: what has a say in which functions are worth a call, linear layers with nothing behind them among
            them; None to take all others.
        for_inductor: whether Inductor compiles the rest. Then a function has one linear layer at most, so that each
            is judged on its own, or those that one kernel or launch may have, and does not end in what Inductor's
            kernels do on the way.
        siblings: whether linear layers of one x that one launch may have are in one function, although nothing is
            judged.
        norms_ahead: whether linear layers take what norms ahead of them take: "always" where they can, "never", or
            "auto", where `judge` finds all layers behind a norm faster so, for Inductor.

    Returns:
        the partitions in the order of their calls. What was not taken of linear layers
        and what follows them is in their `missed`, and all of it in `missed_of(gm)`.

    """
    how = How(parameters, precision, judge, for_inductor, siblings, norms_ahead)
    names = None
    if how.moves_norms and norms_ahead == "auto":
        names = norms_worth_moving(gm, lambda trial, names: _cut(trial, how, names).moved)
    return _cut(gm, how, names).partitions


class _Result(NamedTuple):
    """The partitions of a graph, and the layers that took what norms took, by the nodes that had their results."""

    partitions: list[Partition]
    moved: dict[fx.Node, list[fx.Node]]


def _cut(gm: fx.GraphModule, how: How, names: Collection[str] | None) -> _Result:
    """Cut a graph, of which norms whose results have these names are taken by the layers behind them; None for all."""
    spell_layouts(gm.graph, how.parameters)
    spell_places(gm.graph)
    add_indices(gm.graph)
    # AOTAutograd has a fake mode on, in which a constant has no value.
    with unset_fake_temporarily():
        words, reasons = find_words(gm.graph, how.parameters)
        moves = (
            move_norms(gm.graph, how.parameters, words, how.norms_ahead == "always", names)
            if how.moves_norms
            else Moves({}, {})
        )
        grouping = Grouping(gm.graph, words, reasons, one_linear=how.for_inductor)
        if how.for_inductor:
            grouping.trim()
            grouping.join_pairs()
            grouping.join_sums()
        if how.for_inductor or how.siblings:
            grouping.join_siblings()
        sources: dict[str, str] = {}
        weighed = moves.layers if how.norms_ahead == "auto" else {}
        functions = _import_groups(how, grouping, weighed, sources)
        missed = find_missed(gm.graph, grouping, moves.stays)
        sources_of_missed = [(sources_of(node), m) for node, m in missed.items()]
        behind = {g: [m for taken, m in sources_of_missed if not taken.isdisjoint(g.members)] for g, _ in functions}
        replaced: dict[fx.Node, fx.Node] = {}
        partitions = []
        for group, function in functions:
            name = _name_function(function, sources)
            node = replace_group(gm.graph, group.members[0], function, name, replaced)
            inputs, outputs = function.inputs, function.outputs
            part = Partition(name, sources[name], inputs, outputs, node, behind[group], function.origins)
            partitions.append(part)
        sweep(gm.graph, set(grouping.group_of), [part.node for part in partitions])
        forget_indices(gm.graph)
        forget_norms(gm.graph)
        restore_places(gm.graph)
        restore_layouts(gm.graph)
        sort_graph(gm.graph)
        gm.recompile()
    gm.meta[_MISSED] = list(missed.values())
    order = {node: i for i, node in enumerate(gm.graph.nodes)}
    return _Result(sorted(partitions, key=lambda part: order[part.node]), moves.layers)


def missed_of(gm: fx.GraphModule) -> list[Missed]:
    """Return what `partition` left to PyTorch of linear layers and what follows them."""
    return gm.meta.get(_MISSED, [])


def _import_groups(
    how: How, grouping: Grouping, weighed: dict[fx.Node, list[fx.Node]], sources: dict[str, str]
) -> list[tuple[Group, GroupFunction]]:
    """Lower every group that is worth it, and dissolve the others; first try them without what they reduce.

    `weighed` has the layers that have to be faster so than with the norm ahead of them whose result is the key.
    """
    judge = how.judge
    while True:
        live = grouping.live_nodes()
        unfit = {g: None for g in grouping.groups() if not is_worthwhile(g, grouping.words, live, judge is not None)}
        if not unfit:
            functions = _lower_groups(how, grouping, live, grouping.groups())
            unfit = {group: result for group, result in functions.items() if isinstance(result, str)}
            if not unfit and judge:
                candidates = _candidates(how, grouping, functions, weighed, sources, live)
                verdicts = zip(functions, judge(candidates), strict=True)
                unfit = {group: reason for group, reason in verdicts if reason is not None}
            if not unfit:
                return list(functions.items())
        for group, reason in unfit.items():
            # What was dead may be needed now; and what a reduction loses, the layer before it may win.
            if reason is None or not grouping.shorten(group, reason):
                grouping.dissolve(group, reason)
        if how.for_inductor:
            grouping.trim()


def _candidates(
    how: How,
    grouping: Grouping,
    functions: dict[Group, GroupFunction],
    weighed: dict[fx.Node, list[fx.Node]],
    sources: dict[str, str],
    live: set[fx.Node],
) -> list[Candidate]:
    readers, in_calls = grouping.takers(live), set(grouping.group_of)

    def candidate(group: Group, function: GroupFunction, is_asked: bool) -> Candidate:
        name = _name_function(function, sources)
        spec = FunctionSpec(name, sources[name], function.inputs, function.outputs)
        results = [result.node for result in function.results if result.in_place is None]
        members = [*function.inlined, *(node for node in group.members if node in live)]
        return describe(spec, function.arguments, members, results, readers, in_calls, group.joined_as, is_asked)

    norm_of_layer = {layer: normed for normed, layers in weighed.items() for layer in layers}
    behind = {group: [n for n in group.members if n in norm_of_layer] for group in functions}
    unmoved = _lower_groups(how, grouping, live, [group for group in functions if behind[group]], moves=False)
    candidates = []
    for group, function in functions.items():
        scales = any(grouping.words[node].scales for node in group.members)
        own = candidate(group, function, scales and not behind[group])
        other = unmoved.get(group)
        if isinstance(other, GroupFunction):
            normed = norm_of_layer[behind[group][0]]
            share = _features(behind[group]) / _features(weighed[normed])
            own = dataclasses.replace(own, ahead=norm_ahead(candidate(group, other, False), normed, share))
        candidates.append(own)
    return candidates


def _features(layers: Sequence[fx.Node]) -> int:
    return sum(hinted(node.meta["val"].shape)[-1] for node in layers)


def _lower_groups(
    how: How, grouping: Grouping, live: set[fx.Node], groups: Sequence[Group], moves: bool = True
) -> dict[Group, GroupFunction | str]:
    """Return each group's function, or the reason why it has none.

    What only a group needs and is made of inputs element by element, such as an activation that a backward graph
    computes again, is in its function; what is not for Inductor has casts of other values too. With `moves`, layers
    take what norms ahead of them take, where they do.
    """
    takers = grouping.takers(live)
    prepared = {node for node, word in grouping.words.items() if word.is_prepared}
    outside = [node for node in grouping.words if node not in grouping.group_of and node in takers]
    casts = [] if how.for_inductor else [node for node in outside if cast_source(node) is not None]
    maps = [node for node in outside if is_map(node, grouping.words[node])]
    functions: dict[Group, GroupFunction | str] = {}
    for group in groups:
        members = set(group.members)
        own_casts = {node for node in casts if members.issuperset(takers[node])}
        own_maps = _maps_of(members, maps, takers, grouping)
        try:
            importer = Importer(prepared | own_casts | own_maps, how.parameters, how.precision, moves)
            functions[group] = import_group(importer, group.members, live, takers)
        except InexpressibleError as error:
            functions[group] = str(error)
        except Exception as error:
            functions[group] = failed(f"import of {', '.join(map(str, members))}", error)
    return functions


def _maps_of(
    members: set[fx.Node], maps: list[fx.Node], takers: dict[fx.Node, list[fx.Node]], grouping: Grouping
) -> set[fx.Node]:
    """Return those of some elementwise nodes that only `members` need.

    They are made of inputs alone, or of a column and a row, whose matrix would else be written and read. A matrix that
    is multiplied has to be in memory, whoever computes it.
    """
    found: set[fx.Node] = set(maps)
    behind = {node for node in members if not grouping.words[node].is_linear}
    while True:
        kept = {
            node
            for node in found
            if all(taker in behind or taker in found for taker in takers[node])
            and (_spreads(node) or all(o.op == "placeholder" or o in found for o in grouping.words[node].operands))
        }
        if kept == found:
            return found
        found = kept


def _spreads(node: fx.Node) -> bool:
    """Tell whether a node gives a matrix of a column and a row."""
    shapes = [torch_shape(n) or () for n in node.all_input_nodes]
    if [len(shape) for shape in shapes] != [2, 2]:
        return False
    return any(column[1] == 1 and row[0] == 1 for column, row in (shapes, reversed(shapes)))


def _name_function(function: GroupFunction, sources: dict[str, str]) -> str:
    """Return a name that says what the function does; functions with the same text have one name."""
    base = "_".join(function.kinds[:6])
    name, number = base, 1
    while sources.get(name, function.source(name)) != function.source(name):
        number += 1
        name = f"{base}_{number}"
    sources[name] = function.source(name)
    return name
