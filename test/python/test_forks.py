# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling and calling in a forked child, whatever the parent's threads were doing."""

import fcntl
import os
import signal
import sys
import threading
import time
import traceback

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
from tenon import cache, compiler, forks  # noqa: E402
from tenon.torch import optimize  # noqa: E402
from tenon.torch.modules import dispatch  # noqa: E402
from torch import nn  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
SECONDS = 60  # within which a child is done, or hangs


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TENON_CACHE_DIR", str(tmp_path / "cache"))


def fork(function):
    """Return a child that calls a function."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        try:
            function()
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
            os._exit(1)
        os._exit(0)
    return child


def join(child):
    assert os.waitpid(child, 0)[1] == 0


class Paused:
    """A function that waits in its first call in this process, and runs at once in children."""

    def __init__(self, function):
        self.reached, self.resume = threading.Event(), threading.Event()
        self._function, self._process = function, os.getpid()

    def __call__(self, *arguments, **named):
        if os.getpid() == self._process and not self.reached.is_set():
            self.reached.set()
            assert self.resume.wait(SECONDS)
        return self._function(*arguments, **named)


def in_thread(function, *arguments):
    thread = threading.Thread(target=function, args=arguments)
    thread.start()
    return thread


def make():
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.SiLU()).eval().requires_grad_(False)


def check(model, optimized, rows):
    x = torch.randn(rows, 8)
    for _ in range(2):
        torch.testing.assert_close(optimized(x), model(x))


@pytest.mark.parametrize("dynamic", [None, False, True])
def test_other_rows_in_the_child(dynamic):
    model = make()
    optimized = optimize(model, dynamic=dynamic)
    check(model, optimized, 4)
    join(fork(lambda: check(model, optimized, 7)))
    check(model, optimized, 9)


@pytest.mark.parametrize("rows", [4, 7])
def test_while_a_thread_compiles(monkeypatch, rows):
    """The child needs what the thread has locked: the module's dispatcher, and the same entry of the cache."""
    model, paused = make(), Paused(compiler._build)
    optimized = optimize(model, dynamic=False)
    monkeypatch.setattr(compiler, "_build", paused)
    thread = in_thread(check, model, optimized, 4)
    assert paused.reached.wait(SECONDS)
    child = fork(lambda: check(model, optimized, rows))
    time.sleep(0.2 if rows == 4 else 0)
    if rows == 7:
        join(child)
    paused.resume.set()
    thread.join()
    if rows == 4:  # made by the one, and found by the other
        join(child)


def test_while_a_thread_records(monkeypatch):
    model, paused = make(), Paused(dispatch.compile_graph)
    optimized = optimize(model)
    monkeypatch.setattr(dispatch, "compile_graph", paused)
    thread = in_thread(check, model, optimized, 4)
    assert paused.reached.wait(SECONDS)
    join(fork(lambda: check(model, optimized, 7)))
    paused.resume.set()
    thread.join()


def test_a_child_has_no_part_in_locks(tmp_path):
    """What the parent unlocks is free, though a child that was forked meanwhile goes on."""
    (started, starting), (ending, end) = os.pipe(), os.pipe()

    def until_the_end():
        os.close(end)
        os.write(starting, b".")
        os.read(ending, 1)

    with cache.locked(tmp_path / "lock"):
        child = fork(until_the_end)
        os.read(started, 1)
    with (tmp_path / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    for descriptor in (started, starting, ending, end):
        os.close(descriptor)
    join(child)


def test_a_lock_that_the_forking_thread_holds():
    lock, other = forks.Lock(), forks.Lock()
    held, let_go = threading.Event(), threading.Event()

    def hold():
        with other:
            held.set()
            let_go.wait(SECONDS)

    thread = in_thread(hold)
    held.wait(SECONDS)

    def take():
        with other, lock:
            pass

    with lock:
        child = fork(take)
        with lock:
            pass
    join(child)
    let_go.set()
    thread.join()


def test_links_are_whole_in_children(tmp_path):
    """The linker keeps global state: a fork in the middle of a thread's link left its lock to the child."""
    source = "func.func @f(%x: tensor<?x{0}xf32>) -> tensor<?x{0}xf32> {{\n  return %x : tensor<?x{0}xf32>\n}}\n"
    done = threading.Event()

    def compile_on(name):
        for i in range(1, 1000):
            if done.is_set():
                return
            compiler.build(source.format(i), tmp_path / f"lib{name}.so", "cpu")

    threads = [in_thread(compile_on, name) for name in "ab"]
    try:
        for i in range(30):
            join(fork(lambda i=i: compiler.build(source.format(i + 1), tmp_path / "libchild.so", "cpu")))
    finally:
        done.set()
        for thread in threads:
            thread.join()
