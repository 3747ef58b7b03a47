# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What lives through fork: a child has no thread but the one that forked, and all locks as they were held."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO


class Lock:
    """A lock that its holder may take again. In a forked child it is free, unless the thread that forked holds it."""

    def __init__(self) -> None:
        """Make a lock that is free."""
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        """Wait for the lock and take it."""
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        """Let go of the lock."""
        self._lock.release()

    def renew(self) -> None:
        """Take the lock from a thread that is gone."""
        if not self._lock._is_owned():
            self._lock = threading.RLock()


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()
_files: set[IO[str]] = set()
_changing_files = threading.Lock()


@contextlib.contextmanager
def own_file(path: Path) -> Iterator[IO[str]]:
    """Open a file to write; forked children do not have it open, and so no part in a lock on it."""
    with _changing_files:
        file = path.open("w")
        _files.add(file)
    try:
        yield file
    finally:
        with _changing_files:
            _files.discard(file)
            file.close()


def _after_in_child() -> None:
    for file in _files:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, file.fileno(), inheritable=False)
        os.close(nothing)
    for lock in list(_locks):
        lock.renew()
    _changing_files.release()


os.register_at_fork(
    before=_changing_files.acquire, after_in_parent=_changing_files.release, after_in_child=_after_in_child
)
