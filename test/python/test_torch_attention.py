# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masks of attention: said otherwise where they are the same in each call, else as fused kernels read them."""

import pytest
import torch
from tenon.torch import attention, masks
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn import functional as F

Q = torch.randn(3, 2, 6, 8)


def attend(q, mask):
    return F.scaled_dot_product_attention(q, q, q, attn_mask=mask)


def captured(function, *inputs, dynamic=None):
    """Return the attention of a function's graph after the rewrite, which computes the same as before."""
    graphs = []

    def backend(graph, inputs):
        attention.keep_attention_fused(graph)
        graph.graph.lint()
        graphs.append(graph)
        return graph

    torch._dynamo.reset()
    actual = torch.compile(function, backend=backend, dynamic=dynamic)(*inputs)
    torch.testing.assert_close(actual, function(*inputs))
    (graph,) = graphs
    (node,) = graph.graph.find_nodes(op="call_function", target=F.scaled_dot_product_attention)
    return node


def mask_in(node):
    return node.args[3] if len(node.args) > 3 else node.kwargs["attn_mask"]


def rows(q):
    return torch.arange(q.shape[2]) + 0


def as_transformers_does(q):
    """Return the mask of attention in both directions, made as transformers 5.17 makes it while it is traced."""
    n = q.shape[2]
    return (rows(q)[None, None, :, None] >= 0).expand(q.shape[0], -1, n, n)


def packed(q):
    """Return the number of each row's sequence, as transformers finds it: there is one."""
    return (torch.diff(rows(q)[None], prepend=rows(q)[None, :1] - 1, dim=-1) != 1).cumsum(-1)[0]


TRUE = {
    "transformers": as_transformers_does,
    "and_of_both": lambda q: (rows(q) >= 0).new_ones((), dtype=torch.bool) & (rows(q)[:, None] >= 0) & (rows(q) >= 0),
    "or_of_one": lambda q: (rows(q)[:, None] > 3) | (rows(q) > -1),
    "ones": lambda q: torch.ones(q.shape[2], q.shape[2], dtype=torch.bool),
}
LOWEST = torch.finfo(torch.float32).min
CAUSAL = {
    "rows_by_columns": lambda q: rows(q)[:, None] >= rows(q),
    "tril": lambda q: torch.ones(3, 1, q.shape[2], q.shape[2], dtype=torch.bool).tril(),
    "packed": lambda q: (rows(q) <= rows(q)[:, None]) & (packed(q)[:, None] == packed(q)).expand(3, 1, -1, -1),
    "infinities": lambda q: torch.full((q.shape[2], q.shape[2]), float("-inf")).triu(1),
    "lowest_numbers": lambda q: torch.where(rows(q)[:, None] >= rows(q), 0.0, LOWEST),
}
NOT_TRUE = {
    "from_a_row_on": lambda q: rows(q) - 2 + 0 * rows(q)[:, None] >= 0,
    "first_of_them": lambda q: torch.arange(1, q.shape[2] + 1).expand(q.shape[2], -1) > 1,
    "and_of_one": lambda q: (rows(q)[:, None] >= 0) & (rows(q) <= 3),
    "of_the_inputs": lambda q: q[0, 0, :, :6] >= -10,
    "strictly_causal": lambda q: rows(q)[:, None] >= rows(q) + (rows(q)[:, None] > 0),
    "causal_backwards": lambda q: rows(q)[:, None] <= rows(q),
    "by_chance": lambda q: torch.rand(q.shape[2], q.shape[2]) >= 0,
    "numbers": lambda q: torch.ones(q.shape[2], q.shape[2]),
    "low_numbers": lambda q: torch.full((q.shape[2], q.shape[2]), -10.0).triu(1),
    "infinities_below": lambda q: torch.full((q.shape[2], q.shape[2]), float("-inf")).tril(-1),
    "nothing_passes": lambda q: torch.full((q.shape[2], q.shape[2]), LOWEST),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
@pytest.mark.parametrize("make", TRUE.values(), ids=TRUE)
def test_masks_that_are_true_are_left_out(make, mode, dynamic):
    with mode():
        assert mask_in(captured(lambda q: attend(q, make(q)), Q, dynamic=dynamic)) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_numbers_that_are_zero_are_left_out(dtype):
    """As transformers before its version 5 makes them of a mask that is one everywhere."""

    def function(q):
        ones = torch.ones(q.shape[0], q.shape[2])[:, None, None, :].to(q.dtype)
        return attend(q, (1.0 - ones) * torch.finfo(q.dtype).min)

    assert mask_in(captured(function, Q.to(dtype), dynamic=False)) is None


@pytest.mark.parametrize("positional", [False, True])
@pytest.mark.parametrize("make", CAUSAL.values(), ids=CAUSAL)
def test_causal_masks_are_said_to_be(make, positional):
    def function(q):
        return F.scaled_dot_product_attention(q, q, q, make(q), 0.0, False) if positional else attend(q, make(q))

    node = captured(function, Q, dynamic=False)
    assert mask_in(node) is None
    assert (node.args[5] if positional else node.kwargs["is_causal"]) is True
    # Of any extent it may be, and what holds for one proves nothing.
    assert mask_in(captured(function, Q, dynamic=True)) is not None


def test_a_causal_mask_of_more_keys_stays():
    def function(q):
        mask = torch.arange(4)[:, None] >= torch.arange(6)
        return F.scaled_dot_product_attention(q[:, :, :4], q, q, attn_mask=mask)

    node = captured(function, Q)
    assert mask_in(node) is not None
    assert not node.kwargs.get("is_causal")


def test_a_bias_where_a_mask_is_true_is_the_bias():
    bias = torch.randn(6, 6)
    node = captured(lambda q: attend(q, torch.where(as_transformers_does(q), bias[None, None] * 2, -1e30)), Q)
    assert mask_in(node).target is not torch.where
    node = captured(lambda q: attend(q, torch.where(rows(q)[:, None] >= rows(q), bias * 2, -1e30)), Q)
    assert mask_in(node).target is torch.where


def test_masks_too_large_to_look_at_stay(monkeypatch):
    monkeypatch.setattr(masks, "_MOST_BYTES", 35)
    assert mask_in(captured(lambda q: attend(q, rows(q)[:, None] >= rows(q)), Q)) is not None


def test_the_largest_row_is_known_where_the_extent_is():
    mask = mask_in(captured(lambda q: attend(q, (rows(q) < 6).expand(6, 6)), Q, dynamic=False))
    assert mask is None


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("make", NOT_TRUE.values(), ids=NOT_TRUE)
def test_others_stay(make, dynamic):
    assert mask_in(captured(lambda q: attend(q, make(q)), Q, dynamic=dynamic)) is not None


def written(q):
    mask = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool)
    mask[:, 3:] = False
    return attend(q, mask)


