# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of two products of one x are right on a GPU for any M, N and pointers, and rows that a split cannot hold."""

import pytest

torch = pytest.importorskip("torch")
tenon = pytest.importorskip("tenon", reason="the package compiles the layers")

pytestmark = pytest.mark.gpu
CLUSTERS, PING_PONG, DEFER, STREAM = (
    [", cluster = 2x1", ", cluster = 1x2"],
    ", ping_pong = true",
    ", defer = true",
    ", stream_k = true",
)
SPLIT = ", method = fp16x3"
# The tile, its warps and stages, and more of the schedule.
SCHEDULES = {
    "rows": ("128x128", "8x1", 4, CLUSTERS[0], ""),
    "two_blocks": ("256x64", "8x1", 4, CLUSTERS[1], ""),
    "ping_pong": ("64x128", "4x1", 4, CLUSTERS[0] + PING_PONG, ""),
    "ping_pong_wide": ("128x96", "4x1", 5, PING_PONG, ""),
    "stream_k": ("128x64", "8x1", 4, STREAM, ""),
    "swapped": ("192x128", "1x8", 3, CLUSTERS[1], ""),
    "swapped_ping_pong": ("192x64", "1x4", 5, CLUSTERS[1] + PING_PONG, ""),
    "swapped_few_rows": ("16x64", "1x4", 6, STREAM, ""),
    "deferred": ("128x128", "1x8", 4, CLUSTERS[1] + DEFER, ""),
    "deferred_cluster_of_w": ("128x128", "1x8", 4, CLUSTERS[0] + DEFER, ""),
    "fp32": ("96x128", "1x8", 4, CLUSTERS[0], SPLIT),
    "fp32_rows": ("128x96", "8x1", 4, "", SPLIT),
    "fp32_few_rows": ("64x64", "4x1", 5, STREAM, SPLIT),
    "mma_sync": ("128x128", "2x4", 3, STREAM, ""),
    "mma_sync_rows": ("256x64", "4x2", 3, STREAM, ""),
    "mma_sync_few_rows": ("16x64", "1x2", 4, STREAM, ""),
    "mma_sync_fp32": ("128x64", "4x2", 3, STREAM, SPLIT),
}
ROWS = (129, 1, 1000, 64, 0, 2000)
SHAPES = ((264, 200), (1000, 2120), (204, 1096))
ROUNDING = {"f16": 2.0**-9, "bf16": 2.0**-6, "f32": 2.0**-19}
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


def source(n, k, element, gives_gate=False):
    """Return silu(x w1^T + c) * (x w^T + b) + r, and as in a training step what silu is of."""
    results = "%4, %0" if gives_gate else "%4"
    x, w, b, y = (
        f"tensor<?x{k}x{element}>",
        f"tensor<{n}x{k}x{element}>",
        f"tensor<{n}x{element}>",
        f"tensor<?x{n}x{element}>",
    )
    types = f"({y}, {y})" if gives_gate else y
    return f"""
func.func @forward(%x: {x} {{tenon.name = "x"}}, %w: {w} {{tenon.param, tenon.name = "w"}},
                   %v: {w} {{tenon.param, tenon.name = "v"}}, %b: {b} {{tenon.param, tenon.name = "b"}},
                   %c: {b} {{tenon.param, tenon.name = "c"}}, %r: {y} {{tenon.name = "r"}}) -> {types} {{
  %0 = tenon.linear %x, %v, %c : ({x}, {w}, {b}) -> {y}
  %1 = tenon.silu %0 : {y}
  %2 = tenon.linear %x, %w, %b : ({x}, {w}, {b}) -> {y}
  %3 = tenon.mul %2, %1 : {y}, {y}
  %4 = tenon.add %3, %r : {y}, {y}
  return {results} : {types.strip("()")}
}}"""


