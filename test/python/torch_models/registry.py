# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model of the zoo is: an nn.Module of any width, its inputs, and what Tenon is expected to fuse in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

Shape = tuple[int, ...]


def one_matrix(batch: int, width: int) -> tuple[Shape, ...]:
    """Return the shapes of a model's inputs: a matrix with a row for each sample."""
    return ((batch, width),)


@dataclass(frozen=True)
class Model:
    """One model of the zoo.

    `fused` is the number of linears that Tenon takes, each with all ops behind it that the dialect has, and
    `calls` the number of compiled calls that they are spread over; the rest is PyTorch's. `real` is the batch
    and the width at which a benchmark is of interest.
    """

    name: str
    make: Callable[[int], nn.Module]
    fused: int
    calls: int = 1
    shapes: Callable[[int, int], tuple[Shape, ...]] = one_matrix
    training: bool = False
    dtype: torch.dtype = torch.float32
    # Whether the model chooses the dtypes of its own tensors; `dtype` is its inputs' then.
    mixed: bool = False
    # Whether the result depends on random numbers.
    random: bool = False
    real: tuple[int, int] = (4096, 4096)

    def build(
        self, width: int = 64, dtype: torch.dtype | None = None, device: torch.device | str = "cpu", seed: int = 0
    ) -> nn.Module:
        """Return the module, in train or eval mode as the model asks; the same numbers for the same seed."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = self.make(width)
            for part in module.modules():
                if isinstance(part, nn.modules.batchnorm._BatchNorm):
                    _draw_batch_norm(part)
        if not self.mixed:
            module = module.to(dtype or self.dtype)
        return module.to(device).train(self.training)

    def inputs(
        self,
        batch: int = 33,
        width: int = 64,
        dtype: torch.dtype | None = None,
        device: torch.device | str = "cpu",
        seed: int = 1,
    ) -> tuple[torch.Tensor, ...]:
        """Return inputs for a batch, drawn from a normal distribution; the same numbers on each device."""
        generator = torch.Generator().manual_seed(seed)
        if self.mixed:
            dtype = None
        drawn = [2.0 * torch.randn(shape, generator=generator) for shape in self.shapes(batch, width)]
        return tuple(tensor.to(dtype or self.dtype).to(device) for tensor in drawn)


def _draw_batch_norm(module: nn.Module) -> None:
    """Give a new batch norm, whose ones and zeros would hide mistakes, other numbers."""
    with torch.no_grad():
        for tensor in (module.bias, module.running_mean):
            if tensor is not None:
                tensor.normal_()
        for tensor in (module.weight, module.running_var):
            if tensor is not None:
                tensor.uniform_(0.5, 1.5)
        if module.weight is not None:
            module.weight[::3].neg_()


MODELS: dict[str, Model] = {}


def register(name: str, **facts: object) -> Callable:
    """Enter a class, or a function from width to module, into the zoo."""

    def enter(make: Callable[[int], nn.Module]) -> Callable[[int], nn.Module]:
        assert name not in MODELS, name
        MODELS[name] = Model(name, make, **facts)
        return make

    return enter
