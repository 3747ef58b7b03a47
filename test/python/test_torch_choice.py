# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is worth a call: what is counted of a group, who reads its results, what is trimmed, what times decide."""

import json
import types

import pytest
import tenon
import tenon.torch
import torch
from tenon import cache
from tenon.torch.choice import judge as judging
from tenon.torch.choice import trial
from tenon.torch.choice.trial import _rest, _tensors_moved
from tenon.torch.inductor import graph_pass
from tenon.torch.options import Options
from torch import nn
from torch._inductor.utils import run_and_get_code
from torch.nn import functional as F


def run(function, *inputs):
    torch._dynamo.reset()
    with torch.no_grad():
        actual, expected = torch.compile(function, backend="tenon")(*inputs), function(*inputs)
    for a, e in zip(*((r if isinstance(r, tuple) else (r,)) for r in (actual, expected)), strict=True):
        allowed = 1e-1 if e.dtype.itemsize == 1 else 2e-2  # a value next to a tie is rounded otherwise
        assert (a.float() - e.float()).norm() <= allowed * e.float().norm()


def bf16(*shape):
    return nn.Parameter(torch.randn(shape, dtype=torch.bfloat16), requires_grad=False)


X = torch.randn(6, 16, dtype=torch.bfloat16)


def test_gated_pair_is_two_layers_of_which_one_reads_the_other(timed, compiled):
    w0, w1, w2 = bf16(8, 16), bf16(8, 16), bf16(16, 8)
    run(lambda x: F.linear(F.silu(F.linear(x, w0)) * F.linear(x, w1), w2), X)
    gate, up = timed.seen
    assert (gate.kinds, up.kinds) == (["linear", "silu"], ["linear", "mul"])
    assert gate.readers == (False, True, False)
    assert up.readers == (True, False, False)
    assert (gate.addends, up.addends) == (0, 1)
    assert (_tensors_moved(gate), _tensors_moved(up)) == (1, 3)
    assert len(set(compiled.sources)) == 2, "the last layer is cuBLAS's"


@pytest.mark.parametrize(("times", "seen"), [((0.5, 0.6), 1), ((0.6, 0.5), 3), ((1.2, 1.1), 3)])
def test_gated_pair_is_one_call_where_that_is_the_fastest(timed, compiled, monkeypatch, times, seen):
    def time_candidate(candidate, calls):
        timed.seen.append(candidate)
        return (list(times) if len(candidate.products) == 2 else [0.5]), 1.0

    monkeypatch.setattr(judging, "time_candidate", time_candidate)
    monkeypatch.setattr(judging, "_is_one_call", lambda executable, way: way != "library")
    w0, w1, w2 = bf16(8, 16), bf16(8, 16), bf16(16, 8)
    run(lambda x: F.linear(F.silu(F.linear(x, w0)) * F.linear(x, w1), w2), X)
    pair = timed.seen[0]
    assert sorted(pair.kinds) == ["linear", "linear", "mul", "silu"]
    assert (pair.readers, pair.addends, _tensors_moved(pair)) == ((True, False, False), 0, 3)
    assert len(timed.seen) == seen
    assert len(set(compiled.sources)) == seen


@pytest.mark.parametrize("case", ["other x", "read by three", "other shape", "normed"])
def test_layers_that_no_kernel_has_together_are_no_pair(timed, monkeypatch, case):
    monkeypatch.setattr(judging, "_is_one_call", lambda executable, way: way in ("pairs", "tiled"))
    w0, w1, w2, narrow = bf16(8, 16), bf16(8, 16), bf16(8, 16), bf16(1, 16)

    def f(x):
        gate = F.silu(F.linear(x.flip(0) if case == "other x" else x, narrow if case == "other shape" else w0))
        if case == "normed":
            gate = F.layer_norm(gate, (8,))
        y = gate * F.linear(x, w1)
        return (y, gate + F.linear(x, w2)) if case == "read by three" else y

    run(f, X)
    assert all(len(candidate.products) == 1 for candidate in timed.seen)


