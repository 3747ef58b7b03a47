# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products that are added up: what is found of them in models and in their backward passes, and stays in parts."""

import pytest
import tenon.torch
import torch
from tenon.torch.choice import judge as judging
from tenon.torch.choice.trial import _tensors_moved
from tenon.torch.fusion import joined_inputs
from test_torch_choice import bf16, check_gradients, run
from torch.nn import functional as F

X = torch.randn(6, 16, dtype=torch.bfloat16)


@pytest.fixture(autouse=True)
def one_kernel(timed, monkeypatch):
    """Take sums for one kernel, which the CPU has none for."""
    monkeypatch.setattr(judging, "_is_one_call", lambda executable, way: way in ("pairs", "sums", "tiled"))


def sums(timed):
    return [candidate for candidate in timed.seen if candidate.joined_as == "sums"]


@pytest.mark.parametrize("dynamic", [False, True])
def test_the_gradient_of_an_x_that_three_layers_read(timed, dynamic):
    def f(x, q, k, v):
        return torch.cat([F.linear(x, q).sin(), F.linear(x, k).cos(), F.linear(x, v).tan()], -1)

    check_gradients(f, (96, 64), (64, 64), (16, 64), (16, 64), dynamic=dynamic)
    (found,) = sums(timed)
    assert sorted(found.kinds) == ["add", "add", "linear", "linear", "linear"]
    assert sorted(product.k for product in found.products) == [16, 16, 64]
    assert all(product.turns_w for product in found.products)
    assert _tensors_moved(found) == 2, "cuBLAS reads what it adds"


def test_low_rank_beside_a_layer(timed, compiled):
    w, a, b, bias = bf16(16, 16), bf16(4, 16), bf16(16, 4), bf16(16)
    run(lambda x: F.relu(F.linear(x, w, bias) + F.linear(F.linear(x, a), b)), X)
    (found,) = sums(timed)
    assert (len(found.products), found.addends, _tensors_moved(found)) == (2, 0, 3)
    assert len(set(compiled.sources)) == 1


@pytest.mark.parametrize(("scale", "seen"), [(2.0, True), (0.25, True), (3.0, False), (-2.0, False)])
@pytest.mark.parametrize("shape", [(64, 16), (2, 32, 16)])
def test_a_scaled_product(timed, compiled, shape, scale, seen):
    w, a, b = bf16(16, 16), bf16(4, 16), bf16(16, 4)
    run(lambda x: F.linear(x, w) + F.linear(F.linear(x, a), b) * scale, torch.randn(shape, dtype=torch.bfloat16))
    (found,) = sums(timed)
    assert ("tenon.mul %weight" in found.spec.source) == seen, "the weight is scaled, by what prepares it"
    assert len(set(compiled.sources)) == 1


def test_explain_scales_the_weight_too(timed):
    w, a, b = bf16(16, 16), bf16(4, 16), bf16(16, 4)
    x = torch.randn(64, 16, dtype=torch.bfloat16)
    tenon.torch.explain(lambda x: F.linear(x, w) + F.linear(F.linear(x, a), b) * 2.0, x)
    (found,) = sums(timed)
    assert found.kinds == ["linear", "mul", "linear", "add"], "the weight comes scaled to the product"


@pytest.mark.parametrize("case", ["read elsewhere", "multiplied", "normed", "five", "float32"])
def test_no_sum(timed, case):
    ws = [bf16(16, 16) for _ in range(5)]
    if case == "float32":
        ws = [w.float() for w in ws]

    def f(x):
        first = F.linear(x.flip(0), ws[0])
        if case == "normed":
            first = F.layer_norm(first, (16,))
        if case == "multiplied":
            return F.relu(first * F.linear(x, ws[1]))
        y = first + F.linear(x, ws[1])
        if case == "five":
            for i, w in enumerate(ws[2:]):
                y = y + F.linear(x.roll(i + 1, 0), w)
        return (F.relu(y), first) if case == "read elsewhere" else F.relu(y)

    run(f, X.float() if case == "float32" else X)
    assert all(len(candidate.products) <= 4 for candidate in timed.seen)
    if case != "five":
        assert not sums(timed)


def nerf(width=16, position=7, direction=11):
    skip, bias, view = bf16(width, position + width), bf16(width), bf16(8, width + direction)

    def f(p, x, d):
        y = F.relu(F.linear(torch.cat([p, x], -1), skip, bias))
        return F.relu(F.linear(torch.cat([y, d], -1), view))

    return f, (position, width, direction)


