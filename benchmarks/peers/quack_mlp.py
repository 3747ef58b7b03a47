# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times QuACK's MLPs of gated layers in turn with eager PyTorch and torch.compile: bf16, forward.

It needs `pip install quack-kernels`, and nothing of Tenon's.
"""

from __future__ import annotations

import argparse
import copy
import datetime
import json
import logging
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

ROWS, CALLS, ROUNDS = 8192, 10, 10
HOLD_CYCLES, SETTLE_S = 400_000, 0.002
Step = Callable[[], torch.Tensor]


class SwiGlu(nn.Module):
    """Two projections and a third, as Llama's."""

    activation, width, hidden = "swiglu", 4096, 11008

    def __init__(self) -> None:
        """Make the layers."""
        super().__init__()
        self.gate, self.up = (nn.Linear(self.width, self.hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(self.hidden, self.width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the result."""
        return self.down(F.silu(self.gate(x)) * self.up(x))

    def parts(self) -> tuple[torch.Tensor, ...]:
        """Return the weights: of what is activated, of what it gates, of the last layer."""
        return self.gate.weight, self.up.weight, self.down.weight


class GeGlu(nn.Module):
    """Gate and value as halves of one projection; with tanh's form of gelu, the only one that QuACK has."""

    activation, width, hidden = "geglu", 2048, 8192

    def __init__(self) -> None:
        """Make the layers."""
        super().__init__()
        self.projection = nn.Linear(self.width, 2 * self.hidden, bias=False)
        self.down = nn.Linear(self.hidden, self.width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the result."""
        gate, value = self.projection(x).chunk(2, dim=-1)
        return self.down(F.gelu(gate, approximate="tanh") * value)

    def parts(self) -> tuple[torch.Tensor, ...]:
        """Return the weights, as SwiGlu's."""
        return *self.projection.weight.chunk(2), self.down.weight


def quack_mlp(module: SwiGlu | GeGlu, is_tuned: bool) -> nn.Module:
    """Return QuACK's MLP of the same weights, whose rows it has in turn; tuned by its own trials or not."""
    # QuACK 0.6.5 keys its cache by what an epilogue reads, and knows no key for the logger of the DSL that it has now.
    logging.Logger.__quack_semantic_key__ = lambda self: self.name
    from quack.mlp import MLP

    gate, up, down = module.parts()
    mlp = MLP(
        module.width,
        module.hidden,
        activation=module.activation,
        device="cuda",
        dtype=torch.bfloat16,
        tuned=is_tuned,
        concat_layout=False,
    ).requires_grad_(False)
    mlp.fc1.weight.copy_(torch.stack([gate, up], 1).reshape(2 * module.hidden, module.width))
    mlp.fc2.weight.copy_(down)
    return mlp


def contenders(module: SwiGlu | GeGlu) -> dict[str, nn.Module]:
    """Return what is timed, by name."""
    return {
        "eager": copy.deepcopy(module),
        "compile": torch.compile(copy.deepcopy(module)),
        "quack_tuned": quack_mlp(module, True),
        "quack_default": quack_mlp(module, False),
    }


def captured(step: Step) -> Step:
    """Return a step as one CUDA graph."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(2):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def elapsed_ms(step: Step) -> float:
    """Return milliseconds a call of a burst from idle, of which the host is ahead."""
    torch.cuda.synchronize()
    time.sleep(SETTLE_S)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(HOLD_CYCLES)
    begin.record()
    for _ in range(CALLS):
        step()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / CALLS


def medians_ms(steps: dict[str, Step], rounds: int) -> dict[str, float]:
    """Return each step's median time; in every other round they come in reverse."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for i in range(rounds):
        for name in list(steps)[:: -1 if i % 2 else 1]:
            times[name].append(elapsed_ms(steps[name]))
    return {name: statistics.median(found) for name, found in times.items()}


def measure(kind: type[SwiGlu | GeGlu]) -> dict:
    """Return times and errors of one module."""
    torch.manual_seed(0)
    module = kind().to("cuda", torch.bfloat16).requires_grad_(False)
    x = torch.randn(ROWS, kind.width, device="cuda", dtype=torch.bfloat16)
    exact = copy.deepcopy(module).double()(x.double())
    errors, steps = {}, {}
    for name, call in contenders(module).items():
        errors[name] = ((call(x).double() - exact).norm() / exact.norm()).item()
        steps[name] = lambda call=call: call(x)
    graphs = {name: captured(step) for name, step in steps.items()}
    medians_ms(graphs, 2)
    return {"errors": errors, "graphs_ms": medians_ms(graphs, ROUNDS), "bursts_ms": medians_ms(steps, ROUNDS)}


def main() -> None:
    """Measure, and write the report after each module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the report, JSON")
    output = parser.parse_args().output
    report = {
        "card": torch.cuda.get_device_name(),
        "date": datetime.datetime.now(datetime.UTC).isoformat("T", "seconds"),
    }
    with torch.no_grad():
        for kind in (SwiGlu, GeGlu):
            report[kind.activation] = found = measure(kind)
            output.write_text(json.dumps(report, indent=1) + "\n")
            print(kind.activation, *(f"{name} {ms:.4f} ms" for name, ms in found["graphs_ms"].items()), flush=True)


if __name__ == "__main__":
    main()
