# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times a function against what PyTorch would run in its place, on random tensors of the call's shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch.nn import functional

from tenon.torch.calls.call import FusedCall
from tenon.torch.choice.candidate import Candidate, Product, Scaled
from tenon.torch.choice.timing import time_in_turn

# Elements of a row that Inductor's kernels keep in registers; of longer ones they read again what they reduced.
_KEPT_COLUMNS = 1024
# How much longer Inductor's kernels take that round to 8 bits: of 4096x7168 SiLU and a cast took 43.9 us, and rows with
# their scales 98.8, where what is moved would have taken 28.5 and 60.7 (an H200, 2026-11-29).
_ROUNDING_TO_BYTES = 1.5
# The same of those with one of these: SiLU took 33.0 us where 28.5 were reckoned with, GELU 93 of 65.
_LONG = frozenset({"elu", "exp", "gelu", "log", "mish", "sigmoid", "silu", "softplus", "tanh"})
_OF_LONG = 1.15


def time_candidate(
    candidate: Candidate, calls: Sequence[FusedCall], call_behind: FusedCall | None = None
) -> tuple[list[float], float]:
    """Return the milliseconds of each call, and of PyTorch: cuBLAS's products and Inductor's kernels.

    What Inductor's kernels cost is taken from one elementwise op of PyTorch's on the same number of elements, by the
    number of tensors that they read and write, and from a maximum of rows where they reduce these. Where a kernel of
    Inductor's reads a result, it does the function's elementwise ops on the way, and only what else they read or write
    counts.

    A call's result that shall lie beside others is copied, where PyTorch's product is written there. Where the function
    need not have a norm's result written, the time of PyTorch is with that, and the time of `call_behind`, which reads
    it, if that is less.
    """
    generator = torch.Generator(candidate.device)
    generator.manual_seed(0)
    ahead = candidate.ahead
    other = ahead.candidate if ahead else candidate
    of_result = other.products[-1]
    steps = {
        "own": [_run(candidate, call, generator) for call in calls],
        "behind": [_run(other, call_behind, generator)] if call_behind else [],
        "library": [_cublas(product, candidate.device, generator) for product in other.products],
        "pass": [_elementwise(of_result.m, of_result.n, of_result.dtype, candidate.device, generator)],
    }
    if "reduce_row" in other.kinds:
        steps["reduction"] = [_reduction(of_result, candidate.device, generator)]
    if other.is_bare and other.placed:
        steps["copy"] = [_elementwise(of_result.m, other.placed, of_result.dtype, candidate.device, generator)]
    if ahead:
        steps["norm"] = [
            _elementwise(n, ahead.columns, ahead.dtype, candidate.device, generator) for n in (ahead.rows, 1)
        ]
    flat = iter(time_in_turn([step for group in steps.values() for step in group]))
    times = {name: [next(flat) for _ in group] for name, group in steps.items()}
    theirs = sum(times["library"]) + _rest(other, *times["pass"], *times.get("reduction", ()))
    theirs = min([theirs - sum(times.get("copy", ())) * 2 / 3, *times["behind"]])
    if ahead:
        theirs += ahead.share * max(times["norm"][0] - times["norm"][1], 0) / 3
    return times["own"], theirs


def time_apart(
    whole: Sequence[Product], parts: Sequence[Product], added: Sequence[Product], device: torch.device
) -> float:
    """Return how many milliseconds longer cuBLAS takes for products in parts, of which some are added to others."""
    generator = torch.Generator(device)
    generator.manual_seed(0)
    steps = [_cublas(product, device, generator) for product in (*whole, *parts)]
    steps += [_elementwise(product.m, product.n, product.dtype, device, generator) for product in added]
    times = time_in_turn(steps)
    return sum(times[len(whole) :]) - sum(times[: len(whole)])


def _run(candidate: Candidate, call: FusedCall, generator: torch.Generator) -> Callable[[], object]:
    """Return what calls a function with random tensors."""
    inputs = [
        _laid(_random(shape, getattr(torch, spec.dtype), candidate.device, generator), strides)
        for shape, strides, spec in zip(candidate.shapes, candidate.strides, candidate.spec.inputs, strict=True)
    ]
    return lambda: call(*inputs)


def _rest(candidate: Candidate, passes: float, reduction: float | None = None) -> float:
    """Return the time of Inductor's kernels: one that reduces rows takes longer to read them than another."""
    moved = _tensors_moved(candidate)
    factor = _slowness(candidate)
    if reduction is None:
        return factor * passes / 3 * moved
    if candidate.results and candidate.products[-1].n > _KEPT_COLUMNS and "repeat_columns" not in candidate.kinds:
        moved += 1 + candidate.addends
    return factor * (reduction + passes / 3 * max(moved - 1, 0))


