# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms ahead of linear layers: their weights join w, and what they have of rows is behind the product."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Collection, Iterator
from typing import NamedTuple

import torch
from torch import fx

from tenon.importer.builder import InexpressibleError
from tenon.importer.shapes import as_matrix, flatten
from tenon.torch.choice.candidate import hinted
from tenon.torch.fusion.lowering import SCALED, Scaled, find_weight
from tenon.torch.fusion.nodes import insert
from tenon.torch.fusion.norms import known_statistics
from tenon.torch.fusion.shapes import torch_shape
from tenon.torch.fusion.views import arguments, cast_source, dtype_of, op_name, strip, view_source
from tenon.torch.fusion.words import Word, find_word, is_parameter

aten = torch.ops.aten

# What a linear layer calls x and its weight, and whether that is given as [K, N].
_LAYERS = {
    "aten.linear": ("input", "weight", False),
    "aten.addmm": ("mat1", "mat2", True),
    "aten.mm": ("self", "mat2", True),
    "aten.matmul": ("self", "other", True),
}
# Norms of rows that stay whole.
_WHOLE = "aten._fused_rms_norm", "aten.native_layer_norm"
# Unasked, a norm is only tried where what it writes could be 2 % of its layers' time. That is of at most so many
# features in all, where a GPU does some 200 operations for each byte that it moves, and of so many rows beside the
# features, whose weights are most of what is moved.
_MOST_FEATURES = 9216
_ROWS_OF_FEATURES = 1 / 50
_LITTLE = "it stays ahead of linear layers, beside whose products what it writes takes too little time to gain by"
_AS_FAST = "it stays ahead of linear layers, which are as fast so"
_READ = "it stays ahead of linear layers, since more than those with parameters reads it"
_BEHIND = "it stays behind the linear layer ahead of it, whose call may compute it"
_UNASKED = (
    "it stays ahead of linear layers: behind their products digits of float32 cancel where means are large beside "
    "deviations, so that is done where norms_ahead='always' asks for it"
)
_DIGITS = (
    "it stays ahead of linear layers, since a mean that is subtracted behind their products cancels digits of float32"
)


class Moves(NamedTuple):
    """What became of the norms ahead of layers.

    Attributes:
        layers: those that take what a norm takes, by the node that has its result.
        stays: why others stay ahead, by the last op of a norm.

    """

    layers: dict[fx.Node, list[fx.Node]]
    stays: dict[fx.Node, str]


def move_norms(
    graph: fx.Graph,
    parameters: set[str],
    words: dict[fx.Node, Word],
    is_asked: bool = True,
    names: Collection[str] | None = None,
) -> Moves:
    """Let linear layers take what a norm ahead of them takes, where they alone read it.

    The products of weights are rounded where the norm's result would have been, so that what is in bfloat16 errs as
    before. A mean that is subtracted behind the product, in float32, cancels digits that bfloat16 has not.

    Args:
        graph: of ATen ops.
        parameters: names of the placeholders that are.
        words: those of the graph; what is changed in it is.
        is_asked: whether all are to move: layer norms too, batch norms by statistics that they are given, and norms
            that can gain but little.
        names: of the nodes that have the results of norms that may move; None for all.

    """
    layers: dict[fx.Node, list[fx.Node]] = {}
    for node in graph.nodes:
        if node in words and op_name(node) in _LAYERS:
            layers.setdefault(strip(arguments(node)[_LAYERS[op_name(node)][0]]), []).append(node)
    moves = Moves({}, {})
    for normed, readers in layers.items():
        scaled = (
            _find_normed(normed, parameters, words)
            or _find_batch_normed(normed)
            or _find_scaled(normed, parameters, words)
        )
        if scaled is None or dtype_of(normed) not in ("float16", "bfloat16", "float32"):
            continue
        reason = _why_it_stays(normed, scaled, readers, parameters, words, is_asked)
        if reason is None and names is not None and normed.name not in names:
            reason = _AS_FAST
        if reason is not None:
            moves.stays[normed.args[0] if normed.target is operator.getitem else normed] = reason
        elif _move(normed, scaled, readers, parameters, words):
            moves.layers[normed] = readers
    return moves


