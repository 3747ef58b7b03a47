# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of activations and bias' gradients behind a product of a backward pass, beside PyTorch's."""

import copy
import math
import re
from functools import partial

import pytest
import torch
from test_torch_backward import HOSTED, error, gradients
from torch import nn
from torch.nn import functional as F

pytestmark = pytest.mark.usefixtures("bare_products")
ROWS, K, HIDDEN, N = 24, 16, 32, 8
# By name: the function, and an op that its derivative has.
ACTIVATIONS = {
    "relu": (F.relu, "gate"),
    "threshold": (partial(F.threshold, threshold=0.25, value=0.25), "gate"),
    "leaky_relu": (partial(F.leaky_relu, negative_slope=0.1), "gate"),
    "leaky_relu_of_1": (partial(F.leaky_relu, negative_slope=1.0), "gate"),
    "hardtanh": (partial(F.hardtanh, min_val=-0.25, max_val=0.5), "gate"),
    "gelu": (F.gelu, "gelu_derivative"),
    "gelu_tanh": (partial(F.gelu, approximate="tanh"), "sigmoid"),
    "silu": (F.silu, "sigmoid"),
    "sigmoid": (torch.sigmoid, "sub"),
    "tanh": (torch.tanh, "sub"),
}
LEFT = {
    "leaky_relu_of_-1": partial(F.leaky_relu, negative_slope=-1.0),
    "elu": F.elu,
    "softplus": F.softplus,
    "mish": F.mish,
    "hardswish": F.hardswish,
}


class Two(nn.Module):
    """Two layers with an activation between them."""

    def __init__(self, activation, dtype=torch.float32):
        super().__init__()
        self.first, self.last = nn.Linear(K, HIDDEN, dtype=dtype), nn.Linear(HIDDEN, N, dtype=dtype)
        self.activation = activation

    def forward(self, x):
        return self.last(self.activation(self.first(x)))


def epilogues(compiled):
    """Return the ops of the calls that have a product with w [K, N]."""
    found = [re.findall(r"tenon\.(\w+)", s) for s in compiled.sources if "layout<mk_kn>" in s]
    return [op for ops in found for op in ops]


def compile_model(model, **more):
    return torch.compile(model, backend="tenon", options=HOSTED, **more)


def check(model, x, target, options=HOSTED):
    """Compare gradients with float64, beside eager's, and a second run with the first, bit for bit."""
    twin, wide = copy.deepcopy(model), copy.deepcopy(model).double()
    exact = gradients(wide, wide, x.double(), target.double())
    fast = torch.compile(model, backend="tenon", options=options)
    got = gradients(fast, model, x, target)
    assert error(got, exact) <= 1.1 * error(gradients(twin, twin, x, target), exact) + 1e-6
    assert all(torch.equal(a, b) for a, b in zip(got, gradients(fast, model, x, target), strict=True))


def check_by_differences(model):
    """Compare gradients of a model in float64 with differences."""
    fast = compile_model(model)
    x = torch.randn(6, next(model.parameters()).shape[1], dtype=torch.float64, requires_grad=True)

    def call(x, *_):
        return fast(x)

    assert torch.autograd.gradcheck(call, (x, *model.parameters()), fast_mode=True)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_derivatives_join_the_product_that_makes_the_gradient(compiled, name, dtype):
    torch.manual_seed(0)
    function, op = ACTIVATIONS[name]
    dtype = getattr(torch, dtype)
    model = Two(function, dtype)
    check(model, torch.randn(ROWS, K, dtype=dtype), torch.randn(ROWS, N, dtype=dtype))
    assert {op, "batch_sum"} <= set(epilogues(compiled))


@pytest.mark.parametrize("name", LEFT)
def test_what_has_no_word_stays_right(compiled, name):
    torch.manual_seed(0)
    model = Two(LEFT[name])
    x, target = torch.randn(ROWS, K), torch.randn(ROWS, N)
    expected = gradients(model, model, x, target)
    for a, b in zip(gradients(compile_model(model), model, x, target), expected, strict=True):
        torch.testing.assert_close(a, b)
    assert not {"gate", "gelu_derivative"} & set(epilogues(compiled))


@pytest.mark.parametrize("name", [*ACTIVATIONS, *LEFT])
def test_gradcheck(name):
    torch.manual_seed(0)
    check_by_differences(Two(ACTIVATIONS.get(name, [LEFT.get(name)])[0], torch.float64))


def step(function):
    """Return what a product and a derivative behind it are, as a graph has them."""
    return lambda g, w, x: function(g @ w, x)


BACKWARD = {
    "threshold": step(lambda g, x: torch.ops.aten.threshold_backward(g, x, 0.0)),
    "threshold_of_1": step(lambda g, x: torch.ops.aten.threshold_backward(g, x, 1.0)),
    "hardtanh": step(lambda g, x: torch.ops.aten.hardtanh_backward(g, x, -1.0, 1.0)),
    "leaky_relu": step(lambda g, x: torch.ops.aten.leaky_relu_backward(g, x, 0.25, False)),
}


