#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times linear layers from PyTorch with what follows them: eager, torch.compile, and backend="tenon", in turn.

bench_layers.py --output rows.json --types bf16,fp32                # layers whose rows are reduced or normalised
bench_layers.py --output rows.json --cases lse,cross_entropy --types bf16 --budget-seconds 100
bench_layers.py --output fp8.json --types fp8                       # torch._scaled_mm with what follows
bench_layers.py --output /tmp/tiny.json --types bf16,fp32 --tiny    # on the CPU, to try it

Beside them stands cuBLAS's bare product of the same type, with its scales for 8 bits. A time is the median, over
rounds, of a burst of ten calls back to back, which the GPU begins when the host is ahead of it. Errors are against
float64: the norm of all differences over that of all exact numbers. What fails is in the report as text and ends
nothing. report_from_pytorch.py draws a table of it. Needs the package `tenon`: installed, or in PYTHONPATH as
build/python. Exits 1 where a contender failed or the budget was too short.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import tenon.torch  # noqa: F401
import torch
import torch.nn.functional as F
from torch import Tensor
from torch_timing import burst, rotated, synchronize, time_limit

TYPES = {"bf16": torch.bfloat16, "fp32": torch.float32, "fp8": torch.float8_e4m3fn}
SECONDS = 45.0  # for a case, compilation included
BLOCK = 128  # a multiple of four of them in K, as PyTorch asks


class Layer(NamedTuple):
    """A product and what follows it; the function takes what `draw` gives, of which it may use any."""

    m: int
    n: int
    k: int
    run: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
    types: tuple[str, ...] = ("bf16", "fp32")
    has_blocks: bool = False  # of 8 bits: whether blocks of 1x128 and 128x128 have scales, and not rows


def _linear(head: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]:
    return lambda x, w, b, g, t: head(F.linear(x, w, b))


def _scaled(x: Tensor, w: Tensor, s: Tensor, t: Tensor) -> Tensor:
    """Return the product with scales of rows and columns, or of blocks: by cuBLASLt for 8 bits, else exactly."""
    if x.dtype == torch.float64 and s.shape[1] != 1:
        s, t = s.repeat_interleave(BLOCK, 1), t.t().repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)
        return (x * s) @ (w * t).t()
    if x.dtype == torch.float64:
        return (x @ w.t()) * s * t
    # Which scales they are, PyTorch tells by their shapes. Dynamo 2.11 does not know F.scaled_mm.
    return torch._scaled_mm(x, w.t(), scale_a=s, scale_b=t, out_dtype=torch.bfloat16)


def _scaled_silu(x: Tensor, w: Tensor, b: Tensor, s: Tensor, t: Tensor) -> Tensor:
    return F.silu(_scaled(x, w, s, t) + b)


def _quantised(x: Tensor, w: Tensor, b: Tensor, s: Tensor, t: Tensor) -> Tensor:
    y = (_scaled_silu(x, w, b, s, t) * 32.0).clamp(-448.0, 448.0)
    return y if y.dtype == torch.float64 else y.to(torch.float8_e4m3fn)


