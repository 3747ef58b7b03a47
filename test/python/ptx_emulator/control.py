# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Groups of threads, and what an instruction says of where they go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

WARP = 32
EXIT = -1


@dataclass
class Split:
    """Control: threads of `taken` go on at `target`, the others at the next instruction."""

    target: int
    taken: np.ndarray


@dataclass
class Partial:
    """Control: only threads of `ready` are in warps that are complete."""

    ready: np.ndarray


@dataclass
class Wait:
    """Control: go on when `test` holds, after `finish`."""

    test: Callable[[], bool]
    reason: str
    finish: Callable | None = None


class Group:
    """Threads at one instruction."""

    def __init__(self, pc: int, mask: np.ndarray) -> None:
        self.pc, self.mask, self.count = pc, mask, int(mask.sum())
        self.wait: Wait | None = None
        self.in_part = False  # waits for the rest of its warps
        self.tired = False
        self.seen = -1

    @property
    def runs(self) -> bool:
        return self.wait is None and not self.in_part
