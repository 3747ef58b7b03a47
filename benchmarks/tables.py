# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of pages."""

from __future__ import annotations

from collections.abc import Iterable


def markdown(header: str, rows: Iterable[str]) -> list[str]:
    """Return a table; its columns are given between bars."""
    return [f"| {header} |", "|" + "---|" * (header.count("|") + 1), *(f"| {row} |" for row in rows)]
