# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that read x and w of 16 bits along M or N as they lie, on a GPU, beside float64."""

import pytest
import tenon
import torch

pytestmark = pytest.mark.gpu
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
LAYOUTS = ["mk_kn", "km_nk", "km_kn"]
SCHEDULES = {
    "cooperative": "tile = 128x256x64, warps = 8x1, stages = 4, cluster = 2x1",
    "tall": "tile = 256x128x64, warps = 8x1, stages = 4, cluster = 1x2",
    "three_boxes": "tile = 128x192x64, warps = 8x1, stages = 4",
    "ping_pong": "tile = 64x256x64, warps = 4x1, stages = 4, ping_pong = true",
    "stream_k": "tile = 128x128x64, warps = 8x1, stages = 5, stream_k = true",
    "swapped": "tile = 256x128x64, warps = 1x8, stages = 4, cluster = 1x2",
    "swapped_wide": "tile = 192x256x64, warps = 1x8, stages = 3, cluster = 2x1",
    "swapped_ping_pong": "tile = 128x128x64, warps = 1x4, stages = 4, ping_pong = true",
}
# M, N, K: of no whole tile, of one box, of many turns.
SHAPES = [(1000, 776, 520), (64, 64, 64), (4096, 2048, 1024)]


def schedule(text):
    tile, warps, stages, *more = text.split(", ")
    rest = ["swizzle = 128, raster = 8, blocks = 1", *more, "reduction = two_phase"]
    return ", ".join(["wgmma", tile, warps, stages, *rest])


def source(layout, m, n, k, kind, epilogue="gate"):
    """Return relu's derivative, by `h`, of a product; and the sum of each of its columns."""
    x = f"tensor<{k}x{m}x{kind}>" if layout.startswith("km") else f"tensor<{m}x{k}x{kind}>"
    w = f"tensor<{k}x{n}x{kind}>" if layout.endswith("kn") else f"tensor<{n}x{k}x{kind}>"
    y = f"tensor<{m}x{n}x{kind}>"
    ops = {
        "gate": f"%1 = tenon.gate %0, %h : {y}, {y}",
        "gelu": f"%d = tenon.gelu_derivative %h : {y}\n  %1 = tenon.mul %0, %d : {y}, {y}",
    }[epilogue]
    return f"""func.func @backward(%x: {x}, %w: {w}, %h: {y}) -> ({y}, tensor<{n}xf32>) {{
  %0 = tenon.linear %x, %w layout<{layout}> : ({x}, {w}) -> {y}
  {ops}
  %2 = tenon.batch_sum %1 : ({y}) -> tensor<{n}xf32>
  return %1, %2 : {y}, tensor<{n}xf32>
}}"""


def draw(layout, m, n, k, kind):
    generator = torch.Generator("cuda").manual_seed(0)

    def normal(*shape):
        return torch.randn(shape, generator=generator, device="cuda").to(TYPES[kind])

    x, w = normal(m, k), normal(n, k)
    x = x.t().contiguous() if layout.startswith("km") else x
    return x, w.t().contiguous() if layout.endswith("kn") else w, normal(m, n)


