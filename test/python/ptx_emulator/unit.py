# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Warps of a block that run together: registers as arrays over threads, control flow as groups of threads.

A group is a set of threads at one instruction. The lowest instruction runs first, so that threads that diverged
meet again; groups that arrive at the same instruction merge. Where an instruction needs whole warps, the threads of
others wait for the rest of their warp.
"""

from __future__ import annotations

import numpy as np

from .control import EXIT, Group, Partial, Split, Wait
from .memory import AccessError
from .operands import registers_of
from .program import PtxError


class Unit:
    """Warps of one block; `threads` of them from `first` on."""

    def __init__(self, block, first: int, threads: int) -> None:
        self.block, self.grid, self.first, self.n = block, block.grid, first, threads
        self.code = block.grid.code
        self.R: list = [None] * len(block.grid.kernel.registers)
        self.mask: np.ndarray | None = None
        self.thread = np.arange(first, first + threads, dtype=np.uint32)
        self.groups = [Group(0, np.ones(threads, bool))]
        self.copies: list = []  # cp.async on their way
        self.commits = np.zeros(threads, np.int64)
        self.products: list = []  # wgmma on their way
        self.product_groups = 0
        self.stores: list = []  # bulk stores on their way
        self.bulk_commits = np.zeros(threads, np.int64)
        self.cluster_arrivals = np.zeros(threads, np.int64)
        self.executed = 0

    # For instructions

    def active(self) -> np.ndarray:
        """Return which threads execute."""
        return np.ones(self.n, bool) if self.mask is None else self.mask

    def put(self, slot: int, value: np.ndarray) -> None:
        """Set a register of the active threads."""
        if value.ndim == 0:
            value = np.full(self.n, value)
        if self.mask is not None:
            old = self.R[slot]
            if old is None:
                old = np.full(self.n, True if value.dtype == bool else ~value.dtype.type(0))
            elif type(old) is not np.ndarray:
                raise PtxError("writes a register that a wgmma in flight will write")
            value = np.where(self.mask, value, old)
        self.R[slot] = value

    def select(self, values: np.ndarray) -> np.ndarray:
        """Return what the active threads have of `values`."""
        return values if self.mask is None else values[self.mask]

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Return values of the active threads as an array over all."""
        if self.mask is None:
            return values
        result = np.zeros((self.n, *values.shape[1:]), values.dtype)
        result[self.mask] = values
        return result

    # Scheduling

    def run(self, budget: int) -> int:
        """Execute up to about `budget` instructions; return how many."""
        before = self.executed
        while self.executed - before < budget:
            group = self.pick()
            if group is None:
                break
            self.advance(group, before + budget)
        return self.executed - before

    def pick(self) -> Group | None:
        """Return the group to run."""
        for group in self.groups:
            if group.wait is not None and group.seen != self.grid.events:
                group.seen = self.grid.events
                if group.wait.test():
                    self.wake(group)
        if len(self.groups) > 1:
            self.merge()
        running = [group for group in self.groups if group.runs]
        if not running:
            return None
        fresh = [group for group in running if not group.tired]
        if not fresh:
            for group in running:
                group.tired = False
            fresh = running
        return min(fresh, key=lambda group: group.pc)

    def wake(self, group: Group) -> None:
        wait, group.wait = group.wait, None
        if wait.finish:
            self.mask = None if group.count == self.n else group.mask
            wait.finish(self)

    def merge(self) -> None:
        """Join groups that are at one instruction."""
        at: dict[int, Group] = {}
        for group in self.groups:
            if group.wait is not None:
                continue
            other = at.get(group.pc)
            if other is None:
                at[group.pc] = group
                continue
            other.mask = other.mask | group.mask
            other.count += group.count
            other.in_part = False
            group.count = 0
        self.groups = [group for group in self.groups if group.count]

    def advance(self, group: Group, limit: int) -> None:
        """Run a group until it waits, ends, meets another or has used up its time."""
        self.mask = None if group.count == self.n else group.mask
        others = [g.pc for g in self.groups if g is not group and g.wait is None and g.pc > group.pc]
        meeting, code, pc = min(others, default=1 << 60), self.code, group.pc
        stop = min(meeting, pc + limit - self.executed)
        try:
            while pc < stop:
                control = code[pc](self)
                self.executed += 1
                if control is None:
                    pc += 1
                elif type(control) is int:
                    if control == EXIT:
                        self.groups.remove(group)
                        return
                    pc = control
                    stop = min(meeting, pc + limit - self.executed)
                else:
                    group.pc = pc
                    self.control(group, control)
                    return
            group.pc = pc
            group.tired = self.executed >= limit
        except Exception as error:
            raise self.describe(pc, error) from error

    def control(self, group: Group, control: Split | Partial | Wait) -> None:
        if isinstance(control, Wait):
            group.pc += 1
            group.wait, group.seen = control, self.grid.events
            if control.test():
                self.wake(group)
        elif isinstance(control, Split):
            other = Group(control.target, control.taken)
            group.mask = group.mask & ~control.taken
            group.count -= other.count
            group.pc += 1
            self.groups.append(other)
        elif not control.ready.any():
            group.in_part = True
        else:
            rest = Group(group.pc, group.mask & ~control.ready)
            rest.in_part = True
            group.mask = control.ready
            group.count = int(control.ready.sum())
            # The complete warps go first, so that the rest is not merged with them at once.
            self.groups.append(rest)
            self.advance_past(group)

    def advance_past(self, group: Group) -> None:
        """Execute one instruction that needs whole warps for a group that has them."""
        self.mask = group.mask
        pc = group.pc
        try:
            control = self.code[pc](self)
        except Exception as error:
            raise self.describe(pc, error) from error
        self.executed += 1
        if control is None:
            group.pc += 1
        else:
            self.control(group, control)

    def describe(self, pc: int, error: Exception) -> PtxError:
        """Say where an error happened."""
        instruction = self.grid.kernel.code[pc]
        active = np.flatnonzero(self.active()) + self.first
        lane = error.lane if isinstance(error, AccessError) else 0
        thread = active[min(lane, active.size - 1)] if active.size else "none"
        what = str(error) if isinstance(error, PtxError) else f"{type(error).__name__}: {error}"
        unset = [r.name for r in registers_of(instruction.operands) if type(self.R[r.slot]) is not np.ndarray]
        if unset and not isinstance(error, PtxError):
            what = f"reads what nothing wrote, or what a wgmma in flight will write: {', '.join(unset)}"
        return PtxError(
            f"{self.grid.kernel.name}, line {instruction.line}, block {self.block.index}, thread {thread} of "
            f"{active.size} active: {instruction.text[:300]!r}: {what}"
        )

    def positions(self) -> list[str]:
        """Describe where threads stand."""
        lines = []
        for group in self.groups:
            threads = np.flatnonzero(group.mask) + self.first
            why = group.wait.reason if group.wait else "the rest of its warp" if group.in_part else "runs"
            pc = max(group.pc - 1, 0) if group.wait else group.pc
            instruction = self.grid.kernel.code[pc]
            lines.append(
                f"block {self.block.index}, threads {threads[0]}..{threads[-1]} ({threads.size}), "
                f"line {instruction.line} {instruction.text[:80]!r}: {why}"
            )
        return lines
