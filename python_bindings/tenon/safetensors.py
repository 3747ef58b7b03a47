# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes tensors to a file of the safetensors format, from which tenon-compile packs parameters."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tenon.dtypes import DATA_TYPES

_SAFETENSORS = {kind.name: kind.safetensors for kind in DATA_TYPES.values()}


class Stored(NamedTuple):
    """A tensor to write: its dtype, its shape, and its bytes as an array, since NumPy has no bfloat16."""

    dtype: str
    shape: tuple[int, ...]
    values: np.ndarray


def store(tensor: Any) -> Stored:
    """Return an array of NumPy's, or a tensor of PyTorch's on any device, of one of Tenon's element types."""
    if isinstance(tensor, np.ndarray):
        return Stored(tensor.dtype.name, tensor.shape, np.ravel(tensor).view(np.uint8))
    import torch

    values = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    return Stored(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), values)


def write(path: Path, tensors: Mapping[str, Any]) -> None:
    """Write tensors by name."""
    stored = {name: store(tensor) for name, tensor in tensors.items()}
    header, offset = {}, 0
    for name, tensor in stored.items():
        end = offset + tensor.values.nbytes
        header[name] = {
            "dtype": _SAFETENSORS[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in stored.values():
            file.write(tensor.values.data)
