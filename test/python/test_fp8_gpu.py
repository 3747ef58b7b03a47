# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of 8 bits on a GPU: at every edge of a tile, with scales of rows and columns, and from torch._scaled_mm."""

import copy

import pytest

torch = pytest.importorskip("torch")
import tenon  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from tenon_graphs.devices import require_hopper  # noqa: E402

pytestmark = pytest.mark.gpu
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
SPELLING = {E4M3: "f8E4M3FN", E5M2: "f8E5M2", torch.bfloat16: "bf16", torch.float32: "f32"}
ROUNDOFF = {E4M3: 2.0**-4, E5M2: 2.0**-3, torch.bfloat16: 2.0**-8, torch.float32: 2.0**-20}
STAGES = "swizzle = 128, raster = 8, blocks = 1"
SCHEDULES = {
    "auto": None,
    "cluster": f"wgmma, tile = 128x192x128, warps = 8x1, stages = 4, {STAGES}, cluster = 2x1, method = fp8",
    "stream_k": f"wgmma, tile = 64x128x128, warps = 4x1, stages = 6, {STAGES}, stream_k = true, method = fp8",
    "swapped": f"wgmma, tile = 128x128x128, warps = 1x8, stages = 5, {STAGES}, cluster = 1x2, method = fp8",
}
ROWS = [129, 1, 1000, 64, 0, 63, 2]


@pytest.fixture(scope="module", autouse=True)
def hopper():
    """Need a GPU that has wgmma."""
    require_hopper()


def source(n, k, dtype, result):
    e, r = SPELLING[dtype], SPELLING[result]
    x, w, t, y = f"tensor<?x{k}x{e}>", f"tensor<{n}x{k}x{e}>", f"tensor<?x{n}xf32>", f"tensor<?x{n}x{r}>"
    s, c = "tensor<?x1xf32>", f"tensor<{n}xf32>"
    parameters = f"%w: {w} {{tenon.param}}, %c: {c} {{tenon.param}}, %b: {c} {{tenon.param}}"
    last = f"%5 = tenon.cast %4 : {t} -> {y}" if result != torch.float32 else ""
    return f"""func.func @forward(%x: {x}, %s: {s}, {parameters}) -> {y} {{
  %0 = tenon.linear %x, %w : ({x}, {w}) -> {t}
  %1 = tenon.mul %0, %s : {t}, {s}
  %2 = tenon.mul %1, %c : {t}, {c}
  %3 = tenon.add %2, %b : {t}, {c}
  %4 = tenon.silu %3 : {t}
  {last}
  return %{5 if last else 4} : {y}
}}"""


def draw(m, n, k, dtype):
    """Return x, its scales, w, its scales and a bias; a result is of about 1."""
    generator = torch.Generator("cuda").manual_seed(0)
    x, w = (torch.randn(rows, k, device="cuda", generator=generator).to(dtype) for rows in (m, n))
    s, c, b = (torch.rand(shape, device="cuda", generator=generator) + 0.5 for shape in ((m, 1), (n,), (n,)))
    return x, s / k**0.5, w, c, b


def exact(x, s, w, c, b):
    """Return the result in float64, and what f32 sums of 14-bit ones may be off."""
    x, s, w, c, b = (t.double() for t in (x, s, w, c, b))
    size = (x.abs() @ w.abs().T) * s * c
    return F.silu((x @ w.T) * s * c + b), size * 2.0**-12 + 2.0**-18


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize(
    ("n", "k", "dtype", "result"),
    [(520, 272, E4M3, torch.bfloat16), (72, 1040, E4M3, torch.float32), (776, 400, E5M2, E4M3), (257, 128, E4M3, E5M2)],
)
def test_any_batch(name, n, k, dtype, result):
    settings = {"schedule": SCHEDULES[name]} if SCHEDULES[name] else {}
    model = tenon.compile(source(n, k, dtype, result), target="sm_90a", **settings)
    for m in ROWS:
        operands = draw(m, n, k, dtype)
        want, error = exact(*operands)
        first, second = model(*operands), model(*operands)
        error = error + ROUNDOFF[result] * want.abs() + {E4M3: 2.0**-10, E5M2: 2.0**-17}.get(result, 0)
        assert ((first.double() - want).abs() <= error).all(), f"M = {m}"
        assert torch.equal(first.view(torch.uint8), second.view(torch.uint8))