def check_gradients(f, *shapes, dynamic=False):
    """Hold gradients in bfloat16 against those in float64, beside eager's own."""
    fast = torch.compile(f, backend="tenon")
    torch.manual_seed(0)
    given = [torch.randn(shape, dtype=torch.bfloat16) for shape in shapes]

    def gradients(call, dtype):
        tensors = [t.to(dtype, copy=True).requires_grad_() for t in given]
        if dynamic:
            torch._dynamo.mark_dynamic(tensors[0], 0)
        call(*tensors).square().mean().backward()
        return [t.grad.double() for t in tensors]

    exact, eager = gradients(f, torch.float64), gradients(f, torch.bfloat16)
    got = gradients(fast, torch.bfloat16)
    for a, b, e in zip(got, eager, exact, strict=True):
        assert (a - e).norm() <= 1.1 * (b - e).norm()


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w0, w1, w2: F.linear(F.silu(F.linear(x, w0)) * F.linear(x, w1), w2),
        lambda x, w0, w1, w2: F.linear(F.linear(x, w1) * F.silu(F.linear(x, w0)), w2),
    ],
    ids=["gate_first", "up_first"],
)
def test_a_training_step_of_a_gated_pair(timed, monkeypatch, f):
    monkeypatch.setattr(judging, "_is_one_call", lambda executable, way: way in ("pairs", "tiled"))
    check_gradients(f, (64, 64), (96, 64), (96, 64), (64, 96))
    pair, hidden, x = timed.seen
    assert pair.joined_as == "pairs"
    assert (pair.readers, pair.addends, _tensors_moved(pair)) == ((True, False, False), 0, 3)
    assert len(pair.spec.outputs) == 3, "both products are saved for the backward pass"
    assert [len(c.products) for c in (hidden, x)] == [1, 1]
    # It reads gate and up, and gives a gradient for each, which library calls read as they lie or transposed.
    assert (hidden.readers, hidden.addends, hidden.results) == ((True, False, False), 2, 2)
    assert (x.kinds, x.addends) == (["linear", "add"], 1), "the second product takes the first one's result"


def geglu(x, w, w2, b=None):
    value, gate = F.linear(x, w, b).chunk(2, -1)
    return F.linear(value * F.gelu(gate), w2)


@pytest.mark.parametrize("case", ["plain", "bias", "three dimensions", "dynamic"])
def test_a_training_step_of_a_packed_gated_layer(timed, monkeypatch, case):
    monkeypatch.setattr(judging, "_is_one_call", lambda executable, way: way in ("pairs", "tiled"))
    rows = (4, 80) if case == "three dimensions" else (320,)
    shapes = [(*rows, 64), (192, 64), (64, 96), *([(192,)] if case == "bias" else [])]
    check_gradients(geglu, *shapes, dynamic=case == "dynamic")
    pair, *_ = timed.seen
    assert (pair.joined_as, len(pair.spec.outputs)) == ("pairs", 3)
    hidden, x = timed.seen[-2:]
    sums = ["batch_sum"] * 2 if case == "bias" else []
    assert hidden.kinds == ["linear", "mul", "gelu", "mul", "gelu_derivative", "mul", *sums]
    assert (hidden.addends, hidden.results) == (2, 2), "both halves are by themselves"
    assert x.kinds == ["linear", "add"]


def test_a_packed_layer_is_trained_whole_where_its_pair_is_no_call(timed, monkeypatch):
    monkeypatch.setattr(judging, "_is_one_call", lambda executable, way: way == "tiled")
    timed.times = [1.2], 1.0
    check_gradients(geglu, (320, 64), (192, 64), (64, 96))
    assert timed.seen[-1].spec.outputs[0].shape[-1] == 96, "of backward, the gradient of what was multiplied"


@pytest.mark.parametrize(("loss", "is_cut"), [(0.49, True), (0.51, False)])
def test_a_packed_layer_is_cut_in_training_where_forward_gains_more_than_backward_loses(
    timed, monkeypatch, loss, is_cut
):
    monkeypatch.setattr(judging, "_is_one_call", lambda executable, way: way in ("pairs", "tiled"))
    timed.loss = loss  # the pair takes 0.5 of 1.0
    check_gradients(geglu, (320, 64), (192, 64), (64, 96))
    assert [c.joined_as for c in timed.seen] == (["pairs", "", ""] if is_cut else ["pairs"])
    ((whole, parts, added),) = timed.products
    shapes = [[(p.m, p.n, p.k, p.turns_x, p.turns_w) for p in products] for products in (whole, parts, added)]
    of_x, of_w = (320, 64, 192, False, True), (192, 64, 320, True, True)
    assert shapes[0] == [of_x, of_w]
    assert shapes[1] == [(320, 64, 96, False, True)] * 2 + [(96, 64, 320, True, True)] * 2
    assert shapes[2] == [(320, 64, 96, False, True)]


def test_packed_layers_of_one_weight_are_trained_whole(timed, monkeypatch):
    monkeypatch.setattr(judging, "_is_one_call", lambda executable, way: way in ("pairs", "tiled"))
    check_gradients(lambda x, w, w2: geglu(geglu(x, w, w2), w, w2), (320, 64), (192, 64), (64, 96))


