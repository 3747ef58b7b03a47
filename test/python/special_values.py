# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers whose x and w hold NaNs and infinities: these come out where float64 has them."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from tenon_graphs.execute import bind_entry
from tenon_model import Model
from tiled_layers import Layer, Tensors

# The last two of each are infinities. A NaN of f32 may have its only bits where tf32 has none, or none to spare
# for a carry.
PATTERNS = {
    "f32": [0x7FC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001, 0xFF800001, 0xFFC00000, 0x7F801000, 0x7F800000, 0xFF800000],
    "f16": [0x7E00, 0x7FFF, 0xFFFF, 0x7C01, 0xFC01, 0x7C00, 0xFC00],
    "bf16": [0x7FC0, 0x7FFF, 0xFFFF, 0x7F81, 0xFF81, 0x7F80, 0xFF80],
}


def _place(tensor: torch.Tensor, pattern: int, row: int, column: int) -> None:
    """Write bits into a tensor."""
    signed = pattern - 2 ** (8 * tensor.element_size()) if pattern >> (8 * tensor.element_size() - 1) else pattern
    tensor.view({2: torch.int16, 4: torch.int32}[tensor.element_size()])[row, column] = signed


def special_cases(layer: Layer, m: int) -> Iterator[tuple[str, Tensors]]:
    """Give inputs with each pattern in x, in w and in both, and a zero of w that meets some."""
    patterns = PATTERNS[layer.dtype]
    for placed in ("x", "w", "xw"):
        tensors = layer.draw(m)
        tensors["w"][-1] = 0.0
        for name in placed:
            tensor = tensors[name]
            for i, pattern in enumerate(patterns[: tensor.shape[0]]):
                _place(tensor, pattern, (5 * i + 1) % tensor.shape[0], (i * 37 + tensor.shape[1] - 1) % tensor.shape[1])
        yield placed, tensors


def assert_same_class(layer: Layer, got: torch.Tensor, expected: torch.Tensor, what: str) -> None:
    """Fail unless NaNs and infinities are at the same places."""
    for name, test in (("NaN", torch.isnan), ("inf", torch.isposinf), ("-inf", torch.isneginf)):
        wrong = test(got) != test(expected)
        if bool(wrong.any()):
            at = tuple(wrong.nonzero()[0].tolist())
            raise AssertionError(
                f"{layer.name}, {what}: {int(wrong.sum())} elements are {name} in one of the results only; the first "
                f"at {at}: got {got[at].item()}, expected {expected[at].item()}"
            )


def assert_special_values(layers: list[Layer], model: Model) -> None:
    """Fail unless NaNs and infinities are in the right rows and columns, and the others' results are right."""
    for layer in layers:
        for m in (1, 64, 133):
            for placed, tensors in special_cases(layer, m):
                (got,) = bind_entry(model, layer.name, tensors)()
                expected, error = layer.exact(tensors)
                what = f"M = {m}, special values in {placed}"
                assert_same_class(layer, got, expected, what)
                finite = torch.isfinite(expected)
                off = (got.double() - expected).abs()[finite] > error[finite]
                assert not bool(off.any()), f"{layer.name}, {what}: {int(off.sum())} finite elements are off"
