# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Barriers of blocks and clusters, and mbarriers."""

from __future__ import annotations

import numpy as np

from .control import Wait
from .integers import is_sink
from .memory import RANK_SHIFT
from .operands import address_of, dtype_of, get, instruction, slot_of, whole, whole_warps
from .program import Instruction, PtxError


@instruction(
    "bar.sync", "bar.arrive", "bar.red", "bar.cta.sync", "bar.cta.arrive", "bar.cta.red", "barrier.sync",
    "barrier.cta.sync", "barrier.cta.arrive", "barrier.arrive", "barrier.cta.red", "barrier.red",
)  # fmt: skip
def barrier(item: Instruction, grid):
    operation = next(p for p in item.parts if p in ("sync", "arrive", "red"))
    operands = list(item.operands)
    reduction = next((p for p in item.parts if p in ("popc", "and", "or")), None)
    target = operands.pop(0) if operation == "red" else None
    predicate = get(operands.pop(), np.bool_, grid) if operation == "red" else None
    name = get(operands[0], np.uint32, grid)
    count = get(operands[1], np.uint32, grid) if len(operands) > 1 else None
    slot = slot_of(target, 32 if reduction == "popc" else 1) if target is not None else None

    def run(u):
        active = u.active()
        names = whole(name(u), u.n)[active]
        expected = u.grid.threads if count is None else int(whole(count(u), u.n)[active][0])
        waited = []
        for number in np.unique(names):
            held = u.block.barriers.get(int(number))
            phase = held.phase if held else 0
            if predicate is not None:
                vote = whole(predicate(u), u.n)[active]
                held = u.block.arrive(int(number), 0, expected) if held is None else held
                held.votes.append(vote)
            waited.append((u.block.arrive(int(number), int((names == number).sum()), expected), phase))
        if operation == "arrive":
            return None

        def finish(unit):
            votes = np.concatenate(waited[0][0].result)
            result = (
                np.uint32(votes.sum())
                if reduction == "popc"
                else getattr(votes, {"and": "all", "or": "any"}[reduction])()
            )
            unit.put(slot, np.full(unit.n, result))

        test = lambda: all(b.phase != phase for b, phase in waited)  # noqa: E731
        return Wait(test, f"barrier {np.unique(names)}, {expected} threads", finish if slot is not None else None)

    return whole_warps(run)


@instruction("barrier.cluster.arrive")
def cluster_arrive(item: Instruction, grid):
    def run(u):
        u.cluster_arrivals[u.active()] += 1
        u.grid.events += 1

    return whole_warps(run)


@instruction("barrier.cluster.wait")
def cluster_wait(item: Instruction, grid):
    return whole_warps(lambda u: u.block.cluster_wait(u.cluster_arrivals[u.active()].max()))


@instruction("mapa")
def map_to_block(item: Instruction, grid):
    if item.parts[1] != "shared::cluster":
        raise PtxError("of generic addresses is not supported")
    dtype = dtype_of(item.parts[2])
    slot = slot_of(item.operands[0], 8 * np.dtype(dtype).itemsize)
    address, rank = get(item.operands[1], dtype, grid), get(item.operands[2], np.uint32, grid)
    return lambda u: u.put(slot, address(u) + ((rank(u) + np.uint32(1)).astype(dtype) << dtype(RANK_SHIFT)))


class Mbarrier:
    """An mbarrier object: arrivals and bytes that its phase still expects."""

    def __init__(self, count: int) -> None:
        self.count = self.pending = count
        self.bytes, self.phase = 0, 0

    def change(self, grid, arrivals: int = 0, more_bytes: int = 0) -> None:
        """Count; the phase ends when nothing is missing."""
        self.pending -= arrivals
        self.bytes += more_bytes
        if self.pending < 0:
            raise PtxError(f"arrives at an mbarrier more than {self.count} times in a phase")
        if self.pending == 0 and self.bytes == 0:
            self.pending, self.phase = self.count, self.phase + 1
            grid.events += 1


def find_mbarrier(block, address: int) -> Mbarrier:
    owner, own = block.resolve(address)
    if own not in owner.mbarriers:
        raise PtxError(f"there is no initialised mbarrier at shared address {own:#x}")
    return owner.mbarriers[own]


@instruction("mbarrier.init")
def initialize(item: Instruction, grid):
    address, count = address_of(item.operands[0], grid), get(item.operands[1], np.uint32, grid)

    def run(u):
        for at, arrivals in zip(u.select(address(u)), u.select(whole(count(u), u.n)), strict=True):
            u.block.shared.locate(np.array([at]), 8)
            u.block.shared.reserve(int(at), 8)
            u.block.mbarriers[int(at)] = Mbarrier(int(arrivals))

    return run


@instruction("mbarrier.arrive")
def arrive(item: Instruction, grid):
    target, address, *rest = item.operands
    known = {
        "mbarrier",
        "arrive",
        "expect_tx",
        "shared",
        "shared::cta",
        "shared::cluster",
        "b64",
        "release",
        "relaxed",
        "cta",
        "cluster",
    }
    if not is_sink(target) or set(item.parts) - known:
        raise PtxError("has a form that the emulator does not know")
    at = address_of(address, grid)
    operand = get(rest[0], np.uint32, grid) if rest else None
    expects = "expect_tx" in item.parts

    def run(u):
        values = u.select(whole(operand(u) if operand else np.uint32(1), u.n))
        for where, value in zip(u.select(at(u)), values, strict=True):
            barrier = find_mbarrier(u.block, int(where))
            barrier.change(u.grid, 1, int(value)) if expects else barrier.change(u.grid, int(value))

    return run


@instruction("mbarrier.try_wait.parity", "mbarrier.test_wait.parity")
def wait_for_phase(item: Instruction, grid):
    """Wait until the phase has ended, and give true then: a loop around it ends at once."""
    target, address, parity, *_ = item.operands
    slot, at, wanted = slot_of(target, 1), address_of(address, grid), get(parity, np.uint32, grid)

    def run(u):
        addresses, parities = u.select(at(u)), u.select(whole(wanted(u), u.n))
        pairs = {(find_mbarrier(u.block, int(a)), int(p)) for a, p in zip(addresses, parities, strict=True)}
        test = lambda: all(barrier.phase & 1 != p for barrier, p in pairs)  # noqa: E731
        finish = lambda unit: unit.put(slot, np.ones(unit.n, bool))  # noqa: E731
        if test():
            return finish(u)
        states = [f"phase {b.phase}, {b.pending} arrivals and {b.bytes} bytes missing" for b, _ in pairs]
        return Wait(test, f"mbarrier: waits for a phase of parity {sorted(p for _, p in pairs)}; {states}", finish)

    return run
