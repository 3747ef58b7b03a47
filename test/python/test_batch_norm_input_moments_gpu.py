# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch norm by moments of x and w: kernels in f64 before the product's, which normalises what it stores.

That every layer is computed so is checked when it is compiled.
"""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon", reason="the package compiles the layers")
import batch_norm_checks as checks  # noqa: E402
from tenon_graphs.batch_norm import INPUT_MOMENTS, compile_norms, draw, norm_graph  # noqa: E402
from tenon_graphs.devices import schedule_fixtures, to_device  # noqa: E402
from tenon_graphs.execute import bind_entry  # noqa: E402
from tenon_graphs.memory import Guarded  # noqa: E402
from tenon_graphs.modules import with_batch  # noqa: E402

pytestmark = pytest.mark.gpu
# Form, N and K: K of less than a tile of 32x32, of one, of ten, and of more than a block's warps have.
LAYERS = [("", 264, 1), ("bsr", 8, 30), ("sprAR", 777, 128), ("bspr", 1000, 200), ("bsprAR", 520, 256)]
# One executable serves them all, in this order.
ROWS = [129, 2, 1000, 3, 64, 33, 5000]
FULL = ("bsprAR", 520, 256)
BESIDE = (1024, "bsr", 2048, 128)  # where errors are compared with PyTorch's
# 16-bit results round more than the product's errors are.
SIXTEEN_BITS = [name for name, schedule in INPUT_MOMENTS.items() if schedule.kind != "fp32"]


def graph_of(name, form, n, k, m=None):
    schedule = INPUT_MOMENTS[name]
    if "fp16x3" in schedule.text:  # from K = 64 on
        k += 64 if k < 64 else 0
    if schedule.is_wgmma:  # reads rows of whole 16 bytes
        n, k = -(-n // 8) * 8, -(-k // 8) * 8
    return norm_graph(schedule.kind, form, n, k, m)


def all_graphs(name):
    m, *beside = BESIDE
    graphs = [graph_of(name, *layer) for layer in LAYERS]
    return [*graphs, graph_of(name, *FULL, m=1000), graph_of(name, *beside, m=m)]


def compile_schedule(name, folder):
    return compile_norms(all_graphs(name), folder / name, "cuda", INPUT_MOMENTS[name]).model


compiled, name, model = schedule_fixtures(INPUT_MOMENTS, compile_schedule)


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_any_batch(name, model, layer):
    for rows in ROWS:
        checks.check_results(model, with_batch(graph_of(name, *layer), rows), Guarded(), name)


def test_static_batch(name, model):
    checks.check_results(model, graph_of(name, *FULL, m=1000), Guarded(), name)


@pytest.mark.parametrize("shift", [1, 2])
def test_all_tensors_are_misaligned(name, model, shift):
    for rows in (2, 129):
        graph = with_batch(graph_of(name, *FULL), rows)
        checks.check_results(model, graph, Guarded(shift), f"{name}, {shift} elements off")


@pytest.mark.parametrize("rows", [0, 1])
def test_batches_without_a_variance(name, model, rows):
    """Nothing is written beside the results; of one row y is finite, as in eager, of none the running variance."""
    graph, memory = with_batch(graph_of(name, *FULL), rows), Guarded()
    call = bind_entry(model, graph.name, memory.copy(to_device(draw(graph), "cuda")), memory)
    y, _, variance = call()
    torch.cuda.synchronize()
    memory.check()
    assert y.shape[0] == rows and bool(y.isfinite().all()) and bool((variance.isfinite() == (rows == 0)).all())


def test_running_statistics_in_place(name, model):
    checks.check_in_place(model, with_batch(graph_of(name, *FULL), 130))


def test_cuda_graph(name, model):
    checks.check_replays(model, with_batch(graph_of(name, *FULL), 300))


def test_two_streams(name, model):
    checks.check_two_streams(model, with_batch(graph_of(name, *FULL), 1000))


def test_special_values(name, model):
    m, *beside = BESIDE
    split = "method=fp16" in INPUT_MOMENTS[name].text
    checks.check_special_values(model, graph_of(name, *beside, m=m), split)


@pytest.mark.parametrize("name", SIXTEEN_BITS, indirect=True)
def test_errors_beside_those_of_pytorch(name, model):
    """Of fp32 a mean of 1e6 deviations shows the product's own rounding, which other ways subtract with it."""
    m, *beside = BESIDE
    checks.check_errors_beside_pytorch(model, graph_of(name, *beside, m=m), INPUT_MOMENTS[name].kind)
