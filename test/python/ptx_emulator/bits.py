# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions on bits and bytes of integers."""

from __future__ import annotations

import numpy as np

from .integers import shift_left, shift_right
from .operands import dtype_of, get, getters, instruction, is_unsigned_result, slot_of, whole
from .program import Instruction, PtxError


def popcount(a: np.ndarray) -> np.ndarray:
    return np.unpackbits(np.ascontiguousarray(a).view(np.uint8).reshape(a.shape[0], -1), axis=1).sum(1, np.uint32)


def leading_zeros(a: np.ndarray) -> np.ndarray:
    bits = np.unpackbits(
        np.ascontiguousarray(a.astype(a.dtype.newbyteorder(">"))).view(np.uint8).reshape(a.shape[0], -1), axis=1
    )
    found = bits.any(axis=1)
    return np.where(found, bits.argmax(axis=1), bits.shape[1]).astype(np.uint32)


@instruction("popc", "clz")
def count_bits(item: Instruction, grid):
    function = popcount if item.parts[0] == "popc" else leading_zeros
    slot, a = slot_of(item.operands[0], 32), get(item.operands[1], dtype_of(item.parts[1]), grid)
    return lambda u: u.put(slot, function(a(u) + np.zeros(u.n, a(u).dtype)))


@instruction("bfe.u32", "bfe.u64")
def extract_field(item: Instruction, grid):
    dtype = dtype_of(item.parts[1])
    slot, a = slot_of(item.operands[0], 8 * np.dtype(dtype).itemsize), get(item.operands[1], dtype, grid)
    start, length = getters(item.operands[2:], np.uint32, grid)

    def run(u):
        count = length(u) & np.uint32(255)
        mask = shift_left(np.full(u.n, 1, dtype), count) - dtype(1)
        u.put(slot, shift_right(a(u), start(u) & np.uint32(255)) & mask)

    return run


@instruction("bfe.s32", "bfe.s64")
def extract_signed_field(item: Instruction, grid):
    dtype = dtype_of(item.parts[1])
    bits = 8 * np.dtype(dtype).itemsize
    slot, a = slot_of(item.operands[0], bits), get(item.operands[1], dtype, grid)
    start, length = getters(item.operands[2:], np.uint32, grid)

    def run(u):
        count = np.minimum(length(u) & np.uint32(255), np.uint32(bits))
        field = shift_right(a(u), start(u) & np.uint32(255))  # beyond the number its sign
        unused = np.uint32(bits) - count
        extended = shift_right(shift_left(field, unused), unused)
        u.put(slot, is_unsigned_result(np.where(count == 0, dtype(0), extended)))

    return run


@instruction("prmt.b32")
def permute(item: Instruction, grid):
    if len(item.parts) != 2:
        raise PtxError("has a mode that the emulator does not know")
    slot, read = slot_of(item.operands[0], 32), getters(item.operands[1:], np.uint32, grid)

    def run(u):
        a, b, selector = (whole(f(u), u.n).astype(np.uint64) for f in read)
        both, result = a | b << np.uint64(32), np.zeros(u.n, np.uint64)
        for i in range(4):
            nibble = selector >> np.uint64(4 * i)
            byte = both >> ((nibble & np.uint64(7)) * np.uint64(8)) & np.uint64(255)
            sign = np.where(byte & np.uint64(128), np.uint64(255), np.uint64(0))
            result |= np.where(nibble & np.uint64(8), sign, byte) << np.uint64(8 * i)
        u.put(slot, result.astype(np.uint32))

    return run


@instruction("lop3.b32")
def logic_of_three(item: Instruction, grid):
    slot, read = slot_of(item.operands[0], 32), getters(item.operands[1:4], np.uint32, grid)
    table = int(item.operands[4].text, 0)

    def run(u):
        a, b, c = (f(u) for f in read)
        result = np.zeros(u.n, np.uint32)
        for i in range(8):
            if table >> i & 1:
                result |= (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
        u.put(slot, result)

    return run


@instruction("shf.l.wrap.b32", "shf.r.wrap.b32")
def funnel_shift(item: Instruction, grid):
    slot, read = slot_of(item.operands[0], 32), getters(item.operands[1:], np.uint32, grid)
    left = item.parts[1] == "l"

    def run(u):
        low, high, count = (f(u).astype(np.uint64) for f in read)
        both, count = low | high << np.uint64(32), count & np.uint64(31)
        shifted = both << count >> np.uint64(32) if left else both >> count
        u.put(slot, shifted.astype(np.uint32))

    return run
