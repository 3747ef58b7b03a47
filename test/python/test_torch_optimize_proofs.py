# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon.torch.optimize: what a graph cannot do happens all the same."""

import copy

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
from optimize_forwards import FORWARDS, make  # noqa: E402
from optimize_models import (  # noqa: E402
    Appending,
    Branch,
    Counting,
    Hidden,
    Logging,
    Printing,
    assert_follows,
    assert_same,
    dispatcher,
    entries,
)
from tenon.torch import optimize  # noqa: E402


@pytest.mark.parametrize("make", [Counting, Logging])
def test_side_effects_happen_in_every_call(make, x):
    model, eager = make().eval(), make().eval()
    eager.load_state_dict(model.state_dict())
    optimized = optimize(model)
    with torch.no_grad():
        for _ in range(3):
            assert_same(optimized(x), eager(x))
    assert model.seen() == eager.seen()
    assert "optimize_models.py" in dispatcher(optimized).declined


def test_printing_in_every_call(x, capsys):
    optimized = optimize(Printing().eval())
    with torch.no_grad():
        for _ in range(3):
            optimized(x)
    assert capsys.readouterr().out == "called\n" * 3


@torch.no_grad()
def test_control_flow_on_data(x):
    model = Branch(on="data").eval()
    optimized = optimize(model)
    for inputs in (x.abs(), -x.abs(), x.abs()):
        assert_same(optimized(inputs), model(inputs))


@torch.no_grad()
def test_control_flow_on_shapes():
    model = Branch(on="shape").eval()
    optimized = optimize(model)
    for batch in (8, 9, 3, 2, 12, 5, 6, 1):
        assert_follows(optimized, model, torch.randn(batch, 8))


def test_changes_of_containers(x):
    model = Appending().eval()
    optimized = optimize(model)
    assert_follows(optimized, model, x)
    given, expected = [x], [x]
    with torch.no_grad():
        for _ in range(2):
            assert_same(optimized(x, given), model(x, expected))
    assert len(given) == 3
    assert "container" in dispatcher(optimized).declined


def test_errors_are_pytorchs(scaled, x):
    model, optimized = scaled
    with torch.no_grad():
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            optimized(torch.randn(4, 9))
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            optimized()
    assert_follows(optimized, model, x)


def calls_of(optimized, eager):
    """Yield the arguments of calls that differ in values, an attribute, the batch and strides."""
    yield torch.randn(4, 8)
    yield torch.randn(4, 8)
    yield torch.rand(4, 8)
    optimized.step = eager.step = 2
    yield torch.randn(5, 8)
    yield torch.randn(8, 5).t()


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", FORWARDS)
@torch.no_grad()
def test_each_call_is_as_in_eager(name, dynamic):
    model = make(name)
    optimized, eager = optimize(model, dynamic=dynamic), copy.deepcopy(model)
    for x in calls_of(optimized, eager):
        for _ in range(2):
            torch.manual_seed(1)
            got = optimized(x)
            torch.manual_seed(1)
            assert_same(got, eager(x))
            assert_same(model.state, eager.state)


@torch.no_grad()
def test_private_attributes(x):
    model = Hidden().eval()
    optimized = optimize(model)
    for scale in (2.0, 3.0, 3.0):
        model.change(scale)
        assert_same(optimized(x), model(x))


@torch.no_grad()
def test_what_is_not_proved_is_fused_by_torch_compile(x, compiled):
    optimized = optimize(Counting().eval())
    optimized(x)
    assert entries(optimized) == 0
    assert compiled.linears == 1
