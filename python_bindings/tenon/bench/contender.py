# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who takes part in a case: Tenon with one strategy or one schedule, or a peer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tenon import _native

STRATEGIES = _native.OPTIONS["strategy"][1]
# How training batch norm is computed behind a tiled product.
REDUCTIONS = tuple(word for word in _native.OPTIONS["reduction"][1] if word != "auto")
PEERS = ("cublas", "eager", "compile", "compile_default")


@dataclass(frozen=True)
class Contender:
    """One of those that take turns; `options` are Tenon's, keywords of tenon.compile."""

    name: str
    tenon: bool
    options: tuple[tuple[str, str], ...] = ()


def of_peer(name: str) -> Contender:
    """Return a peer."""
    return Contender(name, tenon=False)


def of_strategy(strategy: str) -> Contender:
    """Return Tenon with a strategy and the schedule that it chooses."""
    return Contender(strategy, tenon=True, options=(("strategy", strategy),))


def of_reduction(reduction: str) -> Contender:
    """Return Tenon with tiled kernels and a way to compute the batch norm that follows."""
    return Contender(reduction, tenon=True, options=(("strategy", "tiled"), ("reduction", reduction)))


def is_candidate(contender: Contender) -> bool:
    """Tell whether a contender is a schedule, of which --tune chooses one."""
    return "schedule" in dict(contender.options)


def of_schedules(schedules: Sequence[str]) -> list[Contender]:
    """Return Tenon with each schedule, named by what differs most between schedules."""
    found: dict[str, Contender] = {}
    for text in dict.fromkeys(schedules):
        facts = [re.search(rf"\b{key}\s*=\s*([\dx]+)", text) for key in ("tile", "warps", "stages")]
        marks = [f"c{shape}" for shape in re.findall(r"\bcluster\s*=\s*(\d+x\d+)", text) if shape != "1x1"]
        marks += ["".join(word[0] for word in key.split("_")) for key in re.findall(r"(\w+)\s*=\s*true", text)]
        method = re.search(r"\bmethod\s*=\s*(\w+)", text)
        short = "-".join(["tiled", *(fact[1] for fact in facts if fact), *marks, *(method.groups() if method else ())])
        others = sum(name == short or name.startswith(f"{short}#") for name in found)
        name = f"{short}#{others + 1}" if others else short
        found[name] = Contender(name, tenon=True, options=(("strategy", "tiled"), ("schedule", text)))
    return list(found.values())
