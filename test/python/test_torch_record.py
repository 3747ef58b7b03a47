# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recorder of one call: what it writes down, and what it refuses to."""

import copy
import subprocess
import sys

import pytest
import tenon.torch
import torch
from tenon.torch.calls.in_place import restore_in_place
from tenon.torch.modules.record import CannotRepeatError, Recorder
from torch import nn


def run(function, inputs):
    """Record a call of a function that returns a tensor or a tuple of them."""
    recorder = Recorder(inputs)
    with torch.no_grad(), recorder:
        result = function(*inputs)
    return recorder, (result,) if isinstance(result, torch.Tensor) else result


def replay(function, *inputs):
    """Record a call on copies of the inputs, replay on other copies, and compare all there is."""
    first, second = copy.deepcopy(inputs), copy.deepcopy(inputs)
    recorder, results = run(function, first)
    graph = recorder.finish(results)
    with torch.no_grad():
        outputs = graph(*second)
    torch.testing.assert_close(list(outputs), list(results), rtol=0, atol=0)
    torch.testing.assert_close(list(second), list(first), rtol=0, atol=0)
    return graph


def x(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def test_linear_and_views():
    replay(lambda a, w, b: torch.nn.functional.linear(a, w, b).relu().view(-1), x(2, 3, 8), x(4, 8), x(4))


def test_change_of_an_intermediate():
    graph = replay(lambda a: (a * 2).relu_().add_(1), x(3, 4))
    assert not any(n.op == "call_function" and n.target._schema.is_mutable for n in graph.graph.nodes)


def test_change_of_an_input_is_a_copy_at_the_end():
    graph = replay(lambda a, b: (a.mul_(2) + b, a - 1), x(3, 4), x(3, 4))
    *_, last, _ = graph.graph.nodes
    assert last.target is torch.ops.aten.copy_.default


def test_changed_input_is_the_result_itself():
    graph = replay(lambda a: (a.mul_(2), a + 1), x(3, 4))
    first, _ = graph(a := x(3, 4))
    assert first is a


@pytest.mark.parametrize("used", [True, False])
def test_native_dropout_draws_what_eager_draws(used):
    def drop(a):
        first = torch.native_dropout(a, 0.5, True)[0]
        return torch.native_dropout(first if used else a, 0.25, True)

    recorder, results = run(drop, [a := x(64)])
    graph = recorder.finish(results)
    for seed in (1, 2):
        torch.manual_seed(seed)
        expected = [*drop(a), torch.rand(3)]
        torch.manual_seed(seed)
        torch.testing.assert_close([*graph(a), torch.rand(3)], expected, rtol=0, atol=0)


def test_input_and_result_given_twice():
    replay(lambda a: (a, a + 1, a), x(3))


def test_training_batch_norm_changes_its_statistics():
    norm = nn.BatchNorm1d(4)
    parameters = dict(norm.named_parameters()) | dict(norm.named_buffers())
    names = list(parameters)

    def call(a, *values):
        return torch.func.functional_call(norm, dict(zip(names, values, strict=True)), (a,))

    replay(call, x(6, 4), *(p.detach() for p in parameters.values()))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda a: torch.nn.functional.dropout(a, 0.5), "random"),
        (lambda a: a * a.sum().item(), "value into Python"),
        (lambda a: a + torch.ones(3).requires_grad_(False).clone() * torch.tensor(2.0), "neither an input"),
        (lambda a: (a.view(3, 1), a.mul_(2))[1], "views"),
        (lambda a: a.mul_(2).view(3, 1), "result is a view"),
        (lambda a: torch.native_dropout(a, 0.5, True)[0] + torch.rand(3), "rand.default is random"),
        (lambda a: a.clone().bernoulli_(0.5), "random"),
        (lambda a: torch.add(a, 1, out=torch.empty(3)), "in a way that is not known"),
    ],
)
def test_refuses(function, reason):
    recorder, results = run(function, [x(3)])
    with pytest.raises(CannotRepeatError, match=reason):
        recorder.finish(results)


def test_refuses_to_convert_in_place():
    recorder, results = run(lambda a, b: a.clone().add_(b), [x(3).half(), x(3)])
    with pytest.raises(CannotRepeatError, match="converts"):
        recorder.finish(results)


def test_stand_ins_tell_device_dtype_shape_and_strides():
    recorder, results = run(lambda a: a.t() + 1, [x(3, 4).bfloat16()])
    *_, last, _ = recorder.finish(results).graph.nodes
    value = last.meta["val"]
    assert (value.shape, value.stride(), value.dtype) == ((4, 3), (1, 4), torch.bfloat16)
    assert value.device == torch.device("cpu")


def test_a_refused_call_still_happens_once():
    a = torch.ones(3)
    with torch.no_grad(), Recorder([a]):
        assert (a.add_(1), a.sum().item())[1] == 6.0
    assert a.tolist() == [2.0, 2.0, 2.0]


