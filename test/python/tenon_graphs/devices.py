# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where tests run: numpy arrays on the CPU, or torch tensors on a GPU (torch is imported only there)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pytest

if TYPE_CHECKING:
    from tenon_model import Tensor

Made = TypeVar("Made")


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


def is_wgmma(name: str) -> bool:
    """Tell whether a name of tests is that of a schedule of family wgmma."""
    return name.startswith("wgmma")


def require_family(name: str) -> None:
    """Skip the test where kernels of a schedule's family do not run."""
    require_hopper() if is_wgmma(name) else require_gpu()


@contextmanager
def compile_by_family(names: Iterable[str], compile_one: Callable[[str], Made]) -> Iterator[Callable[[str], Made]]:
    """Give a function of a schedule's name; the first call for a family has all of the family compiled, in parallel."""
    require_gpu()
    import torch

    torch.cuda.init()
    made: dict[str, Future[Made]] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def get(name: str) -> Made:
            if name not in made:
                made.update((n, pool.submit(compile_one, n)) for n in names if is_wgmma(n) == is_wgmma(name))
            return made[name].result()

        yield get


def schedule_fixtures(names: Iterable[str], compile_one: Callable[[str, Path], Made]) -> tuple[Callable, ...]:
    """Return a module's fixtures `compiled`, `name` and a third: a schedule's name, and what is compiled for it.

    `compile_one` takes a name, and a folder.
    """

    @pytest.fixture(scope="module")
    def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Made]]:
        folder = tmp_path_factory.mktemp("schedules")
        with compile_by_family(names, lambda name: compile_one(name, folder)) as get:
            yield get

    @pytest.fixture(params=list(names))
    def name(request: pytest.FixtureRequest) -> str:
        require_family(request.param)
        return request.param

    @pytest.fixture
    def made(name: str, compiled: Callable[[str], Made]) -> Made:
        return compiled(name)

    return compiled, name, made


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
