# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions of rows on the CPU, beside PyTorch in float64."""

import math

import pytest

torch = pytest.importorskip("torch")
import tenon  # noqa: E402
from row_models import HEADS, draw, errors, expected, source  # noqa: E402

TOLERANCES = {"float64": 1e-12, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_heads(head, dtype):
    run = tenon.compile(source(head, 35, 24, dtype), target="cpu")
    for m in (1, 2, 37):
        tensors = draw(m, 35, 24, getattr(torch, dtype))
        got = run(*tensors)
        got = list(got) if isinstance(got, tuple | list) else [got]
        assert max(errors(got, expected(head, tensors))) <= TOLERANCES[dtype]


def test_one_column():
    run = tenon.compile(source("reductions", 1, 8, "float32"), target="cpu")
    tensors = draw(5, 1, 8, torch.float32)
    assert max(errors(list(run(*tensors)), expected("reductions", tensors))) <= 1e-5


def test_no_rows():
    run = tenon.compile(source("softmax", 8, 8, "float32"), target="cpu")
    assert run(*draw(0, 8, 8, torch.float32)).shape == (0, 8)


@pytest.mark.parametrize("head", ["softmax", "log_softmax", "logsumexp", "reductions"])
def test_special_rows(head):
    """Rows of infinities and NaN, all equal and very large are as PyTorch has them."""
    n = 4
    run = tenon.compile(source(head, n, n, "float32"), target="cpu")
    inf, nan = math.inf, math.nan
    z = torch.tensor(
        [
            [-inf, -inf, -inf, -inf],
            [inf, 1.0, 2.0, 3.0],
            [-inf, 1.0, 2.0, 3.0],
            [nan, 1.0, 2.0, 3.0],
            [inf, -inf, 0.0, 0.0],
            [1e30, 1e30, 1e30, 1e30],
            [-1e30, 1e30, 0.0, 0.0],
            [1e38, 1e38, -1e38, 0.0],
            [5.0, 5.0, 5.0, 5.0],
        ]
    )
    # Each row times the unit matrix would make NaN of infinities: the bias has them instead.
    for row in z:
        tensors = [torch.zeros(1, n), torch.eye(n), row, torch.ones(n)]
        got = run(*tensors)
        got = list(got) if isinstance(got, tuple | list) else [got]
        wanted = HEADS[head].torch(row[None], torch.ones(n))
        for a, e in zip(got, wanted, strict=True):
            torch.testing.assert_close(a, e, equal_nan=True)


def test_variance_keeps_digits():
    """Rows of mean 1e4 and deviation 1e-2 lose what rounding to float32 takes, and no more."""
    norm = tenon.compile(source("layer_norm", 64, 8, "float32"), target="cpu")
    x, w, _, g = draw(16, 64, 8, torch.float32)
    bias = 1e4 + 1e-2 * torch.randn(64, generator=torch.Generator().manual_seed(3))
    tensors = [torch.zeros_like(x), w, bias, g]
    ours = errors([norm(*tensors)], expected("layer_norm", tensors))[0]
    eager = errors(HEADS["layer_norm"].torch(bias.expand(16, 64), g), expected("layer_norm", tensors))[0]
    assert ours <= 1.1 * eager + 1e-6
