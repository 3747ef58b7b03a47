# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call of a compiled model promises, on the CPU and on a GPU: any M, any alignment, threads, messages."""

import threading

import numpy as np
import pytest
from tenon_graphs.devices import assert_same_bits, to_device, to_host
from tenon_graphs.execute import bind_entry, describe_misses
from tenon_graphs.graph import draw_inputs
from tenon_graphs.memory import Guarded
from tenon_graphs.modules import has_statistics, running_statistics, with_batch
from tenon_graphs.oracle import evaluate


def check_call(graph, model, device, memory, seed=0):
    """Call a graph's function once and return what is wrong with its results."""
    inputs = draw_inputs(graph, seed)
    call = bind_entry(model, graph.name, memory.copy(to_device(inputs, device)), memory)
    got = to_host(call())
    memory.check()
    return describe_misses(graph, got, evaluate(graph, inputs, rounds_product=device == "cuda"))


def test_batch_changes_between_calls(calls, device):
    graphs, model = calls
    misses = []
    for rows in [17, 2, 513, 1, 128, 5]:
        for graph in graphs:
            if rows > 1 or not has_statistics(graph):
                misses.append(check_call(with_batch(graph, rows), model, device, Guarded()))
    assert not any(misses), "\n".join(filter(None, misses))


@pytest.mark.parametrize("shift", [1, 3])
def test_tensors_at_any_element(calls, device, shift):
    graphs, model = calls
    misses = [check_call(with_batch(graph, 33), model, device, Guarded(shift)) for graph in graphs]
    assert not any(misses), "\n".join(filter(None, misses))


def test_empty_batch(calls, device):
    graphs, model = calls
    for graph in graphs:
        empty, memory = with_batch(graph, 0), Guarded()
        call = bind_entry(model, graph.name, memory.copy(to_device(draw_inputs(empty), device)), memory)
        assert [value.shape for value in to_host(call())] == [empty.shape_of(v) for v in graph.returns]
        memory.check()


def test_running_statistics_in_place(calls, device):
    """New running statistics may be written over the old ones, as a training loop does."""
    graphs, model = calls
    tried = 0
    for graph in graphs:
        pairs = running_statistics(graph)
        tried += bool(pairs)
        graph = with_batch(graph, 130)
        tensors = to_device(draw_inputs(graph), device)
        call = bind_entry(model, graph.name, tensors)
        expected = to_host(call())
        names = [i["name"] for i in model.functions[entry_of(model, graph.name)["run"]]["inputs"]]
        outputs = list(call.outputs)
        for name, number in pairs.items():
            outputs[number] = call.inputs[names.index(name)]
        in_place = model.bind(entry_of(model, graph.name)["run"], call.inputs, outputs)
        assert_same_bits(expected, to_host(in_place()), graph.mlir())
    assert tried >= 10


def entry_of(model, name):
    return next(e for e in model.manifest["entries"] if e["name"] == name)


def test_two_threads_at_once(calls, device):
    """Each thread calls every function, on a stream of its own, as often as it can."""
    graphs, model = calls
    graphs = [with_batch(graph, 130) for graph in graphs]
    inputs = [to_device(draw_inputs(graph), device) for graph in graphs]
    expected = [to_host(bind_entry(model, g.name, i)()) for g, i in zip(graphs, inputs, strict=True)]
    problems = []

    def work():
        try:
            with own_stream(device):
                made = [bind_entry(model, g.name, i) for g, i in zip(graphs, inputs, strict=True)]
                for _ in range(10):
                    for call in made:
                        call()
                for graph, call, wanted in zip(graphs, made, expected, strict=True):
                    assert_same_bits(wanted, to_host(call.outputs), graph.mlir())
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems[0]


def own_stream(device):
    if device == "cpu":
        return threading.Lock()
    import torch

    return torch.cuda.stream(torch.cuda.Stream())


def test_messages(calls, device):
    """Each mistake has its own message, which names the function and the tensor."""
    graphs, model = calls
    graph = next(with_batch(g, 8) for g in graphs if g.inputs[0].dtype == "f32" and not running_statistics(g))
    call = bind_entry(model, graph.name, to_device(draw_inputs(graph), device))
    name = entry_of(model, graph.name)["run"]
    first, *rest = call.inputs

    def message(inputs, outputs=call.outputs):
        with pytest.raises(RuntimeError) as raised:
            model.bind(name, inputs, outputs, call.workspace)()
        text = str(raised.value)
        assert name in text
        return text

    columns = first.shape[1]
    assert f"[m, {columns}] expected, [8, {columns - 1}] given" in message([first[:, 1:], *rest])
    assert "inputs expected" in message(rest)
    assert "float32 expected, float64 given" in message([to_double(first), *rest])
    assert "outputs expected" in message(call.inputs, [])
    assert "extent 7, but dimension 0" in message(call.inputs, [o[:7] for o in call.outputs])
    if device == "cuda":
        assert "all tensors of a call live on one device" in message([*call.inputs[:-1], call.inputs[-1].cpu()])


def to_double(tensor):
    return tensor.astype(np.float64) if isinstance(tensor, np.ndarray) else tensor.double()
