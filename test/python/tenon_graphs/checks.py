# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What holds of a compiled graph: fused, op by op and its float64 reference against the oracle, and special values.

Each returns what is wrong, "" if nothing.
"""

from __future__ import annotations

import copy
import zlib
from functools import partial

import numpy as np
from tenon_model import Model

from .bounded import Bounded
from .dtypes import decode, encode
from .execute import bind_bounds, bind_entry, bind_reference, describe_misses
from .graph import Graph, Op, Value, draw_inputs, stages
from .memory import Guarded
from .oracle import evaluate

# As f32: denormals, what overflows when it is multiplied, and what is not a number.
SPECIAL = [0.0, -0.0, 1e-40, -1e-40, 1e38, -1e38, np.inf, -np.inf, np.nan]
LARGEST = float(np.finfo(np.float32).max)
PLACES = ("argmax", "argmin")


def fused_misses(graph: Graph, model: Model) -> str:
    """Compare a graph with the oracle; every tensor is cut out of a larger one whose rest must stay as it was."""
    inputs, memory = draw_inputs(graph), Guarded()
    call = bind_entry(model, graph.name, memory.copy(inputs), memory)
    misses = describe_misses(graph, call(), evaluate(graph, inputs))
    memory.check()
    return misses


def widened(graph: Graph) -> Graph:
    """Return the graph with every tensor in f64."""
    wide = copy.deepcopy(graph)
    for value in [*wide.inputs, *(v for op in wide.ops for v in op.results)]:
        value.dtype = "f64"
    for op in wide.ops:
        op.attributes.pop("precision", None)
    return wide


def reference_misses(graph: Graph, model: Model) -> str:
    """Compare the reference, which tenon-run --check trusts, with the oracle, to float64's last digits."""
    wide, inputs = widened(graph), draw_inputs(graph)
    exact = {v.name: decode(inputs[v.name], v.dtype) for v in graph.inputs}
    return describe_misses(wide, bind_reference(model, graph.name, inputs)(), evaluate(wide, exact))


def bounds_misses(graph: Graph, model: Model) -> str:
    """Compare a graph with its reference, within the bounds that tenon-run --check judges elements by."""
    inputs = draw_inputs(graph)
    reference, bounds = bind_reference(model, graph.name, inputs)(), bind_bounds(model, graph.name, inputs)()
    # Where an operand's error leaves a function's domain, as a logarithm's, its result has no bound.
    bounds = [np.where(np.isnan(error), np.inf, error) for error in bounds]
    expected = [Bounded(value, error) for value, error in zip(reference, bounds, strict=True)]
    return describe_misses(graph, bind_entry(model, graph.name, inputs)(), expected)


