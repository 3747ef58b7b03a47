# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks, clusters and the order in which their warps run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .control import WARP, Wait
from .memory import (
    PARAMETER_WINDOW,
    RANK_SHIFT,
    SHARED_BASE,
    GlobalMemory,
    Memory,
)
from .operands import decode
from .program import Kernel, Module, PtxError
from .unit import Unit

WARPGROUP = 128
SLICE = 2000  # instructions that a unit executes before the next
# In random order: at most so many, and warps one by one where no instruction needs more.
SHORT_SLICE = 100
LATE, GIVEN_UP = 8, 400  # rounds in which nothing comes of any, after which late units run, and after which none will


@dataclass
class TensorMap:
    """What TMA knows of a matrix: where it is, its extents, a box of it, and how that lies in shared memory."""

    address: int
    rows: int
    columns: int
    element: np.dtype
    box: tuple[int, int]
    swizzle: int
    rounds_tf32: bool = False


class NamedBarrier:
    """What bar.sync counts."""

    def __init__(self) -> None:
        self.arrived, self.phase = 0, 0
        self.votes: list[np.ndarray] = []
        self.result: list[np.ndarray] = []


class Block:
    """A block's shared memory, barriers and warps."""

    def __init__(self, grid: Grid, index: int) -> None:
        self.grid, self.index = grid, index
        self.rank = index % grid.cluster
        self.shared = Memory("shared", SHARED_BASE, grid.shared_bytes, mapped=False)
        self.shared.mapped[:] = 1  # all but what barriers will take
        self.barriers: dict[int, NamedBarrier] = {}
        self.mbarriers: dict[int, object] = {}
        self.units = [
            Unit(self, first, min(grid.unit_threads, grid.threads - first))
            for first in range(0, grid.threads, grid.unit_threads)
        ]

    @property
    def done(self) -> bool:
        return not any(unit.groups for unit in self.units)

    def peer(self, rank: int) -> Block:
        return self.grid.blocks[self.index - self.rank + rank]

    def resolve(self, address: int) -> tuple[Block, int]:
        """Return the block that a shared::cluster address is in, and the address there."""
        rank, own = address >> RANK_SHIFT, address & ((1 << RANK_SHIFT) - 1)
        if rank > self.grid.cluster:
            raise PtxError(f"shared::cluster address {address:#x} is in no block of the cluster")
        return (self if rank == 0 else self.peer(rank - 1)), own

    def arrive(self, name: int, threads: int, expected: int) -> NamedBarrier:
        """Count threads at a named barrier."""
        barrier = self.barriers.setdefault(name, NamedBarrier())
        barrier.arrived += threads
        if barrier.arrived > expected:
            raise PtxError(f"barrier {name} expects {expected} threads, and {barrier.arrived} came")
        if barrier.arrived == expected:
            barrier.arrived, barrier.phase = 0, barrier.phase + 1
            barrier.result, barrier.votes = barrier.votes, []
            self.grid.events += 1
        return barrier

    def cluster_wait(self, arrivals: int) -> Wait:
        """Return the wait until every thread of the cluster has arrived so often."""
        units = [unit for rank in range(self.grid.cluster) for unit in self.peer(rank).units]
        return Wait(lambda: all((u.cluster_arrivals >= arrivals).all() for u in units), "barrier.cluster")


