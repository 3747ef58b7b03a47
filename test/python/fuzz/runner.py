# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a check for many numbers in worker processes, and writes a summary.

A worker that dies or takes too long is a failure of its number, and another takes its place.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing.connection import Connection, wait
from pathlib import Path

# Of a number and a scratch folder: what is wrong, "" if nothing, and what was done, counted.
Check = Callable[[int, Path], tuple[str, Counter]]
FOREVER = 1e9


@dataclass
class Worker:
    """A process, and the number that it is at since when."""

    process: multiprocessing.Process
    connection: Connection
    number: int = -1
    since: float = 0.0

    def give(self, number: int) -> None:
        self.number, self.since = number, time.monotonic()
        self.connection.send(number)


@dataclass
class Run:
    """What was checked so far."""

    check: Check
    limit_s: float
    folder: Path
    failures: list[dict] = field(default_factory=list)
    counts: Counter = field(default_factory=Counter)
    done: int = 0

    def start(self) -> Worker:
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.Process(target=self.work, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        return Worker(process, ours)

    def work(self, connection: Connection) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while True:
            try:
                number = connection.recv()
            except EOFError:
                return
            with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
                try:
                    answer = self.check(number, Path(scratch))
                except Exception:
                    answer = traceback.format_exc(), Counter()
            connection.send(answer)

    def record(self, number: int, problem: str) -> None:
        self.done += 1
        if problem:
            self.failures.append({"seed": number, "problem": problem[-4000:]})
            print(f"seed {number}: {problem[-1500:]}", flush=True)

    def collect(self, worker: Worker) -> bool:
        """Take a worker's answer; tell whether it lives on."""
        try:
            problem, counts = worker.connection.recv()
        except EOFError:
            worker.process.join()
            self.record(worker.number, f"the process died, exit code {worker.process.exitcode}")
            return False
        self.counts += counts
        self.record(worker.number, problem)
        return True

    def replace_late(self, workers: list[Worker]) -> None:
        """End the workers that take too long."""
        for worker in list(workers):
            if worker.number >= 0 and time.monotonic() - worker.since > self.limit_s:
                worker.process.kill()
                worker.process.join()
                self.record(worker.number, f"no end within {self.limit_s:g} s")
                workers.remove(worker)

    def run(self, numbers: Iterator[int], count: int, deadline: float) -> None:
        workers: list[Worker] = []
        while True:
            open_ = time.monotonic() < deadline
            for worker in [w for w in workers if w.number < 0]:
                number = next(numbers, None) if open_ else None
                if number is None:
                    worker.connection.close()
                    workers.remove(worker)
                else:
                    worker.give(number)
            missing = count - len(workers) if open_ else 0
            for number in (n for n in (next(numbers, None) for _ in range(missing)) if n is not None):
                workers.append(self.start())
                workers[-1].give(number)
            if not workers:
                return
            by_connection = {worker.connection: worker for worker in workers}
            for connection in wait(by_connection, timeout=1.0):
                worker = by_connection[connection]
                if self.collect(worker):
                    worker.number = -1
                else:
                    workers.remove(worker)
            self.replace_late(workers)


def parser(description: str, count: int) -> argparse.ArgumentParser:
    """Return a parser of what all runs take."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--count", type=int, default=count, help=f"how many are drawn; default: {count}")
    made.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="the first; default: a random one")
    made.add_argument("--workers", type=int, default=os.cpu_count(), help="processes; default: one a processor")
    made.add_argument("--seconds", type=float, default=FOREVER, help="start no more after this time")
    made.add_argument("-o", "--output", type=Path, help="where the summary goes, as JSON")
    return made


def main(what: str, args: argparse.Namespace, check: Check, limit_s: float) -> int:
    """Check `args.count` numbers from `args.seed` on; return the exit code."""
    multiprocessing.set_start_method("fork")
    begun = time.monotonic()
    print(f"{what}: {args.count} from seed {args.seed} on, {args.workers} workers", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        run = Run(check, limit_s, Path(folder))
        run.run(iter(range(args.seed, args.seed + args.count)), args.workers, begun + args.seconds)
    summary = {
        "what": what,
        "seed": args.seed,
        "asked": args.count,
        "done": run.done,
        "counts": dict(sorted(run.counts.items())),
        "failures": run.failures,
        "seconds": round(time.monotonic() - begun, 1),
        "workers": args.workers,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} processors, {platform.platform()}",
        "python": sys.version.split()[0],
    }
    if args.output:
        args.output.write_text(json.dumps(summary, indent=1) + "\n")
    print(f"{what}: {run.done} of {args.count}, {len(run.failures)} failed, {summary['seconds']} s", flush=True)
    return 1 if run.failures else 0
