# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Groups of columns that fit a tile, on a GPU, beside PyTorch in float64."""

import pytest

torch = pytest.importorskip("torch")
import tenon  # noqa: E402
from tenon.importer import rows  # noqa: E402
from tenon.importer.builder import Builder, Value, module_text, return_text, type_of  # noqa: E402
from torch.nn import functional as F  # noqa: E402

pytestmark = pytest.mark.gpu

COLUMNS = [2, 4, 8, 16, 24, 32, 40, 64, 96, 128]
KINDS = [("float32", None), ("float32", "tf32"), ("float16", None), ("bfloat16", None)]
TOLERANCES = {"float32": 3e-5, "tf32": 1e-3, "float16": 6e-3, "bfloat16": 5e-2}
EPS = 1e-2  # so that groups of few columns magnify little


def source(head, n, columns, k, dtype, precision):
    """Return `forward(x, w, bias, g)`: silu of a group norm, or leaky_relu of maxima, minima and means of groups."""
    b = Builder(precision)
    x, w, bias, g = (
        Value("%x", dtype, ("m", k)),
        Value("%w", dtype, (n, k)),
        *(Value(f"%{v}", dtype, (n,)) for v in "bg"),
    )
    z = b.widen(b.linear(x, w, bias))
    if head == "norm":
        found = [b.unary("silu", rows.group_norm(b, z, n // columns, b.widen(g), b.widen(bias), EPS)[0])]
    else:
        found = [
            b.unary("leaky_relu", b.reduce_row(kind, z, n // columns), "{negative_slope = 0.1}")
            for kind in ("max", "min", "mean")
        ]
    results = [b.cast(value, dtype) for value in found]
    arguments = ", ".join(f'{v.name}: {type_of(v)} {{tenon.name = "{v.name[1:]}"}}' for v in (x, w, bias, g))
    return module_text(
        "forward", f"({arguments}) -> ({', '.join(map(type_of, results))})", [*b.lines, return_text(results)]
    )


def expected(head, columns, x, w, bias, g):
    x, w, bias, g = (t.double() for t in (x, w, bias, g))
    z = F.linear(x, w, bias)
    if head == "norm":
        return [F.silu(torch.native_group_norm(z, g, bias, len(z), z.shape[1], 1, z.shape[1] // columns, EPS)[0])]
    parts = z.unflatten(1, (-1, columns))
    return [F.leaky_relu(found, 0.1) for found in (parts.amax(2), parts.amin(2), parts.mean(2))]


@pytest.mark.parametrize("target", ["sm_90a", "sm_90"])
@pytest.mark.parametrize(("dtype", "precision"), KINDS)
@pytest.mark.parametrize("columns", COLUMNS)
def test_groups(columns, dtype, precision, target):
    for head, groups, k in (("norm", 12, 264), ("pool", 33, 72), ("norm", 35, 520)):
        n = groups * columns
        text = source(head, n, columns, k, dtype, precision)
        run = tenon.compile(text, target=target, strategy="tiled", reduction="in_tile")
        said = [remark.values.get("reduction") for remark in run.remarks]
        # Split products have a guard, whose tiles are narrower.
        assert (
            "in_tile" in said
            or (dtype, precision) == ("float32", None)
            or (target, columns) == ("sm_90", 40)
            or columns > 64
        )
        generator = torch.Generator("cuda").manual_seed(columns)
        for m in (1, 2, 63, 130, 1000):
            shapes = ((m, k), (n, k), (n,), (n,))
            x, w, bias, g = (
                torch.randn(s, generator=generator, device="cuda").to(getattr(torch, dtype)) for s in shapes
            )
            w *= k**-0.5
            if precision == "tf32":
                x, w = ((t.view(torch.int32) & ~0x1FFF).view(torch.float32) for t in (x, w))
            got, again = run(x, w, bias, g), run(x, w, bias, g)
            got, again = (list(r) if isinstance(r, tuple | list) else [r] for r in (got, again))
            for ours, same, exact in zip(got, again, expected(head, columns, x, w, bias, g), strict=True):
                assert torch.equal(ours, same)
                off = ((ours.double() - exact).abs() / (1 + exact.abs())).max().item()
                assert off <= TOLERANCES[precision or dtype], (head, n, m, off)


def test_special_groups():
    """Groups of infinities and NaN are as PyTorch has them, and leave others alone."""
    n, inf = 256, float("inf")
    run = tenon.compile(
        source("pool", n, 4, 64, "bfloat16", None), target="sm_90a", strategy="tiled", reduction="in_tile"
    )
    x, w, bias, g = (torch.zeros(s, device="cuda", dtype=torch.bfloat16) for s in ((70, 64), (n, 64), (n,), (n,)))
    bias[:12] = torch.tensor([-inf] * 4 + [inf, 0, 1, 2, float("nan"), 1, 2, 3])
    for ours, exact in zip(run(x, w, bias, g), expected("pool", 4, x, w, bias, g), strict=True):
        assert torch.allclose(ours.double(), exact, rtol=1e-2, atol=1e-2, equal_nan=True)
