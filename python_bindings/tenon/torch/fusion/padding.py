# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products that are padded with zeros, since kernels for rows that are no multiple of 16 bytes are slow.

Inductor pads products too, by trials of its own. These it leaves, or pads at times: layers that give few features,
those whose input has such rows, and the gradients of both. All are of many rows, and what is copied for them, if
nothing writes it anyway, takes less than their products gain; of what is padded Tenon has kernels, too. With 262144
rows the layer of 256x63 took 160 us, and padded 48 and 17 for the copy, and the gradient of its weight 94, or 47 and 16
(an H200, 2026-11-29).
"""

from __future__ import annotations

import functools

import torch
from torch import fx

from tenon.torch.choice.candidate import hinted
from tenon.torch.fusion.nodes import insert
from tenon.torch.fusion.readers import leaves_graph
from tenon.torch.fusion.rewrite import sweep
from tenon.torch.fusion.tall import is_tall
from tenon.torch.fusion.views import is_permutation, is_transpose, is_turned, view_source

aten = torch.ops.aten
_PRODUCTS = (aten.mm.default, aten.addmm.default)
MULTIPLE = 8  # elements of 16 bits
_NARROW = (torch.float16, torch.bfloat16)


def find_unpadded(graph: fx.Graph, of_joined: bool = False) -> dict[fx.Node, tuple[int, int, int]]:
    """Return the products that had better be padded, with how much their M, N and K grow.

    Args:
        graph: of ATen ops whose nodes have fake tensors as `meta["val"]`.
        of_joined: whether only those are wanted whose layer's input is put together for such products alone, or is
            padded for another one. In a graph of forward and backward it is then saved with its zeros; any other would
            be saved once more.

    """
    missing = {node: _missing(node) for node in graph.nodes if node.target in _PRODUCTS}
    return {node: more for node, more in missing.items() if any(more) and (not of_joined or _is_of_joined(node))}


def pad_products(graph: fx.Graph, of_joined: bool = False) -> list[str]:
    """Pad such products in place; return which, as sentences."""
    grown: dict[tuple[fx.Node, int, int], fx.Node] = {}
    notes = []
    for node, more in find_unpadded(graph, of_joined).items():
        notes.append(f"{node.name} is padded by {'x'.join(map(str, more))}, for rows of a multiple of 16 bytes")
        _pad(node, *more, grown)
    sweep(graph, (), ())
    return notes


def _missing(node: fx.Node) -> tuple[int, int, int]:
    """Return how much a product's M, N and K grow."""
    *bias, x, w = node.args
    (m, k), n = x.meta["val"].shape, w.meta["val"].shape[1]
    may_grow = node.meta["val"].dtype in _NARROW and any(map(_up_to_multiple, (m, n, k)))
    if not may_grow or not all(b.meta["val"].shape == (n,) for b in bias):
        return 0, 0, 0
    turns_x, turns_w = is_turned(x), is_turned(w)
    rows, *columns = (k, m, n) if turns_x else (m, k, n)
    if not is_tall((rows, max(hinted(columns))), node.meta["val"].dtype):
        return 0, 0, 0
    if turns_x:  # the gradient of a weight
        return (0, 0, 0) if bias or turns_w else (_up_to_multiple(m), _up_to_multiple(n), 0)
    # A layer, or the gradient of its input, whose features are columns of w.
    return 0, _up_to_multiple(n) if turns_w and _is_small(n) else 0, _up_to_multiple(k)


def _is_of_joined(product: fx.Node) -> bool:
    """Tell whether the input of a product's layer is put together of parts, and read by products alone, or padded."""
    x, w = product.args[-2:]
    source: fx.Node | None = w if is_turned(x) else x
    if any(user.target is aten.constant_pad_nd.default for user in source.users):
        return True
    while source is not None and source.target is not aten.cat.default:
        source = view_source(source)
    return source is not None and all(reader.target in _PRODUCTS for reader in _readers(source))


def _readers(node: fx.Node) -> set[fx.Node]:
    """Return what reads a node's elements, through views and transposes, but for what pads it."""
    found: set[fx.Node] = set()
    for user in node.users:
        if view_source(user) is node or is_permutation(user):
            found |= _readers(user)
        elif user.target is not aten.constant_pad_nd.default:
            found.add(user)
    return found


def _up_to_multiple(extent: int | torch.SymInt) -> int:
    return -extent % MULTIPLE if isinstance(extent, int) and extent > 1 else 0


def _is_small(extent: int | torch.SymInt) -> bool:
    return isinstance(extent, int) and extent < MULTIPLE


def _pad(node: fx.Node, m: int, n: int, k: int, grown: dict[tuple[fx.Node, int, int], fx.Node]) -> None:
    """Pad what a product multiplies, once, and its bias; what follows takes the product's own rows and columns."""
    *bias, x, w = node.args
    place = functools.partial(insert, like=node)
    with node.graph.inserting_before(node):
        if n:
            bias = [place(aten.constant_pad_nd.default, b, [0, n]) for b in bias]
        x, w = _grow(x, m, k, grown, node), _grow(w, k, n, grown, node)
        result = place(node.target, *bias, x, w, **node.kwargs)
        for dim, more in ((0, m), (1, n)):
            if more:
                result = place(aten.slice.Tensor, result, dim, 0, node.meta["val"].shape[dim])
        if (m or n) and leaves_graph(node):
            result = place(aten.clone.default, result, memory_format=torch.contiguous_format)
    node.replace_all_uses_with(result)


def _grow(
    matrix: fx.Node, rows: int, columns: int, grown: dict[tuple[fx.Node, int, int], fx.Node], product: fx.Node
) -> fx.Node:
    """Return a matrix with rows and columns of zeros, ahead of a product; if there is one further on, it is moved."""
    key, more = (matrix, rows, columns), [0, columns, 0, rows]
    if not rows and not columns:
        return matrix
    if is_transpose(matrix):
        turned = _grow(matrix.args[0], columns, rows, grown, product)
        return insert(aten.permute.default, turned, [1, 0], like=product)
    if key not in grown:
        padded = [n for n in matrix.users if n.target is aten.constant_pad_nd.default and list(n.args[1:]) == [more]]
        grown[key] = padded[0] if padded else insert(aten.constant_pad_nd.default, matrix, more, like=product)
        if padded and product < padded[0]:
            product.prepend(padded[0])
    return grown[key]