def _why_it_stays(
    normed: fx.Node,
    scaled: Scaled,
    layers: list[fx.Node],
    parameters: set[str],
    words: dict[fx.Node, Word],
    is_asked: bool,
) -> str | None:
    """Return why a norm stays ahead of layers that could take what it takes; None where it may move."""
    shifts = scaled.shifts or scaled.column_shifts
    if dtype_of(normed) == "float32" and shifts:
        return _DIGITS
    if scaled.column_shifts and _has_layer_ahead(scaled.matrix, words):
        return _BEHIND
    if set(_readers(normed)) != {n for n in layers if _has_parameter(n, parameters)}:
        return _READ
    if shifts and not is_asked:
        return _UNASKED
    return _LITTLE if not is_asked and not _may_gain(normed, layers) else None


def _may_gain(normed: fx.Node, layers: list[fx.Node]) -> bool:
    rows = math.prod(hinted(normed.meta["val"].shape[:-1]))
    features = sum(hinted(layer.meta["val"].shape)[-1] for layer in layers)
    return features <= _MOST_FEATURES and rows >= features * _ROWS_OF_FEATURES


def has_norms(graph: fx.Graph) -> bool:
    """Tell whether a graph has what norms are made of."""
    return any(op_name(node) in (*_WHOLE, "aten.rsqrt") for node in graph.nodes)


def forget_norms(graph: fx.Graph) -> None:
    """Leave nothing of `move_norms` with the nodes."""
    for node in graph.nodes:
        node.meta.pop(SCALED, None)


def _move(
    normed: fx.Node, scaled: Scaled, readers: list[fx.Node], parameters: set[str], words: dict[fx.Node, Word]
) -> bool:
    normed.meta[SCALED] = scaled
    try:
        words.update({n: dataclasses.replace(find_word(n, parameters, words), scales=True) for n in readers})
    except InexpressibleError:
        del normed.meta[SCALED]
        return False
    return True


def _readers(node: fx.Node) -> Iterator[fx.Node]:
    """Give what takes a node's elements, through views."""
    for user in node.users:
        if view_source(user) is node:
            yield from _readers(user)
        else:
            yield user


def _has_parameter(layer: fx.Node, parameters: set[str]) -> bool:
    _, name, is_transposed = _LAYERS[op_name(layer)]
    weight = find_weight(arguments(layer)[name], is_transposed)
    return is_parameter(weight.source, parameters) and len(torch_shape(weight.source)) == 2


def _find_normed(node: fx.Node, parameters: set[str], words: dict[fx.Node, Word]) -> Scaled | None:
    """Return what a node is made of as the first result of a norm that is one op."""
    norm = node.args[0] if node.target is operator.getitem and node.args[1] == 0 else None
    if not isinstance(norm, fx.Node) or op_name(norm) not in _WHOLE:
        return None
    given = arguments(norm)
    of_columns = [given["weight"], given.get("bias")]
    known = [n for n in of_columns if n is not None]
    if len(given["normalized_shape"]) != 1 or not all(_is_prepared(n, parameters, words) for n in known):
        return None
    columns, addends = ((n,) if n is not None else () for n in of_columns)
    eps = torch.finfo(torch.float32).eps if given["eps"] is None else given["eps"]
    with norm.graph.inserting_before(norm):
        mean, deviation = _moments(norm, given["input"], eps)
    return Scaled(given["input"], (deviation,), columns, () if mean is None else (mean,), addends)


