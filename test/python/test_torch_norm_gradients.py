# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch norm's backward pass: its sums in the call of the product that makes the gradient, beside PyTorch's."""

import copy
import math

import pytest
import torch
from test_torch_backward import Scaled, error, gradients
from test_torch_gradients import check, check_by_differences, compile_model
from torch import nn

pytestmark = pytest.mark.usefixtures("bare_products")
# Each test that looks at calls has rows of its own: PyTorch compiles a graph once.
ROWS, K, HIDDEN, N = 56, 40, 32, 24


def behind(norm, dtype=torch.float32):
    """Return a norm and relu between two layers."""
    return nn.Sequential(nn.Linear(K, HIDDEN), norm, nn.ReLU(), nn.Linear(HIDDEN, N)).to(dtype)


def sums_of_calls(compiled):
    """Return for each call that has a product with w [K, N] how many sums over the batch it gives."""
    return [s.count("tenon.batch_sum") for s in compiled.sources if "layout<mk_kn>" in s]


def draw(rows=ROWS, dtype=torch.float32):
    torch.manual_seed(0)
    return torch.randn(rows, K, dtype=dtype), torch.randn(rows, N, dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_both_sums_join_the_product(compiled, dtype):
    dtype = getattr(torch, dtype)
    x, target = draw(dtype=dtype)
    check(behind(nn.BatchNorm1d(HIDDEN), dtype), x, target)
    assert 2 in sums_of_calls(compiled)


def test_what_the_norm_takes_away_is_no_gradient():
    """A bias ahead of it moves nothing: PyTorch's sum of rounded numbers is some noise."""
    x, target = draw(52)
    for model, bias in ((behind(nn.BatchNorm1d(HIDDEN)), "0.bias"), (Scaled(), "linear.bias")):
        gradients(compile_model(model), model, x, target)
        assert model.get_parameter(bias).grad.abs().max() == 0.0


def test_a_gradient_that_is_not_finite_reaches_the_bias():
    x, target = draw(60)
    model = behind(nn.BatchNorm1d(HIDDEN))
    target[3] = math.nan
    gradients(compile_model(model), model, x, target)
    assert model[0].bias.grad.isnan().any()


@pytest.mark.parametrize("where", ["x", "bias"])
def test_what_is_not_finite_ahead_of_a_norm_reaches_the_bias(where):
    x, target = draw(104)
    model = behind(nn.BatchNorm1d(HIDDEN))
    if where == "x":
        x[3] = math.nan
    else:
        model[0].bias.data[5] = math.inf
    twin = copy.deepcopy(model)
    gradients(compile_model(model), model, x, target)
    gradients(twin, twin, x, target)
    assert torch.equal(model[0].bias.grad.isnan(), twin[0].bias.grad.isnan())
    assert twin[0].bias.grad.isnan().any()


class Viewed(nn.Module):
    """A batch norm of other columns than the layer ahead of it has."""

    def __init__(self, columns, scale):
        super().__init__()
        self.linear, self.norm = nn.Linear(K, HIDDEN), nn.BatchNorm1d(columns)
        self.columns, self.scale = columns, nn.Parameter(torch.randn(*scale)) if scale else None

    def forward(self, x):
        x = self.linear(x)
        if self.scale is not None:
            x = x.view(-1, len(self.scale)) * self.scale
        return self.norm(x.reshape(-1, self.columns)).relu().view(-1, HIDDEN)


@pytest.mark.parametrize(
    ("columns", "scale"),
    [(8, ()), (64, ()), (HIDDEN, (64,)), (HIDDEN, (16,)), (8, (HIDDEN,)), (HIDDEN, (ROWS * HIDDEN,))],
)
def test_norms_of_other_columns_than_the_layer_has(columns, scale):
    torch.manual_seed(0)
    model = Viewed(columns, scale).double()
    twin, x, target = copy.deepcopy(model), *(torch.randn(ROWS, n, dtype=torch.float64) for n in (K, HIDDEN))
    found = gradients(compile_model(model), model, x, target)
    for a, b in zip(found, gradients(twin, twin, x, target), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("name", ["eval", "not_affine", "not_tracked", "convolution"])
def test_other_norms_stay_right(name):
    torch.manual_seed(0)
    x, target = draw(64)
    if name == "convolution":
        layers = [nn.Unflatten(1, (1, K)), nn.Conv1d(1, 3, 3), nn.BatchNorm1d(3), nn.Flatten(), nn.LazyLinear(N)]
        model = nn.Sequential(*layers)
        model(x)
    else:
        how = {"not_affine": {"affine": False}, "not_tracked": {"track_running_stats": False}}.get(name, {})
        model = behind(nn.BatchNorm1d(HIDDEN, **how))
    if name == "eval":
        model.eval()
    call = compile_model(model)
    twin = copy.deepcopy(model)
    expected = gradients(twin, twin, x, target)
    for a, b in zip(gradients(call, model, x, target), expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


def test_a_dynamic_batch(compiled):
    model = behind(nn.BatchNorm1d(HIDDEN))
    fast = compile_model(model, dynamic=True)
    for rows in (5, 9, 32):
        x, target = draw(rows)
        twin = copy.deepcopy(model)
        expected = gradients(twin, twin, x, target)
        for a, b in zip(gradients(fast, model, x, target), expected, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)
    assert 2 in sums_of_calls(compiled)


def test_gradcheck():
    check_by_differences(behind(nn.BatchNorm1d(HIDDEN), torch.float64))


def test_under_autocast(compiled):
    model = behind(nn.BatchNorm1d(HIDDEN))
    x, target = draw()

    def under_autocast(call):
        def run(x):
            with torch.autocast("cpu", torch.bfloat16):
                return call(x)

        return run

    twin, wide = copy.deepcopy(model), copy.deepcopy(model).double()
    exact = gradients(wide, wide, x.double(), target.double())
    got = gradients(under_autocast(compile_model(model)), model, x, target)
    assert error(got, exact) <= 1.1 * error(gradients(under_autocast(twin), twin, x, target), exact)
    assert 2 in sums_of_calls(compiled)


def test_a_scale_of_features_beside_a_bias(compiled):
    """Two sums of one product's gradient: of a bias, and of a scale, with what it scales."""

    class Affine(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(K, HIDDEN, bias=False), nn.Linear(HIDDEN, N)
            self.scale, self.shift = nn.Parameter(torch.randn(HIDDEN)), nn.Parameter(torch.randn(HIDDEN))

        def forward(self, x):
            return self.last(torch.relu(self.first(x) * self.scale + self.shift))

    torch.manual_seed(0)
    model = Affine()
    check(model, *draw())
    assert 2 in sums_of_calls(compiled)


def saved_matrices(call, x, width):
    """Return how many matrices of a width a call saves for its backward pass."""
    found = {}

    def pack(tensor):
        if tuple(tensor.shape) == (len(x), width):
            found[tensor.data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        call(x)
    return len(found)


ACTIVATIONS = {"relu": nn.ReLU, "leaky_relu": nn.LeakyReLU, "gelu": nn.GELU, "silu": nn.SiLU, "tanh": nn.Tanh}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_derivatives_behind_a_norm_read_what_its_gradient_does(compiled, name):
    """What is saved: the norm's input, and what the next layer multiplies."""
    torch.manual_seed(0)
    rows = 68 + 4 * list(ACTIVATIONS).index(name)
    model = nn.Sequential(nn.Linear(K, HIDDEN), nn.BatchNorm1d(HIDDEN), ACTIVATIONS[name](), nn.Linear(HIDDEN, N))
    nn.init.normal_(model[1].weight)
    nn.init.normal_(model[1].bias)
    x, target = draw(rows)
    check(model, x, target)
    (source,) = [s for s in compiled.sources if "layout<mk_kn>" in s and "batch_sum" in s]
    arguments = source[: source.index("->")]
    expected = 2 if name == "tanh" else 1  # its derivative reads its result
    assert arguments.count(f"tensor<{rows}x{HIDDEN}xf32>") == expected
    assert saved_matrices(compile_model(model), x, HIDDEN) == 2


def test_derivatives_of_what_is_normalised_by_other_statistics():
    """Those of eval mode, and of a norm without weights."""
    for norm in (nn.BatchNorm1d(HIDDEN).eval(), nn.BatchNorm1d(HIDDEN, affine=False)):
        x, target = draw(96)
        model = behind(norm)
        twin = copy.deepcopy(model)
        expected = gradients(twin, twin, x, target)
        for a, b in zip(gradients(compile_model(model), model, x, target), expected, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_the_gradient_of_a_scale_ahead_of_a_norm(dtype):
    """All but eps of it cancels; of features that are scaled by 0 nothing does."""
    torch.manual_seed(0)
    dtype, model = getattr(torch, dtype), Scaled()
    model.linear.bias.data += 30.0
    model.norm.eps = 0.1
    with torch.no_grad():
        model.scale[:3] = torch.tensor([0.0, 1e-3, -2.0])
    model = model.to(dtype)
    x, target = draw(100, dtype)
    twin, wide = copy.deepcopy(model), copy.deepcopy(model).double()
    gradients(wide, wide, x.double(), target.double())
    gradients(twin, twin, x, target)
    fast = compile_model(model)
    gradients(fast, model, x, target)
    exact = wide.scale.grad
    ours, eagers = (((m.scale.grad.double() - exact).norm() / exact.norm()).item() for m in (model, twin))
    assert ours <= 1.1 * eagers + 1e-6
    assert ((model.scale.grad.double() - exact)[0] / exact[0]).abs() < 0.05
    assert saved_matrices(compile_model(model), x, N) == 1
