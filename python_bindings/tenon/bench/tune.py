# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon-bench --tune: measures schedules for each case and writes the table of the best."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from tenon.bench.candidates import TARGET, candidates
from tenon.bench.compilation import Ahead, Compiled, job_of
from tenon.bench.config import Case
from tenon.bench.contender import Contender, is_candidate, of_peer, of_schedules, of_strategy
from tenon.bench.progress import progress
from tenon.bench.table import first_line, table
from tenon.bench.tuned_table import Key, Line, key_of, update_table

T = TypeVar("T")
MOST = 48  # candidates of a case, where the command line does not say


def other_target(case: Case) -> str:
    """Say that a case is not for the table's target; "" if it is."""
    return f"its target is {case.target}; the table is of {TARGET}" if case.target not in (None, TARGET) else ""


def plan(cases: list[Case], limit: int) -> tuple[dict[Key, Case], list[str]]:
    """Return the cases with what is measured of each, by key, and a line on each that is left out."""
    planned: dict[Key, Case] = {}
    notes = []
    for case in cases:
        found = candidates(case.problem)
        key = key_of(case.problem, found.epilogue)
        if reason := found.why_none or other_target(case):
            notes.append(f"left out: {case.name}: {reason}")
        elif key in planned:
            notes.append(f"left out: {case.name}: {planned[key].name} has the same line in the table")
        else:
            contenders = (of_peer("cublas"), of_strategy("library"), *of_schedules(found.schedules[:limit]))
            planned[key] = dataclasses.replace(case, contenders=contenders, target=TARGET)
    return planned, notes


def start(cases: Iterable[Case]) -> Ahead:
    """Begin to compile."""
    return Ahead(job_of(case, c, TARGET) for case in cases for c in case.contenders if c.tenon)


def compiled_for(case: Case, ahead: Ahead) -> dict[Contender, Compiled]:
    """Wait for what a case needs; a candidate whose layer was left to the library has failed."""
    made = {c: ahead.get(job_of(case, c, TARGET)) for c in case.contenders if c.tenon}
    for contender, compiled in made.items():
        if is_candidate(contender) and not compiled.failed and compiled.strategy != "tiled":
            made[contender] = Compiled(None, compiled.seconds, "; ".join(compiled.remarks) or "not tiled")
    return made


def accepted(case: Case, compiled: dict[Contender, Compiled]) -> Case:
    """Return the case without the candidates that the compiler refused."""
    kept = tuple(c for c in case.contenders if not (c in compiled and compiled[c].failed))
    return dataclasses.replace(case, contenders=kept)


def refused(compiled: dict[Contender, Compiled]) -> dict[str, str]:
    """Return why contenders do not compile: the first lines, without the schedules, which are long."""
    found = {}
    for contender, made in compiled.items():
        if made.failed:
            schedule = dict(contender.options).get("schedule")
            found[contender.name] = first_line(made.failed.replace(schedule, "...") if schedule else made.failed)
    return found


def list_candidates(cases: Collection[Case]) -> int:
    """Compile all candidates, and print what became of them; return the exit code."""
    total, without = 0, 0
    with start(cases) as ahead:
        for case in progress(cases, len(cases), "compiling"):
            compiled = compiled_for(case, ahead)
            kept = [c.name for c in accepted(case, compiled).contenders if is_candidate(c)]
            print(f"{case.name}: {', '.join(kept)}")
            for name, why in refused(compiled).items():
                print(f"  {name}: REFUSED {why}")
            total += len(kept)
            without += not kept
    print(f"{len(cases)} layers, {total} candidates compile, {without} layers have none")
    return 1 if without else 0


def in_time(cases: Iterable[T], seconds: float | None) -> Iterator[T]:
    """Yield cases until the time is over that another is likely to need."""
    begin = time.perf_counter()
    for done, case in enumerate(cases):
        spent = time.perf_counter() - begin
        if seconds is not None and spent + (spent / done if done else 0.0) > seconds:
            return
        yield case


def tune(planned: dict[Key, Case], report: dict[str, Any], output: Path, path: Path, seconds: float | None) -> None:
    """Measure the cases; write the report and the table after each."""
    from tenon.bench.measure import check_alive, release
    from tenon.bench.results import environment, write_whole
    from tenon.bench.timing import Gpu, copy_rate
    from tenon.bench.tuning import tune_case

    with start(planned.values()) as ahead:
        report |= {"environment": environment("cuda"), "target": TARGET, "copy_bytes_per_s": copy_rate(), "cases": []}
        release()
        for key, case in progress(in_time(planned.items(), seconds), len(planned), "tuning"):
            compiled = compiled_for(case, ahead)
            measured = tune_case(accepted(case, compiled), compiled, "cuda", report["copy_bytes_per_s"], Gpu)
            measured["refused"] = refused(compiled)
            report["cases"].append(measured)
            write_whole(output, report)
            if line := line_of(measured):
                update_table(path, {key.of_schedule(line.schedule): line})
            check_alive(case.name)
            release()


def line_of(measured: dict[str, Any]) -> Line | None:
    """Return a case's line in the table, None where no candidate could be measured."""
    for contender in measured["contenders"]:
        if contender.get("chosen"):
            return Line(contender["options"]["schedule"], f"{contender['worst_time_over_cublas']:.3f}")
    return None


def summarize(report: dict[str, Any], planned: int, path: Path, show: bool) -> int:
    """Print the end, and return the exit code."""
    from tenon.bench.measure import wrong

    if show:
        finals = [case | {"contenders": [c for c in case["contenders"] if "times" in c]} for case in report["cases"]]
        print("\n".join(table(finals)))
    count = 0
    for case in report["cases"]:
        for name, why in case["refused"].items():
            print(f"refused: {case['name']}: {name}: {why}")
        for contender in case["contenders"]:
            if "failed" in contender:
                print(f"failed: {case['name']}: {contender['name']}: {first_line(contender['failed'])}")
        for name in wrong(case):
            print(f"wrong: {case['name']}: {name}")
            count += 1
    tuned = sum(case["chosen"] is not None for case in report["cases"])
    print(f"{tuned} of {planned} layers tuned, in {path}; {count} candidates wrong")
    return 1 if count else 0
