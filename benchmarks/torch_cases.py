# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which models of the zoo are timed, at which precisions and sizes, and how they are made.

The zoo is test/python/torch_models. A model that chooses its own types is timed in those;
every other one in fp32, tf32 (float32 tensors whose products PyTorch may round) and bf16.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "test/python"))
from torch_models import MODELS, Model

PRECISIONS = ("bf16", "tf32", "fp32")
DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16}
OWN_PRECISION = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.float64: "fp64"}
FOUNDERS = ("linear_leaky_relu", "linear_scale_batch_norm_1024", "linear_scale_batch_norm_16384")
# torch.compile takes seconds for a model: beside the founders, in every precision, it is given these in bf16.
COMPARED = (
    "gelu",
    "chain_10",
    "residual",
    "per_feature",
    "bn_eval_plain",
    "two_bn_train",
    "gate",
    "transformer_mlp",
    "gated_mlp",
    "autoencoder",
)
# These are timed at other widths and at a large batch too.
SWEPT = ("relu", "silu", "chain_10", "residual", "bn_train_plain", "gate")
SMALL_BATCH, LARGE_BATCH = 128, 16384
# fp32 products take longest: a smaller batch than in other precisions will do.
FP32_BATCH = 1024
TRIAL_BATCH, TRIAL_WIDTH = 128, 64


@dataclass(frozen=True)
class Case:
    """A model at one precision and size; `compare`: torch.compile is timed too."""

    model: str
    precision: str
    batch: int
    width: int
    compare: bool = False

    @property
    def name(self) -> str:
        """Return what --cases is matched with."""
        return f"{self.model}-{self.precision}-{self.batch}x{self.width}"

    def build(self, device: str) -> nn.Module:
        """Return the module, made on the device; the same numbers each time."""
        model = MODELS[self.model]
        with torch.device(device):
            return model.build(self.width, None if fixes_types(model) else DTYPES[self.precision], device)

    def inputs(self, device: str) -> tuple[torch.Tensor, ...]:
        """Return normal inputs as those of the zoo, but drawn on the device."""
        model = MODELS[self.model]
        generator = torch.Generator(device).manual_seed(1)
        dtype = model.dtype if fixes_types(model) else DTYPES[self.precision]
        shapes = model.shapes(self.batch, self.width)
        return tuple(2.0 * torch.randn(s, generator=generator, device=device).to(dtype) for s in shapes)

    def set_precision(self) -> None:
        """Have PyTorch compute float32 products as the case asks."""
        torch.set_float32_matmul_precision("high" if self.precision == "tf32" else "highest")


def fixes_types(model: Model) -> bool:
    """Tell whether a model is about its types, so that they are not the benchmark's to choose."""
    return model.mixed or model.dtype != torch.float32


def all_cases() -> list[Case]:
    """Return every case, the most telling first, since a budget of time may cut off the rest."""
    compared = list(_compared())  # the slowest to measure
    names = {case.name for case in compared}
    bf16, others = (list(cases) for cases in _zoo())
    first = [*_founders(), *(case for case in bf16 if case.name not in names)]
    return _first_of_each_name([*first, *compared, *others, *_swept()])


def trial_cases() -> list[Case]:
    """Return cases of a size that a CPU computes at once: they try the scripts and measure nothing."""
    return _first_of_each_name([replace(case, batch=TRIAL_BATCH, width=TRIAL_WIDTH) for case in all_cases()])


def _first_of_each_name(cases: list[Case]) -> list[Case]:
    first: dict[str, Case] = {}
    for case in cases:
        first.setdefault(case.name, case)
    return list(first.values())


def _at_real_size(name: str, precision: str, compare: bool = False) -> Case:
    batch, width = MODELS[name].real
    if precision == "fp32" and name not in FOUNDERS:
        batch = min(batch, FP32_BATCH)
    return Case(name, precision, max(batch, SMALL_BATCH), width, compare)


def _founders() -> Iterator[Case]:
    for name in FOUNDERS:
        yield from (_at_real_size(name, precision, compare=True) for precision in PRECISIONS)


def _compared() -> Iterator[Case]:
    yield from (_at_real_size(name, "bf16", compare=True) for name in COMPARED)


def _zoo() -> tuple[Iterator[Case], Iterator[Case]]:
    """Return the models in bf16 or their own types, at real sizes and at a small batch, and in the other precisions."""
    free = [name for name, model in MODELS.items() if not fixes_types(model)]
    own = [(name, OWN_PRECISION[model.dtype]) for name, model in MODELS.items() if fixes_types(model)]
    cases = [(name, "bf16") for name in free] + own
    real = (_at_real_size(*case) for case in cases)
    small = (Case(name, precision, SMALL_BATCH, MODELS[name].real[1]) for name, precision in cases)
    others = (_at_real_size(name, precision) for precision in ("tf32", "fp32") for name in free)
    return chain(real, small), others


def _swept() -> Iterator[Case]:
    for name in SWEPT:
        for precision in ("bf16", "tf32"):
            for batch, width in ((SMALL_BATCH, 1024), (LARGE_BATCH, 1024), (LARGE_BATCH, 4096), (1024, 8192)):
                yield Case(name, precision, batch, width)
