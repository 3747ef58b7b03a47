# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a graph computes, in float64 with numpy, and a bound on any right result's error.

Each value carries a bound that follows the errors of its operands through the op, to first order
and element by element, and adds the op's own:

- a product of length K errs by (4 + 2 sqrt(K)) u |x| |w|^T, u = 2^-24 (f64: 2^-53): rounding errors
  of a long sum are random, and its blocks are shorter still. `precision<tf32>` and the like add
  what rounding x and w to that type costs.
- a function errs by OPERATION u of its value; where it is a difference of nearly equal numbers
  (gelu at negative x), of its input. Of 16 bits, the exact gelu errs by GELU_16_BITS (Spec's gelu-R3) more.
- a result of f16 or bf16 is rounded once, that of a cast too. Inside a fused op it need not be; the
  bound allows both.
- sums of training batch norm err by (8 + sqrt(M)) u of the mean magnitude.

An op that the compiler drops or repeats, or a rounding of f32 values to 16 bits, lands far outside
(test_numerics.py::test_bounds_notice_mistakes).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from .bounded import Bounded, by_rows
from .dtypes import ROUNDOFF, SUBNORMAL, compute_dtype, decode, round_to
from .graph import VIEWS, Graph, Op, Value

# Error of exp, tanh, erf and what is made of them, in units of u: MLIR's polynomials err by some 4.
OPERATION = 12.0
# Of the exact gelu of 16 bits: a part of its value, and the least value of which it is one.
GELU_16_BITS = {"f16": (2.0**-13, 2.0**-14), "bf16": (2.0**-11, 2.0**-27)}
# What one operand of a product loses, relatively; tensor cores cut tf32 off rather than round it.
PRECISION = {"fp32": 0.0, "tf32": 2.0**-10, "bf16": 2.0**-8, "fp16": 2.0**-11}

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def _gelu(x: np.ndarray, tanh: bool) -> np.ndarray:
    if tanh:
        return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1.0 + _erf(x / math.sqrt(2.0)))


def _leaky_relu(x: np.ndarray, negative_slope: float = 0.01) -> np.ndarray:
    return np.where(x > 0.0, x, negative_slope * x)


def _clamp(x: np.ndarray, min: float = -np.inf, max: float = np.inf) -> np.ndarray:
    return np.minimum(np.maximum(x, min), max)


def _draw_bounds(rng: random.Random) -> dict[str, object]:
    bounds = {"min": round(rng.uniform(-1.0, 0.0), 3), "max": round(rng.uniform(0.1, 2.0), 3)}
    return {key: bounds[key] for key in rng.choice([["min"], ["max"], ["min", "max"]])}


@dataclass(frozen=True)
class Unary:
    """A function of one operand, in float64.

    slope: the largest, with the attributes given.
    own: how far the op may be off, in units of u, and of what: the result, or the operand.
    draw: random attributes, for generate.py.
    magnitude: of results, from the operand's; None: the same.
    domain: into what generate.py moves the operand first; None: it stays.
    """

    function: Callable[..., np.ndarray]
    slope: Callable[..., float]
    own: float = OPERATION
    is_relative: bool = True
    draw: Callable[[random.Random], dict[str, object]] = lambda _: {}
    magnitude: Callable[[float], float] | None = None
    domain: tuple[float, float] | None = None


