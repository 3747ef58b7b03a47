# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles what the cases need, several at a time, before anything is timed."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

import tenon
from tenon.bench.config import Case
from tenon.bench.contender import Contender


@dataclass(frozen=True)
class Compiled:
    """An executable, or why there is none; the time is the cache's where it has the model."""

    executable: tenon.Executable | None
    seconds: float
    failed: str = ""

    @property
    def _choices(self) -> list[tenon.Remark]:
        remarks = self.executable.remarks if self.executable else []
        return [remark for remark in remarks if "strategy" in remark.values]

    @property
    def remarks(self) -> list[str]:
        """Return what the compiler said on the choice of the strategy."""
        return [": ".join(filter(None, [r.message, r.reason])) for r in self._choices]

    @property
    def strategy(self) -> str | None:
        """Return the strategy that was chosen: "tiled" becomes "library" where a layer cannot be tiled."""
        return next((r.values["strategy"] for r in self._choices), None)

    @property
    def reduction(self) -> str | None:
        """Return how a tiled layer computes its batch norm: what joined it may have changed what was chosen."""
        remarks = self.executable.remarks if self.executable and self.strategy == "tiled" else []
        return next((r.values["reduction"] for r in reversed(remarks) if "reduction" in r.values), None)


@dataclass(frozen=True)
class Job:
    """A compilation, which several cases may share: M may be dynamic."""

    source: str
    target: str
    options: tuple[tuple[str, str], ...]

    def run(self) -> Compiled:
        """Compile; what goes wrong becomes the contender's failure."""
        begin = time.perf_counter()
        try:
            executable = tenon.compile(self.source, self.target, **dict(self.options))
            seconds = time.perf_counter() - begin
            made = Compiled(executable, seconds)
        except Exception as error:
            return Compiled(None, time.perf_counter() - begin, message(error))
        asked = dict(self.options).get("reduction")
        if asked and made.reduction != asked:
            return Compiled(None, seconds, "; ".join([f"computed by {made.reduction or 'the library'}", *made.remarks]))
        return made


def message(error: BaseException) -> str:
    """Return an error as reports have it."""
    return f"{type(error).__name__}: {str(error)[:500]}"


def job_of(case: Case, contender: Contender, target: str) -> Job:
    """Return the compilation of one of Tenon's contenders; `target` is for cases that name none."""
    return Job(case.problem.mlir(), case.target or target, contender.options)


def compile_all(
    cases: Iterable[Case], target: str, show: Callable[[Iterable[Compiled], int], Iterable[Compiled]]
) -> dict[Job, Compiled]:
    """Compile for all cases. `show` passes on what comes out, one by one of a number, to show progress."""
    jobs = list(dict.fromkeys(job_of(case, c, target) for case in cases for c in case.contenders if c.tenon))
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the compiler works without Python's lock
        futures = {pool.submit(job.run): job for job in jobs}
        try:
            for _ in show((future.result() for future in as_completed(futures)), len(futures)):
                pass
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
        return {job: future.result() for future, job in futures.items()}


class Ahead:
    """Compiles in processes of low priority while others are measured, in the order in which it is given.

    What a process compiles lands in the cache, where this one finds it. A crash of the compiler is a failure
    of the model that it was compiling, and of no other.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        """Begin."""
        self._pool = _processes(max(1, (os.cpu_count() or 2) - 1))
        self._futures: dict[Job, Future[tuple[str, float]]] = {}
        for job in dict.fromkeys(jobs):
            self._futures[job] = self._pool.submit(_compile_for_cache, job)

    def get(self, job: Job) -> Compiled:
        """Wait for a model."""
        try:
            failed, seconds = self._futures[job].result()
        except BrokenProcessPool:  # by this model or another
            failed, seconds = _compile_alone(job)
        if failed:
            return Compiled(None, seconds, failed)
        return dataclasses.replace(job.run(), seconds=seconds)

    def __enter__(self) -> Ahead:
        """Return this."""
        return self

    def __exit__(self, *_: object) -> None:
        """Drop what has not begun."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _processes(count: int) -> ProcessPoolExecutor:
    # Not forked: this process has threads, and maybe a GPU.
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), os.nice, (10,))


def _compile_for_cache(job: Job) -> tuple[str, float]:
    made = job.run()
    return made.failed, made.seconds


def _compile_alone(job: Job) -> tuple[str, float]:
    with _processes(1) as pool:
        try:
            return pool.submit(_compile_for_cache, job).result()
        except BrokenProcessPool:
            return "the compiler crashed; run tenon-compile with this schedule to see where", 0.0
