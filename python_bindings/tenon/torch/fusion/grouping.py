# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which nodes go together: linear layers with what follows them, as one call each."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

import torch
from torch import fx

from tenon.importer.shapes import Extent, rows_of
from tenon.torch.fusion.norms import is_norm
from tenon.torch.fusion.readers import Readers, find_readers
from tenon.torch.fusion.rows import reduces_rows, sums_columns
from tenon.torch.fusion.shapes import extent
from tenon.torch.fusion.views import op_name
from tenon.torch.fusion.words import Word, norm_of, reduced_or_result

_MAX_SUMS = 2  # over the batch, in one call; as batch norm's backward pass has
# Of more rows launches are a small part of the time of layers, and trials take time too.
_FEW_ROWS = 256
_MAX_SIBLINGS = 8  # as schedules have
MAX_TERMS = 4  # products that one kernel adds up, as schedules have
_ADDED_UP = (torch.float16, torch.bfloat16)  # float32 may be split, on scales of each matrix


@dataclasses.dataclass(eq=False)
class Group:
    """Nodes that become one call: they share their rows and their device."""

    members: list[fx.Node]
    rows: Extent
    device: torch.device
    parts: tuple[Group, ...] = ()  # of which it was joined by one of `Grouping`'s methods
    joined_as: str = ""  # "pairs", "sums" or "siblings"


