#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tell whether two builds of the tools make the same kernels, manifests and remarks of everything in this tree.

    .deps/venv/bin/python scripts/compare_binaries.py BEFORE [AFTER]     # two folders of tools; AFTER: build/bin

Three kinds of inputs: every model of benchmarks/configs with the options of its contenders; every layer of the .mlir
files under test and examples, for sm_80 and sm_90a; and what the tests' own `RUN: tenon-opt` lines print.

Of a model, the last IR (stage cuda-llvm, the kernels in it) and all remarks are compared. LLVM and ptxas turn the same
IR into the same bytes, so the whole, manifest and cubins, is made and compared where the IR differs, and of one model
in SAMPLE besides; --full makes it of every model, for a change below that stage. Prints what differs; exits 1 if
anything does.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TARGETS = ("sm_80", "sm_90a")
SAMPLE = 40
LAYER = re.compile(r"\btenon\.(fused_)?linear\b")


class Job(NamedTuple):
    """One call of a tool with a text as its input; `whole` may be made of a model."""

    name: str
    tool: str
    options: tuple[str, ...]
    text: str
    whole: bool = False


def benchmarks(build: Path) -> Iterator[Job]:
    """Give the models of benchmarks/configs."""
    sys.path.insert(0, str(build / "python"))
    from tenon.bench.config import read_config

    for path in sorted((ROOT / "benchmarks/configs").glob("*.json")):
        for case in read_config(path)[1]:
            for contender in (c for c in case.contenders if c.tenon):
                options = tuple(f"--{key}={value}" for key, value in contender.options)
                for target in (case.target,) if case.target else TARGETS:
                    name = f"{path.name} {case.name} {contender.name} {target}"
                    yield Job(name, "tenon-compile", (f"--target={target}", *options), case.problem.mlir(), True)


def layers() -> Iterator[Job]:
    """Give the layers of tests and examples, split as the tests split them."""
    for path in sorted([*ROOT.glob("test/**/*.mlir"), *ROOT.glob("examples/*.mlir")]):
        for number, text in enumerate(re.split(r"^// -----$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)):
            for target in TARGETS if LAYER.search(text) else ():
                for strategy in ("auto", "tiled"):
                    options = (f"--target={target}", f"--strategy={strategy}")
                    yield Job(f"{path.name}#{number} {' '.join(options)}", "tenon-compile", options, text, True)


def runs() -> Iterator[Job]:
    """Give what the tests call tenon-opt with; it prints all that a test may look at."""
    for path in sorted(ROOT.glob("test/**/*.mlir")):
        text = path.read_text(encoding="utf-8")
        lines = re.sub(r"\\\n// RUN:", " ", text)
        for command in re.findall(r"^// RUN:\s+(?:not )?tenon-opt %s (.*)", lines, flags=re.MULTILINE):
            words = shlex.shlex(command, posix=True, punctuation_chars=True)
            words.wordchars += "=%,{}:#"
            options = [*itertools.takewhile(lambda word: word not in ("|", ">", ">&", "&&"), words)]
            if not any("%" in option for option in options):
                yield Job(f"{path.name}: {command}", "tenon-opt", tuple(o for o in options if o != "2"), text)


def call(tools: Path, job: Job, *more: str) -> tuple[bytes, bytes]:
    """Return what a tool prints; the exit code goes with its errors."""
    command = [tools / job.tool, "-", *job.options, *more]
    done = subprocess.run(command, input=job.text.encode(), capture_output=True, check=False)
    return done.stdout, done.stderr + str(done.returncode).encode()


def compare(before: Path, after: Path, job: Job, full: bool) -> str:
    """Return what differs, or how much was compared."""
    more = ("--stop-after=cuda-llvm", "--remarks-filter=.*", "--name=model") if job.whole else ()
    (old, old_words), (new, new_words) = (call(tools, job, *more) for tools in (before, after))
    if old_words != new_words:
        return "remarks or errors differ"
    if not job.whole:
        return "same output" if old == new else "the output differs"
    failed = not old_words.endswith(b"0")
    if failed or (old == new and not full):
        return "same error" if failed else "same IR"
    wholes = [call(tools, job, "--emit=llvm", "--name=model", "-o", "-") for tools in (before, after)]
    return "same binary" if wholes[0] == wholes[1] else "manifest or cubins differ"


def main() -> int:
    """Compare everything, two jobs at a time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path, nargs="?", default=ROOT / "build/bin")
    parser.add_argument("--full", action="store_true", help="make and compare manifest and cubins of every model")
    parser.add_argument("--filter", default="", help="compare what has this in its name")
    options = parser.parse_args()
    jobs: dict[tuple[str, ...], Job] = {}
    for job in [*benchmarks(ROOT / "build"), *layers(), *runs()]:
        if options.filter in job.name:
            jobs.setdefault((job.tool, *job.options, job.text), job)

    def one(numbered: tuple[int, Job]) -> tuple[Job, str]:
        number, job = numbered
        return job, compare(options.before, options.after, job, options.full or number % SAMPLE == 0)

    found: Counter[str] = Counter()
    with ThreadPoolExecutor(2) as pool:
        for job, what in pool.map(one, enumerate(jobs.values())):
            found[what] += 1
            if "differ" in what:
                print(f"{job.name}: {what}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in sorted(found.items())))
    return any("differ" in what for what in found) or not found


if __name__ == "__main__":
    os.nice(5)
    sys.exit(main())