def _find_batch_normed(node: fx.Node) -> Scaled | None:
    """Return what a node is made of as the result of a batch norm of a matrix by statistics that are given.

    These are no parameters, as PyTorch writes running statistics without counting their versions.
    """
    norm = node.args[0] if node.target is operator.getitem and node.args[1] == 0 else node
    given = known_statistics(norm)
    if given is None or len(torch_shape(given["input"])) != 2:
        return None
    place = functools.partial(insert, like=norm)
    with norm.graph.inserting_before(norm):
        variance = place(torch.ops.prims.convert_element_type.default, given["running_var"], torch.float32)
        eps = given.get("eps", given.get("epsilon"))
        factors = [place(aten.rsqrt.default, place(aten.add.Tensor, variance, eps)), given["weight"]]
    addends = () if given["bias"] is None else (given["bias"],)
    return Scaled(given["input"], (), tuple(f for f in factors if f is not None), (), addends, (given["running_mean"],))


def _has_layer_ahead(node: fx.Node, words: dict[fx.Node, Word]) -> bool:
    """Tell whether Tenon has words for all between a linear layer and a node, which has its rows."""
    stack, seen = [strip(node)], set()
    while stack:
        word = words.get(stack.pop())
        if word and word.is_linear:
            return True
        found = [n for n in word.operands if n not in seen] if word else []
        seen.update(found)
        stack += found
    return False


def _moments(norm: fx.Node, x: fx.Node, eps: float) -> tuple[fx.Node | None, fx.Node]:
    """Insert the rows' means, of a layer norm, and inverse deviations in float32, whatever PyTorch's norm gives."""
    place = functools.partial(insert, like=norm)
    wide = place(torch.ops.prims.convert_element_type.default, x, torch.float32)
    if op_name(norm) == "aten._fused_rms_norm":
        mean, square = None, place(aten.mean.dim, place(aten.mul.Tensor, wide, wide), [-1], True)
    else:
        both = place(aten.var_mean.correction, wide, [-1], correction=0, keepdim=True)
        square, mean = (norm.graph.call_function(operator.getitem, (both, i)) for i in range(2))
        for i, result in enumerate((square, mean)):
            result.meta = {**norm.meta, "val": both.meta["val"][i]}
    return mean, place(aten.rsqrt.default, place(aten.add.Tensor, square, eps))


def _find_scaled(node: fx.Node, parameters: set[str], words: dict[fx.Node, Word]) -> Scaled | None:
    """Return a matrix of which a node is the product with factors of rows and, of parameters, of columns."""
    shape, dtype = torch_shape(node), dtype_of(node)
    rows: list[fx.Node] = []
    columns: list[fx.Node] = []
    while not (rows and dtype_of(node) == dtype):
        source = cast_source(node) if op_name(node) else None
        if source is None:
            operands = list(node.args) if op_name(node) == "aten.mul" else []
            factor = next((o for o in operands if isinstance(o, fx.Node) and torch_shape(o) != shape), None)
            if factor is None:
                return None
            of_factor = as_matrix(flatten(torch_shape(factor)))
            if of_factor == as_matrix((*flatten(shape)[:-1], 1)):
                rows.append(factor)
            elif of_factor == (1, shape[-1]) and _is_prepared(factor, parameters, words):
                columns.append(factor)
            else:
                return None
            source = operands[1 - operands.index(factor)]
        elif not _is_exact(source, node) and dtype_of(node) != dtype:
            return None  # it rounds x, and not what the norm gives
        if not isinstance(source, fx.Node) or torch_shape(source) != shape:
            return None
        node = source
    return Scaled(node, tuple(rows), tuple(columns))


def _is_exact(source: fx.Node, cast: fx.Node) -> bool:
    """Tell whether a cast's type has all numbers of its source's."""
    before, after = source.meta["val"].dtype, cast.meta["val"].dtype
    if 1 in (before.itemsize, after.itemsize):  # PyTorch promotes no types of 8 bits
        return before == after or before.itemsize == 1
    return torch.promote_types(before, after) == after


def _is_prepared(node: fx.Node, parameters: set[str], words: dict[fx.Node, Word]) -> bool:
    return words[node].is_prepared if node in words else is_parameter(node, parameters)