def test_a_packed_layer_whose_gradient_is_read_otherwise(timed, monkeypatch):
    monkeypatch.setattr(judging, "_is_one_call", lambda executable, way: way in ("pairs", "tiled"))

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, y):
            return y * 1.0

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2.0

    def f(x, w, w2):
        value, gate = Doubled.apply(F.linear(x, w)).chunk(2, -1)
        return F.linear(value * F.gelu(gate), w2)

    check_gradients(f, (320, 64), (192, 64), (64, 96))


def norm_and_layers(x, g, *weights):
    normed = F.rms_norm(x, (16,), g)
    return tuple(F.linear(normed, w).sigmoid() for w in weights)


def compile_norm_and_layers(norms_ahead, *weights):
    torch._dynamo.reset()
    model = torch.compile(norm_and_layers, backend="tenon", options={"norms_ahead": norms_ahead})
    with torch.no_grad():
        return model(X, bf16(16), *weights)


@pytest.mark.parametrize(("norms_ahead", "is_called"), [("always", True), ("never", False)])
def test_a_norm_that_is_asked_to_be_taken_is(timed, compiled, norms_ahead, is_called):
    timed.times = [2.0], 1.0
    compile_norm_and_layers(norms_ahead, bf16(8, 16))
    assert [candidate.is_asked for candidate in timed.seen] == [is_called]
    assert len(compiled.sources) == 1 + is_called, "one is the trial's"


@pytest.mark.parametrize("slow", [None, 8, 24])
def test_a_norm_is_taken_where_all_layers_behind_it_are_faster_so(timed, compiled, monkeypatch, slow):
    def time_candidate(candidate, calls, call_behind=None):
        timed.seen.append((candidate, call_behind))
        is_slow = candidate.ahead and candidate.products[0].n == slow
        return [0.9 if is_slow else 0.7] * len(calls), 0.8 if candidate.ahead else 1.0

    monkeypatch.setattr(judging, "time_candidate", time_candidate)
    compile_norm_and_layers("auto", bf16(8, 16), bf16(24, 16))
    assert [bool(candidate.ahead) for candidate, _ in timed.seen] == [False, False, True, True]
    for candidate, call_behind in timed.seen[2:]:
        ahead = candidate.ahead
        assert (ahead.rows, ahead.columns, ahead.dtype) == (6, 16, torch.bfloat16)
        assert ahead.share == candidate.products[0].n / 32
        assert ahead.candidate.shapes[0] == (6, 16) and call_behind.function is ahead.candidate.spec
        assert not candidate.is_asked
    sources = compiled.sources[-2:]
    assert [source.count("tenon.param") for source in sources] == [2 if slow is None else 1] * 2


def test_a_norm_that_stays_is_explained(timed, monkeypatch):
    monkeypatch.setattr(judging, "time_candidate", lambda candidate, calls, *behind: ([0.9], 0.9 if behind else 1.0))
    w, g = bf16(8, 16), bf16(16)
    explanation = tenon.torch.explain(lambda x: norm_and_layers(x, g, w), X)
    assert "It stays ahead of linear layers, which are as fast so." in str(explanation)


@pytest.mark.parametrize(
    ("rows", "features", "is_tried"), [(6, 300, True), (6, 301, False), (200, 9216, True), (200, 9217, False)]
)
def test_norms_of_which_little_is_to_be_gained_are_not_tried(timed, rows, features, is_tried):
    """Of few rows weights are most of what is moved, and of many features products most of the time."""
    g, w = bf16(16), bf16(features, 16)
    explanation = tenon.torch.explain(lambda x: norm_and_layers(x, g, w), torch.randn(rows, 16, dtype=torch.bfloat16))
    assert any(candidate.ahead for candidate in timed.seen) == is_tried
    assert ("too little time to gain by" in str(explanation)) == (not is_tried)


def test_an_inference_batch_norm_stays_unasked(timed):
    model = nn.Sequential(nn.BatchNorm1d(16), nn.Linear(16, 8), nn.RMSNorm(8), nn.Linear(8, 8)).bfloat16().eval()
    timed.times = [2.0], 1.0
    explanation = str(tenon.torch.explain(model.requires_grad_(False), X))
    assert "where norms_ahead='always' asks for it" in explanation


def test_a_norm_ahead_is_weighed_by_what_it_need_not_write(timed, monkeypatch):
    """With times of a call, of the call behind the norm, of cuBLAS's product, and of passes over three tensors."""
    compile_norm_and_layers("auto", bf16(8, 16), bf16(24, 16))
    (candidate,) = [c for c in timed.seen if c.ahead and c.products[0].n == 8]
    call = types.SimpleNamespace()
    monkeypatch.setattr(trial, "time_in_turn", lambda steps: given[: len(steps)])
    given = [5.0, 8.0, 6.0, 3.0, 9.0, 6.0]  # the norm's pass, and what a pass takes at least
    # The library's product, and a kernel of Inductor's that reads it and writes the sigmoid of it.
    assert trial.time_candidate(candidate, [call], call) == ([5.0], 8.0 + 0.25 * 1.0)
    given = [5.0, 9.0, 6.0, 3.0, 9.0, 6.0]
    assert trial.time_candidate(candidate, [call], call) == ([5.0], pytest.approx(6.0 + 1.15 * 2.0 + 0.25 * 1.0))


