# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows and groups wider than a tile on a GPU, whose tiles exchange what they have, beside PyTorch in float64."""

import pytest

torch = pytest.importorskip("torch")
import tenon  # noqa: E402
from row_models import HEADS, draw, errors, expected, source  # noqa: E402
from test_row_reductions_gpu import TOLERANCES, check  # noqa: E402

pytestmark = pytest.mark.gpu

EXCHANGED = ["softmax", "log_softmax", "logsumexp", "layer_norm", "rms_norm", "residual", "group_norm"]
SCHEDULE = (
    "wgmma, tile = {}x{}, warps = {}, stages = 3, swizzle = 128, raster = 8, blocks = 1{}, reduction = resident_rows"
)
FORMS = {
    "two_warpgroups": ("128x128", "8x1", ""),
    "clusters": ("128x256", "8x1", ", cluster = 2x1"),
    "wide_clusters": ("64x64", "4x1", ", cluster = 1x2"),
    "ping_pong": ("64x128", "4x1", ", cluster = 2x1, ping_pong = true"),
}
# Of split x and w, which a guard stands beside.
SPLIT_FORMS = {
    "two_warpgroups": ("128x128", "8x1", ""),
    "clusters": ("128x192", "8x1", ", cluster = 2x1"),
    "wide_clusters": ("64x64", "4x1", ", cluster = 1x2"),
}
MMA_SYNC = "mma_sync, tile = {}x{}, warps = {}, stages = 3, swizzle = 128, raster = 8, blocks = 1{}"
ROWS = (2, 17, 64, 130, 1000, 5000)


def schedule_of(form, dtype):
    tile, warps, more = FORMS[form]
    return SCHEDULE.format(tile, 32 if dtype == "float32" else 64, warps, more)


@pytest.mark.parametrize(("dtype", "precision"), [("float32", "tf32"), ("float16", None), ("bfloat16", None)])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [264, 520, 1000, 1031, 4096, 8192])
def test_rows(n, form, dtype, precision):
    first = sorted(FORMS).index(form) + n
    for i, k in enumerate((64, 520)):
        head = EXCHANGED[(first + 3 * i) % (len(EXCHANGED) - 1)]
        check(head, n, k, dtype, precision, ROWS, target="sm_90a", strategy="tiled", schedule=schedule_of(form, dtype))


@pytest.mark.parametrize("form", SPLIT_FORMS)
@pytest.mark.parametrize("n", [264, 1000, 1031, 4096, 8192])
def test_split_rows(n, form):
    tile, warps, more = SPLIT_FORMS[form]
    schedule = SCHEDULE.format(tile, 64, warps, more + ", method = fp16x3")
    for head, k in zip(("softmax", "layer_norm", "residual"), (64, 520, 72), strict=True):
        check(head, n, k, "float32", None, ROWS, target="sm_90a", strategy="tiled", schedule=schedule)


@pytest.mark.parametrize(
    ("dtype", "k", "tile", "warps", "more"),
    [
        ("bfloat16", 64, "128x128", "2x4", ""),
        ("float16", 64, "64x256", "2x4", ""),
        ("float32", 64, "64x128", "2x4", ", method = fp16x3"),
    ],
)
@pytest.mark.parametrize("n", [264, 1031, 4096])
def test_mma_sync(n, dtype, k, tile, warps, more):
    schedule = MMA_SYNC.format(tile, k, warps, more + ", reduction = resident_rows")
    for head in ("softmax", "layer_norm", "rms_norm"):
        check(head, n, 520, dtype, None, ROWS, target="sm_90", strategy="tiled", schedule=schedule)


def test_split_rows_outside():
    """Rows that their split does not hold are computed anew with all of their tiles; others keep their bits."""
    n, k, m = 4096, 512, 3000
    schedule = SCHEDULE.format("128x192", 64, "8x1", ", cluster = 2x1, method = fp16x3")
    run = tenon.compile(source("layer_norm", n, k, "float32"), target="sm_90a", strategy="tiled", schedule=schedule)
    tensors = draw(m, n, k, torch.float32, "cuda")
    tensors[1][:, 3] = 0.0
    before = run(*tensors)
    tensors[0][[5, 1000, m - 1], 3] = 1e12
    for _ in range(3):
        got = run(*tensors)
        assert max(errors([got], expected("layer_norm", tensors))) <= TOLERANCES["float32"]
    assert torch.equal(got[128:896], before[128:896])
    tensors[1][17, 5] = 1e25
    assert max(errors([run(*tensors)], expected("layer_norm", tensors))) <= 10 * TOLERANCES["float32"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [1280, 2560, 3840, 7680])
def test_groups(n, form):
    check(
        "group_norm", n, 520, "bfloat16", None, ROWS, target="sm_90a", strategy="tiled", schedule=schedule_of(form, "")
    )


@pytest.mark.parametrize("head", EXCHANGED)
def test_auto(head):
    run = check(
        head, 1280, 72, "bfloat16", None, (17, 1000), target="sm_90a", reduction="resident_rows", strategy="tiled"
    )
    assert "resident_rows" in [remark.values.get("reduction") for remark in run.remarks]


def test_special_rows():
    """Rows and parts of infinities, NaN and very large numbers are as PyTorch has them."""
    n, inf, nan = 700, float("inf"), float("nan")
    for head in ("softmax", "logsumexp"):
        run = tenon.compile(
            source(head, n, 64, "bfloat16"), target="sm_90a", schedule=schedule_of("clusters", ""), strategy="tiled"
        )
        for first, last in ((-inf, -inf), (inf, 0.0), (0.0, inf), (-inf, 0.0), (nan, 0.0), (1e30, 1e30), (-1e30, 1e30)):
            tensors = draw(70, n, 64, torch.bfloat16, "cuda")
            tensors[0].zero_()
            tensors[2][:300], tensors[2][300:] = first, last
            assert max(errors([run(*tensors)], expected(head, tensors))) <= TOLERANCES["bfloat16"]


def test_graph():
    """A replayed graph brings the same token: what the launch before left must not be taken for its own."""
    run = tenon.compile(
        source("layer_norm", 1024, 512, "bfloat16"),
        target="sm_90a",
        schedule=schedule_of("ping_pong", ""),
        strategy="tiled",
    )
    tensors = draw(1000, 1024, 512, torch.bfloat16, "cuda")
    run(*tensors)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = run(*tensors)
    for seed in range(3):
        for tensor, other in zip(tensors, draw(1000, 1024, 512, torch.bfloat16, "cuda", seed=seed), strict=True):
            tensor.copy_(other)
        graph.replay()
        assert max(errors([result], expected("layer_norm", tensors))) <= TOLERANCES["bfloat16"]


def test_heads_are_known():
    assert set(EXCHANGED) <= set(HEADS)
