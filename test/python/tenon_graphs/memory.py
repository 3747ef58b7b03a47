# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors cut out of larger memory whose rest must stay as it was: numpy's or torch's.

All that is not an input is NaN before a call, the memory around it too, so that reading out of
bounds shows in the results, and writing there in `check`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from tenon_model import DTYPES, address_of, carve, filled

if TYPE_CHECKING:
    from tenon_model import Tensor

GUARD = 1024  # bytes on either side


class Guarded:
    """Allocates the tensors of a call.

    `shift`: elements by which they miss an aligned address. `shifts`: bytes by which those named do; an output
    is called FUNCTION.OUTPUT.
    """

    def __init__(self, shift: int = 0, shifts: dict[str, int] | None = None) -> None:
        self.shift, self.shifts = shift, shifts or {}
        self.blocks: list[tuple[Tensor, int, int]] = []
        self.copies: list[tuple[Tensor, Tensor]] = []

    def cut(self, size: int, like: Tensor, shift_bytes: int) -> tuple[Tensor, int]:
        memory = filled(GUARD + 256 + size + GUARD, like)
        start = GUARD + (-address_of(memory)) % 256 + shift_bytes
        self.blocks.append((memory, start, size))
        return memory, start

    def allocate(self, shape: Sequence[int], dtype: str, like: Tensor, name: str = "") -> Tensor:
        """Return a tensor of NaNs."""
        width = DTYPES[dtype][2] // 8
        shift = self.shifts.get(name, self.shift * width)
        memory, start = self.cut(int(np.prod(shape, dtype=np.int64)) * width, like, shift)
        return carve(memory, start, shape, dtype)

    def allocate_bytes(self, size: int, like: Tensor) -> Tensor:
        """Return aligned memory, of NaNs too: a workspace."""
        memory, start = self.cut(size, like, 0)
        return memory[start : start + size]

    def copy(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return copies of inputs, which must be the same after the call."""
        result = {}
        for name, tensor in tensors.items():
            dtype = str(tensor.dtype).removeprefix("torch.").replace("uint16", "bfloat16")
            result[name] = self.allocate(tuple(tensor.shape), dtype, tensor, name)
            result[name][...] = tensor
            self.copies.append((tensor, result[name]))
        return result

    def check(self) -> None:
        """Fail if anything was written beside a tensor, or into an input."""
        for memory, start, size in self.blocks:
            for guard in (memory[:start], memory[start + size :]):
                assert bool((guard == 0xFF).all()), f"memory beside a tensor of {size} bytes was written"
        for tensor, copied in self.copies:
            assert bool((tensor == copied).all()), "an input was written"
