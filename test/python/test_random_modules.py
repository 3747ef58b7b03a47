# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random modules: what their code computes, that each strategy has code for them, that mutated ones end no tool badly.

The seed is drawn anew in each run, whose summary names it; TENON_SEED=N takes N. The package fuzz runs more of them.
"""

import os
from collections import Counter

import pytest
from fuzz import modules, mutations
from fuzz.tools import describe, run_tool
from random_layers import Module

SEED = int(os.environ.get("TENON_SEED", "0"))  # conftest.py draws it
VALUES, LAYERS, MUTATED, TOGETHER = 60, 40, 100, 10


@pytest.mark.parametrize("offset", range(0, VALUES, TOGETHER))
def test_values(offset, tmp_path):
    for seed in range(SEED + offset, SEED + offset + TOGETHER):
        checker = modules.Checker(seed, tmp_path, Counter())
        checker.values()
        assert not checker.problems, f"TENON_SEED={SEED}, seed {seed}: " + "\n".join(checker.problems)


@pytest.mark.parametrize("flags", [*modules.STRATEGIES.values(), *modules.REDUCTIONS.values()])
@pytest.mark.parametrize("target", modules.TARGETS)
def test_kernels_are_written(target, flags, tmp_path):
    """Large shapes, which ask much of the choice of strategies."""
    source, log = tmp_path / "layers.mlir", tmp_path / "log"
    for first in range(SEED, SEED + LAYERS, TOGETHER):
        source.write_text("\n".join(Module(seed, f"f{seed}").mlir() for seed in range(first, first + TOGETHER)))
        words = [f"--target={target}", "--stop-after=cuda-llvm", "-o", tmp_path / "out", *flags.split()]
        status = run_tool("tenon-compile", source, *words, log=log, seconds=120)
        assert status == 0, f"TENON_SEED={SEED}: {words}: {describe(status)}\n{log.read_text()[-2000:]}"


@pytest.mark.parametrize("offset", range(0, MUTATED, TOGETHER))
def test_mutated_modules_end_tools_in_good_order(offset, tmp_path):
    for seed in range(SEED + offset, SEED + offset + TOGETHER):
        problem, counts = mutations.check(seed, tmp_path)
        assert not problem, f"TENON_SEED={SEED}, seed {seed}: {problem}"
        assert counts.total() > 1


def test_parsers_of_other_dialects():
    """What MLIR's own parsers die of is counted, what ours do is a problem."""
    stack = "1.\tMLIR Parser: custom op parser 'func.func'\n2.\tMLIR Parser: custom op parser '{}'\n"
    assert mutations.is_of_another_parser(stack.format("linalg.transpose"))
    assert not mutations.is_of_another_parser(stack.format("tenon.linear"))
    assert not mutations.is_of_another_parser("a pass died")


def test_a_signal_is_a_problem(tmp_path):
    """What the runs look for would show."""
    log = tmp_path / "log"
    source = tmp_path / "f.mlir"
    source.write_text("func.func @f() { return }")
    assert run_tool("tenon-opt", source, "-o", tmp_path / "out", log=log) == 0
    assert run_tool("tenon-opt", tmp_path / "none.mlir", log=log) == 1
    assert describe(-11) == "ended by SIGSEGV"