UNARY = {
    "relu": Unary(lambda x: np.maximum(x, 0.0), lambda: 1.0, own=0.0),
    "leaky_relu": Unary(
        _leaky_relu,
        lambda negative_slope=0.01: max(1.0, abs(negative_slope)),
        draw=lambda rng: {"negative_slope": rng.choice([0.01, 0.1, 0.25, 0.0, -0.5])},
    ),
    "gelu": Unary(_gelu, lambda tanh: 1.13, is_relative=False, draw=lambda rng: {"tanh": rng.random() < 0.5}),
    "gelu_derivative": Unary(
        lambda x: 0.5 * (1.0 + _erf(x / math.sqrt(2.0))) + x * np.exp(-0.5 * x**2) / math.sqrt(2.0 * math.pi),
        lambda: 0.8,
        magnitude=lambda _: 1.13,
    ),
    "silu": Unary(lambda x: x * _sigmoid(x), lambda: 1.1),
    "mish": Unary(lambda x: x * np.tanh(np.logaddexp(0.0, x)), lambda: 1.09),
    "softplus": Unary(
        lambda x, beta, threshold: np.where(beta * x > threshold, x, np.logaddexp(0.0, beta * x) / beta),
        lambda beta, threshold: 1.0,
        draw=lambda rng: {"beta": rng.choice([0.5, 1.0, 2.0]), "threshold": rng.choice([20.0, 50.0])},
        magnitude=lambda x: x + 1.4,
    ),
    "elu": Unary(
        lambda x, alpha, input_scale: np.where(x > 0.0, x, alpha * np.expm1(input_scale * np.minimum(x, 0.0))),
        lambda alpha, input_scale: max(1.0, alpha * input_scale),
        draw=lambda rng: {"alpha": rng.choice([1.0, 0.5]), "input_scale": rng.choice([1.0, 2.0])},
    ),
    "exp": Unary(np.exp, lambda: 2.8, magnitude=lambda _: 2.8, domain=(-1.0, 1.0)),
    "rsqrt": Unary(lambda x: 1.0 / np.sqrt(x), lambda: 1.5, magnitude=lambda _: 1.5, domain=(0.5, 2.0)),
    "log": Unary(np.log, lambda: 2.0, magnitude=lambda _: 0.7, domain=(0.5, 2.0)),
    "sigmoid": Unary(_sigmoid, lambda: 0.25, magnitude=lambda _: 1.0),
    "tanh": Unary(np.tanh, lambda: 1.0, magnitude=lambda _: 1.0),
    "clamp": Unary(_clamp, lambda **bounds: 1.0, own=1.0, draw=_draw_bounds, magnitude=lambda x: max(x, 2.0)),
}


def slice_of(first: int, step: int, size: int | str) -> slice:
    """Return the slice of one extent; all of it where its size has a name."""
    return slice(None) if isinstance(size, str) else slice(first, first + step * size, step)


