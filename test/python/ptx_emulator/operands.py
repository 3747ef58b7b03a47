# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From an instruction's text to a closure: operands, types, guards, and the table of known instructions."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable

import numpy as np

from .control import WARP, Partial
from .memory import UNSIGNED
from .program import Address, Immediate, Instruction, PtxError, Register, Symbol, Vector

# Reads a value from a Unit.
Getter = Callable[[object], np.ndarray]
NUMBERS = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64,
}  # fmt: skip
TABLE: dict[str, Callable] = {}


def instruction(*names: str) -> Callable:
    """Enter a decoder: it takes an instruction and the grid, and returns what executes it."""

    def enter(decoder: Callable) -> Callable:
        for name in names:
            TABLE[name] = decoder
        return decoder

    return enter


def dtype_of(type_name: str) -> type:
    """Return the NumPy type of an operand type; bits and unsigned numbers are unsigned."""
    if type_name == "pred":
        return np.bool_
    if type_name in NUMBERS:
        return NUMBERS[type_name]
    if type_name[0] not in ("b", "u") or not type_name[1:].isdigit() or int(type_name[1:]) // 8 not in UNSIGNED:
        raise PtxError(f"type .{type_name} is not known here")
    return UNSIGNED[int(type_name[1:]) // 8]


def registers_of(operands: Iterable) -> list[Register]:
    """Return all registers that operands name."""
    found = []
    for operand in operands:
        if isinstance(operand, Register):
            found.append(operand)
        elif isinstance(operand, Vector):
            found += registers_of(operand.items)
        elif isinstance(operand, Address):
            found += registers_of([operand.base, *operand.coordinates])
    return found


def parse_number(text: str, dtype: type) -> np.generic:
    """Return an immediate's value; 0f and 0d are bits."""
    if text[:2] in ("0f", "0F", "0d", "0D"):
        value = struct.unpack(">f" if text[1] in "fF" else ">d", bytes.fromhex(text[2:]))[0]
        kind = np.float32 if text[1] in "fF" else np.float64
        if np.dtype(dtype).kind != "f":
            return np.frombuffer(kind(value).tobytes(), dtype)[0]
        return dtype(value)
    if np.dtype(dtype).kind == "f":
        return np.array(int(text, 0), UNSIGNED[np.dtype(dtype).itemsize]).view(dtype)[()]
    if dtype == np.bool_:
        return np.bool_(int(text, 0))
    bits = 8 * np.dtype(dtype).itemsize
    unsigned = int(text.rstrip("U"), 0) & ((1 << bits) - 1)
    return np.array(unsigned, UNSIGNED[bits // 8]).view(dtype)[()]


SPECIAL: dict[str, Getter] = {
    "%tid.x": lambda u: u.thread,
    "%laneid": lambda u: u.thread % np.uint32(WARP),
    "%warpid": lambda u: u.thread // np.uint32(WARP),
    "%ntid.x": lambda u: np.uint32(u.grid.threads),
    "%ctaid.x": lambda u: np.uint32(u.block.index),
    "%nctaid.x": lambda u: np.uint32(u.grid.block_count),
    "%cluster_ctarank": lambda u: np.uint32(u.block.rank),
    "%cluster_ctaid.x": lambda u: np.uint32(u.block.rank),
    "%cluster_nctarank": lambda u: np.uint32(u.grid.cluster),
    "%cluster_nctaid.x": lambda u: np.uint32(u.grid.cluster),
    "%clusterid.x": lambda u: np.uint32(u.block.index // u.grid.cluster),
    "%nclusterid.x": lambda u: np.uint32(u.grid.block_count // u.grid.cluster),
}
for _axis in "yz":  # launches are along x
    SPECIAL |= {f"%tid.{_axis}": lambda u: np.uint32(0), f"%ctaid.{_axis}": lambda u: np.uint32(0)}
    SPECIAL |= {f"%ntid.{_axis}": lambda u: np.uint32(1), f"%nctaid.{_axis}": lambda u: np.uint32(1)}


def get(operand: object, dtype: type, grid) -> Getter:
    """Return what reads an operand as `dtype`."""
    if isinstance(operand, Immediate):
        constant = parse_number(operand.text, dtype)
        return lambda u: constant
    if isinstance(operand, Register):
        slot = operand.slot
        if dtype == np.bool_ or operand.bits == 1:
            if dtype != np.bool_ or operand.bits != 1:
                raise PtxError(f"{operand.name} has {operand.bits} bits, which this operand cannot have")
            return lambda u: u.R[slot]
        if np.dtype(dtype).itemsize * 8 != operand.bits:
            raise PtxError(f"{operand.name} has {operand.bits} bits, not {np.dtype(dtype).itemsize * 8}")
        if np.dtype(dtype).kind == "u":
            return lambda u: u.R[slot]
        return lambda u: u.R[slot].view(dtype)
    if isinstance(operand, Symbol):
        if operand.name in SPECIAL:
            special = SPECIAL[operand.name]
            return lambda u: special(u).astype(dtype)
        address = grid.symbols.get(operand.name, grid.parameter_addresses.get(operand.name))
        if address is not None:
            return lambda u: dtype(address)
    raise PtxError(f"operand {operand} is not known")


def whole(values: np.ndarray, threads: int) -> np.ndarray:
    """Return one value for each thread, of a constant too."""
    return values if values.ndim else np.full(threads, values)


def getters(operands: Iterable, dtype: type, grid) -> list[Getter]:
    return [get(operand, dtype, grid) for operand in operands]


def slot_of(operand: object, bits: int | None = None) -> int:
    """Return a result register's place."""
    if not isinstance(operand, Register):
        raise PtxError(f"result {operand} is no register")
    if bits is not None and operand.bits != bits:
        raise PtxError(f"result {operand.name} has {operand.bits} bits, not {bits}")
    return operand.slot


def address_of(operand: Address, grid) -> Getter:
    """Return what reads an address, as a number for each thread."""
    if not isinstance(operand, Address):
        raise PtxError(f"{operand} is no address")
    offset = np.int64(operand.offset)
    if isinstance(operand.base, Register):
        slot = operand.base.slot
        if operand.base.bits == 64:
            return lambda u: u.R[slot].view(np.int64) + offset
        return lambda u: u.R[slot].astype(np.int64) + offset
    read = get(operand.base, np.uint64, grid)
    return lambda u: np.full(u.n, int(read(u)) + int(offset), np.int64)


def is_unsigned_result(value: np.ndarray) -> np.ndarray:
    """Return a result as registers hold it."""
    kind = value.dtype.kind
    return value if kind in "ub" else value.view(UNSIGNED[value.dtype.itemsize])


def whole_warps(execute: Callable, together: int = WARP) -> Callable:
    """Have `execute` run for whole warps alone, or for other numbers of neighbours."""

    def run(u):
        if u.mask is not None:
            warps = u.mask.reshape(-1, together)
            complete = warps.all(axis=1)
            if (warps.any(axis=1) != complete).any():
                return Partial(np.repeat(complete, together))
        return execute(u)

    return run


def guarded(execute: Callable, guard: tuple[Register, bool]) -> Callable:
    """Have `execute` run for the threads whose predicate is right."""
    (register, wanted) = guard
    slot = register.slot

    def run(u):
        before, predicate = u.mask, u.R[slot]
        mask = predicate if wanted else ~predicate
        if before is not None:
            mask = mask & before
        if not mask.any():
            return None
        if before is None and mask.all():
            return execute(u)
        u.mask = mask
        try:
            control = execute(u)
        finally:
            u.mask = before
        if control is not None:
            raise PtxError("a predicated instruction of part of the threads cannot wait")
        return None

    return run


def decode(item: Instruction, grid) -> Callable:
    """Return what executes an instruction."""
    parts = item.parts
    decoder = next((TABLE[name] for n in range(len(parts), 0, -1) if (name := ".".join(parts[:n])) in TABLE), None)
    try:
        if decoder is None:
            raise PtxError("is not known to the emulator")
        execute = decoder(item, grid)
    except PtxError as error:
        raise PtxError(f"{grid.kernel.name}, line {item.line}: {item.text!r}: {error}") from error
    if item.guard is None or parts[0] == "bra":
        return execute
    return guarded(execute, item.guard)
