#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tells how long each kernel of Tenon's contenders takes by itself, such as a split and the product behind it.

Takes tenon-bench's configurations, of which it runs what is timed, and writes microseconds of GPU time a call, kernel
by kernel, the mean of some calls back to back. A run of its own, since PyTorch's profiler slows what runs after it.

Usage: profile_kernels.py CONFIG.json RESULT.json [--filter REGEX]
"""

from __future__ import annotations

import argparse
import functools
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from tenon import device
from tenon.bench.calls import Call, TenonCall, precision
from tenon.bench.compilation import Compiled, compile_all, job_of
from tenon.bench.config import Case, read_config
from tenon.bench.evaluate import make_inputs
from tenon.bench.measure import release
from tenon.bench.progress import progress
from tenon.bench.results import environment, write_whole

CALLS = 20


def by_kernel(events: Iterable[tuple[str, float]], calls: int) -> dict[str, float]:
    """Return microseconds a call by name, in the order in which kernels begin; a call may run one more than once."""
    total: dict[str, float] = {}
    for name, microseconds in events:
        total[name] = total.get(name, 0.0) + microseconds
    return {name: microseconds / calls for name, microseconds in total.items()}


def profile(call: Call) -> dict[str, float]:
    """Run a call and return its kernels' times."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(CALLS):
            call()
        torch.cuda.synchronize()
    on_gpu = [e for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    on_gpu.sort(key=lambda event: event.time_range.start)
    return by_kernel([(event.name, event.time_range.elapsed_us()) for event in on_gpu], CALLS)


def profile_case(case: Case, compiled: dict[str, Compiled]) -> dict[str, Any]:
    """Return the times of a case's contenders, or why there are none."""
    result: dict[str, Any] = {"name": case.name, "contenders": []}
    with torch.no_grad(), precision(case.problem):
        tensors = make_inputs(case.problem, "cuda")
        for name, made in compiled.items():
            entry: dict[str, Any] = {"name": name}
            if made.executable:
                entry["kernels_us"] = profile(TenonCall(case.problem, made.executable, tensors, case.new_parameters))
            else:
                entry["failed"] = made.failed
            result["contenders"].append(entry)
    return result


def main() -> None:
    """Profile the cases and write the result after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--filter", default="", metavar="REGEX", help="only cases whose name matches")
    options = parser.parse_args()
    config, cases = read_config(options.config)
    cases = [case for case in cases if re.search(options.filter, case.name) and case.repeat]
    target = device.default_target()
    jobs = compile_all(cases, target, functools.partial(progress, what="compiling"))
    report: dict[str, Any] = {"environment": environment("cuda"), "config": config, "calls": CALLS, "cases": []}
    for case in cases:
        compiled = {c.name: jobs[job_of(case, c, target)] for c in case.contenders if c.tenon}
        report["cases"].append(profile_case(case, compiled))
        write_whole(options.result, report)
        print(json.dumps(report["cases"][-1]), flush=True)
        release()


if __name__ == "__main__":
    main()