def check(model, layout, tensors, epilogue="gate"):
    x, w, h = (t.double() for t in tensors)
    product = (x.t() if layout.startswith("km") else x) @ (w if layout.endswith("kn") else w.t())
    phi = torch.special.ndtr(h) + h * torch.exp(-h.square() / 2) / (2 * torch.pi) ** 0.5
    exact = torch.where(h <= 0, 0.0, product) if epilogue == "gate" else product * phi
    y, total = model(*tensors)
    spread = tensors[0].shape[0 if layout.startswith("km") else 1] ** 0.5
    bound = torch.finfo(y.dtype).eps * exact.abs() + 1e-4 * spread
    if epilogue == "gelu":
        bound += 2**-9 * product.abs()  # gelu_derivative-R1
    assert ((y - exact).abs() <= bound).all()
    # Of what is stored.
    column = y.double().sum(0)
    assert ((total - column).abs() <= 1e-5 * y.double().abs().sum(0) + 1e-6).all()
    again = model(*tensors)
    assert torch.equal(y, again[0]) and torch.equal(total, again[1])


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_schedules(layout, name, shape, kind):
    if kind == "f16" and name not in ("cooperative", "swapped"):
        pytest.skip("the type changes the instruction alone")
    if "256x128" in SCHEDULES[name] and "1x8" in SCHEDULES[name] and shape[0] < 128:
        pytest.skip("a tile has more rows than there are")
    epilogue = "gelu" if name in ("ping_pong", "swapped") else "gate"
    text = source(layout, *shape, kind, epilogue)
    model = tenon.compile(text, target="sm_90a", strategy="tiled", schedule=schedule(SCHEDULES[name]))
    check(model, layout, draw(layout, *shape, kind), epilogue)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_pointers_that_are_not_aligned(layout):
    m, n, k = 200, 136, 72
    model = tenon.compile(
        source(layout, m, n, k, "bf16"), target="sm_90a", strategy="tiled", schedule=schedule(SCHEDULES["stream_k"])
    )
    x, w, h = draw(layout, m, n, k, "bf16")
    shifted = torch.cat([x.new_zeros(1), x.flatten()])[1:].view(x.shape)
    check(model, layout, (shifted, w, h))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_dynamic_batch(layout):
    if layout.startswith("km"):
        pytest.skip("x [K, M] has a known M")
    text = source(layout, 1234, 256, 512, "bf16").replace("1234x", "?x")
    model = tenon.compile(text, target="sm_90a", strategy="tiled")
    for m in (1, 64, 200, 3000):
        check(model, layout, draw(layout, m, 256, 512, "bf16"))


def sums_source(layout, m, n, k, kind):
    """Return relu's derivative, and two sums of columns: of it, and of its product with what is near a mean."""
    text = source(layout, m, n, k, kind)
    y, wide = f"tensor<{m}x{n}x{kind}>", f"tensor<{m}x{n}xf32>"
    more = f"""  %3 = tenon.cast %u : {y} -> {wide}
  %4 = tenon.sub %3, %mean : {wide}, tensor<{n}xf32>
  %5 = tenon.cast %1 : {y} -> {wide}
  %6 = tenon.mul %5, %4 : {wide}, {wide}
  %7 = tenon.batch_sum %6 : ({wide}) -> tensor<{n}xf32>
  return %1, %2, %7 : {y}, tensor<{n}xf32>, tensor<{n}xf32>
}}"""
    head = text[: text.index("  return")]
    head = head.replace(f"%h: {y})", f"%h: {y}, %u: {y}, %mean: tensor<{n}xf32>)")
    return head.replace(f"tensor<{n}xf32>) {{", f"tensor<{n}xf32>, tensor<{n}xf32>) {{") + more


def check_sums(model, layout, tensors):
    x, w, h = tensors
    generator = torch.Generator("cuda").manual_seed(1)
    u = torch.randn(h.shape, generator=generator, device="cuda").to(h.dtype) + 3
    mean = torch.full((h.shape[1],), 3.0, device="cuda")
    check(lambda *_: model(x, w, h, u, mean)[:2], layout, tensors)
    y, _, projection = model(x, w, h, u, mean)
    terms = y.double() * (u.double() - 3)
    # What is stored is not rounded before.
    bound = torch.finfo(y.dtype).eps * terms.abs().sum(0) + 1e-6
    assert ((projection - terms.sum(0)).abs() <= bound).all()
    assert torch.equal(projection, model(x, w, h, u, mean)[2])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", [name for name in SCHEDULES if name.startswith("swapped")])
def test_sums_of_what_is_not_stored(name, shape):
    if "256x128" in SCHEDULES[name] and shape[0] < 128:
        pytest.skip("a tile has more rows than there are")
    text = sums_source("mk_kn", *shape, "bf16")
    model = tenon.compile(text, target="sm_90a", strategy="tiled", schedule=schedule(SCHEDULES[name]))
    check_sums(model, "mk_kn", draw("mk_kn", *shape, "bf16"))


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("kind", TYPES)
def test_sums_by_the_schedule_that_is_predicted_best(kind, target):
    layout = "mk_kn" if target == "sm_90a" else "mk_nk"
    text = sums_source(layout, 4096, 1024, 512, kind)
    model = tenon.compile(text, target=target, strategy="tiled")
    check_sums(model, layout, draw(layout, 4096, 1024, 512, kind))
    text = text.replace("4096x", "?x")
    model = tenon.compile(text, target=target, strategy="tiled")
    for m in (1, 64, 200, 3000):
        check_sums(model, layout, draw(layout, m, 1024, 512, kind))