@pytest.mark.parametrize(
    ("shape_of_x", "shape_of_w", "result"),
    [("?x1x", "528x", "bf16"), ("", "", "bf16"), ("", "", "f16"), ("?x1x", "528x", "f32")],
    ids=["rows", "tensors", "tensors_f16", "epilogue"],
)
def test_library(shape_of_x, shape_of_w, result):
    """By cuBLASLt with its own scales, or of f32 with a kernel behind it; a bias is added before it rounds."""
    n, k = 528, 272
    x, w, t, y = f"tensor<?x{k}xf8E4M3FN>", f"tensor<{n}x{k}xf8E4M3FN>", f"tensor<?x{n}xf32>", f"tensor<?x{n}x{result}>"
    s, c, b = f"tensor<{shape_of_x}f32>", f"tensor<{shape_of_w}f32>", f"tensor<{n}x{result}>"
    last = f"%4 = tenon.cast %3 : {t} -> {y}" if result != "f32" else ""
    text = f"""func.func @forward(%x: {x}, %s: {s}, %w: {w}, %c: {c}, %b: {b}) -> {y} {{
  %0 = tenon.linear %x, %w : ({x}, {w}) -> {t}
  %1 = tenon.mul %0, %s : {t}, {s}
  %2 = tenon.mul %1, %c : {t}, {c}
  %3 = tenon.add %2, %b : {t}, {b}
  {last}
  return %{4 if last else 3} : {y}
}}"""
    model = tenon.compile(text, target="sm_90a", strategy="library")
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}[result]
    for m in ROWS:
        x, s, w, c, b = draw(m, n, k, E4M3)
        s, c = (s, c) if shape_of_w else (c[0], c[1])
        b = b.to(dtype)
        size = (x.double().abs() @ w.double().abs().T) * s.double() * c.double()
        want = (x.double() @ w.double().T) * s.double() * c.double() + b.double()
        error = size * 2.0**-12 + {"f32": 2.0**-20, "f16": 2.0**-11}.get(result, 2.0**-8) * want.abs() + 2.0**-18
        assert ((model(x, s, w, c, b).double() - want).abs() <= error).all(), f"M = {m}"


@pytest.mark.parametrize("n", [128, 520])
def test_result_with_a_scale_of_each_row(n):
    """The scale is computed with the result: in its tile, or in a kernel behind the product."""
    m, k = 300, 512
    x, w, t, y = f"tensor<?x{k}xf8E4M3FN>", f"tensor<{n}x{k}xf8E4M3FN>", f"tensor<?x{n}xf32>", f"tensor<?x{n}xf8E4M3FN>"
    s = "tensor<?x1xf32>"
    text = f"""func.func @forward(%x: {x}, %s: {s}, %w: {w} {{tenon.param}}) -> ({y}, {s}) {{
  %0 = tenon.linear %x, %w : ({x}, {w}) -> {t}
  %1 = tenon.mul %0, %s : {t}, {s}
  %2 = tenon.mul %1, -1.0 : {t}
  %3 = tenon.max %1, %2 : {t}, {t}
  %4 = tenon.reduce_row max %3 : {t}
  %5 = tenon.div %4, 448.0 : {s}
  %6 = tenon.div %1, %5 : {t}, {s}
  %7 = tenon.cast %6 : {t} -> {y}
  return %7, %5 : {y}, {s}
}}"""
    x, s, w, _, _ = draw(m, n, k, E4M3)
    q, scale = tenon.compile(text, target="sm_90a")(x, s, w)
    want = (x.double() @ w.double().T) * s.double()
    size = (x.double().abs() @ w.double().abs().T) * s.double()  # sums of 14 bits err in parts of their terms
    error = (size * 2.0**-12).amax(1, keepdim=True)
    assert ((scale.double() * 448 - want.abs().amax(1, keepdim=True)).abs() <= error).all()
    off = (q.double() * scale.double() - want).abs()
    assert (off <= 2.0**-4 * want.abs() + size * 2.0**-12 + (2.0**-10 + 2.0**-3) * scale.double()).all()


