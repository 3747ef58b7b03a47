# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices whose rows are no multiple of 16 bytes, which are padded with zeros where that is faster.

Inductor pads such products too, by another rule: these are what it left, as the gradient of a first layer's weight. TMA
cannot read such matrices, nor can wide loads begin at their rows: Tenon's kernels and cuBLAS's copy them element by
element, and take two to six times as long. Zeros behind what a product adds up change nothing; columns and rows that
it gives beyond its own are left out of what follows.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import fx

from tenon.torch.choice.candidate import Product, hinted
from tenon.torch.fusion.columns import insert
from tenon.torch.fusion.ops import ELEMENTWISE
from tenon.torch.fusion.readers import leaves_graph
from tenon.torch.fusion.rewrite import sweep
from tenon.torch.fusion.shapes import is_row_major
from tenon.torch.fusion.views import is_permutation, op_name, view_source

aten = torch.ops.aten
_PRODUCTS = (aten.mm.default, aten.addmm.default)
_ALIGNMENT = 16  # bytes
_LEAST_EXTENT = 8  # of fewer columns most of what is moved would be zeros
# Of less, the largest of a product's matrices is copied and multiplied in the time of some launches, and a copy is one.
_LEAST_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True)
class _Operand:
    """A matrix that is multiplied.

    Attributes:
        source: the node that has its elements, in rows of the same length.
        matrix: the same in two dimensions.
        is_turned: whether it is the transpose of that.

    """

    source: fx.Node
    matrix: fx.Node
    is_turned: bool


@dataclasses.dataclass(frozen=True)
class _Padded:
    """A product `[M, K]` times `[K, N]`, and by how much its extents grow."""

    node: fx.Node
    x: _Operand
    w: _Operand
    m: int
    n: int
    k: int

    def pads(self) -> Iterator[tuple[_Operand, int, int]]:
        """Give what is padded, in which dimension of its matrix, and by how much."""
        for operand, lies_along_k, outer in (
            (self.x, not self.x.is_turned, self.m),
            (self.w, self.w.is_turned, self.n),
        ):
            if self.k:
                yield operand, 1 if lies_along_k else 0, self.k
            if outer:
                yield operand, 1, outer


@dataclasses.dataclass(frozen=True)
class Padding:
    """Products that are padded together, as they share what is padded.

    Attributes:
        products: as they are, and as they would be.
        copies: what is copied for it: rows, columns and those that are added.
        device: of all of them.

    """

    products: list[tuple[Product, Product]]
    copies: list[tuple[int, int, int]]
    device: torch.device
    padded: list[_Padded]

    def notes(self) -> list[str]:
        """Return what becomes of the products, as sentences."""
        return [
            f"{padded.node.name} is padded from {_extents(before)} to {_extents(after)}, for rows of a multiple of "
            f"{_ALIGNMENT} bytes"
            for padded, (before, after) in zip(self.padded, self.products, strict=True)
        ]


def find_paddings(graph: fx.Graph, dtypes: Iterable[torch.dtype]) -> list[Padding]:
    """Return what might be padded of a graph's products.

    Args:
        graph: of ATen ops whose nodes have fake tensors as `meta["val"]`.
        dtypes: those whose products read their matrices as they lie.

    """
    dtypes = frozenset(dtypes)
    found = [padded for node in graph.nodes if (padded := _padded(node, dtypes)) is not None]
    return [_padding(group) for group in _groups(found)]


def pad(graph: fx.Graph, paddings: Sequence[Padding]) -> None:
    """Pad products in place."""
    for padding in paddings:
        rewriter = _Rewriter(graph)
        for padded in padding.padded:
            rewriter.replace(padded)
    sweep(graph, (), ())


def _padded(node: fx.Node, dtypes: frozenset[torch.dtype]) -> _Padded | None:
    """Return by how much a product's extents grow until what lies along them does in multiples of 16 bytes."""
    if node.target not in _PRODUCTS or node.meta["val"].dtype not in dtypes:
        return None
    x, w = map(_operand, node.args[-2:])
    if x is None or w is None or x.source.meta["val"].dtype != w.source.meta["val"].dtype:
        return None
    (m, k), n = node.args[-2].meta["val"].shape, node.meta["val"].shape[-1]
    multiple = _ALIGNMENT // node.meta["val"].element_size()
    # A bias, and what follows a product in its kernel, are for its own columns.
    is_alone = node.target is aten.mm.default and not any(op_name(user) in ELEMENTWISE for user in _readers(node))
    more_m = _missing(m, multiple) if x.is_turned and is_alone else 0
    more_n = _missing(n, multiple) if not w.is_turned and is_alone else 0
    more_k = _missing(k, multiple) if not x.is_turned or w.is_turned else 0
    padded = _Padded(node, x, w, more_m, more_n, more_k)
    # Rows that are added are none of the batch.
    is_of_matrices = all(dim == 1 or (o is w and o.source is o.matrix) for o, dim, _ in padded.pads())
    size = max(math.prod(hinted(t.meta["val"].shape)) for t in (node, x.matrix, w.matrix))
    is_large = size * node.meta["val"].element_size() >= _LEAST_BYTES
    return padded if is_of_matrices and is_large and any((more_m, more_n, more_k)) else None


def _missing(extent: int | torch.SymInt, multiple: int) -> int:
    return -extent % multiple if isinstance(extent, int) and extent >= _LEAST_EXTENT else 0


