# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiled kernels compute what the graphs say: random layers, operands and results of every type, any M.

On the CPU the same models run without the kernels, but with the operands that were rounded or cast for them.
"""

from contextlib import ExitStack
from functools import partial

import pytest

pytest.importorskip("tenon", reason="the package compiles the graphs")
from tenon_graphs import wgmma
from tenon_graphs.ahead import compile_ahead
from tenon_graphs.devices import assert_same_bits, require_gpu, require_hopper, to_device, to_host
from tenon_graphs.execute import bind_entry, describe_misses
from tenon_graphs.graph import draw_inputs
from tenon_graphs.memory import Guarded
from tenon_graphs.modules import modules, with_batch
from tenon_graphs.oracle import evaluate
from tenon_graphs.tiled import (
    TARGET,
    jobs_of_parts,
    operand_graphs,
    random_graphs,
    shuffled_precisions,
    static_graphs,
)

BATCHES = [1, 3, 127, 128, 129, 1000]
NUMBERS = [0, 40, 80, 120]  # of modules of random graphs
# Device, and the target that chooses the family of kernels.
PLACES = [
    pytest.param(("cpu", TARGET), id="cpu"),
    pytest.param(("cuda", TARGET), id="cuda", marks=pytest.mark.gpu),
    pytest.param(("cuda", wgmma.TARGET), id="wgmma", marks=pytest.mark.gpu),
]


@pytest.fixture(scope="module", params=PLACES)
def place(request):
    device, target = request.param
    if device == "cuda":
        require_hopper() if target == wgmma.TARGET else require_gpu()
    return request.param


def compile_scheduled(number, folder, device):
    """Compile graphs whose layers have the schedule of a number."""
    name = list(wgmma.SCHEDULES)[number]
    kind, graphs = wgmma.scheduled_graphs(number)
    return wgmma.compile_wgmma(graphs, folder / name, device, kind, name)


def jobs(folder, device, target):
    """Return what compiles all that the tests call in a place, by name."""
    graphs = {"operands": operand_graphs(), "tiled": random_graphs()[:: 1 if device == "cuda" else 2]}
    if device == "cuda":
        graphs["static"] = static_graphs()
        # With whatever else there is: layers that cannot be tiled, batch norm, casts.
        graphs |= {f"graphs{number}": shuffled_precisions(modules()[f"graphs{number}"]) for number in NUMBERS}
    made = {name: jobs_of_parts(some, folder / name, device, target) for name, some in graphs.items()}
    if target == wgmma.TARGET:
        made["scheduled"] = [partial(compile_scheduled, i, folder, device) for i in range(len(wgmma.SCHEDULES))]
    return made


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Give a function of a place and a name: its models; all of a place are compiled at once."""
    with ExitStack() as stack:
        places = {}

        def get(place, name):
            if place not in places:
                folder = tmp_path_factory.mktemp("tiled")
                places[place] = stack.enter_context(compile_ahead(jobs(folder, *place)))
            return places[place](name)

        yield get


@pytest.fixture(scope="module")
def operands(place, compiled):
    return compiled(place, "operands")


@pytest.fixture(scope="module")
def tiled(place, compiled):
    return compiled(place, "tiled")


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


def has_whole_chunks(graph):
    """Tell whether x's rows are multiples of 16 bytes as the kernel reads them, which TMA asks for."""
    layer = graph.ops[0]
    return layer.operands[0].shape[1] % (4 if layer.attributes.get("precision") == "tf32" else 8) == 0


def test_every_layer_is_tiled(operands, tiled, place):
    graphs = [graph for part in operands for graph in part.graphs]
    assert sum(part.tiled for part in operands) == len(graphs)
    assert not any(part.library for part in operands + tiled)
    expected = sum(map(has_whole_chunks, graphs)) if place[1] == wgmma.TARGET else 0
    assert sum(part.wgmma for part in operands) == expected


@pytest.mark.parametrize("rows", [*BATCHES, 0])
def test_operands_and_results_of_every_type(operands, place, rows):
    check_all(operands, place[0], rows)


def test_random_layers(tiled, place):
    check_all(tiled, place[0])


@pytest.mark.parametrize("rows", BATCHES)
def test_random_layers_of_dynamic_batch(tiled, place, rows):
    check_all(tiled, place[0], rows)


@pytest.mark.gpu
@pytest.mark.parametrize("rows", [1, 65, 300, 0])
def test_operands_and_results_of_wgmma_schedules(compiled, rows):
    require_hopper()
    check_all(compiled(("cuda", wgmma.TARGET), "scheduled"), "cuda", rows)


@pytest.mark.gpu
@pytest.mark.parametrize("place", PLACES[1:], indirect=True)
def test_static_batch(place, compiled):
    parts = compiled(place, "static")
    assert not any(part.library for part in parts)
    check_all(parts, "cuda")


@pytest.mark.gpu
@pytest.mark.parametrize("place", PLACES[1:], indirect=True)
@pytest.mark.parametrize("number", NUMBERS)
def test_random_graphs(place, number, compiled):
    parts = compiled(place, f"graphs{number}")
    assert sum(part.tiled for part in parts) >= 15
    check_all(parts, "cuda")
