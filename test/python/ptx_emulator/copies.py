# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies that go on while a kernel does: cp.async, and TMA's of tensors.

Each lands as late as it may, and its target counts as unwritten until then. What a store still reads must not change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .barriers import find_mbarrier
from .control import WARP
from .conversions import round_tf32
from .memory import PARAMETER_WINDOW, RANK_SHIFT
from .operands import address_of, get, instruction, slot_of, whole
from .program import Address, Immediate, Instruction, PtxError

SHARED_MASK = (1 << RANK_SHIFT) - 1
POLICIES = {"L2::evict_first": 0x12F0000000000000, "L2::evict_normal": 0x16F0000000000000}


@dataclass
class Copy:
    """A cp.async of several threads; `groups` are their numbers of commits before it."""

    threads: np.ndarray
    groups: np.ndarray
    targets: np.ndarray
    values: np.ndarray


@instruction("cp.async.ca.shared", "cp.async.cg.shared")
def copy(item: Instruction, grid):
    target, source, size, *given = item.operands
    unknown = [p for p in item.parts[3:] if p not in ("shared", "shared::cta", "global") and not p.startswith("L2::")]
    if unknown or len(given) > 1 or not isinstance(size, Immediate):
        raise PtxError("has a form that the emulator does not know")
    size = int(size.text)
    to, start = address_of(target, grid), address_of(source, grid)
    valid = get(given[0], np.uint32, grid) if given else None
    if size not in ((16,) if item.parts[2] == "cg" else (4, 8, 16)):
        raise PtxError(f"cannot copy {size} bytes")

    def run(u):
        targets, sources = u.select(to(u)), u.select(start(u))
        u.block.shared.locate(targets, size)
        count = u.select(whole(valid(u) if valid else np.uint32(size), u.n)).astype(np.int64)
        if (count > size).any():
            raise PtxError("copies more bytes than it writes")
        if (sources & size - 1).any():
            u.grid.memory.locate(sources, size)
        values = np.zeros((targets.size, size), np.uint8)
        for number in np.unique(count[count > 0]):
            lanes = count == number
            bytes_at = (sources[lanes, None] + np.arange(number)).reshape(-1)
            values[lanes, :number] = u.grid.memory.load(bytes_at, 1).reshape(-1, number)
        u.block.shared.forget(targets, size)
        threads = np.flatnonzero(u.active())
        u.copies.append(Copy(threads, u.commits[threads], targets, values))

    return run


@instruction("cp.async.commit_group")
def commit(item: Instruction, grid):
    def run(u):
        u.commits = u.commits + u.active()

    return run


@instruction("cp.async.wait_group", "cp.async.wait_all")
def wait(item: Instruction, grid):
    everything = item.parts[2] == "wait_all"
    pending = 0 if everything else int(item.operands[0].text)

    def run(u):
        active, kept = u.active(), []
        for flying in u.copies:
            lands = active[flying.threads] & ((flying.groups < u.commits[flying.threads] - pending) | everything)
            if lands.any():
                u.block.shared.store(flying.targets[lands], flying.values[lands])
            if not lands.all():
                left = ~lands
                kept.append(Copy(*(a[left] for a in (flying.threads, flying.groups, flying.targets, flying.values))))
        u.copies = kept

    return run


