# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forwards that a graph of one call would get wrong in another, each for some reason of its own."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Base(nn.Module):
    """Makes a module of a forward, which is a function of this file."""

    step = 0

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.register_buffer("state", torch.ones(2, 8))
        self.__hidden = 2.0


class Varying:
    """A descriptor whose value is the object's business."""

    def __get__(self, owner, kind):
        return 1.0 if owner is None else 1.0 + owner.step


def masked_rows(self, x):
    return F.relu(self.linear(x)) * x[x > 0].shape[0]


def masked_select(self, x):
    return F.relu(self.linear(x)) * len(torch.masked_select(x, x > 0))


def nonzero(self, x):
    return F.relu(self.linear(x)) * torch.nonzero(x > 0).size(0)


def unique(self, x):
    return F.relu(self.linear(x)) * torch.unique((x > 0).int()).numel()


def where(self, x):
    rows, _ = torch.where(x > 0)
    return F.relu(self.linear(x)) * rows.shape[0]


def repeats(self, x):
    return F.relu(self.linear(x)) * torch.repeat_interleave((x[0] > 0).long()).shape[0]


def one_hot(self, x):
    return F.relu(self.linear(x)) * F.one_hot((x[0] > 0).long()).shape[1]


def number_of_sum(self, x):
    return F.relu(self.linear(x)) * int(x.sum())


def larger_of_tensors(self, x):
    return max(F.relu(self.linear(x)).sum(), x.sum())


def equal(self, x):
    return F.relu(self.linear(x)) * (2.0 if torch.equal(x, x.abs()) else 3.0)


def all_close(self, x):
    return F.relu(self.linear(x)) * (2.0 if torch.allclose(x, x.abs()) else 3.0)


def contains(self, x):
    return F.relu(self.linear(x)) * (2.0 if 1.0 in x else 3.0)


def contiguous(self, x):
    return F.relu(self.linear(x)) * (2.0 if x.is_contiguous() else 3.0)


def count(self, x):
    return F.relu(self.linear(x)) * math.sqrt(x.numel())


def shape_in_place(self, x):
    y = F.relu(self.linear(x))
    y.unsqueeze_(0)
    return y


def buffer_transposed(self, x):
    self.state.t_()
    return F.relu(self.linear(x)) * self.state.shape[0]


def buffer_row(self, x):
    self.state[0] += 1.0
    self.state.mul_(0.9)
    return F.relu(self.linear(x)) + self.state[0]


def buffer_view(self, x):
    self.state.view(-1).add_(1.0)
    return F.relu(self.linear(x)) + self.state[0]


def out_argument(self, x):
    y = torch.empty(x.shape[0], 8)
    torch.add(self.linear(x), 1, out=y)
    return y


def masked_write(self, x):
    y = F.relu(self.linear(x)).clone()
    y[x > 0] = 0.0
    return y


def random(self, x):
    return F.relu(self.linear(x)) + torch.rand(8)


def constant(self, x):
    offset = torch.zeros(8)
    offset[2] = 5.0
    return F.relu(self.linear(x)) + offset


def step(self, x):
    return F.relu(self.linear(x)) * self.step


def hidden(self, x):
    return F.relu(self.linear(x)) * self._Base__hidden


def descriptor(self, x):
    return F.relu(self.linear(x)) * self.varying


_ALL = [masked_rows, masked_select, nonzero, unique, where, repeats, one_hot, number_of_sum, larger_of_tensors, equal]
_ALL += [all_close, contains, contiguous, count, shape_in_place, buffer_transposed, buffer_row, buffer_view]
_ALL += [out_argument, masked_write, random, constant, step, hidden, descriptor]
FORWARDS = {function.__name__: function for function in _ALL}


def make(name):
    """Return a module with one of the forwards."""
    return type(name, (Base,), {"forward": FORWARDS[name], "varying": Varying()})().eval()
