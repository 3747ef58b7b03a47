# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one case: checks every contender's result, then times all in turn."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from typing import Any

import torch

from tenon.bench import checks
from tenon.bench.calls import Call, make_call, precision
from tenon.bench.compilation import Compiled, message
from tenon.bench.config import Case
from tenon.bench.contender import Contender
from tenon.bench.evaluate import Tensors, make_inputs
from tenon.bench.source import Problem
from tenon.bench.timing import METHODS, Bench, summary, time_in_turn

BASE, EAGER = "cublas", "eager"  # contenders that others are compared with


class Trial:
    """The contenders of one case. One that fails is left out from there on, and the others go on."""

    def __init__(self, case: Case, compiled: Mapping[Contender, Compiled], device: str) -> None:
        """Make the data, and every contender's call."""
        self.case, self.calls = case, dict[str, Call]()
        self.failed = {c.name: made.failed for c, made in compiled.items() if made.failed}
        self.compile_s: dict[str, float] = {}  # PyTorch's
        self.same_bits: dict[str, bool] = {}
        self.errors: dict[str, dict[str, checks.Errors]] = {}
        self.close: dict[str, float] = {}  # to eager's
        self.tensors: Tensors = {}
        self.attempt_for_all(lambda: self.tensors.update(make_inputs(case.problem, device)))
        for contender in case.contenders:
            if contender.name not in self.failed:
                made = compiled.get(contender)
                self.attempt(contender.name, lambda c=contender, m=made: self._make(c, m))

    def _make(self, contender: Contender, compiled: Compiled | None) -> None:
        executable = compiled.executable if compiled else None
        self.calls[contender.name] = call = make_call(contender, self.case, self.tensors, executable)
        if call.compile_s is not None:
            self.compile_s[contender.name] = call.compile_s

    def attempt(self, name: str, action: Callable[[], None]) -> bool:
        """Do something with a contender; what it raises is kept. Tell whether it raised nothing."""
        try:
            action()
        except Exception as error:  # out of memory, a failed launch: it is this contender's alone
            self.calls.pop(name, None)
            self.failed[name] = message(error)
            return False
        return True

    def attempt_for_all(self, action: Callable[[], None]) -> None:
        """Do something that every contender needs."""
        try:
            action()
        except Exception as error:
            self.failed = {c.name: message(error) for c in self.case.contenders} | self.failed
            self.calls.clear()

    def check(self) -> None:
        """Run each contender twice on poisoned memory, and compare the results with float64."""
        results: dict[str, Tensors] = {}

        def run(name: str, call: Call) -> None:
            kept = []
            for _ in range(2):
                call.poison()
                call()
                kept.append({output: tensor.clone() for output, tensor in call.outputs.items()})
            first, second = kept
            self.same_bits[name] = all(checks.same_bits(first[output], second[output]) for output in first)
            results[name] = kept[0]

        for name, call in list(self.calls.items()):
            self.attempt(name, lambda name=name, call=call: run(name, call))
        results = {name: result for name, result in results.items() if name in self.calls}
        products = {name: results.pop(name)["y"] for name in list(results) if self.calls[name].bare}
        self.attempt_for_all(
            lambda: self.errors.update(checks.compare(self.case.problem, self.tensors, results, products))
        )
        if EAGER in results:
            eager = results[EAGER]["y"]
            self.close = {name: checks.close(outputs["y"], eager) for name, outputs in results.items()}

    def within(self, name: str) -> bool:
        """Tell whether all outputs of a contender are within their tolerances."""
        return all(errors.within for errors in self.errors[name].values())

    def time(self, make_bench: Callable[[bool], Bench]) -> dict[str, dict[str, list[float]]]:
        """Return the samples of those that did not fail."""
        samples: dict[str, dict[str, list[float]]] = {}
        steps, case = dict(self.calls), self.case
        self.attempt_for_all(
            lambda: samples.update(time_in_turn(steps, make_bench(case.flush), case.repeat, self.attempt))
        )
        return samples