class Oracle:
    """Evaluates ops; `rounds_product`: as cuBLASLt may, before it adds the bias (Spec's linear-R1)."""

    def __init__(self, op: Op, rounds_product: bool) -> None:
        self.op, self.rounds_product = op, rounds_product
        self.u = ROUNDOFF[compute_dtype(op.operands[0].dtype)]
        self.least = SUBNORMAL[compute_dtype(op.operands[0].dtype)]
        if self.u == ROUNDOFF["f64"]:
            self.u *= 4.0  # the oracle rounds as well

    def constant(self, value: float) -> Bounded:
        return Bounded(np.float64(value), np.float64(abs(value) * self.u))

    def unary(self, x: Bounded) -> Bounded:
        unary, attributes = UNARY[self.op.kind], self.op.attributes
        value, slope = unary.function(x.value, **attributes), unary.slope(**attributes)
        own = unary.own * self.u * abs(value if unary.is_relative else x.value) + self.shortened(value)
        if self.op.kind == "gelu_derivative":
            own = own + OPERATION * self.u  # of what it is a sum of
        return Bounded(value, slope * x.error + own)

    def shortened(self, value: np.ndarray) -> np.ndarray | float:
        """Return by how much a function may err more because its result is of 16 bits."""
        dtype = self.op.results[0].dtype
        if self.op.kind == "gelu" and not self.op.attributes["tanh"] and dtype in GELU_16_BITS:
            part, floor = GELU_16_BITS[dtype]
            return part * np.maximum(abs(value), floor)
        if self.op.kind == "gelu_derivative" and dtype in GELU_16_BITS:
            return GELU_16_BITS[dtype][0]
        return 0.0

    def binary(self, a: Bounded, b: Bounded) -> Bounded:
        size_a, size_b = abs(a.value), abs(b.value)
        match self.op.kind:
            case "add":
                value, error = a.value + b.value, a.error + b.error
            case "sub":
                value, error = a.value - b.value, a.error + b.error
            case "mul":
                value, error = a.value * b.value, a.error * size_b + b.error * size_a + a.error * b.error
            case "div":
                value = a.value / b.value
                error = (a.error + abs(value) * b.error) / np.maximum(size_b - b.error, 0.25 * size_b)
            case "min":
                value, error = np.minimum(a.value, b.value), np.maximum(a.error, b.error)
            case "max":
                value, error = np.maximum(a.value, b.value), np.maximum(a.error, b.error)
            case "gate":
                value = np.where(b.value <= 0.0, 0.0, a.value)
                # Which side of 0 a number near it is on is not known.
                unsure = abs(b.value) <= b.error
                error = np.where(unsure, size_a + a.error, np.where(b.value <= 0.0, 0.0, a.error))
        own = 0.0 if self.op.kind in ("min", "max", "gate") else 2.0 * self.u * abs(value)
        return Bounded(value, error + own)

    def linear(self, x: Bounded, w: Bounded, bias: Bounded | None = None) -> Bounded:
        product, sizes = x.value @ w.value.T, abs(x.value) @ abs(w.value).T
        lost = (4.0 + 2.0 * math.sqrt(x.value.shape[1])) * self.u
        lost += 2.0 * PRECISION[self.op.attributes.get("precision", "fp32")]
        # Each product may be rounded to a subnormal number.
        error = lost * sizes + x.value.shape[1] * self.least
        # Inputs have none, in a form that numpy multiplies slowly.
        if x.error.any():
            error += x.error @ abs(w.value).T
        if w.error.any():
            error += abs(x.value) @ w.error.T
        if bias is None:
            return Bounded(product, error)
        if self.rounds_product:
            error = error + ROUNDOFF[self.op.results[0].dtype] * (abs(product) + error)
        value = product + bias.value
        return Bounded(value, error + bias.error + self.u * (abs(value) + abs(product)))

    def normalise(self, distance: Bounded, inverse: Bounded, weight: Bounded | None, bias: Bounded | None) -> Bounded:
        """Return distance * inverse * weight + bias."""

        def times(a: Bounded, b: Bounded) -> Bounded:
            value = a.value * b.value
            error = a.error * abs(b.value) + b.error * abs(a.value) + a.error * b.error
            return Bounded(value, error + self.u * abs(value) + self.least)

        result = times(distance, inverse)
        if weight is not None:
            result = times(result, weight)
        if bias is not None:
            value = result.value + bias.value
            result = Bounded(value, result.error + bias.error + self.u * (abs(value) + abs(bias.value)))
        return result

    def inverse_deviation(self, variance: np.ndarray, error: np.ndarray) -> Bounded:
        """Return 1 / sqrt(variance + eps); the error is that of the smallest variance there may be."""
        eps = self.op.attributes["eps"]
        inverse = 1.0 / np.sqrt(variance + eps)
        largest = 1.0 / np.sqrt(np.maximum(variance - error, 0.0) + eps * (1.0 - self.u))
        return Bounded(inverse, largest - inverse + 4.0 * self.u * inverse)

    def batch_norm_inference(self, x: Bounded, groups: dict[str, list[Bounded]]) -> list[Bounded]:
        mean, variance = groups["stats"]
        value = x.value - mean.value
        # A back end may multiply out: x * scale - mean * scale.
        error = x.error + mean.error + 2.0 * self.u * (abs(x.value) + abs(mean.value))
        inverse = self.inverse_deviation(variance.value, variance.error)
        return [self.normalise(Bounded(value, error), inverse, *self.affine(groups))]

    @staticmethod
    def affine(groups: dict[str, list[Bounded]]) -> tuple[Bounded | None, Bounded | None]:
        return tuple(groups[g][0] if groups[g] else None for g in ("weight", "bias"))

    def distance(self, x: Bounded, mean: Bounded) -> Bounded:
        """Return x - mean."""
        value = x.value - mean.value
        return Bounded(value, x.error + mean.error + self.u * abs(value))

    @staticmethod
    def square(x: Bounded) -> Bounded:
        """Return x * x, with the error that x's makes of it."""
        return Bounded(x.value**2, 2.0 * abs(x.value) * x.error + x.error**2)

    def batch_norm_training(self, x: Bounded, groups: dict[str, list[Bounded]]) -> list[Bounded]:
        count = x.value.shape[0]
        lost = (8.0 + math.sqrt(count)) * self.u
        mean = x.value.mean(0)
        mean_error = x.error.mean(0) + lost * abs(x.value).mean(0)
        distance = by_rows(self.distance, x, Bounded(mean, mean_error))
        squares = by_rows(self.square, distance)
        variance = squares.value.mean(0)
        variance_error = squares.error.mean(0) + lost * variance
        inverse = self.inverse_deviation(variance, variance_error)
        results = [by_rows(self.normalise, distance, inverse, *self.affine(groups))]
        if groups["running"]:
            unbiased = count / (count - 1)
            batch = [Bounded(mean, mean_error), Bounded(variance * unbiased, variance_error * unbiased)]
            results += [self.update(old, new) for old, new in zip(groups["running"], batch, strict=True)]
        return results

    def update(self, old: Bounded, new: Bounded) -> Bounded:
        momentum = self.op.attributes["momentum"]
        kept, added = (1.0 - momentum) * old.value, momentum * new.value
        error = (1.0 - momentum) * old.error + momentum * new.error + 4.0 * self.u * (abs(kept) + abs(added))
        return Bounded(kept + added, error)

    def reduce_row(self, x: Bounded) -> Bounded:
        of, groups = self.op.attributes["of"], self.op.attributes.get("parts", 1)
        n = x.value.shape[1] // groups
        values, errors = (a.reshape(len(a), groups, n) for a in (x.value, x.error))
        if of in ("argmax", "argmin"):
            place = getattr(values, of)(2) + n * np.arange(groups)
            size = values if of == "argmax" else -values
            with np.errstate(invalid="ignore"):
                reach = (size + errors >= (size - errors).max(2, keepdims=True)).sum(2)
            # Another may be the largest: nothing is said of which.
            unsure = ((reach > 1) & (errors.max(2) > 0.0)) | ~np.isfinite(values).all(2)
            return Bounded(place.astype(np.float64), np.where(unsure, float(n), 0.0))
        if of in ("max", "min"):
            return Bounded(getattr(values, of)(2), errors.max(2))
        lost = (8.0 + math.sqrt(n)) * self.u
        value, error = (a.sum(2) for a in (values, errors + lost * abs(values)))
        return Bounded(value / n, error / n) if of == "mean" else Bounded(value, error)

    def batch_sum(self, x: Bounded) -> Bounded:
        lost = (8.0 + math.sqrt(len(x.value))) * self.u
        return Bounded(x.value.sum(0), (x.error + lost * abs(x.value)).sum(0))

    def view(self, tensors: list[np.ndarray]) -> np.ndarray:
        """Return what a view makes of values, or of their errors."""
        shape = self.op.results[0].shape
        match self.op.kind:
            case "slice":
                places = zip(self.op.attributes["offsets"], self.op.attributes["steps"], shape, strict=True)
                return tensors[0][tuple(slice_of(*place) for place in places)]
            case "reshape":
                return tensors[0].reshape(shape)
            case "concat":
                return np.concatenate(tensors, 1)
        raise AssertionError(self.op.kind)

    def run(self, operands: list[Bounded]) -> list[Bounded]:
        """Return the op's results before they are rounded to their types."""
        op = self.op
        if op.kind in VIEWS:
            parts = [[x.value for x in operands], [x.error for x in operands]]
            return [Bounded(*(self.view(tensors) for tensors in parts))]
        if op.kind == "linear":
            return [self.linear(*operands)]
        if op.kind == "cast":
            return operands
        if op.kind == "repeat_columns":
            (x,), times = operands, op.attributes["times"]
            return [Bounded(*(np.repeat(a + np.zeros_like(x.value), times, 1) for a in (x.value, x.error)))]
        if op.kind == "reduce_row":
            return [self.reduce_row(Bounded(operands[0].value, operands[0].error + np.zeros_like(operands[0].value)))]
        if op.kind == "batch_sum":
            return [self.batch_sum(*operands)]
        if op.kind.startswith("batch_norm"):
            by_value = dict(zip(op.operands, operands, strict=True))
            groups = {g: [by_value[v] for v in op.group(g)] for g in ("stats", "weight", "bias", "running")}
            return getattr(self, op.kind)(operands[0], groups)
        if "scalar" in op.attributes:
            scalar = self.constant(op.attributes["scalar"])
            operands = [scalar, *operands] if op.attributes.get("scalar_first") else [*operands, scalar]
        return [by_rows(self.unary if len(operands) == 1 else self.binary, *operands)]


