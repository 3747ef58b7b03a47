# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws graphs of boxes, side by side, as SVG. Models are chains with a few side ways, so layers will do."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from html import escape

_WIDTH, _GAP, _MARGIN, _ROW = 292, 28, 36, 34  # of boxes, between them, around all, between rows
_LINE, _PAD = 17, 10  # height of a line of text, inside a box above and below
_TOP, _HEADING = 126, 22  # where graphs begin; height of a heading above each
_SANS = "font-family=\"Inter, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif\""
_MONO = "font-family=\"'JetBrains Mono', 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace\""
_INK, _FAINT, _PAPER = "#1f2430", "#667085", "#ffffff"

# Of each colour: fill, stroke. The numbered ones are for what belongs together.
COLOURS = {
    "input": ("#ffffff", "#98a2b3"),
    "plain": ("#f2f4f7", "#98a2b3"),
    "prepare": ("#fffbe6", "#a88f1c"),
    "0": ("#dcecfb", "#2f74b5"),
    "1": ("#fde7cf", "#c2690c"),
    "2": ("#d9f2e3", "#27825a"),
    "3": ("#f0e3fa", "#7c48a8"),
    "4": ("#fbe0e4", "#b83a52"),
    "5": ("#dff1f3", "#1f7a85"),
}


def numbered(number: int) -> str:
    """Return the colour of a numbered group."""
    return str(number % 6)


@dataclasses.dataclass(frozen=True)
class Box:
    """A box: its lines of text, of which the first is its title, and its colour."""

    key: str
    lines: tuple[str, ...]
    colour: str
    badge: str = ""


@dataclasses.dataclass(frozen=True)
class Drawing:
    """A graph: boxes in an order in which each comes after what it reads, and edges between their keys."""

    boxes: Sequence[Box]
    edges: Sequence[tuple[str, str]]


@dataclasses.dataclass(frozen=True)
class Panel:
    """Graphs below each other."""

    title: str
    graphs: Sequence[Drawing]


@dataclasses.dataclass
class _Placed:
    box: Box
    x: float
    y: float
    row: int

    @property
    def height(self) -> float:
        return 2 * _PAD + _LINE * len(self.box.lines)


def draw(title: str, subtitle: str, panels: Sequence[Panel], legend: Sequence[tuple[str, str]]) -> str:
    """Return an SVG image of panels side by side; `legend` has colours and what they mean.

    All panels have the same number of graphs; those of the same number begin at the same height.
    """
    parts: list[str] = []
    grid = [[_place(graph) for graph in panel.graphs] for panel in panels]
    tops, bottom = _tops(grid)
    left = float(_MARGIN)
    for panel, column in zip(panels, grid, strict=True):
        parts.append(_text(left, _TOP - 24, panel.title, 15, weight=600))
        end = left + max(_WIDTH, 8.2 * len(panel.title))
        for number, (graph, placed, top) in enumerate(zip(panel.graphs, column, tops, strict=True), 1):
            if len(tops) > 1:
                parts.append(_text(left, top - 12, f"Graph {number} of {len(tops)}", 13, weight=600, fill=_FAINT))
            for p in placed.values():
                p.x, p.y = p.x + left, p.y + top
            right = max((p.x + _WIDTH for p in placed.values()), default=left)
            end = max(end, right + 14 * _edges(graph, placed, right, parts))
            parts += [_box(p) for p in placed.values()]
        left = end + 2.2 * _MARGIN
    width = max(left - 1.2 * _MARGIN, 9 * len(title) + 2 * _MARGIN, 6.8 * len(subtitle) + 2 * _MARGIN)
    head = [_text(_MARGIN, 42, title, 20, weight=700), _text(_MARGIN, 65, subtitle, 13, fill=_FAINT)]
    foot, height = _legend(legend, bottom + 38, width)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(title)}">',
            f'<rect width="100%" height="100%" fill="{_PAPER}"/>',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0 0.8 L7 4 L0 7.2 Z" fill="{_FAINT}"/></marker></defs>',
            *head,
            *parts,
            *foot,
            "</svg>",
        ]
    )


def _tops(grid: Sequence[Sequence[dict[str, _Placed]]]) -> tuple[list[float], float]:
    """Return the height at which each graph begins, below its heading if there are several, and where the last ends."""
    tops, y = [], float(_TOP)
    count = max((len(column) for column in grid), default=0)
    for number in range(count):
        y += _HEADING if count > 1 else 0
        tops.append(y)
        y += max((p.y + p.height for column in grid for p in column[number].values()), default=0)
        y += _ROW if number + 1 < count else 0
    return tops, y


def _place(graph: Drawing) -> dict[str, _Placed]:
    """Give each box a row below all that it reads, and a column near the first of them; the corner is 0, 0."""
    sources: dict[str, list[str]] = {box.key: [] for box in graph.boxes}
    for source, target in graph.edges:
        sources[target].append(source)
    row_of = _rows(graph, sources)
    placed: dict[str, _Placed] = {}
    taken_in: dict[int, set[float]] = {}
    # What reads something first, so that the main way is a straight line down the left side.
    for box in sorted(graph.boxes, key=lambda box: (row_of[box.key], not sources[box.key] and row_of[box.key] > 0)):
        row, above = row_of[box.key], [placed[s] for s in sources[box.key]]
        wanted = max(above, key=lambda p: p.row).x if above else 0.0
        taken = taken_in.setdefault(row, set())
        while wanted in taken:
            wanted += _WIDTH + _GAP
        taken.add(wanted)
        placed[box.key] = _Placed(box, wanted, 0, row)
    y = 0.0
    for row in sorted(taken_in):
        members = [p for p in placed.values() if p.row == row]
        for p in members:
            p.y = y
        y += max(p.height for p in members) + _ROW
    return placed