@pytest.mark.parametrize("rank", [2, 3])
def test_parts_of_an_input_stay_apart(timed, monkeypatch, rank):
    monkeypatch.setattr(joined_inputs, "_LEAST_BYTES", 1)
    f, widths = nerf()
    inputs = [torch.randn(*([128] if rank == 2 else [2, 64]), width, dtype=torch.bfloat16) for width in widths]
    run(f, *inputs)
    found = sums(timed)
    assert [[product.k for product in c.products] for c in found] == [[8, 16], [16, 16]]
    assert [c.kinds for c in found] == [["linear", "linear", "add", "relu"]] * 2


@pytest.mark.parametrize(
    "case", ["read elsewhere", "rows", "shorter rows", "fewer columns", "scaled", "added", "small"]
)
def test_inputs_that_are_put_together(timed, monkeypatch, case):
    if case != "small":
        monkeypatch.setattr(joined_inputs, "_LEAST_BYTES", 1)
    w, bias = bf16(32, 32), bf16(32)

    def f(a, b):
        x = torch.cat([a, b], 0).reshape(-1, 32) if case == "rows" else torch.cat([a, b], -1)
        if case == "shorter rows":
            return F.relu(F.linear(x.reshape(-1, 8), w[:, :8]))
        if case == "fewer columns":
            return F.relu(F.linear(F.pad(x, (0, -24)), w[:, :8]))
        if case == "scaled":
            return F.relu(torch.addmm(bias, x, w, alpha=2))
        if case == "added":
            return F.relu(torch.addmm(x, x.sin(), w))
        y = F.relu(F.linear(x, w))
        return (y, x) if case == "read elsewhere" else y

    run(f, torch.randn(128, 16, dtype=torch.bfloat16), torch.randn(128, 16, dtype=torch.bfloat16))
    assert not sums(timed)


def test_an_input_that_is_a_weight_of_another(timed, monkeypatch):
    monkeypatch.setattr(joined_inputs, "_LEAST_BYTES", 1)
    w = bf16(8, 32)

    def f(a, b, c, d):
        x, y = torch.cat([a, b], -1), torch.cat([c, d], -1)
        return F.relu(x @ y), F.relu(F.linear(y, w))

    run(f, *(torch.randn(rows, 16, dtype=torch.bfloat16) for rows in (256, 256, 32, 32)))
    (found,) = sums(timed)
    assert sorted((product.m, product.k) for product in found.products) == [(32, 16)] * 2


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w, y: F.linear(x.view(256, 16), w[:, :16]),
        lambda x, w, y: F.linear(x.view(64, 64), torch.cat([w, w], 1)),
        lambda x, w, y: F.linear(F.pad(x, (0, -8)), w[:, :24]),
        lambda x, w, y: torch.addmm(w[0], x, w, alpha=2),
        lambda x, w, y: torch.addmm(w[0], x, w, beta=2),
        lambda x, w, y: torch.addmm(x, y, w),
        lambda x, w, y: torch.addmm(x, x.clone(), w),
    ],
    ids=["narrower", "wider", "cut", "alpha", "beta", "added", "added too"],
)
def test_inputs_that_are_put_together_for_more_than_plain_products(timed, monkeypatch, f):
    monkeypatch.setattr(joined_inputs, "_LEAST_BYTES", 1)
    monkeypatch.setattr(joined_inputs, "_gains", lambda joined, readers: True)
    w = bf16(32, 32)
    inputs = [torch.randn(128, width, dtype=torch.bfloat16) for width in (16, 16, 32)]
    run(lambda a, b, y: F.relu(f(torch.cat([a, b], -1), w, y)), *inputs)
    assert not sums(timed)


def test_parts_are_what_a_training_step_saves(timed, monkeypatch):
    monkeypatch.setattr(joined_inputs, "_LEAST_BYTES", 1)

    def f(p, w, v, x):
        return F.relu(F.linear(torch.cat([p, F.relu(F.linear(x, v))], -1), w)).sin()

    shapes = (256, 7), (16, 23), (16, 24), (256, 24)
    check_gradients(f, *shapes)
    assert [[product.k for product in c.products] for c in sums(timed)] == [[8, 16]]
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(tuple(t.shape)) or t, lambda t: t):
        torch.compile(f, backend="tenon")(*(torch.randn(s, dtype=torch.bfloat16, requires_grad=True) for s in shapes))
    assert (256, 24) in saved, "what the model is given"
    assert (256, 23) not in saved, "the input of the layer"
