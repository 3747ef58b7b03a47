#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run Tenon's test suites and add up their results.

Runs the lit tests under test/, every GoogleTest program under BUILD/unittests, and
pytest on test/python: in a process a core, then alone those that measure time. The last
line is `N passed, N failed`; skipped and unsupported tests count as neither. Exits 1 when
a test failed or none ran.

--gpu runs the tests that need a GPU instead: lit tests with `REQUIRES: gpu`,
GoogleTest suites whose name starts with Gpu, and pytest tests marked gpu.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
LIT = "/usr/lib/llvm-22/bin/lit"
# PRESET=asan: libMLIR.so is not instrumented, so containers and allocators that cross
# into it look wrong to the sanitizer, and what LLVM keeps until exit looks like a leak.
ASAN_OPTIONS = "detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0"
LIT_PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
LIT_NOT_RUN = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


@dataclass
class Result:
    """What one suite did."""

    suite: str
    passed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Return one line for the summary."""
        return f"{self.suite}: {self.passed} passed, {len(self.failures)} failed, {self.skipped} skipped"


def run(command: list[str], limit_s: int, env: dict[str, str] | None = None) -> str:
    """Run a command with its output shown; return why it failed, or nothing."""
    try:
        code = subprocess.run(command, check=False, timeout=limit_s, env=env).returncode
    except subprocess.TimeoutExpired:
        return f"took longer than {limit_s} s"
    except OSError as error:
        return str(error)
    return f"exit code {code}" if code else ""


def read(path: Path) -> str:
    """Return a report's text, or nothing where the suite died before writing it."""
    return path.read_text() if path.exists() else ""


def parse_lit(report: str) -> Result:
    """Count the tests of lit's --output JSON."""
    result = Result("lit")
    for test in json.loads(report)["tests"] if report else []:
        if test["code"] in LIT_PASSED:
            result.passed += 1
        elif test["code"] in LIT_NOT_RUN:
            result.skipped += 1
        else:
            result.failures.append(f"{test['name']} ({test['code']})")
    return result


def parse_gtest(name: str, report: str) -> Result:
    """Count the tests of GoogleTest's JSON."""
    result = Result(name)
    for suite in json.loads(report)["testsuites"] if report else []:
        for test in suite["testsuite"]:
            if "failures" in test:
                result.failures.append(f"{name}: {suite['name']}.{test['name']}")
            elif test["result"] == "COMPLETED":
                result.passed += 1
            else:
                result.skipped += 1
    return result


def parse_junit(name: str, report: str) -> Result:
    """Count the tests of pytest's JUnit XML."""
    result = Result(name)
    for case in ElementTree.fromstring(report).iter("testcase") if report else []:
        outcomes = {child.tag for child in case}
        if outcomes & {"failure", "error"}:
            result.failures.append(f"{case.get('classname')}.{case.get('name')}")
        elif "skipped" in outcomes:
            result.skipped += 1
        else:
            result.passed += 1
    return result


def died(result: Result, reason: str) -> Result:
    """Count a suite that ended badly, without a failed test to show for it, as one failure."""
    if reason and not result.failures:
        result.failures.append(f"{result.suite}: {reason}")
    return result


def needs_gpu(path: Path) -> bool:
    """Tell whether a lit test requires a GPU."""
    return re.search(r"REQUIRES:.*\bgpu\b", path.read_text(errors="replace")) is not None


def run_lit(build: Path, scratch: Path, args: argparse.Namespace) -> Result | None:
    """Run the lit tests."""
    report = scratch / "lit.json"
    command = [LIT, "-sv", "--no-progress-bar", "--output", str(report)]
    command += ["--filter", args.filter, "--allow-empty-runs"] if args.filter else []
    if args.gpu:
        sources = [path for suffix in ("mlir", "test") for path in (SOURCE / "test").rglob(f"*.{suffix}")]
        tests = [str(build / "test" / path.relative_to(SOURCE / "test")) for path in sources if needs_gpu(path)]
        if not tests:
            return None
        # GPU tests measure and share one card, so they run one at a time.
        command += ["-j1", *tests]
    else:
        command.append(str(build / "test"))
    reason = run(command, args.limit)
    return died(parse_lit(read(report)), reason)


