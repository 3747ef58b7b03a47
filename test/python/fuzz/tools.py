# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs tenon-opt and tenon-compile in forks of this process, which has the compiler's library open.

What starting a process costs is more than most of these runs take.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tenon import get_library_dir

SECONDS, BYTES = 20, 8 << 30  # of a processor's time; the clock may show more where others compute


@cache
def compiler() -> ctypes.CDLL:
    """Return the library that both tools are in."""
    return ctypes.CDLL(str(Path(get_library_dir()) / "libtenon_compiler.so"))


def _become(name: str, arguments: Sequence[object], log: Path, seconds: int) -> None:
    """Be a tool; does not return."""
    for stream in (1, 2):
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(6 * seconds)
    words = [os.fsencode(str(word)) for word in (name, *arguments)]
    argv = (ctypes.c_char_p * (len(words) + 1))(*words, None)
    main = {"tenon-opt": compiler().tenonOptMain, "tenon-compile": compiler().tenonCompileMain}[name]
    status = main(len(words), argv)
    ctypes.CDLL(None).fflush(None)
    os._exit(status)


def run_tool(name: str, *arguments: object, log: Path, seconds: int = SECONDS) -> int:
    """Run a tool with its output in `log`; return its exit code, or less than 0: the signal that ended it."""
    compiler()
    log.write_text("")
    child = os.fork()
    if child == 0:
        try:
            _become(name, arguments, log, seconds)
        finally:
            os._exit(127)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def describe(status: int) -> str:
    """Return what an exit code of `run_tool` means where it is neither 0 nor 1."""
    if status >= 0:
        return f"exit code {status}"
    late = -status in (signal.SIGALRM, signal.SIGXCPU)
    return "no end in time" if late else f"ended by {signal.Signals(-status).name}"