def _rows(graph: Drawing, sources: dict[str, list[str]]) -> dict[str, int]:
    """Return each box's row: below all that it reads; what reads nothing, right above what reads it, or last."""
    rows: dict[str, int] = {}
    for box in graph.boxes:
        rows[box.key] = 1 + max((rows[s] for s in sources[box.key]), default=-1)
    last = max(rows.values(), default=0)
    for box in graph.boxes:
        readers = [rows[b] for a, b in graph.edges if a == box.key]
        if not sources[box.key]:
            rows[box.key] = min(readers) - 1 if readers else last
    return rows


def _edges(graph: Drawing, placed: dict[str, _Placed], right: float, parts: list[str]) -> int:
    """Draw arrows; those that pass a row run beside all boxes, in lanes, whose number is returned."""
    lanes = 0
    for source, target in dict.fromkeys(graph.edges):
        a, b = placed[source], placed[target]
        if b.row == a.row + 1:
            x1, y1, x2, y2 = a.x + _WIDTH / 2, a.y + a.height, b.x + _WIDTH / 2, b.y
            x2 += min(48, max(-48, x1 - x2))
            bend = (y2 - y1) * (0.5 if x1 == x2 else 0.8)
            path = f"M{x1:.1f} {y1:.1f} C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2 - 1:.1f}"
        else:
            lanes += 1
            lane = right + 4 + 14 * lanes
            y1, y2 = a.y + a.height / 2, b.y + b.height / 2
            path = (
                f"M{a.x + _WIDTH:.1f} {y1:.1f} H{lane - 8:.1f} Q{lane:.1f} {y1:.1f} {lane:.1f} {y1 + 8:.1f} "
                f"V{y2 - 8:.1f} Q{lane:.1f} {y2:.1f} {lane - 8:.1f} {y2:.1f} H{b.x + _WIDTH + 2:.1f}"
            )
        parts.append(f'<path d="{path}" fill="none" stroke="{_FAINT}" stroke-width="1.3" marker-end="url(#tip)"/>')
    return lanes


def _box(placed: _Placed) -> str:
    box, x, y = placed.box, placed.x, placed.y
    fill, stroke = COLOURS[box.colour]
    radius = placed.height / 2 if box.colour == "input" else 8
    parts = [
        f"<g><title>{escape(chr(10).join(box.lines))}</title>",
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{_WIDTH}" height="{placed.height:.1f}" rx="{radius:.0f}" '
        f'fill="{fill}" stroke="{stroke}" stroke-width="1.2"/>',
    ]
    for i, line in enumerate(box.lines):
        base = y + _PAD + _LINE * i + 13
        limit = int((_WIDTH - 32) / 7.9) if i == 0 else int((_WIDTH - 32) / 6.7)
        limit -= 3 if box.badge and i == 0 else 0
        text = line if len(line) <= limit else line[: limit - 1] + "…"
        weight, size, colour = (600, 13, _INK) if i == 0 else (400, 11, _FAINT)
        parts.append(_text(x + 16, base, text, size, weight=weight, fill=colour, family=_MONO))
    if box.badge:
        centre, middle = x + _WIDTH - 20, y + _PAD + 8
        parts.append(f'<circle cx="{centre:.1f}" cy="{middle:.1f}" r="10" fill="{stroke}"/>')
        parts.append(_text(centre, middle + 4, box.badge, 11, weight=700, fill=_PAPER, anchor="middle"))
    return "\n".join([*parts, "</g>"])


def _legend(entries: Sequence[tuple[str, str]], y: float, width: float) -> tuple[list[str], float]:
    """Return what is drawn, and where the image ends."""
    parts, x = [], float(_MARGIN)
    for colour, meaning in entries:
        needed = 32 + 6.6 * len(meaning)
        if x > _MARGIN and x + needed > width - _MARGIN:
            x, y = float(_MARGIN), y + 24
        fill, stroke = COLOURS[colour]
        parts.append(
            f'<rect x="{x:.1f}" y="{y - 11:.1f}" width="16" height="14" rx="4" fill="{fill}" stroke="{stroke}"/>'
        )
        parts.append(_text(x + 24, y, meaning, 12, fill=_FAINT))
        x += needed + 20
    return parts, y + _MARGIN - 8


def _text(
    x: float,
    y: float,
    text: str,
    size: int,
    *,
    weight: int = 400,
    fill: str = _INK,
    family: str = _SANS,
    anchor: str = "start",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" {family} font-size="{size}" font-weight="{weight}" fill="{fill}" '
        f'text-anchor="{anchor}" xml:space="preserve">{escape(text)}</text>'
    )
