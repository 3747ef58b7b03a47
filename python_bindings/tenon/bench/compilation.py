# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles what the cases need, several at a time, before anything is timed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

import tenon
from tenon.bench.config import Case
from tenon.bench.contender import Contender

SELECTION = "tenon-select-strategy"  # the category of the remarks that tell which strategy was chosen, and why


@dataclass(frozen=True)
class Compiled:
    """An executable, or why there is none; the time is the cache's where it has the model."""

    executable: tenon.Executable | None
    seconds: float
    failed: str = ""

    @property
    def _choices(self) -> list[tenon.Remark]:
        remarks = self.executable.remarks if self.executable else []
        return [remark for remark in remarks if remark.category == SELECTION]

    @property
    def remarks(self) -> list[str]:
        """Return what the compiler said on the choice of the strategy."""
        return [": ".join([r.message, *filter(None, [r.arguments.get("Reason")])]) for r in self._choices]

    @property
    def strategy(self) -> str | None:
        """Return the strategy that was chosen: "tiled" becomes "library" where a layer cannot be tiled."""
        return next((r.message.partition(":")[0] for r in self._choices), None)


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
        except Exception as error:
            return Compiled(None, time.perf_counter() - begin, message(error))
        return Compiled(executable, time.perf_counter() - begin)


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
