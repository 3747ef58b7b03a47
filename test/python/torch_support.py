# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cuts functions of PyTorch as the front end does, keeps what came of it, and runs it on the CPU."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from typing import Any

import tenon
import torch
from tenon.torch.calls.call import FusedCall
from tenon.torch.capture import capture_inference
from tenon.torch.fusion.partition import Missed, Partition, missed_of, partition
from tenon_graphs.execute import TENON_OPT
from torch import fx

_TOLERANCES = {torch.float64: 1e-12, torch.float32: 2e-5, torch.bfloat16: 4e-2, torch.float16: 5e-3}


class Cut:
    """A function that was cut; calling it runs what Tenon compiled of it.

    Attributes:
        graph: the rewritten graph.
        partitions: what Tenon took.
        missed: what it did not.

    """

    graph: fx.GraphModule
    partitions: list[Partition]
    missed: list[Missed]

    def __init__(
        self,
        function: Callable,
        *inputs: Any,
        dynamic: bool = False,
        precision: str | None = None,
        norms_ahead: str = "never",
    ) -> None:
        """Cut a function for these inputs; nn.Parameters are parameters, and `dynamic` is of the first's rows."""
        torch._dynamo.reset()
        self._precision, self._norms_ahead = precision, norms_ahead
        self._compiled = torch.compile(function, backend=self._backend, fullgraph=True)
        if dynamic:
            torch._dynamo.mark_dynamic(inputs[0], 0)
        self(*inputs)
        for part in self.partitions:
            verify(part.source)

    def __call__(self, *inputs: Any) -> Any:
        """Run without gradients."""
        with torch.no_grad():
            return self._compiled(*inputs)

    @property
    def source(self) -> str:
        """The text of the only partition."""
        assert len(self.partitions) == 1
        return self.partitions[0].source

    @property
    def ops(self) -> list[str]:
        """The ops of the only partition, in order."""
        return re.findall(r"= tenon\.(\w+) ", self.source)

    @property
    def kept(self) -> list[str]:
        """The ops that PyTorch runs."""
        targets = [n.target for n in self.graph.graph.nodes if n.op == "call_function"]
        return [t._opname for t in targets if isinstance(t, torch._ops.OpOverload)]

    def _backend(self, graph: fx.GraphModule, inputs: list[Any]) -> Callable:
        known = {i for i, t in enumerate(inputs) if isinstance(t, torch.nn.Parameter)}

        def compiler(aten: fx.GraphModule, fakes: Any) -> Callable:
            placeholders = aten.graph.find_nodes(op="placeholder")
            names = {n.name for i, n in enumerate(placeholders) if i in known}
            self.partitions = partition(aten, names, self._precision, norms_ahead=self._norms_ahead)
            self.graph, self.missed = aten, missed_of(aten)
            for part in self.partitions:
                part.node.target = FusedCall(part, tenon.compile(part.source, target="cpu", name=part.name))
            aten.recompile()
            return aten.forward

        return capture_inference(graph, inputs, compiler)


def verify(source: str) -> None:
    """Have tenon-opt read and verify a module; raise AssertionError with its message."""
    done = subprocess.run([TENON_OPT, "-"], input=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{source}\n{done.stderr}"


def parameter(*shape: int, dtype: torch.dtype = torch.float32) -> torch.nn.Parameter:
    """Return a parameter of random numbers."""
    return torch.nn.Parameter(torch.randn(shape, dtype=dtype), requires_grad=False)


def assert_as_eager(cut: Cut, function: Callable, *inputs: Any) -> None:
    """Compare results with eager's: dtypes and layout exactly, values but for the roundings that fusion leaves out."""
    with torch.no_grad():
        expected = function(*inputs)
    actual = cut(*inputs)
    if isinstance(expected, torch.Tensor):
        expected, actual = (expected,), (actual,)
    for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
        assert (a.dtype, a.shape, a.stride()) == (e.dtype, e.shape, e.stride()), f"result {i}"
        tolerance = max(_TOLERANCES[t.dtype] for t in (e, *inputs) if t.is_floating_point())
        torch.testing.assert_close(a, e, rtol=tolerance, atol=tolerance, equal_nan=True, msg=lambda m, i=i: f"{i}: {m}")
