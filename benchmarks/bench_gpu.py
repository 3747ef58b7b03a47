#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times compiled models on a GPU beside cuBLAS, PyTorch eager and torch.compile.

All peers run in turn in this process on the same random data. Each is timed
three ways (median milliseconds a call): `single`, one call from idle; `burst`,
ten calls back to back from idle; `sustained`, ten calls after 100 ms of the
peer's own load. Errors are against float64, over the whole output.

Usage: bench_gpu.py MODELS_DIR RUNTIME.so RESULT.json [--cases REGEX]
MODELS_DIR holds what compile_models.py made: cases.json and the models. Needs
the package `tenon`. tenon-bench (docs/Benchmarking.md) measures other layers,
and other strategies, without host time in the figures.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import re
import statistics
import time
from pathlib import Path

import torch
from tenon.bench.timing import Step, copy_rate, elapsed
from tenon_model import Call, Model
from torch.nn import functional

DTYPE = {
    "fp32": torch.float32,
    "tf32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}
Tensors = dict[str, torch.Tensor]


def make_inputs(case: dict) -> Tensors:
    """Random data as PyTorch's initialisers would make it, by argument name."""
    m, n, k = case["m"], case["n"], case["k"]
    generator = torch.Generator("cuda").manual_seed(1)
    dtype = DTYPE[case["precision"]]

    def uniform(low: float, high: float, *shape: int, dtype: torch.dtype = dtype) -> torch.Tensor:
        values = torch.rand(shape, device="cuda", generator=generator)
        return (values * (high - low) + low).to(dtype)

    bound, statistics = k**-0.5, torch.float32
    return {
        "x": uniform(0, 1, m, k),
        "weight": uniform(-bound, bound, n, k),
        "bias": uniform(-bound, bound, n),
        "scale": uniform(0.5, 1.5, n),
        "bn_weight": uniform(0.5, 1.5, n, dtype=statistics),
        "bn_bias": uniform(-0.5, 0.5, n, dtype=statistics),
        "running_mean": uniform(-0.5, 0.5, n, dtype=statistics),
        "running_var": uniform(0.5, 1.5, n, dtype=statistics),
    }


def leaky_relu_model(t: Tensors) -> tuple[torch.Tensor, ...]:
    """Linear, x 2, LeakyReLU(0.1)."""
    return (functional.leaky_relu(functional.linear(t["x"], t["weight"], t["bias"]) * 2.0, 0.1),)


def batch_norm_model(t: Tensors) -> tuple[torch.Tensor, ...]:
    """Linear, per-feature scale, BatchNorm1d in training mode."""
    mean, var = t["running_mean"].clone(), t["running_var"].clone()
    y = functional.linear(t["x"], t["weight"], t["bias"]) * t["scale"]
    y = functional.batch_norm(y, mean, var, t["bn_weight"], t["bn_bias"], True, 0.1, 1e-5)
    return y, mean, var


FAMILIES = {"leaky_relu": leaky_relu_model, "scale_batch_norm": batch_norm_model}


def errors(got: torch.Tensor, expected: torch.Tensor) -> dict[str, float]:
    """Max and rms error against float64; NaN never passes."""
    difference = got.double() - expected
    return {
        "max": difference.abs().max().item(),
        "rms": difference.square().mean().sqrt().item(),
    }


def load(step: Step, milliseconds: float) -> None:
    """Keep the GPU busy with `step`."""
    start = time.perf_counter()
    while (time.perf_counter() - start) * 1e3 < milliseconds:
        for _ in range(5):
            step()
        torch.cuda.synchronize()


def time_all(peers: dict[str, Step], rounds: int) -> dict[str, dict[str, float]]:
    """Medians of the three timings of each peer, taken in turn."""
    samples = {name: {"single": [], "burst": [], "sustained": []} for name in peers}
    for step in peers.values():
        for _ in range(3):
            step()
    for _ in range(rounds):
        for name, step in peers.items():
            for kind, calls in (("single", 1), ("burst", 10)):
                torch.cuda.synchronize()
                time.sleep(0.003)
                samples[name][kind].append(elapsed(step, calls))
    for _ in range(3):
        for name, step in peers.items():
            load(step, 100)
            samples[name]["sustained"].append(elapsed(step, 10))
    return {name: {kind: statistics.median(times) for kind, times in kinds.items()} for name, kinds in samples.items()}


def host_time(step: Step, calls: int = 200) -> float:
    """Microseconds of host time a call, the GPU keeping up."""
    times = []
    for _ in range(20):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            step()
        times.append((time.perf_counter() - start) / calls * 1e6)
    torch.cuda.synchronize()
    return statistics.median(times)


def tenon_step(model: Model, tensors: Tensors) -> Call:
    """Return the model's call, with its parameters prepared."""
    entry = model.manifest["entries"][0]
    prepared: list[torch.Tensor] = []
    if "prepare" in entry:
        names = [i["name"] for i in model.functions[entry["prepare"]]["inputs"]]
        call = model.bind(entry["prepare"], [tensors[n] for n in names])
        prepared = call()
    queue = iter(prepared)
    run = model.functions[entry["run"]]
    inputs = [next(queue) if i["role"] == "prepared" else tensors[i["name"]] for i in run["inputs"]]
    return model.bind(entry["run"], inputs)


def run_case(case: dict, folder: Path, runtime: Path, rounds: int) -> dict:
    """Errors and times of one case."""
    torch.set_float32_matmul_precision("high" if case["precision"] == "tf32" else "highest")
    family = FAMILIES[case["family"]]
    tensors = make_inputs(case)
    expected = family({name: t.double() for name, t in tensors.items()})
    tenon = tenon_step(Model(folder / case["model"], runtime), tensors)
    got = tenon()
    torch.cuda.synchronize()
    result = dict(case)
    names = ["y", "running_mean", "running_var"][: len(got)]
    eager = family(tensors)
    result["errors"] = {
        peer: {n: errors(o, e) for n, o, e in zip(names, outputs, expected, strict=False)}
        for peer, outputs in (("tenon", got), ("eager", eager))
    }
    again = [t.clone() for t in got]
    tenon()
    result["repeats"] = all(torch.equal(a, b) for a, b in zip(again, tenon.outputs, strict=False))
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    result["host_us"] = {
        "tenon": host_time(lambda: tenon.enqueue(stream)),
        "eager": host_time(lambda: family(tensors)),
    }
    product = torch.empty_like(got[0])
    wt = tensors["weight"].t()
    peers = {
        "cublas": lambda: torch.mm(tensors["x"], wt, out=product),
        "tenon": tenon,
        "eager": lambda: family(tensors),
    }
    if case.get("compile", True):
        torch._dynamo.reset()
        for mode in ("default", "max-autotune-no-cudagraphs"):
            compiled = torch.compile(family, mode=mode)
            compiled(tensors)
            peers[f"compile-{mode}"] = lambda f=compiled: f(tensors)
    result["ms"] = time_all(peers, rounds)
    return result


def main() -> None:
    """Run all cases and write the result after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path)
    parser.add_argument("runtime", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--cases", default="", help="regular expression on names")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    cases = json.loads((options.models / "cases.json").read_text())
    report = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "copy_bytes_per_second": copy_rate(),
        "cases": [],
    }
    for case in cases:
        if not re.search(options.cases, case["name"]):
            continue
        with torch.no_grad():
            result = run_case(case, options.models, options.runtime, options.rounds)
        report["cases"].append(result)
        options.result.write_text(json.dumps(report, indent=1))
        burst = {peer: f"{t['burst']:.4f}" for peer, t in result["ms"].items()}
        print(case["name"], burst, result["errors"]["tenon"]["y"], flush=True)


if __name__ == "__main__":
    main()
