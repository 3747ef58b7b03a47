# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a problem computes: in PyTorch as a user writes it, and in float64 with how far off a result may be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn import functional

from tenon.bench.batch_norm import batch_norm_errors, exact_batch_norm, run_batch_norm
from tenon.bench.epilogue import Epilogue
from tenon.bench.ops import BATCH_NORM, Op
from tenon.bench.source import Problem
from tenon.dtypes import DATA_TYPES

TORCH = {kind.spelling: getattr(torch, kind.name) for kind in DATA_TYPES.values()}
Tensors = dict[str, torch.Tensor]

# How far a product may be off, in norms of a row of x and of w: a multiple of what rounding both to tf32 gives
# at random, and f32 accumulation on units that truncate. A lost step along K is far beyond it.
TF32_ROUNDING, TF32_DEVIATIONS = 2.0**-10, 8.0
ACCUMULATION = 2.0**-23
# Of f32 arithmetic and its approximations of tanh, erf and exp, relative to what goes in and comes out.
F32_ARITHMETIC = 2.0**-21

# Of the product's columns with data "offset"; that of the product with data "random" is 1 / 6.
OFFSET_MEAN, OFFSET_DEVIATION, RANDOM_DEVIATION = 1e4, 1e-2, 6.0

_BINARY: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "min": lambda a, b: _extreme(torch.minimum, a, b),
    "max": lambda a, b: _extreme(torch.maximum, a, b),
}


def _extreme(choose: Callable[..., torch.Tensor], a: Any, b: Any) -> torch.Tensor:
    """Apply torch.minimum or maximum, which take no numbers."""
    tensor = a if isinstance(a, torch.Tensor) else b
    return choose(*(v if isinstance(v, torch.Tensor) else tensor.new_tensor(v) for v in (a, b)))


def _apply(op: Op, arguments: list[Any]) -> torch.Tensor:
    if op.name == "cast":
        return arguments[0]
    if op.name == "gelu":
        return functional.gelu(arguments[0], approximate=op.approximate)
    function = _BINARY.get(op.name) or getattr(torch.ops.aten, op.name)
    result: torch.Tensor = function(*arguments, **op.attributes)
    return result


def _arguments(op: Op, values: Mapping[str, torch.Tensor]) -> list[Any]:
    return [values[a] if isinstance(a, str) else a for a in op.arguments]


def make_inputs(problem: Problem, device: str) -> Tensors:
    """Return random data: x in [0, 1), the weight as PyTorch initialises it, operands in [-1, 1).

    A running variance is positive. Data "offset": every fourth column of the product has a mean of about 1e4 and a
    deviation of about 1e-2, from the last of its terms, so that the sum of the others is not rounded to its size.
    """
    generator = torch.Generator(device).manual_seed(1)
    bounds = {"x": (0.0, 1.0), "weight": (-(problem.k**-0.5), problem.k**-0.5)}
    bounds |= {str(op.argument("running_var")): (0.5, 1.5) for op in problem.epilogue.ops if op.updates}
    made = {}
    for name, kind in problem.inputs.items():
        low, high = bounds.get(name, (-1.0, 1.0))
        values = torch.rand(problem.shape_of(kind), device=device, generator=generator)
        values = values.mul_(high - low).add_(low)
        if problem.data == "offset":
            _offset(name, values)
        made[name] = values.to(TORCH[problem.element_of(kind)])
    return made


def _offset(name: str, values: torch.Tensor) -> None:
    """Give columns of the product another mean and deviation."""
    if name == "x":
        values[:, -1] = 1.0
    elif name == "weight":
        values[::4] *= OFFSET_DEVIATION * RANDOM_DEVIATION
        values[::4, -1] = OFFSET_MEAN


def eager_model(problem: Problem) -> Callable[[Tensors], torch.Tensor]:
    """Return the model as PyTorch runs it; a first addition of [N] to the product is the linear layer's bias.

    Running statistics are updated in place, in the tensors that it is called with.
    """
    ops = problem.epilogue.ops
    bias = ops[0].arguments[1] if ops and _is_bias(problem, ops[0]) else None
    rest = ops[1:] if bias else ops

    def model(tensors: Tensors) -> torch.Tensor:
        values = dict(tensors)
        product = functional.linear(tensors["x"], tensors["weight"], tensors[str(bias)] if bias else None)
        values[ops[0].result if bias else "acc"] = product.to(TORCH[problem.product])
        for op in rest:
            result = run_batch_norm(op, values) if op.name == BATCH_NORM else _apply(op, _arguments(op, values))
            values[op.result] = result.to(TORCH[problem.element_of(op.type)])
        return values[problem.epilogue.result].to(TORCH[problem.output])

    return model


