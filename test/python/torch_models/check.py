# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a model as it is, compiled and in float64, and compares all that a caller can see."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

Observed = dict[str, Any]
# Roundings to the result's type, of its largest value, that are allowed beside the multiple of eager's error.
_UNITS = {torch.float64: 32.0, torch.float32: 8.0, torch.bfloat16: 1.0, torch.float16: 1.0}
_TIMES_EAGER = 4.0


def compile_with_torch(module: nn.Module, **options: Any) -> nn.Module:
    """Compile as the front end of torch.compile does."""
    return torch.compile(module, backend="tenon", **options)


def compile_with_optimize(module: nn.Module) -> nn.Module:
    """Compile as tenon.torch.optimize does."""
    import tenon.torch

    return tenon.torch.optimize(module)


FRONT_ENDS = {"compile": compile_with_torch, "optimize": compile_with_optimize}


def observe(module: nn.Module, call: Callable, inputs: tuple) -> Observed:
    """Call and return the results, the inputs as they are after, and the module's state, each by a name."""
    given = [clone_as_laid_out(t) for t in inputs]
    torch.manual_seed(0)
    outputs = call(*given)
    seen = {"inputs": given, "outputs": outputs, "state": dict(module.state_dict()), "random": torch.rand(())}
    flat, _ = pytree.tree_flatten_with_path(seen)
    return {pytree.keystr(path): _kept(leaf) for path, leaf in flat}


def _kept(leaf: Any) -> Any:
    return leaf.detach().clone(memory_format=torch.preserve_format) if isinstance(leaf, torch.Tensor) else leaf


def clone_as_laid_out(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy with the same strides and the same offset into its storage."""
    storage = tensor.untyped_storage().clone()
    copied = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    return copied.set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())


def in_float64(module: nn.Module, inputs: tuple) -> tuple[nn.Module, tuple]:
    """Return copies of a module and inputs that compute nearly exactly."""
    return copy.deepcopy(module).double(), tuple(t.double() if t.is_floating_point() else t for t in inputs)


class Comparison:
    """A module, a compiled copy and a copy in float64, which are called in step."""

    def __init__(
        self, module: nn.Module, front_end: Callable = compile_with_torch, *, exact_device: str = "", **options: Any
    ) -> None:
        """Take a module; compile a copy of it, and have another compute on `exact_device`, by default on the same."""
        self.eager = module
        self.copy = copy.deepcopy(module)
        self.exact_device = exact_device
        self.exact, _ = in_float64(module, ())
        if exact_device:
            self.exact.to(exact_device)
        self.compiled = front_end(self.copy, **options)

    def step(self, *inputs: torch.Tensor) -> None:
        """Call all three with the same inputs; raise AssertionError where they differ by more than roundings.

        Each is called twice: tenon.torch.optimize runs PyTorch's own ops in the first call of a kind.
        """
        _, wide = in_float64(nn.Module(), inputs)
        if self.exact_device:
            wide = tuple(t.to(self.exact_device) for t in wide)
        for _ in range(2):
            eager = observe(self.eager, self.eager, inputs)
            got = observe(self.copy, self.compiled, inputs)
            assert_as_eager(got, eager, observe(self.exact, self.exact, wide))

    def each(self) -> tuple[nn.Module, nn.Module, nn.Module]:
        """Return the three modules, to change them alike."""
        return self.eager, self.copy, self.exact


def assert_as_eager(got: Observed, eager: Observed, exact: Observed) -> None:
    """Raise AssertionError unless all that was observed is eager's but for roundings."""
    assert list(got) == list(eager)
    for name, expected in eager.items():
        if not isinstance(expected, torch.Tensor):
            assert got[name] == expected, name
            continue
        layout = ("dtype", "shape", "device")
        assert [getattr(got[name], a) for a in layout] == [getattr(expected, a) for a in layout], name
        # The stride of an extent of 1 means nothing.
        strides = [
            (a, b) for a, b, n in zip(got[name].stride(), expected.stride(), expected.shape, strict=True) if n > 1
        ]
        assert expected.numel() == 0 or all(a == b for a, b in strides), f"{name}: strides {strides}"
        assert_close(name, got[name], expected, exact[name].to(expected.device))


def assert_close(name: str, got: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor) -> None:
    """Raise AssertionError where a result is further from the exact one than a few times eager's worst error.

    A tensor that eager computes exactly, such as a parameter or a count, must be equal.
    """
    if not eager.is_floating_point():
        torch.testing.assert_close(got, eager, rtol=0, atol=0, msg=lambda m: f"{name}: {m}")
        return
    allowed = bound(eager, exact)
    torch.testing.assert_close(
        got.double(), exact.double(), rtol=0, atol=allowed, equal_nan=True, msg=lambda m: f"{name}: {m}"
    )


def bound(eager: torch.Tensor, exact: torch.Tensor) -> float:
    """Return how far from the exact result a value may be."""
    finite = exact.double()[torch.isfinite(exact)]
    if finite.numel() == 0:
        return 0.0
    error = (eager.double() - exact.double())[torch.isfinite(exact)].abs().max().item()
    if error == 0.0 and eager.dtype != torch.float64:
        return 0.0
    largest = finite.abs().max().item()
    if (
        eager.dtype == torch.float64
    ):  # eager is what is exact here: what cancels has the roundings of what it is made of
        largest = max(largest, 1.0)
    return _TIMES_EAGER * error + _UNITS[eager.dtype] * torch.finfo(eager.dtype).eps * largest
