# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Raises what is left of other dialects in a text, and names functions that are spelled out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import tenon
from tenon.errors import UnsupportedError


def tidy(text: str) -> str:
    """Return a module as tenon ops, as far as the compiler can raise it."""
    tool = Path(tenon.__file__).parent / "bin/tenon-opt"
    result = subprocess.run(
        [tool, "-", "--tenon-raise-pipeline"], input=text, capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise UnsupportedError(f"the compiler cannot read what was imported:\n{result.stderr.strip()}")
    return result.stdout
