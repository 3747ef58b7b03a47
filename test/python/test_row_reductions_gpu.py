# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions of rows on a GPU, beside PyTorch in float64: in a tile, behind the library's product, and wide rows."""

import pytest

torch = pytest.importorskip("torch")
import tenon  # noqa: E402
from row_models import (  # noqa: E402
    HEADS,
    computed,
    draw,
    errors,
    expected,
    groups_of,
    magnification,
    places_source,
    source,
)

pytestmark = pytest.mark.gpu

TOLERANCES = {"float32": 3e-5, "float16": 6e-3, "bfloat16": 5e-2, "tf32": 1e-3}
PRODUCT = 1e-6  # what a product in float32, of operands of any type, may be off by
WIDTHS = [2, 3, 7, 8, 10, 16, 31, 32, 33, 63, 64, 65, 72, 100, 104, 127, 128, 129, 184, 192, 200, 250, 255, 256]
KINDS = [("float32", None), ("float32", "tf32"), ("float16", None), ("bfloat16", None)]


def check(head, n, k, dtype, precision, rows, **options):
    run = tenon.compile(source(head, n, k, dtype, precision), **options)
    for m in rows:
        tensors = draw(m, n, k, getattr(torch, dtype), "cuda")
        if precision == "tf32":  # numbers that it holds: a norm of few columns makes much of what rounding takes
            tensors[:2] = [(t.view(torch.int32) & ~0x1FFF).view(torch.float32) for t in tensors[:2]]
        got = run(*tensors)
        got = list(got) if isinstance(got, tuple | list) else [got]
        again = run(*tensors)
        again = list(again) if isinstance(again, tuple | list) else [again]
        assert all(torch.equal(a, b) for a, b in zip(got, again, strict=True))  # the same bits each time
        found = errors(got, expected(head, tensors))
        # A sum has as many errors as terms: of the product's elements, where they were rounded ahead of it.
        terms = {"reductions": n, "groups": n / groups_of(n)}.get(head, 1)
        room = terms**0.5
        # Norms of few columns magnify what products are off by, PyTorch's as well.
        eager = max(errors(computed(head, tensors), expected(head, tensors)))
        allowed = TOLERANCES[precision or dtype] * room + PRODUCT * magnification(head, tensors)
        assert max(found) <= max(allowed, 1.1 * eager), (m, found, eager)
    return run


@pytest.mark.parametrize("target", ["sm_90a", "sm_90"])
@pytest.mark.parametrize(("dtype", "precision"), KINDS)
@pytest.mark.parametrize("n", WIDTHS)
def test_in_tile(n, dtype, precision, target):
    """Every head in turn has every width with some type, in kernels of both families."""
    heads = list(HEADS)
    first = WIDTHS.index(n) + KINDS.index((dtype, precision))
    for i in range(3):
        head = heads[(first + 3 * i) % len(heads)]
        k = (64, 72, 520)[i]
        check(head, n, k, dtype, precision, (1, 2, 17, 64, 130, 1000), target=target, strategy="tiled")


@pytest.mark.parametrize(("dtype", "precision"), KINDS)
@pytest.mark.parametrize("n", [10, 100, 256, 257, 1000, 1024, 1031, 4096, 8192, 20001, 20008, 32768])
def test_library(n, dtype, precision):
    for i, head in enumerate(HEADS):
        if (i + n) % 2:
            check(head, n, 64, dtype, precision, (1, 17, 130), target="sm_90a", strategy="library")


@pytest.mark.parametrize("target", ["sm_90a", "sm_90"])
@pytest.mark.parametrize(("dtype", "precision"), KINDS)
@pytest.mark.parametrize("n", [257, 300, 512, 1000, 1031, 4104, 8192])
def test_reduce_only(n, dtype, precision, target):
    for head, k in (("logsumexp", 72), ("reductions", 520)):
        rows = 1, 2, 17, 64, 130, 1000
        run = check(head, n, k, dtype, precision, rows, target=target, strategy="tiled")
        # The product of split x and w may be tiled alone.
        by_parts = any("reduce_only" in str(remark.values) for remark in run.remarks)
        assert by_parts or (dtype, precision) == ("float32", None)