def _quantised_rows(x: Tensor, w: Tensor, b: Tensor, s: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
    y = _scaled_silu(x, w, b, s, t)
    scale = y.abs().amax(1, keepdim=True) / 448.0
    if y.dtype == torch.float64:
        return y / scale, scale
    return (y.float() / scale.float()).clamp(-448.0, 448.0).to(torch.float8_e4m3fn), scale.float()


CASES = {
    "lse": Layer(1024, 8192, 8192, _linear(lambda z: z.logsumexp(-1))),
    "max": Layer(1024, 8192, 8192, _linear(lambda z: z.amax(-1))),
    "argmax": Layer(1024, 8192, 8192, _linear(lambda z: z.argmax(-1))),
    "mean": Layer(1024, 8192, 8192, _linear(lambda z: z.mean(-1))),
    "sigmoid_sum": Layer(1024, 8192, 8192, _linear(lambda z: z.sigmoid().sum(-1))),
    "gelu_softmax": Layer(1024, 8192, 8192, _linear(lambda z: F.gelu(z).softmax(-1))),
    "group_norm": Layer(1024, 8192, 8192, lambda x, w, b, g, t: F.silu(F.group_norm(F.linear(x, w, b), 16, g, g))),
    "max_pool": Layer(1024, 8192, 8192, _linear(lambda z: F.max_pool1d(z.unsqueeze(1), 4).squeeze(1))),
    "layer_norm": Layer(16384, 4096, 1024, lambda x, w, b, g, t: F.layer_norm(F.linear(x, w, b), (4096,), g, g)),
    "rms_norm": Layer(16384, 4096, 1024, lambda x, w, b, g, t: F.rms_norm(F.linear(x, w, b), (4096,), g)),
    "log_softmax": Layer(2048, 32000, 2048, lambda x, w, b, g, t: F.linear(x, w).log_softmax(-1)),
    "cross_entropy": Layer(
        4096, 128256, 4096, lambda x, w, b, g, t: F.cross_entropy(F.linear(x, w).to(_wide(x)), t, reduction="none")
    ),
    "small_norm": Layer(65536, 256, 256, lambda x, w, b, g, t: F.gelu(F.layer_norm(F.linear(x, w, b), (256,), g, g))),
    "scaled_silu": Layer(1024, 8192, 8192, _scaled_silu, ("fp8",)),
    "scaled_silu_wide": Layer(4096, 7168, 16384, _scaled_silu, ("fp8",)),
    "scaled_silu_large": Layer(8192, 8192, 8192, _scaled_silu, ("fp8",)),
    "quantised": Layer(4096, 7168, 16384, _quantised, ("fp8",)),
    "quantised_rows": Layer(4096, 7168, 16384, lambda *given: _quantised_rows(*given)[0], ("fp8",)),
    "blocks": Layer(4096, 7168, 2048, _scaled_silu, ("fp8",), has_blocks=True),
    "blocks_few_rows": Layer(128, 7168, 16384, _scaled_silu, ("fp8",), has_blocks=True),
}


def _wide(x: Tensor) -> torch.dtype:
    return torch.promote_types(x.dtype, torch.float32)


def draw(layer: Layer, dtype: torch.dtype, device: str) -> list[Tensor]:
    """Return x, w, bias, a scale and targets; for 8 bits x, w, bias, and the scales of x's and of w's rows.

    Weight, bias and scale are parameters, whose preparation, as to split w of float32, is in no call but the first.
    """
    generator = torch.Generator(device).manual_seed(0)

    def random(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, device=device)

    x, w = random(layer.m, layer.k), random(layer.n, layer.k) * (2.0 / layer.k**0.5)
    if layer.has_blocks:
        s, t = (
            matrix.unflatten(1, (-1, BLOCK)).unflatten(0, (-1, rows)).abs().amax((1, 3)) / 448.0
            for matrix, rows in ((x, 1), (w, BLOCK))
        )
        wide_t = t.repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)
        x, w = (x / s.repeat_interleave(BLOCK, 1)).to(dtype), (w / wide_t).to(dtype)
        return [x, w, random(layer.n).bfloat16(), s.t().contiguous().t(), t.t()]
    if dtype == TYPES["fp8"]:
        s, t = (matrix.abs().amax(1, keepdim=True) / 448.0 for matrix in (x, w))
        return [(x / s).to(dtype), (w / t).to(dtype), random(layer.n).bfloat16(), s, t.t().contiguous()]
    parameters = [torch.nn.Parameter(t.to(dtype)) for t in (w, random(layer.n), random(layer.n))]
    targets = torch.randint(layer.n, (layer.m,), generator=generator, device=device)
    return [x.to(dtype), *parameters, targets]


