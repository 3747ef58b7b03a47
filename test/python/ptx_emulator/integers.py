# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer arithmetic, logic, moves, comparisons and branches."""

from __future__ import annotations

import numpy as np

from .control import EXIT, Split
from .operands import dtype_of, get, getters, guarded, instruction, is_unsigned_result, slot_of
from .parser import get_bits
from .program import Instruction, PtxError, Register, Symbol, Vector

WIDER = {np.int16: np.int32, np.uint16: np.uint32, np.int32: np.int64, np.uint32: np.uint64}


def simple(item: Instruction, grid, dtype: type, function, result_bits: int | None = None):
    """Return the execution of a function of operands of one type."""
    slot = slot_of(item.operands[0], result_bits or (1 if dtype == np.bool_ else 8 * np.dtype(dtype).itemsize))
    read = getters(item.operands[1:], dtype, grid)
    if len(read) == 1:
        (a,) = read
        return lambda u: u.put(slot, is_unsigned_result(function(a(u))))
    if len(read) == 2:
        a, b = read
        return lambda u: u.put(slot, is_unsigned_result(function(a(u), b(u))))
    a, b, c = read
    return lambda u: u.put(slot, is_unsigned_result(function(a(u), b(u), c(u))))


def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Divide toward zero; what PTX leaves open, a division by 0, gives all ones."""
    by_zero, b = b == 0, np.where(b == 0, b.dtype.type(1), b)
    if a.dtype.kind == "u":
        quotient = a // b
    else:
        quotient = np.abs(a) // np.abs(b)
        quotient = np.where((a < 0) != (b < 0), -quotient, quotient).astype(a.dtype)
    return np.where(by_zero, ~a.dtype.type(0), quotient)


def remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a - divide(a, b) * b


def shift_left(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    bits = a.dtype.itemsize * 8
    shifted = a << np.minimum(b, bits - 1).astype(a.dtype)
    return np.where(b >= bits, a.dtype.type(0), shifted)


def shift_right(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    bits = a.dtype.itemsize * 8
    shifted = a >> np.minimum(b, bits - 1).astype(a.dtype)
    return shifted if a.dtype.kind == "i" else np.where(b >= bits, a.dtype.type(0), shifted)


TWO = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "min": np.minimum, "max": np.maximum,
    "div": divide, "rem": remainder, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
ONE = {"not": np.invert, "neg": lambda a: (~a) + a.dtype.type(1), "abs": np.abs, "cnot": lambda a: a == 0}


def plain(names: dict):
    """Return a decoder of name.type."""

    def decode(item: Instruction, grid):
        if len(item.parts) != 2:
            raise PtxError("has a modifier that the emulator does not know")
        return simple(item, grid, dtype_of(item.parts[1]), names[item.parts[0]])

    return decode


for _bits in (16, 32, 64):
    for _kind in "us":
        for _name in ("add", "sub", "min", "max", "div", "rem"):
            instruction(f"{_name}.{_kind}{_bits}")(plain(TWO))
        for _name in ("neg", "abs"):
            instruction(f"{_name}.{_kind}{_bits}")(plain(ONE))
for _type in ("b16", "b32", "b64", "pred"):
    for _name in ("and", "or", "xor"):
        instruction(f"{_name}.{_type}")(plain(TWO))
    instruction(f"not.{_type}")(plain(ONE))


@instruction("mul.lo", "mul.hi", "mul.wide", "mad.lo", "mad.wide", "mad.hi")
def multiply(item: Instruction, grid):
    name, half, type_name = item.parts
    dtype = dtype_of(type_name)
    a, b, *c = item.operands[1:]
    read_a, read_b = getters([a, b], dtype, grid)
    wide = WIDER.get(dtype)
    result = wide if half == "wide" else dtype
    read_c = get(c[0], result, grid) if name == "mad" else None
    slot, bits = slot_of(item.operands[0], 8 * np.dtype(result).itemsize), 8 * np.dtype(dtype).itemsize

    def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if half == "lo":
            return x * y
        if half == "hi" and wide is None:
            exact = [int(p) * int(q) >> 64 for p, q in np.broadcast(x, y)]
            return np.array([v & (1 << 64) - 1 for v in exact], np.uint64).view(dtype)
        whole = x.astype(wide) * y.astype(wide)
        return whole if half == "wide" else (whole >> wide(bits)).astype(dtype)

    if read_c is None:
        return lambda u: u.put(slot, is_unsigned_result(product(read_a(u), read_b(u))))
    return lambda u: u.put(slot, is_unsigned_result(product(read_a(u), read_b(u)) + read_c(u)))


@instruction("shl", "shr")
def shift(item: Instruction, grid):
    dtype = dtype_of(item.parts[1])
    slot = slot_of(item.operands[0], 8 * np.dtype(dtype).itemsize)
    a, b = get(item.operands[1], dtype, grid), get(item.operands[2], np.uint32, grid)
    function = shift_left if item.parts[0] == "shl" else shift_right
    return lambda u: u.put(slot, is_unsigned_result(function(a(u), b(u))))


@instruction("selp")
def choose(item: Instruction, grid):
    dtype = dtype_of(item.parts[1])
    slot = slot_of(item.operands[0], 8 * np.dtype(dtype).itemsize)
    a, b = getters(item.operands[1:3], dtype, grid)
    p = get(item.operands[3], np.bool_, grid)
    return lambda u: u.put(slot, is_unsigned_result(np.where(p(u), a(u), b(u))))


@instruction("mov")
def move(item: Instruction, grid):
    target, source = item.operands
    if isinstance(source, Vector):
        return pack(item, grid)
    if isinstance(target, Vector):
        return unpack(item, grid)
    dtype = dtype_of(item.parts[1])
    bits = get_bits(item.parts[1])
    slot = slot_of(target, bits)
    if isinstance(source, Register):
        # A register that nothing wrote may be copied: LLVM has undefined values.
        if source.bits != bits:
            raise PtxError(f"{source.name} has {source.bits} bits, not {bits}")
        other = source.slot
        return lambda u: None if u.R[other] is None else u.put(slot, u.R[other])
    read = get(source, dtype, grid)
    return lambda u: u.put(slot, is_unsigned_result(np.asarray(read(u))))


def pack(item: Instruction, grid):
    target, (*items,) = item.operands[0], item.operands[1].items
    bits = get_bits(item.parts[1])
    part = bits // len(items)
    slot, wide = slot_of(target, bits), dtype_of(f"u{bits}")
    read = getters(items, dtype_of(f"u{part}"), grid)

    def run(u):
        value = np.zeros(u.n, wide)
        for i, f in enumerate(read):
            value = value | f(u).astype(wide) << wide(i * part)
        u.put(slot, value)

    return run


def unpack(item: Instruction, grid):
    items = item.operands[0].items
    bits = get_bits(item.parts[1])
    part, wide = bits // len(items), dtype_of(f"u{bits}")
    narrow, read = dtype_of(f"u{part}"), get(item.operands[1], wide, grid)
    slots = [(i, slot_of(r, part)) for i, r in enumerate(items) if not is_sink(r)]

    def run(u):
        value = read(u)
        for i, slot in slots:
            u.put(slot, (value >> wide(i * part)).astype(narrow))

    return run


def is_sink(operand: object) -> bool:
    return isinstance(operand, Symbol) and operand.name == "_"


@instruction("bra")
def branch(item: Instruction, grid):
    target = grid.kernel.labels[item.operands[0].name]
    if item.guard is None:
        return lambda u: target
    (register, wanted) = item.guard
    slot = register.slot

    def run(u):
        predicate = u.R[slot]
        taken = predicate if wanted else ~predicate
        if u.mask is not None:
            taken = taken & u.mask
        count = np.count_nonzero(taken)
        if count == 0:
            return None
        if count == (u.n if u.mask is None else np.count_nonzero(u.mask)):
            return target
        return Split(target, taken)

    return run


@instruction("brx.idx")
def jump(item: Instruction, grid):
    """Jump to one of several labels, all threads to the same."""
    if item.guard is not None:
        raise PtxError("is not supported under a predicate")
    targets = [grid.kernel.labels[name] for name in grid.kernel.jumps[item.operands[1].name]]
    read = get(item.operands[0], np.uint32, grid)

    def run(u):
        index = np.unique(np.broadcast_to(read(u), u.n)[slice(None) if u.mask is None else u.mask])
        if len(index) != 1:
            raise PtxError("threads that jump apart are not supported")
        if index[0] >= len(targets):
            raise PtxError(f"has {len(targets)} targets, and none of number {index[0]}")
        return targets[index[0]]

    return run


@instruction("ret", "exit")
def leave(item: Instruction, grid):
    if item.guard is not None:
        raise PtxError("is not supported under a predicate")
    return lambda u: EXIT


@instruction("trap")
def trap(item: Instruction, grid):
    def run(u):
        raise PtxError("is reached")

    return run if item.guard is None else guarded(run, item.guard)
