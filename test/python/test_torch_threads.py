# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled models called by several threads at once, and by other processes."""

import subprocess
import sys
import textwrap
import threading

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
from torch_models import MODELS  # noqa: E402


def run_at_once(works):
    """Run functions in threads that start together; raise the first of their errors."""
    barrier, errors = threading.Barrier(len(works)), []

    def guarded(work):
        try:
            barrier.wait()
            with torch.no_grad():
                work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_share_a_model(front_end):
    """Four threads call one model, from its first call on; each gets what it gets alone.

    That is the same bits once the model is compiled; the call that compiles it may be PyTorch's own.
    """
    model = MODELS["two_linears"]
    module = model.build()
    compiled = front_end(module)
    inputs = [model.inputs(seed=seed) for seed in range(4)]
    results = [[] for _ in inputs]

    def caller(i):
        def work():
            for _ in range(20):
                results[i].append(compiled(*inputs[i]))

        return work

    run_at_once([caller(i) for i in range(4)])
    with torch.no_grad():
        for given, got in zip(inputs, results, strict=True):
            expected = compiled(*given)
            torch.testing.assert_close(expected, module(*given), rtol=1e-5, atol=1e-5)
            for result in got:
                torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-5)
            assert all(torch.equal(result, expected) for result in got[10:])


def test_weights_change_while_others_call():
    """A thread's own updates are seen by its own next call, whatever other threads call."""
    model = MODELS["linear_leaky_relu"]
    modules = [model.build(seed=seed) for seed in range(2)]
    inputs = model.inputs()
    compiled = [torch.compile(module, backend="tenon") for module in modules]

    def caller(i):
        def work():
            for step in range(10):
                modules[i].linear.weight.mul_(-1.0 if step % 2 else 1.1)
                torch.testing.assert_close(compiled[i](*inputs), modules[i](*inputs), rtol=1e-5, atol=1e-5)

        return work

    run_at_once([caller(0), caller(1)])


def test_second_process_compiles_nothing(tmp_path, monkeypatch):
    """What one process compiled, another loads; both compute the same bits."""
    monkeypatch.setenv("TENON_CACHE_DIR", str(tmp_path / "cache"))
    script = textwrap.dedent("""
        import sys, torch, tenon.cache
        torch.manual_seed(0)
        module = torch.nn.Sequential(torch.nn.Linear(24, 40), torch.nn.Mish()).eval()
        with torch.no_grad():
            y = torch.compile(module, backend="tenon", options={"target": "cpu"})(torch.randn(5, 24))
        torch.save(y, sys.argv[1])
        statistics = tenon.cache.statistics()
        print(statistics.hits, statistics.compiled)
    """)
    counts = []
    for name in ("first", "second"):
        command = [sys.executable, "-c", script, str(tmp_path / name)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        counts.append(tuple(map(int, done.stdout.split())))
    assert counts == [(0, 1), (1, 0)]
    assert torch.equal(torch.load(tmp_path / "first"), torch.load(tmp_path / "second"))
