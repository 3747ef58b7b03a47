#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the host's time of a call of torch.ops.tenon.fused beside one of a native op, aten.mm.out; prints JSON.

A bf16 linear layer with GELU of 16 x 64 x 64: calls are enqueued, and the device keeps up. `prepared` has a weight that
is transposed once a version of it.

Needs the package `tenon`: installed, or in PYTHONPATH as build/python.
"""

from __future__ import annotations

import argparse
import datetime
import json
import timeit

import tenon
import torch
from tenon.importer.specs import FunctionSpec, InputSpec, OutputSpec
from tenon.torch.calls.call import FusedCall
from tenon.torch.calls.op import kernel_keys, register

M, N, K = 16, 64, 64
SOURCE = f"""func.func @linear_gelu(%x: tensor<{M}x{K}xbf16>, %w: tensor<{N}x{K}xbf16> {{tenon.param}})
    -> tensor<{M}x{N}xbf16> {{
  %0 = tenon.linear %x, %w : (tensor<{M}x{K}xbf16>, tensor<{N}x{K}xbf16>) -> tensor<{M}x{N}xbf16>
  %1 = tenon.gelu %0 : tensor<{M}x{N}xbf16>
  return %1 : tensor<{M}x{N}xbf16>
}}
"""
ROUNDS, CALLS = 30, 1000


def compiled(device: str, transpose: bool) -> str:
    """Return the text by which the op knows the layer."""
    bf16 = "bfloat16"
    inputs = [InputSpec(bf16, (M, K), False, False), InputSpec(bf16, (N, K), True, transpose)]
    function = FunctionSpec("linear_gelu", SOURCE, inputs, [OutputSpec(bf16, (M, N), None)])
    target = "cpu" if device == "cpu" else None
    executable = tenon.compile(function.source, target, name=function.name)
    arguments = {"mlir": function.source, "name": function.name, "target": target}
    return register(FusedCall(function, executable), arguments)


def measure(device: str) -> dict[str, float]:
    """Return the least microseconds a call of several rounds, the contenders in turn."""
    x, w = (torch.randn(rows, K, device=device).bfloat16() for rows in (M, N))
    y, w_t = x.new_empty(M, N), w.t()
    text, prepared = (compiled(device, transpose) for transpose in (False, True))
    mm, fused = torch.ops.aten.mm.out, torch.ops.tenon.fused.default
    steps = {
        "aten.mm.out": lambda: mm(x, w_t, out=y),
        "tenon.fused": lambda: fused(text, [x, w], [y]),
        "tenon.fused, prepared": lambda: fused(prepared, [x, w], [y]),
    }
    least = dict.fromkeys(steps, float("inf"))
    with torch.no_grad():
        for _ in range(ROUNDS):
            for name, step in steps.items():
                if device == "cuda":
                    torch.cuda.synchronize()
                least[name] = min(least[name], timeit.timeit(step, number=CALLS) / CALLS * 1e6)
    return {name: round(us, 2) for name, us in least.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    device = parser.parse_args().device
    print(
        json.dumps(
            {
                "us_per_call": measure(device),
                "kernel": device.upper() in kernel_keys,
                "torch": torch.__version__,
                "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
                "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