def run_stages(graph: Graph, model: Model, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Return what a graph gives whose ops were compiled each as a function of its own."""
    tensors = dict(inputs)
    for part in stages(graph):
        outputs = bind_entry(model, part.name, tensors)()
        tensors.update(zip([v.name for v in part.returns], outputs, strict=True))
    return [tensors[v.name] for v in graph.returns]


def stages_misses(graph: Graph, model: Model) -> str:
    """Compare what the ops give one by one with the oracle."""
    inputs = draw_inputs(graph)
    return describe_misses(graph, run_stages(graph, model, inputs), evaluate(graph, inputs))


def draw_special(graph: Graph, *, params: bool) -> dict[str, np.ndarray]:
    """Return inputs of which some elements are special values, those of parameters on demand."""
    inputs = draw_inputs(graph, 1)
    rng = np.random.default_rng(zlib.crc32(f"special {graph.name}".encode()))
    for value in graph.inputs:
        if value.is_param and not params:
            continue
        numbers = decode(inputs[value.name], value.dtype)
        chosen = rng.random(numbers.shape) < min(0.1, 3.0 / max(1, numbers.shape[-1] if numbers.shape else 1))
        with np.errstate(over="ignore"):
            inputs[value.name] = encode(np.where(chosen, rng.choice(SPECIAL, numbers.shape), numbers), value.dtype)
    return inputs


def has_one_type(graph: Graph) -> bool:
    """Tell whether nothing is rounded between a graph's ops that is not within a fused one."""
    dtypes = {v.dtype for v in [*graph.inputs, *(v for op in graph.ops for v in op.results)]}
    precise = all(op.attributes.get("precision", "fp32") == "fp32" for op in graph.ops)
    return precise and len(dtypes) == 1 and dtypes <= {"f32", "f64"}


def may_overflow(graph: Graph, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Tell of each element of the results whether a sum on the way may overflow in one order and not in another.

    Such a sum is finite, an infinity or, beside an infinity of the other sign, NaN.
    """

    def mark(op: Op, results: list[Bounded], known: dict[Value, Bounded]) -> list[Bounded]:
        x = abs(known[op.operands[0]].value)
        if op.attributes.get("of") in PLACES:  # which hide that an element is unsure
            rows = x.reshape(len(x), -1, x.shape[1] // op.attributes.get("parts", 1))
            return [Bounded(np.where(np.isnan(rows).any(2), np.nan, results[0].value), results[0].error)]
        if op.kind == "batch_sum":
            sizes = x.sum(0)
        elif op.kind == "mul":  # which may be added to something as one op
            sizes = abs(results[0].value)
        else:
            sizes = x @ abs(known[op.operands[1]].value).T if op.kind == "linear" else x.sum(-1, keepdims=True)
        largest = np.finfo(np.float32 if op.results[0].dtype == "f32" else np.float64).max
        return [Bounded(np.where(sizes < largest / 2, results[0].value, np.nan), results[0].error)]

    reduced = ("sum", "mean", *PLACES)
    kinds = ("linear", "mul", "batch_sum")
    sums = [op for op in graph.ops if op.kind in kinds or op.attributes.get("of") in reduced]
    finite = {}
    for value in graph.inputs:
        numbers = decode(inputs[value.name], value.dtype)
        finite[value.name] = encode(np.where(np.isfinite(numbers), numbers, 0.0), value.dtype)
    with np.errstate(all="ignore"):
        return [np.isnan(result.value) for result in evaluate(graph, finite, {op: partial(mark, op) for op in sums})]


def special_misses(graph: Graph, model: Model, plain: Model, *, exact: bool) -> str:
    """Compare what a graph makes of special values with what its ops make of them one by one.

    `exact`: NaNs, infinities and the rest must be at the same places, but where a sum depends on its order
    (`may_overflow`). Else what was finite must be.
    """
    inputs = draw_special(graph, params=exact)
    with np.errstate(all="ignore"):
        wanted = evaluate(graph, inputs)
    lines = []
    results, unsure = bind_entry(model, graph.name, inputs)(), may_overflow(graph, inputs)
    for index, (value, stored, before, bound, is_unsure) in enumerate(
        zip(graph.returns, results, run_stages(graph, plain, inputs), wanted, unsure, strict=True)
    ):
        got, expected = decode(stored, value.dtype), decode(before, value.dtype)
        # Where a value in between may have been over the largest number or not, nothing is asked.
        sure = np.isfinite(expected) & np.isfinite(bound.value) & (abs(bound.value) + bound.error < 0.5 * LARGEST)
        sure &= ~is_unsure
        with np.errstate(invalid="ignore"):
            off = sure & ~(abs(got - bound.value) <= bound.error)
        if exact:
            off |= ~is_unsure & (np.isnan(got) != np.isnan(expected))
            off |= ~is_unsure & (np.isinf(got) | np.isinf(expected)) & (got != expected)
        if off.any():
            at = tuple(int(i[0]) for i in np.nonzero(off))
            lines.append(
                f"special values: result {index} (%{value.name}) at {at}: got {got[at]!r}, op by op {expected[at]!r}, "
                f"expected {bound.value[at]!r} +- {bound.error[at]:.2g}; {int(off.sum())} of {off.size} are off"
            )
    return "\n".join([*lines, graph.mlir()]) if lines else ""
