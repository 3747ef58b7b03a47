# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two-phase batch norm: the product's kernel stores what is normalised with the moments of its row tiles.

That every layer is computed so is checked when it is compiled. Resident ones are in test_batch_norm_resident_gpu.py.
"""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon", reason="the package compiles the layers")
import batch_norm_checks as checks  # noqa: E402
from tenon_graphs.batch_norm import FORMS, TWO_PHASE, compile_norms, draw, norm_graph  # noqa: E402
from tenon_graphs.devices import schedule_fixtures, to_device, to_host  # noqa: E402
from tenon_graphs.execute import bind_entry, describe_misses  # noqa: E402
from tenon_graphs.memory import Guarded  # noqa: E402
from tenon_graphs.modules import with_batch  # noqa: E402
from tenon_graphs.oracle import evaluate  # noqa: E402

pytestmark = pytest.mark.gpu
# Rows that TMA stores are of whole 16 bytes.
FEATURES = {True: [264, 8, 1000], False: [777, 33, 264]}
DEPTHS = {"fp32": [200, 131, 65], "other": [72, 1096, 136]}
# One executable serves them all, in this order.
ROWS = [129, 2, 1000, 3, 64, 63, 1024, 65]
STATIC_ROWS = [65, 1000]
BESIDE = (1024, 2048, 512)  # M, N, K where errors are compared with PyTorch's
SPLIT = [name for name in TWO_PHASE if "fp32" in name and "fma" not in name]


def dynamic_graphs(name):
    """Return graphs of three forms; over the schedules every form with every N and K."""
    schedule, number = TWO_PHASE[name], list(TWO_PHASE).index(name)
    depths = DEPTHS.get(schedule.kind, DEPTHS["other"])
    return [
        norm_graph(schedule.kind, FORMS[(number + 2 * i) % len(FORMS)], n, depths[(i + number) % 3])
        for i, n in enumerate(FEATURES[schedule.is_wgmma])
    ]


def full_graph(name):
    """Return a layer with everything around batch norm."""
    schedule = TWO_PHASE[name]
    return norm_graph(schedule.kind, "bsaprAR", 520, 264)


def static_graphs(name):
    kind = TWO_PHASE[name].kind
    return [norm_graph(kind, "bsaprAR", 264, 136, m) for m in STATIC_ROWS]


def beside_graph(name):
    m, n, k = BESIDE
    return norm_graph(TWO_PHASE[name].kind, "bsr", n, k, m)


def all_graphs(name):
    return [*dynamic_graphs(name), full_graph(name), *static_graphs(name), beside_graph(name)]


def compile_schedule(name, folder):
    return compile_norms(all_graphs(name), folder / name, "cuda", TWO_PHASE[name]).model


compiled, name, model = schedule_fixtures(TWO_PHASE, compile_schedule)


def test_any_batch(name, model):
    for graph in dynamic_graphs(name):
        for rows in ROWS:
            checks.check_results(model, with_batch(graph, rows), Guarded(), name)


def test_static_batch(name, model):
    for graph in static_graphs(name):
        checks.check_results(model, graph, Guarded(), name)


@pytest.mark.parametrize("shift", [1, 2])
def test_all_tensors_are_misaligned(name, model, shift):
    """The kernel for such tensors takes other tiles, but gives moments of the same rows."""
    for rows in (2, 129):
        checks.check_results(model, with_batch(full_graph(name), rows), Guarded(shift), f"{name}, {shift} elements off")


@pytest.mark.parametrize("rows", [0, 1])
def test_batches_without_a_variance(name, model, rows):
    """Nothing is written beside the results; of one row y is the bias of the batch norm, as in eager."""
    graph, memory = with_batch(full_graph(name), rows), Guarded()
    call = bind_entry(model, graph.name, memory.copy(to_device(draw(graph), "cuda")), memory)
    y, _, variance = call()
    torch.cuda.synchronize()
    memory.check()
    assert y.shape[0] == rows and bool(y.isfinite().all()) and (rows == 0 or not bool(variance.isfinite().any()))


def test_running_statistics_in_place(name, model):
    checks.check_in_place(model, with_batch(full_graph(name), 130))


def test_cuda_graph(name, model):
    checks.check_replays(model, with_batch(full_graph(name), 300))


def test_two_streams(name, model):
    checks.check_two_streams(model, with_batch(full_graph(name), 1000))


def test_special_values(name, model):
    checks.check_special_values(model, beside_graph(name), "method=fp16" in TWO_PHASE[name].text)


def test_errors_beside_those_of_pytorch(name, model):
    checks.check_errors_beside_pytorch(model, beside_graph(name), TWO_PHASE[name].kind)


def widen(tensor, rows):
    """Give rows magnitudes over 40 powers of two: halves of f16 do not hold them."""
    generator = torch.Generator("cuda").manual_seed(7)
    exponents = torch.rand((len(rows), tensor.shape[1]), device="cuda", generator=generator) * -40.0
    tensor[rows] = tensor[rows].sign() * torch.exp2(exponents)


@pytest.mark.parametrize("name", SPLIT, indirect=True)
@pytest.mark.parametrize(("rows", "columns"), [([0, 127, 128, 299], []), ([], [64, 511, 519]), (range(300), [5])])
def test_rows_outside(name, model, rows, columns):
    """The guarded kernel, which computes their tiles anew, gives their moments anew too."""
    graph = with_batch(full_graph(name), 300)
    inputs = draw(graph)
    tensors = to_device(inputs, "cuda")
    before = model.rows_outside()
    for tensor, chosen in (("x", rows), ("w", columns)):
        if len(chosen):
            widen(tensors[tensor], list(chosen))
            inputs[tensor] = tensors[tensor].cpu().numpy()
    got = to_host(bind_entry(model, graph.name, tensors)())
    assert model.rows_outside() - before == len(rows) + len(columns)
    misses = describe_misses(graph, got, evaluate(graph, inputs))
    assert not misses, misses
