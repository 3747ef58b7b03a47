# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random graphs on a GPU: right, the same each time, on any stream, and from a CUDA graph.

Needs torch, and models compiled for GPUs: those in $TENON_GPU_MODELS, which scripts/gpu_bundle.py
makes for machines that have no compiler, or else made here. See test_calls.py for what holds on the
CPU as well.
"""

import pytest
from tenon_graphs.devices import assert_same_bits, to_device, to_gpu, to_host
from tenon_graphs.execute import bind_entry, bind_reference, describe_misses
from tenon_graphs.graph import draw_inputs
from tenon_graphs.memory import Guarded
from tenon_graphs.oracle import Bounded, evaluate

pytestmark = pytest.mark.gpu


def poison(call):
    for tensor in call.outputs:
        tensor.fill_(float("nan"))


def test_against_oracle(gpu_graphs):
    """Results are within bounds, the second call's have the same bits, and nothing else is written."""
    graphs, model = gpu_graphs
    misses = []
    for graph in graphs:
        inputs, memory = draw_inputs(graph), Guarded()
        call = bind_entry(model, graph.name, memory.copy(to_device(inputs, "cuda")), memory)
        got = to_host(call())
        misses.append(describe_misses(graph, got, evaluate(graph, inputs, rounds_product=True)))
        poison(call)
        assert_same_bits(got, to_host(call()), graph.mlir())
        memory.check()
    assert not any(misses), f"{sum(map(bool, misses))} of {len(graphs)}\n" + "\n".join(filter(None, misses))


def test_against_compiled_reference(gpu_graphs):
    """The same bounds hold around the float64 reference that the model itself holds, run on the CPU."""
    graphs, model = gpu_graphs
    for graph in graphs:
        inputs = draw_inputs(graph)
        got = to_host(bind_entry(model, graph.name, to_device(inputs, "cuda"))())
        references = bind_reference(model, graph.name, inputs)()
        expected = [
            Bounded(r, 2.0 * e.error)
            for r, e in zip(references, evaluate(graph, inputs, rounds_product=True), strict=True)
        ]
        misses = describe_misses(graph, got, expected)
        assert not misses, misses


def test_cuda_graph(gpu_graphs):
    """A call can be captured once the model is loaded, and its replay gives what the call gave."""
    import torch

    graphs, model = gpu_graphs
    for graph in graphs:
        call = bind_entry(model, graph.name, to_device(draw_inputs(graph), "cuda"))
        torch.cuda.synchronize()
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            call()
        poison(call)
        captured.replay()
        replayed = to_host(call.outputs)
        poison(call)
        assert_same_bits(to_host(call()), replayed, graph.mlir())


def test_other_stream(gpu_graphs):
    """Work goes to the caller's stream: it waits for what that stream does first, and only for that."""
    import torch

    graphs, model = gpu_graphs
    for graph in graphs[:10]:
        inputs = draw_inputs(graph)
        tensors = to_device(inputs, "cuda")
        call = bind_entry(model, graph.name, tensors)
        expected = to_host(call())
        late = {name: tensor.clone() for name, tensor in tensors.items()}
        poison(call)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for tensor in call.inputs:
                tensor.fill_(float("nan"))
            torch.cuda._sleep(2_000_000)
            for name, tensor in tensors.items():
                tensor.copy_(late[name])
            again = bind_entry(model, graph.name, tensors)
            again()
        stream.synchronize()
        assert_same_bits(expected, to_host(again.outputs), graph.mlir())


def test_second_gpu(gpu_graphs):
    """One model serves two GPUs, whichever is current."""
    import torch

    if torch.cuda.device_count() < 2:
        pytest.skip("this machine shows one GPU")
    graphs, model = gpu_graphs
    model.load(device_id=1)
    for graph in graphs[:10]:
        inputs = draw_inputs(graph)
        expected = to_host(bind_entry(model, graph.name, to_device(inputs, "cuda"))())
        with torch.cuda.device(1):
            call = bind_entry(model, graph.name, {name: to_gpu(stored, 1) for name, stored in inputs.items()})
            call()
            torch.cuda.synchronize(1)
            assert_same_bits(expected, to_host(call.outputs), graph.mlir())