@pytest.mark.parametrize(("target", "strategy"), [("sm_90a", "tiled"), ("sm_90", "tiled"), ("sm_90a", "library")])
@pytest.mark.parametrize(("dtype", "precision"), KINDS)
@pytest.mark.parametrize("n", [2, 100, 256, 300, 1031, 8192, 20001])
def test_places(n, dtype, precision, target, strategy):
    """Of few numbers products are exact and often equal: it is the first; and so it is of NaN and infinities."""
    k = 72
    run = tenon.compile(places_source(n, k, dtype, precision), target=target, strategy=strategy)
    generator = torch.Generator().manual_seed(0)
    for m in (1, 17, 130, 1000):
        x, w, plain = (torch.randint(-1, 2, s, generator=generator).float() for s in ((m, k), (n, k), (n,)))
        biases = [plain, torch.full_like(plain, -float("inf"))]
        for value in (float("nan"), float("inf"), -float("inf")):
            biases.append(plain.clone())
            biases[-1][[n // 3, n - 1]] = value
        for bias in biases:
            z = torch.nn.functional.linear(x.double(), w.double(), bias.double())
            got = run(*(t.to("cuda", getattr(torch, dtype)) for t in (x, w, bias)))
            for ours, theirs in zip(got, (z.argmax(1, keepdim=True), z.argmin(1, keepdim=True)), strict=True):
                assert torch.equal(ours.cpu().long(), theirs), (m, bias[:3])


def test_reduce_only_of_special_rows():
    """Rows and parts of infinities, NaN and very large numbers are as PyTorch has them."""
    n, inf, nan = 700, float("inf"), float("nan")
    run = tenon.compile(source("logsumexp", n, 64, "float32"), target="sm_90a", strategy="tiled")
    for first, last in ((-inf, -inf), (inf, 0.0), (0.0, inf), (-inf, 0.0), (nan, 0.0), (1e30, 1e30), (-1e30, 1e30)):
        tensors = draw(70, n, 64, torch.float32, "cuda")
        tensors[0].zero_()
        tensors[2][:300], tensors[2][300:] = first, last
        assert max(errors([run(*tensors)], expected("logsumexp", tensors))) <= TOLERANCES["float32"]


@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.1, "reduction": "none"}])
def test_cross_entropy_writes_no_logits(options):
    m, n, k = 4096, 32000, 512
    x, w, bias, _ = draw(m, n, k, torch.float32, "cuda")
    target = torch.randint(n, (m,), device="cuda")
    target[::7] = -100

    @torch.compile(backend="tenon")
    def loss(x, w, bias, target):
        return torch.nn.functional.cross_entropy(torch.nn.functional.linear(x, w, bias), target, **options)

    with torch.no_grad():
        got = loss(x, w, bias, target)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        again = loss(x, w, bias, target)
        assert torch.cuda.max_memory_allocated() - before < m * n
        z = torch.nn.functional.linear(x.double(), w.double(), bias.double())
        wanted = torch.nn.functional.cross_entropy(z, target, **options)
    assert torch.equal(got, again)
    assert max(errors([got], [wanted])) <= 1e-4


def test_unaligned():
    run = tenon.compile(source("softmax", 128, 64, "bfloat16"), target="sm_90a", strategy="tiled")
    x, w, bias, g = draw(130, 128, 64, torch.bfloat16, "cuda")
    shifted = torch.empty(x.numel() + 1, dtype=x.dtype, device="cuda")[1:].view(x.shape)
    shifted.copy_(x)
    tensors = [shifted, w, bias, g]
    assert max(errors([run(*tensors)], expected("softmax", tensors))) <= TOLERANCES["bfloat16"]


def test_rows_outside():
    """Rows that a split does not hold are computed anew, and reduced anew."""
    run = tenon.compile(source("layer_norm", 100, 128, "float32"), target="sm_90a", strategy="tiled")
    tensors = draw(1000, 100, 128, torch.float32, "cuda")
    tensors[0][700, 3], tensors[1][:, 3] = 1e12, 0.0
    assert max(errors([run(*tensors)], expected("layer_norm", tensors))) <= TOLERANCES["float32"]
