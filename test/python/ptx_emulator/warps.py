# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What threads of a warp tell each other: shuffles, reductions, votes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .control import WARP
from .integers import is_sink
from .operands import dtype_of, get, instruction, is_unsigned_result, slot_of, whole, whole_warps
from .program import Instruction, PtxError, Vector


def of_whole_warps(run: Callable, members: object, grid) -> Callable:
    """Have `run` execute for whole warps; its mask of members must name all of them."""
    mask = get(members, np.uint32, grid)
    everyone = np.uint32(0xFFFFFFFF)

    def checked(u):
        if (u.select(whole(mask(u), u.n)) != everyone).any():
            raise PtxError("is not of the whole warp, which is all that the emulator supports")
        return run(u)

    return whole_warps(checked)


@instruction("shfl.sync")
def shuffle(item: Instruction, grid):
    mode = item.parts[2]
    target, source, lane, clamp, members = item.operands
    slots = target.items if isinstance(target, Vector) else (target,)
    slot, valid_slot = slot_of(slots[0], 32), slot_of(slots[1], 1) if len(slots) == 2 else None
    read, read_lane, read_clamp = (get(o, np.uint32, grid) for o in (source, lane, clamp))

    def run(u):
        own = (np.arange(u.n) % WARP).astype(np.int64)
        distance, control = read_lane(u).astype(np.int64) & 31, read_clamp(u).astype(np.int64)
        low_mask, limit = control >> 8 & 31, control & 31
        lowest = own & low_mask
        highest = lowest | limit & ~low_mask
        if mode == "idx":
            wanted = lowest | distance & ~low_mask
            valid = wanted <= highest
        elif mode == "up":
            wanted = own - distance
            valid = wanted >= highest
        elif mode == "down":
            wanted = own + distance
            valid = wanted <= highest
        else:
            wanted = own ^ distance
            valid = wanted <= highest
        wanted = np.where(valid, wanted, own)
        values = whole(read(u), u.n)
        u.put(slot, values[np.arange(u.n) // WARP * WARP + wanted])
        if valid_slot is not None:
            u.put(valid_slot, whole(valid, u.n))

    if mode not in ("idx", "up", "down", "bfly"):
        raise PtxError("has a mode that the emulator does not know")
    return of_whole_warps(run, members, grid)


REDUCE = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


@instruction("redux.sync")
def reduce(item: Instruction, grid):
    if len(item.parts) != 4 or item.parts[2] not in REDUCE:
        raise PtxError("has a form that the emulator does not know")
    dtype, function = dtype_of(item.parts[3]), REDUCE[item.parts[2]]
    slot, read = slot_of(item.operands[0], 32), get(item.operands[1], dtype, grid)

    def run(u):
        warps = whole(read(u), u.n).reshape(-1, WARP)
        result = function.reduce(warps, axis=1, dtype=dtype)
        u.put(slot, is_unsigned_result(np.repeat(result, WARP)))

    return of_whole_warps(run, item.operands[2], grid)


@instruction("vote.sync")
def vote(item: Instruction, grid):
    mode, predicate = item.parts[2], item.operands[1]
    if mode not in ("any", "all", "uni", "ballot"):
        raise PtxError("has a mode that the emulator does not know")
    negated = getattr(predicate, "name", "").startswith("!")
    if negated:
        raise PtxError("of a negated predicate is not supported")
    slot, read = slot_of(item.operands[0], 32 if mode == "ballot" else 1), get(predicate, np.bool_, grid)

    def run(u):
        warps = whole(read(u), u.n).reshape(-1, WARP)
        if mode == "ballot":
            result = (warps.astype(np.uint64) << np.arange(WARP, dtype=np.uint64)).sum(1).astype(np.uint32)
        elif mode == "any":
            result = warps.any(1)
        elif mode == "all":
            result = warps.all(1)
        else:
            result = warps.all(1) | ~warps.any(1)
        u.put(slot, np.repeat(result, WARP))

    return of_whole_warps(run, item.operands[2], grid)


@instruction("elect.sync")
def elect(item: Instruction, grid):
    leader, predicate = item.operands[0].items
    slot = slot_of(predicate, 1)
    leader_slot = None if is_sink(leader) else slot_of(leader, 32)

    def run(u):
        u.put(slot, np.arange(u.n) % WARP == 0)
        if leader_slot is not None:
            u.put(leader_slot, np.zeros(u.n, np.uint32))

    return of_whole_warps(run, item.operands[1], grid)


@instruction("bar.warp.sync")
def warp_barrier(item: Instruction, grid):
    return of_whole_warps(lambda u: None, item.operands[0], grid)
