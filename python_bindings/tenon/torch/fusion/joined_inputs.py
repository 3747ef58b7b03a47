# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers whose input is put together of parts, which nothing else reads: `linear(cat([a, b], -1), w)`.

It is `a @ w[:, :k].T + b @ w[:, k:].T`, which one kernel adds up where it multiplies, so the input is never written.
The weight's columns are copied in each call, and parts are padded for rows of a multiple of 16 bytes, as the input may
be when they are found (`padding.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import NamedTuple

import torch
from torch import fx

from tenon.torch.choice.candidate import hinted
from tenon.torch.fusion.nodes import insert
from tenon.torch.fusion.readers import leaves_graph
from tenon.torch.fusion.views import arguments, dtype_of, is_transpose, op_name, view_source

aten = torch.ops.aten
_PRODUCTS = ("aten.mm", "aten.addmm")
_NARROW = ("float16", "bfloat16")
_MAX_PARTS = 4  # as schedules have terms
_MULTIPLE = 8  # elements of 16 bits
# What is not written has to be more than what is copied of the weight and padded, and than launches cost.
_LEAST_BYTES = 1 << 22
_BY_ROWS = {"memory_format": torch.contiguous_format}


class _Joined(NamedTuple):
    """What a product multiplies: parts side by side, and the columns of the weight that each has."""

    parts: list[fx.Node]
    begins: list[int]


def products_of_joined(graph: fx.Graph) -> set[str]:
    """Return the names of the products whose input may stay in parts."""
    products = [n for n in graph.nodes if op_name(n) in _PRODUCTS and dtype_of(n) in _NARROW]
    return {node.name for node in products if (joined := _find(node)) and _gains(node, joined)}


def split_joined(graph: fx.Graph, names: Collection[str]) -> dict[str, list[fx.Node]]:
    """Split some of `products_of_joined` in place; return the new products by the name of the one they stand for."""
    split = {}
    for node in list(graph.nodes):
        if node.name in names and (joined := _find(node)):
            split[node.name] = _split(node, joined)
    graph.eliminate_dead_code()
    return split


def _find(product: fx.Node) -> _Joined | None:
    """Return the parts of a product's input; None where it is no `cat` of columns, or something else reads that."""
    *_, x, w = product.args
    source: fx.Node | None = x
    while source is not None and op_name(source) != "aten.cat":
        source = (view_source(source) or _unpadded(source)) if len(source.users) == 1 else None
    if source is None or len(source.users) != 1 or leaves_graph(source):
        return None
    given, shape = arguments(source), source.meta["val"].shape
    parts = list(given["tensors"])
    widths = [part.meta["val"].shape[-1] for part in parts]
    is_of_columns = given["dim"] % len(shape) == len(shape) - 1 and all(isinstance(d, int) for d in widths)
    if not is_of_columns or not 1 < len(parts) <= _MAX_PARTS or 0 in widths:
        return None
    if any(part.meta["val"].dtype != product.meta["val"].dtype for part in parts):
        return None
    if not all(isinstance(d, int) for d in w.meta["val"].shape) or sum(not isinstance(d, int) for d in shape) > 1:
        return None
    return _Joined(parts, [sum(widths[:i]) for i in range(len(widths))])


def _unpadded(node: fx.Node) -> fx.Node | None:
    """Return a matrix that has zeros behind its columns."""
    if node.target is not aten.constant_pad_nd.default:
        return None
    source, (before, _, *rows), *value = node.args
    return source if before == 0 and not any(rows) and not any(value) else None


def _gains(product: fx.Node, joined: _Joined) -> bool:
    (m, n), size = hinted(product.meta["val"].shape), product.meta["val"].element_size()
    widths = [part.meta["val"].shape[-1] for part in joined.parts]
    unwritten = m * sum(widths)
    copied = n * sum(widths) + m * sum(width for width in widths if width % _MULTIPLE)
    return unwritten * size >= _LEAST_BYTES and unwritten > 2 * copied


def _split(product: fx.Node, joined: _Joined) -> list[fx.Node]:
    *bias, _, w = product.args
    place = functools.partial(insert, like=product)
    products: list[fx.Node] = []
    with product.graph.inserting_before(product):
        for part, begin in zip(joined.parts, joined.begins, strict=True):
            width = part.meta["val"].shape[-1]
            rows = part if part.meta["val"].dim() == 2 else place(aten.reshape.default, part, [-1, width])
            x = _grow(rows, 0, -width % _MULTIPLE, place, product)
            columns = _columns(w, begin, width, place, product)
            op = product.target if bias and not products else aten.mm.default
            products.append(place(op, *([] if products else bias), x, columns))
        total = functools.reduce(functools.partial(place, aten.add.Tensor), products)
    product.replace_all_uses_with(total)
    product.graph.erase_node(product)
    return products


def _grow(matrix: fx.Node, rows: int, columns: int, place: Callable[..., fx.Node], product: fx.Node) -> fx.Node:
    """Return a matrix with rows and columns of zeros, perhaps what another product before takes."""
    if not rows and not columns:
        return matrix
    more = [0, columns, 0, rows]
    for user in matrix.users:
        if user.target is aten.constant_pad_nd.default and list(user.args[1:]) == [more] and user < product:
            return user
    return place(aten.constant_pad_nd.default, matrix, more)


def _columns(w: fx.Node, begin: int, width: int, place: Callable[..., fx.Node], product: fx.Node) -> fx.Node:
    """Return the part of a weight `[K, N]` that multiplies some columns of x, with rows of a multiple of 16 bytes."""
    more = -width % _MULTIPLE
    if is_transpose(w):  # of a layer's `[N, K]`
        part = place(aten.slice.Tensor, w.args[0], 1, begin, begin + width)
        part = _grow(part, 0, more, place, product) if more else place(aten.clone.default, part, **_BY_ROWS)
        return place(aten.permute.default, part, [1, 0])
    part = place(aten.slice.Tensor, w, 0, begin, begin + width)
    return _grow(part, more, 0, place, product)

