# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that appear whole or not at all, and shared objects whose file may be replaced."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path

from tenon import _native, forks
from tenon.errors import NotFoundError


def copy_whole(source: Path, target: Path) -> None:
    """Copy a file to `target` in one step: nobody sees a part of it, and a folder, device or link is not replaced."""
    target = target.resolve()
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "cannot write what is not a regular file", str(target))
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
    except OSError as error:  # names the temporary file
        raise OSError(error.errno, f"cannot write {target.name}: {error.strerror}", str(target.parent)) from None
    try:
        with os.fdopen(handle, "wb") as output, source.open("rb") as content:
            shutil.copyfileobj(content, output)
        shutil.copymode(source, temporary)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink()
        raise


def _check_kind(real: Path, path: Path) -> None:
    """Raise NotFoundError for a file that the dynamic loader would call a bad library."""
    try:
        with real.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise NotFoundError(f"cannot open model '{path}': {error.strerror}") from error
    if magic != b"\x7fELF":
        raise NotFoundError(
            f"'{path}' is not a compiled model: it is no shared object; make one with tenon.compile(...).save "
            "or tenon-compile -o"
        )


_opened: dict[str, tuple[int, ...]] = {}  # the file that was first opened at a path
_lock = forks.Lock()


def open_model(path: Path) -> _native.Model:
    """Open the compiled model at `path`, as it is now.

    The dynamic loader takes a path for a library's name: while a model is open, it would give
    that one for another that has been saved over it. Such a file is opened by another name.
    """
    real = path.resolve()
    if not real.is_file():
        raise NotFoundError(f"cannot open model '{path}': there is no such file")
    _check_kind(real, path)
    status = real.stat()
    identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    with _lock:
        if _opened.setdefault(str(real), identity) == identity:
            return _native.Model(str(real))
    with tempfile.TemporaryDirectory(prefix="tenon-") as folder:
        link = Path(folder) / real.name
        link.symlink_to(real)
        return _native.Model(str(link))
