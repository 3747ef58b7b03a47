# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resident batch norm: one kernel, whose row tiles are at work together and exchange moments.

That every layer is computed so is checked when it is compiled. The tests need the GPU to themselves: tiles wait for
each other.
"""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon", reason="the package compiles the layers")
import batch_norm_checks as checks  # noqa: E402
from tenon_graphs.batch_norm import RESIDENT, compile_norms, norm_graph  # noqa: E402
from tenon_graphs.devices import is_wgmma, schedule_fixtures  # noqa: E402
from tenon_graphs.memory import Guarded  # noqa: E402

pytestmark = pytest.mark.gpu
# M with form, N and K. N is of less than a tile, of some, and of more than the GPU has room for.
LAYERS = [
    (2, "bsaprAR", 264, 72),
    (3, "", 8, 136),
    (63, "sprAR", 1000, 1096),
    (65, "bsr", 40, 200),
    (129, "bapr", 8200, 72),
    (300, "bsEprR", 1000, 200),
    (1000, "bsaprAR", 520, 264),
    (1024, "aErAR", 8192, 136),
    (1024, "bsprA", 4096, 1096),
    (1024, "bsaprAR", 8192, 136),
    # Long enough to hold tiles from one turn to the next.
    (700, "bsaprAR", 1000, 2056),
    (1024, "spr", 16384, 2048),
]
ODD = (130, "bsaprAR", 777, 72)  # of rows that TMA does not move
# Of any M, with wgmma: Ms whose tiles fit, and one whose tiles no GPU holds.
DYNAMIC = ("bsaprAR", 1000, 200)
DYNAMIC_ROWS = [2, 65, 300, 1024, 2500, 40000]
FULL = (1000, "bsaprAR", 520, 264)
BESIDE = (1024, "bsr", 2048, 512)  # where errors are compared with PyTorch's


def graph_of(name, layer):
    m, form, n, k = layer
    return norm_graph(RESIDENT[name].kind, form, n, k, m)


def has_kernel(name, layer):
    """With operands swapped, what is reduced depends on no matrix."""
    return "E" not in layer[1] or not name.endswith("swapped")


def dynamic_graph(name, m=1):
    graph = norm_graph(RESIDENT[name].kind, *DYNAMIC)
    graph.extents["m"] = m
    return graph


def compile_schedule(name, folder):
    graphs = [graph_of(name, layer) for layer in (*LAYERS, BESIDE) if has_kernel(name, layer)]
    graphs.append(dynamic_graph(name) if is_wgmma(name) else graph_of(name, ODD))
    return compile_norms(graphs, folder / name, "cuda", RESIDENT[name]).model


compiled, name, model = schedule_fixtures(RESIDENT, compile_schedule)


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_any_batch(name, model, layer):
    if not has_kernel(name, layer):
        pytest.skip("the layer has no such kernel")
    checks.check_results(model, graph_of(name, layer), Guarded(), name)


@pytest.mark.parametrize("m", DYNAMIC_ROWS)
def test_dynamic(name, model, m):
    """One model for all Ms: those that do not fit are computed in two phases."""
    if not is_wgmma(name):
        pytest.skip("kernels of mma_sync need a static M")
    checks.check_results(model, dynamic_graph(name, m), Guarded(), f"{name}, M = {m}")


def test_dynamic_many_calls(name, model):
    if not is_wgmma(name):
        pytest.skip("kernels of mma_sync need a static M")
    for m in (1000, 40000, 1000):
        checks.check_replays(model, dynamic_graph(name, m))


def test_odd_columns(name, model):
    if is_wgmma(name):
        pytest.skip("kernels of family wgmma store through TMA")
    checks.check_results(model, graph_of(name, ODD), Guarded(), name)


@pytest.mark.parametrize("shift", [1, 2])
def test_all_tensors_are_misaligned(name, model, shift):
    checks.check_results(model, graph_of(name, FULL), Guarded(shift), f"{name}, {shift} elements off")


def test_running_statistics_in_place(name, model):
    checks.check_in_place(model, graph_of(name, FULL))


def test_many_calls(name, model):
    """What tiles exchange in one call is not taken for that of the next."""
    graph = graph_of(name, FULL)
    for _ in range(5):
        checks.check_replays(model, graph)


def test_two_streams(name, model):
    """Two kernels that each want all of the GPU's multiprocessors."""
    checks.check_two_streams(model, graph_of(name, (1024, "bsaprAR", 8192, 136)))


def test_special_values(name, model):
    checks.check_special_values(model, graph_of(name, BESIDE), "method=fp16" in RESIDENT[name].text)


def test_errors_beside_those_of_pytorch(name, model):
    checks.check_errors_beside_pytorch(model, graph_of(name, BESIDE), RESIDENT[name].kind)
