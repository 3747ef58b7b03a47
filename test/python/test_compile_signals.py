# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon-compile that is ended by a signal while ptxas runs leaves no file behind, as one that ends by itself does."""

import os
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tenon_graphs.execute import TENON_COMPILE

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs a CUDA toolkit")
EXAMPLE = Path(__file__).parents[2] / "examples" / "linear_leaky_relu.mlir"
# Writes the last of its arguments, the cubin, as ptxas does, and then has much to do.
SLOW_PTXAS = '#!/bin/bash\necho cubin > "${@: -1}"\nexec sleep 100\n'
SECONDS = 60
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGXCPU]


def heed_signals():
    """End by signals that tests in the background, or under nohup, hand down as ignored."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def start(tmp_path, *before):
    """Start the compiler with a ptxas that does not end; return it when that runs, and its temporary folder."""
    ptxas, folder = tmp_path / "cuda" / "bin" / "ptxas", tmp_path / "tmp"
    ptxas.parent.mkdir(parents=True)
    ptxas.write_text(SLOW_PTXAS)
    ptxas.chmod(0o755)
    folder.mkdir()
    (tmp_path / "out").mkdir()
    # What else it needs it finds where it does otherwise.
    environment = os.environ | {"TENON_CUDA_PATH": "", "CUDA_PATH": str(tmp_path / "cuda"), "TMPDIR": str(folder)}
    command = [*before, TENON_COMPILE, EXAMPLE, "--target=sm_80", "-o", tmp_path / "out" / "libmodel.so"]
    process = subprocess.Popen(
        command, env=environment, start_new_session=True, stdin=subprocess.DEVNULL, preexec_fn=heed_signals
    )
    end = time.monotonic() + SECONDS
    while not list(folder.glob("tenon-*/*.cubin")):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.01)
    return process, folder


@contextmanager
def killed_after(process):
    """End whatever of the process's group is left: ptxas, where a signal was not for it."""
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("to_all", [True, False], ids=["ctrl_c", "kill"])
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_nothing_is_left(number, to_all, tmp_path):
    process, folder = start(tmp_path)
    with killed_after(process):
        os.killpg(process.pid, number) if to_all else process.send_signal(number)
        assert process.wait(SECONDS) == -number
    assert list(folder.iterdir()) == list((tmp_path / "out").iterdir()) == []


def test_an_ignored_signal_stays_ignored(tmp_path):
    """As under nohup; another one ends it."""
    process, folder = start(tmp_path, "nohup")
    with killed_after(process):
        process.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        assert process.poll() is None and list(folder.iterdir())
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == -signal.SIGTERM
    assert list(folder.iterdir()) == []