def run_gtests(build: Path, scratch: Path, args: argparse.Namespace) -> list[Result]:
    """Run every GoogleTest program."""
    results = []
    for program in sorted((build / "unittests").rglob("*Tests")):
        if not program.is_file() or not os.access(program, os.X_OK):
            continue
        report = scratch / f"{program.name}.json"
        # GoogleTest has no 'and': --gpu wins over --filter.
        wanted = "Gpu*" if args.gpu else f"*{args.filter or ''}*"
        command = [str(program), "--gtest_brief=1", f"--gtest_output=json:{report}", f"--gtest_filter={wanted}"]
        reason = run(command, args.limit)
        results.append(died(parse_gtest(program.name, read(report)), reason))
    return results


def run_pytest(build: Path, scratch: Path, args: argparse.Namespace) -> list[Result]:
    """Run the Python tests."""
    if not (SOURCE / "test/python").is_dir():
        return []
    if args.gpu:
        return [run_marked("pytest", "gpu", [], build, scratch, args)]
    # Tests of a file share the models that they compile.
    workers = ["-n", "auto", "--maxprocesses", "8", "--dist", "loadfile"]
    return [
        run_marked("pytest", "not gpu and not alone", workers, build, scratch, args),
        run_marked("pytest alone", "alone and not gpu", [], build, scratch, args),
    ]


def run_marked(
    name: str, marks: str, options: list[str], build: Path, scratch: Path, args: argparse.Namespace
) -> Result:
    """Run the Python tests that have the given marks."""
    report = scratch / f"{name}.xml"
    venv = SOURCE / ".deps/venv/bin/python"
    command = [str(venv if venv.exists() else sys.executable), "-m", "pytest", "-q", f"--junitxml={report}"]
    command += ["-k", args.filter] if args.filter else []
    command += ["-m", marks, *options, str(SOURCE / "test/python")]
    # The package of this build, before one that is installed.
    path = os.pathsep.join(filter(None, [str(build / "python"), os.environ.get("PYTHONPATH")]))
    reason = run(command, args.limit, env={**os.environ, "TENON_BUILD": str(build), "PYTHONPATH": path})
    # pytest's exit code 5 says that no test was selected.
    return died(parse_junit(name, read(report)), "" if reason == "exit code 5" else reason)


def why_none(args: argparse.Namespace) -> str:
    """Return what may be why no test ran."""
    if args.gpu:
        return ": this machine shows no NVIDIA GPU, or no test asks for one"
    return f": no name matches {args.filter}" if args.filter else ""


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=Path, default=SOURCE / "build", help="build folder")
    parser.add_argument("--gpu", action="store_true", help="run the tests that need a GPU instead")
    parser.add_argument("--filter", help="only tests whose name contains this (lit: matches this)")
    parser.add_argument("--limit", type=int, default=2700, metavar="S", help="seconds that one suite may take")
    args = parser.parse_args()
    build = args.build.resolve()
    os.environ.setdefault("ASAN_OPTIONS", ASAN_OPTIONS)
    os.environ.setdefault("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1")

    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        results = [run_lit(build, scratch, args), *run_gtests(build, scratch, args), *run_pytest(build, scratch, args)]

    print("\nSummary")
    passed, failures = 0, []
    for result in filter(None, results):
        print(f"  {result}")
        passed += result.passed
        failures += result.failures
    for failure in failures:
        print(f"  FAILED {failure}")
    if not passed and not failures:
        print(f"  no test ran{why_none(args)}")
    print(f"{passed} passed, {len(failures)} failed", flush=True)
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
