# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes that do jobs: one that hangs or dies costs one contender of one job, and is replaced."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing.connection import Connection

from whole_models.jobs import Job
from whole_models.rows import empty_row, summarize

STARTING = "starting"  # the stage of a process that has not sent a row yet


class LostError(Exception):
    """A process was ended or died; says at which contender, and has the row as it was."""

    def __init__(self, row: dict, stage: str, why: str) -> None:
        """Keep what is known."""
        super().__init__(why)
        self.row, self.stage = row, stage


def serve(connection: Connection) -> None:
    """Do jobs that come by the connection: rows go back after each stage, and with stage None at the end."""
    os.setsid()  # so that compilers that it starts end with it
    with contextlib.suppress(EOFError):
        while True:
            job = connection.recv()
            from whole_models.measure import measure

            connection.send(measure(job, connection.send) | {"stage": None})


class Worker:
    """A process that does one job at a time."""

    def __init__(self) -> None:
        """Start none yet."""
        self._process: multiprocessing.Process | None = None
        self._connection: Connection | None = None

    def run(self, job: Job, limit_s: float) -> dict:
        """Return the row of a job; raises LostError after the limit, or where the process dies."""
        self._start()
        self._connection.send(job)
        end = time.monotonic() + limit_s
        row = empty_row(job) | {"stage": STARTING}
        try:
            while self._connection.poll(max(0.0, end - time.monotonic())):
                row = self._connection.recv()
                if row["stage"] is None:
                    return {name: value for name, value in row.items() if name != "stage"}
        except (EOFError, ConnectionError):
            self.stop()
            raise LostError(row, row.pop("stage"), "the process died") from None
        self.stop()
        raise LostError(row, row.pop("stage"), f"took longer than {limit_s:.0f} s")

    def _start(self) -> None:
        if self._process is not None and self._process.is_alive():
            return
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs,))
        self._process.start()
        theirs.close()

    def stop(self) -> None:
        """End the process, and those that it started."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
        self._connection.close()
        self._process = self._connection = None


def run_guarded(worker: Worker, job: Job, limit_s: float) -> dict:
    """Return the row of a job; where a contender takes the process with it, that of the others."""
    end = time.monotonic() + limit_s
    while True:
        try:
            return worker.run(job, max(1.0, end - time.monotonic()))
        except LostError as lost:
            why = f"{lost} (at: {lost.stage})"
            blamed = lost.stage if lost.stage in job.contenders else "job"
            left = end - time.monotonic()
            if blamed in ("job", "eager") or left < limit_s / 4:
                lost.row["failed"][blamed] = why
                summarize(lost.row)
                return lost.row
            job = job.without(blamed, why)


@contextlib.contextmanager
def one_worker() -> Iterator[Worker]:
    """Give a worker, and end it."""
    worker = Worker()
    try:
        yield worker
    finally:
        worker.stop()


def fill_caches(jobs: Iterable[Job], processes: int, end: float, done: Callable[[Job, dict], None]) -> None:
    """Have several processes compile jobs ahead, so that what times them later finds all in the caches.

    What fails is for the measurement to find. None begins after `end`, of time.monotonic().
    """
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = str(max(1, (os.cpu_count() or 1) // processes))
    waiting = [replace(job, rounds=0) for job in jobs][::-1]

    def take_all(_: int) -> None:
        with one_worker() as worker:
            while waiting and time.monotonic() < end:
                with contextlib.suppress(IndexError):
                    job = waiting.pop()
                    done(job, run_guarded(worker, job, max(1.0, end - time.monotonic())))

    try:
        with ThreadPoolExecutor(processes) as pool:
            list(pool.map(take_all, range(processes)))
    finally:
        del os.environ["TORCHINDUCTOR_COMPILE_THREADS"]
    print(f"{len(waiting)} jobs were not compiled ahead", file=sys.stderr) if waiting else None
