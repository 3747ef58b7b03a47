# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that a tiled kernel computes: NaN and infinity where they belong, and errors beside torch.matmul's."""

from contextlib import ExitStack
from functools import partial

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon", reason="the package compiles the layers")
from special_values import assert_special_values  # noqa: E402
from tenon_graphs import wgmma  # noqa: E402
from tenon_graphs.ahead import compile_ahead  # noqa: E402
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


def large_layer(kind):
    """Return the layer whose errors are compared with torch's."""
    return Layer(kind, N, K, bare=True)


def layers_with_special_values(kind):
    """Return pairs of layers; the rows of K = 131 are not for TMA."""
    return [[Layer(kind, n, k, bare) for bare in (True, False)] for n, k in [(72, 136), (65, 131), (300, 1024)]]


def compile_values(layers, stem, target):
    return layers, compile_tiled([layer.graph() for layer in layers], stem, "cuda", target=target)


def compile_scheduled(layers, stem, kind, schedule):
    return layers, wgmma.compile_wgmma([layer.graph() for layer in layers], stem, "cuda", kind, schedule)


def jobs(folder, target):
    """Return what compiles all layers for a target, by name of what they are for."""
    made = {
        f"special-{kind}": [
            partial(compile_values, layers, folder / f"special-{kind}-{layers[0].n}", target)
            for layers in layers_with_special_values(kind)
        ]
        for kind in KINDS
    }
    for kind in ROUNDED:
        made[f"errors-{kind}"] = [partial(compile_values, [large_layer(kind)], folder / f"errors-{kind}", target)]
    for kind, schedule in SCHEDULED if target == wgmma.TARGET else []:
        made[schedule] = [
            partial(compile_scheduled, layers, folder / f"{schedule}-{layers[0].n}", kind, schedule)
            for layers in layers_with_special_values(kind)
            if layers[0].k % 8 == 0
        ]
    return made


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Give a function of a target and a name: layers, and the models that they are in; all of a target at once."""
    with ExitStack() as stack:
        targets = {}

        def get(target, name):
            if target not in targets:
                folder = tmp_path_factory.mktemp("values")
                targets[target] = stack.enter_context(compile_ahead(jobs(folder, target)))
            return targets[target](name)

        yield get


@pytest.fixture(params=["mma_sync", "wgmma"])
def target(request):
    """Give the target that has a family of kernels."""
    if request.param == "mma_sync":
        return TARGET
    require_hopper()
    return wgmma.TARGET


@pytest.mark.parametrize("kind", list(KINDS))
def test_nan_and_infinity(kind, target, compiled):
    """They come out where float64 has them: in no other row or column, and none is lost."""
    parts = compiled(target, f"special-{kind}")
    assert sum(part.library for _, part in parts) == 0
    assert sum(part.wgmma for _, part in parts) == (4 if target == wgmma.TARGET else 0)
    for layers, part in parts:
        assert_special_values(layers, part.model)


@pytest.mark.parametrize(("kind", "schedule"), SCHEDULED)
def test_nan_and_infinity_by_schedule(kind, schedule, compiled):
    require_hopper()
    for layers, part in compiled(wgmma.TARGET, schedule):
        assert_special_values(layers, part.model)


@pytest.fixture
def tf32_in_torch():
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    yield
    torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("kind", ROUNDED)
def test_errors_beside_those_of_torch(kind, target, tf32_in_torch, compiled):
    """The largest error and the rms are at most 1.05 of torch.matmul's, on uniform and on normal data."""
    [([layer], part)] = compiled(target, f"errors-{kind}")
    model = part.model
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
