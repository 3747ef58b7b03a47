# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon-bench --tune: compilation in other processes."""

import os
from dataclasses import dataclass

from tenon.bench.compilation import Ahead, Compiled, Job

SOURCE = "func.func @forward(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {{\n  {}\n  return %0 : tensor<2x4xf32>\n}}\n"
GOOD = SOURCE.format("%0 = tenon.relu %x : tensor<2x4xf32>")
BAD = SOURCE.format("%0 = tenon.none %x : tensor<2x4xf32>")


@dataclass(frozen=True)
class Crash(Job):
    """A model at which the compiler crashes."""

    def run(self) -> Compiled:
        os.abort()


def test_models_come_out_of_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TENON_CACHE_DIR", str(tmp_path))
    good, bad = Job(GOOD, "cpu", ()), Job(BAD, "cpu", ())
    with Ahead([good, bad, good]) as ahead:
        made, failed = ahead.get(good), ahead.get(bad)
    assert made.executable and made.seconds > 0 and len([f for f in tmp_path.iterdir() if f.is_dir()]) == 1
    assert failed.executable is None and "tenon.none" in failed.failed


def test_a_crash_is_one_failure(tmp_path, monkeypatch):
    monkeypatch.setenv("TENON_CACHE_DIR", str(tmp_path))
    crash, good = Crash(GOOD, "cpu", ()), Job(GOOD, "cpu", (("name", "other"),))
    with Ahead([crash, good]) as ahead:
        assert ahead.get(crash).failed.startswith("the compiler crashed; run tenon-compile")
        assert ahead.get(good).executable
