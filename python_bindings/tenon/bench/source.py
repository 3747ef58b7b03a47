# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models that are measured, as MLIR."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tenon.bench.epilogue import Epilogue
from tenon.bench.ops import Type

# The element type of x and w, and the contract on a product of f32.
DTYPES = {"f16": ("f16", ""), "bf16": ("bf16", ""), "tf32": ("f32", " precision<tf32>"), "fp32": ("f32", "")}
# What x and w hold: "offset" gives some columns of the product a mean far beyond their deviation.
DATA = ("random", "offset")


@dataclass(frozen=True)
class Problem:
    """A linear layer with its epilogue, at one size and type."""

    epilogue: Epilogue
    m: int
    n: int
    k: int
    dtype: str  # of DTYPES
    output: str  # of OUTPUTS
    dynamic_m: bool = False
    data: str = "random"  # of DATA

    @property
    def element(self) -> str:
        """Give the element type of x and w, T of the epilogue."""
        return DTYPES[self.dtype][0]

    @property
    def product(self) -> str:
        """Give that of the product, A of the epilogue: the output's where tenon.linear can give it, else f32."""
        return self.output if self.output in (self.element, "f32") else "f32"

    def element_of(self, kind: Type) -> str:
        """Return a type's element type."""
        return {"T": self.element, "A": self.product}.get(kind.element, kind.element)

    def shape_of(self, kind: Type) -> tuple[int, ...]:
        """Return a type's extents."""
        return tuple({"M": self.m, "N": self.n, "K": self.k, "1": 1}[letter] for letter in kind.shape)

    def spell(self, kind: Type) -> str:
        """Write a type as MLIR has it."""
        extents = {"M": "?" if self.dynamic_m else str(self.m), "N": str(self.n), "K": str(self.k), "1": "1"}
        return f"tensor<{'x'.join([*(extents[letter] for letter in kind.shape), self.element_of(kind)])}>"

    @property
    def inputs(self) -> dict[str, Type]:
        """Give all inputs in order."""
        return {"x": Type(("M", "K"), "T"), "weight": Type(("N", "K"), "T"), **self.epilogue.operands}

    def mlir(self) -> str:
        """Write the model. What has an extent M is an activation, running statistics a state, the rest parameters."""
        spell, last, updated = self.spell, self.epilogue.type, self.epilogue.updates.values()
        arguments = ", ".join(
            f"%{name}: {spell(kind)}{'' if 'M' in kind.shape or name in updated else ' {tenon.param}'}"
            for name, kind in self.inputs.items()
        )
        x, weight, acc = (
            spell(Type(shape, e)) for shape, e in ((("M", "K"), "T"), (("N", "K"), "T"), (("M", "N"), "A"))
        )
        body = [f"%acc = tenon.linear %x, %weight{DTYPES[self.dtype][1]} : ({x}, {weight}) -> {acc}"]
        body += [re.sub("tensor<[^<>]*>", lambda t: spell(Type.read(t[0])), line) for line in self.epilogue.lines]
        result = f"%{self.epilogue.result}"
        y = spell(Type(("M", "N"), self.output))
        if self.element_of(last) != self.output:
            body.append(f"%y = tenon.cast {result} : {spell(last)} -> {y}")
            result = "%y"
        results = {"y": (result, y)}
        results |= {n: (f"%{n}", spell(self.epilogue.operands[old])) for n, old in self.epilogue.updates.items()}
        values, kinds = (", ".join(column) for column in zip(*results.values(), strict=True))
        lines = "\n".join(f"  {line}" for line in [*body, f"return {values} : {kinds}"])
        named = ", ".join(f'{kind} {{tenon.name = "{name}"}}' for name, (_, kind) in results.items())
        return f"func.func @forward({arguments})\n    -> ({named}) {{\n{lines}\n}}\n"
