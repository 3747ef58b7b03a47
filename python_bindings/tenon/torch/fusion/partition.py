# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cuts a graph of ATen ops into calls of compiled code and what stays with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily

from tenon.importer.builder import InexpressibleError
from tenon.importer.specs import FunctionSpec, InputDim, InputRows, InputSpec, OutputSpec
from tenon.torch.choice.candidate import Candidate, describe
from tenon.torch.failures import failed
from tenon.torch.fusion.ahead import forget_norms, move_norms
from tenon.torch.fusion.group_function import GroupFunction, Importer, import_group
from tenon.torch.fusion.grouping import Group, Grouping, is_worthwhile
from tenon.torch.fusion.layouts import restore_layouts, spell_layouts
from tenon.torch.fusion.missed import find_missed, sources_of
from tenon.torch.fusion.places import restore_places, spell_places
from tenon.torch.fusion.rewrite import replace_group, sort_graph, sweep
from tenon.torch.fusion.rows import add_indices, forget_indices
from tenon.torch.fusion.specs import Missed, Partition
from tenon.torch.fusion.views import cast_source
from tenon.torch.fusion.words import find_words, is_map

__all__ = ["InputDim", "InputRows", "InputSpec", "Missed", "OutputSpec", "Partition", "missed_of", "partition"]

_MISSED = "tenon_missed"
# Tells for each function why it is better left to PyTorch, or None.
Judge = Callable[[Sequence[Candidate]], Sequence[str | None]]


def partition(
    gm: fx.GraphModule,
    parameters: set[str],
    precision: str | None = None,
    judge: Judge | None = None,
    for_inductor: bool = False,
    siblings: bool = False,
    norms_ahead: bool = False,
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
        norms_ahead: whether linear layers take what norms ahead of them take.

    Returns:
        the partitions in the order of their calls. What was not taken of linear layers
        and what follows them is in their `missed`, and all of it in `missed_of(gm)`.

    """
    spell_layouts(gm.graph, parameters)
    spell_places(gm.graph)
    add_indices(gm.graph)
    # AOTAutograd has a fake mode on, in which a constant has no value.
    with unset_fake_temporarily():
        words, reasons = find_words(gm.graph, parameters)
        moves = norms_ahead and parameters and precision != "fp8"
        stays = move_norms(gm.graph, parameters, words) if moves else {}
        grouping = Grouping(gm.graph, words, reasons, one_linear=for_inductor)
        if for_inductor:
            grouping.trim()
            grouping.join_pairs()
        if for_inductor or siblings:
            grouping.join_siblings()
        sources: dict[str, str] = {}
        functions = _import_groups(grouping, parameters, precision, judge, sources, for_inductor)
        missed = find_missed(gm.graph, grouping, stays)
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
    return sorted(partitions, key=lambda part: order[part.node])


def missed_of(gm: fx.GraphModule) -> list[Missed]:
    """Return what `partition` left to PyTorch of linear layers and what follows them."""
    return gm.meta.get(_MISSED, [])


def _import_groups(
    grouping: Grouping,
    parameters: set[str],
    precision: str | None,
    judge: Judge | None,
    sources: dict[str, str],
    for_inductor: bool,
) -> list[tuple[Group, GroupFunction]]:
    """Lower every group that is worth it, and dissolve the others; first try them without what they reduce."""
    while True:
        live = grouping.live_nodes()
        unfit = {g: None for g in grouping.groups() if not is_worthwhile(g, grouping.words, live, judge is not None)}
        if not unfit:
            functions = _lower_groups(grouping, live, parameters, precision, not for_inductor)
            unfit = {group: result for group, result in functions.items() if isinstance(result, str)}
            if not unfit and judge:
                verdicts = zip(functions, judge(_candidates(grouping, functions, sources, live)), strict=True)
                unfit = {group: reason for group, reason in verdicts if reason is not None}
            if not unfit:
                return list(functions.items())
        for group, reason in unfit.items():
            # What was dead may be needed now; and what a reduction loses, the layer before it may win.
            if reason is None or not grouping.shorten(group, reason):
                grouping.dissolve(group, reason)
        if for_inductor:
            grouping.trim()


def _candidates(
    grouping: Grouping, functions: dict[Group, GroupFunction], sources: dict[str, str], live: set[fx.Node]
) -> list[Candidate]:
    readers, in_calls = grouping.takers(live), set(grouping.group_of)
    candidates = []
    for group, function in functions.items():
        name = _name_function(function, sources)
        spec = FunctionSpec(name, sources[name], function.inputs, function.outputs)
        results = [result.node for result in function.results if result.in_place is None]
        members = [*function.inlined, *(node for node in group.members if node in live)]
        scales = any(grouping.words[node].scales for node in group.members)
        arguments = function.arguments
        candidates.append(describe(spec, arguments, members, results, readers, in_calls, group.joined_as, scales))
    return candidates


def _lower_groups(
    grouping: Grouping, live: set[fx.Node], parameters: set[str], precision: str | None, with_casts: bool
) -> dict[Group, GroupFunction | str]:
    """Return each group's function, or the reason why it has none.

    What only a group needs and is made of inputs element by element, such as an activation that a backward graph
    computes again, is in its function; with casts, those of other values are too.
    """
    takers = grouping.takers(live)
    prepared = {node for node, word in grouping.words.items() if word.is_prepared}
    outside = [node for node in grouping.words if node not in grouping.group_of and node in takers]
    casts = [node for node in outside if with_casts and cast_source(node) is not None]
    maps = [node for node in outside if is_map(node, grouping.words[node])]
    functions: dict[Group, GroupFunction | str] = {}
    for group in grouping.groups():
        members = set(group.members)
        own_casts = {node for node in casts if members.issuperset(takers[node])}
        own_maps = _maps_of(members, maps, takers, grouping)
        try:
            importer = Importer(prepared | own_casts | own_maps, parameters, precision)
            functions[group] = import_group(importer, group.members, live, takers)
        except InexpressibleError as error:
            functions[group] = str(error)
        except Exception as error:
            functions[group] = failed(f"import of {', '.join(map(str, members))}", error)
    return functions


def _maps_of(
    members: set[fx.Node], maps: list[fx.Node], takers: dict[fx.Node, list[fx.Node]], grouping: Grouping
) -> set[fx.Node]:
    """Return those of some elementwise nodes that are made of inputs alone, and that only `members` need.

    A matrix that is multiplied has to be in memory, whoever computes it.
    """
    found: set[fx.Node] = set(maps)
    behind = {node for node in members if not grouping.words[node].is_linear}
    while True:
        kept = {
            node
            for node in found
            if all(taker in behind or taker in found for taker in takers[node])
            and all(o.op == "placeholder" or o in found for o in grouping.words[node].operands)
        }
        if kept == found:
            return found
        found = kept


def _name_function(function: GroupFunction, sources: dict[str, str]) -> str:
    """Return a name that says what the function does; functions with the same text have one name."""
    base = "_".join(function.kinds[:6])
    name, number = base, 1
    while sources.get(name, function.source(name)) != function.source(name):
        number += 1
        name = f"{base}_{number}"
    sources[name] = function.source(name)
    return name
