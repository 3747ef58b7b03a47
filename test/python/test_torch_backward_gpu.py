# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of backward passes on a GPU, each as a tiled kernel: beside float64 and eager, ragged, with rows outside."""

import copy

import pytest
import torch
from test_torch_backward import MODELS, error, gradients, layouts
from torch import nn

pytestmark = pytest.mark.gpu
all_products = pytest.mark.usefixtures("bare_products")
TILED = {"strategy": "tiled", "rest": "inductor"}
# Rows, features in and out: of whole tiles, of none, of one row or column, and of fewer than a split takes.
SHAPES = [(512, 256, 384), (130, 100, 72), (257, 333, 129), (1, 128, 96), (96, 257, 1), (33, 70, 65), (2048, 64, 2)]


@pytest.fixture
def precision(request):
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(request.param)
    yield request.param
    torch.set_float32_matmul_precision(before)


@all_products
@pytest.mark.parametrize("precision", ["highest", "high"], indirect=True)
@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_of_a_layer(compiled, shape, precision):
    rows, k, n = shape
    torch.manual_seed(0)
    model = nn.Linear(k, n, device="cuda")
    x, target = torch.randn(rows, k, device="cuda"), torch.randn(rows, n, device="cuda")
    twin, wide = copy.deepcopy(model), copy.deepcopy(model).double()
    exact = gradients(wide, wide, x.double(), target.double())
    # What Inductor pads it lays out anew, if timing says so.
    fast = torch.compile(model, backend="tenon", options=TILED | {"shape_padding": False})
    got = gradients(fast, model, x, target)
    own = gradients(twin, twin, x, target)
    for a, b, e in zip(got, own, exact, strict=True):
        # cuBLAS rounds to tf32 for most shapes, and for some it does not.
        assert error([a], [e]) <= 1.1 * error([b], [e]) + (1e-7 if precision == "highest" else 5e-4)
    assert all(torch.equal(a, b) for a, b in zip(got, gradients(fast, model, x, target), strict=True))
    assert {"mk_kn", *(["km_kn"] if 1 not in (rows, n) else [])} <= set(layouts(compiled))


@all_products
@pytest.mark.parametrize("name", MODELS)
def test_gradients_of_models(name):
    torch.manual_seed(0)
    model = MODELS[name]().cuda()
    x = torch.randn(300, 40, device="cuda")
    target = torch.randn(300, 24, device="cuda")
    twin, wide = copy.deepcopy(model), copy.deepcopy(model).double()
    exact = gradients(wide, wide, x.double(), target.double())
    got = gradients(torch.compile(model, backend="tenon", options=TILED), model, x, target)
    own = gradients(twin, twin, x, target)
    assert error(got, exact) <= 1.1 * error(own, exact) + 1e-6


@all_products
@pytest.mark.parametrize("precision", ["highest", "high"], indirect=True)
def test_rows_outside(precision):
    torch.manual_seed(0)
    a, b = torch.randn(300, 150, device="cuda"), torch.randn(300, 90, device="cuda")
    a[:, 7] *= torch.logspace(-30, 0, 300, device="cuda")  # of a range that no split holds
    a[5, 100], b[9, 33], b[17, 80] = float("inf"), float("nan"), -float("inf")
    fast = torch.compile(lambda a, b: a.t() @ b, backend="tenon", options=TILED)
    got, exact = fast(a, b), a.double().t() @ b.double()
    finite = exact.isfinite()
    assert torch.equal(got.isnan(), exact.isnan()) and torch.equal(got.isinf(), exact.isinf())
    bound = a.double().abs().t() @ b.double().abs() * (2**-20 if precision == "highest" else 2**-9)
    assert ((got - exact).abs() <= bound)[finite].all()


@pytest.mark.defaults
def test_trials_take_large_layers(compiled):
    model = nn.Linear(2048, 2048, device="cuda")
    x = torch.randn(2048, 2048, device="cuda", requires_grad=True)
    fast = torch.compile(model, backend="tenon")
    fast(x).square().mean().backward()
    # Two calls that are timed, and the one that is taken.
    assert layouts(compiled) == ["km_kn"] * 3 + ["mk_kn"] * 3
    got = [x.grad.clone(), model.weight.grad.clone()]
    x.grad = model.weight.grad = None
    model(x).square().mean().backward()
    for a, b in zip(got, [x.grad, model.weight.grad], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-7)
