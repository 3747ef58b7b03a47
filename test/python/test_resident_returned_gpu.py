# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers that return what comes before their training batch norm, in one kernel (resident), on a GPU."""

import pytest

torch = pytest.importorskip("torch")
tenon = pytest.importorskip("tenon", reason="the package compiles the layers")

pytestmark = pytest.mark.gpu
EPS = 1e-3
SCHEDULES = {
    "rows": "wgmma, tile = 128x128x64, warps = 8x1, stages = 4",
    "swapped": "wgmma, tile = 128x128x64, warps = 1x8, stages = 4",
    "deferred": "wgmma, tile = 128x128x64, warps = 1x8, stages = 4, defer = true",
    "clusters": "wgmma, tile = 256x128x64, warps = 1x8, stages = 4, cluster = 1x2, defer = true",
}
# M, N, K: ragged tiles; several turns.
SHAPES = [(300, 200, 264), (700, 1000, 2056), (1024, 16384, 2048)]


def source(m, n, k, dtype, schedule):
    """Return (z, y) of z = x w^T + b and y = batch_norm(z * s)."""
    x, w, z, v = f"tensor<{m}x{k}x{dtype}>", f"tensor<{n}x{k}x{dtype}>", f"tensor<{m}x{n}x{dtype}>", f"tensor<{n}xf32>"
    shared = "swizzle = 128, raster = 8, blocks = 1, reduction = resident"
    return f"""
func.func @layer(%x: {x}, %w: {w}, %b: {v}, %s: {v}) -> ({z}, {z}) {{
  %0:2 = tenon.fused_linear %x, %w : {x}, {w} epilogue(%acc: {z}, %bias = %b: {v}, %scale = %s: {v}) -> ({z}, {z})
      attributes {{strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<{schedule}, {shared}>}} {{
    %1 = tenon.add %acc, %bias : {z}, {v}
    %2 = tenon.mul %1, %scale : {z}, {v}
    %3 = tenon.batch_norm_training %2 {{eps = {EPS}}} : ({z}) -> {z}
    tenon.yield %1, %3 : {z}, {z}
  }}
  return %0#0, %0#1 : {z}, {z}
}}"""


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", SCHEDULES)
def test_returned(name, shape, dtype, shift):
    """Both are right, twice the same, and so where TMA cannot take x, `shift` elements off."""
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("kernels of wgmma are for sm_90a")
    m, n, k = shape
    layer = tenon.compile(source(m, n, k, dtype, SCHEDULES[name]), target="sm_90a")["layer"]
    kind = {"bf16": torch.bfloat16, "f16": torch.float16}[dtype]
    torch.manual_seed(0)
    x = torch.randn(m * k + shift, device="cuda").to(kind)[shift:].view(m, k)
    w = (torch.randn(n, k, device="cuda") / k**0.5).to(kind)
    b, s = torch.randn(2, n, device="cuda")
    got = layer(x, w, b, s)
    z = x.double() @ w.double().t() + b.double()
    scaled = z * s.double()
    y = (scaled - scaled.mean(0)) * (scaled.var(0, unbiased=False) + EPS).rsqrt()
    error = {"bf16": 2.0**-8, "f16": 2.0**-11}[dtype]
    for value, exact in zip(got, (z, y), strict=True):
        # The norm's input is rounded once more where a tile is held, or reduced by another kernel.
        assert ((value.double() - exact).abs() <= 6 * error * (1 + exact.abs())).all()
    assert all(torch.equal(a, b) for a, b in zip(got, layer(x, w, b, s), strict=True))
