# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How accurate PyTorch says that products of float32 tensors must be."""

from __future__ import annotations

import torch

# torch.get_float32_matmul_precision() -> Tenon's precision (docs/Spec.md, linear-R3).
_OF_TORCH = {"highest": "fp32", "high": "tf32", "medium": "bf16"}


def default_precision() -> str:
    """Return the precision of products of float32 tensors that PyTorch's settings mean."""
    return _OF_TORCH[float32_matmul_precision()]


def float32_matmul_precision() -> str:
    """Return "highest", "high" or "medium", as torch.get_float32_matmul_precision() does where it has an answer.

    It raises RuntimeError after `torch.backends.cuda.matmul.fp32_precision = "tf32"` and other settings of PyTorch's
    newer interface. Of those, the one for CUDA's products counts.
    """
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:
        return "high" if torch.backends.cuda.matmul.fp32_precision == "tf32" else "highest"
