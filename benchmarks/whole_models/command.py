# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line: which jobs, in which order, within which time."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

from whole_models import rows
from whole_models.first_call import first_calls, seconds_here
from whole_models.jobs import CONTENDERS, MODELS, MODES, SCENARIOS, Job
from whole_models.workers import fill_caches, one_worker, run_guarded


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    found = argparse.ArgumentParser(description=__doc__)
    found.add_argument(
        "--output", type=Path, help="the report, JSON; rows that are there already stay, or are replaced"
    )
    found.add_argument("--models", help="names with commas between them; without, all that a scenario is for")
    found.add_argument("--scenarios", default=",".join(SCENARIOS), help=f"of {', '.join(SCENARIOS)}")
    found.add_argument("--mode", default="default", help=f"of both compiled contenders: {', '.join(MODES)}, or several")
    found.add_argument("--contenders", default=",".join(CONTENDERS), help=f"of {', '.join(CONTENDERS)}")
    found.add_argument("--rounds", type=int, default=10, help="bursts of each contender")
    found.add_argument("--budget-seconds", type=float, default=540, help="all is over after this")
    found.add_argument("--job-seconds", type=float, default=150, help="a model in a scenario is over after this")
    found.add_argument(
        "--workers", type=int, default=0, help="processes that compile all jobs before the first is timed"
    )
    found.add_argument(
        "--fill",
        default="compile",
        help="contenders that they compile; not tenon, which would take its choices by timing a GPU that others load",
    )
    found.add_argument("--fill-seconds", type=float, default=300, help="at most as long do they compile")
    found.add_argument(
        "--first-call", action="store_true", help="measure first calls, cold and warm, in place of times"
    )
    found.add_argument("--options", type=json.loads, default={}, help='options of backend="tenon", as JSON')
    found.add_argument("--tiny", action="store_true", help="tiny sizes on the CPU: tries the script, measures nothing")
    found.add_argument("--merge", type=Path, nargs="+", help="only put these reports together, the later ones win")
    found.add_argument("--child", type=json.loads, help=argparse.SUPPRESS)
    return found


def chosen(text: str, known: tuple[str, ...] | dict, what: str) -> list[str]:
    """Return names of a list with commas; exits where one is not known."""
    names = text.split(",")
    for name in names:
        if name not in known:
            sys.exit(f"bench_whole_models.py: error: {what} '{name}' is not known; there are {', '.join(known)}")
    return names


def jobs_of(options: argparse.Namespace) -> list[Job]:
    """Return all jobs, a scenario after the other."""
    return [
        Job(
            model,
            scenario,
            mode,
            chosen(options.contenders, CONTENDERS, "contender"),
            device="cpu" if options.tiny else "cuda",
            tiny=options.tiny,
            rounds=options.rounds,
            limit_s=options.job_seconds,
            options=options.options,
        )
        for mode in chosen(options.mode, MODES, "mode")
        for scenario in chosen(options.scenarios, SCENARIOS, "scenario")
        for model in (chosen(options.models, MODELS, "model") if options.models else SCENARIOS[scenario].models)
    ]


def say(begin: float, text: str) -> None:
    """Print a line with the time that it is."""
    print(f"[{time.monotonic() - begin:4.0f} s] {text}", flush=True)


def compiled_line(job: Job, row: dict) -> str:
    """Return a line on what was compiled ahead."""
    taken = " ".join(f"{who} {seconds:.1f} s" for who, seconds in row["first_call_s"].items())
    return f"compiled {job.name}: {taken}" + "".join(
        f" FAILED {who}: {why[:110]}" for who, why in row["failed"].items()
    )


def measure_all(jobs: list[Job], options: argparse.Namespace, begin: float) -> dict:
    """Time jobs while the budget lasts; the report is written after each."""
    end = begin + options.budget_seconds
    report = rows.read(options.output)
    with one_worker() as worker:
        for i, job in enumerate(jobs):
            left = end - time.monotonic()
            if left < 5:
                report["not_reached"] = [late.name for late in jobs[i:]]
                break
            row = run_guarded(worker, job, min(options.job_seconds, left))
            say(begin, rows.line(row))
            report["rows"] = rows.with_row(report["rows"], row)
            rows.write(options.output, report)
    return report


def call_all(jobs: list[Job], options: argparse.Namespace, begin: float) -> dict:
    """Measure first calls while the budget lasts; the report is written after each."""
    end = begin + options.budget_seconds
    report = rows.read(options.output)
    for job in jobs:
        for contender in (name for name in job.contenders if name != "eager"):
            if end - time.monotonic() < 5:
                report["not_reached"].append(f"first call of {job.name}-{contender}")
                continue
            found = first_calls(job, contender, end)
            say(begin, f"{job.name}-{contender}: cold {found['cold_s']} warm {found['warm_s']} {found['failed'] or ''}")
            report = rows.merge([report, {"rows": [], "first_calls": [found]}])
            rows.write(options.output, report)
    return report


def main() -> int:
    """Measure and print; 1 where a contender failed or time was up."""
    options = parser().parse_args()
    if options.child:
        print(json.dumps(seconds_here(Job(**options.child))))
        return 0
    if not options.output:
        sys.exit("bench_whole_models.py: error: --output FILE says where the report goes")
    if options.merge:
        rows.write(options.output, rows.merge(rows.read(path) for path in options.merge))
        return 0
    begin = time.monotonic()
    jobs = jobs_of(options)
    if options.first_call:
        report = call_all(jobs, options, begin)
    else:
        if options.workers:
            end = begin + min(options.fill_seconds, options.budget_seconds)
            ahead = [replace(job, contenders=chosen(options.fill, CONTENDERS, "contender")) for job in jobs]
            fill_caches(ahead, options.workers, end, lambda job, row: say(begin, compiled_line(job, row)))
        report = measure_all(jobs, options, begin)
    rows.write(options.output, report)
    print(*(f"not reached: {name}" for name in report["not_reached"]), sep="\n")
    return int(bool(report["not_reached"]) or any(row["failed"] for row in report["rows"]))
