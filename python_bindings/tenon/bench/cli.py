# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command tenon-bench."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import re
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import tenon
from tenon import device
from tenon.bench import tune
from tenon.bench.compilation import Compiled, Job, compile_all, job_of
from tenon.bench.config import Case, ConfigError, read_config
from tenon.bench.contender import Contender
from tenon.bench.progress import progress
from tenon.bench.table import first_line, table
from tenon.bench.tuned_table import TableError, read_table

DRY_TARGET = "sm_80"  # where there is no GPU
WRONG, MISUSED = 1, 2  # exit codes


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="tenon-bench",
        description="Times linear layers with their epilogues on a GPU or the CPU, beside cuBLAS and PyTorch, and "
        "checks results.",
        epilog="Exit code: 1 if a result of Tenon's is wrong (with --dry-run: if one does not compile), 2 if the "
        "command or the configuration is, 3 if a kernel did not end while --tune ran. The configuration is described "
        "in docs/Benchmarking.md.",
    )
    parser.add_argument("config", type=Path, metavar="CONFIG.json", help="what to measure")
    parser.add_argument("-o", "--output", type=Path, metavar="RESULTS.json", help="where the report goes")
    parser.add_argument("--table", action="store_true", help="print the report as a table at the end")
    parser.add_argument("--filter", default="", metavar="REGEX", help="measure the cases whose name matches")
    parser.add_argument(
        "--repeat", type=int, metavar="N", help="rounds of timing, instead of the configuration's; 0: only check"
    )
    parser.add_argument(
        "--target",
        metavar="ARCH",
        help="compile for sm_80, ..., instead of the configuration's or this GPU; cpu: compile for and measure the CPU",
    )
    parser.add_argument("--dry-run", action="store_true", help="compile and list the cases; needs no GPU")
    parser.add_argument(
        "--tune",
        type=Path,
        metavar="TABLE.inc",
        help="measure schedules for sm_90a, and write the best of each case there",
    )
    parser.add_argument(
        "--candidates", type=int, metavar="N", help=f"schedules that --tune measures of a case (default: {tune.MOST})"
    )
    parser.add_argument("--tune-seconds", type=float, metavar="S", help="begin no case that would end later than that")
    parser.add_argument("--version", action="version", version=f"%(prog)s {tenon.__version__}")
    options = parser.parse_args(arguments)
    if not options.dry_run and not options.output:
        parser.error("where should the report go? give -o RESULTS.json, or --dry-run")
    if options.repeat is not None and options.repeat < 0:
        parser.error("--repeat should be a number of rounds, or 0 for no timing")
    check_tuning(parser, options)
    targets = ["cpu", *device.known_targets()]
    if options.target and options.target not in targets:
        parser.error(f"--target: there is no '{options.target}'; use {', '.join(targets)}")
    return options


