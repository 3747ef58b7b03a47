# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The schedules that are worth measuring for a problem, which the compiler lists."""

from __future__ import annotations

import re
from dataclasses import dataclass

import tenon
from tenon.bench.source import Problem

TARGET = "sm_90a"  # whose schedules are tuned
FAMILY = "wgmma"  # of which the table of tuned schedules has lines
_LAYER = re.compile(r'tenon\.candidates = \{epilogue = "(\w+)", schedules = \[([^]]*)\]\}')


@dataclass(frozen=True)
class Candidates:
    """What stands within #tenon.schedule<...>, the likely ones first."""

    epilogue: str = ""  # "light" or "heavy"
    schedules: tuple[str, ...] = ()
    why_none: str = ""


def candidates(problem: Problem) -> Candidates:
    """Return a problem's candidates, or say why it has none."""
    if problem.dynamic_m:
        return Candidates(why_none="its M is dynamic; the table is of fixed M")
    if problem.epilogue.has_batch_norm:
        return Candidates(
            why_none="its time is not that of the product's kernel alone; tune a model without batch norm"
        )
    (found,) = _LAYER.findall(tenon.lower(problem.mlir(), "schedules", TARGET))
    schedules = tuple(s for s in re.findall("#tenon.schedule<([^>]*)>", found[1]) if s.startswith(FAMILY))
    return Candidates(found[0], schedules, "" if schedules else f"no kernel of family {FAMILY} can have it")
