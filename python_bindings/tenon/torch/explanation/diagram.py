# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The picture of an explanation: the graph as PyTorch runs it beside the graph as Tenon does."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tenon.torch.explanation.picture import Box, Drawing, Panel, draw, numbered
from tenon.torch.explanation.report import Report, Step, format_bytes, summary


def diagram(name: str, target: str, reports: Sequence[Report]) -> str:
    """Return an SVG image."""
    graphs = [_Graph(report, f"g{i}.") for i, report in enumerate(reports)]
    number = 0
    for graph in graphs:
        number = graph.number_layers(number)
    before = Panel("Before: PyTorch, a kernel an op", [g.before() for g in graphs])
    after = Panel("After: Tenon, a box a step", [g.after() for g in graphs])
    return draw(f"{name} on {target}", summary(reports), [before, after], _legend(reports, number))


def _legend(reports: Sequence[Report], layers: int) -> list[tuple[str, str]]:
    """Return the colours used and what they mean; layers share them, so each has the numbers of several."""
    sharing: dict[str, list[str]] = {}
    for number in range(layers):
        sharing.setdefault(numbered(number), []).append(str(number + 1))
    legend = []
    for colour, numbers in sharing.items():
        listed = [*numbers[:3], "...", numbers[-1]] if len(numbers) > 5 else numbers
        legend.append((colour, f"layer{'s' if len(numbers) > 1 else ''} {', '.join(listed)}"))
    if any(report.prepared for report in reports):
        legend.append(("prepare", "once a version of the parameters"))
    return [*legend, *([("plain", "left to PyTorch")] if any(report.left() for report in reports) else [])]


class _Graph:
    """One report, drawn twice; `prefix` tells its boxes from those of others."""

    def __init__(self, report: Report, prefix: str) -> None:
        self._report, self._prefix = report, prefix
        self._steps = {step.name: step for step in report.steps}
        self._layer_of: dict[str, int] = {}
        self._numbers: list[int] = []
        self._prepared = set(report.prepared)

    def number_layers(self, start: int) -> int:
        """Give the layers numbers from `start` + 1, and return the last."""
        for layer in self._report.layers:
            start += 1
            self._numbers.append(start)
            for kernel in layer.kernels:
                self._layer_of |= dict.fromkeys(kernel.nodes, start)
        return start

    def before(self) -> Drawing:
        """Return the graph as it was captured, without views."""
        boxes = [self._box(step) for step in self._shown()]
        edges = [(source, step.name) for step in self._shown() for source in self._sources(step)]
        return Drawing(boxes, [(self._prefix + a, self._prefix + b) for a, b in edges])

    def after(self) -> Drawing:
        """Return the same graph with each kernel as one box."""
        owner: dict[str, str] = {step.name: step.name for step in self._shown()}
        boxes: dict[str, Box] = {}
        for number, layer in zip(self._numbers, self._report.layers, strict=True):
            for i, kernel in enumerate(layer.kernels):
                key = f"layer{number}.{i}"
                owner |= dict.fromkeys(kernel.nodes, key)
                does = [self._steps[n].op for n in kernel.nodes]
                lines = [kernel.name, *_wrapped(does, 38)]
                if i == len(layer.kernels) - 1 and layer.bytes_saved:
                    lines.append(f"saves {format_bytes(layer.bytes_saved)}")
                boxes[key] = Box(self._prefix + key, tuple(lines), numbered(number - 1), str(number))
        owner |= dict.fromkeys(self._prepared, "prepare")
        if self._prepared:
            does = [self._steps[n].op for n in self._report.prepared]
            boxes["prepare"] = Box(self._prefix + "prepare", ("prepare function", *_wrapped(does, 38)), "prepare")
        for step in self._shown():
            if owner[step.name] == step.name:
                box = self._box(step)
                why = _wrapped(self._report.reason(step).split(" "), 38, "") if step.kind == "op" else []
                boxes[step.name] = dataclasses.replace(box, lines=(*box.lines, *why))
        edges = []
        for step in self._shown():
            edges += [(owner[s], owner[step.name]) for s in self._sources(step) if owner[s] != owner[step.name]]
        edges += [
            (f"layer{n}.{i}", f"layer{n}.{i + 1}")
            for n, layer in zip(self._numbers, self._report.layers, strict=True)
            for i in range(len(layer.kernels) - 1)
        ]
        edges = list(dict.fromkeys(edges))
        ordered = [boxes[key] for key in _sorted(list(boxes), edges)]
        return Drawing(ordered, [(self._prefix + a, self._prefix + b) for a, b in edges])

    def _box(self, step: Step) -> Box:
        key = self._prefix + step.name
        if step.kind == "input":
            return Box(key, (f"{step.name}  {step.type}",), "input")
        lines = (step.op, "  ".join(part for part in (step.type, step.where) if part))
        if step.name in self._prepared:
            return Box(key, lines, "prepare")
        number = self._layer_of.get(step.name)
        return Box(key, lines, numbered(number - 1), str(number)) if number else Box(key, lines, "plain")

    def _shown(self) -> list[Step]:
        """Return the inputs that an op reads, and the ops."""
        read = {source for step in self._report.steps if step.kind == "op" for source in self._sources(step)}
        return [s for s in self._report.steps if s.kind == "op" or (s.kind == "input" and s.name in read)]

    def _sources(self, step: Step) -> list[str]:
        """Return what a step reads, through views and without parameters."""
        found = []
        for name in step.sources:
            source = self._steps.get(name)
            if source is None or source.kind == "parameter":
                continue
            found += self._sources(source) if source.kind == "view" else [name]
        return list(dict.fromkeys(found))


def _wrapped(words: Sequence[str], width: int, comma: str = ",") -> list[str]:
    """Return words with commas between them, in lines."""
    lines = [""]
    for i, word in enumerate(words):
        word += comma if i + 1 < len(words) else ""
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def _sorted(keys: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[str]:
    """Return keys in an order in which each comes after what leads to it."""
    done: list[str] = []
    left = list(keys)
    while left:
        ready = [k for k in left if not any(b == k and a in left for a, b in edges)]
        done += ready or left[:1]
        left = [k for k in left if k not in done]
    return done