def test_pytorch_writes_products_beside_others_where_calls_are_copied(timed, monkeypatch):
    monkeypatch.setattr(judging, "_FEW_ROWS", 6)
    monkeypatch.setattr(trial, "time_in_turn", lambda steps: [5.0, 6.0, 9.0, 3.0][: len(steps)])
    w0, w1, w2 = bf16(8, 16), bf16(24, 16), bf16(4, 16)
    run(lambda x: (torch.cat([F.linear(x, w0), F.linear(x, w1).relu()], -1), F.linear(x, w2)), X)
    found = {c.products[0].n: (c.placed, trial.time_candidate(c, [None])[1]) for c in timed.seen}
    assert found == {8: (8, 4.0), 24: (0, 6.0), 4: (0, 6.0)}


@pytest.mark.parametrize(("allocated", "expected"), [(25, "auto"), (26, "never")])
def test_copies_of_weights_are_made_unasked_where_there_is_room(monkeypatch, allocated, expected):
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: allocated)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: types.SimpleNamespace(total_memory=100))
    device = torch.device("cuda")
    assert Options().fitting(device).norms_ahead == expected
    assert Options(norms_ahead="always").fitting(device).norms_ahead == "always"
    assert Options().fitting(torch.device("cpu")) == Options()


@pytest.mark.parametrize(("rows", "is_tried"), [(64, True), (65, False)])
def test_bare_products_of_few_rows_are_tried(timed, monkeypatch, rows, is_tried):
    monkeypatch.setattr(judging, "_FEW_ROWS", 64)
    w = bf16(8, 16)
    run(lambda x: F.linear(x, w), torch.randn(rows, 16, dtype=torch.bfloat16))
    assert len(timed.seen) == is_tried


