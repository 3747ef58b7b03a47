#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the zoo of PyTorch models: eager, tenon.torch.optimize, and for some torch.compile.

All contenders run in turn in this process on the same random data, under no_grad. A time
is the median, over rounds, of a burst of calls back to back, ten or more. Errors are
against float64, over whole results. A line a case goes to stderr, tables to stdout.

Needs the package `tenon`: installed, or in PYTHONPATH as build/python. Exits 1 where a
contender of Tenon failed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import torch
from tenon.bench.results import environment
from torch import nn
from torch_cases import MODELS, Case, all_cases, trial_cases
from torch_errors import errors, observe, observe_exact, scale
from torch_tables import case_line, summary_lines
from torch_timing import Step, summary, time_in_turn, time_limit

OURS = ("tenon", "compile-tenon")
COMPILE_LIMIT_S = 60.0


def optimize(module: nn.Module) -> Step:
    """Return Tenon's stand-in for a module."""
    import tenon.torch

    return tenon.torch.optimize(module)


def compile_with(**options: object) -> Callable[[nn.Module], Step]:
    """Return a function that compiles a module by torch.compile."""
    return lambda module: torch.compile(module, **options)


CONTENDERS: dict[str, Callable[[nn.Module], Step]] = {
    "eager": lambda module: module,
    "tenon": optimize,
    "compile": compile_with(),
    "compile-tenon": compile_with(backend="tenon"),
}


def versions(device: str) -> dict[str, str]:
    """Return where and with what the figures were measured."""
    facts = environment(device)
    names = ("device", "python", "torch", "cuda", "tenon")
    return {name: str(facts[name]) for name in names} | {"date": facts["date"].partition("T")[0]}


class Contenders:
    """Those that run one case. One that fails is left out from there on, and the others go on."""

    def __init__(self, names: list[str], case: Case, device: str) -> None:
        """Build the module and the inputs, and make and call each contender, of its own copy of the module."""
        self.case, self.device = case, device
        self.inputs = case.inputs(device)
        self.failed: dict[str, str] = {}
        self.modules = {name: case.build(device) for name in names}
        self.calls: dict[str, Step] = {}
        for name, module in self.modules.items():
            self.attempt(name, lambda name=name, module=module: self._make(name, module))

    def _make(self, name: str, module: nn.Module) -> None:
        call = CONTENDERS[name](module)
        call(*(t.clone() for t in self.inputs))
        self.calls[name] = call

    def attempt(self, name: str, action: Step) -> None:
        """Do something with a contender; what it raises is kept."""
        try:
            with time_limit(COMPILE_LIMIT_S):
                action()
        except Exception as error:  # whatever it is
            self.calls.pop(name, None)
            self.failed[name] = f"{type(error).__name__}: {str(error)[:500]}"

    def errors(self) -> dict:
        """Return each contender's errors, from calls that begin with the same buffers."""
        if MODELS[self.case.model].random:  # in float64 PyTorch drops other elements
            return {}
        exact = observe_exact(self.case.build(self.device), self.inputs)
        fresh = dict(self.case.build(self.device).named_buffers())
        found: dict[str, dict[str, float]] = {}

        def check(name: str, module: nn.Module, call: Step) -> None:
            for key, buffer in module.named_buffers():
                buffer.copy_(fresh[key])
            found[name] = errors(observe(module, call, self.inputs), exact)

        for name, call in list(self.calls.items()):
            self.attempt(name, lambda name=name, call=call: check(name, self.modules[name], call))
        return {"errors": found, "scale": scale(exact)}

    def steps(self) -> dict[str, Step]:
        """Return a call without arguments for each."""
        return {name: lambda call=call: call(*self.inputs) for name, call in self.calls.items()}


def run_case(case: Case, device: str, limit_s: float) -> dict:
    """Return the times and errors of one case."""
    case.set_precision()
    if case.compare:
        torch._dynamo.reset()  # its limit of recompilations is by code, which models share
    contenders = Contenders(list(CONTENDERS) if case.compare else ["eager", "tenon"], case, device)
    result = {"model": case.model, "precision": case.precision, "batch": case.batch, "width": case.width}
    result |= contenders.errors() | {"ms": {}, "time_over_eager": {}, "failed": contenders.failed}
    if "eager" in contenders.calls:
        times = {name: summary(t) for name, t in time_in_turn(contenders.steps(), device, limit_s).items()}
        eager = times["eager"]["median"]
        result["ms"] = times
        result["time_over_eager"] = {name: t["median"] / eager for name, t in times.items() if name != "eager"}
    return result


def fill_cache(cases: list[Case], device: str, workers: int) -> None:
    """Have several processes compile the cases with Tenon, whose cache then has them."""
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        try:
            list(pool.map(partial(compile_case, device=device), cases, chunksize=4))
        except BrokenProcessPool as error:
            print(f"bench_torch.py: not all cases were compiled ahead: {error}", file=sys.stderr)


def compile_case(case: Case, device: str) -> None:
    """Compile one case; what goes wrong is for the measurement to find."""
    case.set_precision()
    with torch.no_grad():
        Contenders(["tenon"], case, device)


def select(cases: list[Case], pattern: str) -> list[Case]:
    """Return the cases whose name matches; exits where none does."""
    chosen = [case for case in cases if re.search(pattern, case.name)]
    if not chosen:
        sys.exit(f"bench_torch.py: error: no case matches '{pattern}'; cases are like '{cases[0].name}'")
    return chosen


def run(cases: list[Case], options: argparse.Namespace) -> dict:
    """Measure cases while the budget lasts; the report is written after each."""
    report = versions(options.device) | {"cases": [], "not_reached": []}
    begin = time.perf_counter()
    for i, case in enumerate(cases):
        spent = time.perf_counter() - begin
        if spent > options.budget_s:
            report["not_reached"] = [late.name for late in cases[i:]]
            break
        with torch.no_grad():
            result = run_case(case, options.device, options.case_s)
        report["cases"].append(result)
        print(f"[{spent:4.0f} s, {i + 1}/{len(cases)}] {case_line(result)}", file=sys.stderr, flush=True)
        options.output.write_text(json.dumps(report, indent=1) + "\n")
        if options.device == "cuda":
            torch.cuda.empty_cache()
    options.output.write_text(json.dumps(report, indent=1) + "\n")
    return report


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="where the report goes, as JSON")
    parser.add_argument("--cases", default="", help="regular expression on MODEL-PRECISION-BATCHxWIDTH")
    parser.add_argument("--budget-s", type=float, default=300, help="no case begins later than this")
    parser.add_argument("--case-s", type=float, default=0.25, help="seconds of timing to aim at for each case")
    parser.add_argument("--workers", type=int, default=0, help="processes that compile all cases before the timing")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: small sizes, to try the script")
    options = parser.parse_args()
    cases = select(all_cases() if options.device == "cuda" else trial_cases(), options.cases)
    if options.workers:
        fill_cache(cases, options.device, options.workers)
    report = run(cases, options)
    print("\n".join(summary_lines(report)))
    return int(any(name in OURS for result in report["cases"] for name in result["failed"]))


if __name__ == "__main__":
    sys.exit(main())
