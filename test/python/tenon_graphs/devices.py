# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where tests run: numpy arrays on the CPU, or torch tensors on a GPU (torch is imported only there)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from tenon_model import Tensor


def require_gpu() -> None:
    """Skip the test where there is no GPU."""
    torch = pytest.importorskip("torch", reason="torch allocates the GPU's tensors")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")


def require_hopper() -> None:
    """Skip the test where no code for sm_90a runs."""
    require_gpu()
    import torch

    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("kernels of family wgmma run on GPUs of compute capability 9.0 alone")


def to_gpu(stored: np.ndarray, number: int = 0) -> Tensor:
    """Return a torch tensor on a GPU of values as stored."""
    import torch

    if stored.dtype != np.uint16:
        return torch.from_numpy(stored.copy()).to(f"cuda:{number}")
    return torch.from_numpy(stored.view(np.int16).copy()).view(torch.bfloat16).to(f"cuda:{number}")


def to_device(inputs: dict[str, np.ndarray], device: str) -> dict[str, Tensor]:
    """Return inputs on "cpu" or "cuda"."""
    return inputs if device == "cpu" else {name: to_gpu(stored) for name, stored in inputs.items()}


def to_host(tensors: list[Tensor]) -> list[np.ndarray]:
    """Return copies of tensors as stored, once all work on them is done."""
    if all(isinstance(tensor, np.ndarray) for tensor in tensors):
        return [tensor.copy() for tensor in tensors]
    import torch

    torch.cuda.synchronize()
    return [
        tensor.view(torch.int16).cpu().numpy().view(np.uint16).copy()
        if tensor.dtype == torch.bfloat16
        else tensor.cpu().numpy().copy()
        for tensor in tensors
    ]


def assert_same_bits(first: list[np.ndarray], second: list[np.ndarray], what: str) -> None:
    """Fail unless two lists of results as stored agree in every bit."""
    for index, (before, after) in enumerate(zip(first, second, strict=True)):
        same = np.ascontiguousarray(before).tobytes() == np.ascontiguousarray(after).tobytes()
        assert same, f"{what}: result {index} has other bits than before"
