# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What happened to each node of a captured graph, as data and as a table."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import fx

from tenon.torch.calls.call import FusedCall
from tenon.torch.explanation.layers import Layer, Layers, hint, layers_of
from tenon.torch.fusion.group_function import source_line
from tenon.torch.fusion.norms import is_batch_norm
from tenon.torch.fusion.ops import LINEAR
from tenon.torch.fusion.partition import Missed, Partition
from tenon.torch.fusion.views import cast_source, is_view, op_name
from tenon.torch.options import Options

Row = tuple[str, ...]
_NOT_BEHIND = "No linear layer whose call it could join comes before it."
_HEADER: Row = ("", "runs as", "does the work of", "saves", "")


@dataclasses.dataclass(frozen=True)
class Step:
    """A node of the captured graph.

    Attributes:
        name: of the node.
        kind: "input", "parameter" (with vectors and numbers), "op", or "view" for what computes nothing.
        op: what it does, such as "leaky_relu".
        type: dtype and shape of its result.
        where: file and line of the user's code, "" if unknown.
        sources: names of the nodes that it reads.

    """

    name: str
    kind: str
    op: str
    type: str
    where: str
    sources: tuple[str, ...]


@dataclasses.dataclass
class Report:
    """A captured graph, and what became of it on targets, by the choices of the options."""

    steps: list[Step]
    partitions: list[Partition]
    missed: list[Missed]
    reasons: dict[str, str]  # by node, why Tenon has no word for it
    remaining: set[str]  # nodes of the graph after it was cut
    targets: list[str]
    options: Options
    chosen: dict[str, Options] = dataclasses.field(default_factory=dict)  # by function, where trials chose
    notes: list[str] = dataclasses.field(default_factory=list)  # which products are computed in another form
    error: float | None = None  # of what it computes, relative, where precision "fp8" quantises layers

    def __post_init__(self) -> None:
        """Ask the compiler about each partition."""
        self.parts: list[Layers] = [
            layers_of(part, self.targets, self.chosen.get(part.source, self.options)) for part in self.partitions
        ]
        self._add_parts_of_patterns()

    def _add_parts_of_patterns(self) -> None:
        """Enter nodes that became one op with the node that reads them, as the sigmoid of x * sigmoid(x)."""
        lists = [kernel.nodes for layer in self.layers for kernel in layer.kernels]
        lists += [part.prepared for part in self.parts]
        place = {node: nodes for nodes in lists for node in nodes}
        for step in reversed(self.steps):
            if step.kind != "op" or step.name in place or step.name in self.remaining:
                continue
            readers = [s.name for s in self.steps if step.name in s.sources and s.name in place]
            if readers:
                place[step.name] = place[readers[0]]
                place[step.name].insert(place[step.name].index(readers[0]), step.name)

    @property
    def layers(self) -> list[Layer]:
        """All layers, in the order in which they run."""
        return [layer for part in self.parts for layer in part.layers]

    @property
    def prepared(self) -> list[str]:
        """Nodes that are computed once for each version of the parameters."""
        return list(dict.fromkeys(node for part in self.parts for node in part.prepared))

    def left(self) -> list[Step]:
        """Return the ops that PyTorch runs."""
        return [step for step in self.steps if step.kind == "op" and step.name in self.remaining]

    def reason(self, step: Step) -> str:
        """Return why PyTorch runs an op."""
        behind = {missed.node: missed.reason for missed in self.missed}
        return behind.get(step.name) or self.reasons.get(step.name, _NOT_BEHIND)

    def rows(self, number: int = 0) -> list[Row]:
        """Return the table's rows; layers are numbered from `number` + 1."""
        steps = {step.name: step for step in self.steps}
        rows = _rows(self.parts, {n: s.op for n, s in steps.items()}, {n: s.where for n, s in steps.items()}, number)
        for step in self.left():
            rows.append(("", "PyTorch", step.op, "", step.where))
            rows.append(("", f"  {self.reason(step)}"))
        return rows


def read_steps(graph: fx.Graph, parameters: set[str]) -> list[Step]:
    """Return the nodes of a graph, before it is cut."""
    steps = []
    for node in graph.nodes:
        if node.op == "output":
            continue
        line = source_line(node)
        kind = _kind(node, parameters)
        steps.append(
            Step(
                node.name,
                kind,
                _op(node),
                _type(node.meta.get("val")),
                f"{Path(line[0]).name}:{line[1]}" if line else "",
                tuple(source.name for source in node.all_input_nodes),
            )
        )
    return steps


