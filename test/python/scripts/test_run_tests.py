# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/run_tests.py: its last line is what CI believes, so every way to count wrong is tried."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCE / "scripts"))

import run_tests  # noqa: E402


def lit_report(*codes):
    return json.dumps({"tests": [{"name": f"t{i}", "code": code} for i, code in enumerate(codes)]})


def test_lit_counts_expected_failures_as_passed():
    result = run_tests.parse_lit(lit_report("PASS", "XFAIL", "FLAKYPASS", "UNSUPPORTED", "SKIPPED"))
    assert (result.passed, result.failures, result.skipped) == (3, [], 2)


@pytest.mark.parametrize("code", ["FAIL", "XPASS", "TIMEOUT", "UNRESOLVED"])
def test_lit_failures(code):
    assert run_tests.parse_lit(lit_report(code)).failures == [f"t0 ({code})"]


def test_gtest_counts_skipped_and_failed():
    tests = [
        {"name": "a", "result": "COMPLETED"},
        {"name": "b", "result": "COMPLETED", "failures": [{}]},
        {"name": "c", "result": "SKIPPED"},
        {"name": "d", "result": "SUPPRESSED"},
    ]
    result = run_tests.parse_gtest("XTests", json.dumps({"testsuites": [{"name": "S", "testsuite": tests}]}))
    assert (result.passed, result.failures, result.skipped) == (1, ["XTests: S.b"], 2)


def test_junit_counts_each_outcome():
    report = """<testsuites><testsuite>
      <testcase classname="m" name="a"/>
      <testcase classname="m" name="b"><failure/></testcase>
      <testcase classname="m" name="c"><error/></testcase>
      <testcase classname="m" name="d"><skipped/></testcase>
    </testsuite></testsuites>"""
    result = run_tests.parse_junit("pytest", report)
    assert (result.passed, result.failures, result.skipped) == (1, ["m.b", "m.c"], 1)


def run(build: Path, *args: str) -> subprocess.CompletedProcess:
    """Run the script from a source tree without tests, so that only what `build` holds counts."""
    script = build / "source/scripts/run_tests.py"
    script.parent.mkdir(parents=True)
    shutil.copy(SOURCE / "scripts/run_tests.py", script)
    command = [sys.executable, str(script), str(build), *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def fake_gtest(build: Path, script: str) -> None:
    program = build / "unittests/FakeTests"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_a_program_that_crashes_is_one_failure(tmp_path):
    fake_gtest(tmp_path, "kill -SEGV $$")
    result = run(tmp_path, "--gpu")
    assert result.returncode == 1
    assert "FAILED FakeTests: exit code -11" in result.stdout
    assert result.stdout.splitlines()[-1] == "0 passed, 1 failed"


def test_a_program_that_hangs_is_one_failure(tmp_path):
    fake_gtest(tmp_path, "exec sleep 60")
    result = run(tmp_path, "--gpu", "--limit=1")
    assert "FAILED FakeTests: took longer than 1 s" in result.stdout


def test_no_test_at_all_is_an_error(tmp_path):
    result = run(tmp_path, "--gpu")
    assert result.returncode == 1
    assert result.stdout.splitlines()[-1] == "0 passed, 0 failed"
