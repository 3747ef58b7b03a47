# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon.torch.optimize: where there is nothing to fuse, a call is PyTorch's own and is not looked at."""

import copy

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
from optimize_models import Counting, assert_same, dispatcher, entries  # noqa: E402
from tenon.torch import optimize  # noqa: E402
from tenon.torch.modules.dispatch import _IDLE, _MOST_UNFUSED  # noqa: E402
from torch import nn  # noqa: E402


class Plain(nn.Module):
    """Has nothing to fuse, until `scale` is set."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.scale = None

    def forward(self, x):
        y = self.linear(x)
        return y if self.scale is None else torch.relu(y) * self.scale


class Branching(Plain):
    """Has something to fuse in calls of one kind."""

    def forward(self, x, fused=True):
        y = self.linear(x)
        return torch.relu(y) if fused else y


class Unproved(Plain):
    """Changes itself."""

    def forward(self, x):
        self.calls = x.shape
        return self.linear(x)


@pytest.fixture
def looks(monkeypatch):
    """Count the searches for what was compiled."""
    from tenon.torch.modules.dispatch import Dispatcher

    counted, find = [], Dispatcher._find

    def counting(self, *args):
        counted.append(1)
        return find(self, *args)

    monkeypatch.setattr(Dispatcher, "_find", counting)
    return counted


@torch.no_grad()
def test_the_search_stops_and_is_taken_up_again(x, looks):
    model = Plain().eval()
    optimized = optimize(model)
    for _ in range(1 + _MOST_UNFUSED):
        assert_same(optimized(x), model(x))
    looks.clear()
    model.scale = 2.0
    for _ in range(_IDLE):
        assert_same(optimized(x), model(x))
    assert not looks
    for _ in range(3):
        assert_same(optimized(x), model(x))
    assert looks
    assert entries(optimized) == 2  # one for each state


@torch.no_grad()
def test_what_fuses_is_always_looked_for(x, looks):
    model = Branching().eval()
    optimized = optimize(model)
    optimized(x)
    for _ in range(3 * _MOST_UNFUSED):
        assert_same(optimized(x, False), model(x, False))
    looks.clear()
    optimized(x, False)
    assert looks
    assert entries(optimized) == 2


@torch.no_grad()
def test_torch_compile_that_fuses_nothing_is_left(x, looks):
    model = Unproved().eval()
    optimized = optimize(model)
    assert_same(optimized(x), model(x))
    assert dispatcher(optimized).declined
    looks.clear()
    for batch in (4, 5, 6):
        x = torch.randn(batch, 8)
        assert_same(optimized(x), model.linear(x))
        assert model.calls == x.shape
    assert not looks


@torch.no_grad()
def test_torch_compile_that_fuses_stays(x, compiled):
    torch._dynamo.reset()
    model = Counting().eval()
    optimized = [optimize(model), optimize(model)]
    for _ in range(3):
        for module in optimized:
            module(x)
    assert compiled.linears >= 1
    assert all(dispatcher(module)._idle == 0 for module in optimized)
    assert all(dispatcher(m)._run_original not in dispatcher(m)._compiled.values() for m in optimized)
    assert model.counter == 6


class Cumulative(nn.Module):
    """In training mode, PyTorch's graph breaks between its layers: the factor is a counter's value."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(8, 8), nn.BatchNorm1d(8, momentum=None)

    def forward(self, x):
        return nn.functional.relu(self.norm(self.linear(x)))


@torch.no_grad()
def test_evaluation_fuses_where_training_does_not(x, compiled):
    torch._dynamo.reset()
    model = Cumulative()
    optimized, eager = optimize(model), copy.deepcopy(model)
    for training in (True, False):
        optimized.train(training)
        eager.train(training)
        for _ in range(2 if training else _IDLE + 9):
            assert_same(optimized(x), eager(x))
        assert compiled.linears == (not training)
    assert_same(model.state_dict(), eager.state_dict())