def _bits(result: Tensor) -> Tensor:
    return result.flatten().view(torch.uint8)


def error(result: Tensor, exact: Tensor) -> float:
    """Return the norm of the difference over that of the exact result; of places, how many are others."""
    if not exact.is_floating_point():
        return (result != exact).double().mean().item()
    return ((result.double() - exact).norm() / exact.norm()).item()


def measure(layer: Layer, dtype: torch.dtype, device: str, rounds: int) -> dict[str, dict]:
    """Return milliseconds and error, or a failure, by contender."""
    tensors = draw(layer, dtype, device)
    exact = layer.run(*(t.double() if t.is_floating_point() else t for t in tensors))
    is_scaled = dtype == TYPES["fp8"]
    product = torch.empty(layer.m, layer.n, dtype=torch.bfloat16 if is_scaled else dtype, device=device)

    def bare(x: Tensor, w: Tensor, b: Tensor, s: Tensor, t: Tensor) -> Tensor:
        return _scaled(x, w, s, t) if is_scaled else torch.mm(x, w.t(), out=product)

    contenders = {
        "eager": layer.run,
        "compile": torch.compile(layer.run),
        "tenon": torch.compile(layer.run, backend="tenon"),
        "product": bare,
    }
    found: dict[str, dict] = {}
    for name, run in contenders.items():
        torch._dynamo.reset()
        begin = time.perf_counter()
        try:
            first, again = run(*tensors), run(*tensors)
            synchronize(device)
        except Exception as failure:
            found[name] = {"failed": str(failure)}
            continue
        found[name] = {"first_s": time.perf_counter() - begin, "same_bits": torch.equal(_bits(first), _bits(again))}
        if name != "product":
            found[name]["error"] = error(first, exact)
    times: dict[str, list[float]] = {name: [] for name in found if "failed" not in found[name]}
    for number in range(rounds):
        for name in rotated(list(times), number):  # one behind a heavy one finds a warmer GPU
            times[name].append(burst(lambda run=contenders[name]: run(*tensors), device, is_held=True))
    for name, measured in times.items():
        found[name] |= {"ms": statistics.median(measured), "least_ms": min(measured)}
    return found


def main() -> int:
    """Measure and write the report after each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--types", default=",".join(TYPES), help="bf16, fp32, fp8")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--budget-seconds", type=float, default=600)
    parser.add_argument("--tiny", action="store_true", help="small extents, on the CPU")
    given = parser.parse_args()
    device = "cpu" if given.tiny else "cuda"
    report = {
        "environment": {
            "device": "cpu" if given.tiny else torch.cuda.get_device_name(),
            "torch": torch.__version__,
        },
        "cases": [],
    }
    end, complete = time.monotonic() + given.budget_seconds, True
    for kind in given.types.split(","):
        for name in given.cases.split(","):
            layer = CASES[name]
            if kind not in layer.types:
                continue
            if given.tiny:
                layer = layer._replace(m=8, k=4 * BLOCK if layer.has_blocks else 64)
            case = {"name": name, "type": kind, "m": layer.m, "n": layer.n, "k": layer.k}
            case |= {"date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), "contenders": {}}
            if time.monotonic() > end:
                complete = False
                continue
            with contextlib.suppress(TimeoutError), torch.no_grad(), time_limit(SECONDS):
                case["contenders"] = measure(layer, TYPES[kind], device, given.rounds)
            complete &= bool(case["contenders"]) and all("failed" not in c for c in case["contenders"].values())
            report["cases"].append(case)
            given.output.write_text(json.dumps(report, indent=2) + "\n")
            short = {n: c.get("failed", "")[:200] or f"{c['ms']:.4f}" for n, c in case["contenders"].items()}
            errors = {n: f"{c['error']:.2e}" for n, c in case["contenders"].items() if "error" in c}
            print(name, kind, short, errors, flush=True)
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