def _is_bias(problem: Problem, op: Op) -> bool:
    later = problem.epilogue.ops[1:]
    return (
        op.name == "add"
        and op.arguments[0] == "acc"
        and op.arguments[1] in problem.epilogue.operands
        and op.types[1].shape == ("N",)
        and problem.element_of(op.types[1]) == problem.element == problem.product
        and not any("acc" in other.arguments for other in later)
    )


def product_tolerance(problem: Problem, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Return how far each element of x w^T may be off; x and w are in float64."""
    k = math.sqrt(problem.k)
    factor = ACCUMULATION * k + (TF32_DEVIATIONS * TF32_ROUNDING / k if problem.dtype == "tf32" else 0.0)
    return factor * x.norm(dim=1)[:, None] * w.norm(dim=1)


def _exact_op(op: Op, values: Mapping[str, torch.Tensor]) -> Tensors:
    """Return an op's results in float64, by name."""
    return exact_batch_norm(op, values) if op.name == BATCH_NORM else {op.result: _apply(op, _arguments(op, values))}


def exact_outputs(epilogue: Epilogue, product: torch.Tensor, operands: Mapping[str, torch.Tensor]) -> Tensors:
    """Return the outputs of a product's epilogue in float64; operands are in float64 too.

    With batch norm the product must have all rows.
    """
    values: dict[str, torch.Tensor] = {**operands, "acc": product}
    for op in epilogue.ops:
        values |= _exact_op(op, values)
    return {"y": values[epilogue.result]} | {name: values[name] for name in epilogue.updates}


def tolerances(
    problem: Problem, product: torch.Tensor, error: torch.Tensor, operands: Mapping[str, torch.Tensor]
) -> Tensors:
    """Return how far each element of the outputs may be off when products are by `error`.

    Every value may be rounded to its type: Tenon and PyTorch differ in which they round. An error
    passes through an op as the op changes when an argument does.
    """
    values: dict[str, torch.Tensor] = {**operands, "acc": product}
    errors = {"acc": error + _rounding(problem.product, product)}
    for op in problem.epilogue.ops:
        results = _exact_op(op, values)
        if op.name == BATCH_NORM:
            found = batch_norm_errors(op, values, errors.get(str(op.argument("input")), 0.0))
        else:
            found = {op.result: _error(op, values, errors, results[op.result])}
        values |= results
        errors |= found
        errors[op.result] = found[op.result] + _rounding(problem.element_of(op.type), values[op.result])
    last, statistics = problem.epilogue.result, problem.epilogue.updates
    allowed = {"y": errors[last] + _rounding(problem.output, values[last])}
    for name, old in statistics.items():
        allowed[name] = errors[name] + _rounding(problem.element_of(problem.epilogue.operands[old]), values[name])
    return allowed


def _error(op: Op, values: Mapping[str, torch.Tensor], errors: Tensors, result: torch.Tensor) -> torch.Tensor:
    """Return how far an op's result may be off, rounding to its type left out."""
    arguments, total = _arguments(op, values), F32_ARITHMETIC * result.abs()
    for i, name in enumerate(op.arguments):
        if not isinstance(name, str):
            continue
        total = total + F32_ARITHMETIC * arguments[i].abs()
        if name in errors:
            low, high = (
                (_apply(op, [*arguments[:i], shifted, *arguments[i + 1 :]]) - result).abs()
                for shifted in (arguments[i] - errors[name], arguments[i] + errors[name])
            )
            total = total + torch.maximum(low, high)
    return total


def _rounding(element: str, values: torch.Tensor) -> torch.Tensor:
    """Return what rounding to a type changes at most."""
    facts = torch.finfo(TORCH[element])
    return values.abs() * (facts.eps / 2) + facts.smallest_normal * facts.eps
