# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random layers compile for every target and strategy, and their CPU code gives what float64 gives.

The seed is drawn anew in each run, whose summary names it; TENON_SEED=N takes N. `random_layers.py N` prints a module.
"""

import os
import subprocess

import pytest
from random_layers import Module
from tenon_graphs.execute import TENON_COMPILE, TENON_RUN

SEED = int(os.environ.get("TENON_SEED", "0"))  # conftest.py draws it
RUN, COMPILED, TOGETHER = 60, 40, 10
STRATEGIES = {
    "auto": [],
    "library": ["--strategy=library"],
    "tiled": ["--strategy=tiled"],
    "resident": ["--strategy=tiled", "--reduction=resident"],
    "two_phase": ["--strategy=tiled", "--reduction=two_phase"],
}


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=300)
    return "" if done.returncode == 0 else f"{' '.join(map(str, command))}\n{done.stdout[-500:]}\n{done.stderr[-2000:]}"


def write(path, first, count, **options):
    """Write modules as functions of one; return their names."""
    modules = [Module(seed, f"f{seed}", **options) for seed in range(first, first + count)]
    path.write_text("\n".join(module.mlir() for module in modules))
    return modules


@pytest.mark.parametrize("offset", range(0, RUN, TOGETHER))
def test_values(offset, tmp_path):
    modules = write(tmp_path / "layers.mlir", SEED + offset, TOGETHER, is_small=True)
    problem = run(TENON_COMPILE, tmp_path / "layers.mlir", "--reference", "-o", tmp_path / "layers.so")
    assert not problem, f"TENON_SEED={SEED}: {problem}"
    for module in modules:
        dim = ["--dim", "m=40"] if module.m == "?" else []
        problem = run(TENON_RUN, tmp_path / "layers.so", f"--function={module.name}", "--check", *dim)
        assert not problem, f"TENON_SEED={SEED}: {problem}\n{module.mlir()}"


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_kernels_are_written(target, strategy, tmp_path):
    for offset in range(RUN, RUN + COMPILED, TOGETHER):
        write(tmp_path / "layers.mlir", SEED + offset, TOGETHER)
        flags = [f"--target={target}", "--stop-after=cuda-llvm", "-o", tmp_path / "layers.out", *STRATEGIES[strategy]]
        problem = run(TENON_COMPILE, tmp_path / "layers.mlir", *flags)
        assert not problem, f"TENON_SEED={SEED}: {problem}"
