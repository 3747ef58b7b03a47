# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that a tiled kernel computes: NaN and infinity where they belong, and errors beside torch.matmul's."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon", reason="the package compiles the layers")
from tenon_graphs import wgmma  # noqa: E402
from tenon_graphs.devices import require_hopper  # noqa: E402
from tenon_graphs.execute import bind_entry  # noqa: E402
from tenon_graphs.tiled import KINDS, TARGET, compile_tiled  # noqa: E402
from tiled_layers import TORCH, Layer  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU"),
]
# The last two of each are infinities. A NaN of f32 may have its only bits where tf32 has none, or none to spare
# for a carry.
PATTERNS = {
    "f32": [0x7FC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001, 0xFF800001, 0xFFC00000, 0x7F801000, 0x7F800000, 0xFF800000],
    "f16": [0x7E00, 0x7FFF, 0xFFFF, 0x7C01, 0xFC01, 0x7C00, 0xFC00],
    "bf16": [0x7FC0, 0x7FFF, 0xFFFF, 0x7F81, 0xFF81, 0x7F80, 0xFF80],
}
ROUNDED = ["f16", "bf16", "tf32"]
SCHEDULED = [
    ("bf16", "wgmma_64x40"),
    ("f16", "wgmma_128x256_2x1_stream_k"),
    ("tf32", "wgmma_256x128_1x2_stream_k"),
    ("tf32", "wgmma_64x256_ping_pong_stream_k"),
]
M, N, K = 1024, 4096, 4096


def place(tensor, pattern, row, column):
    """Write bits into a tensor."""
    signed = pattern - 2 ** (8 * tensor.element_size()) if pattern >> (8 * tensor.element_size() - 1) else pattern
    tensor.view({2: torch.int16, 4: torch.int32}[tensor.element_size()])[row, column] = signed


def special_cases(layer, m):
    """Give inputs with each pattern in x, in w and in both, and a zero of w that meets some."""
    patterns = PATTERNS[layer.dtype]
    for placed in ("x", "w", "xw"):
        tensors = layer.draw(m)
        tensors["w"][-1] = 0.0
        for name in placed:
            tensor = tensors[name]
            for i, pattern in enumerate(patterns[: tensor.shape[0]]):
                place(tensor, pattern, (5 * i + 1) % tensor.shape[0], (i * 37 + tensor.shape[1] - 1) % tensor.shape[1])
        yield placed, tensors


def assert_same_class(layer, got, expected, what):
    for name, test in (("NaN", torch.isnan), ("inf", torch.isposinf), ("-inf", torch.isneginf)):
        wrong = test(got) != test(expected)
        if bool(wrong.any()):
            at = tuple(wrong.nonzero()[0].tolist())
            raise AssertionError(
                f"{layer.name}, {what}: {int(wrong.sum())} elements are {name} in one of the results only; the first "
                f"at {at}: got {got[at].item()}, expected {expected[at].item()}"
            )


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


def assert_special_values(layers, model):
    for layer in layers:
        for m in (1, 64, 133):
            for placed, tensors in special_cases(layer, m):
                (got,) = bind_entry(model, layer.name, tensors)()
                expected, error = layer.exact(tensors)
                what = f"M = {m}, special values in {placed}"
                assert_same_class(layer, got, expected, what)
                finite = torch.isfinite(expected)
                off = (got.double() - expected).abs()[finite] > error[finite]
                assert not bool(off.any()), f"{layer.name}, {what}: {int(off.sum())} finite elements are off"


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
