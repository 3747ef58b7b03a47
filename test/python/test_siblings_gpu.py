# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches of several layers of one x are right on a GPU, for any M, N and pointers, and from PyTorch."""

import pytest

torch = pytest.importorskip("torch")
tenon = pytest.importorskip("tenon", reason="the package compiles the layers")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

pytestmark = pytest.mark.gpu
# The target, and a schedule of it; none: the one that is chosen.
SCHEDULES = {
    "chosen": ("sm_90a", ""),
    "chosen_mma_sync": ("sm_80", ""),
    "swapped": ("sm_90a", "wgmma, tile = 16x64x64, warps = 1x4, stages = 6, swizzle = 128, raster = 8, blocks = 1"),
    "rows": ("sm_90a", "wgmma, tile = 128x128x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1"),
    "mma_sync": ("sm_80", "mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1"),
}
TYPES = {"f16": (torch.float16, 2.0**-9), "bf16": (torch.bfloat16, 2.0**-6), "f32": (torch.float32, 2.0**-9)}
COLUMNS, K = (264, 72, 136), 328


def source(rows, element):
    """Return q = x wᵀ + b, k = relu(x wᵀ), v = x wᵀ + r."""
    x = f"tensor<{rows}x{K}x{element}>"
    w = [f"tensor<{n}x{K}x{element}>" for n in COLUMNS]
    y = [f"tensor<{rows}x{n}x{element}>" for n in COLUMNS]
    b = f"tensor<{COLUMNS[0]}x{element}>"
    precision = " {precision = #tenon.precision<tf32>}" if element == "f32" else ""
    return f"""
func.func @forward(%x: {x}, %w0: {w[0]} {{tenon.param}}, %w1: {w[1]} {{tenon.param}}, %w2: {w[2]} {{tenon.param}},
                   %b: {b} {{tenon.param}}, %r: {y[2]}) -> ({", ".join(y)}) {{
  %0 = tenon.linear %x, %w0, %b{precision} : ({x}, {w[0]}, {b}) -> {y[0]}
  %1 = tenon.linear %x, %w1{precision} : ({x}, {w[1]}) -> {y[1]}
  %2 = tenon.relu %1 : {y[1]}
  %3 = tenon.linear %x, %w2{precision} : ({x}, {w[2]}) -> {y[2]}
  %4 = tenon.add %3, %r : {y[2]}, {y[2]}
  return %0, %2, %4 : {", ".join(y)}
}}"""


def compile_layers(name, rows, element):
    target, schedule = SCHEDULES[name]
    options = {"schedule": f"{schedule}, siblings = 3"} if schedule else {"siblings": "always", "strategy": "tiled"}
    model = tenon.compile(source(rows, element), target=target, **options)
    launched = [remark.values["launch_line"] for remark in model.remarks if "launch_line" in remark.values]
    assert len(launched) == 2, "one launch has all three"
    return model


def draw(m, element):
    generator = torch.Generator("cuda").manual_seed(m)

    def random(*shape):
        return torch.randn(shape, device="cuda", generator=generator).to(TYPES[element][0])

    return [random(m, K), *(random(n, K) / 8 for n in COLUMNS), random(COLUMNS[0]), random(m, COLUMNS[2])]


def check(results, tensors, element):
    x, *ws, b, r = (t.double() for t in tensors)
    products = [x @ w.T for w in ws]
    sizes = [x.abs() @ w.abs().T for w in ws]
    expected = products[0] + b, products[1].relu(), products[2] + r
    largest = r.abs().max() if r.numel() else 0.0
    for i, (y, want, size) in enumerate(zip(results, expected, sizes, strict=True)):
        of_products = 2.0**-10 if element == "f32" else 2.0**-16
        bound = of_products * (size + 1) + TYPES[element][1] * (want.abs() + largest)
        assert ((y.double() - want).abs() <= bound).all(), f"result {i}"


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_any_rows(name, element):
    model = compile_layers(name, "?", element)
    for m in (1, 8, 129, 0, 1000):
        tensors = draw(m, element)
        first, again = (model(*tensors) for _ in range(2))
        check(first, tensors, element)
        assert all(map(torch.equal, first, again)), f"M = {m}: another result the second time"


@pytest.mark.parametrize("name", ["chosen", "chosen_mma_sync"])
@pytest.mark.parametrize("m", [1, 8, 64])
@pytest.mark.parametrize("element", ["bf16", "f32"])
def test_known_rows(name, m, element):
    tensors = draw(m, element)
    check(compile_layers(name, m, element)(*tensors), tensors, element)


def test_unaligned_pointers():
    model = compile_layers("swapped", "?", "bf16")
    x, *others = draw(13, "bf16")
    room = torch.empty(x.numel() + 1, dtype=x.dtype, device="cuda")
    shifted = room[1:].view(x.shape)
    shifted.copy_(x)
    check(model(shifted, *others), (x, *others), "bf16")


class Attention(nn.Module):
    """As Llama's with fewer heads for k and v, without what turns q and k."""

    def __init__(self, size=1024, heads=16, kv_heads=4):
        super().__init__()
        self.width, self.groups = size // heads, heads // kv_heads
        self.q, self.o = nn.Linear(size, size, bias=False), nn.Linear(size, size, bias=False)
        self.k, self.v = (nn.Linear(size, kv_heads * self.width, bias=False) for _ in range(2))

    def forward(self, x):
        q, k, v = (p(x).view(*x.shape[:2], -1, self.width).transpose(1, 2) for p in (self.q, self.k, self.v))
        k, v = (t.repeat_interleave(self.groups, 1) for t in (k, v))
        return self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


@pytest.mark.parametrize("siblings", ["always", "auto"])
def test_attention(siblings):
    torch.manual_seed(0)
    model = Attention().to("cuda", torch.bfloat16).eval()
    x = torch.randn(1, 8, 1024, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        expected = model.double()(x.double())
        model = model.bfloat16()
        eager = (model(x) - expected).abs().max()
        compiled = torch.compile(model, backend="tenon", options={"siblings": siblings})
        assert (compiled(x) - expected).abs().max() <= 1.5 * eager + 2.0**-8