@pytest.mark.parametrize("name", BACKWARD)
def test_at_the_edges_and_beyond(compiled, name):
    edges = [0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, math.inf, -math.inf, math.nan, math.nextafter(1.0, 2.0), 5.0, -5.0]
    x = torch.tensor(edges).repeat(4, 1)
    w = torch.tensor([1.0, math.inf, math.nan, -2.0])[:, None].expand(4, len(edges)).contiguous()
    halves = torch.full((1, 2), 0.5)  # of two equal rows: a product of one column would be no product
    rows = [BACKWARD[name](halves, w[i].repeat(2, 1), x[i : i + 1]) for i in range(4)]
    fast = torch.compile(BACKWARD[name], backend="tenon", options=HOSTED, dynamic=False)
    for i, expected in enumerate(rows):
        got = fast(halves, w[i].repeat(2, 1), x[i : i + 1])
        torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)
    assert "tenon.gate" in "".join(compiled.sources)


def test_double_backward_goes_through_pytorch():
    model = Two(torch.tanh)
    fast = compile_model(model)
    x = torch.randn(4, K, requires_grad=True)
    with pytest.raises(RuntimeError, match="does not currently support double backward"):
        (first,) = torch.autograd.grad(fast(x).square().sum(), x, create_graph=True)
        first.square().sum().backward()


def test_sums_of_a_dynamic_batch(compiled):
    model = Two(F.relu)
    fast = compile_model(model, dynamic=True)
    for rows in (5, 9, 32):
        x, target = torch.randn(rows, K), torch.randn(rows, N)
        expected = gradients(model, model, x, target)
        for a, b in zip(gradients(fast, model, x, target), expected, strict=True):
            torch.testing.assert_close(a, b)
    assert {"gate", "batch_sum"} <= set(epilogues(compiled))


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_sums_of_columns(compiled, dtype, keepdim):
    dtype = getattr(torch, dtype)
    x, w = torch.randn(40, 12, dtype=dtype), torch.randn(6, 12, dtype=dtype)

    def call(x, w):
        y = F.relu(x @ w.t())
        return y, y.sum(0, keepdim=keepdim)

    y, total = torch.compile(call, backend="tenon", options=HOSTED)(x, w)
    torch.testing.assert_close(total, y.double().sum(0, keepdim=keepdim).to(dtype))
    assert "tenon.batch_sum" in "".join(compiled.sources)


def test_what_reads_a_sum_of_columns_in_the_same_group():
    x, w = torch.randn(40, 12), torch.randn(6, 12)

    def call(x, w):
        y = F.relu(x @ w.t())
        return y - y.sum(0), (y.sum(0) * 0.01).tanh()

    got = torch.compile(call, backend="tenon", options=HOSTED)(x, w)
    torch.testing.assert_close(got, call(x, w))
    got = torch.compile(call, backend="tenon", options=HOSTED)(x[:1], w)
    torch.testing.assert_close(got, call(x[:1], w))


def test_batch_norms_sums_of_what_a_product_makes(compiled):
    torch.manual_seed(0)
    layers = [nn.Linear(K, HIDDEN), nn.BatchNorm1d(HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, N)]
    model = nn.Sequential(*layers).bfloat16()
    check(model, torch.randn(ROWS, K, dtype=torch.bfloat16), torch.randn(ROWS, N, dtype=torch.bfloat16))
    source = next(s for s in compiled.sources if "layout<mk_kn>" in s and "gate" in s)
    assert re.search(r"tenon.batch_sum %\S+ : \(tensor<\d+x\d+xbf16>\)", source), "of what is stored"


@pytest.mark.parametrize("head", ["cross_entropy", "softmax", "max_pool"])
def test_saved_for_backward(compiled, head):
    """A backward pass is given a layer's result in 16 bits, no copy of it in float32, and no wide indices."""
    rows, columns = 64, 200

    def function(x, w, target):
        z = F.linear(x, w).float()
        if head == "cross_entropy":
            return F.cross_entropy(z, target)
        if head == "softmax":
            return F.softmax(z, -1).to(torch.bfloat16).pow(2).sum()
        return F.max_pool1d(z.unsqueeze(1), 4).pow(2).sum()

    def step(run):
        torch.manual_seed(0)
        x, w = (torch.randn(extent, 16).bfloat16().requires_grad_() for extent in (rows, columns))
        run(x, w, torch.arange(rows)).backward()
        return x.grad.float(), w.grad.float()

    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (saved.append(t), t)[1], lambda t: t):
        got = step(compile_model(function))
    for ours, eager in zip(got, step(function), strict=True):
        assert (ours - eager).norm() <= 0.1 * eager.norm()  # elements of 16 bits that tie are one or the other
    assert not [t for t in saved if t.numel() >= rows * columns and t.dtype == torch.float32]
    assert not [t for t in saved if t.numel() > rows and t.dtype == torch.int64]
    # The gradient is cast to 16 bits where it is computed, and not by each product that reads it.
    backward = [source for source in compiled.sources if "layout" in source]
    assert len(backward) == 2 and not [source for source in backward if f"{rows}x{columns}xf32" in source]
