# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of layers of f32: NaN and infinity as SGEMM gives them, errors beside SGEMM's, and batch norm behind them."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon", reason="the package compiles the layers")
from special_values import assert_same_class, assert_special_values, special_cases  # noqa: E402
from tenon_graphs.devices import require_family, to_device, to_host  # noqa: E402
from tenon_graphs.execute import bind_entry, describe_misses  # noqa: E402
from tenon_graphs.fp32 import CHOSEN, FMA, SCHEDULES, compile_fp32  # noqa: E402
from tenon_graphs.graph import Graph, Op, Value, draw_inputs  # noqa: E402
from tenon_graphs.modules import with_batch  # noqa: E402
from tenon_graphs.oracle import evaluate  # noqa: E402
from tenon_graphs.tiled import linear  # noqa: E402
from tiled_layers import Layer  # noqa: E402

pytestmark = pytest.mark.gpu
NAMES = ["wgmma_128x168_stream_k", "wgmma_128x192_2x1", "mma_sync_128x128", *FMA]
# The guarded kernel of a layer of tf32 has tensor cores, and gives what they give.
TF32 = ["wgmma_fp16_128x256_stream_k", "mma_sync_fp16_128x128_stream_k"]
M, N, K = 1024, 1024, [256, 1024, 4096, 8192]
MAX = torch.finfo(torch.float32).max


@pytest.fixture
def name(request):
    require_family(request.param)
    return request.param


def special_layers(name):
    shapes = [(72, 136), (65, 131), (300, 1024)]
    return [Layer(SCHEDULES[name].kind, n, k, bare) for n, k in shapes for bare in (True, False)]


@pytest.mark.parametrize("name", NAMES + TF32, indirect=True)
def test_nan_and_infinity(name, tmp_path):
    layers = special_layers(name)
    model = compile_fp32([layer.graph() for layer in layers], tmp_path / "layers", "cuda", name).model
    assert_special_values(layers, model)


@pytest.mark.parametrize("name", NAMES, indirect=True)
def test_nan_and_infinity_as_sgemm(name, tmp_path):
    """Also where finite elements overflow: each product by itself, since with partial sums their order would matter."""
    layer = Layer("fp32", 300, 1024, bare=True)
    model = compile_fp32([layer.graph()], tmp_path / "layer", "cuda", name).model
    for placed, tensors in special_cases(layer, 133):
        tensors["x"][77], tensors["x"][78, ::2] = MAX, -MAX
        tensors["w"][50] = 2.0
        (got,) = bind_entry(model, layer.name, tensors)()
        expected = torch.mm(tensors["x"], tensors["w"].T)
        overflows = torch.zeros(got.shape, dtype=torch.bool, device="cuda")
        overflows[77:79] = True
        overflows[:, 50] = False
        found = torch.where(overflows, torch.zeros_like(got), got)
        assert_same_class(layer, found, expected.masked_fill(overflows, 0.0), f"special values in {placed}")


def distributions(k):
    """Give x and w by name: as KernelBench draws them, of both signs, normal, and with few outliers."""
    generator = torch.Generator("cuda").manual_seed(k)

    def uniform(*shape):
        return torch.rand(shape, device="cuda", generator=generator)

    def normal(*shape):
        return torch.randn(shape, device="cuda", generator=generator)

    yield "kernelbench", uniform(M, k), (2.0 * uniform(N, k) - 1.0) / k**0.5
    yield "uniform", 2.0 * uniform(M, k) - 1.0, 2.0 * uniform(N, k) - 1.0
    yield "normal", normal(M, k), normal(N, k)
    x = normal(M, k)
    x[:, 5] *= 1000.0
    yield "outliers", x, normal(N, k)


@pytest.mark.parametrize("name", NAMES, indirect=True)
def test_errors_beside_those_of_sgemm(name, tmp_path):
    """The largest error and the rms are at most 1.05 of torch.mm's."""
    assert torch.get_float32_matmul_precision() == "highest"
    layers = [Layer("fp32", N, k, bare=True) for k in K]
    model = compile_fp32([layer.graph() for layer in layers], tmp_path / "layers", "cuda", name).model
    worse = []
    for layer in layers:
        for data, x, w in distributions(layer.k):
            exact = x.double() @ w.double().T
            (got,) = bind_entry(model, layer.name, {"x": x, "w": w})()
            ours, theirs = got.double() - exact, torch.mm(x, w.T).double() - exact
            for figure, measure in (("max", lambda e: e.abs().max()), ("rms", lambda e: e.square().mean().sqrt())):
                mine, other = measure(ours).item(), measure(theirs).item()
                print(f"{name} {data} K = {layer.k} {figure}: {mine:.3e}, SGEMM {other:.3e}, ratio {mine / other:.3f}")
                if not mine <= 1.05 * other:
                    worse.append(f"{data}, K = {layer.k}: {figure} error {mine:.3e}, SGEMM's {other:.3e}")
    assert not worse, "\n".join([name, *worse])


def batch_norm_graph():
    """Return a layer, times a scale, then batch norm in training with running statistics."""
    n, k = 264, 1096
    x, w = Value("x", ("m", k), "f32"), Value("w", (n, k), "f32", "weight", is_param=True)
    scale, weight, bias, mean = (Value(name, (n,), "f32", is_param=True) for name in ("scale", "g", "b", "mean"))
    variance = Value("var", (n,), "f32", "positive")
    mean.is_param = False
    p, s, y = (Value(name, ("m", n), "f32") for name in "psy")
    new = [Value(name, (n,), "f32") for name in ("new_mean", "new_var")]
    norm = Op("batch_norm_training", [s, weight, bias, mean, variance], [y, *new], {"eps": 1e-5, "momentum": 0.1})
    norm.groups = ("weight", "bias", "running")
    ops = [linear("fp32", x, w, p), Op("mul", [p, scale], [s]), norm]
    inputs = [x, w, scale, weight, bias, mean, variance]
    return Graph("batch_norm", {"m": 300}, dynamic=True, inputs=inputs, ops=ops, returns=[y, *new])


@pytest.mark.parametrize("name", [*NAMES[:3], *CHOSEN], indirect=True)
def test_batch_norm(name, tmp_path):
    graph = batch_norm_graph()
    model = compile_fp32([graph], tmp_path / "layer", "cuda", name).model
    for rows in (300, 2, 129):
        batch = with_batch(graph, rows)
        inputs = draw_inputs(batch)
        got = to_host(bind_entry(model, graph.name, to_device(inputs, "cuda"))())
        misses = describe_misses(batch, got, evaluate(batch, inputs))
        assert not misses, misses