def _op(node: fx.Node) -> str:
    """Return what a node does, in a word that PyTorch's users know."""
    if is_batch_norm(node):
        return "batch_norm"
    if op_name(node) and cast_source(node) is not None:
        return "cast"
    return "linear" if op_name(node) in LINEAR else op_name(node).partition(".")[2]


def _kind(node: fx.Node, parameters: set[str]) -> str:
    if node.op == "placeholder":
        value = node.meta.get("val")
        is_matrix = isinstance(value, torch.Tensor) and value.dim() > 1
        return "input" if is_matrix and node.name not in parameters else "parameter"
    # Views; and copies to the graph's inputs, which stand for ops that work in place.
    is_free = not op_name(node) or node.target.is_view or is_view(node) or op_name(node) == "aten.copy_"
    return "view" if is_free else "op"


def _type(value: object) -> str:
    if isinstance(value, tuple | list) and value:
        value = value[0]
    if not isinstance(value, torch.Tensor):
        return ""
    return f"{str(value.dtype).removeprefix('torch.')} [{', '.join(str(hint(d)) for d in value.shape)}]"


def rows_of_calls(calls: Sequence[FusedCall], options: Options) -> list[Row]:
    """Return the table's rows from partitions alone that were compiled with options."""
    parts = [layers_of(call.function, call.executable.targets, options) for call in calls]
    ops = {node: op for part in parts for node, op in part.ops.items()}
    rows = _rows(parts, ops, {node: place for part in parts for node, place in part.where.items()})
    for missed in dict.fromkeys(missed for call in calls for missed in call.function.missed):
        path, _, line = (missed.where or "").rpartition(":")
        op = "linear" if missed.op in LINEAR else missed.op.partition(".")[2]
        rows.append(("", "PyTorch", op, "", f"{Path(path).name}:{line}" if path else ""))
        rows.append(("", f"  {missed.reason}"))
    return rows


def _rows(parts: Sequence[Layers], ops: dict[str, str], where: dict[str, str], number: int = 0) -> list[Row]:
    rows: list[Row] = []
    for part in parts:
        if part.prepared:
            does = ", ".join(ops.get(node, node) for node in part.prepared)
            rows.append(("", "prepare function", does, "", "once a version of the parameters"))
        for layer in part.layers:
            number += 1
            for i, kernel in enumerate(layer.kernels):
                does = ", ".join(ops.get(node, node) for node in kernel.nodes)
                first = i == 0
                saved = format_bytes(layer.bytes_saved) if first else ""
                rows.append((str(number) if first else "", kernel.name, does, saved, where.get(kernel.nodes[0], "")))
            rows += [("", f"  {why}") for why in (layer.choice, layer.reason) if why]
        rows += [("", f"  {ops.get(node, node)}: {reason}") for node, reason in part.missed]
    return rows


def format_rows(rows: Sequence[Row]) -> str:
    """Return rows as a table; a row of two cells is a remark on the row before it."""
    if not rows:
        return ""
    full = [row for row in [_HEADER, *rows] if len(row) == len(_HEADER)]
    widths = [max(len(row[i]) for row in full) for i in range(len(_HEADER))]
    lines = []
    for row in [_HEADER, *rows]:
        if len(row) < len(_HEADER):
            lines.append(" " * widths[0] + "  " + row[1])
            continue
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        cells[3] = row[3].rjust(widths[3])
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "-" * (sum(widths) + 2 * len(widths) - 2))
    return "\n".join(lines)


def summary(reports: Sequence[Report]) -> str:
    """Return in a sentence what was gained."""
    ops = sum(step.kind == "op" for report in reports for step in report.steps)
    left = sum(len(report.left()) for report in reports)
    steps = sum(len(layer.kernels) for report in reports for layer in report.layers)
    saved = sum(layer.bytes_saved for report in reports for layer in report.layers)
    if not steps:
        return f"Nothing to fuse: PyTorch runs all {count(ops, 'op')}."
    text = f"{count(ops, 'op')} of PyTorch become {count(steps, 'step')} of Tenon's"
    text += f" and {count(left, 'op')} of PyTorch" if left else ""
    return f"{text}; {format_bytes(saved) or 'no'} less memory traffic a call."


def sentence(reason: str) -> str:
    """Return a reason with a capital letter and a full stop."""
    return f"{reason[:1].upper()}{reason[1:]}."


def count(number: int, what: str) -> str:
    """Return "1 op" or "2 ops"."""
    return f"{number} {what}" + ("" if number == 1 else "s")


def format_bytes(number: int) -> str:
    """Return "134.2 MB"; "" for none."""
    if not number:
        return ""
    power = min(int(math.log10(number)) // 3, 4)
    return f"{number / 1000**power:.{1 if power else 0}f} {['B', 'kB', 'MB', 'GB', 'TB'][power]}"
