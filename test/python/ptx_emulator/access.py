# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads, stores, atomics, and what orders them: warps run one after another, so fences do nothing."""

from __future__ import annotations

import numpy as np

from .memory import SHARED_WINDOW, Memory
from .operands import address_of, dtype_of, get, instruction, slot_of, whole
from .parser import get_bits
from .program import Address, Immediate, Instruction, PtxError, Symbol, Vector

ORDERS = {"weak", "relaxed", "acquire", "release", "acq_rel", "volatile"}
SCOPES = {"cta", "cluster", "gpu", "sys"}
SPACES = {"global", "shared", "shared::cta", "shared::cluster", "param", "const"}


def split_modifiers(item: Instruction) -> tuple[str, int, str]:
    """Return space, vector length and type of an access."""
    space, count = "generic", 1
    for part in item.parts[1:-1]:
        if part in SPACES:
            space = part
        elif part in ("v2", "v4", "v8"):
            count = int(part[1:])
        elif part not in ORDERS | SCOPES | {"nc"} and not part.startswith(("L1::", "L2::")):
            raise PtxError(f"has the modifier .{part}, which the emulator does not know")
    return space, count, item.parts[-1]


def find_memory(u, space: str, addresses: np.ndarray) -> tuple[Memory, np.ndarray]:
    """Return the memory that the active threads reach, and their addresses in it."""
    addresses = u.select(addresses)
    if space == "generic":
        if addresses.min() >= SHARED_WINDOW and addresses.max() < SHARED_WINDOW + (1 << 40):
            return u.block.shared, addresses - np.int64(SHARED_WINDOW)
        return u.grid.memory, addresses
    if space in ("global", "const"):
        return u.grid.memory, addresses
    if space != "shared::cluster":
        return u.block.shared, addresses
    owners = {u.block.resolve(int(address))[0] for address in addresses}
    if len(owners) != 1:
        raise PtxError("threads reach different blocks, which the emulator does not support")
    return owners.pop().shared, np.array([u.block.resolve(int(address))[1] for address in addresses])


@instruction("ld")
def load(item: Instruction, grid):
    space, count, type_name = split_modifiers(item)
    if space == "param":
        return load_parameter(item, grid)
    target = item.operands[0]
    registers = target.items if isinstance(target, Vector) else (target,)
    if len(registers) != count:
        raise PtxError("has a vector of another length than its registers")
    size, address = get_bits(type_name) // 8, address_of(item.operands[1], grid)
    narrow = dtype_of(type_name)
    held = [dtype_of(f"u{r.bits}") for r in registers]
    may_poison = "volatile" not in item.parts
    slots = [slot_of(r) for r in registers]
    if any(r.bits < 8 * size for r in registers):
        raise PtxError("has a register that is narrower than its type")

    def run(u):
        memory, at = find_memory(u, space, address(u))
        values = memory.load(at, size, count, may_poison and memory is u.block.shared and u.grid.poisons)
        for i, (slot, kind) in enumerate(zip(slots, held, strict=True)):
            column = np.ascontiguousarray(values[:, i])
            if column.dtype != kind:
                column = column.view(narrow).astype(kind)
            u.put(slot, u.spread(column))

    return run


def load_parameter(item: Instruction, grid):
    source = item.operands[1]
    bits = get_bits(item.parts[-1])
    if not isinstance(source.base, Symbol) or source.base.name not in grid.parameters or "v" in item.parts[-2]:
        raise PtxError("reads a parameter in a way that the emulator does not know")
    content = grid.parameters[source.base.name][source.offset : source.offset + bits // 8]
    slot, value = slot_of(item.operands[0], bits), content.view(dtype_of(f"u{bits}"))[0]
    return lambda u: u.put(slot, value)


@instruction("st")
def store(item: Instruction, grid):
    space, count, type_name = split_modifiers(item)
    target, source = item.operands
    operands = source.items if isinstance(source, Vector) else (source,)
    if len(operands) != count:
        raise PtxError("has a vector of another length than its registers")
    kind, address = dtype_of(f"u{get_bits(type_name)}"), address_of(target, grid)
    read = [get(o, kind if isinstance(o, Immediate) else dtype_of(f"u{o.bits}"), grid) for o in operands]

    def run(u):
        memory, at = find_memory(u, space, address(u))
        columns = [u.select(whole(f(u).astype(kind), u.n)) for f in read]
        memory.store(at, np.stack(columns, axis=1))
        u.grid.events += 1

    return run


ATOMIC = {
    "add": lambda a, b: a + b, "min": min, "max": max, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b, "exch": lambda a, b: b, "inc": lambda a, b: type(a)(0) if a >= b else a + type(a)(1),
}  # fmt: skip


@instruction("atom", "red")
def atomic(item: Instruction, grid):
    parts = item.parts
    operation = next((p for p in parts if p in ATOMIC or p == "cas"), None)
    space = next((p for p in parts if p in SPACES), "generic")
    unknown = set(parts[1:-1]) - ORDERS - SCOPES - SPACES - {operation}
    if operation is None or unknown:
        raise PtxError("is an atomic that the emulator does not know")
    dtype, returns = dtype_of(parts[-1]), parts[0] == "atom"
    operands = item.operands[1:] if returns else item.operands
    address, *rest = operands
    at, values = address_of(address, grid), [get(o, dtype, grid) for o in rest]
    is_dropped = returns and isinstance(item.operands[0], Symbol)
    slot = slot_of(item.operands[0], 8 * np.dtype(dtype).itemsize) if returns and not is_dropped else None

    def run(u):
        memory, addresses = find_memory(u, space, at(u))
        columns = [u.select(whole(f(u), u.n)) for f in values]
        old = np.zeros(addresses.size, dtype)
        for lane in range(addresses.size):  # one thread after another
            where = addresses[lane : lane + 1]
            old[lane] = memory.load(where, old.itemsize)[0, 0].view(dtype)
            given = [column[lane] for column in columns]
            if operation == "cas":
                new = given[1] if old[lane] == given[0] else old[lane]
            else:
                new = ATOMIC[operation](old[lane], given[0])
            memory.store(where, np.array([[new]], dtype).view(dtype_of(f"u{8 * old.itemsize}")))
        u.grid.events += 1
        if slot is not None:
            u.put(slot, u.spread(old.view(dtype_of(f"u{8 * old.itemsize}"))))

    return run


@instruction(
    "fence", "membar", "griddepcontrol.wait", "griddepcontrol.launch_dependents", "setmaxnreg", "prefetch",
    "prefetchu", "nanosleep", "applypriority", "discard",
)  # fmt: skip
def nothing(item: Instruction, grid):
    for operand in item.operands:
        if isinstance(operand, Address):
            address_of(operand, grid)  # must at least be one
    return lambda u: None