@pytest.mark.parametrize(
    "schedule", [None, f"wgmma, tile = 128x96x128, warps = 8x1, stages = 4, {STAGES}, method = fp8"]
)
@pytest.mark.parametrize(("n", "k", "dtype"), [(576, 1024, E4M3), (200, 272, E5M2)])
def test_blocks_with_scales(n, k, dtype, schedule):
    """Blocks of 1x128 of x and of 128x128 of w, at every edge of a tile, and with x that is not aligned."""
    e, of_n, of_k = SPELLING[dtype], -(-n // 128), -(-k // 128)
    x, w, y = f"tensor<?x{k}x{e}>", f"tensor<{n}x{k}x{e}>", f"tensor<?x{n}xf32>"
    s, t = f"tensor<?x{of_k}xf32>", f"tensor<{of_n}x{of_k}xf32>"
    wide_x, wide_w = f"tensor<?x{k}xf32>", f"tensor<{n}x{k}xf32>"
    text = f"""func.func @forward(%x: {x}, %s: {s}, %w: {w} {{tenon.param}}, %t: {t} {{tenon.param}}) -> {y} {{
  %0 = tenon.scale_blocks %x, %s {{rows = 1, columns = 128}} : ({x}, {s}) -> {wide_x}
  %1 = tenon.scale_blocks %w, %t {{rows = 128, columns = 128}} : ({w}, {t}) -> {wide_w}
  %2 = tenon.linear %0, %1 precision<tf32> : ({wide_x}, {wide_w}) -> {y}
  %3 = tenon.silu %2 : {y}
  return %3 : {y}
}}"""
    settings = {"schedule": schedule} if schedule else {}
    model = tenon.compile(text, target="sm_90a", **settings)
    for m in ROWS:
        generator = torch.Generator("cuda").manual_seed(m)
        x, w = (torch.randn(rows, k, device="cuda", generator=generator).to(dtype) for rows in (m, n))
        shapes = (m, of_k), (of_n, of_k)
        s, t = (10 ** (4 * torch.rand(shape, device="cuda", generator=generator) - 2) for shape in shapes)
        wide_x = x.double() * s.double().repeat_interleave(128, 1)[:, :k]
        wide_w = w.double() * t.double().repeat_interleave(128, 0).repeat_interleave(128, 1)[:n, :k]
        want, error = F.silu(wide_x @ wide_w.T), (wide_x.abs() @ wide_w.abs().T) * 2.0**-12 + 2.0**-18
        shifted = torch.empty(m * k + 3, dtype=dtype, device="cuda")[3:].view(m, k)
        shifted.view(torch.uint8).copy_(x.view(torch.uint8))
        got = model(x, s, w, t)
        assert torch.equal(got, model(x, s, w, t))
        for result in (got, model(shifted, s, w, t)):
            assert ((result.double() - want).abs() <= error).all(), f"M = {m}"


def test_blocks_from_pytorch():
    """As F.scaled_mm has them, whose scales of x lie column by column."""
    if not hasattr(F, "scaled_mm"):
        pytest.skip("PyTorch has no scaled_mm")
    m, n, k = 256, 512, 1024
    x, w = (torch.randn(rows, k, device="cuda").to(E4M3) for rows in (m, n))
    s, t = torch.rand(k // 128, m, device="cuda").t() + 0.5, torch.rand(n // 128, k // 128, device="cuda") + 0.5
    s = s.t().contiguous().t()

    def function(x, s):
        kinds = F.ScalingType.BlockWise1x128, F.ScalingType.BlockWise128x128
        return F.silu(F.scaled_mm(x, w.t(), s, kinds[0], t.t(), kinds[1], output_dtype=torch.bfloat16))

    compiled = torch.compile(function, backend="tenon", options={"strategy": "tiled"})
    with torch.no_grad():
        got, eager = compiled(x, s).double(), function(x, s).double()
    wide_x = x.double() * s.double().repeat_interleave(128, 1)
    wide_w = w.double() * t.double().repeat_interleave(128, 0).repeat_interleave(128, 1)
    exact = F.silu(wide_x @ wide_w.T)
    assert (got - exact).norm() <= (eager - exact).norm() * 1.05


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_precision_fp8(dtype):
    """An MLP errs as rounding its operands to three bits behind the first does, 2.5 % a layer."""
    torch.manual_seed(0)
    layers = torch.nn.Linear(1024, 2048), torch.nn.SiLU(), torch.nn.Linear(2048, 1024)
    model = torch.nn.Sequential(*layers).to("cuda", dtype).requires_grad_(False)
    x = torch.randn(512, 1024, device="cuda", dtype=dtype)
    compiled = torch.compile(model, backend="tenon", options={"precision": "fp8", "strategy": "tiled", "strict": True})
    got = compiled(x)
    exact = copy.deepcopy(model).double()(x.double())
    error = ((got.double() - exact).norm() / exact.norm()).item()
    assert 1e-3 < error < 0.08
    assert torch.equal(got, compiled(x))


def test_pointers_that_are_not_aligned():
    n, k, m = 200, 208, 100
    model = tenon.compile(source(n, k, E4M3, torch.bfloat16), target="sm_90a")
    x, *others = draw(m, n, k, E4M3)
    shifted = torch.empty(m * k + 3, dtype=E4M3, device="cuda")[3:].view(m, k)
    shifted.view(torch.uint8).copy_(x.view(torch.uint8))
    want, error = exact(x, *others)
    assert ((model(shifted, *others).double() - want).abs() <= error + 2.0**-8 * want.abs()).all()


def test_sums_keep_their_digits():
    """Positive numbers, of which sums of 14 bits would lose more and more as K grows."""
    x, w = (torch.rand(128, 16384, device="cuda").to(E4M3) for _ in range(2))
    operand, result = "tensor<128x16384xf8E4M3FN>", "tensor<128x128xf32>"
    text = f"""func.func @forward(%x: {operand}, %w: {operand}) -> {result} {{
  %0 = tenon.linear %x, %w : ({operand}, {operand}) -> {result}
  return %0 : {result}
}}"""
    want = x.double() @ w.double().T
    got = tenon.compile(text, target="sm_90a")(x, w).double()
    fast = torch._scaled_mm(
        x, w.T, *(torch.ones((), device="cuda"),) * 2, out_dtype=torch.float32, use_fast_accum=True
    ).double()
    assert (got - want).norm() < 0.1 * (fast - want).norm()


@pytest.mark.parametrize("of_rows", [False, True], ids=["tensor", "rows"])
def test_scaled_mm(of_rows):
    m, n, k = 256, 512, 1024
    x, s, w, c, b = draw(m, n, k, E4M3)
    s, c = (s, c[None]) if of_rows else (s[0, 0], c[0])
    residual = torch.randn(m, n, device="cuda").bfloat16()

    def function(x, s, residual):
        y = torch._scaled_mm(x, w.T, scale_a=s, scale_b=c, bias=b.bfloat16(), out_dtype=torch.bfloat16)
        return F.silu(y) + residual

    compiled = torch.compile(function, backend="tenon", options={"strategy": "tiled"})
    with torch.no_grad():
        got, eager = compiled(x, s, residual), function(x, s, residual)
    exact = F.silu((x.double() @ w.double().T) * s.double() * c.double() + b.bfloat16().double()) + residual.double()
    assert (got.double() - exact).norm() <= (eager.double() - exact).norm() * 1.05