class Grid:
    """One launch."""

    def __init__(self, module: Module, kernel: Kernel, memory: GlobalMemory, blocks: int, threads: int) -> None:
        self.module, self.kernel, self.memory = module, kernel, memory
        self.block_count, self.threads, self.cluster = blocks, threads, 1
        self.dynamic_bytes, self.poisons = 0, False
        self.parameters: dict[str, np.ndarray] = {}
        self.parameter_addresses: dict[str, int] = {}
        self.maps: dict[int, TensorMap] = {}
        self.symbols: dict[str, int] = {}
        self.shared_bytes = 0
        self.events, self.ticks = 0, 0
        self.transfers: list[tuple[int, object]] = []  # TMA loads on their way
        self.random, self.shuffles = np.random.default_rng(0), False
        self.late: int | None = None  # a block whose warpgroups after the first run when nothing else comes of others
        self.quiet = 0  # rounds in which nothing came of any
        self.has_warpgroups = any(item.opcode.startswith("wgmma") for item in kernel.code)
        self.unit_threads = WARPGROUP if self.has_warpgroups else threads
        self.blocks: list[Block] = []
        self.code: list = []

    def place_shared(self) -> None:
        """Give each shared variable its address; dynamic shared memory comes last."""
        variables = [
            v for v in self.module.variables.values() if v.space == "shared" and v.kernel in ("", self.kernel.name)
        ]
        at = SHARED_BASE
        for variable in sorted(variables, key=lambda v: v.size is None):
            at = -(-at // variable.alignment) * variable.alignment
            self.symbols[variable.name] = at
            at += self.dynamic_bytes if variable.size is None else variable.size
        self.shared_bytes = at - SHARED_BASE

    def set_parameters(self, values: list[np.ndarray | TensorMap]) -> None:
        """Give each parameter its bytes, or its map."""
        if len(values) != len(self.kernel.parameters):
            raise PtxError(f"{self.kernel.name} takes {len(self.kernel.parameters)} arguments, not {len(values)}")
        address = PARAMETER_WINDOW
        for (name, size), value in zip(self.kernel.parameters, values, strict=True):
            self.parameter_addresses[name] = address
            if isinstance(value, TensorMap):
                self.maps[address] = value
            elif value.size != size:
                raise PtxError(f"argument {name} has {value.size} bytes, not {size}")
            else:
                self.parameters[name] = value
            address += 256

    def run(self) -> None:
        """Run all blocks to their end."""
        self.place_shared()
        self.code = [decode(instruction, self) for instruction in self.kernel.code]
        if self.threads % 32:
            raise PtxError(f"blocks of {self.threads} threads are not supported: whole warps are")
        self.blocks = [Block(self, index) for index in range(self.block_count)]
        running = list(self.blocks)
        with np.errstate(all="ignore"):
            while running:
                events = self.events
                executed = sum(self.run_slice(unit) for unit in self.order(running))
                self.quiet = self.quiet + 1 if self.events == events else 0
                if self.late is not None and self.quiet == GIVEN_UP:
                    self.fail_stuck(running)
                if not executed and self.events == events and not self.land_next() and self.late is None:
                    self.fail_stuck(running)
                running = [block for block in running if not block.done]
        if self.transfers:
            raise PtxError(f"{self.kernel.name} ended with {len(self.transfers)} TMA loads on their way")

    def shuffle(self, seed: int) -> None:
        """Run warps in random order, each for a short time."""
        self.random, self.shuffles = np.random.default_rng(seed), True
        if not self.has_warpgroups:
            self.unit_threads = WARP

    def order(self, running: list[Block]) -> list[Unit]:
        units = [unit for block in running for unit in block.units if unit.groups]
        if self.late is not None and self.quiet < LATE:
            units = [unit for unit in units if unit.block.index != self.late or unit is unit.block.units[0]]
        return [units[i] for i in self.random.permutation(len(units))] if self.shuffles else units

    def run_slice(self, unit: Unit) -> int:
        executed = unit.run(int(self.random.integers(1, SHORT_SLICE)) if self.shuffles else SLICE)
        self.tick()
        return executed

    def start_transfer(self, land) -> None:
        """Have `land` called some time later."""
        self.transfers.append((self.ticks + int(self.random.integers(0, 4)), land))

    def tick(self) -> None:
        self.ticks += 1
        due = [transfer for transfer in self.transfers if transfer[0] < self.ticks]
        if due:
            self.transfers = [transfer for transfer in self.transfers if transfer[0] >= self.ticks]
            for _, land in due:
                land()

    def land_next(self) -> bool:
        """End the transfer that is due first, as nothing else can happen."""
        if not self.transfers:
            return False
        first = min(range(len(self.transfers)), key=lambda i: self.transfers[i][0])
        self.transfers.pop(first)[1]()
        return True

    def fail_stuck(self, running: list[Block]) -> None:
        lines = [line for block in running for unit in block.units for line in unit.positions()]
        raise PtxError(f"{self.kernel.name} is stuck:\n  " + "\n  ".join(lines[:40]))
