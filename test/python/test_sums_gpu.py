# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that add up products of several x are right on a GPU for any M, N, K of each and pointers."""

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
# The tile, its warps and stages, and more of the schedule.
SCHEDULES = {
    "rows": ("128x256", "8x1", 4, CLUSTERS[0]),
    "two_blocks": ("256x128", "8x1", 4, CLUSTERS[1]),
    "ping_pong": ("64x256", "4x1", 4, CLUSTERS[0] + PING_PONG),
    "stream_k": ("128x64", "8x1", 4, STREAM),
    "swapped": ("192x128", "1x8", 4, CLUSTERS[1]),
    "swapped_few_rows": ("16x128", "1x8", 6, STREAM),
    "deferred": ("256x128", "1x8", 4, CLUSTERS[1] + DEFER),
}
ROWS = (129, 1, 1000, 64, 0, 2000)
SHAPES = ((264, (200, 136)), (1000, (2120, 16)), (204, (8, 1096, 64)))
ROUNDING = {"f16": 2.0**-9, "bf16": 2.0**-6}
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16}


def source(n, columns, element, turned):
    """Return silu(sum of products + b) + r."""
    y, b = f"tensor<?x{n}x{element}>", f"tensor<{n}x{element}>"
    terms, lines = [], []
    for i, k in enumerate(columns):
        x, w = f"tensor<?x{k}x{element}>", f"tensor<{f'{k}x{n}' if turned else f'{n}x{k}'}x{element}>"
        terms += [f'%x{i}: {x} {{tenon.name = "x{i}"}}', f'%w{i}: {w} {{tenon.param, tenon.name = "w{i}"}}']
        layout = "layout<mk_kn> " if turned else ""
        lines.append(f"  %p{i} = tenon.linear %x{i}, %w{i} {layout}: ({x}, {w}) -> {y}")
        if i:
            lines.append(f"  %s{i} = tenon.add {f'%s{i - 1}' if i > 1 else '%p0'}, %p{i} : {y}, {y}")
    body = "\n".join(lines)
    return f"""
func.func @forward({", ".join(terms)}, %b: {b} {{tenon.param, tenon.name = "b"}},
                   %r: {y} {{tenon.name = "r"}}) -> {y} {{
{body}
  %1 = tenon.add %s{len(columns) - 1}, %b : {y}, {b}
  %2 = tenon.silu %1 : {y}
  %3 = tenon.add %2, %r : {y}, {y}
  return %3 : {y}
}}"""


def compile_sum(name, n, columns, element, turned=False):
    tile, warps, stages, more = SCHEDULES[name]
    schedule = (
        f"wgmma, tile = {tile}x64, warps = {warps}, stages = {stages}, swizzle = 128, raster = 8, blocks = 1{more},"
        f" terms = {len(columns)}"
    )
    model = tenon.compile(source(n, columns, element, turned), target="sm_90a", schedule=schedule)
    assert sum("kernel_line" in remark.values for remark in model.remarks) == len(columns) - 1, "there is one kernel"
    return model


def draw(m, n, columns, element, turned=False, seed=0):
    generator = torch.Generator("cuda").manual_seed(seed)

    def random(*shape):
        return torch.randn(shape, device="cuda", generator=generator).to(TYPES[element])

    terms = [t for k in columns for t in (random(m, k), random(*((k, n) if turned else (n, k))) / 8)]
    return *terms, random(n), random(m, n)


def check(y, tensors, element, turned=False):
    *terms, b, r = (t.double() for t in tensors)
    ws = terms[1::2] if turned else [w.T for w in terms[1::2]]
    product = sum(x @ w for x, w in zip(terms[::2], ws, strict=True))
    size = sum(x.abs() @ w.abs() for x, w in zip(terms[::2], ws, strict=True)) + b.abs()
    silu = torch.nn.functional.silu(product + b)
    error = 2.0**-17 * size + ROUNDING[element] / 4 * product.abs()  # what is held is rounded
    bound = 1.1 * error + ROUNDING[element] / 2 * ((silu + r).abs() + r.abs() + silu.abs())
    worst = ((y.double() - silu - r).abs() - bound).max().item() if y.numel() else 0
    assert worst <= 0, f"off by {worst} more than the bound"


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("shape", SHAPES)
def test_any_rows(name, shape):
    n, columns = shape
    element = ["bf16", "f16"][SHAPES.index(shape) % 2]
    model = compile_sum(name, n, columns, element)
    for m in ROWS:
        tensors = draw(m, n, columns, element)
        first, again = (model(*tensors) for _ in range(2))
        check(first, tensors, element)
        assert torch.equal(first, again), f"M = {m}: another result the second time"


@pytest.mark.parametrize("name", ["rows", "swapped"])
def test_weights_that_lie_transposed(name):
    n, columns = 264, (200, 72)
    model = compile_sum(name, n, columns, "bf16", turned=True)
    for m in ROWS:
        tensors = draw(m, n, columns, "bf16", turned=True)
        check(model(*tensors), tensors, "bf16", turned=True)


@pytest.mark.parametrize("which", [0, 2])
def test_unaligned_pointers(which):
    n, columns, m = 264, (200, 136, 16), 300
    model = compile_sum("rows", n, columns, "bf16")
    tensors = list(draw(m, n, columns, "bf16"))
    given = list(tensors)
    room = torch.empty(given[which].numel() + 1, dtype=torch.bfloat16, device="cuda")
    given[which] = room[1:].view(given[which].shape)
    given[which].copy_(tensors[which])
    check(model(*given), tensors, "bf16")
