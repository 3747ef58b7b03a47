# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models with batch norm over several processes: what each process computes, and what all of them should."""

from __future__ import annotations

import copy
import dataclasses

import torch
import torch.distributed as dist
from tenon.torch import SyncBatchNorm
from torch import nn


@dataclasses.dataclass(frozen=True)
class Case:
    """A model, and how many rows each process of a world of `len(rows)` has."""

    rows: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    features: tuple[int, int] = (24, 40)
    momentum: float | None = 0.1
    affine: bool = True
    track: bool = True
    train: bool = True
    steps: int = 1
    far: bool = False  # columns whose mean is a thousand deviations
    group: tuple[int, ...] | None = None  # the others are another one
    two: bool = False  # two layers with a batch norm each

    def __str__(self) -> str:
        """Return what differs from the defaults."""
        given = [(f.name, getattr(self, f.name)) for f in dataclasses.fields(self)]
        parts = [f"{name}={value}" for name, value in given if value != self.__dataclass_fields__[name].default]
        return ",".join(parts).replace("torch.", "").replace(" ", "")


CASES = [
    Case((7, 3)),
    Case((1, 9)),
    Case((1, 1)),
    Case((0, 6)),
    Case((70, 130), torch.bfloat16),
    Case((70, 130), torch.float64),
    Case((70, 130), far=True),
    Case((7, 3), momentum=None, steps=3),
    Case((7, 3), affine=False),
    Case((7, 3), track=False),
    Case((7, 3), train=False),
    Case((8, 5), two=True, steps=2),
    Case((5, 1, 2)),
    Case((0, 4, 1)),
    Case((6, 5, 4), group=(0, 1)),
    Case((6, 5, 4), group=(0, 2), momentum=None, steps=2),
]


def build(case: Case) -> nn.Module:
    """Return the model with PyTorch's batch norm of one process."""
    torch.manual_seed(1)
    k, n = case.features

    def norm() -> nn.Module:
        layer = nn.BatchNorm1d(n, momentum=case.momentum, affine=case.affine, track_running_stats=case.track)
        for tensor in (layer.weight, layer.running_var):
            if tensor is not None:
                nn.init.uniform_(tensor, 0.5, 2.0)
        for tensor in (layer.bias, layer.running_mean):
            if tensor is not None:
                nn.init.normal_(tensor)
        return layer

    layers = [nn.Linear(k, n), norm(), nn.GELU()]
    if case.two:
        layers += [nn.Linear(n, n, bias=False), norm(), nn.ReLU()]
    model = nn.Sequential(*layers).requires_grad_(False)
    if case.far:
        model[0].bias += 1000.0
    return model.to(case.dtype).train(case.train)


def draw(case: Case, step: int) -> torch.Tensor:
    """Return the rows of all processes."""
    generator = torch.Generator().manual_seed(step)
    return torch.randn(sum(case.rows), case.features[0], generator=generator).to(case.dtype)


def split_ranks(case: Case) -> list[list[int]]:
    """Return the processes that normalise together."""
    ranks = range(len(case.rows))
    if case.group is None:
        return [list(ranks)]
    return [list(case.group), [rank for rank in ranks if rank not in case.group]]


def rows_of(case: Case, rank: int) -> slice:
    """Return which rows a process has."""
    start = sum(case.rows[:rank])
    return slice(start, start + case.rows[rank])


def statistics(model: nn.Module) -> list[torch.Tensor]:
    """Return what batch norms keep between calls."""
    return [buffer.cpu() for buffer in model.buffers()]


def run(case: Case, rank: int, compiled: bool, device: str = "cpu") -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return a process's results of each step, and what its batch norms keep."""
    # All processes call new_group. What is in none of the first one has another to itself.
    groups = [dist.new_group(ranks) for ranks in split_ranks(case)] if case.group else [None]
    group = next((g for g in groups if g is None or dist.get_rank(g) >= 0), None)
    model = SyncBatchNorm.convert_sync_batchnorm(build(case).to(device), group)
    # Alone, PyTorch reads the count of batches on the host where there is no momentum.
    is_whole = case.train and (case.momentum is not None or dist.get_world_size(group) > 1)
    function = torch.compile(model, backend="tenon", fullgraph=is_whole) if compiled else model
    with torch.no_grad():
        results = [function(draw(case, s)[rows_of(case, rank)].to(device)).cpu() for s in range(case.steps)]
    torch.compiler.reset()
    return results, statistics(model)


def expected(case: Case, rank: int) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return the same of one process that has all rows, in float64, as PyTorch computes it."""
    model = copy.deepcopy(build(case)).double()
    ranks = next(ranks for ranks in split_ranks(case) if rank in ranks)
    offset = sum(case.rows[r] for r in ranks if r < rank)
    with torch.no_grad():
        results = []
        for step in range(case.steps):
            x = torch.cat([draw(case, step)[rows_of(case, r)] for r in ranks]).double()
            results.append(model(x)[offset : offset + case.rows[rank]])
    return results, statistics(model)