def attention(x, wq, wk, wv):
    """Return what Llama has ahead of attention: heads of q, of fewer k and v, in the place of rows."""
    return tuple(F.linear(x, w).view(1, -1, w.shape[0] // 8, 8).transpose(1, 2) for w in (wq, wk, wv))


@pytest.mark.parametrize(("times", "is_taken"), [((0.5, 0.6), True), ((0.6, 0.5), False), ((1.2, 1.1), False)])
def test_layers_of_one_x_are_one_call_where_that_is_the_fastest(timed, compiled, monkeypatch, times, is_taken):
    def time_candidate(candidate, calls):
        timed.seen.append(candidate)
        return list(times), 1.0

    monkeypatch.setattr(judging, "time_candidate", time_candidate)
    monkeypatch.setattr(judging, "_is_one_call", lambda executable, way: way != "library")
    wq, wk, wv = bf16(32, 16), bf16(8, 16), bf16(8, 16)
    run(lambda x: attention(x, wq, wk, wv), X)
    (siblings,) = timed.seen
    assert (siblings.joined_as, siblings.is_bare, [p.n for p in siblings.products]) == ("siblings", True, [32, 8, 8])
    assert compiled.sources == [siblings.spec.source] * (2 + is_taken), "two in the trial; alone, each is cuBLAS's"


@pytest.mark.parametrize("dynamic", [False, True])
def test_scales_of_blocks_are_timed_and_taken_as_they_lie(timed, dynamic):
    """Nothing runs beside the call, but a copy of x's scales where its rows are not known."""
    m, n, k = 32, 256, 512
    x, w = (torch.randn(rows, k).to(torch.float8_e4m3fn) for rows in (m, n))
    s, t = torch.rand(k // 128, m).t() + 0.5, torch.rand(n // 128, k // 128).t() + 0.5  # as PyTorch asks

    def function(x, w, s, t, b):
        return F.silu(torch._scaled_mm(x, w, scale_a=s, scale_b=t, out_dtype=torch.bfloat16) + b)

    compiled = torch.compile(function, backend="tenon")
    if dynamic:
        torch._dynamo.mark_dynamic(x, 0)
        torch._dynamo.mark_dynamic(s, 0)
    with torch.no_grad():
        result, (code,) = run_and_get_code(compiled, x, w.t(), s, t, torch.zeros(n).bfloat16())
    wide_x, wide_w = x.double() * s.double().repeat_interleave(128, 1), w.double()
    wide_w *= t.t().double().repeat_interleave(128, 0).repeat_interleave(128, 1)
    torch.testing.assert_close(result.double(), F.silu(wide_x @ wide_w.t()), rtol=2.0**-6, atol=2.0**-6)
    (candidate,) = timed.seen
    (product,) = candidate.products
    assert product.scaled.scaling == "block" and not product.turns_w
    assert ((1, m) in candidate.strides) == dynamic
    assert code.count("torch.ops.tenon.fused") == 1 and ("cpp_fused" in code) == dynamic


@pytest.mark.parametrize("siblings", ["auto", "never"])
def test_layers_of_one_x_stay_pytorchs_where_nothing_is_timed(compiled, siblings):
    wq, wk, wv = bf16(32, 16), bf16(8, 16), bf16(8, 16)
    options = {"target": "cpu", "rest": "inductor", "siblings": siblings}
    with torch.no_grad():
        torch.compile(lambda x: attention(x, wq, wk, wv), backend="tenon", options=options)(X)
    assert not compiled.sources


def test_explain_shows_what_a_trial_chose(timed, monkeypatch):
    monkeypatch.setattr(judging, "_is_one_call", lambda executable, way: way != "library")
    monkeypatch.setattr("tenon.torch.explanation.layers._lower", lambda *given: seen.append(given[-1]) or [])
    seen = []
    wq, wk, wv = bf16(32, 16), bf16(8, 16), bf16(8, 16)
    tenon.torch.explain(lambda x: attention(x, wq, wk, wv), X)
    assert [(options.strategy, options.siblings) for options in seen] == [("tiled", "always")]


@pytest.mark.parametrize("case", ["other x", "many rows", "one needs another", "through another", "normed"])
def test_layers_that_no_launch_has_together_are_no_siblings(timed, monkeypatch, case):
    monkeypatch.setattr(judging, "_is_one_call", lambda executable, way: way in ("siblings", "tiled"))
    w0, w1 = bf16(16, 16), bf16(16, 16)

    def f(x):
        first = F.relu(F.linear(x, w0))
        if case == "normed":
            first = F.layer_norm(first, (16,))
        second = F.linear(x.flip(0) if case == "other x" else x, w1)
        if case == "one needs another":
            return second + first, first
        return F.relu(second + first.cumsum(0) if case == "through another" else second), first

    run(f, torch.randn(300, 16, dtype=torch.bfloat16) if case == "many rows" else X)
    assert all(len(candidate.products) == 1 for candidate in timed.seen)


@pytest.mark.parametrize(("times", "strategy"), [((0.5, 0.6), "tiled"), ((0.6, 0.5), "library")])
def test_rows_are_tried_behind_a_product_of_cublaslt(timed, monkeypatch, times, strategy):
    monkeypatch.setattr(judging, "time_candidate", lambda candidate, calls: (list(times), 1.0))
    monkeypatch.setattr(judging, "_is_one_call", lambda executable, way: way in ("tiled", "rows"))
    chosen, register = [], graph_pass.register
    monkeypatch.setattr(graph_pass, "register", lambda *a: chosen.append(a[1]["strategy"]) or register(*a))
    w = bf16(32, 16)
    run(lambda x: F.linear(x, w).softmax(-1), X)
    assert chosen == [strategy]


def test_rows_behind_a_product_are_one_kernel():
    source = """func.func @f(%x: tensor<32x64xbf16>, %w: tensor<2048x64xbf16>) -> {result} {{
      %0 = tenon.linear %x, %w : (tensor<32x64xbf16>, tensor<2048x64xbf16>) -> tensor<32x2048xbf16>
      %1 = {value}
      return %1 : {result}
    }}"""
    maximum = source.format(result="tensor<32x1xbf16>", value="tenon.reduce_row max %0 : tensor<32x2048xbf16>")
    gelu = source.format(result="tensor<32x2048xbf16>", value="tenon.gelu %0 : tensor<32x2048xbf16>")
    for text, ways in ((maximum, [True, False]), (gelu, [True, False])):
        executable = tenon.compile(text, target="sm_90a", strategy="library")
        assert [judging._is_one_call(executable, way) for way in ("rows", "library")] == ways


def test_residual_that_a_norm_reads_is_the_norms(timed, compiled):
    w = bf16(512, 512)
    timed.times = ([2.0], 1.0)  # so that the norm is Inductor's
    run(lambda x: F.layer_norm(x + F.linear(x, w), (512,)), torch.randn(6, 512, dtype=torch.bfloat16))
    assert [candidate.kinds.count("reduce_row") for candidate in timed.seen] == [2]


def test_what_a_norm_loses_the_layer_before_it_may_win(timed, monkeypatch):
    def time_candidate(candidate, calls):
        timed.seen.append(candidate)
        return [2.0 if "reduce_row" in candidate.kinds else 0.5] * len(calls), 1.0

    monkeypatch.setattr(judging, "time_candidate", time_candidate)
    w, v = bf16(512, 512), bf16(512, 512)

    def function(x):
        z = F.gelu(F.linear(x, w))
        return torch.mm(z, v), F.layer_norm(z, (512,))

    run(function, torch.randn(6, 512, dtype=torch.bfloat16))
    assert [("reduce_row" in c.kinds, "gelu" in c.kinds) for c in timed.seen] == [(True, True), (False, True)]


def test_a_loss_reads_no_logits(timed, compiled):
    w, target = bf16(512, 16), torch.arange(6) * 31
    run(lambda x: F.cross_entropy(F.linear(x, w).float(), target), X)
    assert timed.seen[0].kinds.count("select_equal") == 1
    assert (timed.seen[0].results, _tensors_moved(timed.seen[0])) == (0, 1)
    assert _rest(timed.seen[0], passes=3.0, reduction=2.0) == 2.0
    assert len(set(compiled.sources)) == 1


@pytest.mark.parametrize(("columns", "tensors"), [(1024, 1), (1032, 2)])
def test_inductor_reads_long_rows_again(timed, columns, tensors):
    w = bf16(columns, 16)
    run(lambda x: F.linear(x, w).softmax(-1), X / 16)
    assert _rest(timed.seen[0], passes=3.0, reduction=2.0) == 2.0 + tensors


def test_inductor_takes_longer_to_round_to_8_bits(timed):
    w = bf16(8, 16)
    run(lambda x: F.linear(x, w).relu().to(torch.float8_e4m3fn), X)
    run(lambda x: F.linear(x, w).relu(), X)
    run(lambda x: F.silu(F.linear(x, w)), X)
    assert [_rest(candidate, passes=3.0) for candidate in timed.seen] == [3.0, 2.0, 2.3]


def test_a_norm_of_narrow_rows_is_the_layers(timed):
    w = bf16(16, 16)
    run(lambda x: F.layer_norm(x + F.linear(x, w), (16,)), X)
    assert timed.seen[0].kinds.count("reduce_row") == 2
    assert (timed.seen[0].addends, _tensors_moved(timed.seen[0])) == (1, 3)


def test_x_is_no_addend_of_a_square_layer(timed):
    w = bf16(16, 16)
    run(lambda x: F.linear(F.gelu(F.linear(x, w)), w), torch.randn(16, 16, dtype=torch.bfloat16))
    assert timed.seen[0].addends == 0


def test_a_product_that_is_a_result_is_written_by_pytorch_too(timed):
    w = bf16(8, 16)

    def f(x):
        y = F.linear(x, w)
        return y, F.gelu(y)

    run(f, X)
    assert (timed.seen[0].results, _tensors_moved(timed.seen[0])) == (1, 2)


def test_slower_calls_are_left_and_the_times_kept(timed, compiled):
    timed.times = ([0.99], 1.0)  # within the margin
    w = bf16(8, 16)

    def f(x):
        return F.gelu(F.linear(x, w))

    run(f, X)
    assert len(timed.seen) == 1
    files = list((cache.directory() / "choices").glob("*.json"))
    assert [json.loads(file.read_text())["pytorch"] for file in files] == [1.0]
    sources = len(compiled.sources)
    run(f, X)
    assert len(timed.seen) == 1, "the second time is read"
    assert len(compiled.sources) == sources


def test_times_are_taken_where_the_cache_cannot_be_written(timed, monkeypatch, tmp_path, compiled):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TENON_CACHE_DIR", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(cache, "_temporary", [])
    w = bf16(8, 16)
    with pytest.warns(RuntimeWarning, match="TENON_CACHE_DIR"):
        run(lambda x: F.gelu(F.linear(x, w)), X)
    assert len(timed.seen) == 1
    assert compiled.linears > 0


def test_bare_layers_are_taken_in_float32_alone(timed, compiled):
    w = nn.Parameter(torch.randn(8, 16), requires_grad=False)
    run(lambda x: torch.cumsum(F.linear(x, w), -1), torch.randn(6, 16))
    assert timed.seen[0].is_bare
    assert compiled.linears > 0
    half = bf16(8, 16)
    run(lambda x: torch.cumsum(F.linear(x, half), -1), X)
    assert len(timed.seen) == 1


def test_casts_of_activations_stay_where_they_are_fused(timed):
    w, b = bf16(8, 16), bf16(8)
    run(lambda x: F.gelu(F.linear(F.layer_norm(x.float(), (16,)).bfloat16(), w, b)), X)
    assert timed.seen[0].kinds == ["linear", "gelu"]


def test_a_trial_that_fails_ends_no_model(timed, monkeypatch):
    def fail(*args):
        raise RuntimeError("out of memory")

    monkeypatch.setenv("TENON_STRICT", "0")
    monkeypatch.setattr(judging, "time_candidate", fail)
    w = bf16(8, 16)
    with pytest.warns(UserWarning, match="trial of linear_gelu"):
        run(lambda x: F.gelu(F.linear(x, w)), X)


@pytest.mark.defaults
def test_forced_strategies_are_not_timed():
    gpu = torch.device("cuda")
    assert judging.Judge(Options(rest="inductor")).measures(gpu)
    assert not judging.Judge(Options(rest="eager")).measures(gpu)
    assert not judging.Judge(Options(rest="inductor", strategy="tiled")).measures(gpu)
    assert not judging.Judge(Options(rest="inductor", target="sm_90a")).measures(gpu)
    assert not judging.Judge(Options(rest="inductor")).measures(torch.device("cpu"))


@pytest.mark.parametrize("light", [True, False])
def test_optimize_stays_light_beside_products_of_cublas(timed, light):
    """A kernel of Inductor's takes torch.compile; a product that cuBLAS computes as fast does not."""
    model = nn.Sequential(nn.Linear(16, 8), nn.GELU(), nn.Linear(8, 16), nn.Identity() if light else nn.Softmax(0))
    model = model.bfloat16().requires_grad_(False)
    fast = tenon.torch.optimize(model)
    for _ in range(2):
        expected = model(X)
        assert (fast(X).float() - expected.float()).norm() <= 2e-2 * expected.float().norm()
    assert [candidate.kinds for candidate in timed.seen[:1]] == [["linear", "gelu"]]
    assert (type(fast)._tenon.declined is None) == light


def test_explain_says_what_was_not_worth_a_call(timed):
    timed.times = ([2.0], 1.0)
    w = bf16(8, 16)
    explanation = tenon.torch.explain(lambda x: F.gelu(F.linear(x, w)), X)
    assert "PyTorch is as fast on this GPU: 1000.0 us by estimate, and Tenon takes 2000.0." in str(explanation)


# Ranges of a product's columns


@pytest.fixture
def inserted(monkeypatch):
    """Give the names of the calls that enter Inductor's graphs."""
    names = []

    def insert_op(graph, part, text):
        names.append(part.name)
        insert(graph, part, text)

    insert = graph_pass.insert_op
    monkeypatch.setattr(graph_pass, "insert_op", insert_op)
    return names


def packed_geglu(w, w2, b=None):
    def function(x):
        value, gate = F.linear(x, w, b).chunk(2, dim=-1)
        return F.linear(value * F.gelu(gate), w2)

    return function


@pytest.mark.parametrize("bias", [None, bf16(16)])
@pytest.mark.parametrize("shape", [(6, 16), (2, 3, 16)])
def test_a_product_whose_columns_meet_is_cut_in_two(timed, inserted, shape, bias):
    run(packed_geglu(bf16(16, 16), bf16(16, 8), bias), torch.randn(shape, dtype=torch.bfloat16))
    value, gate = timed.seen
    assert (gate.kinds, value.kinds) == (["linear", "gelu"], ["linear", "mul"])
    assert gate.shapes[1] == value.shapes[1] == (8, 16)
    assert inserted == ["linear_gelu", "linear_mul"]


@pytest.mark.parametrize("shape", [(1,), (6, 1), (16,), (6, 16)])
def test_what_is_added_to_a_product_that_is_cut(timed, inserted, shape):
    w = bf16(16, 16)

    def function(x, added):
        value, gate = torch.addmm(added, x, w.t(), alpha=2, beta=3).chunk(2, dim=-1)
        return value * F.gelu(gate)

    run(function, X, torch.randn(shape, dtype=torch.bfloat16))
    assert len(inserted) == 2, "it is cut"


def test_slices_are_cut_as_chunks_are(timed, inserted):
    w = bf16(24, 16)

    def function(x):
        y = F.linear(x, w)
        return F.silu(y[..., :8]) * y[..., 8:16] + y[..., 16:]

    run(function, X)
    assert sorted(candidate.kinds for candidate in timed.seen) == [
        ["linear", "add"],
        ["linear", "mul"],
        ["linear", "silu"],
    ]
    assert inserted == ["linear_silu", "linear_mul", "linear_add"]


def test_a_product_of_which_a_part_is_not_worth_a_call_stays_whole(timed, inserted):
    timed.times = ([1.0], 1.0)
    run(packed_geglu(bf16(16, 16), bf16(16, 8)), X)
    assert len(timed.seen) == 2, "both parts were tried"
    assert not inserted


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: tuple(F.relu(part) for part in F.linear(x, w).chunk(2, dim=-1)),  # they do not meet
        lambda x, w: (F.linear(x, w), F.linear(x, w)[..., :8] * F.linear(x, w)[..., 8:]),  # it is a result as well
        lambda x, w: (lambda v, g: (v * F.gelu(g), v))(*F.linear(x, w).chunk(2, dim=-1)),  # a part of it is
        lambda x, w: F.linear(x, w)[..., :8:2] * F.linear(x, w)[..., 8::2],  # no range
        lambda x, w: F.linear(x, w)[:3] * F.linear(x, w)[3:],  # of rows
        lambda x, w: F.linear(x, w)[..., 3:9] * F.linear(x, w)[..., 9:15] + F.linear(x[..., :1], w[3:9, :1]),
    ],
)
def test_other_products_are_not_cut(timed, function):
    w = bf16(16, 16)
    run(lambda x: function(x, w), X)
    widths = {product.n for candidate in timed.seen for product in candidate.products}
    assert not widths & {8}


def backward(g, y):
    """Return relu's derivative of a product, its sum over the batch, and two of what else is made of it."""
    gradient = torch.ops.aten.threshold_backward(g @ W, y, 0.0)
    return gradient, gradient.sum(0), (gradient * y).sum(0), (gradient - y).sum(0)


W = bf16(8, 16)


def test_two_sums_over_the_batch_join_the_layer(timed):
    run(backward, torch.randn(6, 8, dtype=torch.bfloat16), X)
    (seen,) = timed.seen
    assert seen.kinds == ["linear", "gate", "batch_sum", "mul", "batch_sum"]
    assert (seen.addends, seen.results, _tensors_moved(seen)) == (1, 1, 3)


def test_a_layer_that_is_not_worth_it_with_its_sums_is_tried_without(timed, monkeypatch):
    def time_candidate(candidate, calls):
        timed.seen.append(candidate)
        return [2.0 if "batch_sum" in candidate.kinds else 0.5] * len(calls), 1.0

    monkeypatch.setattr(judging, "time_candidate", time_candidate)
    run(backward, torch.randn(6, 8, dtype=torch.bfloat16), X)
    assert [seen.kinds for seen in timed.seen] == [
        ["linear", "gate", "batch_sum", "mul", "batch_sum"],
        ["linear", "gate", "batch_sum"],
        ["linear", "gate"],
    ]


def test_what_a_backward_graph_computes_again_of_inputs_is_the_layers(timed):
    def gated(g, gate, up):
        gradient = g @ W
        return gradient * F.silu(gate), torch.ops.aten.silu_backward(gradient * up, gate)

    run(gated, torch.randn(6, 8, dtype=torch.bfloat16), X, X + 1)
    (seen,) = timed.seen
    assert "silu" in seen.kinds
    assert (seen.addends, seen.results) == (2, 2)


def test_what_others_need_too_is_computed_once(timed):
    def function(g, gate):
        activation = F.silu(gate)
        return (g @ W) * activation, torch.cumsum(activation, -1)

    run(function, torch.randn(6, 8, dtype=torch.bfloat16), X)
    assert timed.seen[0].kinds == ["linear", "mul"]


def test_the_sum_of_a_bare_product_is_inductors(timed):
    def function(g):
        gradient = g @ W
        return gradient, gradient.sum(0)

    run(function, torch.randn(6, 8, dtype=torch.bfloat16))
    assert not timed.seen


def test_layers_that_are_alike_are_compiled_and_tried_once(timed, compiled, monkeypatch):
    first, second = bf16(16, 16), bf16(16, 16)
    compilations, compile_ = [], tenon.compile
    monkeypatch.setattr(tenon, "compile", lambda *a, **k: compilations.append(k["strategy"]) or compile_(*a, **k))
    registered, register = [], graph_pass.register
    monkeypatch.setattr(graph_pass, "register", lambda *a: registered.append(register(*a)) or registered[-1])

    def function(x):
        y = F.gelu(F.linear(x, first))
        return y, F.gelu(F.linear(torch.cumsum(x, -1), second))

    run(function, X)
    assert len(timed.seen) == 1
    assert sorted(compilations) == ["library", "tiled"]
    assert len(registered) == 2
    assert len(set(registered)) == 1
    assert len(set(compiled.sources)) == 2, "each has its lines in remarks"


def test_layers_of_a_backward_graph_are_alike_whatever_forward_called_its_values(timed, compiled):
    timed.times = ([2.0], 1.0)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(16, 16), nn.GELU()) for _ in range(4))).bfloat16()
    torch._dynamo.reset()
    torch.compile(model, backend="tenon")(X).sum().backward()
    derivatives = {source for source in compiled.sources if "gelu_derivative" in source and "batch_sum" in source}
    assert len(derivatives) == 1, derivatives
