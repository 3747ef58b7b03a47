#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the first call of a fresh process, with a cold and with a warm cache of Tenon's.

The clock starts when torch is imported, the model is on the GPU and a product has run there, and
stops when the first result is there: `import tenon` is in it. A cold process has an empty
TENON_CACHE_DIR, a warm one that of the cold process before it; how many models each compiled is
reported. torch.compile with its backend "eager" shows what Dynamo alone takes.

Needs the package `tenon`: installed, or in PYTHONPATH as build/python.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Front end, model, cold processes, and warm ones behind each of these.
PLAN = (
    ("optimize", "linear_leaky_relu", 2, 1),
    ("optimize", "linear_scale_batch_norm_1024", 2, 1),
    ("compile-tenon", "linear_leaky_relu", 1, 1),
    ("compile-eager", "linear_leaky_relu", 1, 0),
)
PRECISION = "bf16"
LIMIT_S = 120


def first_call(front_end: str, model: str, device: str) -> dict:
    """Return seconds to the first result, and what Tenon's cache did; in a process that did nothing yet."""
    import torch
    from torch_cases import MODELS, TRIAL_BATCH, TRIAL_WIDTH, Case

    batch, width = MODELS[model].real if device == "cuda" else (TRIAL_BATCH, TRIAL_WIDTH)
    case = Case(model, PRECISION, batch, width)
    module, inputs = case.build(device), case.inputs(device)
    with torch.no_grad():
        torch.nn.functional.linear(inputs[0], inputs[0])
        synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
        synchronize()
        begin = time.perf_counter()
        compile_module(front_end, module)(*inputs)
        synchronize()
        seconds = time.perf_counter() - begin
    import tenon

    counts = tenon.cache.statistics()
    return {"seconds": seconds, "compiled": counts.compiled, "hits": counts.hits}


def compile_module(front_end: str, module: object) -> object:
    """Return what stands in for a module."""
    if front_end == "optimize":
        import tenon.torch

        return tenon.torch.optimize(module)
    import torch

    return torch.compile(module, backend=front_end.removeprefix("compile-"))


def spawn(front_end: str, model: str, device: str, cache: str) -> dict:
    """Return what first_call does in a fresh process."""
    command = [sys.executable, __file__, "--child", front_end, model, "--device", device]
    environment = os.environ | {"TENON_CACHE_DIR": cache}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\nexit code {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def run_plan(front_end: str, model: str, device: str, colds: int, warms: int) -> list[dict]:
    """Return the calls of cold and of warm processes."""
    calls: dict[str, list[dict]] = {"cold": [], "warm": []}
    for _ in range(colds):
        with tempfile.TemporaryDirectory() as cache:
            for kind in ["cold", *["warm"] * warms]:
                calls[kind].append(spawn(front_end, model, device, cache))
                print(f"{front_end}, {model}, {kind}: {calls[kind][-1]}", file=sys.stderr, flush=True)
    facts = {"front_end": front_end, "model": model, "precision": PRECISION}
    return [facts | {"cache": kind, "calls": made} for kind, made in calls.items() if made]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="where the report goes, as JSON")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--child", nargs=2, metavar=("FRONT_END", "MODEL"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(first_call(*options.child, options.device)))
        return
    from bench_torch import versions
    from torch_tables import first_call_table

    report = versions(options.device) | {"runs": []}
    for front_end, model, colds, warms in PLAN:
        report["runs"] += run_plan(front_end, model, options.device, colds, warms)
        if options.output:  # each time: a run that is cut off leaves what it has
            options.output.write_text(json.dumps(report, indent=1) + "\n")
    print("\n".join(first_call_table(report)))


if __name__ == "__main__":
    main()
