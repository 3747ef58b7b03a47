# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training batch norm: as PyTorch runs it, and in float64 with how far off its results may be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch.nn import functional

from tenon.bench.ops import Op

Tensors = dict[str, torch.Tensor]
ROUNDOFF = 2.0**-24  # of f32, in which all is computed


def run_batch_norm(op: Op, values: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Return the normalised values; the running statistics are updated in place."""
    given = {role: values[str(name)] for role, name in zip(op.roles, op.arguments, strict=True)}
    return functional.batch_norm(
        given["input"],
        given.get("running_mean"),
        given.get("running_var"),
        given.get("weight"),
        given.get("bias"),
        training=True,
        momentum=op.attributes["momentum"],
        eps=op.attributes["eps"],
    )


@dataclass(frozen=True)
class Moments:
    """The batch's statistics in float64."""

    mean: torch.Tensor
    distance: torch.Tensor  # of each value from its column's mean
    variance: torch.Tensor  # biased

    @classmethod
    def of(cls, z: torch.Tensor) -> Moments:
        """Compute them of all rows."""
        mean = z.mean(0)
        distance = z - mean
        return cls(mean, distance, distance.square().mean(0))


def _updated(op: Op, values: Mapping[str, torch.Tensor], batch: tuple[torch.Tensor, ...]) -> Tensors:
    """Return the new running statistics of a batch's mean and unbiased variance."""
    momentum = op.attributes["momentum"]
    pairs = zip(op.updates.items(), batch, strict=False)  # there may be none
    return {name: (1.0 - momentum) * values[old] + momentum * new for (name, old), new in pairs}


def exact_batch_norm(op: Op, values: Mapping[str, torch.Tensor]) -> Tensors:
    """Return all results by name; values are in float64."""
    z = values[str(op.argument("input"))]
    found = Moments.of(z)
    result = found.distance * (found.variance + op.attributes["eps"]).rsqrt()
    if weight := op.argument("weight"):
        result = result * values[weight]
    if bias := op.argument("bias"):
        result = result + values[bias]
    unbiased = found.variance * (len(z) / (len(z) - 1))
    return {op.result: result} | _updated(op, values, (found.mean, unbiased))


def batch_norm_errors(op: Op, values: Mapping[str, torch.Tensor], error: torch.Tensor | float) -> Tensors:
    """Return how far off each result may be where the input is by `error`, rounding to its type left out.

    Sums of f32 err by (8 + sqrt(M)) roundings of the mean magnitude. The normalised values may be computed as
    z * scale - mean * scale, which rounds at their magnitude before the mean is taken off.
    """
    z, eps = values[str(op.argument("input"))], op.attributes["eps"]
    found, lost = Moments.of(z), (8.0 + math.sqrt(len(z))) * ROUNDOFF
    error = torch.as_tensor(error, dtype=z.dtype, device=z.device).expand_as(z)
    mean = error.mean(0) + lost * z.abs().mean(0)
    distance = error + mean + 4.0 * ROUNDOFF * (z.abs() + found.mean.abs())
    variance = (2.0 * found.distance.abs() * distance + distance.square()).mean(0) + lost * found.variance
    inverse = (found.variance + eps).rsqrt()
    largest = ((found.variance - variance).clamp(min=0.0) + eps * (1.0 - ROUNDOFF)).rsqrt()
    factor = values[weight].abs() if (weight := op.argument("weight")) else torch.ones_like(inverse)
    offset = values[bias].abs() if (bias := op.argument("bias")) else torch.zeros_like(inverse)
    size = found.distance.abs() * inverse * factor
    result = (distance * largest + found.distance.abs() * (largest - inverse)) * factor
    result = result + 8.0 * ROUNDOFF * (size + offset)
    # A new running statistic errs by momentum times what the batch's does, and by roundings of its terms.
    statistics = {}
    momentum = op.attributes["momentum"]
    batch = ((found.mean, mean), (found.variance, variance))
    for (name, old), (value, by) in zip(op.updates.items(), batch, strict=False):
        unbiased = len(z) / (len(z) - 1)
        terms = values[old].abs() + momentum * unbiased * value.abs()
        statistics[name] = momentum * unbiased * by + 8.0 * ROUNDOFF * terms
    return {op.result: result} | statistics