def _slowness(candidate: Candidate) -> float:
    """Return how much longer Inductor's kernels take than to move what they do."""
    if any(output.dtype.startswith("float8") for output in candidate.spec.outputs):
        return _ROUNDING_TO_BYTES
    return _OF_LONG if _LONG.intersection(candidate.kinds) and "reduce_row" not in candidate.kinds else 1.0


def _tensors_moved(candidate: Candidate) -> int:
    """Return how many tensors of the result's size Inductor's kernels move for the function."""
    if candidate.is_bare:
        return 0
    if candidate.joined_as == "sums" and {"linear", "add"}.issuperset(candidate.kinds):
        return len(candidate.products) - 1 + candidate.addends  # cuBLAS adds what it reads to what it multiplies
    # A reduction over the batch reads the product once more; one kernel has all sums.
    reductions = sum("batch_norm_training" in kind for kind in candidate.kinds) + ("batch_sum" in candidate.kinds)
    if candidate.readers.kernel:
        return candidate.addends + candidate.kept_results + reductions
    products = len(candidate.products)
    if not candidate.readers.opaque:
        # One kernel would do this call's epilogue and that of the call that reads it.
        return products + candidate.addends + reductions
    return products + reductions + candidate.addends + candidate.results


def _random(shape: Sequence[int], dtype: torch.dtype, device: torch.device, generator: torch.Generator) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float32, device=device, generator=generator).to(dtype)


def _laid(tensor: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """Return a tensor whose dimensions lie in the order of such strides."""
    order = sorted(range(tensor.dim()), key=lambda d: -strides[d])
    return tensor.permute(order).contiguous().permute([order.index(d) for d in range(tensor.dim())])


def _cublas(product: Product, device: torch.device, generator: torch.Generator) -> Callable[[], object]:
    if product.scaled is not None:
        return _scaled(product, product.scaled, device, generator)

    def matrix(rows: int, is_turned: bool) -> torch.Tensor:
        shape = (product.k, rows) if is_turned else (rows, product.k)
        random = _random(shape, product.dtype, device, generator)
        return random.t() if is_turned else random

    x = matrix(product.m, product.turns_x)
    w = matrix(product.n, product.turns_w) / math.sqrt(product.k)
    y = torch.empty((product.m, product.n), dtype=product.dtype, device=device)
    return lambda: torch.mm(x, w.t(), out=y)


def _scaled(product: Product, scaled: Scaled, device: torch.device, generator: torch.Generator) -> Callable[[], object]:
    x, w = (_random((rows, product.k), scaled.dtype, device, generator) for rows in (product.m, product.n))
    blocks_of_k = math.ceil(product.k / 128)
    # As PyTorch asks scales of blocks to lie: columns of x's, and of w's in a multiple of four.
    s, t = {
        "tensor": lambda: (torch.ones((), device=device),) * 2,
        "row": lambda: (torch.ones(product.m, 1, device=device), torch.ones(1, product.n, device=device)),
        "block": lambda: (
            torch.ones(blocks_of_k, product.m, device=device).t(),
            torch.ones(math.ceil(product.n / 128), math.ceil(blocks_of_k / 4) * 4, device=device).t(),
        ),
    }[scaled.scaling]()
    if scaled.scaling == "block" and hasattr(functional, "scaled_mm"):
        recipes = functional.ScalingType.BlockWise1x128, functional.ScalingType.BlockWise128x128
        more = {"output_dtype": product.dtype, "use_fast_accum": scaled.fast}
        return lambda: functional.scaled_mm(x, w.t(), s, recipes[0], t, recipes[1], **more)
    more = {"out_dtype": product.dtype, "use_fast_accum": scaled.fast}
    return lambda: torch._scaled_mm(x, w.t(), scale_a=s, scale_b=t, **more)


def _elementwise(
    rows: int, columns: int, dtype: torch.dtype, device: torch.device, generator: torch.Generator
) -> Callable[[], object]:
    a, b = (_random((rows, columns), dtype, device, generator) for _ in range(2))
    c = torch.empty_like(a)
    return lambda: torch.add(a, b, out=c)


def _reduction(product: Product, device: torch.device, generator: torch.Generator) -> Callable[[], object]:
    a = _random((product.m, product.n), product.dtype, device, generator)
    b = torch.empty(product.m, dtype=product.dtype, device=device)
    return lambda: torch.amax(a, -1, out=b)
