# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Precision "fp8": layers whose weights are parameters multiply 8 bits with a scale a row."""

import re

import pytest

torch = pytest.importorskip("torch")
import tenon.torch as tt  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch_support import Cut  # noqa: E402

FP8 = {"precision": "fp8", "target": "cpu", "strict": True}


def quantised(x: torch.Tensor) -> torch.Tensor:
    """Return what rows of 8 bits on their scales are."""
    scale = (x.double().abs().amax(-1, keepdim=True) / 448).clamp(min=2.0**-126)
    return (x.double() / scale).float().to(torch.float8_e4m3fn).double() * scale


def cut(model: nn.Module, x: torch.Tensor) -> Cut:
    """Cut a layer with parameters w and b as the graph of a function that takes them."""
    parameters = dict(model.named_parameters())

    def function(x, *values):
        return torch.func.functional_call(model, dict(zip(parameters, values, strict=True)), (x,))

    return Cut(function, x, *parameters.values(), precision="fp8")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("has_bias", [False, True], ids=["bare", "bias"])
def test_layer(dtype, has_bias):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 48, bias=has_bias), nn.ReLU()).to(dtype)
    x = torch.randn(20, 256).to(dtype)
    x[3] = 0
    made = cut(model, x)
    assert made.kept == [] and made.ops.count("reduce_row") == 2 and "xf8E4M3FN>" in made.source
    bias = model[0].bias.double() if has_bias else 0
    expected = F.relu(quantised(x) @ quantised(model[0].weight).T + bias)
    inputs = x, *model.parameters()
    torch.testing.assert_close(made(*inputs).double(), expected, rtol=2.0**-7, atol=2.0**-7)


@pytest.mark.parametrize(
    ("k", "what"), [(64, "few"), (264, "not a multiple"), (256, "no parameter")], ids=lambda v: str(v).replace(" ", "_")
)
def test_what_is_not_quantised(k, what):
    x, w = torch.randn(20, k), torch.randn(48, k)
    w = w if what == "no parameter" else nn.Parameter(w, requires_grad=False)
    made = Cut(lambda x, w: F.relu(F.linear(x, w)), x, w, precision="fp8")
    assert made.ops == ["linear", "relu"] and "f8" not in made.source


def test_optimize_and_explain():
    """What explain says of the error is what comes of it."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 512), nn.SiLU(), nn.Linear(512, 256)).bfloat16()
    x = torch.randn(32, 256).bfloat16()
    with torch.no_grad():
        expected = model(x).double()
        fast = tt.optimize(model, options=FP8)
        got = [fast(x).double() for _ in range(2)][-1]
    table = tt.explain(model, x, options=FP8).table
    said = float(re.search(r"Precision fp8: what it computes is off by (\S+) of its norm", table)[1])
    error = ((got - expected).norm() / expected.norm()).item()
    assert 1e-2 < error < 0.1 and abs(error - said) < 0.05 * error
    assert "Precision" not in tt.explain(model, x, options={"target": "cpu"}).table


def test_training_is_not_quantised():
    model = nn.Sequential(nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 256))
    x = torch.randn(8, 256)
    compiled = torch.compile(model, backend="tenon", options=FP8)
    torch.testing.assert_close(compiled(x), model(x))
