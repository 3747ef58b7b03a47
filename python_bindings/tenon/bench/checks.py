# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of results against float64, in blocks of rows and columns, so that any shape fits into memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch

from tenon.bench.evaluate import TORCH, Tensors, exact_outputs, product_tolerance, tolerances
from tenon.bench.source import Problem

# Of a block: rows and columns at most, and elements of x or w.
SIDE, ELEMENTS = 4096, 1 << 26
CLOSE = 1e-4  # KernelBench's atol and rtol


@dataclass
class Errors:
    """What is known of a result's errors so far."""

    largest: float = 0.0
    squares: float = 0.0
    count: int = 0
    not_finite: int = 0
    worst: float = 0.0  # over the tolerance

    def add(self, got: torch.Tensor, exact: torch.Tensor, allowed: torch.Tensor) -> None:
        """Take a block into account."""
        difference = (got.double() - exact).abs()
        bad = ~difference.isfinite()
        self.not_finite += int(bad.sum())
        difference[bad] = 0.0
        self.largest = max(self.largest, difference.max().item())
        self.worst = max(self.worst, (difference / allowed).max().item())
        self.squares += difference.square().sum().item()
        self.count += difference.numel()

    @property
    def within(self) -> bool:
        """Tell whether every element is a number within its tolerance."""
        return not self.not_finite and self.worst <= 1.0

    @property
    def rms(self) -> float:
        """Give the root of the mean square."""
        return math.sqrt(self.squares / max(self.count, 1))

    def figures(self) -> dict[str, float]:
        """Return what reports have."""
        return {
            "max_error": self.largest,
            "rms_error": self.rms,
            "worst_error_over_tolerance": self.worst,
            "not_finite_count": self.not_finite,
        }


@dataclass(frozen=True)
class Block:
    """A part of the reference."""

    where: tuple[slice, slice]
    operands: Tensors  # in float64
    exact: Tensors  # each output's part, by name
    allowed: Tensors

    def part(self, name: str, output: torch.Tensor) -> torch.Tensor:
        """Return the part of an output that is in this block."""
        return output[self.where] if name == "y" else output[self.where[1]]


def reference(problem: Problem, tensors: Tensors) -> Iterator[Block]:
    """Yield the float64 result block by block; with batch norm a block has all rows."""
    whole = problem.epilogue.has_batch_norm
    side = max(1, min(SIDE, ELEMENTS // problem.k, SIDE * SIDE // problem.m if whole else SIDE))
    height = problem.m if whole else side
    for row in range(0, problem.m, height):
        rows = slice(row, row + height)
        x = tensors["x"][rows].double()
        for column in range(0, problem.n, side):
            columns = slice(column, column + side)
            w = tensors["weight"][columns].double()
            places = {"M": rows, "N": columns, "1": slice(None)}
            operands = {
                name: tensors[name][tuple(places[letter] for letter in kind.shape)].double()
                for name, kind in problem.epilogue.operands.items()
            }
            product = x @ w.T
            allowed = tolerances(problem, product, product_tolerance(problem, x, w), operands)
            yield Block((rows, columns), operands, exact_outputs(problem.epilogue, product, operands), allowed)


def compare(
    problem: Problem, tensors: Tensors, results: Mapping[str, Tensors], products: Tensors
) -> dict[str, dict[str, Errors]]:
    """Return the errors of each output, by contender; `results` has the outputs by name.

    Of `products`, bare products, those of the outputs that an exact epilogue makes of them,
    rounded to the output's type once.
    """
    outputs = ("y", *problem.epilogue.updates)
    found = {name: {output: Errors() for output in outputs} for name in (*results, *products)}
    for block in reference(problem, tensors):
        parts = {name: {o: block.part(o, result[o]) for o in outputs} for name, result in results.items()}
        for name, product in products.items():
            finished = exact_outputs(problem.epilogue, product[block.where].double(), block.operands)
            parts[name] = finished | {"y": finished["y"].to(TORCH[problem.output])}
        for name, part in parts.items():
            for output in outputs:
                found[name][output].add(part[output], block.exact[output], block.allowed[output])
    return found


def close(a: torch.Tensor, b: torch.Tensor) -> float:
    """Return the share of elements that are as close to those of `b` as KernelBench asks."""
    a, b = a.float(), b.float()
    return ((a - b).abs() <= CLOSE + CLOSE * b.abs()).double().mean().item()


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Tell whether two results are the same, NaNs included."""
    kind = {2: torch.int16, 4: torch.int32}[a.element_size()]
    return torch.equal(a.view(kind), b.view(kind))


def over(errors: Mapping[str, Mapping[str, Errors]], name: str, other: str) -> float | None:
    """Return one contender's rms error of y over another's, None where that has none or is exact."""
    if name not in errors or other not in errors or not errors[other]["y"].rms:
        return None
    return errors[name]["y"].rms / errors[other]["y"].rms
