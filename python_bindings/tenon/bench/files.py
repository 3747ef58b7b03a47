# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are written in one step."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_text_whole(path: Path, text: str) -> None:
    """Write a file in one step: who is killed while writing leaves the one before, or the link to it."""
    path = path.resolve()
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
