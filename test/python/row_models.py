# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear layers whose rows are normalised or reduced, as MLIR and as PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from tenon.importer import rows
from tenon.importer.builder import Builder, Value, module_text, return_text, type_of
from torch import Tensor
from torch.nn import functional as F

EPS = 1e-5


def groups_of(n: int) -> int:
    """Return into how many groups N columns are divided."""
    return next(groups for groups in (5, 4, 3, 1) if n % groups == 0)


class Head(NamedTuple):
    """What follows z = x w^T + b: in Tenon's words, of z in f32 or f64, and in PyTorch's."""

    lower: Callable[[Builder, Value, Value], list[Value]]
    torch: Callable[[Tensor, Tensor], list[Tensor]]


def _norm(b: Builder, z: Value, g: Value) -> list[Value]:
    return [b.unary("gelu", rows.layer_norm(b, z, g, g, EPS)[0])]


def _reductions(b: Builder, z: Value, _: Value) -> list[Value]:
    return [b.reduce_row(kind, z) for kind in ("sum", "mean", "max", "min")]


def _groups(b: Builder, z: Value, _: Value) -> list[Value]:
    found = (b.reduce_row(kind, z, groups_of(z.shape[1])) for kind in ("sum", "mean", "max", "min"))
    return [b.unary("gelu", value) for value in found]


def _chain(b: Builder, z: Value, _: Value) -> list[Value]:
    value = rows.logsumexp(b, z)
    return [b.unary("gelu", b.unary("leaky_relu", value, "{negative_slope = 0.1}")), b.binary("sub", z, value)]


def _group_norm(z: Tensor, g: Tensor) -> Tensor:
    """Return the group norm with g as weight and bias; `F.group_norm` refuses a single row of groups of one column."""
    return torch.native_group_norm(z, g, g, z.shape[0], z.shape[1], 1, groups_of(z.shape[1]), EPS)[0]


HEADS = {
    "softmax": Head(lambda b, z, g: [rows.softmax(b, z)], lambda z, g: [F.softmax(z, -1)]),
    "log_softmax": Head(lambda b, z, g: [rows.log_softmax(b, z)], lambda z, g: [F.log_softmax(z, -1)]),
    "logsumexp": Head(lambda b, z, g: [rows.logsumexp(b, z)], lambda z, g: [z.logsumexp(-1, keepdim=True)]),
    "layer_norm": Head(_norm, lambda z, g: [F.gelu(F.layer_norm(z, z.shape[-1:], g, g, EPS))]),
    "rms_norm": Head(
        lambda b, z, g: [rows.rms_norm(b, z, g, EPS)[0]],
        lambda z, g: [F.rms_norm(z, z.shape[-1:], g, EPS)],
    ),
    "reductions": Head(
        _reductions,
        lambda z, g: [
            z.sum(-1, keepdim=True),
            z.mean(-1, keepdim=True),
            z.amax(-1, keepdim=True),
            z.amin(-1, keepdim=True),
        ],
    ),
    "chain": Head(
        _chain,
        lambda z, g: [F.gelu(F.leaky_relu(z.logsumexp(-1, keepdim=True), 0.1)), z - z.logsumexp(-1, keepdim=True)],
    ),
    "group_norm": Head(
        lambda b, z, g: [b.unary("silu", rows.group_norm(b, z, groups_of(z.shape[1]), g, g, EPS)[0])],
        lambda z, g: [F.silu(_group_norm(z, g))],
    ),
    "groups": Head(
        _groups,
        lambda z, g: [
            F.gelu(getattr(z.unflatten(-1, (groups_of(z.shape[1]), -1)), kind)(-1))
            for kind in ("sum", "mean", "amax", "amin")
        ],
    ),
    "variance": Head(
        lambda b, z, g: [rows.variance(b, z, 1.0)],
        lambda z, g: [z.var(-1, keepdim=True)],
    ),
    "top": Head(
        lambda b, z, g: [b.reduce_row("sum", b.select_equal(z, z, b.reduce_row("max", z)))],
        lambda z, g: [torch.where(z == z.amax(-1, keepdim=True), z, 0.0).sum(-1, keepdim=True)],
    ),
    "residual": Head(
        lambda b, z, g: [rows.layer_norm(b, b.binary("add", z, z), g, None, EPS)[0]],
        lambda z, g: [F.layer_norm(z + z, z.shape[-1:], g, None, EPS)],
    ),
}


