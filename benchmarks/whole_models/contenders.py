# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The contenders: how each is made of a module, and what one step of it is."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import torch
from torch import nn

from whole_models.exact import Observed, beside, gradients_of, leaves, loss_of
from whole_models.jobs import CAPTURED, SCENARIOS, Job
from whole_models.models import MODELS

DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}


class Workload:
    """A job's module, inputs and target; every contender gets its own copy of the module."""

    def __init__(self, job: Job) -> None:
        """Make them on the device."""
        self.job, self.model, scenario = job, MODELS[job.model], SCENARIOS[job.scenario]
        self.sizes = self.model.tiny if job.tiny else self.model.real
        dtype = DTYPES[scenario.precision]
        self.gradients = scenario.gradients
        self.module = self.model.build(self.sizes, dtype, job.device).train(self.gradients or self.model.train)
        self.inputs = self.model.inputs(self.sizes, dtype, job.device)
        if self.gradients and self.model.inside:
            for t in self.inputs:
                t.requires_grad_(t.is_floating_point())
        self.target: torch.Tensor | None = None

    def draw_target(self) -> None:
        """Draw what a training step's output should be; needs one eager call, which tells the shape."""
        with torch.no_grad():
            output = copy.deepcopy(self.module)(*self.inputs)
        generator = torch.Generator(output.device).manual_seed(2)
        self.target = torch.randn(output.shape, generator=generator, device=output.device).to(output.dtype)

    def contender(self, name: str) -> Contender:
        """Return one of CONTENDERS, not called yet."""
        module = copy.deepcopy(self.module)
        call = compiled(name, module, self.job)
        has_optimizer = SCENARIOS[self.job.scenario].optimizer
        return Contender(module, call, self.inputs, self.target, self.job.mode, has_optimizer)


class Contender:
    """A copy of the module, and what runs it."""

    def __init__(
        self,
        module: nn.Module,
        call: Callable,
        inputs: Sequence[torch.Tensor],
        target: torch.Tensor | None,
        mode: str,
        has_optimizer: bool,
    ) -> None:
        """Keep them; with a target a step is a training step, that of an optimizer included where it has one."""
        self.module, self.call, self.inputs, self.target = module, call, inputs, target
        self.marks = mode not in ("default", CAPTURED)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.captured: torch.Tensor | None = None
        self.leaves = leaves(module, inputs)
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        self.optimizer = torch.optim.SGD(self.parameters, lr=0.0) if has_optimizer else None

    def step(self) -> torch.Tensor:
        """Run once; in a training step, as before each an optimizer would have, parameters count as changed."""
        if self.graph:
            self.graph.replay()
            return self.captured
        if self.marks:
            torch.compiler.cudagraph_mark_step_begin()
        if self.target is None:
            return self.call(*self.inputs)
        for t in self.leaves:
            t.grad = None
        output = self.call(*self.inputs)
        loss_of(output, self.target).backward()
        if self.optimizer:
            self.optimizer.step()
        else:
            torch.autograd.graph.increment_version(self.parameters)
        return output

    def capture(self) -> None:
        """Have steps replay one that is captured now, so that they take the GPU's time alone."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.captured = self.step()
        self.graph = graph

    def observe(self) -> Observed:
        """Run once and return copies of what came of it."""
        output = beside(self.step()).detach().clone()
        if self.target is None:
            return Observed(output)
        return Observed(output, [g.detach().clone() for g in gradients_of(self.module, self.inputs)])


def compiled(name: str, module: nn.Module, job: Job) -> Callable:
    """Return what the contender calls in place of the module."""
    if name == "eager":
        return module
    mode = {} if job.mode in ("default", CAPTURED) else {"mode": job.mode}
    if name == "compile":
        return torch.compile(module, **mode)
    if mode and job.options:
        raise ValueError("torch.compile takes options or a mode, not both")
    return torch.compile(module, backend="tenon", **mode, **({"options": job.options} if job.options else {}))


def set_precision() -> None:
    """Have products and convolutions of float32 tensors keep float32's accuracy."""
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
