# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The contenders' calls: each is a function that puts one run on the current stream, and its result."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from tenon import device as devices
from tenon.bench.config import Case
from tenon.bench.contender import Contender
from tenon.bench.evaluate import Tensors, eager_model
from tenon.bench.source import Problem

if TYPE_CHECKING:
    from tenon import Executable


# Without CUDA graphs of its own: every contender is timed in one of ours.
COMPILE_MODES = {"compile": "max-autotune-no-cudagraphs", "compile_default": "default"}


class Call:
    """A contender, ready to run on fixed data; `result` is what the last run gave."""

    bare = False  # whether it computes the product alone
    result: torch.Tensor
    statistics: Tensors  # new running ones, by name
    compile_s: float | None = None  # that PyTorch took to compile it

    @property
    def outputs(self) -> Tensors:
        """Return all outputs by name."""
        return {"y": self.result, **self.statistics}

    def __call__(self) -> None:
        """Put one run on the current stream."""
        raise NotImplementedError

    def poison(self) -> None:
        """Fill what a run writes with NaNs, where it is there before the run."""


class TenonCall(Call):
    """A compiled model; results and workspace lie where they are.

    Its parameters are prepared once, or with `new_parameters` in every run.
    """

    def __init__(self, problem: Problem, executable: Executable, tensors: Tensors, new_parameters: bool) -> None:
        """Load the model on the device of `tensors`, which are in the order of its arguments."""
        x = tensors["x"]
        self._device = (devices.CUDA, x.device.index or 0) if x.is_cuda else (devices.CPU, 0)
        self._executable = executable
        executable.load(*self._device)
        entry = executable.manifest["entries"][0]
        tensors = dict(zip(entry["inputs"], tensors.values(), strict=True))  # C's names
        self._steps: list[_Bound] = []  # of a run
        prepared: list[torch.Tensor] = []
        if "prepare" in entry:
            prepare = self._bind(entry["prepare"], tensors, [])
            prepare.run(self._stream())
            prepared = prepare.outputs
            if new_parameters:
                self._steps.append(prepare)
        self._steps.append(self._bind(entry["run"], tensors, prepared))
        self.result, *others = self._steps[-1].outputs
        self.statistics = dict(zip(problem.epilogue.updates, others, strict=True))

    def _bind(self, name: str, tensors: Tensors, prepared: list[torch.Tensor]) -> _Bound:
        function = next(f for f in self._executable.manifest["functions"] if f["name"] == name)
        queue = iter(prepared)
        inputs = [next(queue) if i["role"] == "prepared" else tensors[i["name"]] for i in function["inputs"]]
        return _Bound(self._executable.model.function(name).launcher(*self._device), function, inputs)

    def _stream(self) -> int:
        return torch.cuda.current_stream().cuda_stream if self._device[0] == devices.CUDA else 0

    def __call__(self) -> None:
        """Launch."""
        for step in self._steps:
            step.run(self._stream())

    def poison(self) -> None:
        """Overwrite all that a run writes."""
        for step in self._steps:
            step.workspace.fill_(0xFF)
            for output in step.outputs:
                output.fill_(float("nan"))


class _Bound:
    """One function of a model with its tensors."""

    def __init__(self, launcher: Any, function: dict[str, Any], inputs: list[torch.Tensor]) -> None:
        extents: dict[str, int] = {}
        for tensor, entry in zip(inputs, function["inputs"], strict=True):
            extents.update(
                (e, size) for e, size in zip(entry["shape"], tensor.shape, strict=True) if isinstance(e, str)
            )
        device = inputs[0].device
        self.outputs = [
            torch.empty([extents.get(e, e) for e in o["shape"]], dtype=getattr(torch, o["dtype"]), device=device)
            for o in function["outputs"]
        ]
        self._inputs, self._launcher = inputs, launcher
        self._extents = [extents[symbol] for symbol in launcher.symbols]
        self._bytes = launcher.workspace_bytes(self._extents)
        self.workspace = torch.empty(self._bytes + 256, dtype=torch.uint8, device=device)
        self._address = -(-self.workspace.data_ptr() // 256) * 256
        self._pointers = [t.data_ptr() for t in (*inputs, *self.outputs)]

    def run(self, stream: int) -> None:
        self._launcher(self._pointers, self._extents, self._address if self._bytes else 0, self._bytes, stream)


class ProductCall(Call):
    """cuBLAS's bare product, of the type of x and w, without bias."""

    bare = True

    def __init__(self, problem: Problem, tensors: Tensors) -> None:
        """Allocate the product."""
        self._x, self._w = tensors["x"], tensors["weight"].t()
        self.result, self.statistics = self._x.new_empty(problem.m, problem.n), {}

    def __call__(self) -> None:
        """Multiply."""
        torch.mm(self._x, self._w, out=self.result)

    def poison(self) -> None:
        """Overwrite the product."""
        self.result.fill_(float("nan"))


class ModelCall(Call):
    """The whole model as a function of PyTorch's; every run gives a new result, and updates running statistics."""

    def __init__(self, problem: Problem, model: Callable[[Tensors], torch.Tensor], tensors: Tensors) -> None:
        """Take a function of the tensors by name."""
        updates = problem.epilogue.updates
        self._model, self._before = model, {old: tensors[old] for old in updates.values()}
        self._tensors = tensors | {old: before.clone() for old, before in self._before.items()}
        self.statistics = {new: self._tensors[old] for new, old in updates.items()}

    def __call__(self) -> None:
        """Run."""
        self.result = self._model(self._tensors)

    def poison(self) -> None:
        """Let the running statistics be as before the first run."""
        for name, before in self._before.items():
            self._tensors[name].copy_(before)


def make_call(contender: Contender, case: Case, tensors: Tensors, executable: Executable | None) -> Call:
    """Return a contender's call; Tenon's need the executable."""
    problem = case.problem
    if executable:
        return TenonCall(problem, executable, tensors, case.new_parameters)
    if contender.name == "cublas":
        return ProductCall(problem, tensors)
    model = eager_model(problem)
    if contender.name not in COMPILE_MODES:
        return ModelCall(problem, model, tensors)
    mode = COMPILE_MODES[contender.name]
    begin = time.perf_counter()
    model = torch.compile(model, mode=mode, fullgraph=True, dynamic=problem.dynamic_m)
    call = ModelCall(problem, model, tensors)
    call()  # compiles
    call.compile_s = time.perf_counter() - begin
    return call


@contextlib.contextmanager
def precision(problem: Problem) -> Iterator[None]:
    """Have PyTorch use what the problem allows for products of f32."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if problem.dtype == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