def written_through_a_view(q):
    mask = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool)
    mask.view(-1)[3] = False
    return attend(q, mask)


def written_after_it_was_a_view(q):
    mask = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool)
    every = mask.expand(q.shape[0], 1, -1, -1)
    mask.logical_and_(rows(q) < 3)
    return attend(q, every)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("function", [written, written_through_a_view, written_after_it_was_a_view])
def test_masks_that_are_written_stay(function, mode):
    with mode():
        assert mask_in(captured(function, Q)) is not None


@pytest.mark.parametrize("dynamic", [None, True])
def test_rows_are_contiguous_and_made_once_for_a_batch(monkeypatch, dynamic):
    monkeypatch.setattr(FakeTensor, "is_cuda", True)

    def function(q):
        n = q.shape[2]
        return attend(q, (q[0, 0, :, 0] > -9)[:, None].expand(q.shape[0], 1, n, n))

    def turned(q):
        return attend(q, q[:, :1, :, :6].contiguous().transpose(2, 3))

    for f in (function, turned):
        mask = mask_in(captured(f, Q, dynamic=dynamic))
        assert mask.target == "expand_as"
        assert mask.args[0].target == "contiguous"


def test_masks_as_kernels_read_them_stay_as_they_are(monkeypatch):
    monkeypatch.setattr(FakeTensor, "is_cuda", True)
    node = captured(lambda q: attend(q, (q[0, 0, :, :6] > -9).expand(3, 1, -1, -1)), Q)
    assert mask_in(node).target == "expand"


@pytest.mark.parametrize("rest", ["inductor", "eager"])
def test_a_model_with_such_a_mask(rest):
    weight = torch.randn(8, 8)

    def function(q):
        return F.linear(attend(q, as_transformers_does(q)), weight).relu()

    with torch.no_grad():
        torch.testing.assert_close(torch.compile(function, backend="tenon", options={"rest": rest})(Q), function(Q))