class Grouping:
    """The groups of a graph.

    A group takes a node if one of the node's operands is in it, so that each member is
    behind a linear layer, or behind the normalisation by the statistics of several
    processes, which cannot join the layer before it. No path leaves a group and comes back: neither through nodes
    that are in none, nor through other groups.
    """

    def __init__(
        self, graph: fx.Graph, words: dict[fx.Node, Word], reasons: dict[fx.Node, str], one_linear: bool = False
    ) -> None:
        """Group the nodes of `words`; what is left out enters `reasons`.

        With `one_linear` no group has two linear layers.
        """
        self.words, self.reasons = words, reasons
        self._one_linear = one_linear
        self.group_of: dict[fx.Node, Group] = {}
        self._nodes = list(graph.nodes)
        self._order = {node: i for i, node in enumerate(self._nodes)}
        for node in self._nodes:
            if node in words and not words[node].is_prepared:
                self._place(node)

    def groups(self) -> list[Group]:
        """Return the groups, each once, in the order of their first nodes."""
        return list(dict.fromkeys(self.group_of.values()))

    def dissolve(self, group: Group, reason: str | None = None) -> None:
        """Leave a group's nodes to PyTorch, or if it was joined of two groups, to these."""
        for part in group.parts:
            self.group_of.update(dict.fromkeys(part.members, part))
        if group.parts:
            return
        for node in group.members:
            del self.group_of[node]
            if reason:
                self.reasons[node] = reason

    def shorten(self, group: Group, reason: str) -> bool:
        """Leave a group's reductions, and what follows them in it, to PyTorch; tell whether it has any.

        Of several sums over the batch the last alone is left at a time.
        """
        reductions = [node for node in group.members if reduces_rows(node)]
        dropped = set(reductions[-1:] if all(map(sums_columns, reductions)) else reductions)
        left: dict[fx.Node, None] = {}
        for node in group.members:
            if node in dropped or any(o in left for o in self.words[node].operands):
                left[node] = None
        group.members = [node for node in group.members if node not in left]
        for node in left:
            del self.group_of[node]
            self.reasons[node] = reason
        return bool(left)

    def trim(self) -> None:
        """Leave to Inductor the elementwise ops at the ends of groups that its kernels alone read.

        Such a kernel computes them on the way, from what the group gives without them.
        """
        takers = self.takers(self.live_nodes())
        for node in reversed(self._nodes):
            group = self.group_of.get(node)
            word = self.words.get(node)
            if group is None or word.is_start or is_norm(node) or norm_of(node) is not None or reduces_rows(node):
                continue
            readers = find_readers(node, takers, self.group_of)
            if readers == Readers(opaque=False, epilogue=False, kernel=True):
                for each in (group, *group.parts):
                    if node in each.members:
                        each.members.remove(node)
                del self.group_of[node]
                self.reasons[node] = "what reads it computes it on the way"

    def join_pairs(self) -> None:
        """Join two groups of one linear layer each that one kernel may have.

        The layers read one x, and what one group gives the other reads behind its product. Something else may read it
        too, as the backward pass of a training step does, but no third layer of that x.
        """
        takers = self.takers(self.live_nodes())
        for gate in self.groups():
            if self.group_of[gate.members[0]] is not gate:
                continue  # it has been joined
            found = {self.group_of.get(taker) for node in gate.members for taker in takers.get(node, ())}
            readers = [group for group in found if group not in (gate, None) and self._read_one_x(gate, group)]
            if len(readers) != 1 or gate.parts or readers[0].parts or not self._is_pair(gate, readers[0]):
                continue
            (other,) = readers
            members = sorted([*gate.members, *other.members], key=self._order.__getitem__)
            joined = Group(members, gate.rows, gate.device, parts=(gate, other), joined_as="pairs")
            self.group_of.update(dict.fromkeys(members, joined))

    def join_sums(self) -> None:
        """Join groups of one linear layer each whose products one kernel may add up.

        Nothing but an addition in the second group reads what the first one gives.
        """
        takers = self.takers(self.live_nodes())
        for group in self.groups():
            added: Group | None = group if self.group_of[group.members[0]] is group else None
            while added is not None:
                added = self._join_sum(added, takers)

    def _join_sum(self, added: Group, takers: dict[fx.Node, list[fx.Node]]) -> Group | None:
        """Join a group, or a sum, and the one that adds what it gives; return them as one, or None."""
        outside = [t for n in added.members for t in takers.get(n, ()) if t not in added.members]
        other = self.group_of.get(outside[0]) if len(outside) == 1 else None
        if other is None or op_name(outside[0]) != "aten.add" or self._reduces(added) or self._reduces(other):
            return None
        if any(group.parts and group.joined_as != "sums" for group in (added, other)):
            return None
        linears = [*self._linears(added), *self._linears(other)]
        if not linears:
            return None
        parts = (*(added.parts or (added,)), *(other.parts or (other,)))
        is_one_each = len(linears) == len(parts) <= MAX_TERMS and all(len(takers[node]) == 1 for node in linears)
        (_, dtype), *others = {(node.meta["val"].shape[-1], node.meta["val"].dtype) for node in linears}
        if not is_one_each or others or dtype not in _ADDED_UP or added.rows != other.rows:
            return None
        if self._closes_cycle(linears[-1], [added, other]):
            return None
        members = sorted([*added.members, *other.members], key=self._order.__getitem__)
        joined = Group(members, other.rows, other.device, parts=parts, joined_as="sums")
        self.group_of.update(dict.fromkeys(members, joined))
        return joined

    def join_siblings(self) -> None:
        """Join groups of one linear layer each that one launch may have: they read one x, and need not each other."""
        live = self.live_nodes()
        found: dict[tuple[fx.Node, torch.dtype], list[Group]] = {}
        for group in self.groups():
            linears = [node for node in self._linears(group) if node in live]
            is_one = len(linears) == 1 and not self.words[linears[0]].is_turned and _has_few_rows(linears[0])
            if is_one and not group.parts and not self._reduces(group):
                x = self.words[linears[0]].operands[0]
                found.setdefault((x, linears[0].meta["val"].dtype), []).append(group)
        for groups in found.values():
            siblings: list[Group] = []
            for group in groups[:_MAX_SIBLINGS]:
                if not siblings or self._may_join(siblings, group):
                    siblings.append(group)
            if len(siblings) > 1:
                members = sorted((m for group in siblings for m in group.members), key=self._order.__getitem__)
                first = siblings[0]
                joined = Group(members, first.rows, first.device, parts=tuple(siblings), joined_as="siblings")
                self.group_of.update(dict.fromkeys(members, joined))

    def _may_join(self, siblings: list[Group], group: Group) -> bool:
        """Tell whether no result of some groups is needed for another, nor the other way round."""
        inside = {member for sibling in siblings for member in sibling.members}
        needs = any(o in inside for member in group.members for o in self.words[member].operands)
        needed = any(o in group.members for member in inside for o in self.words[member].operands)
        return not needs and not needed and not self._closes_cycle(group.members[0], [*siblings, group])

    def _reduces(self, group: Group) -> bool:
        return any(is_norm(n) or norm_of(n) is not None or reduces_rows(n) for n in group.members)

    def _read_one_x(self, *groups: Group) -> bool:
        words = [self.words[node] for group in groups for node in self._linears(group)]
        return len({word.operands[0] for word in words}) == 1 and not any(word.is_turned for word in words)

    def _linears(self, group: Group) -> list[fx.Node]:
        return [node for node in group.members if self.words[node].is_linear]

    def _is_pair(self, gate: Group, other: Group) -> bool:
        """Tell whether two groups whose layers read one x, one of which gives the other something, are of one kind."""
        linears = [*self._linears(gate), *self._linears(other)]
        if len(linears) != 2:
            return False
        g, o = (node.meta["val"] for node in linears)
        is_same = g.shape == o.shape and g.dtype == o.dtype
        reduces = self._reduces(gate) or self._reduces(other)
        return is_same and not reduces and not self._closes_cycle(linears[1], [gate, other])

    def inputs_of(self, node: fx.Node) -> Iterable[fx.Node]:
        """Return the nodes that a node needs: as a member of a group, or as PyTorch runs it."""
        return self.words[node].operands if node in self.group_of else node.all_input_nodes

    def live_nodes(self) -> set[fx.Node]:
        """Return the nodes that something needs, through groups and outside them."""
        live: set[fx.Node] = set()
        for node in reversed(self._nodes):
            if node.op == "output" or node.is_impure() or node in live:
                live.add(node)
                live.update(self.inputs_of(node))
        return live

    def takers(self, live: set[fx.Node]) -> dict[fx.Node, list[fx.Node]]:
        """Return for each node the live nodes that take its value; members of groups take it through views."""
        takers: dict[fx.Node, list[fx.Node]] = {}
        for node in self._nodes:
            if node in live:
                for source in self.inputs_of(node):
                    takers.setdefault(source, []).append(node)
        return takers

    def _place(self, node: fx.Node) -> None:
        word = self.words[node]
        sources = [self.group_of[o] for o in word.operands if o in self.group_of and o not in word.weights]
        sources = list(dict.fromkeys(sources))
        if norm_of(node) is not None:
            for group in sources:  # one, that of the batch norm
                self._join(node, [group])
            return
        tensor = reduced_or_result(node)
        rows, device = rows_of([extent(d) for d in tensor.shape]), tensor.device
        fitting = [g for g in sources if g.rows == rows and g.device == device]
        if self._one_linear and sums_columns(node):
            if any(o in self.words and self.words[o].is_linear for o in word.operands):
                self.reasons[node] = "there is nothing else behind its product, which it would not make worth a call"
                return
            fitting = [g for g in fitting if _has_room_for_sum(g)]
            if not fitting:
                self.reasons[node] = f"a kernel reduces along one dimension, and has {_MAX_SUMS} sums at most"
                return
        joint = [fitting] if len(fitting) > 1 and not self._one_linear else []
        if self._one_linear and word.is_linear:
            fitting = []
        single = fitting[::-1]
        if self._one_linear:
            single.sort(key=lambda g: len(g.members) > 1)  # a layer with nothing behind it gains most from an op
        # Joining all of them may close a cycle that joining one does not.
        for choice in joint + [[g] for g in single]:
            if not self._closes_cycle(node, choice):
                self._join(node, choice)
                return
        if word.is_start:
            self.group_of[node] = Group([node], rows, device)
        elif fitting:
            self.reasons[node] = "taking it would make a call wait for its own result, through ops of PyTorch's"
        elif sources:
            self.reasons[node] = "it has another number of rows than the linear layer before it"

    def _join(self, node: fx.Node, groups: list[Group]) -> None:
        first = groups[0]
        for other in groups[1:]:
            first.members.extend(other.members)
        first.members.append(node)
        first.members.sort(key=self._order.__getitem__)
        for member in first.members:
            self.group_of[member] = first

    def _closes_cycle(self, node: fx.Node, groups: list[Group]) -> bool:
        """Tell whether something outside needs these groups and is needed by them, once `node` joins."""
        inside = {member for group in groups for member in group.members}
        # Within one group there is no such path but through what the new node needs.
        members = [node] if len(groups) == 1 else [node, *inside]
        stack = [o for m in members for o in self.words[m].operands if o not in inside and o is not node]
        seen: set[fx.Node] = set()
        while stack:
            current = stack.pop()
            if current in inside:
                return True
            if current in seen:
                continue
            group = self.group_of.get(current)
            for other in group.members if group else [current]:
                seen.add(other)
                stack.extend(self.inputs_of(other))
        return False


def _has_room_for_sum(group: Group) -> bool:
    reductions = [m for m in group.members if is_norm(m) or reduces_rows(m)]
    return len(reductions) < _MAX_SUMS and all(map(sums_columns, reductions))


def _has_few_rows(linear: fx.Node) -> bool:
    rows = [d if isinstance(d, int) else d.node.hint or 0 for d in linear.meta["val"].shape[:-1]]
    return math.prod(rows) <= _FEW_ROWS


def is_worthwhile(group: Group, words: dict[fx.Node, Word], live: set[fx.Node], alone: bool) -> bool:
    """Tell whether a group has a linear layer, or another start, and something fused behind it.

    With `alone`, a linear layer with nothing behind it may be worth a call as well, and so may several in one launch.
    """
    members = [m for m in group.members if m in live]
    fused = [m for m in members if words[m].scales or (not words[m].is_linear and norm_of(m) is None)]
    linears = [m for m in members if words[m].is_linear]
    if (alone and linears) or (group.joined_as == "siblings" and len(linears) > 1):
        return True
    return len(fused) > 0 and any(words[m].is_start for m in members)
