# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A progress bar on a terminal, by tqdm or rich if one of them is installed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")


def progress(items: Iterable[Item], total: int, what: str) -> Iterable[Item]:
    """Return the items, as an iterable that shows how many have been taken."""
    if not sys.stderr.isatty():
        return items
    try:
        bar: Iterable[Item] = importlib.import_module("tqdm").tqdm(items, total=total, desc=what, file=sys.stderr)
        return bar
    except ImportError:
        pass
    try:
        track = importlib.import_module("rich.progress").track
        console = importlib.import_module("rich.console").Console(stderr=True)
    except ImportError:
        return items
    shown: Iterable[Item] = track(items, total=total, description=what, console=console)
    return shown