def round_results(results: list[Bounded], dtype: str) -> list[Bounded]:
    """Return results with their values rounded to a dtype, which no bound allows for."""
    return [Bounded(round_to(result.value, dtype), result.error) for result in results]


def _round(dtype: str, result: Bounded) -> Bounded:
    """Add to a result's bound what rounding it to a dtype costs."""
    rounding = ROUNDOFF[dtype] * abs(result.value) + SUBNORMAL[dtype]
    return Bounded(result.value, result.error * (1.0 + ROUNDOFF[dtype]) + rounding)


Change = Callable[[list[Bounded], dict[Value, Bounded]], list[Bounded]]


def evaluate(
    graph: Graph,
    inputs: dict[str, np.ndarray],
    changes: dict[Op, Change] | None = None,
    *,
    rounds_product: bool = False,
) -> list[Bounded]:
    """Return what the graph returns for inputs as stored; `changes` makes mistakes in some ops' results."""
    known = {v: Bounded(decode(inputs[v.name], v.dtype), np.float64(0.0)) for v in graph.inputs}
    for op in graph.ops:
        results = Oracle(op, rounds_product).run([known[v] for v in op.operands])
        if changes and op in changes:
            results = changes[op](results, known)
        for value, result in zip(op.results, results, strict=True):
            known[value] = by_rows(partial(_round, value.dtype), result)
    return [known[v] for v in graph.returns]