def source(head: str, n: int, k: int, dtype: str, precision: str | None = None, m: int | str = "m") -> str:
    """Return `forward(x, w, bias, g)`, with results of the dtype."""
    b = Builder(precision)
    x, w = Value("%x", dtype, (m, k)), Value("%w", dtype, (n, k))
    bias, g = Value("%bias", dtype, (n,)), Value("%g", dtype, (n,))
    z = b.widen(b.linear(x, w, bias))
    results = [b.cast(value, dtype) for value in HEADS[head].lower(b, z, b.widen(g))]
    arguments = ", ".join(f'{v.name}: {type_of(v)} {{tenon.name = "{v.name[1:]}"}}' for v in (x, w, bias, g))
    signature = f"({arguments}) -> ({', '.join(map(type_of, results))})"
    return module_text("forward", signature, [*b.lines, return_text(results)])


def places_source(n: int, k: int, dtype: str, precision: str | None = None) -> str:
    """Return `forward(x, w, bias)`, whose results are where the rows of x w^T + bias are largest and smallest."""
    b = Builder(precision)
    x, w, bias = Value("%x", dtype, ("m", k)), Value("%w", dtype, (n, k)), Value("%bias", dtype, (n,))
    z = b.linear(x, w, bias)
    results = [b.reduce_row("argmax", z), b.reduce_row("argmin", z)]
    arguments = ", ".join(f'{v.name}: {type_of(v)} {{tenon.name = "{v.name[1:]}"}}' for v in (x, w, bias))
    signature = f"({arguments}) -> ({', '.join(map(type_of, results))})"
    return module_text("forward", signature, [*b.lines, return_text(results)])


def draw(m: int, n: int, k: int, dtype: torch.dtype, device: str = "cpu", seed: int = 0) -> list[Tensor]:
    """Return x, w, bias and g."""
    generator = torch.Generator().manual_seed(seed)
    x, w, bias, g = (torch.randn(shape, generator=generator) for shape in ((m, k), (n, k), (n,), (n,)))
    return [t.to(device, dtype) for t in (x, w * (2.0 / k**0.5), bias, g)]


def computed(head: str, tensors: list[Tensor]) -> list[Tensor]:
    """Return what PyTorch gives for the layer, in the tensors' dtype."""
    x, w, bias, g = tensors
    return HEADS[head].torch(F.linear(x, w, bias), g)


def expected(head: str, tensors: list[Tensor]) -> list[Tensor]:
    """Return what the layer gives, in float64."""
    return computed(head, [t.double() for t in tensors])


def magnification(head: str, tensors: list[Tensor]) -> float:
    """Return by how much a group norm magnifies what its input is off by, where a group's numbers are nearly equal."""
    if head != "group_norm":
        return 0.0
    x, w, bias, g = (t.double() for t in tensors)
    z = F.linear(x, w, bias).unflatten(-1, (groups_of(w.shape[0]), -1))
    return (g.abs().max() / (z.var(-1, correction=0).min() + EPS).sqrt()).item()


def errors(got: list[Tensor], wanted: list[Tensor]) -> list[float]:
    """Return the largest error of each result, in parts of its own size or of 1; infinite where NaN differ."""
    found = []
    for a, e in zip(got, wanted, strict=True):
        a, e = a.double(), e.to(a.device)
        same = (a == e) | (a.isnan() & e.isnan())
        error = torch.where(same, 0.0, (a - e).abs() / e.abs().clamp(min=1.0))
        found.append(error.nan_to_num(float("inf"), float("inf")).max().item())
    return found