def compile_pair(name, n, k, element, gives_gate=False):
    tile, warps, stages, more, method = SCHEDULES[name]
    family = "mma_sync" if name.startswith("mma") else "wgmma"
    schedule = (
        f"{family}, tile = {tile}x64, warps = {warps}, stages = {stages}, swizzle = 128, raster = 8, blocks = 1{more},"
        f" weights = 2{method}"
    )
    model = tenon.compile(source(n, k, element, gives_gate), target="sm_90a", schedule=schedule)
    assert any("kernel_line" in remark.values for remark in model.remarks), "one kernel has both products"
    return model


def draw(m, n, k, element, seed=0):
    generator = torch.Generator("cuda").manual_seed(seed)

    def random(*shape):
        return torch.randn(shape, device="cuda", generator=generator).to(TYPES[element])

    return random(m, k), random(n, k) / 8, random(n, k) / 8, random(n), random(n), random(m, n)


def expected(x, w, v, b, c, r):
    """Return the result in float64, and a bound of what a right one errs by but for rounding."""
    x, w, v, b, c, r = (t.double() for t in (x, w, v, b, c, r))
    products = x @ w.T, x @ v.T
    value, gate = products[0] + b, products[1] + c
    silu = torch.nn.functional.silu(gate)
    size = x.abs() @ w.abs().T + b.abs(), x.abs() @ v.abs().T + c.abs()
    return value * silu + r, (value, silu, size, products)


def check(y, tensors, element):
    want, (value, silu, size, products) = expected(*tensors)
    error = [2.0**-17 * s + ROUNDING[element] * p.abs() for s, p in zip(size, products, strict=True)]
    bound = silu.abs() * error[0] + 1.1 * (value.abs() + error[0]) * error[1]
    bound += ROUNDING[element] * (want.abs() + tensors[-1].double().abs())
    worst = ((y.double() - want).abs() - bound).max().item() if want.numel() else 0
    assert worst <= 0, f"off by {worst} more than the bound"


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("shape", SHAPES)
def test_any_rows(name, shape):
    n, k = shape
    elements = ["f32"] if SPLIT in SCHEDULES[name][4] else ["bf16", "f16"]
    element = elements[SHAPES.index(shape) % len(elements)]
    model = compile_pair(name, n, k, element)
    for m in ROWS:
        tensors = draw(m, n, k, element)
        first, again = (model(*tensors) for _ in range(2))
        check(first, tensors, element)
        assert torch.equal(first, again), f"M = {m}: another result the second time"


@pytest.mark.parametrize("name", ["rows", "deferred", "fp32"])
def test_unaligned_pointers(name):
    n, k, m = 264, 200, 300
    element = "f32" if name == "fp32" else "bf16"
    model = compile_pair(name, n, k, element)
    x, *others = draw(m, n, k, element)
    room = torch.empty(m * k + 1, dtype=x.dtype, device="cuda")
    shifted = room[1:].view(m, k)
    shifted.copy_(x)
    check(model(shifted, *others), (x, *others), element)


@pytest.mark.parametrize("matrix", ["x", "w", "v"])
def test_rows_outside_are_computed_anew(matrix):
    n, k, m = 264, 200, 300
    model = compile_pair("fp32", n, k, "f32")
    tensors = draw(m, n, k, "f32")
    number = "xwv".index(matrix)
    tensors[number][70, :] *= 1e-30
    tensors[number][70, 7] = 1.0
    check(model(*tensors), tensors, "f32")


@pytest.mark.parametrize("name", ["rows", "ping_pong", "stream_k", "swapped", "deferred", "fp32", "mma_sync"])
def test_the_gate_too(name):
    n, k = SHAPES[1]
    element = "f32" if SPLIT in SCHEDULES[name][4] else "bf16"
    model = compile_pair(name, n, k, element, gives_gate=True)
    for m in (2000, 1):
        x, w, v, b, c, r = tensors = draw(m, n, k, element)
        y, gate = model(*tensors)
        check(y, tensors, element)
        product = x.double() @ v.double().T  # which may be rounded
        want = product + c.double()
        bound = 2.0**-17 * (x.double().abs() @ v.double().abs().T) + 1e-6
        bound += ROUNDING[element] * (1.1 * want.abs() + product.abs())
        assert ((gate.double() - want).abs() <= bound).all()
