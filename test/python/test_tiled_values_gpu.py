# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that a tiled kernel computes: NaN and infinity where they belong, and errors beside torch.matmul's."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon", reason="the package compiles the layers")
from special_values import assert_special_values  # noqa: E402
from tenon_graphs import wgmma  # noqa: E402
from tenon_graphs.devices import require_hopper  # noqa: E402
from tenon_graphs.execute import bind_entry  # noqa: E402
from tenon_graphs.tiled import KINDS, TARGET, compile_tiled  # noqa: E402
from tiled_layers import TORCH, Layer  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU"),
]
ROUNDED = ["f16", "bf16", "tf32"]
SCHEDULED = [
    ("bf16", "wgmma_64x40"),
    ("f16", "wgmma_128x256_2x1_stream_k"),
    ("tf32", "wgmma_256x128_1x2_stream_k"),
    ("tf32", "wgmma_64x256_ping_pong_stream_k"),
]
M, N, K = 1024, 4096, 4096


@pytest.fixture(params=["mma_sync", "wgmma"])
def target(request):
    """Give the target that has a family of kernels."""
    if request.param == "mma_sync":
        return TARGET
    require_hopper()
    return wgmma.TARGET


def layers_with_special_values(kind):
    """Return layers; the rows of K = 131 are not for TMA."""
    return [Layer(kind, n, k, bare) for n, k in [(72, 136), (65, 131), (300, 1024)] for bare in (True, False)]


@pytest.mark.parametrize("kind", list(KINDS))
def test_nan_and_infinity(kind, target, tmp_path):
    """They come out where float64 has them: in no other row or column, and none is lost."""
    layers = layers_with_special_values(kind)
    graphs = [layer.graph() for layer in layers]
    compiled = compile_tiled(graphs, tmp_path / "layers", "cuda", target=target)
    assert (compiled.library, compiled.wgmma) == (0, 4 if target == wgmma.TARGET else 0)
    assert_special_values(layers, compiled.model)


@pytest.mark.parametrize(("kind", "schedule"), SCHEDULED)
def test_nan_and_infinity_by_schedule(kind, schedule, tmp_path):
    require_hopper()
    layers = [layer for layer in layers_with_special_values(kind) if layer.k % 8 == 0]
    graphs = [layer.graph() for layer in layers]
    compiled = wgmma.compile_wgmma(graphs, tmp_path / "layers", "cuda", kind, schedule)
    assert_special_values(layers, compiled.model)


@pytest.fixture
def tf32_in_torch():
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    yield
    torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("kind", ROUNDED)
def test_errors_beside_those_of_torch(kind, target, tf32_in_torch, tmp_path):
    """The largest error and the rms are at most 1.05 of torch.matmul's, on uniform and on normal data."""
    layer = Layer(kind, N, K, bare=True)
    model = compile_tiled([layer.graph()], tmp_path / "layer", "cuda", target=target).model
    generator = torch.Generator("cuda").manual_seed(0)
    worse = []
    for data in (torch.rand, torch.randn):
        x = data(M, K, device="cuda", generator=generator).to(TORCH[layer.dtype])
        w = (data(N, K, device="cuda", generator=generator) - (data is torch.rand) * 0.5) / K**0.5
        w = w.to(TORCH[layer.dtype])
        exact = x.double() @ w.double().T
        (got,) = bind_entry(model, layer.name, {"x": x, "w": w})()
        ours, theirs = got.double() - exact, torch.matmul(x, w.T).double() - exact
        for name, measure in (("max", lambda e: e.abs().max()), ("rms", lambda e: e.square().mean().sqrt())):
            mine, other = measure(ours).item(), measure(theirs).item()
            print(f"{kind} {data.__name__} {name}: {mine:.3e}, torch {other:.3e}, ratio {mine / other:.3f}")
            if not mine <= 1.05 * other:
                worse.append(f"{data.__name__}: {name} error {mine:.3e}, torch.matmul's {other:.3e}")
    assert not worse, "\n".join([kind, *worse])
