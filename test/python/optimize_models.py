# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models and checks of test_torch_optimize*.py; models have a module of their own to be pickled and patched."""

import torch
import torch.nn.functional as F
from torch import nn

FACTOR = 0.5
LOG = []


def helper(x):
    return torch.sigmoid(x) * x * FACTOR


class Scaled(nn.Module):
    """What most tests use: reads parameters, an attribute and submodules."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)
        self.dropout = nn.Dropout(0.25)
        self.scale = 2.0

    def forward(self, x):
        y = F.leaky_relu(self.linear(x), 0.1) * self.scale
        return self.dropout(y) + self.norm.weight


class Chain(nn.Module):
    """Statistics that training updates."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 6)
        self.norm = nn.BatchNorm1d(6)

    def forward(self, x):
        return torch.tanh(self.norm(self.linear(x)))


class Inner(nn.Module):
    """An attribute of the class."""

    factor = 2.0

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        return torch.relu(self.linear(x)) * self.factor


class Outer(nn.Module):
    """Has another module in it."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) + x


class Branch(nn.Module):
    """Control flow on a shape or on data; a global function and constant."""

    def __init__(self, on=""):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])
        self.on = on

    def forward(self, x):
        if (self.on == "shape" and x.shape[0] > 5) or (self.on == "data" and x.sum() > 0):
            return self.layers[1](x).relu()
        for layer in self.layers:
            x = helper(layer(x))
        return x


class Counting(nn.Module):
    """Changes itself."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.counter = 0

    def forward(self, x):
        self.counter += 1
        return self.linear(x).relu() * self.counter

    def seen(self):
        return self.counter


class Logging(nn.Module):
    """Changes what outlives it, through a list that it holds."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.shapes = []

    def forward(self, x):
        self.shapes.append(tuple(x.shape))
        LOG.append(len(self.shapes))
        return self.linear(x).relu()

    def seen(self):
        return self.shapes


class Printing(nn.Module):
    """Prints."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        print("called")
        return self.linear(x).relu()


class Nested(nn.Module):
    """Containers in and out."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x, pair, scale=1.5, *, names=False):
        a, b = pair
        y = F.mish(self.linear(x)) + a
        parts = tuple([part * scale for part in (a, b)])
        return {"y": y, "parts": parts, "names": names, "scale": scale, "product": (x > 0) * scale}


class Appending(nn.Module):
    """Changes a container that it was given, or one of its own."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x, parts=None):
        if parts is None:
            parts = [x]
        parts.append(torch.relu(self.linear(x)))
        return torch.cat(parts)


class Hidden(nn.Module):
    """A private attribute, and one whose name is what a reader of the source sees."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        setattr(self, "__scale", 1.0)
        self.change(2.0)

    def change(self, scale):
        self.__scale = scale

    def forward(self, x):
        return torch.relu(self.linear(x)) * self.__scale


class Distances(nn.Module):
    """An op that autocast leaves in float32, and that is made of products."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        return torch.relu(self.linear(x)), torch.cdist(x, x)


class Sharing(nn.Module):
    """Results that share memory with the argument and with each other."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        y = F.silu(self.linear(x))
        return x, x.view(-1), y, y


def dispatcher(module):
    """Return what runs an optimized module."""
    return type(module)._tenon


def entries(module):
    """Return for how many kinds of calls an optimized module was compiled."""
    return sum(len(tree.entries) for tree in dispatcher(module)._trees)


def assert_same(got, expected):
    """Compare, but for roundings."""
    torch.testing.assert_close(got, expected, rtol=2e-5, atol=2e-6)


def assert_follows(optimized, model, *args, **kwargs):
    """Check that a call gives what the original gives, and that forward was not declined."""
    with torch.no_grad():
        assert_same(optimized(*args, **kwargs), type(model).forward(model, *args, **kwargs))
    assert dispatcher(optimized).declined is None
