# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ldmatrix, stmatrix, mma.sync and wgmma.

Tensor cores cut off what does not fit their sums; here a product's terms and the accumulator are added exactly and
cut to f32, which is at least as exact as hardware.
"""

from __future__ import annotations

import numpy as np

from .control import WARP
from .floats import FLOAT8, bf16_to_f32, float8_to_f64
from .operands import address_of, get, getters, instruction, slot_of, whole, whole_warps
from .program import Instruction, PtxError

# The row of a thread's first element in a block of 8 rows, and its pair of columns.
ROW, PAIR = np.arange(WARP) // 4, np.arange(WARP) % 4
SWIZZLE = {1: 128, 2: 64, 3: 32}
WARPGROUP = 128
# Of what wgmma multiplies.
ELEMENT_BITS = {"f16": 16, "bf16": 16, "tf32": 32} | dict.fromkeys(FLOAT8, 8)


def cut(exact: np.ndarray) -> np.ndarray:
    """Round float64 to f32 toward zero."""
    near = exact.astype(np.float32)
    over = (np.abs(near.astype(np.float64)) > np.abs(exact)) & np.isfinite(near)
    return np.where(over, (near.view(np.uint32) - np.uint32(1)).view(np.float32), near)


def widen(bits: np.ndarray, type_name: str) -> np.ndarray:
    """Return float64 of elements; tf32 ignores the last 13 bits."""
    if type_name in FLOAT8:
        return float8_to_f64(bits, type_name)
    if type_name == "bf16":
        return bf16_to_f32(bits).astype(np.float64)
    if type_name == "f16":
        return bits.view(np.float16).astype(np.float64)
    return (bits & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)


def read_form(item: Instruction) -> tuple[int, bool]:
    """Return how many matrices ldmatrix or stmatrix moves, and whether it transposes them."""
    count, *trans, _space, type_name = item.parts[4:]
    if count not in ("x1", "x2", "x4") or trans not in ([], ["trans"]) or type_name != "b16":
        raise PtxError("has a form that the emulator does not know")
    return int(count[1]), bool(trans)


def transpose(pairs: np.ndarray) -> np.ndarray:
    """Transpose the last axis: 8x8 elements of 16 bits, as 32 pairs of neighbours."""
    elements = np.ascontiguousarray(pairs).view(np.uint16).reshape(*pairs.shape[:-1], 8, 8)
    return np.ascontiguousarray(elements.swapaxes(-1, -2)).view(np.uint32).reshape(pairs.shape)


@instruction("ldmatrix.sync.aligned.m8n8")
def load_matrices(item: Instruction, grid):
    number, transposes = read_form(item)
    slots, address = [slot_of(r, 32) for r in item.operands[0].items], address_of(item.operands[1], grid)

    def run(u):
        warps = np.flatnonzero(u.active().reshape(-1, WARP).any(axis=1))
        rows = address(u).reshape(-1, WARP)[warps, : 8 * number]
        # What nobody wrote is poison and no error: kernels load what they do not use.
        found = u.block.shared.load(rows.reshape(-1), 4, 4, poison=True).reshape(len(warps), number, WARP)
        found = transpose(found) if transposes else found
        for i, slot in enumerate(slots):
            values = np.zeros((u.n // WARP, WARP), np.uint32)
            values[warps] = found[:, i]
            u.put(slot, values.reshape(-1))

    return whole_warps(run)


@instruction("stmatrix.sync.aligned.m8n8")
def store_matrices(item: Instruction, grid):
    number, transposes = read_form(item)
    address, read = address_of(item.operands[0], grid), getters(item.operands[1].items, np.uint32, grid)

    def run(u):
        warps = np.flatnonzero(u.active().reshape(-1, WARP).any(axis=1))
        rows = address(u).reshape(-1, WARP)[warps, : 8 * number]
        values = np.stack([whole(f(u), u.n).reshape(-1, WARP)[warps] for f in read], axis=1)
        values = transpose(values) if transposes else values
        u.block.shared.store(rows.reshape(-1), values.reshape(-1, 4))

    return whole_warps(run)


def assemble(u, read: list, rows: int, elements: int, dtype: type) -> np.ndarray:
    """Return a fragment of `read` registers as [warps, 8 `rows`, columns]: the first registers go down the rows."""
    registers = np.stack([whole(f(u), u.n) for f in read])
    parts = registers.view(dtype).reshape(len(read) // rows, rows, u.n // WARP, 8, 4 * elements)
    return parts.transpose(2, 1, 3, 0, 4).reshape(u.n // WARP, 8 * rows, -1)


@instruction(*(f"mma.sync.aligned.m16n8k{k}.row.col.f32" for k in (8, 16, 32)))
def multiply_warp(item: Instruction, grid):
    shape, (type_a, type_b, result) = item.parts[3], item.parts[7:]
    shapes = {"f16": "m16n8k16", "bf16": "m16n8k16", "tf32": "m16n8k8", "e4m3": "m16n8k32", "e5m2": "m16n8k32"}
    if shapes.get(type_a) != shape:
        raise PtxError("has types that the emulator does not know")
    if type_a != type_b or result != "f32":
        raise PtxError("has types that the emulator does not know")
    target, a, b, c = (operand.items for operand in item.operands)
    slots = [slot_of(r, 32) for r in target]
    read_a, read_b, read_c = (getters(o, np.uint32, grid) for o in (a, b, c))
    elements = int(shape.rpartition("k")[2]) // 8
    dtype = {1: np.uint32, 2: np.uint16, 4: np.uint8}[elements]

    def run(u):
        x = widen(assemble(u, read_a, 2, elements, dtype), type_a)
        w = widen(assemble(u, read_b, 1, elements, dtype), type_a)
        old = np.stack([whole(f(u), u.n).view(np.float32) for f in read_c])
        old = old.reshape(2, 2, -1, 8, 4).transpose(2, 0, 3, 4, 1).reshape(-1, 16, 8)
        new = cut(x @ w.transpose(0, 2, 1) + old)
        new = np.ascontiguousarray(new.reshape(-1, 2, 8, 4, 2).transpose(1, 4, 0, 2, 3)).reshape(4, u.n)
        for slot, values in zip(slots, new, strict=True):
            u.put(slot, values.view(np.uint32))

    return whole_warps(run)


@instruction("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64")
def multiply_warp_f64(item: Instruction, grid):
    target, a, b, c = (operand.items for operand in item.operands)
    slots = [slot_of(r, 64) for r in target]
    read_a, read_b, read_c = (getters(o, np.float64, grid) for o in (a, b, c))

    def run(u):
        # Lanes hold a row of a, or a column of b, at lane / 4, and of K lane % 4.
        x, w = (whole(read[0](u), u.n).reshape(-1, 8, 4) for read in (read_a, read_b))
        old = np.stack([whole(f(u), u.n).reshape(-1, 8, 4) for f in read_c], axis=-1).reshape(-1, 8, 8)
        new = (x @ w.transpose(0, 2, 1) + old).reshape(-1, 8, 4, 2)
        for i, slot in enumerate(slots):
            u.put(slot, np.ascontiguousarray(new[..., i]).reshape(u.n).view(np.uint64))

    return whole_warps(run)


@instruction("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64")
def multiply_warp_f64_large(item: Instruction, grid):
    target, a, b, c = (operand.items for operand in item.operands)
    slots = [slot_of(r, 64) for r in target]
    read_a, read_b, read_c = (getters(o, np.float64, grid) for o in (a, b, c))

    def run(u):
        # As four products of 8x4 by 4x8: of a, rows 0 to 7 and 8 to 15 of the first four of K, then of the others.
        x = np.stack([whole(f(u), u.n).reshape(-1, 8, 4) for f in read_a]).reshape(2, 2, -1, 8, 4)
        x = x.transpose(2, 1, 3, 0, 4).reshape(-1, 16, 8)
        w = np.concatenate([whole(f(u), u.n).reshape(-1, 8, 4) for f in read_b], axis=2)
        old = np.stack([whole(f(u), u.n).reshape(-1, 8, 4) for f in read_c]).reshape(2, 2, -1, 8, 4)
        new = x @ w.transpose(0, 2, 1) + old.transpose(2, 0, 3, 4, 1).reshape(-1, 16, 8)
        new = np.ascontiguousarray(new.reshape(-1, 2, 8, 4, 2).transpose(1, 4, 0, 2, 3)).reshape(4, u.n)
        for slot, values in zip(slots, new, strict=True):
            u.put(slot, values.view(np.uint64))

    return whole_warps(run)


class Operand:
    """A matrix that a wgmma descriptor points to: rows of 32 bytes of K, or transposed, 16 rows of K."""

    def __init__(self, descriptor: int, rows: int, is_transposed: bool) -> None:
        self.start, self.step = (descriptor & 0x3FFF) << 4, (descriptor >> 32 & 0x3FFF) << 4
        self.is_transposed = is_transposed
        mode = descriptor >> 62
        if mode not in SWIZZLE or descriptor >> 49 & 7:
            raise PtxError(f"descriptor {descriptor:#x} has a layout that the emulator does not know")
        pitch = SWIZZLE[mode]
        if is_transposed:
            # Chunks of 8 elements; a row has as many as the swizzle is wide, further ones are a leading stride away.
            leading, chunk, row = (descriptor >> 16 & 0x3FFF) << 4, np.arange(rows // 8), np.arange(16)[:, None]
            along = chunk // (pitch // 16) * leading + chunk % (pitch // 16) * 16
        else:
            row, along = np.arange(rows)[:, None], np.arange(0, 32, 16)
        linear = self.start + row // 8 * self.step + row % 8 * pitch + along
        self.addresses = (linear ^ ((linear >> 7) & (pitch // 16 - 1)) << 4).reshape(-1)

    def read(self, memory) -> np.ndarray:
        values = memory.load(self.addresses, 8, 2)
        if self.is_transposed:
            values = np.ascontiguousarray(values.view(np.uint16).reshape(16, -1).T).view(np.uint64)
        return values.reshape(-1, 4)


class Product:
    """A wgmma on its way: it may read its operands until a wait."""

    def __init__(self, u, operands: list[Operand], slots: list[int], type_name: str, sources) -> None:
        self.memory, self.operands, self.slots, self.type_name = u.block.shared, operands, slots, type_name
        self.sources = sources  # a product before, arrays, or None for zeros
        self.group = u.product_groups
        self.seen = [operand.read(self.memory) for operand in operands]
        self.result: list | None = None

    def finish(self) -> None:
        for operand, before in zip(self.operands, self.seen, strict=True):
            if (operand.read(self.memory) != before).any():
                raise PtxError(f"shared memory at {operand.start:#x} changed while a wgmma could read it")
        kind = {8: np.uint8, 16: np.uint16, 32: np.uint32}[ELEMENT_BITS[self.type_name]]
        x, w = (widen(np.ascontiguousarray(v).view(kind), self.type_name) for v in self.seen)
        total = x @ w.T
        if self.sources is not None:
            held = self.sources.result if isinstance(self.sources, Product) else self.sources
            old = np.stack(held).view(np.float32).reshape(-1, 2, 2, 4, 8, 4)  # block of 8 columns, half, column; warp
            total = total + old.transpose(3, 1, 4, 0, 5, 2).reshape(64, -1)
        new = cut(total).reshape(4, 2, 8, -1, 4, 2).transpose(3, 1, 5, 0, 2, 4)
        self.result = list(np.ascontiguousarray(new).reshape(-1, WARPGROUP).view(np.uint32))


@instruction("wgmma.mma_async.sync.aligned")
def multiply_warpgroup(item: Instruction, grid):
    shape, result, type_a, type_b = item.parts[4:]
    columns, k = (int(n) for n in shape.removeprefix("m64n").split("k"))
    bits = ELEMENT_BITS.get(type_a)
    target, a, b, scale, *rest = item.operands
    if type_a != type_b or result != "f32" or bits is None or k * bits != 256 or len(target.items) != columns // 2:
        raise PtxError("has a form that the emulator does not know")
    signs, transposed = [int(o.text) for o in rest[:2]], [int(o.text) for o in rest[2:]]
    if signs != [1, 1] or len(transposed) != (2 if bits == 16 else 0) or not set(transposed) <= {0, 1}:
        raise PtxError("negates, which the emulator does not know, or transposes what is not of 16 bits")
    turns = [bool(t) for t in transposed] or [False, False]
    slots = [slot_of(r, 32) for r in target.items]
    x, w, keeps = get(a, np.uint64, grid), get(b, np.uint64, grid), get(scale, np.bool_, grid)

    def run(u):
        descriptors = [np.unique(whole(f(u), u.n)) for f in (x, w, keeps)]
        if any(len(d) != 1 for d in descriptors):
            raise PtxError("has operands that differ between threads")
        held = [u.R[slot] for slot in slots]
        sources = None
        if descriptors[2][0]:
            flying = held[0]
            if isinstance(flying, Product):
                if any(h is not flying for h in held) or flying.slots != slots:
                    raise PtxError("adds to registers of different products in flight")
                sources = flying
            else:
                sources = [h.copy() for h in held]
        sides = zip(descriptors, (64, columns), turns, strict=False)
        operands = [Operand(int(d[0]), n, is_transposed) for d, n, is_transposed in sides]
        product = Product(u, operands, slots, type_a, sources)
        u.products.append(product)
        for slot in slots:
            u.R[slot] = product

    return whole_warps(run, WARPGROUP)


@instruction("wgmma.fence.sync.aligned")
def fence(item: Instruction, grid):
    return whole_warps(lambda u: None, WARPGROUP)


@instruction("wgmma.commit_group.sync.aligned")
def commit(item: Instruction, grid):
    def run(u):
        u.product_groups += 1

    return whole_warps(run, WARPGROUP)


@instruction("wgmma.wait_group.sync.aligned")
def wait(item: Instruction, grid):
    pending = int(item.operands[0].text)

    def run(u):
        while u.products and u.products[0].group < u.product_groups - pending:
            product = u.products.pop(0)
            product.finish()
            product.sources = None
            for slot, values in zip(product.slots, product.result, strict=True):
                if u.R[slot] is product:
                    u.R[slot] = values

    return whole_warps(run, WARPGROUP)
