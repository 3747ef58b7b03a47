# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A process group of one process, and a training step of two processes."""

import contextlib
import copy

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

from .check import FRONT_ENDS
from .own import Block


@contextlib.contextmanager
def group_of_one(folder):
    """Have torch.distributed work in this process alone."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
    try:
        yield
    finally:
        dist.destroy_process_group()


def step(call, module, x):
    """Return the gradients of one training step."""
    module.zero_grad(set_to_none=True)
    call(x).square().mean().backward()
    return [p.grad.clone() for p in module.parameters()]


def serve(rank, folder, way):
    """Compare one process's gradients with those of the whole batch."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    module = Block()
    x = torch.randn(4, 16, 32)
    whole = copy.deepcopy(module)
    expected = step(whole, whole, x)
    parallel = DistributedDataParallel(module)
    got = step(FRONT_ENDS[way](parallel), module, x[2 * rank : 2 * rank + 2])
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)
    dist.destroy_process_group()


def run_two(folder, way):
    """Run both processes; raises where one fails."""
    mp.spawn(serve, (str(folder), way), nprocs=2, join=True)