def run_case(
    case: Case,
    compiled: Mapping[Contender, Compiled],
    device: str,
    copy_bytes_per_s: float | None,
    make_bench: Callable[[bool], Bench],
) -> dict[str, Any]:
    """Return a case's result, as the report has it; see docs/Benchmarking.md."""
    samples: dict[str, dict[str, list[float]]] = {}
    with torch.no_grad(), precision(case.problem):
        trial = Trial(case, compiled, device)
        trial.check()
        if case.repeat and trial.calls:
            samples = trial.time(make_bench)
    times = {name: {m: summary(taken[m]) for m in METHODS} for name, taken in samples.items()}
    contenders = []
    for contender in case.contenders:
        entry = describe(contender, compiled.get(contender)) | checked(trial, contender)
        if contender.name in times:
            entry |= timed(case.problem, times[contender.name], times.get(BASE), copy_bytes_per_s)
        contenders.append(entry)
    return header(case) | {"contenders": contenders}


def header(case: Case) -> dict[str, Any]:
    """Return what a case is."""
    p = case.problem
    facts = {"name": case.name, "model": p.epilogue.name, "dtype": p.dtype, "output": p.output}
    facts |= {"m": p.m, "n": p.n, "k": p.k, "dynamic_m": p.dynamic_m, "flush": case.flush}
    facts |= {"data": p.data, "new_parameters": case.new_parameters, "repeat": case.repeat}
    return facts


def describe(contender: Contender, compiled: Compiled | None) -> dict[str, Any]:
    """Return what a contender is, and what the compiler made of it."""
    entry: dict[str, Any] = {"name": contender.name, "tenon": contender.tenon}
    if compiled:
        entry |= {"options": dict(contender.options), "compile_s": compiled.seconds, "remarks": compiled.remarks}
        entry |= {"strategy": compiled.strategy, "reduction": compiled.reduction}
        entry["kernels"] = compiled.executable.kernels if compiled.executable else []
    return entry


def checked(trial: Trial, contender: Contender) -> dict[str, Any]:
    """Return a contender's errors, its failure, and PyTorch's seconds; one may fail after it was checked."""
    name = contender.name
    found: dict[str, Any] = {"failed": trial.failed[name]} if name in trial.failed else {}
    if name in trial.compile_s:
        found["compile_s"] = trial.compile_s[name]
    if errors := trial.errors.get(name):
        y, *_ = figures = [one.figures() for one in errors.values()]
        found |= {"within_tolerance": trial.within(name), "same_bits": trial.same_bits[name], **y}
        found["rms_error_over_cublas"] = checks.over(trial.errors, name, BASE)
        if name in trial.close:
            found["close_to_eager"] = trial.close[name]
        if statistics := dict(list(zip(errors, figures, strict=True))[1:]):
            found["statistics"] = statistics
    return found


def timed(
    problem: Problem, times: dict[str, Any], base: dict[str, Any] | None, copy_bytes_per_s: float | None
) -> dict[str, Any]:
    """Return a contender's times, and what they are beside cuBLAS's and the copy rate."""
    burst_s = times["burst"]["median_ms"] * 1e-3
    entry: dict[str, Any] = {"times": times, "burst_tflop_per_s": 2e-12 * problem.m * problem.n * problem.k / burst_s}
    w_bytes = problem.n * problem.k * (4 if problem.element == "f32" else 2)
    entry["w_bytes_per_s"] = w_bytes / burst_s
    if copy_bytes_per_s:
        entry["w_bytes_over_copy_rate"] = w_bytes / burst_s / copy_bytes_per_s
    if base:
        ratios = {method: times[method]["median_ms"] / base[method]["median_ms"] for method in METHODS}
        entry |= {"time_over_cublas": ratios, "worst_time_over_cublas": max(ratios.values())}
    return entry


def release() -> None:
    """Give the memory of what is over back."""
    if "torch._dynamo" in sys.modules:  # its limit of recompilations counts by code, which models share
        torch._dynamo.reset()
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def check_alive(case: str) -> None:
    """Exit where nothing runs in this process any more, as after a bad memory access."""
    if not torch.cuda.is_initialized():
        return
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        raise SystemExit(
            f"tenon-bench: error: the GPU was lost at {case}: {str(error).splitlines()[0]}; "
            "the report ends there. Go on with --filter"
        ) from error


def wrong(case: dict[str, Any]) -> list[str]:
    """Name Tenon's contenders whose results are wrong, or differ from run to run."""
    good = {True, None}  # None: it failed before
    ours = [c for c in case["contenders"] if c["tenon"]]
    return [c["name"] for c in ours if not {c.get("within_tolerance"), c.get("same_bits")} <= good]
