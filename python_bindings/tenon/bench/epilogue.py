# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Epilogues: what follows the product, as MLIR text with letters for extents and element types.

The same text makes the model that Tenon compiles, the one that PyTorch runs and the float64 reference.
In its types M and N are the product's extents, T is the element type of x and w, and A that of the
product, %acc. What the text uses and does not define is an operand. Its last op gives the result;
a training batch norm's new running statistics are results too.
"""

from __future__ import annotations

from dataclasses import dataclass

from tenon.bench.ops import BATCH_NORM, EXAMPLE, EpilogueError, Op, Type, read_op, spell

_BIAS = EXAMPLE
_BATCH_NORM = (
    "{result}, %new_mean, %new_var = tenon.batch_norm_training {input} weight(%gamma) bias(%beta) "
    "running(%mean, %var) : (tensor<MxNxA>, tensor<Nxf32>, tensor<Nxf32>, tensor<Nxf32>, tensor<Nxf32>) "
    "-> (tensor<MxNxA>, tensor<Nxf32>, tensor<Nxf32>)"
)
NAMED = {
    "none": (),
    "bias": (_BIAS,),
    "bias_relu": (_BIAS, "%1 = tenon.relu %0 : tensor<MxNxA>"),
    "bias_gelu": (_BIAS, "%1 = tenon.gelu %0 : tensor<MxNxA>"),
    "bias_silu": (_BIAS, "%1 = tenon.silu %0 : tensor<MxNxA>"),
    "bias_mul2_leaky_relu": (
        _BIAS,
        "%1 = tenon.mul %0, 2.0 : tensor<MxNxA>",
        "%2 = tenon.leaky_relu %1 {negative_slope = 0.1} : tensor<MxNxA>",
    ),
    "bias_gelu_residual_clamp": (
        _BIAS,
        "%1 = tenon.gelu %0 : tensor<MxNxA>",
        "%2 = tenon.add %1, %residual : tensor<MxNxA>, tensor<MxNxT>",
        "%3 = tenon.clamp %2 {min = -1.0, max = 1.0} : tensor<MxNxA>",
    ),
    "scale": ("%0 = tenon.mul %acc, %scale : tensor<MxNxA>, tensor<NxT>",),
    "row_scale_bias": (
        "%0 = tenon.mul %acc, %row : tensor<MxNxA>, tensor<Mx1xT>",
        "%1 = tenon.add %0, %bias : tensor<MxNxA>, tensor<NxT>",
    ),
    "bias_scale_batch_norm": (
        _BIAS,
        "%1 = tenon.mul %0, %scale : tensor<MxNxA>, tensor<NxT>",
        _BATCH_NORM.format(result="%2", input="%1"),
    ),
    "bias_batch_norm_gelu": (
        _BIAS,
        _BATCH_NORM.format(result="%1", input="%0"),
        "%2 = tenon.gelu %1 : tensor<MxNxA>",
    ),
}

TAKEN = ("x", "weight", "y", "acc")  # names of the model's own


@dataclass(frozen=True)
class Epilogue:
    """An epilogue as text and as ops; `operands` are in the order of their first use."""

    name: str
    lines: tuple[str, ...]
    ops: tuple[Op, ...]
    operands: dict[str, Type]

    @property
    def result(self) -> str:
        """Name the value that the model returns."""
        return self.ops[-1].result if self.ops else "acc"

    @property
    def type(self) -> Type:
        """Give that value's type."""
        return self.ops[-1].type if self.ops else Type(("M", "N"), "A")

    @property
    def has_batch_norm(self) -> bool:
        """Tell whether an output depends on all rows."""
        return any(op.name == BATCH_NORM for op in self.ops)

    @property
    def updates(self) -> dict[str, str]:
        """Give the new running statistics in order: the result's name, and that of the operand which it replaces."""
        return {new: old for op in self.ops for new, old in op.updates.items()}


def read_epilogue(name: str, lines: tuple[str, ...]) -> Epilogue:
    """Read an epilogue's text; raises EpilogueError."""
    lines = tuple(line.strip() for line in lines if line.strip())
    values = {"acc": Type(("M", "N"), "A")}
    operands: dict[str, Type] = {}
    ops = []
    for line in lines:
        op = read_op(line)
        for argument, given in zip([a for a in op.arguments if isinstance(a, str)], op.types, strict=True):
            known = values.get(argument) or operands.setdefault(argument, given)
            if known != given:
                raise EpilogueError(f"'{line}': %{argument} has the type {spell(known)} elsewhere; give it one type")
        for result in (op.result, *op.statistics):
            if result in values or result in operands or result in TAKEN:
                raise EpilogueError(f"'{line}': %{result} is there already; give the result another name")
        values[op.result] = op.type
        values |= {new: operands[old] for new, old in op.updates.items()}
        ops.append(op)
    epilogue = Epilogue(name, lines, tuple(ops), operands)
    for word in (*operands, *epilogue.updates):
        if word in TAKEN or not word.isidentifier():
            raise EpilogueError(
                f"an operand cannot be called %{word}, nor a new running statistic: values are defined before their "
                f"use, and names are identifiers other than {', '.join(TAKEN)}"
            )
    if epilogue.type.shape != ("M", "N"):
        raise EpilogueError(f"the last op gives {spell(epilogue.type)}; it must give tensor<MxN...>, the result")
    return epilogue
