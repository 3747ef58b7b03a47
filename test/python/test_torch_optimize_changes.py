# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon.torch.optimize: what changes in a module is seen by its next call."""

import copy
import gc
import weakref

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
from optimize_models import Branch, Chain, Inner, Scaled, assert_follows, assert_same, dispatcher, entries  # noqa: E402
from tenon.torch import optimize  # noqa: E402
from torch import nn  # noqa: E402


def test_repeated_calls_use_what_was_compiled(scaled, x, compiled):
    model, optimized = scaled
    for _ in range(3):
        assert_follows(optimized, model, x)
    assert entries(optimized) == 1
    assert compiled.linears == 1


def set_attribute(model):
    model.scale = 3.0


def set_type(model):
    model.scale = 2  # equal, and integer


def replace_module(model):
    model.linear = nn.Linear(8, 8)


def replace_parameter(model):
    model.linear.weight = nn.Parameter(torch.randn(8, 8))


def swap_data(model):
    model.linear.weight.data = torch.randn(8, 8)


def remove_bias(model):
    model.linear.bias = None


def write_in_place(model):
    with torch.no_grad():
        model.linear.weight.mul_(2.0)


def load(model):
    model.load_state_dict(Scaled().state_dict())


def step(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    Scaled.forward(model, torch.randn(4, 8)).sum().backward()
    optimizer.step()


def train(model):
    model.train()
    model.norm.eval()  # dropout alone


def widen(model):
    model.double()


def tie(model):
    model.norm.bias = model.norm.weight


def hook_submodule(model):
    model.linear.register_forward_hook(lambda module, args, result: result + 1.0)


def pre_hook_submodule(model):
    model.linear.register_forward_pre_hook(lambda module, args: (args[0] + 1.0,))


def override_forward(model):
    linear = model.linear
    linear.forward = lambda x: nn.Linear.forward(linear, x) * 5.0


def change_class(model):
    class Doubled(nn.Linear):
        def forward(self, x):
            return super().forward(x) * 2.0

    model.linear.__class__ = Doubled


CHANGES = [set_attribute, set_type, replace_module, replace_parameter, swap_data, remove_bias, write_in_place, load]
CHANGES += [step, tie]
UNPROVED = [hook_submodule, pre_hook_submodule, override_forward, change_class]


@pytest.mark.parametrize("change", [*CHANGES, *UNPROVED], ids=lambda f: f.__name__)
def test_changes_are_seen(change, scaled, x):
    model, optimized = scaled
    assert_follows(optimized, model, x)
    with torch.no_grad():
        before = optimized(x)
    change(model)
    with torch.no_grad():
        assert_same(optimized(x), Scaled.forward(model, x))  # a call of a new kind is PyTorch's own
        got = optimized(x)
        assert_same(got, Scaled.forward(model, x))
        assert torch.equal(got, before) == (change in (set_type, tie))
    assert (dispatcher(optimized).declined is None) == (change in CHANGES)


def test_conversion_to_another_dtype(scaled, x):
    model, optimized = scaled
    assert_follows(optimized, model, x)
    widen(model)
    assert_follows(optimized, model, x.double())
    with torch.no_grad():
        assert optimized(x.double()).dtype == torch.float64


def test_switch_between_training_and_evaluation(x):
    model = Chain()
    optimized, eager = optimize(model), copy.deepcopy(model)
    for training in (True, False, True, True, False):
        optimized.train(training)
        eager.train(training)
        with torch.no_grad():
            assert_same(optimized(x), eager(x))
        assert_same(model.state_dict(), eager.state_dict())
    assert model.norm.num_batches_tracked == 3
    assert entries(optimized) == 2


@pytest.mark.parametrize("first", [0, 1])
def test_tied_parameters_part(first, x):
    model = Branch().eval()
    model.layers[0].weight = model.layers[1].weight
    optimized = optimize(model)
    assert_follows(optimized, model, x)
    model.layers[first].weight = nn.Parameter(torch.randn(8, 8))
    assert_follows(optimized, model, x)
    model.layers[first].weight = model.layers[1 - first].weight
    assert_follows(optimized, model, x)
    assert entries(optimized) == 2


def test_dropout_draws_as_eager_does(scaled, x):
    model, optimized = scaled
    train(model)
    with torch.no_grad():
        torch.manual_seed(3)
        got = optimized(x)
        torch.manual_seed(3)
        assert_same(got, Scaled.forward(model, x))


def test_global_constant(x, monkeypatch):
    import optimize_models

    model = Branch().eval()
    optimized = optimize(model)
    assert_follows(optimized, model, x)
    monkeypatch.setattr(optimize_models, "FACTOR", -4.0)
    assert_follows(optimized, model, x)
    monkeypatch.setattr(optimize_models, "helper", lambda x: x * 0)
    with torch.no_grad():
        assert_same(optimized(x), model(x))


def test_patched_class(x, monkeypatch):
    model = Inner().eval()
    optimized = optimize(model)
    assert_follows(optimized, model, x)
    original = nn.Linear.forward
    monkeypatch.setattr(nn.Linear, "forward", lambda self, x: original(self, x) + 1.0)
    with torch.no_grad():
        assert_same(optimized(x), model(x))


def test_new_class_attribute_hides_a_submodule(x, monkeypatch):
    model = Inner().eval()
    optimized = optimize(model)
    assert_follows(optimized, model, x)
    monkeypatch.setattr(Inner, "linear", property(lambda self: torch.relu), raising=False)
    with torch.no_grad():
        assert_same(optimized(x), torch.relu(x).relu() * 2.0)


def test_class_attribute(x, monkeypatch):
    model = Inner().eval()
    optimized = optimize(model)
    assert_follows(optimized, model, x)
    monkeypatch.setattr(Inner, "factor", 9.0)
    assert_follows(optimized, model, x)


def test_forward_replaced_on_the_object(scaled, x):
    model, optimized = scaled
    optimized.forward = lambda x: x + 1
    assert_same(optimized(x), x + 1)
    del optimized.forward
    assert_follows(optimized, model, x)


def test_hooks_of_the_root(scaled, x):
    model, optimized = scaled
    calls = []
    handle = optimized.register_forward_hook(lambda module, args, result: calls.append(module))
    assert_follows(optimized, model, x)
    assert calls == [optimized]
    handle.remove()
    model.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    with torch.no_grad():
        assert_same(optimized(x), model(x))


def test_global_hooks(scaled, x):
    model, optimized = scaled
    assert_follows(optimized, model, x)
    calls = []
    handle = nn.modules.module.register_module_forward_hook(lambda module, args, result: calls.append(type(module)))
    with torch.no_grad():
        optimized(x)
    handle.remove()
    assert nn.Linear in calls


def test_replaced_modules_are_let_go(scaled, x):
    model, optimized = scaled
    assert_follows(optimized, model, x)
    old = weakref.ref(model.linear)
    model.linear = nn.Linear(8, 8)
    assert_follows(optimized, model, x)
    gc.collect()
    assert old() is None


def test_is_collected(x):
    model = Inner().eval()
    model.peer = [optimize(model)]
    assert_follows(model.peer[0], model, x)
    dead = weakref.ref(model)
    del model
    torch._dynamo.reset()
    gc.collect()
    assert dead() is None
