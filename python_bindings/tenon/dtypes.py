# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The element types of tensors, as the compiler and the runtime have them in their table."""

from __future__ import annotations

from typing import NamedTuple

from tenon import _native


class DataType(NamedTuple):
    """What an element type is called, and how large an element is."""

    name: str  # in manifests, NumPy and PyTorch: "bfloat16"
    spelling: str  # in MLIR: "bf16"
    safetensors: str  # "BF16"
    bytes: int


DATA_TYPES = {kind[0]: DataType(*kind) for kind in _native.DATA_TYPES}