def swizzled(start: int, rows: int, row_bytes: int, swizzle: int) -> np.ndarray:
    """Return the addresses of a box's bytes in chunks of 16, in order."""
    if start % 128:
        raise PtxError(f"shared address {start:#x} of a TMA copy is no multiple of 128")
    linear = start + np.arange(0, rows * row_bytes, 16)
    return linear ^ ((linear >> 7) & (swizzle // 16 - 1)) << 4


# By bytes.
_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32}


class Box:
    """Part of a matrix: where its rows are in global memory, and what of it is inside."""

    def __init__(self, tensor, column: int, row: int) -> None:
        size = np.dtype(tensor.element).itemsize
        self.tensor, (rows, columns) = tensor, tensor.box
        self.bytes, self.rows, self.row_bytes = rows * columns * size, rows, columns * size
        at_row, at_column = row + np.arange(rows)[:, None], column + np.arange(columns)
        self.inside = (at_row >= 0) & (at_row < tensor.rows) & (at_column >= 0) & (at_column < tensor.columns)
        self.addresses = tensor.address + (at_row.astype(np.int64) * tensor.columns + at_column) * size
        self.size = size

    def load(self, memory) -> np.ndarray:
        """Return the box's bytes in chunks of 16, zeros for what is outside."""
        values = np.zeros(self.inside.shape, _WORDS[self.size])
        if self.inside.any():
            values[self.inside] = memory.load(self.addresses[self.inside], self.size)[:, 0]
        if self.tensor.rounds_tf32:
            values = round_tf32(values.view(np.float32)).view(np.uint32)
        return values.view(np.uint64).reshape(-1, 2)

    def store(self, memory, chunks: np.ndarray) -> None:
        values = np.ascontiguousarray(chunks).view(_WORDS[self.size]).reshape(self.inside.shape)
        if self.inside.any():
            memory.store(self.addresses[self.inside], values[self.inside][:, None])


def one_lane_a_warp(run):
    """Have the active threads execute a TMA copy one after another; two of one warp would copy the same."""

    def run_each(u):
        mask, threads = u.mask, np.flatnonzero(u.active())
        if np.unique(threads // WARP).size != threads.size:
            raise PtxError(f"is executed by {threads.size} threads, several of them in one warp")
        for thread in threads:
            u.mask = np.arange(u.n) == thread
            run(u)
        u.mask = mask

    return run_each


def single(u, values: np.ndarray) -> int:
    """Return what the one active thread has."""
    return int(u.select(whole(values, u.n))[0])


def read_tensor(operand: Address, grid):
    """Return what reads a tensor operand: the map, and the coordinates."""
    address = address_of(Address(operand.base, operand.offset), grid)
    coordinates = [get(c, np.int32, grid) for c in operand.coordinates]
    if len(coordinates) != 2:
        raise PtxError("is not of a matrix")

    def read(u) -> Box:
        at = single(u, address(u))
        if at not in grid.maps:
            raise PtxError(f"there is no tensor map at {at - PARAMETER_WINDOW:#x} of the parameters")
        return Box(grid.maps[at], *(single(u, c(u)) for c in coordinates))

    return read


@instruction("createpolicy.fractional")
def create_policy(item: Instruction, grid):
    priority, width = item.parts[2:]
    target, fraction = item.operands
    if priority not in POLICIES or width != "b64" or fraction != Immediate("1.0"):
        raise PtxError("has a form that the emulator does not know")
    slot, policy = slot_of(target, 64), np.uint64(POLICIES[priority])
    return lambda u: u.put(slot, policy)


@instruction("cp.async.bulk.tensor.2d.shared::cluster.global")
def load_tensor(item: Instruction, grid):
    known = {"tile", "mbarrier::complete_tx::bytes", "multicast::cluster", "L2::cache_hint"}
    if set(item.parts[7:]) - known:
        raise PtxError("has a form that the emulator does not know")
    target, source, barrier, *rest = item.operands
    to, at, box_of = address_of(target, grid), address_of(barrier, grid), read_tensor(source, grid)
    policy = get(rest.pop(), np.uint64, grid) if "L2::cache_hint" in item.parts and rest else None
    mask = get(rest[0], np.uint16, grid) if rest else None
    if (mask is not None) != ("multicast::cluster" in item.parts):
        raise PtxError("has a mask without multicast, or the other way round")
    if (policy is not None) != ("L2::cache_hint" in item.parts):
        raise PtxError("has a hint without a policy")

    def run(u):
        if policy is not None and single(u, policy(u)) not in POLICIES.values():
            raise PtxError("has a policy that createpolicy has not given")
        box, target_address, barrier_address = box_of(u), single(u, to(u)), single(u, at(u))
        owner, own = u.block.resolve(target_address)
        blocks = [owner]
        if mask is not None:
            bits = single(u, mask(u))
            blocks = [u.block.peer(rank) for rank in range(16) if bits >> rank & 1]
        chunks = swizzled(own, box.rows, box.row_bytes, box.tensor.swizzle)
        barriers = [find_mbarrier(block, barrier_address & SHARED_MASK) for block in blocks]
        for block in blocks:
            block.shared.forget(chunks, 16)

        def land() -> None:
            values = box.load(u.grid.memory)
            for block, mbarrier in zip(blocks, barriers, strict=True):
                block.shared.store(chunks, values)
                mbarrier.change(u.grid, more_bytes=-box.bytes)

        # The bytes are due from now on, whether the barrier was told before or is told after.
        u.grid.start_transfer(land)

    return one_lane_a_warp(run)


@dataclass
class Store:
    """A TMA store on its way."""

    group: int
    box: Box
    memory: object
    chunks: np.ndarray
    seen: np.ndarray

    def finish(self, memory) -> None:
        if (self.memory.load(self.chunks, 8, 2) != self.seen).any():
            raise PtxError("shared memory changed while a TMA store could read it")
        self.box.store(memory, self.seen)


@instruction("cp.async.bulk.tensor.2d.global.shared::cta")
def store_tensor(item: Instruction, grid):
    if set(item.parts[7:]) - {"tile", "bulk_group"}:
        raise PtxError("has a form that the emulator does not know")
    box_of, start = read_tensor(item.operands[0], grid), address_of(item.operands[1], grid)

    def run(u):
        box, at = box_of(u), single(u, start(u))
        chunks = swizzled(at, box.rows, box.row_bytes, box.tensor.swizzle)
        thread = int(np.flatnonzero(u.active())[0])
        seen = u.block.shared.load(chunks, 8, 2)
        u.stores.append((thread, Store(u.bulk_commits[thread], box, u.block.shared, chunks, seen)))

    return one_lane_a_warp(run)


@instruction("cp.async.bulk.commit_group")
def commit_bulk(item: Instruction, grid):
    def run(u):
        u.bulk_commits = u.bulk_commits + u.active()

    return run


@instruction("cp.async.bulk.wait_group")
def wait_bulk(item: Instruction, grid):
    """Both forms let stores finish: what `.read` lets go on, the result's readers do not see here."""
    pending = int(item.operands[0].text)

    def run(u):
        active, kept = u.active(), []
        for thread, store in u.stores:
            if active[thread] and store.group < u.bulk_commits[thread] - pending:
                store.finish(u.grid.memory)
            else:
                kept.append((thread, store))
        u.stores = kept

    return run
