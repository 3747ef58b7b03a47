# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trailing batch norm: a kernel beside the product's finishes columns as they are complete. Family wgmma alone.

That every layer is computed so is checked when it is compiled.
"""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon", reason="the package compiles the layers")
import batch_norm_checks as checks  # noqa: E402
from tenon_graphs.batch_norm import TRAILING, compile_norms, draw, norm_graph  # noqa: E402
from tenon_graphs.devices import schedule_fixtures, to_device  # noqa: E402
from tenon_graphs.execute import bind_entry  # noqa: E402
from tenon_graphs.memory import Guarded  # noqa: E402
from tenon_graphs.modules import with_batch  # noqa: E402

pytestmark = pytest.mark.gpu
# Form, N, K of layers whose M is dynamic; N of less than a tile, of several spans, and of a part of one.
DYNAMIC = [("bsaprAR", 520, 264), ("", 8, 136), ("sprAR", 1000, 1096), ("bapr", 2056, 72)]
FULL = DYNAMIC[0]
# One executable serves them all, in this order.
ROWS = [129, 2, 1000, 3, 64, 63, 4096, 65]
# M, form, N, K: several waves of tiles, so that one kernel runs while the other has columns to wait for.
STATIC = [(65, "bsaprAR", 264, 136), (8192, "bsr", 4096, 512), (16384, "bsaprAR", 1024, 264)]
LARGE = STATIC[1]
BESIDE = (1024, "bsr", 2048, 512)  # where errors are compared with PyTorch's


def dynamic_graph(name, layer):
    return norm_graph(TRAILING[name].kind, *layer)


def static_graph(name, layer):
    m, form, n, k = layer
    return norm_graph(TRAILING[name].kind, form, n, k, m)


def all_graphs(name):
    return [*(dynamic_graph(name, layer) for layer in DYNAMIC), *(static_graph(name, s) for s in (*STATIC, BESIDE))]


def compile_schedule(name, folder):
    return compile_norms(all_graphs(name), folder / name, "cuda", TRAILING[name]).model


compiled, name, model = schedule_fixtures(TRAILING, compile_schedule)


@pytest.mark.parametrize("layer", DYNAMIC, ids=str)
def test_any_batch(name, model, layer):
    for rows in ROWS:
        checks.check_results(model, with_batch(dynamic_graph(name, layer), rows), Guarded(), name)


@pytest.mark.parametrize("layer", STATIC, ids=str)
def test_static_batch(name, model, layer):
    checks.check_results(model, static_graph(name, layer), Guarded(), name)


@pytest.mark.parametrize("shift", [1, 2])
def test_all_tensors_are_misaligned(name, model, shift):
    """Kernels one after the other serve such tensors."""
    graph = with_batch(dynamic_graph(name, FULL), 129)
    checks.check_results(model, graph, Guarded(shift), f"{name}, {shift} elements off")


@pytest.mark.parametrize("rows", [0, 1])
def test_batches_without_a_variance(name, model, rows):
    """Nothing is written beside the results; of one row y is the bias of the batch norm, as in eager."""
    graph, memory = with_batch(dynamic_graph(name, FULL), rows), Guarded()
    call = bind_entry(model, graph.name, memory.copy(to_device(draw(graph), "cuda")), memory)
    y, _, variance = call()
    torch.cuda.synchronize()
    memory.check()
    assert y.shape[0] == rows and bool(y.isfinite().all()) and (rows == 0 or not bool(variance.isfinite().any()))


def test_running_statistics_in_place(name, model):
    checks.check_in_place(model, with_batch(dynamic_graph(name, FULL), 130))


def test_many_calls(name, model):
    """No call takes for its own what an earlier one has left in memory: the same bits every time."""
    graph = static_graph(name, LARGE)
    call = bind_entry(model, graph.name, to_device(draw(graph), "cuda"))
    expected = checks.clones(call)
    for number in range(50):
        assert all(map(checks.same_bits, checks.clones(call), expected)), f"call {number}"


def test_calls_without_a_pause(name, model):
    """A call starts while the one before ends, on the same workspace."""
    graph = static_graph(name, LARGE)
    calls = [bind_entry(model, graph.name, to_device(draw(graph, seed), "cuda")) for seed in (0, 1)]
    expected = [checks.clones(call) for call in calls]
    for _ in range(20):
        for call in calls:
            call()
            call()
    torch.cuda.synchronize()
    for call, wanted in zip(calls, expected, strict=True):
        assert all(map(checks.same_bits, call.outputs, wanted))


def test_cuda_graph(name, model):
    for graph in (with_batch(dynamic_graph(name, FULL), 300), static_graph(name, LARGE)):
        checks.check_replays(model, graph)


def test_two_streams(name, model):
    checks.check_two_streams(model, static_graph(name, LARGE))


def test_special_values(name, model):
    checks.check_special_values(model, static_graph(name, BESIDE))


def test_errors_beside_those_of_pytorch(name, model):
    checks.check_errors_beside_pytorch(model, static_graph(name, BESIDE), TRAILING[name].kind)
