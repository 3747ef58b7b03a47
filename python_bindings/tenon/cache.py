# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cache of compiled models, on disk.

It lies in $TENON_CACHE_DIR, else in $XDG_CACHE_HOME/tenon, else in ~/.cache/tenon. Deleting that
folder, or a part of it, clears it; models that are in use stay in memory. It has no size limit.

An entry is a folder named by the hash of all that its model depends on: source, options, targets,
compiler and CUDA tools. It holds the shared object, the header, and `entry` with their hashes.
It appears in one step, made by one process while others wait; one that is damaged is made anew.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenon import forks

_FORMAT = 1  # of entries; part of the key
_DESCRIPTION = "entry"  # a line with the hash of what follows, JSON
Records = list[dict[str, Any]]  # what the compiler said, as `_native` gives it


@dataclass(frozen=True)
class Statistics:
    """What this process took from the cache, and what it compiled."""

    hits: int = 0
    compiled: int = 0


_statistics = Statistics()
_lock = forks.Lock()


def statistics() -> Statistics:
    """Return this process's counts so far."""
    return _statistics


def _count(name: str) -> None:
    global _statistics
    with _lock:
        _statistics = dataclasses.replace(_statistics, **{name: getattr(_statistics, name) + 1})


def directory() -> Path:
    """Return the folder that the environment names."""
    if named := os.environ.get("TENON_CACHE_DIR"):
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "tenon"


_temporary: list[tempfile.TemporaryDirectory[str]] = []  # goes away with this process


def _fallback(problem: str) -> Path:
    with _lock:
        if not _temporary:
            _temporary.append(tempfile.TemporaryDirectory(prefix="tenon-cache-"))
            warnings.warn(
                f"Tenon's cache cannot be used ({problem}); models are compiled anew in each process. "
                "Set TENON_CACHE_DIR to a folder that can be written",
                RuntimeWarning,
                stacklevel=2,
            )
    return Path(_temporary[0].name)


def key_of(facts: dict[str, Any]) -> str:
    """Return the hash of all that a model depends on."""
    text = json.dumps({"format": _FORMAT, **facts}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class CacheEntry:
    """A compiled model in the cache."""

    library: Path
    records: Records


def write_text(path: Path, text: str) -> None:
    """Write a file of the cache's in one step; where that cannot be, there is none."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name[:16]}-", delete=False) as file:
            file.write(text)
        Path(file.name).replace(path)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read(folder: Path) -> CacheEntry | None:
    """Return a whole entry, None where there is none or anything of it is not as it was written."""
    path = folder / _DESCRIPTION
    try:
        digest, _, text = path.read_text().partition("\n")
        if digest != _hash(text.encode()) or path.stat().st_uid not in (os.getuid(), 0):
            return None
        description = json.loads(text)
        files = description["files"].items()
        if description["key"] != folder.name or any(_hash((folder / n).read_bytes()) != h for n, h in files):
            return None
        return CacheEntry(folder / description["library"], description["records"])
    except (OSError, ValueError, KeyError):
        return None


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _make(folder: Path, name: str, build: Callable[[Path], Records]) -> CacheEntry:
    """Build an entry, copy it beside `folder`, and put it there in one step.

    It is built elsewhere, so that a full disk fails here, with an OSError, and not in the compiler.
    """
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name[:16]}-", dir=folder.parent))
    damaged = temporary.with_suffix(".damaged")
    try:
        with tempfile.TemporaryDirectory(prefix="tenon-build-") as scratch:
            records = build(Path(scratch) / name)
            shutil.copytree(scratch, temporary, dirs_exist_ok=True)
        files = {path.name: _hash(path.read_bytes()) for path in temporary.iterdir()}
        text = json.dumps({"key": folder.name, "library": name, "files": files, "records": records})
        (temporary / _DESCRIPTION).write_text(f"{_hash(text.encode())}\n{text}")
        if folder.exists():  # damaged; rename() would not replace it
            folder.rename(damaged)
        temporary.rename(folder)
    finally:
        _remove(temporary)
        _remove(damaged)
    return CacheEntry(folder / name, records)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that other threads and processes respect; the file stays, since others may wait on it."""
    with forks.own_file(path) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _get(root: Path, key: str, name: str, build: Callable[[Path], Records]) -> tuple[CacheEntry, str]:
    """Return an entry, and which of the statistics it counts for."""
    entry = _read(root / key)
    if entry is None:
        root.mkdir(parents=True, exist_ok=True)
        with locked(root / f"{key}.lock"):
            entry = _read(root / key)  # another process may have made it meanwhile
            if entry is None:
                return _make(root / key, name, build), "compiled"
    return entry, "hits"


def _get_anywhere(key: str, name: str, build: Callable[[Path], Records]) -> tuple[CacheEntry, str]:
    try:
        return _get(directory(), key, name, build)
    except OSError as error:
        return _get(_fallback(str(error)), key, name, build)


def get(key: str, name: str, build: Callable[[Path], Records]) -> CacheEntry:
    """Return the entry `key`; on a miss have `build` write the shared object `name` and its header.

    Where the cache cannot be written, a folder of this process's takes its place, with one warning.
    What `build` raises is passed on, and nothing is kept; it must not be an OSError.
    """
    entry, kind = _get_anywhere(key, name, build)
    _count(kind)
    return entry


def keep(name: str, library: bytes, header: bytes | None) -> Path:
    """Return where a shared object `name` with these contents lies, and its header beside it; put it there first."""

    def write(path: Path) -> Records:
        path.write_bytes(library)
        if header is not None:
            path.with_suffix(".h").write_bytes(header)
        return []

    key = key_of({"name": name, "library": _hash(library), "header": None if header is None else _hash(header)})
    return _get_anywhere(key, name, write)[0].library
