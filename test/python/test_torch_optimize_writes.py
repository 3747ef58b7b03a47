# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon.torch.optimize: forwards that write to their arguments and to buffers."""

import copy

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
from optimize_models import assert_same, dispatcher, entries  # noqa: E402
from tenon.torch import optimize  # noqa: E402
from tenon.torch.modules.guards import guard_apart  # noqa: E402
from tenon.torch.modules.reads import Impure  # noqa: E402
from torch import nn  # noqa: E402


class Writes(nn.Module):
    """Writes what `forward` says; has a buffer that is read."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.register_buffer("calls", torch.zeros(2, 8))


class First(Writes):
    """Changes its argument before it is read, and again after; reads another."""

    def forward(self, x, y):
        x.mul_(0.5)
        z = torch.relu(self.linear(x) + y)
        x.add_(z)
        return z


class Returned(Writes):
    """Returns the tensor that it changed."""

    def forward(self, x, y):
        x.copy_(torch.relu(self.linear(x)))
        return x, y


class View(Writes):
    """Returns a view of the tensor that it changed."""

    def forward(self, x, y):
        x.copy_(torch.relu(self.linear(x)))
        return x.view(-1)


class ViewChanged(Writes):
    """Changes its argument through a view."""

    def forward(self, x, y):
        x[0].mul_(2.0)
        return torch.relu(self.linear(x))


class Buffer(Writes):
    """Changes a buffer by an operator, and reads it and an argument."""

    def forward(self, x, y):
        self.calls += 1.0
        self.calls *= 2.0
        return torch.relu(self.linear(x) * self.calls.mean() / 32.0) + y, self.calls


class Attribute(Writes):
    """The operator makes another tensor: the buffer is replaced."""

    def forward(self, x, y):
        self.calls **= 2.0
        return torch.relu(self.linear(x)) + self.calls[0]


class Statistics(Writes):
    """A training batch norm's statistics are a result."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x, y):
        return torch.relu(self.norm(self.linear(x))), self.norm.running_mean


class Own(Writes):
    """Setting an attribute does more."""

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        self.__dict__["sets"] = self.__dict__.get("sets", 0) + 1

    def forward(self, x, y):
        self.calls += 1.0
        return torch.relu(self.linear(x)) + self.calls[0]


def both(model):
    return optimize(model), copy.deepcopy(model)


def step(optimized, eager, *given, expected=None):
    """Call both with tensors laid out alike, and compare results, arguments, buffers and which objects are the same."""
    expected = expected or copy.deepcopy(given)
    with torch.no_grad():
        got, wanted = optimized(*given), eager(*expected)
    got, wanted = [r if isinstance(r, tuple) else (r,) for r in (got, wanted)]
    assert_same(got, wanted)
    assert_same(given, expected)
    assert_same(dict(optimized.named_buffers()), dict(eager.named_buffers()))
    for r, w in zip(got, wanted, strict=True):
        buffers = zip(optimized.buffers(), eager.buffers(), strict=True)
        for one, other in (*zip(given, expected, strict=True), *buffers):
            assert (r is one) == (w is other)
            assert (r.untyped_storage()._cdata == one.untyped_storage()._cdata) == (
                w.untyped_storage()._cdata == other.untyped_storage()._cdata
            )


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("make", [First, Returned, Buffer, Statistics])
def test_is_recorded(make, dynamic, compiled):
    model = make()
    optimized, eager = both(model)
    optimized._tenon.dynamic = dynamic
    for batch in (4, 4, 4, 5, 5):
        step(optimized, eager, torch.randn(batch, 8), torch.randn(batch, 8))
    assert dispatcher(optimized).declined is None
    assert compiled.linears == entries(optimized)


@pytest.mark.parametrize("make", [View, ViewChanged, Attribute, Own])
def test_is_refused(make):
    optimized, eager = both(make().eval())
    for _ in range(3):
        step(optimized, eager, torch.randn(4, 8), torch.randn(4, 8))
    assert dispatcher(optimized).declined


def overlapping(kind):
    whole = torch.randn(80, generator=torch.Generator().manual_seed(0))
    if kind == "same":
        x = whole[:32].view(4, 8)
        return x, x
    if kind == "part":
        return whole[:32].view(4, 8), whole[16:48].view(4, 8)
    if kind == "numpy":  # other storages, the same memory
        array = whole.numpy()
        return torch.from_numpy(array[:32]).view(4, 8), torch.from_numpy(array[4:36]).view(4, 8)
    if kind == "apart":
        return whole[:32].view(4, 8), whole[32:64].view(4, 8)
    return whole[:64].view(8, 8)[::2], whole[8:72].view(8, 8)[::2]  # rows between rows


@pytest.mark.parametrize("kind", ["same", "part", "numpy", "apart", "rows"])
@torch.no_grad()
def test_arguments_that_share_memory(kind):
    optimized, eager = both(First().eval())
    for _ in range(2):
        step(optimized, eager, torch.randn(4, 8), torch.randn(4, 8))
    for _ in range(3):
        step(optimized, eager, *overlapping(kind), expected=overlapping(kind))
    for _ in range(2):
        step(optimized, eager, torch.randn(4, 8), torch.randn(4, 8))


@torch.no_grad()
def test_arguments_that_share_memory_at_first():
    optimized, eager = both(First().eval())
    for _ in range(2):
        step(optimized, eager, *overlapping("numpy"), expected=overlapping("numpy"))
    assert entries(optimized) == 0
    step(optimized, eager, torch.randn(4, 8), torch.randn(4, 8))
    step(optimized, eager, *overlapping("numpy"), expected=overlapping("numpy"))
    assert entries(optimized) == 1


@pytest.mark.parametrize("dynamic", [False, True])
@torch.no_grad()
def test_argument_that_shares_memory_with_a_buffer(dynamic):
    model = Buffer().eval()
    optimized = optimize(model, dynamic=dynamic)
    eager = copy.deepcopy(model)
    for module in (optimized, optimized, eager, eager):
        module(torch.zeros(2, 8), torch.zeros(2, 8))
    for _ in range(2):
        got, wanted = [module(torch.ones(2, 8), module.calls.view(2, 8)) for module in (optimized, eager)]
        assert_same(got, wanted)
    assert dispatcher(optimized).declined is None


def test_expanded_argument_is_pytorchs_error():
    optimized, _ = both(First().eval())
    for _ in range(2):
        with torch.no_grad(), pytest.raises(RuntimeError, match="single memory location"):
            optimized(torch.randn(8).expand(4, 8), torch.randn(4, 8))


def test_what_is_written_must_not_share_memory_with_itself():
    strided = torch.randn(16).as_strided((4, 8), (2, 1))
    none = (frozenset(),) * 2
    with pytest.raises(Impure, match="elements may share memory"):
        guard_apart([strided, torch.randn(3)], none, {0})
    with pytest.raises(Impure, match="layout"):
        guard_apart([torch.randn(3, 3).to_sparse(), torch.randn(3)], none, {1})
    assert guard_apart([strided, torch.randn(3)], none, {1})([strided, torch.randn(3)])


def test_extents_that_are_free_count_as_they_are():
    whole = torch.randn(10, 8)
    apart = guard_apart([whole[:2], whole[5:]], (frozenset({0}), frozenset()), {1})
    assert apart([whole[:5], whole[5:]])
    assert not apart([whole[:6], whole[5:]])
    assert apart([whole[:0], whole[5:]])
