# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of f32 split into f16, and those multiplied without tensor cores, are right for any M, N and K.

Rows that the parts cannot hold, among others that they can, are in test_fp32_guard_gpu.py.
"""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon", reason="the package compiles the layers")
from cuda_driver import LonelyMemory  # noqa: E402
from tenon_graphs.devices import assert_same_bits, schedule_fixtures, to_device, to_host  # noqa: E402
from tenon_graphs.execute import bind_entry, describe_misses  # noqa: E402
from tenon_graphs.fp32 import SCHEDULES, SPLIT, compile_fp32  # noqa: E402
from tenon_graphs.graph import draw_inputs  # noqa: E402
from tenon_graphs.memory import Guarded  # noqa: E402
from tenon_graphs.modules import with_batch  # noqa: E402
from tenon_graphs.oracle import evaluate  # noqa: E402
from tenon_graphs.tiled import OPERANDS, operand_graph  # noqa: E402
from tiled_layers import Layer, same_bits  # noqa: E402

pytestmark = pytest.mark.gpu
FEATURES = [8, 40, 777, 1000, 1111]
# Method fp16x3 is for K from 64 on; below it fma is chosen. One more than a stage has, many; no whole 16 bytes.
DEPTHS = {True: [64, 65, 100, 131, 4104], False: [1, 31, 65, 100, 4104]}
# One executable serves them all, in this order.
ROWS = [129, 1, 1000, 64, 0, 63, 2, 65]
MEMORY_SHAPES = [(264, 200), (257, 199), (3, 65)]


def layers_of(name):
    """Return layers of each N; over the schedules with each K."""
    number, depths = list(SCHEDULES).index(name), DEPTHS[name in SPLIT]
    return [
        Layer(SCHEDULES[name].kind, n, depths[(i + number) % len(depths)], bare=(i + number) % 3 == 0)
        for i, n in enumerate(FEATURES)
    ]


def memory_layers(name):
    return [Layer(SCHEDULES[name].kind, n, k) for n, k in MEMORY_SHAPES]


def graphs_of(name):
    """Return a graph with operands of every shape and three results, of other types than x for some schedules."""
    number = list(SCHEDULES).index(name)
    n, k = [(264, 200), (65, 72), (777, 136), (8, 1096)][number % 4]
    operand, output = OPERANDS[number % 3], OPERANDS[number // 3 % 3]
    return [operand_graph(SCHEDULES[name].kind, operand, output, n, k)]


def compile_schedule(name, folder):
    """Return a schedule's layers and graphs in one model."""
    graphs = [layer.graph() for layer in layers_of(name) + memory_layers(name)] + graphs_of(name)
    return compile_fp32(graphs, folder / name, "cuda", name).model


compiled, name, model = schedule_fixtures(SCHEDULES, compile_schedule)


def check(model, layer, m, memory, what):
    """Call a layer twice with all of its tensors in `memory`, between which nothing may be written."""
    tensors = layer.draw(m)
    call = bind_entry(model, layer.name, memory.copy(tensors), memory)
    first = call()[0].clone()
    call.outputs[0].fill_(float("nan"))
    second = call()[0]
    torch.cuda.synchronize()
    memory.check()
    layer.assert_right(first, tensors, what)
    assert same_bits(first, second), f"{layer.name}, M = {m}, {what}: the second call has other bits"


def test_any_batch(name, model):
    for layer in layers_of(name):
        for m in ROWS:
            check(model, layer, m, Guarded(), name)


@pytest.mark.parametrize("shift", [1, 2, 3])
def test_all_tensors_are_misaligned(name, model, shift):
    """Also the halves and factors of w, which the caller keeps."""
    for layer in memory_layers(name):
        for m in (1, 129):
            check(model, layer, m, Guarded(shift), f"{name}, {shift} elements off")


@pytest.mark.parametrize("at_end", [True, False], ids=["end", "begin"])
def test_tensors_at_the_edge_of_mapped_memory(name, model, at_end):
    for layer in memory_layers(name):
        for m in (1, 129):
            with LonelyMemory(at_end) as memory:
                check(model, layer, m, memory, f"{name}, at the edge of memory")


@pytest.mark.parametrize("rows", [1, 65, 300, 0])
def test_operands_and_results_of_every_type(name, model, rows):
    for graph in graphs_of(name):
        batch = with_batch(graph, rows)
        inputs, memory = draw_inputs(batch), Guarded()
        call = bind_entry(model, graph.name, memory.copy(to_device(inputs, "cuda")), memory)
        got = to_host(call())
        assert_same_bits(got, to_host(call()), graph.mlir())
        memory.check()
        misses = describe_misses(batch, got, evaluate(batch, inputs))
        assert not misses, misses


@pytest.mark.parametrize("name", [n for n in SPLIT if n.endswith(("128x128", "stream_k"))], indirect=True)
def test_cuda_graph(name, model):
    """A captured call splits x anew at each replay."""
    for layer in layers_of(name)[2:4]:
        tensors = layer.draw(129)
        call = bind_entry(model, layer.name, tensors)
        expected = call()[0].clone()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
        call.outputs[0].fill_(float("nan"))
        graph.replay()
        torch.cuda.synchronize()
        assert same_bits(call.outputs[0], expected)
        other = layer.draw(129, seed=1)
        tensors["x"].copy_(other["x"] * 2.0**20)
        graph.replay()
        torch.cuda.synchronize()
        layer.assert_right(call.outputs[0], tensors, f"{name}, replayed with another x")
