# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The console scripts: each becomes the tool of its name, which lies in the package."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn


def _become(tool: str) -> NoReturn:
    path = Path(__file__).parent / "bin" / tool
    try:
        os.execv(path, [tool, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{tool}: cannot run {path}: {error.strerror}; reinstall tenon")


def tenon_opt() -> NoReturn:
    """Run tenon-opt."""
    _become("tenon-opt")


def tenon_compile() -> NoReturn:
    """Run tenon-compile."""
    _become("tenon-compile")


def tenon_run() -> NoReturn:
    """Run tenon-run."""
    _become("tenon-run")
