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
    "group_norm": lambda z, g: F.silu(F.group_norm(z, 6, g, g)),
    "group_norm_without_parameters": lambda z, g: F.group_norm(z, 3),
    "sum": lambda z, g: z.sum(-1, keepdim=True),
    "mean": lambda z, g: z.mean(-1),
    "variance": lambda z, g: z.var(-1),
    "biased_variance": lambda z, g: z - z.var(-1, correction=0, keepdim=True),
    "amax": lambda z, g: z - z.amax(-1, keepdim=True),
    "amin": lambda z, g: z.amin((1,)),
    "spelled_norm": lambda z, g: (z - z.mean(-1, keepdim=True)) * torch.rsqrt(z.pow(2).mean(-1, keepdim=True) + 1e-5),
    "residual": lambda z, g: F.layer_norm(z + z.sigmoid(), (N,), g),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("head", HEADS)
def test_one_call(head, dtype):
    torch.manual_seed(0)  # some draws cancel in what eager rounds to 16 bits on the way

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


def test_average_pool():
    def function(x, w, b):
        return F.gelu(F.avg_pool1d(F.linear(x, w, b).unsqueeze(1), 4).squeeze(1))

    inputs = torch.randn(6, K), parameter(N, K), parameter(N)
    cut = Cut(function, *inputs)
    assert_as_eager(cut, function, *inputs)
    assert "reduce_row" in cut.ops


