#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the host's time of a call: what tenon.torch.optimize adds to the bare C call.

The bare call is the same launcher with the pointers, extents and workspace of a real call.
Calls of small tensors are enqueued and not waited for.
`remainder` is what else the model's graph must do, such as counting a batch norm's batches.
torch.compile is measured with Tenon and with a backend that does nothing: Dynamo's guards.

Needs the package `tenon`: installed, or in PYTHONPATH as build/python.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

import torch
from bench_torch import select, versions
from torch import nn
from torch_cases import Case
from torch_tables import host_table
from torch_timing import Step, host_us

# Small enough that the device keeps up with the host.
SIZE = {"cuda": (128, 256), "cpu": (4, 16)}
MODELS = ("linear_leaky_relu", "per_feature", "residual", "bn_eval_plain", "linear_scale_batch_norm_1024")


def cases(device: str) -> list[Case]:
    """Return what is measured."""
    return [Case(model, precision, *SIZE[device]) for precision in ("bf16", "fp32") for model in MODELS]


def bare_call(call: Callable, inputs: tuple) -> Step:
    """Return a function that repeats the C calls that `call` makes, and nothing else."""
    from tenon.torch.calls.launch import Launch

    made, kept = [], []
    original = Launch.__call__

    def record(self: Launch, tensors: list[torch.Tensor], results: Sequence[torch.Tensor], stream: int) -> None:
        launcher = self._launcher

        def spy(pointers: list[int], extents: tuple[int, ...], address: int, size: int, stream: int) -> None:
            workspace = torch.empty(size + 256, dtype=torch.uint8, device=inputs[0].device)
            kept.append((tensors, results, workspace))  # the pointers must stay good
            aligned = -(-workspace.data_ptr() // 256) * 256 if size else 0
            made.append((launcher, (pointers, extents, aligned, size, stream)))
            launcher(pointers, extents, address, size, stream)

        spy.workspace_bytes = launcher.workspace_bytes
        with mock.patch.object(self, "_launcher", spy):
            original(self, tensors, results, stream)

    with mock.patch.object(Launch, "__call__", record):
        call(*inputs)
    if not made:
        raise RuntimeError("the model made no call of Tenon's")
    launcher, arguments = made[0]
    if len(made) == 1:
        return lambda kept=kept: launcher(*arguments)
    return lambda kept=kept: [launch(*given) for launch, given in made]


def remainder(module: nn.Module) -> Step:
    """Return what a training batch norm does beside its kernels: it counts its batches."""
    counters = [b for name, b in module.named_buffers() if name.endswith("num_batches_tracked") and module.training]
    return lambda: [counter.add_(1) for counter in counters]


def does_nothing(graph: torch.fx.GraphModule, inputs: list) -> Callable:
    """Compile to a function that gives the results of one call: a backend for torch.compile."""
    results = graph(*inputs)
    return lambda *_: results


def run_case(case: Case, device: str) -> dict:
    """Return microseconds of each way to call."""
    import tenon.torch

    case.set_precision()
    torch._dynamo.reset()
    inputs = case.inputs(device)
    module = case.build(device)
    optimized = tenon.torch.optimize(module)
    optimized(*inputs)  # compiles, and prepares the parameters
    steps = {
        "bare": bare_call(optimized, inputs),
        "remainder": remainder(module),
        "tenon": lambda: optimized(*inputs),
        "eager": lambda: module(*inputs),
    }
    for name, backend in (("compile-tenon", "tenon"), ("guards", does_nothing)):
        compiled = torch.compile(case.build(device), backend=backend)
        steps[name] = lambda compiled=compiled: compiled(*inputs)
    samples = host_us(steps, device)
    us = {name: statistics.median(times) for name, times in samples.items()}
    rounds = zip(samples["tenon"], samples["bare"], samples["remainder"], strict=True)
    overhead = statistics.median(tenon - bare - rest for tenon, bare, rest in rounds)
    facts = {"model": case.model, "precision": case.precision, "batch": case.batch, "width": case.width}
    return facts | {"us": us, "overhead_us": overhead}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="where the report goes, as JSON")
    parser.add_argument("--cases", default="", help="regular expression on MODEL-PRECISION-BATCHxWIDTH")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    options = parser.parse_args()
    report = versions(options.device) | {"cases": []}
    for case in select(cases(options.device), options.cases):
        with torch.no_grad():
            result = run_case(case, options.device)
        report["cases"].append(result)
        print(f"{case.name}: overhead {result['overhead_us']:.1f} us, {result['us']}", file=sys.stderr, flush=True)
        options.output.write_text(json.dumps(report, indent=1) + "\n")
    print("\n".join(host_table(report)))


if __name__ == "__main__":
    main()
