# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers whose input is put together of parts, which products alone read: `linear(cat([a, b], -1), w)`.

It is `a @ w[:, :k].T + b @ w[:, k:].T`, which one kernel adds up where it multiplies, so the input is never written,
and in a training step not saved: the weight's gradient is `cat([a.T @ dy, b.T @ dy]).T`. The weight's columns are
copied in each call, and parts are padded for rows of a multiple of 16 bytes, as the input may be when they are found
(`padding.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import NamedTuple

import torch
from torch import fx

from tenon.torch.choice.candidate import hinted
from tenon.torch.fusion.grouping import MAX_TERMS
from tenon.torch.fusion.nodes import insert
from tenon.torch.fusion.padding import MULTIPLE
from tenon.torch.fusion.readers import leaves_graph
from tenon.torch.fusion.rewrite import sweep
from tenon.torch.fusion.views import arguments, dtype_of, is_transpose, op_name, view_source

aten = torch.ops.aten
_PRODUCTS = (aten.mm.default, aten.addmm.default)
_NARROW = ("float16", "bfloat16")
# What is not written has to be more than what is copied of the weight and padded, and than launches cost.
_LEAST_BYTES = 1 << 22
_BY_ROWS = {"memory_format": torch.contiguous_format}


class _Readers(NamedTuple):
    """What reads an input: products of it, and those of its transpose, which give gradients of weights."""

    products: list[fx.Node]
    turned: list[fx.Node]


def joined_inputs(graph: fx.Graph) -> set[str]:
    """Return the names of the inputs of layers that may stay in parts."""
    joined = [node for node in graph.nodes if op_name(node) == "aten.cat" and dtype_of(node) in _NARROW]
    return {node.name for node in joined if _is_of_columns(node) and (found := _readers(node)) and _gains(node, found)}


def split_joined(graph: fx.Graph, names: Collection[str]) -> dict[str, list[fx.Node]]:
    """Leave some of `joined_inputs` in parts; return the products of these by the names of the inputs."""
    split = {node.name: _split(node) for node in list(graph.nodes) if node.name in names}
    sweep(graph, (), ())
    return split


def _is_of_columns(joined: fx.Node) -> bool:
    given, shape = arguments(joined), joined.meta["val"].shape
    widths, types = _widths(joined), {part.meta["val"].dtype for part in given["tensors"]}
    is_last = given["dim"] % len(shape) == len(shape) - 1
    is_known = all(isinstance(d, int) and d for d in widths) and sum(not isinstance(d, int) for d in shape) <= 1
    return is_last and is_known and 1 < len(widths) <= MAX_TERMS and len(types) == 1 and not leaves_graph(joined)


def _widths(joined: fx.Node) -> list[int]:
    return [part.meta["val"].shape[-1] for part in arguments(joined)["tensors"]]


def _readers(joined: fx.Node) -> _Readers | None:
    """Return what reads an input; None where something else does, or no product of it."""
    found, stack = _Readers([], []), [joined]
    while stack:
        node = stack.pop()
        for user in node.users:
            if _has_columns_of(user, node):
                stack.append(user)
            elif _is_layer(user, node):
                found.products.append(user)
            elif user.target is aten.mm.default and user.args[0] is not node and node.meta["val"].dim() == 2:
                found.turned.append(user)
            else:
                return None
    is_whole = all(product.meta["val"].shape[1] == sum(_widths(joined)) for product in found.turned)
    return found if found.products and is_whole else None


def _has_columns_of(node: fx.Node, joined: fx.Node) -> bool:
    """Tell whether a node has the columns of another one, maybe with zeros behind them."""
    is_view = view_source(node) is joined and node.meta["val"].shape[-1] == joined.meta["val"].shape[-1]
    return is_view or _unpadded(node) is joined


def _is_layer(node: fx.Node, x: fx.Node) -> bool:
    """Tell whether a node is a product of `x`, not scaled, and a weight, which is not put together itself."""
    if node.target not in _PRODUCTS or node.kwargs or x in node.args[:-2]:
        return False
    w = source = node.args[-1]
    while source is not None and source.target is not aten.cat.default:
        source = view_source(source)
    return w is not x and source is None and all(isinstance(d, int) for d in w.meta["val"].shape)


def _unpadded(node: fx.Node) -> fx.Node | None:
    """Return a matrix that has zeros behind its columns."""
    if node.target is not aten.constant_pad_nd.default:
        return None
    source, (before, after, *rows), *value = node.args
    return source if before == 0 < after and not any(rows) and not any(value) else None


def _gains(joined: fx.Node, readers: _Readers) -> bool:
    *rows, columns = hinted(joined.meta["val"].shape)
    m = functools.reduce(int.__mul__, rows, 1)
    copied = sum(columns * product.meta["val"].shape[1] for product in readers.products)
    copied += m * sum(width for width in _widths(joined) if width % MULTIPLE)
    return m * columns * joined.meta["val"].element_size() >= _LEAST_BYTES and m * columns > 2 * copied


def _split(joined: fx.Node) -> list[fx.Node]:
    """Put products of parts in the place of those of an input; return the ones that are added up."""
    readers, widths = _readers(joined), _widths(joined)
    place = functools.partial(insert, like=joined)
    with joined.graph.inserting_before(joined):
        parts = [_as_rows(part, joined) for part in arguments(joined)["tensors"]]
    products = []
    for product in readers.products:
        *bias, _, w = product.args
        with product.graph.inserting_before(product):
            columns = [_columns(w, sum(widths[:i]), width) for i, width in enumerate(widths)]
            first = place(product.target, *bias, parts[0], columns[0])
            others = [place(aten.mm.default, *pair) for pair in zip(parts[1:], columns[1:], strict=True)]
            products += [first, *others]
            product.replace_all_uses_with(functools.reduce(functools.partial(place, aten.add.Tensor), others, first))
    for product in readers.turned:
        with product.graph.inserting_before(product):
            product.replace_all_uses_with(_gradient(product.args[0], parts, widths))
    return products


def _gradient(turned: fx.Node, parts: list[fx.Node], widths: list[int]) -> fx.Node:
    """Return the gradient of a weight by those of its columns.

    These are computed as rows, which Inductor has products write to their places one below another. Side by side their
    rows would begin anywhere, for which cuBLAS has but slow kernels: of NeRF 227 us in the place of 78, and 121 of 60.
    """
    place = functools.partial(insert, like=turned)
    dy = turned.args[0] if is_transpose(turned) else place(aten.permute.default, turned, [1, 0])
    gradients = []
    for part, width in zip(parts, widths, strict=True):
        rows = place(aten.mm.default, place(aten.permute.default, part, [1, 0]), dy)
        gradients.append(place(aten.slice.Tensor, rows, 0, 0, width) if width % MULTIPLE else rows)
    columns = place(aten.permute.default, place(aten.cat.default, gradients, 0), [1, 0])
    return place(aten.clone.default, columns, **_BY_ROWS)


def _as_rows(part: fx.Node, joined: fx.Node) -> fx.Node:
    """Return a part as a matrix with rows of a multiple of 16 bytes; what another product takes already, if it can."""
    place = functools.partial(insert, like=joined)
    width = part.meta["val"].shape[-1]
    rows = part if part.meta["val"].dim() == 2 else place(aten.reshape.default, part, [-1, width])
    if width % MULTIPLE == 0:
        return rows
    more = [0, -width % MULTIPLE]
    for user in rows.users:
        if (
            user.target is aten.constant_pad_nd.default
            and user.args[1][:2] == more
            and _unpadded(user)
            and user < joined
        ):
            return user
    return place(aten.constant_pad_nd.default, rows, [*more, 0, 0])


def _columns(w: fx.Node, begin: int, width: int) -> fx.Node:
    """Return the part of a weight `[K, N]` that multiplies some columns of x, with rows of a multiple of 16 bytes."""
    place = functools.partial(insert, like=w)
    more = -width % MULTIPLE
    if is_transpose(w):  # of a layer's `[N, K]`
        part = place(aten.slice.Tensor, w.args[0], 1, begin, begin + width)
        part = _grown(part, [0, more, 0, 0]) if more else place(aten.clone.default, part, **_BY_ROWS)
        return place(aten.permute.default, part, [1, 0])
    return _grown(place(aten.slice.Tensor, w, 0, begin, begin + width), [0, 0, 0, more])


def _grown(matrix: fx.Node, more: list[int]) -> fx.Node:
    return insert(aten.constant_pad_nd.default, matrix, more, like=matrix) if any(more) else matrix