def test_it_does_not_import_dynamo():
    """Whose import takes longer than everything else at a first call."""
    code = """
import sys, torch, tenon.torch
model = tenon.torch.optimize(torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.GELU()), options={"target": "cpu"})
with torch.no_grad():
    model(torch.randn(3, 8))
assert type(model)._tenon.declined is None
assert "torch._dynamo" not in sys.modules and "sympy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_restore_in_place():
    def step(count, a):
        count.add_(1)
        a.add_(count)
        return a * 2

    graph = replay(step, torch.tensor(3.0), x(4))
    expected = graph(count := torch.tensor(3.0), a := x(4))
    restore_in_place(graph.graph)
    graph.recompile()
    again = graph(count2 := torch.tensor(3.0), a2 := x(4))
    torch.testing.assert_close([*again, count2, a2], [*expected, count, a], rtol=0, atol=0)


def test_restore_in_place_turns_a_counter_into_one_op():
    recorder, _ = run(lambda count: count.add_(1), [torch.tensor(3)])
    graph = recorder.finish([])
    restore_in_place(graph.graph)
    assert [n.target for n in graph.graph.nodes if n.op == "call_function"] == [torch.ops.aten.add_.Tensor]


def test_restore_in_place_of_an_input_that_is_used_on():
    recorder, results = run(lambda a: a.mul_(2).relu(), [x(4)])
    graph = recorder.finish(results)
    expected = graph(first := x(4))
    restore_in_place(graph.graph)
    graph.recompile()
    torch.testing.assert_close([*graph(second := x(4)), second], [*expected, first], rtol=0, atol=0)
    targets = [n.target for n in graph.graph.nodes if n.op == "call_function"]
    assert targets == [torch.ops.aten.mul_.Tensor, torch.ops.aten.relu.default]


@pytest.mark.parametrize("after", [lambda a, old: old + a, lambda a, old: a * old.sum()])
def test_restore_in_place_keeps_an_old_value_that_is_needed(after):
    def step(a):
        old = a + 0
        a.mul_(2)
        return after(a, old)

    replay(step, x(4))
    graph = torch.fx.symbolic_trace(lambda a: a)  # by hand: the old value is read behind the op
    nodes = graph.graph
    (a,) = nodes.find_nodes(op="placeholder")
    a.meta["val"] = x(4)
    with nodes.inserting_after(a):
        doubled = nodes.call_function(torch.ops.aten.mul.Tensor, (a, 2))
    doubled.meta["val"] = x(4)
    with nodes.inserting_before(nodes.output_node()):
        late = nodes.call_function(torch.ops.aten.add.Tensor, (a, doubled))
        nodes.call_function(torch.ops.aten.copy_.default, (a, doubled))
    nodes.output_node().args = ((late,),)
    restore_in_place(nodes)
    assert doubled in nodes.nodes


def test_functions_that_modes_take_apart_stay_whole():
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.linear = torch.nn.RMSNorm(8), torch.nn.Linear(8, 8)

        def forward(self, a):
            y = torch.nn.functional.gelu(self.linear(self.norm(a)))
            return a + torch.nn.functional.scaled_dot_product_attention(y, y, y)

    block = Block()
    optimized = tenon.torch.optimize(block)
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(optimized(x(2, 3, 8)), block(x(2, 3, 8)))
    (entry,) = type(optimized)._tenon._trees[0].entries
    targets = [n.target for n in entry._run.__self__.graph.nodes]
    assert torch.ops.aten.rms_norm.default in targets
    assert torch.ops.aten.scaled_dot_product_attention.default in targets


def test_restore_in_place_of_a_copy_that_is_a_result():
    """As AOTAutograd writes a graph that returns what it changed."""
    recorder, _ = run(lambda count: count.add_(1), [torch.tensor(3)])
    graph = recorder.finish([])
    *_, copied, output = graph.graph.nodes
    output.args = ((copied,),)
    restore_in_place(graph.graph)
    graph.recompile()
    (result,) = graph(count := torch.tensor(3))
    assert result is count
    assert count == 4


RELU = torch.nn.functional.relu


def shifted_relu(a):
    return RELU(a) + 1


class Rectified(torch.nn.Module):
    """Calls relu through its module, where it can be replaced."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, a):
        return torch.nn.functional.relu(self.linear(a)) * 2


def test_replaced_functions_run_once(monkeypatch):
    """As they would not under a mode that PyTorch's Python functions ask for."""
    monkeypatch.setattr(torch.nn.functional, "relu", shifted_relu)
    module = Rectified()
    optimized = tenon.torch.optimize(module)
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(optimized(x(3, 8)), module(x(3, 8)))
    assert type(optimized)._tenon.declined is None
