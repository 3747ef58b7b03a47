# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch norm over the batch of several processes, in a form that Tenon can cut a layer at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


@torch.library.custom_op("tenon::batch_moments", mutates_args=())
def batch_moments(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return mean and M2, the sum of squared distances from it, of each column of `[M, N]`; zeros if M is 0.

    In float32, or float64 where x is. Behind a linear layer Tenon has them from the product's own kernel.
    """
    mean, m2 = _empty_moments(x)
    if x.shape[0] == 0:
        return mean.zero_(), m2.zero_()
    variance, mean = torch.var_mean(x.to(mean.dtype), dim=0, correction=0)
    return mean, variance * x.shape[0]


@batch_moments.register_fake
def _empty_moments(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    mean = x.new_empty(x.shape[1], dtype=_statistics_dtype(x))
    return mean, torch.empty_like(mean)


@torch.library.custom_op("tenon::normalize", mutates_args=())
def normalize(
    x: torch.Tensor,
    mean: torch.Tensor,
    variance: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    eps: float,
) -> torch.Tensor:
    """Return `(x - mean) / sqrt(variance + eps) * weight + bias`, where statistics are not parameters.

    Tenon computes it together with what follows it, without a linear layer before it.
    """
    weight, bias = (t if t is None else t.to(mean.dtype) for t in (weight, bias))
    return F.batch_norm(x, mean, variance, weight, bias, training=False, eps=eps).contiguous()


@normalize.register_fake
def _(x, mean, variance, weight, bias, eps):  # noqa: ANN001, ANN202
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _statistics_dtype(x: torch.Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


class SyncBatchNorm(nn.SyncBatchNorm):
    """`torch.nn.SyncBatchNorm` whose forward pass compiles: on CPUs and GPUs, by any backend of torch.distributed.

    Between the two halves of a layer, product with moments and normalisation with what follows, stands one
    all-gather of `[2 N + 1]` numbers. All processes combine them in the same order, so they have the same
    statistics, bit for bit. What may need a gradient is left to `torch.nn.SyncBatchNorm`.

    Example::

        model = tenon.torch.SyncBatchNorm.convert_sync_batchnorm(model)
        compiled = torch.compile(model, backend="tenon")
        with torch.no_grad():
            y = compiled(x)

    """

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Normalise `[M, N]` or `[M, N, ...]` over all but dimension 1, and over the processes of the group."""
        is_together = self.training and dist.is_available() and dist.is_initialized()
        group = (self.process_group or dist.group.WORLD) if is_together else None
        if group is None or dist.get_world_size(group) == 1:
            return super(nn.SyncBatchNorm, self).forward(input)
        if dist.get_world_size(group) < 0:
            raise ValueError("this process is not in the batch norm's process_group; give it one that it is in")
        if _needs_gradient(input, self.weight, self.bias):
            return super().forward(input)
        self._check_input_dim(input)
        self._check_non_zero_input_channels(input)
        rows = input if input.dim() == 2 else input.movedim(1, -1).reshape(-1, input.shape[1])
        mean, variance, count = gather_statistics(rows, group)
        if self.track_running_stats:
            self._update(mean, variance, count)
        return torch.ops.tenon.normalize(input, mean, variance, self.weight, self.bias, self.eps)

    def _update(self, mean: torch.Tensor, variance: torch.Tensor, count: torch.Tensor) -> None:
        """Move the running statistics; without a momentum they are the mean over all batches.

        A batch of fewer than two rows has no unbiased variance and moves nothing.
        """
        has_variance = count > 1
        self.num_batches_tracked.add_(has_variance)
        unbiased = variance * (count / (count - 1).clamp(min=1))
        for running, value in ((self.running_mean, mean), (self.running_var, unbiased)):
            momentum = self.momentum
            if momentum is None:
                momentum = 1 / self.num_batches_tracked.to(running.dtype).clamp(min=1)
            running.lerp_(value.to(running.dtype), has_variance.to(running.dtype) * momentum)

    @classmethod
    def convert_sync_batchnorm(cls, module: nn.Module, process_group: ProcessGroup | None = None) -> nn.Module:
        """Replace all batch norms of a module, `torch.nn.SyncBatchNorm` among them, and return it.

        Args:
            module: is changed, unless it is a batch norm itself; parameters and buffers stay the same tensors.
            process_group: of batch norms that have none yet; None stands for all processes.

        """
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            return cls._of(module, process_group)
        new: dict[nn.Module, nn.Module] = {}  # one that stands in several places stays one
        for parent in list(module.modules()):
            for name, child in parent._modules.items():
                if isinstance(child, nn.modules.batchnorm._BatchNorm):
                    parent.add_module(name, new.setdefault(child, cls._of(child, process_group)))
        return module

    @classmethod
    def _of(cls, norm: nn.modules.batchnorm._BatchNorm, group: ProcessGroup | None) -> SyncBatchNorm:
        if isinstance(norm, cls):
            return norm
        group = getattr(norm, "process_group", None) or group
        new = cls(norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats, group, "meta")
        new._parameters, new._buffers = dict(norm._parameters), dict(norm._buffers)
        return new.train(norm.training)


def gather_statistics(rows: torch.Tensor, group: ProcessGroup) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return mean, biased variance and count of the rows `[M, N]` of all processes of a group.

    (count, mean, M2) are gathered at once and combined in float64, the first process's first.
    """
    mean, m2 = torch.ops.tenon.batch_moments(rows)
    own = torch.cat([mean, m2, mean.new_full((1,), rows.shape[0])])
    n = rows.shape[1]
    gathered = _all_gather(own, group).view(-1, 2 * n + 1).double()
    means, m2s, counts = gathered.split([n, n, 1], dim=1)
    count = counts.sum()
    shares = counts / count.clamp(min=1)
    combined = (shares * means).sum(0)
    variance = (m2s / count.clamp(min=1) + shares * (means - combined).square()).sum(0)
    return combined.to(mean.dtype), variance.to(mean.dtype), count.to(mean.dtype)


def _all_gather(own: torch.Tensor, group: ProcessGroup) -> torch.Tensor:
    """Return the vectors of all processes in one, by the ops that Dynamo makes of a collective."""
    functional = torch.ops._c10d_functional
    gathered = functional.all_gather_into_tensor(own, dist.get_world_size(group), group.group_name)
    return functional.wait_tensor(gathered)


def _needs_gradient(*tensors: torch.Tensor | None) -> bool:
    return torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)
