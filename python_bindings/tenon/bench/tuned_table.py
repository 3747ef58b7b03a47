# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of tuned schedules that --tenon-select-strategy reads: lib/Schedule/Wgmma/WgmmaTuned.inc.

A line a layer, which C++ includes. What is around the lines is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tenon.bench.files import write_text_whole
from tenon.bench.source import Problem

TYPES = {"bf16": "BF16", "f16": "F16", "tf32": "TF32", "fp32": "FP32"}
BY_HALVES = "TF32ByFP16"
HEADER = """\
//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measured schedules: type of x and w, M, N, K, epilogue, schedule. Written by
// tenon-bench --tune (docs/Benchmarking.md); the ratio is the schedule's time
// over cuBLAS's bare product, the worst of three ways of timing.
//
//===----------------------------------------------------------------------===//

"""
_LINE = re.compile(
    r'^TUNED\(\s*(\w+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*(\w+)\s*,\s*"([^"]*)"\s*\)[ \t]*(?://[ \t]*(.*))?\n?',
    re.MULTILINE,
)


class TableError(ValueError):
    """A table cannot be read; the message says why, and what to do."""


@dataclass(frozen=True, order=True)
class Key:
    """What a line is looked up by; keys are ordered as lines are."""

    dtype: str  # as C++ has it
    epilogue: str  # Light or Heavy
    n: int
    k: int
    m: int

    def of_schedule(self, schedule: str) -> Key:
        """Return the key of a line with a schedule, which says whether tf32 is multiplied by method fp16."""
        by_halves = self.dtype == TYPES["tf32"] and "method = fp16" in schedule
        return replace(self, dtype=BY_HALVES) if by_halves else self


def key_of(problem: Problem, epilogue: str) -> Key:
    """Return the key of a problem whose epilogue is light or heavy."""
    return Key(TYPES[problem.dtype], epilogue.capitalize(), problem.n, problem.k, problem.m)


@dataclass(frozen=True)
class Line:
    """What is known of a key: the schedule, and how it did."""

    schedule: str
    remark: str = ""

    def write(self, key: Key) -> str:
        """Return it as the table has it."""
        facts = f"{key.dtype}, {key.m}, {key.n}, {key.k}, {key.epilogue}"
        return f'TUNED({facts}, "{self.schedule}")' + (f" // {self.remark}" if self.remark else "") + "\n"


def read_table(path: Path) -> tuple[str, dict[Key, Line], str]:
    """Return a table's text before its lines, the lines, and the text after them; raises TableError."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return HEADER, {}, ""
    except (OSError, UnicodeDecodeError) as error:
        raise TableError(f"cannot read '{path}': {error}") from error
    found = list(_LINE.finditer(text))
    if not found:
        end = text.find("#undef")
        return (text, {}, "") if end < 0 else (text[:end], {}, text[end:])
    begin, end = found[0].start(), found[-1].end()
    if between := _LINE.sub("", text[begin:end]).strip():
        raise TableError(f"'{path}' has {between.splitlines()[0]!r} among its lines; put it above or below them")
    lines = {}
    for dtype, m, n, k, weight, schedule, remark in (match.groups() for match in found):
        lines[Key(dtype, weight, int(n), int(k), int(m))] = Line(schedule, (remark or "").strip())
    return text[:begin], lines, text[end:]


def update_table(path: Path, found: Mapping[Key, Line]) -> None:
    """Write what was found into a table; lines of other layers stay."""
    before, lines, after = read_table(path)
    merged = lines | dict(found)
    write_text_whole(path, before + "".join(merged[key].write(key) for key in sorted(merged)) + after)
