# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A function that might become a call, and what PyTorch would do in its place."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence

import torch
from torch import fx

from tenon.importer.specs import FunctionSpec
from tenon.torch.fusion.ops import LINEAR
from tenon.torch.fusion.readers import Readers, find_readers
from tenon.torch.fusion.views import arguments, op_name, strip

_MANY = 8192  # as Inductor takes it


@dataclasses.dataclass(frozen=True)
class Scaled:
    """What a product of 8 bits is beside its shape.

    Attributes:
        dtype: of both matrices.
        scaling: what has a scale: "tensor", "row" of x and column of the result, or "block".
        fast: whether PyTorch is asked for fast sums.

    """

    dtype: torch.dtype
    scaling: str
    fast: bool


@dataclasses.dataclass(frozen=True)
class Product:
    """One linear layer: `[M, K]` times `[N, K]`, all extents as they are in the call that was captured.

    Attributes:
        turns_x: whether PyTorch is given the transpose of a matrix `[K, M]`.
        turns_w: whether it is given a matrix `[K, N]` as that.
        scaled: what `_scaled_mm` is given, if it is that.

    """

    m: int
    n: int
    k: int
    dtype: torch.dtype
    turns_x: bool
    turns_w: bool
    scaled: Scaled | None = None


@dataclasses.dataclass(frozen=True)
class Ahead:
    """A norm ahead of a function, which writes what nothing need write where the function takes what the norm takes.

    Attributes:
        candidate: the function of what the norm gives.
        rows: of that.
        columns: of that.
        dtype: of that.
        share: that the function has in what reads it.

    """

    candidate: Candidate
    rows: int
    columns: int
    dtype: torch.dtype
    share: float


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A function, and what tells whether a call of it is worth it.

    Attributes:
        spec: the function.
        device: of its tensors.
        shapes: of its arguments, as they are in the call that was captured.
        strides: of its arguments; those that do not lie row by row are copied in each call.
        products: its linear layers.
        kinds: its ops.
        addends: how many arguments of what is behind the product have a value for each element of it.
        results: how many results have that and are no products as they are, which PyTorch's product writes.
        kept_results: how many of these something other than a kernel of Inductor's reads.
        readers: who reads them.
        joined_as: "pairs", "sums" or "siblings" where several layers may have one kernel or launch.
        is_asked: whether it takes what a norm ahead of it takes because that was asked for.
        placed: how many columns of its results PyTorch's products write to where they shall lie beside others.
        ahead: a norm of which it takes what that takes, if it need not: what would be done with it ahead.

    """

    spec: FunctionSpec
    device: torch.device
    shapes: list[tuple[int, ...]]
    strides: list[tuple[int, ...]]
    products: list[Product]
    kinds: list[str]
    addends: int
    results: int
    kept_results: int
    readers: Readers
    joined_as: str = ""
    is_asked: bool = False
    placed: int = 0
    ahead: Ahead | None = None

    @property
    def is_bare(self) -> bool:
        """Whether it is linear layers alone, biases included."""
        return all(kind == "linear" for kind in self.kinds)


def describe(
    spec: FunctionSpec,
    arguments: list[fx.Node],
    members: list[fx.Node],
    results: list[fx.Node],
    takers: dict[fx.Node, list[fx.Node]],
    in_calls: set[fx.Node],
    joined_as: str = "",
    is_asked: bool = False,
) -> Candidate:
    """Return the candidate of a group of nodes.

    Args:
        spec: the function made of the group.
        arguments: the nodes that it takes.
        members: the group, and what is computed with it.
        results: the nodes that stand for its results, but for those that are written in place.
        takers: the live nodes that take each node's value.
        in_calls: the nodes of all groups.
        joined_as: as which the group was joined of others.
        is_asked: whether it is called because that was asked for.

    """
    shapes = [hinted(node.meta["val"].shape) for node in arguments]
    strides = [hinted(node.meta["val"].stride()) for node in arguments]
    products = [product_of(node) for node in members if op_name(node) in LINEAR]
    kinds = re.findall(r"= tenon\.(\w+)", spec.source)
    elements = max((p.m * p.n for p in products), default=0)
    full = [node for node in results if math.prod(hinted(node.meta["val"].shape)) == elements]
    full = [node for node in full if op_name(strip(node)) not in LINEAR]
    found = [find_readers(node, takers, in_calls) for node in full]
    kept = sum(readers.opaque or readers.epilogue for readers in found)
    readers = Readers(*(any(each[i] for each in found) for i in range(3)))
    behind = {strip(n) for node in members if op_name(node) not in LINEAR for n in node.all_input_nodes}
    addends = sum(math.prod(shape) == elements for node, shape in zip(arguments, shapes, strict=True) if node in behind)
    device = arguments[0].meta["val"].device
    placed = sum(hinted(node.meta["val"].shape)[-1] for node in results if _is_placed(node, takers))
    return Candidate(
        spec, device, shapes, strides, products, kinds, addends, len(full), kept, readers, joined_as, is_asked, placed
    )


def _is_placed(result: fx.Node, takers: dict[fx.Node, list[fx.Node]]) -> bool:
    return op_name(result) in LINEAR and any(op_name(taker) == "aten.cat" for taker in takers.get(result, ()))


def norm_ahead(candidate: Candidate, normed: fx.Node, share: float) -> Ahead:
    """Return a norm whose result is a node, and may be what a candidate takes."""
    value = normed.meta["val"]
    *rows, columns = hinted(value.shape)
    return Ahead(candidate, math.prod(rows), columns, value.dtype, share)


def hinted(extents: Sequence[int | torch.SymInt]) -> tuple[int, ...]:
    """Return a shape, or strides, as they are in the call that was captured; what is found there alone is many."""
    return tuple(d if isinstance(d, int) else _MANY if d.node.hint is None else int(d.node.hint) for d in extents)


def product_of(node: fx.Node) -> Product:
    """Return a node's product, which PyTorch's op is given as that."""
    tensors = [n.meta["val"] for n in node.args if isinstance(n, fx.Node)]
    result = hinted(node.meta["val"].shape)
    x, w = tensors[-2:] if op_name(node) == "aten.addmm" else tensors[:2]
    turns_w = op_name(node) != "aten.linear" and not _is_column_major(w)
    k = hinted(x.shape)[-1]
    scaled = None
    if op_name(node).startswith("aten._scaled_mm"):
        given = arguments(node)
        scale = given["scale_a"] if isinstance(given["scale_a"], fx.Node) else given["scale_a"][0]
        shape = hinted(scale.meta["val"].shape)
        scaling = "tensor" if math.prod(shape) == 1 else "row" if shape[-1] == 1 else "block"
        scaled = Scaled(x.dtype, scaling, bool(given["use_fast_accum"]))
    dtype = node.meta["val"].dtype
    return Product(math.prod(result[:-1]), result[-1], k, dtype, _is_column_major(x), turns_w, scaled)


def _is_column_major(matrix: torch.Tensor) -> bool:
    strides = hinted(matrix.stride())
    return len(strides) > 1 and strides[-1] != 1 and strides[-2] == 1
