# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures one job in this process: first calls, errors, memory, and times in turn."""

from __future__ import annotations

import contextlib
import gc
import importlib
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import torch
from torch_timing import BURST, burst, rotated, synchronize, time_limit

from whole_models.contenders import Contender, Workload, set_precision
from whole_models.exact import Observed, errors, observe_exact
from whole_models.jobs import CAPTURED, SCENARIOS, Job
from whole_models.rows import empty_row, summarize

Send = Callable[[dict], None]
BURST_S = 0.006  # a burst takes this long at least
WARM_CALLS = 3


def versions(device: str) -> dict[str, Any]:
    """Return where and with what this process measures."""
    on_gpu = device == "cuda"
    return {
        "card": torch.cuda.get_device_name() if on_gpu else "CPU",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cuda": torch.version.cuda,
        **{name: version_of(name) for name in ("torch", "triton", "transformers", "tenon")},
    }


def version_of(name: str) -> str | None:
    """Return a package's version, None where it is not there."""
    try:
        return str(importlib.import_module(name).__version__)
    except ImportError:
        return None


class Measurement:
    """One job as it goes; a contender that fails is left out from there on, and the others go on."""

    def __init__(self, job: Job, send: Send) -> None:
        """Begin the row; `send` gets it after every stage, so that little is lost where the process is."""
        self.job, self.row, self._send = job, empty_row(job) | versions(job.device), send
        self.contenders: dict[str, Contender] = {}
        self.workload: Workload | None = None
        self.exact: Observed | None = None

    def run(self) -> dict:
        """Measure."""
        set_precision()
        torch._dynamo.reset()  # its limit of recompilations is by code, which models share
        with gradients(SCENARIOS[self.job.scenario].gradients):
            self.tell("build")
            self.workload = Workload(self.job)
            self.row |= {"sizes": dict(self.workload.sizes), "inputs": [list(t.shape) for t in self.workload.inputs]}
            if self.workload.gradients:
                self.workload.draw_target()
            if self.job.rounds:
                self.attempt("reference", self._find_exact)
            for name in self.job.contenders:
                self.attempt(name, lambda name=name: self._make(name))
            if self.job.rounds and self.contenders:
                self._time()
        return self.row

    def tell(self, stage: str) -> None:
        """Send the row as it is."""
        self._send(self.row | {"stage": stage})

    def attempt(self, name: str, action: Callable[[], None]) -> None:
        """Do something with a contender; what it raises is kept."""
        self.tell(name)
        try:
            with time_limit(self.job.limit_s):
                action()
            synchronize(self.job.device)
        except Exception as error:  # whatever it is
            self.contenders.pop(name, None)
            self.row["failed"][name] = f"{type(error).__name__}: {str(error)[:500]}"
        synchronize(self.job.device)  # raises where the GPU is lost to this process

    def _find_exact(self) -> None:
        load = self.workload
        self.exact = observe_exact(load.module, load.inputs, load.target, load.model.parts)
        free_memory()

    def _make(self, name: str) -> None:
        contender = self.workload.contender(name)
        begin = time.perf_counter()
        contender.step()
        synchronize(self.job.device)
        self.row["first_call_s"][name] = time.perf_counter() - begin  # with whatever caches there are
        if not self.job.rounds:
            return
        for _ in range(WARM_CALLS):
            contender.step()
        if self.job.device == "cuda":
            self.row["peak_mib"][name] = peak_mib(contender)
            if self.job.mode == CAPTURED:
                contender.capture()
        if self.exact is not None:
            self.row["errors"][name] = errors(contender.observe(), self.exact)
        self.contenders[name] = contender

    def _time(self) -> None:
        self.exact = None
        free_memory()
        fastest = []
        for name, contender in list(self.contenders.items()):
            self.attempt(name, lambda c=contender: fastest.append(burst(c.step, self.job.device)))
        self.row["calls"] = calls = max(BURST, int(BURST_S * 1e3 / min(fastest, default=1.0)) + 1)
        for number in range(self.job.rounds):
            for name in rotated(list(self.contenders), number):
                self.attempt(name, lambda name=name: self._sample(name, calls))
            summarize(self.row)

    def _sample(self, name: str, calls: int) -> None:
        taken = burst(self.contenders[name].step, self.job.device, calls)
        self.row["samples_ms"].setdefault(name, []).append(taken)


def peak_mib(contender: Contender) -> float:
    """Return by how much a step raises what is allocated, in MiB."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    contender.step()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 2**20


@contextlib.contextmanager
def gradients(wanted: bool) -> Iterator[None]:
    """Have autograd record or not."""
    with torch.enable_grad() if wanted else torch.no_grad():
        yield


def free_memory() -> None:
    """Give back what nothing holds any more."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def measure(job: Job, send: Send) -> dict:
    """Return the row of a job."""
    try:
        return Measurement(job, send).run()
    finally:
        torch._dynamo.reset()
        free_memory()
