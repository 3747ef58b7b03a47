# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The option `strategy`: how it reaches the compiler, and what explain says of the choice."""

import pytest

torch = pytest.importorskip("torch")
import tenon.torch as tt  # noqa: E402
from tenon import compiler  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

M, K, N = 512, 256, 384


class Chain(nn.Module):
    """A linear layer, and what cuBLASLt cannot do behind it."""

    def __init__(self, dtype=torch.float16):
        super().__init__()
        self.gemm = nn.Linear(K, N, dtype=dtype)

    def forward(self, x):
        return F.mish(self.gemm(x) * 2.0)


class Normed(Chain):
    """A reduction behind the layer."""

    def __init__(self, dtype=torch.float16):
        super().__init__(dtype)
        self.norm = nn.BatchNorm1d(N, dtype=dtype)

    def forward(self, x):
        return F.relu(self.norm(self.gemm(x)))


def explained(model, **options):
    """Return the table and the only layer of a model on sm_80."""
    x = torch.randn(M, K, dtype=model.gemm.weight.dtype)
    explanation = tt.explain(model, x, options={"target": "sm_80", **options})
    (layer,) = explanation.reports[0].layers
    return explanation.table, layer


@pytest.fixture
def precision():
    before = torch.get_float32_matmul_precision()
    yield torch.set_float32_matmul_precision
    torch.set_float32_matmul_precision(before)


def test_a_tiled_layer_is_one_kernel():
    table, layer = explained(Chain(), strategy="tiled")
    assert layer.strategy == "tiled" and layer.reason == ""
    assert [kernel.name for kernel in layer.kernels] == ["tiled kernel"]
    assert "tiled kernel  linear, mul, mish" in table and "cuBLASLt" not in table
    assert layer.choice.startswith("tiled: strategy=tiled (tiles of ") and layer.choice in table


def test_library_is_forced_too():
    table, layer = explained(Chain(), strategy="library")
    assert (layer.strategy, layer.choice) == ("library", "library: strategy=library")
    assert [kernel.name for kernel in layer.kernels] == ["cuBLASLt product", "epilogue kernel"]
    assert layer.choice in table and layer.reason in table


def test_auto_says_why():
    _, layer = explained(Chain())
    assert layer.choice.startswith(f"{layer.strategy}: ") and "sm_80" in layer.choice


def test_what_cannot_be_tiled_says_why():
    _, layer = explained(Normed().train(), strategy="tiled", reduction="separate")
    assert layer.strategy == "library"
    assert layer.choice.startswith("library: the layer cannot be tiled (") and "batch_norm" in layer.choice


@pytest.mark.parametrize(
    ("asked", "kernels"),
    [("highest", ["split of x", "tiled kernel"]), ("high", ["tiled kernel"]), ("medium", ["tiled kernel"])],
    ids=str,
)
def test_precision_of_torch_decides_how_it_is_tiled(precision, asked, kernels):
    precision(asked)
    table, layer = explained(Chain(torch.float32), strategy="tiled")
    assert layer.strategy == "tiled"
    assert [kernel.name for kernel in layer.kernels] == kernels
    assert ("fp16x3" in layer.choice) == ("rows outside" in layer.reason) == (asked == "highest")
    assert layer.reason in table


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_a_separate_reduction_behind_split_products_has_kernels_of_its_own(precision, target):
    precision("highest")
    model = Normed(torch.float32).train()
    table, layer = explained(model, strategy="tiled", reduction="separate", target=target)
    assert [kernel.name for kernel in layer.kernels] == ["split of x", "tiled kernel", "epilogue: reduce, map"]
    assert [len(kernel.nodes) for kernel in layer.kernels[:2]] == [1, 1]  # the product's
    assert "3 steps of Tenon's" in table


@pytest.mark.parametrize(
    ("reduction", "kernels"), [("two_phase", ["tiled kernel", "epilogue: map"]), ("resident", ["tiled kernel"])]
)
def test_a_reduction_asked_for_is_told(reduction, kernels):
    model = Normed(torch.bfloat16).train()
    table, layer = explained(model, strategy="tiled", reduction=reduction, target="sm_90a")
    assert [kernel.name for kernel in layer.kernels] == kernels
    assert f"{len(kernels)} step" in table and f"{reduction} by direct" in layer.choice


def test_layers_that_share_their_input_split_it_once(precision):
    precision("highest")
    gated = nn.ModuleList(Chain(torch.float32) for _ in range(2))
    gated.forward = lambda x: gated[0](x) * gated[1].gemm(x)
    report = tt.explain(
        gated, torch.randn(M, K), options={"target": "sm_80", "strategy": "tiled", "pairs": "never"}
    ).reports[0]
    kernels = [[kernel.name for kernel in layer.kernels] for layer in report.layers]
    assert kernels == [["split of x", "tiled kernel"], ["tiled kernel"]]


def test_every_target_is_explained():
    _, layer = explained(Chain(), strategy="tiled", target=["sm_80", "sm_90a"])
    assert "sm_80" in layer.choice and "sm_90a" in layer.choice


def calls_compile(model, options):
    torch._dynamo.reset()
    return torch.compile(model, backend="tenon", options=options)


def calls_optimize(model, options):
    return tt.optimize(model, options=options)


@pytest.mark.parametrize("front_end", [calls_compile, calls_optimize])
def test_each_strategy_has_its_entry_in_the_cache(front_end, tmp_path, monkeypatch):
    monkeypatch.setenv("TENON_CACHE_DIR", str(tmp_path))
    for entries, strategy in enumerate(["auto", "library", "tiled", "auto"], 1):
        model = front_end(Chain(torch.float32), {"strategy": strategy})
        with torch.no_grad():
            for _ in range(2):  # optimize's first call is PyTorch's own
                model(torch.randn(4, K))
        assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == min(entries, 3)


def test_aot_compile_passes_it_on(tmp_path, monkeypatch):
    given = {}
    monkeypatch.setattr(compiler, "_build", lambda source, facts, *rest: given.update(facts) or [])
    monkeypatch.setattr("tenon.torch.ahead_of_time.aot.Executable", lambda *_: None)
    schedule = "mma_sync,tile=64x128x64,warps=2x2,stages=3,swizzle=128,raster=4,blocks=1"
    x = torch.randn(4, K, dtype=torch.float16)
    tt.aot_compile(Chain(), x, tmp_path / "libc.so", target="sm_80", strategy="tiled", schedule=schedule)
    assert (given["strategy"], given["schedule"]) == ("tiled", schedule)
