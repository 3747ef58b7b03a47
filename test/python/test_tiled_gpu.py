# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiled kernels compute what the graphs say: random layers, operands and results of every type, any M.

On the CPU the same models run without the kernels, but with the operands that were rounded or cast for them.
"""

import pytest

pytest.importorskip("tenon", reason="the package compiles the graphs")
from tenon_graphs.devices import assert_same_bits, to_device, to_host
from tenon_graphs.execute import bind_entry, describe_misses
from tenon_graphs.graph import draw_inputs
from tenon_graphs.memory import Guarded
from tenon_graphs.modules import modules, with_batch
from tenon_graphs.oracle import evaluate
from tenon_graphs.tiled import compile_in_parts, operand_graphs, random_graphs, shuffled_precisions, static_graphs

BATCHES = [1, 3, 127, 128, 129, 1000]


@pytest.fixture(scope="module")
def operands(device, tmp_path_factory):
    return compile_in_parts(operand_graphs(), tmp_path_factory.mktemp("operands"), device)


@pytest.fixture(scope="module")
def tiled(device, tmp_path_factory):
    graphs = random_graphs() if device == "cuda" else random_graphs()[::3]
    return compile_in_parts(graphs, tmp_path_factory.mktemp("tiled"), device)


def check(graph, model, device, rounds_product=False):
    """Call a graph twice, and return what is wrong with its results; between its tensors nothing may be written."""
    inputs, memory = draw_inputs(graph), Guarded()
    call = bind_entry(model, graph.name, memory.copy(to_device(inputs, device)), memory)
    got = to_host(call())
    assert_same_bits(got, to_host(call()), graph.mlir())
    memory.check()
    return describe_misses(graph, got, evaluate(graph, inputs, rounds_product=rounds_product))


def check_all(parts, device, rows=None):
    misses = []
    for part in parts:
        for graph in part.graphs:
            if rows is None or (list(graph.extents) == ["m"] and graph.dynamic):
                graph = graph if rows is None else with_batch(graph, rows)
                misses.append(check(graph, part.model, device, rounds_product=part.library > 0))
    assert len(misses) >= 5
    assert not any(misses), f"{sum(map(bool, misses))} of {len(misses)}\n" + "\n".join(filter(None, misses))


def test_every_layer_is_tiled(operands, tiled):
    assert sum(part.tiled for part in operands) == sum(len(part.graphs) for part in operands)
    assert not any(part.library for part in operands + tiled)


@pytest.mark.parametrize("rows", [*BATCHES, 0])
def test_operands_and_results_of_every_type(operands, device, rows):
    check_all(operands, device, rows)


def test_random_layers(tiled, device):
    check_all(tiled, device)


@pytest.mark.parametrize("rows", BATCHES)
def test_random_layers_of_dynamic_batch(tiled, device, rows):
    check_all(tiled, device, rows)


@pytest.fixture
def gpu():
    torch = pytest.importorskip("torch", reason="torch allocates the GPU's tensors")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")
    return "cuda"


@pytest.mark.gpu
def test_static_batch(gpu, tmp_path):
    parts = compile_in_parts(static_graphs(), tmp_path, gpu)
    assert not any(part.library for part in parts)
    check_all(parts, gpu)


@pytest.mark.gpu
@pytest.mark.parametrize("number", [0, 40, 80, 120])
def test_random_graphs(gpu, number, tmp_path):
    """Graphs with whatever else there is: layers that cannot be tiled, batch norm, casts."""
    parts = compile_in_parts(shuffled_precisions(modules()[f"graphs{number}"]), tmp_path, gpu)
    assert sum(part.tiled for part in parts) >= 15
    check_all(parts, gpu)
