# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions of rows behind linear layers: which join the layer's call, and that they are PyTorch's."""

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch_support import Cut, assert_as_eager, parameter  # noqa: E402

K, N = 16, 24
HEADS = {
    "softmax": lambda z, g: F.softmax(z, -1),
    "log_softmax": lambda z, g: F.log_softmax(z, dim=1),
    "softmax_in_float32": lambda z, g: F.softmax(z.to(torch.promote_types(z.dtype, torch.float32)), -1),
    "logsumexp": lambda z, g: F.gelu(F.leaky_relu(torch.logsumexp(z, -1, keepdim=True))),
    "logsumexp_without_dimension": lambda z, g: torch.logsumexp(z, 1),
    "layer_norm": lambda z, g: F.gelu(F.layer_norm(z, (N,), g, g)),
    "layer_norm_without_parameters": lambda z, g: F.layer_norm(z, (N,)),
    "rms_norm": lambda z, g: F.rms_norm(z, (N,), g, 1e-5),
    "rms_norm_without_eps": lambda z, g: F.silu(F.rms_norm(z, (N,))),
    "sum": lambda z, g: z.sum(-1, keepdim=True),
    "mean": lambda z, g: z.mean(-1),
    "amax": lambda z, g: z - z.amax(-1, keepdim=True),
    "amin": lambda z, g: z.amin((1,)),
    "spelled_norm": lambda z, g: (z - z.mean(-1, keepdim=True)) * torch.rsqrt(z.pow(2).mean(-1, keepdim=True) + 1e-5),
    "residual": lambda z, g: F.layer_norm(z + z.sigmoid(), (N,), g),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("head", HEADS)
def test_one_call(head, dtype):
    def function(x, w, b, g):
        return HEADS[head](F.linear(x, w, b), g)

    inputs = torch.randn(6, K, dtype=dtype), *(parameter(*s, dtype=dtype) for s in ((N, K), (N,), (N,)))
    cut = Cut(function, *inputs)
    assert_as_eager(cut, function, *inputs)
    assert len(cut.partitions) == 1 and not set(cut.kept) - {"squeeze", "view", "_to_copy"}
    assert "reduce_row" in cut.ops


def test_three_dimensions_and_dynamic_rows():
    def function(x, w, g):
        return F.layer_norm(F.linear(x, w), (N,), g), F.linear(x, w).mean(-1)

    inputs = torch.randn(3, 5, K), parameter(N, K), parameter(N)
    cut = Cut(function, *inputs, dynamic=True)
    assert_as_eager(cut, function, *inputs)
    assert_as_eager(cut, function, torch.randn(7, 5, K), *inputs[1:])


def test_names():
    cut = Cut(lambda x, w: F.gelu(F.layer_norm(F.linear(x, w), (N,))), torch.randn(6, K), parameter(N, K))
    assert cut.partitions[0].name == "linear_layer_norm_gelu"


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda z: F.softmax(z, 0), "It reduces another dimension than the last of several."),
        (lambda z: z.sum(), "It reduces another dimension than the last of several."),
        (lambda z: z.view(4, 2, N).sum((1, 2)), "It reduces another dimension than the last of several."),
        (lambda z: F.layer_norm(z.view(4, 2, N), (2, N)), "It normalises more than the last dimension."),
    ],
)
def test_left_to_pytorch(function, reason):
    def whole(x, w):
        return function(F.relu(F.linear(x, w)))

    inputs = torch.randn(8, K), parameter(N, K)
    cut = Cut(whole, *inputs)
    assert_as_eager(cut, whole, *inputs)
    assert reason in [m.reason for m in cut.missed]
    assert "reduce_row" not in cut.ops


def test_wide_rows_are_left_to_pytorch():
    def function(x, w):
        return F.softmax(F.relu(F.linear(x, w)), -1)

    inputs = torch.randn(6, K), parameter(257, K)
    cut = Cut(function, *inputs)
    assert_as_eager(cut, function, *inputs)
    assert [m.reason for m in cut.missed] == ["It reduces rows of 257 elements, and a tile has 256 at most."]


def test_a_value_a_row_that_lost_its_dimension_is_used_outside():
    def function(x, w):
        return torch.logsumexp(F.linear(x, w), -1) * 2

    inputs = torch.randn(6, K), parameter(N, K)
    cut = Cut(function, *inputs)
    assert_as_eager(cut, function, *inputs)
    assert cut.kept == ["mul"]
