# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Autocast: products in its type, the other ops in the types that PyTorch gives them."""

import contextlib

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch_models import MODELS  # noqa: E402
from torch_models.check import Comparison, assert_as_eager, observe  # noqa: E402

NAMES = ["linear_leaky_relu", "two_linears", "per_feature", "residual", "gate", "bn_train_plain", "bn_eval_plain"]
DTYPES = [torch.bfloat16, torch.float16]


@pytest.fixture(autouse=True)
def no_grad():
    with torch.no_grad():
        yield


def check(comparison, inputs, around):
    """Compare two calls inside a context with eager's there; the exact results are those without it."""
    for _ in range(2):
        with around():
            eager = observe(comparison.eager, comparison.eager, inputs)
            got = observe(comparison.copy, comparison.compiled, inputs)
        exact = observe(comparison.exact, comparison.exact, tuple(t.double() for t in inputs))
        assert_as_eager(got, eager, exact)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_around_the_call(name, dtype, front_end, compiled):
    """The call is inside autocast; the linears are fused still, in the narrow type."""
    model = MODELS[name]
    comparison = Comparison(model.build(), front_end)
    check(comparison, model.inputs(), lambda: torch.autocast("cpu", dtype=dtype))
    assert compiled.linears == model.fused
    assert all({torch.bfloat16: "bf16", torch.float16: "f16"}[dtype] in source for source in compiled.sources)


class Regions(nn.Module):
    """Autocast inside, with a region in it that has none."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = (nn.Linear(32, 32) for _ in range(3))

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = F.relu(self.first(x))
            with torch.autocast("cpu", enabled=False):
                z = F.gelu(self.second(y.to(self.second.weight.dtype)) * 2.0)
            return F.silu(self.third(z)), z, y


@pytest.mark.parametrize("around", [contextlib.nullcontext, lambda: torch.autocast("cpu", dtype=torch.bfloat16)])
def test_inside_the_model(around, front_end):
    """Regions of the model's own, called inside autocast and outside it."""
    comparison = Comparison(Regions(), front_end)
    with around():
        eager = comparison.eager(torch.ones(5, 32))
        comparison.compiled(torch.ones(5, 32))
        got = comparison.compiled(torch.ones(5, 32))
    assert [t.dtype for t in got] == [t.dtype for t in eager] == [torch.bfloat16, torch.float32, torch.bfloat16]
    check(comparison, (torch.randn(9, 32),), around)


def test_switched_between_calls(front_end):
    """One compiled model called outside autocast, in it, in another one, and outside again."""
    model = MODELS["linear_leaky_relu"]
    comparison = Comparison(model.build(), front_end)
    inputs = model.inputs()
    for dtype in (None, torch.bfloat16, None, torch.float16, torch.bfloat16):
        with torch.autocast("cpu", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            assert comparison.compiled(*inputs).dtype == (dtype or torch.float32)
        check(
            comparison, inputs, lambda d=dtype: torch.autocast("cpu", dtype=d or torch.bfloat16, enabled=d is not None)
        )


def test_weights_change_under_autocast(front_end):
    """The narrow copies of the weights follow the weights."""
    model = MODELS["linear_leaky_relu"]
    comparison = Comparison(model.build(), front_end)

    def around():
        return torch.autocast("cpu", dtype=torch.bfloat16)

    check(comparison, model.inputs(), around)
    for module in comparison.each():
        module.linear.weight.mul_(-1.5)
    check(comparison, model.inputs(), around)
