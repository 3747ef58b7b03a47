# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One layer with a usual epilogue, of any kind and size, on torch tensors; and what it computes in float64."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from tenon.bench.evaluate import TORCH
from tenon_graphs.dtypes import ROUNDOFF, SUBNORMAL
from tenon_graphs.graph import Graph, Op, Value
from tenon_graphs.tiled import LAYERS, linear

# Rounding x and w to nearest; of fp32, what their two parts and the product of the second ones leave out.
INPUT_ROUNDOFF = {"f16": 0.0, "bf16": 0.0, "tf32": 2.0**-11, "f32_by_bf16": 2.0**-8, "f32_by_fp16": 2.0**-11}
INPUT_ROUNDOFF["fp32"] = 2.0**-23
SLOPE = 0.125
Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Layer:
    """y = leaky_relu(x w^T + bias) + residual of dynamic M; `bare`: y = x w^T."""

    kind: str
    n: int
    k: int
    bare: bool = False

    @property
    def dtype(self) -> str:
        return LAYERS[self.kind][0]

    @property
    def name(self) -> str:
        return f"{'bare' if self.bare else 'layer'}_{self.kind}_{self.n}_{self.k}"

    def graph(self) -> Graph:
        x, w = Value("x", ("m", self.k), self.dtype), Value("w", (self.n, self.k), self.dtype, is_param=True)
        p, s, a, y = (Value(name, ("m", self.n), self.dtype) for name in "psay")
        graph = Graph(self.name, {}, dynamic=True, inputs=[x, w], ops=[linear(self.kind, x, w, p)], returns=[p])
        if not self.bare:
            bias, residual = Value("bias", (self.n,), "f32", is_param=True), Value("residual", y.shape, self.dtype)
            graph.inputs += [bias, residual]
            graph.ops += [Op("add", [p, bias], [s]), Op("leaky_relu", [s], [a], {"negative_slope": SLOPE})]
            graph.ops.append(Op("add", [a, residual], [y]))
            graph.returns = [y]
        return graph

    def draw(self, m: int, seed: int = 0) -> Tensors:
        """Return random inputs on the GPU: the product's variance is x's."""
        generator = torch.Generator("cuda").manual_seed(seed)
        shapes = {"x": (m, self.k), "w": (self.n, self.k), "bias": (self.n,), "residual": (m, self.n)}
        made = {}
        for name in ("x", "w") if self.bare else shapes:
            values = torch.rand(shapes[name], device="cuda", generator=generator) * 2.0 - 1.0
            if name == "w":
                values *= math.sqrt(3.0 / self.k)
            made[name] = values.to(torch.float32 if name == "bias" else TORCH[self.dtype])
        return made

    def exact(self, tensors: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the result in float64, and how far off a tiled kernel's may be.

        Errors of rounding x and w are independent, so that of a product grows as the norm of its terms: a lost
        step along K is far beyond it.
        """
        x, w = tensors["x"].double(), tensors["w"].double()
        product = x @ w.T
        error = (4.0 + 2.0 * math.sqrt(self.k)) * ROUNDOFF["f32"] * (x.abs() @ w.abs().T)
        error += 8.0 * INPUT_ROUNDOFF[self.kind] * (x.square() @ w.square().T).sqrt()
        value = product
        if not self.bare:
            bias, residual = tensors["bias"].double(), tensors["residual"].double()
            value = torch.nn.functional.leaky_relu(product + bias, SLOPE) + residual
            error += 8.0 * ROUNDOFF["f32"] * (product.abs() + bias.abs() + residual.abs())
        return value, error + ROUNDOFF[self.dtype] * (value.abs() + error) + SUBNORMAL[self.dtype]

    def assert_right(self, got: torch.Tensor, tensors: Tensors, what: str) -> None:
        """Fail unless a result is within its bound."""
        value, error = self.exact(tensors)
        off = ~((got.double() - value).abs() <= error)  # NaN is off too
        if bool(off.any()):
            at = tuple(off.nonzero()[0].tolist())
            raise AssertionError(
                f"{self.name}, M = {got.shape[0]}, {what}: at {at} got {got[at].item()!r}, expected "
                f"{value[at].item()!r} +- {error[at].item():.2g}; {int(off.sum())} of {off.numel()} are off"
            )


def same_bits(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Tell whether two tensors agree in every bit."""
    return torch.equal(first.contiguous().view(torch.uint8), second.contiguous().view(torch.uint8))
