# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Large matrices of many rows and few columns, whose products memory bounds."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from tenon.torch.choice.candidate import hinted

# Smaller ones are a matter of launches.
_LEAST_BYTES = 1 << 22
_ROWS_OF_COLUMNS = 8


def is_tall(shape: Sequence[int | torch.SymInt], dtype: torch.dtype) -> bool:
    """Tell whether a matrix is such a one."""
    rows, columns = hinted(shape)
    return rows * columns * dtype.itemsize >= _LEAST_BYTES and rows >= _ROWS_OF_COLUMNS * columns
