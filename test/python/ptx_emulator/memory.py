# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory that knows which of its bytes exist and which have been written."""

from __future__ import annotations

import numpy as np

from .program import PtxError

UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
GLOBAL_BASE = 0x7F0000000000
# Generic addresses of the executing block's shared memory.
SHARED_WINDOW = 0x7E0000000000
PARAMETER_WINDOW = 0x7D0000000000
# Shared addresses begin here, so that a null pointer is none.
SHARED_BASE = 1024
# A shared::cluster address names its block above these bits: 0 is the block itself, 1 + rank another.
RANK_SHIFT = 24
POISON = 0xFF
GUARD = 256


class AccessError(PtxError):
    """An access that memory refuses; `lane` counts the active threads."""

    def __init__(self, message: str, lane: int) -> None:
        super().__init__(message)
        self.lane = lane


class Memory:
    """A range of addresses."""

    def __init__(self, name: str, base: int, size: int, mapped: bool = True) -> None:
        size = -(-size // 16) * 16
        self.name, self.base, self.size = name, base, size
        self.data = np.full(size, POISON, np.uint8)
        self.written = np.zeros(size, np.uint8)
        self.mapped = None if mapped else np.zeros(size, np.uint8)
        arrays = [array for array in (self.data, self.written, self.mapped) if array is not None]
        self.views = {n: [array.view(kind) for array in arrays] for n, kind in UNSIGNED.items()}
        self.all_ones = {n: kind(int.from_bytes(b"\1" * n, "little")) for n, kind in UNSIGNED.items()}

    def locate(self, addresses: np.ndarray, size: int) -> np.ndarray:
        """Return offsets of accesses of `size` bytes; refuse those beyond the range, or misaligned."""
        addresses = np.asarray(addresses).astype(np.int64)
        offsets = addresses - self.base
        bad = (addresses & (size - 1)) != 0
        if bad.any():
            self.fail("is no multiple of the access's size", addresses, bad, size)
        bad = (offsets < 0) | (offsets > self.size - size)
        if bad.any():
            self.fail(f"is outside of {self.name}'s {self.size} bytes", addresses, bad, size)
        return offsets

    def fail(self, what: str, addresses: np.ndarray, bad: np.ndarray, size: int) -> None:
        lane = int(np.flatnonzero(bad)[0])
        raise AccessError(f"{self.name} address {int(addresses[lane]):#x} (of {size} bytes) {what}", lane)

    def load(self, addresses: np.ndarray, size: int, count: int = 1, poison: bool = False) -> np.ndarray:
        """Load `count` neighbours of `size` bytes for each address; `poison` allows what nobody wrote."""
        offsets = self.locate(addresses, size * count)
        index = (offsets // size)[:, None] + np.arange(count)
        data, written = self.views[size][:2]
        bad = written[index] != self.all_ones[size]
        if bad.any() and not poison:
            self.fail(self.explain(index, bad, size), addresses, bad.any(axis=1), size * count)
        return data[index]

    def explain(self, index: np.ndarray, bad: np.ndarray, size: int) -> str:
        if self.mapped is not None and (self.views[size][2][index[bad]] != self.all_ones[size]).any():
            return "is in no buffer"
        return "is read before anything is written there, or before a copy has come"

    def store(self, addresses: np.ndarray, values: np.ndarray) -> None:
        """Store a row of `values` at each address."""
        size, count = values.dtype.itemsize, values.shape[1]
        offsets = self.locate(addresses, size * count)
        index = (offsets // size)[:, None] + np.arange(count)
        if self.mapped is not None:
            bad = self.views[size][2][index] != self.all_ones[size]
            if bad.any():
                self.fail("is in no buffer", addresses, bad.any(axis=1), size * count)
        self.views[size][0][index] = values
        self.views[size][1][index] = self.all_ones[size]

    def reserve(self, address: int, size: int) -> None:
        """Take bytes for what is no data: who stores there, or reserves them once more, makes a mistake."""
        start = address - self.base
        if not self.mapped[start : start + size].all():
            self.fail("is another barrier's", np.array([address]), np.array([True]), size)
        self.mapped[start : start + size] = 0

    def forget(self, addresses: np.ndarray, size: int) -> None:
        """Mark what a copy is about to overwrite."""
        offsets = self.locate(addresses, size)
        index = offsets[:, None] + np.arange(size)
        self.written[index] = 0
        self.data[index] = POISON


class GlobalMemory(Memory):
    """Buffers with unmapped guards between them."""

    def __init__(self, size: int) -> None:
        super().__init__("global", GLOBAL_BASE, size, mapped=False)
        self.end = GUARD

    def allocate(self, size: int, shift: int = 0) -> int:
        """Return the address of `size` new bytes, `shift` beyond a multiple of 256."""
        start = self.end + shift
        self.end = -(-(start + size + GUARD) // GUARD) * GUARD
        if self.end > self.size:
            raise PtxError(f"the emulator's {self.size} bytes of global memory are used up")
        self.mapped[start : start + size] = 1
        return self.base + start

    def write(self, address: int, content: np.ndarray) -> None:
        """Fill a buffer from the host."""
        start, content = address - self.base, np.ascontiguousarray(content).reshape(-1).view(np.uint8)
        self.data[start : start + content.size] = content
        self.written[start : start + content.size] = 1

    def read(self, address: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return bytes, and which of them were ever written."""
        start = address - self.base
        return self.data[start : start + size].copy(), self.written[start : start + size] != 0
