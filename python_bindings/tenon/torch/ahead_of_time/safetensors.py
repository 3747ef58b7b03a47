# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes tensors to a file of the safetensors format, from which tenon-compile packs parameters."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path

import torch

from tenon.dtypes import DATA_TYPES

_DTYPES = {getattr(torch, kind.name): kind.safetensors for kind in DATA_TYPES.values()}


def write(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Write tensors of Tenon's element types, on any device, by name."""
    header, offset = {}, 0
    for name, tensor in tensors.items():
        end = offset + tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": _DTYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            # NumPy has no bfloat16; bytes are bytes.
            file.write(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