def _operand(node: fx.Node) -> _Operand | None:
    """Return how a product's operand lies; None where it does neither row by row nor as the transpose of that."""
    is_turned = False
    while is_permutation(node) and view_source(node) is None and node.meta["val"].dim() == 2:
        node, is_turned = node.args[0], not is_turned
    source = node
    while (before := view_source(source)) is not None and _has_rows_of(before, node):
        source = before
    is_known = isinstance(source.meta.get("val"), torch.Tensor) and is_row_major(source.meta["val"])
    return _Operand(source, node, is_turned) if is_known and node.meta["val"].dim() == 2 else None


def _has_rows_of(node: fx.Node, other: fx.Node) -> bool:
    value, wanted = node.meta.get("val"), other.meta["val"]
    return isinstance(value, torch.Tensor) and value.dim() >= 2 and value.shape[-1] == wanted.shape[-1]


def _readers(node: fx.Node) -> set[fx.Node]:
    """Return what reads a node's elements, through views and transposes."""
    found: set[fx.Node] = set()
    for user in node.users:
        found |= _readers(user) if view_source(user) is node or is_permutation(user) else {user}
    return found


def _groups(found: Sequence[_Padded]) -> list[list[_Padded]]:
    """Return products by what they share, in the order of the first of each group."""
    order = {padded.node: i for i, padded in enumerate(found)}
    groups: list[tuple[set[fx.Node], list[_Padded]]] = []
    for padded in found:
        sources, members = {operand.source for operand, _, _ in padded.pads()}, [padded]
        apart = []
        for others, group in groups:
            if sources.isdisjoint(others):
                apart.append((others, group))
            else:
                sources, members = sources | others, group + members
        groups = [*apart, (sources, members)]
    return [sorted(members, key=lambda padded: order[padded.node]) for _, members in groups]


def _padding(group: list[_Padded]) -> Padding:
    copies: dict[tuple[fx.Node, int], tuple[int, int, int]] = {}
    for padded in group:
        for operand, dim, amount in padded.pads():
            rows, columns = hinted(operand.matrix.meta["val"].shape)
            copies[operand.source, dim] = rows, columns, amount if dim else 0
    value = group[0].node.meta["val"]
    return Padding([_products(padded) for padded in group], list(copies.values()), value.device, group)


def _extents(product: Product) -> str:
    return f"{product.m}x{product.n}x{product.k}"


def _products(padded: _Padded) -> tuple[Product, Product]:
    (m, k), n = hinted(padded.node.args[-2].meta["val"].shape), hinted(padded.node.meta["val"].shape)[-1]
    dtype = padded.node.meta["val"].dtype
    make = functools.partial(Product, dtype=dtype, turns_x=padded.x.is_turned, turns_w=not padded.w.is_turned)
    return make(m, n, k), make(m + padded.m, n + padded.n, k + padded.k)


class _Rewriter:
    """Pads products, and each matrix once."""

    def __init__(self, graph: fx.Graph) -> None:
        self._graph = graph
        self._made: dict[tuple[fx.Node, int, int], fx.Node] = {}

    def replace(self, padded: _Padded) -> None:
        node = padded.node
        operands = []
        for operand, given in zip((padded.x, padded.w), node.args[-2:], strict=True):
            pads = [(dim, amount) for each, dim, amount in padded.pads() if each is operand]
            operands.append(self._operand(operand, pads, node) if pads else given)
        m, n = node.meta["val"].shape
        node.args = (*node.args[:-2], *operands)
        given = fx.map_arg((node.args, node.kwargs), lambda each: each.meta["val"])
        node.meta["val"] = node.target(*given[0], **given[1])
        if not padded.m and not padded.n:
            return
        users = list(node.users)
        place = functools.partial(insert, self._graph, node)
        with self._graph.inserting_before(node.next):
            result = node
            for dim, extent in [(0, m)] * bool(padded.m) + [(1, n)] * bool(padded.n):
                result = place(aten.slice.Tensor, result, dim, 0, extent)
            if leaves_graph(node):
                result = place(aten.clone.default, result, memory_format=torch.contiguous_format)
        for user in users:
            user.replace_input_with(node, result)

    def _operand(self, operand: _Operand, pads: list[tuple[int, int]], origin: fx.Node) -> fx.Node:
        node = operand.source
        for dim, amount in sorted(pads):
            key = node, dim, amount
            if key not in self._made:
                self._made[key] = self._pad(node, dim - 2, amount, origin)
            node = self._made[key]
        place = functools.partial(insert, self._graph, origin)
        with self._graph.inserting_before(origin):
            if node.meta["val"].dim() != 2:
                node = place(aten.reshape.default, node, [-1, node.meta["val"].shape[-1]])
            return place(aten.permute.default, node, [1, 0]) if operand.is_turned else node

    def _pad(self, node: fx.Node, dim: int, amount: int, origin: fx.Node) -> fx.Node:
        """Return a node with zeros behind it, which a kernel of Inductor's puts there."""
        value = node.meta["val"]
        behind = node.next
        while behind.op == "placeholder":
            behind = behind.next
        place = functools.partial(insert, self._graph, origin)
        with self._graph.inserting_before(behind):
            extents = [
                d if isinstance(d, int) else place(aten.sym_size.int, node, i) for i, d in enumerate(value.shape)
            ]
            extents[dim] = amount
            like = {"dtype": value.dtype, "layout": torch.strided, "device": value.device, "pin_memory": False}
            zeros = self._graph.call_function(aten.full.default, (extents, 0), like)
            shape = list(value.shape)
            shape[dim] = amount
            zeros.meta = {
                **origin.meta,
                "val": value.new_empty(shape),
            }  # a fake one, as `full` gives in no other's mode
            return place(aten.cat.default, [node, zeros], dim)