def check_tuning(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Check what belongs to --tune."""
    for name in ("candidates", "tune_seconds"):
        value = getattr(options, name)
        option = f"--{name.replace('_', '-')}"
        if value is not None and not options.tune:
            parser.error(f"{option} belongs to --tune TABLE.inc")
        if value is not None and value <= 0:
            parser.error(f"{option} should be more than 0")
    if options.tune and options.target not in (None, tune.TARGET):
        parser.error(f"--tune is for {tune.TARGET}; leave out --target")
    if options.tune and options.repeat == 0:
        parser.error("--tune needs timing; give --repeat of 1 or more")


def misused(problem: str) -> NoReturn:
    """Say what is wrong with the command, and exit."""
    print(f"tenon-bench: error: {problem}", file=sys.stderr)
    sys.exit(MISUSED)


def select(cases: list[Case], options: argparse.Namespace) -> list[Case]:
    """Return the cases that match, with the command line's settings."""
    try:
        chosen = [case for case in cases if re.search(options.filter, case.name)]
    except re.error as error:
        misused(f"--filter: '{options.filter}' is no regular expression: {error}")
    if not chosen:
        misused(f"--filter: no case matches '{options.filter}'; cases are like '{cases[0].name}'")
    changes: dict[str, Any] = {"target": options.target} if options.target else {}
    if options.repeat is not None:
        changes["repeat"] = options.repeat
    return [dataclasses.replace(case, **changes) for case in chosen]


def check_device(target: str | None) -> None:
    """Exit where nothing can be measured."""
    try:
        import torch
    except ImportError:
        misused("PyTorch is not installed; run: pip install torch")
    if target != "cpu" and not torch.cuda.is_available():
        misused("PyTorch sees no GPU; --target=cpu measures the CPU, and --dry-run compiles the cases")


def check_output(option: str, path: Path) -> None:
    """Exit where a file could not be written after all the work."""
    folder = path.resolve().parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        misused(f"{option}: there is no folder '{folder}'; make it first")
    if path.exists() and not path.is_file():
        misused(f"{option}: '{path}' is there and is not a file; give another path")


Made = dict[Contender, Compiled]


def made_for(case: Case, compiled: dict[Job, Compiled], target: str) -> Made:
    """Return what was compiled for a case."""
    return {c: compiled[job_of(case, c, target)] for c in case.contenders if c.tenon}


def list_cases(cases: list[Case], compiled: dict[Job, Compiled], target: str) -> int:
    """Print every case with its contenders, and what did not compile."""
    failures = 0
    for case in cases:
        print(f"{case.name}: {', '.join(c.name for c in case.contenders)}")
        for contender, made in made_for(case, compiled, target).items():
            failures += bool(made.failed)
            if made.failed:
                print(f"  {contender.name}: FAILED {first_line(made.failed)}")
    print(f"{len(cases)} cases, {len(compiled)} compilations, {failures} contenders do not compile")
    return WRONG if failures else 0


def measure(cases: list[Case], compiled: dict[Job, Compiled], target: str, report: dict[str, Any], path: Path) -> None:
    """Measure the cases and write the report after each."""
    from tenon.bench.measure import check_alive, release, run_case
    from tenon.bench.results import environment, write_whole
    from tenon.bench.timing import Cpu, Gpu, copy_rate

    place, bench, rate = ("cpu", Cpu, None) if target == "cpu" else ("cuda", Gpu, copy_rate())
    report |= {"environment": environment(place), "target": target, "copy_bytes_per_s": rate, "cases": []}
    release()
    for case in progress(cases, len(cases), "measuring"):
        made = made_for(case, compiled, target)
        report["cases"].append(run_case(case, made, place, rate, bench))
        write_whole(path, report)
        check_alive(case.name)
        release()


def summarize(report: dict[str, Any], options: argparse.Namespace) -> int:
    """Print the end, and return the exit code."""
    from tenon.bench.measure import wrong

    if options.table:
        print("\n".join(table(report["cases"])))
    bad = {case["name"]: wrong(case) for case in report["cases"]}
    for name, contenders in bad.items():
        for contender in contenders:
            print(f"wrong: {name}: {contender}")
    failed = sum("failed" in c for case in report["cases"] for c in case["contenders"])
    count = sum(map(len, bad.values()))
    print(f"{len(report['cases'])} cases measured, {count} contenders wrong, {failed} failed")
    return WRONG if count else 0


def run_tuning(config: Any, cases: list[Case], options: argparse.Namespace) -> int:
    """Tune the cases."""
    planned, notes = tune.plan(cases, options.candidates or tune.MOST)
    for note in notes:
        print(note)
    if not planned:
        misused("--tune: no case is left; see above")
    if untimed := next((case.name for case in planned.values() if not case.repeat), None):
        misused(f"--tune: {untimed} is not timed; set repeat, or give --repeat of 1 or more")
    if options.dry_run:
        return tune.list_candidates(planned.values())
    if (found := device.default_target()) != tune.TARGET:
        misused(f"--tune measures kernels of {tune.TARGET}, but this GPU takes {found}; --dry-run compiles them")
    try:
        read_table(options.tune)
    except TableError as error:
        misused(f"--tune: {error}")
    report = {"config": config}
    tune.tune(planned, report, options.output, options.tune, options.tune_seconds)
    return tune.summarize(report, len(planned), options.tune, options.table)


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    options = parse(arguments)
    try:
        config, cases = read_config(options.config)
    except ConfigError as error:
        misused(f"{options.config.name or options.config}: {error}")
    cases = select(cases, options)
    if not options.dry_run:
        check_device(options.target)
        check_output("-o", options.output)
    if options.tune:
        check_output("--tune", options.tune)
        return run_tuning(config, cases, options)
    found = device.default_target()
    target = options.target or (DRY_TARGET if found == "cpu" else found)
    begin = time.perf_counter()
    compiled = compile_all(cases, target, functools.partial(progress, what="compiling"))
    if options.dry_run:
        return list_cases(cases, compiled, target)
    report = {"config": config, "compile_all_s": time.perf_counter() - begin}
    measure(cases, compiled, target, report, options.output)
    return summarize(report, options)


if __name__ == "__main__":
    sys.exit(main())