POOLS = {
    "relu": lambda z: F.relu(F.max_pool1d(z.unsqueeze(1), 4).squeeze(1)),
    "channels": lambda z: F.max_pool1d(z, 3) * 2.0,
    "strided": lambda z: F.max_pool1d(z.unsqueeze(1), 4, stride=2).squeeze(1),
    "padded": lambda z: F.max_pool1d(z.unsqueeze(1), 4, padding=2).squeeze(1),
    "dilated": lambda z: F.max_pool1d(z.unsqueeze(1), 4, dilation=2).squeeze(1),
    "ragged": lambda z: F.max_pool1d(z.unsqueeze(1), 5).squeeze(1),
    "images": lambda z: F.max_pool2d(z.view(2, 3, 4, 6), 2),
    "indices": lambda z: F.max_pool1d(z.unsqueeze(1), 4, return_indices=True),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("pool", POOLS)
def test_max_pool(pool, dtype):
    """Groups of neighbouring features are the layer's; what overlaps, or has indices, is PyTorch's."""
    torch.manual_seed(0)

    def function(x, w, b):
        return POOLS[pool](F.relu(F.linear(x, w, b)))

    inputs = torch.randn(6, K, dtype=dtype), parameter(N, K, dtype=dtype), parameter(N, dtype=dtype)
    inputs[0][2, 0] = float("nan")
    cut = Cut(function, *inputs)
    assert_as_eager(cut, function, *inputs)
    is_taken = pool in ("relu", "channels")
    assert ("reduce_row" in cut.ops) == is_taken
    assert ("max_pool2d_with_indices" in cut.kept) == (not is_taken)


PLACES = {
    "argmax": lambda z: z.argmax(-1),
    "argmin": lambda z: z.argmin(-1, keepdim=True),
    "max": lambda z: tuple(torch.max(z, -1)),
    "min": lambda z: tuple(torch.min(z, -1, keepdim=True)),
    "values": lambda z: torch.max(z, -1)[0] * 2.0,
    "indices": lambda z: torch.max(z, -1)[1] + 1,
    "predictions": lambda z: F.one_hot(z.argmax(-1), N),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("place", PLACES)
def test_places(place, dtype):
    """Integers are made of what the layer's call gives; of equal elements, and of NaN, it is the first."""
    torch.manual_seed(0)

    def function(x, w):
        return PLACES[place](F.relu(F.linear(x, w)))

    # Of few numbers products are exact, and rows have several that are the largest.
    x, w = torch.randint(-1, 2, (70, K)).to(dtype), parameter(N, K, dtype=dtype)
    with torch.no_grad():
        w.copy_(torch.randint(-1, 2, (N, K)))
    x[3], x[4, 2], w.data[5, 1] = 0.0, float("nan"), float("-inf")
    cut = Cut(function, x, w)
    for ours, eager in zip(*((y if isinstance(y, tuple) else (y,)) for y in (cut(x, w), function(x, w))), strict=True):
        assert ours.dtype == eager.dtype and ours.shape == eager.shape
        torch.testing.assert_close(ours, eager, rtol=0, atol=0, equal_nan=True)
    assert "reduce_row" in cut.ops
    assert not {"max", "min", "argmax", "argmin", "amax", "amin"} & set(cut.kept)


def test_places_that_stay():
    """What is left of PyTorch's ops is what it was."""

    def function(x, w):
        z = F.linear(x, w)
        return (
            torch.max(z, 0),
            z.argmax(),
            z[:, ::2].argmax(-1),
            x.sin().max(-1),
            x.cos().argmin(-1),
            x.tan().min(-1)[0],
        )

    inputs = torch.randn(6, K), parameter(N, K)
    cut = Cut(function, *inputs)
    assert [torch.equal(a, b) for a, b in zip(cut(*inputs)[1:3], function(*inputs)[1:3], strict=True)]
    kept = [op for op in cut.kept if op in ("max", "min", "argmax", "argmin", "amax", "amin")]
    assert sorted(kept) == ["amin", "argmax", "argmax", "argmin", "max", "max"]


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


def test_wide_rows():
    def function(x, w):
        z = F.softmax(F.relu(F.linear(x, w)), -1)
        return z, F.linear(x, w).logsumexp(-1)

    inputs = torch.randn(6, K), parameter(1031, K)
    cut = Cut(function, *inputs)
    assert_as_eager(cut, function, *inputs)
    assert not set(cut.kept) - {"squeeze", "view"}


LOSSES = {
    "mean": {},
    "sum": {"reduction": "sum"},
    "none": {"reduction": "none"},
    "ignored": {"ignore_index": 3},
    "smoothed": {"label_smoothing": 0.1},
    "smoothed_none": {"label_smoothing": 0.3, "reduction": "none"},
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("loss", LOSSES)
def test_cross_entropy(loss, dtype):
    """What is taken of the rows is the call's; nothing outside of it reads a value for each class."""

    def function(x, w, b, target):
        return F.cross_entropy(F.linear(x, w, b), target, **LOSSES[loss])

    target = torch.arange(9) * 5 % N
    target[4] = 3 if loss == "ignored" else -100
    inputs = torch.randn(9, K, dtype=dtype), parameter(N, K, dtype=dtype), parameter(N, dtype=dtype), target
    cut = Cut(function, *inputs)
    if dtype == torch.float64:  # the index would have to be one, and nothing casts to that
        assert "select_equal" not in cut.ops
        return
    assert_as_eager(cut, function, *inputs)
    assert len(cut.partitions) == 1 and "select_equal" in cut.ops
    assert all(len(output.shape) < 2 or output.shape[-1] == 1 for output in cut.partitions[0].outputs)
    assert not {"gather", "_log_softmax", "exp"} & set(cut.kept)


def test_nll_of_log_softmax_with_weights():
    def function(x, w, classes, target):
        return F.nll_loss(F.log_softmax(F.linear(x, w), -1), target, weight=classes)

    inputs = torch.randn(9, K), parameter(N, K), torch.rand(N), torch.arange(9) % N
    cut = Cut(function, *inputs)
    assert_as_eager(cut, function, *inputs)


@pytest.mark.parametrize("keep", [True, False])
def test_gather(keep):
    """One element of each row is gathered in the call; several, or of another dimension, are PyTorch's."""

    def function(x, w, index):
        return torch.gather(F.relu(F.linear(x, w)), -1, index if keep else index.expand(9, 2))

    inputs = torch.randn(9, K), parameter(N, K), torch.arange(9)[:, None]
    cut = Cut(function, *inputs)
    assert_as_eager(cut, function, *inputs)
    assert ("select_equal" in cut.ops) == keep
    if not keep:
        assert "iota" not in cut.kept


def test_a_value_a_row_that_lost_its_dimension_is_used_outside():
    def function(x, w):
        return torch.logsumexp(F.linear(x, w), -1) * 2

    inputs = torch.randn(6, K), parameter(N, K)
    cut = Cut(function, *inputs)
    assert_as_eager(cut, function, *inputs)
    assert cut.kept == ["mul"]
