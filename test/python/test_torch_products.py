# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products that are computed in another form where that is faster, with the same values.

Of rows that are no multiple of 16 bytes, of a vector, and of which some columns are not read.
"""

import copy

import pytest
import torch
from tenon.torch.fusion import padding, unread
from tenon.torch.inductor import decompositions
from tenon.torch.options import Options
from torch import nn
from torch.nn import functional as F

ROWS = 96


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Have small matrices stand for large ones."""
    monkeypatch.setattr(padding, "_LEAST_BYTES", 1)
    monkeypatch.setattr(unread, "_LEAST_BYTES", 1)
    monkeypatch.setattr(decompositions, "_LEAST_BYTES", 1)


def whole(*shape, dtype=torch.bfloat16):
    """Return small whole numbers, of which all sums are exact in float32."""
    return torch.randint(-2, 3, shape).to(dtype)


def layer(k, n, dtype=torch.bfloat16, bias=True):
    linear = nn.Linear(k, n, bias).to(dtype).requires_grad_(False)
    for parameter in linear.parameters():
        parameter.copy_(whole(*parameter.shape, dtype=dtype))
    return linear


def compiled_of(model, **options):
    torch._dynamo.reset()
    return torch.compile(model, backend="tenon", **({"options": options} if options else {}))


def check(model, *inputs, **options):
    """Hold a model of whole numbers against eager, whose results are the same bits."""
    with torch.no_grad():
        expected, actual = model(*inputs), compiled_of(model, **options)(*inputs)
    pairs = zip(*((r if isinstance(r, tuple) else (r,)) for r in (actual, expected)), strict=True)
    for a, e in pairs:
        assert torch.equal(a, e)
        assert (a.dtype, a.stride()) == (e.dtype, e.stride())


def extents(timed):
    """Return M, N and K of the products that might be padded, as they are and as they would be."""
    return [tuple((p.m, p.n, p.k) for p in pair) for products, _ in timed.padded for pair in products]


@pytest.mark.parametrize(
    ("k", "padded", "n", "dtype"),
    [
        (63, 64, 16, torch.bfloat16),
        (319, 320, 283, torch.bfloat16),
        (283, 288, 3, torch.float16),
        (9, 16, 24, torch.float16),
        (20, 24, 5, torch.bfloat16),
    ],
)
def test_columns_of_x_and_w_are_padded(timed, compiled, k, padded, n, dtype):
    linear = layer(k, n, dtype)
    check(lambda x: F.relu(linear(x)), whole(ROWS, k, dtype=dtype))
    assert extents(timed) == [((ROWS, n, k), (ROWS, n, padded))]
    assert f"%x: tensor<{ROWS}x{padded}x" in compiled.sources[-1]
    ((_, copies),) = timed.padded
    assert copies == [(ROWS, k, padded - k), (n, k, padded - k)]


@pytest.mark.parametrize("k", [1, 7, 64])
def test_what_is_aligned_or_has_few_columns_is_not(timed, compiled, k):
    linear = layer(k, 16)
    check(lambda x: F.relu(linear(x)), whole(ROWS, k))
    assert not timed.padded
    assert k == 1 or f"%x: tensor<{ROWS}x{k}x" in compiled.sources[-1]


def test_what_is_slower_padded_is_not(timed, compiled):
    timed.times_padded = 1.0, 0.99
    linear = layer(63, 16)
    check(lambda x: F.relu(linear(x)), whole(ROWS, 63))
    assert len(timed.padded) == 1
    assert f"%x: tensor<{ROWS}x63x" in compiled.sources[-1]


def test_small_products_are_not(timed, monkeypatch):
    monkeypatch.setattr(padding, "_LEAST_BYTES", 2 * ROWS * 63 + 1)
    linear = layer(63, 16)
    check(lambda x: F.relu(linear(x)), whole(ROWS, 63))
    assert not timed.padded


def test_where_nothing_is_timed_nothing_is(compiled):
    linear = layer(63, 16)
    check(lambda x: F.relu(linear(x)), whole(ROWS, 63), target="cpu", rest="inductor")
    assert f"%x: tensor<{ROWS}x63x" in compiled.sources[-1]


@pytest.mark.parametrize(("precision", "is_padded"), [("tf32", True), ("fp32", False), ("bf16", False)])
def test_float32_is_where_tensor_cores_read_it_as_it_lies(timed, monkeypatch, precision, is_padded):
    monkeypatch.setattr(Options, "linear_precision", lambda self: precision)
    linear = layer(61, 16, torch.float32)
    check(lambda x: F.relu(linear(x)), whole(ROWS, 61, dtype=torch.float32))
    assert extents(timed) == ([((ROWS, 16, 61), (ROWS, 16, 64))] if is_padded else [])


def test_a_time_is_measured_once(timed):
    linear = layer(63, 16)
    for _ in range(2):
        check(lambda x: F.relu(linear(x)), whole(ROWS, 63))
    assert len(timed.padded) == 1


def test_other_leading_dimensions(timed):
    linear = layer(63, 16)
    check(lambda x: F.relu(linear(x)), whole(8, 3, 4, 63))
    assert extents(timed) == [((ROWS, 16, 63), (ROWS, 16, 64))]


def test_layers_of_one_x_and_of_one_weight(timed, compiled):
    first, second = layer(63, 16), layer(63, 24)
    check(lambda x, y: (F.relu(first(x)), F.relu(second(x)), F.relu(first(y))), whole(ROWS, 63), whole(ROWS, 63))
    ((products, copies),) = timed.padded
    assert len(products) == 3
    assert sorted(copies) == [(16, 63, 1), (24, 63, 1), (ROWS, 63, 1), (ROWS, 63, 1)], "each once"


def test_a_weight_that_lies_the_other_way(timed):
    """Of [K, N] rows lie along N: columns are added to the result, and left out of what follows."""
    w = nn.Parameter(whole(32, 283), requires_grad=False)
    check(lambda x: x @ w, whole(ROWS, 32))
    assert extents(timed) == [((ROWS, 283, 32), (ROWS, 288, 32))]


def test_an_activation_stays_in_the_kernel_of_its_product(timed):
    w = nn.Parameter(whole(32, 283), requires_grad=False)
    check(lambda x: F.relu(x @ w), whole(ROWS, 32))
    assert not timed.padded


def test_all_three_extents(timed):
    check(lambda x, w: x.t() @ w, whole(ROWS, 61), whole(ROWS, 27))
    check(lambda x, w: x @ w, whole(ROWS, 61), whole(61, 27))
    assert extents(timed) == [((61, 27, ROWS), (64, 32, ROWS)), ((ROWS, 27, 61), (ROWS, 32, 64))]


@pytest.mark.parametrize("case", ["strided", "both turned", "two types"])
def test_products_that_are_left(timed, case):
    if case == "strided":
        linear = layer(63, 16)
        check(lambda x: F.relu(linear(x[:, :63])), whole(ROWS, 80))
    elif case == "both turned":
        check(lambda x, w: x.t() @ w.t(), whole(61, ROWS), whole(16, 61))
    else:
        check(lambda x, w: (x.float() @ w.float()).relu(), whole(ROWS, 63), whole(63, 16))
    assert not timed.padded


def test_dynamic_rows(timed):
    linear = layer(63 + 32, 16)
    fast = compiled_of(lambda a, b: F.relu(linear(torch.cat([a, b], -1))))
    with torch.no_grad():
        for rows in (48, 64, 80):
            a, b = whole(rows, 63), whole(rows, 32)
            assert torch.equal(fast(a, b), F.relu(linear(torch.cat([a, b], -1))))
    assert [pair[0][2] for pair in extents(timed)] == [95, 95], "once for the first size, and once for all"


def test_parameters_may_change_in_place(timed):
    linear = layer(63, 16)
    fast, x = compiled_of(lambda x: F.relu(linear(x))), whole(ROWS, 63)
    with torch.no_grad():
        for _ in range(3):
            assert torch.equal(fast(x), F.relu(linear(x)))
            linear.weight.add_(1)


class Skip(nn.Module):
    """Layers that read parts of what they are given again, as NeRF's, of widths that are no multiple of 8."""

    def __init__(self, width=32, given=27):
        super().__init__()
        self.first, self.second = nn.Linear(given, width), nn.Linear(width + given, width)
        self.last = nn.Linear(width, 3)

    def forward(self, x):
        y = F.relu(self.first(x))
        y = F.relu(self.second(torch.cat([x, y], -1)))
        return self.last(y)


def gradients(model, call, x, needs_x):
    x = x.clone().requires_grad_(needs_x)
    model.zero_grad()
    call(x).square().mean().backward()
    return [p.grad.double() for p in model.parameters()] + ([x.grad.double()] if needs_x else [])


@pytest.mark.parametrize(
    ("dtype", "shape", "needs_x"),
    [(torch.bfloat16, (ROWS, 27), False), (torch.float16, (6, 16, 27), False), (torch.bfloat16, (ROWS, 27), True)],
)
def test_a_training_step(timed, dtype, shape, needs_x):
    torch.manual_seed(0)
    model, x = Skip().to(dtype), torch.randn(shape, dtype=dtype)
    wide = copy.deepcopy(model).double()
    fast = compiled_of(model)
    got, eager, exact = (
        gradients(model, fast, x, needs_x),
        gradients(model, model, x, needs_x),
        gradients(wide, wide, x.double(), needs_x),
    )
    for a, b, e in zip(got, eager, exact, strict=True):
        assert (a - e).norm() <= 1.5 * (b - e).norm()
    rows = x.numel() // 27
    assert ((32, 59, rows), (32, 64, rows)) in extents(timed), "the gradient of the second weight"
    assert ((32, 27, rows), (32, 32, rows)) in extents(timed), "the gradient of the first weight"
    assert (((rows, 59, 32), (rows, 64, 32)) in extents(timed)) == needs_x, (
        "else its columns are computed that are read"
    )


def test_a_training_step_of_dynamic_rows(timed):
    torch.manual_seed(0)
    model = Skip().bfloat16()
    fast = compiled_of(model)
    for rows in (48, 64, 80):
        x = torch.randn(rows, 27, dtype=torch.bfloat16)
        got, eager = (gradients(model, call, x, False) for call in (fast, model))
        for a, b in zip(got, eager, strict=True):
            assert (a - b).norm() <= 3e-2 * b.norm()


def test_verbose_says_what_became_of_products(timed, capsys):
    w0, w1 = (nn.Parameter(whole(*shape), requires_grad=False) for shape in ((59, 16), (8, 1)))
    check(lambda x: x @ w0, whole(ROWS, 59), verbose=True)
    check(lambda x: x @ w1, whole(ROWS, 8), verbose=True)
    err = capsys.readouterr().err
    assert "is padded from 96x16x59 to 96x16x64, for rows of a multiple of 16 bytes" in err
    assert "a product by a vector, is computed as products and their sum" in err


# Matrices and vectors


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("bias", [True, False])
def test_a_product_with_one_column_is_a_sum(timed, compiled, dtype, bias):
    linear = layer(8, 1, dtype, bias)
    check(lambda x: linear(x).sigmoid(), whole(ROWS, 8, dtype=dtype))
    (product,) = timed.summed
    assert (product.m, product.n, product.k, product.dtype) == (ROWS, 1, 8, dtype)
    assert not compiled.sources


def test_a_sum_may_join_the_layer_before_it(timed):
    first, last = layer(16, 8), layer(8, 1)
    check(lambda x: last(F.relu(first(x))), whole(ROWS, 16))
    assert timed.seen[0].kinds == ["linear", "relu", "cast", "mul", "reduce_row", "add", "cast"]


def test_a_product_with_one_row_is_a_sum(timed):
    check(lambda x, w: x.t() @ w, whole(ROWS, 1), whole(ROWS, 8))
    (product,) = timed.summed
    assert (product.m, product.n, product.k) == (1, 8, ROWS)


def test_factors_of_an_addend_and_of_a_sum(timed):
    check(lambda b, x, w: torch.addmm(b, x, w, beta=2, alpha=3), whole(1), whole(ROWS, 8), whole(8, 1))
    check(lambda b, x, w: torch.addmm(b, x, w, beta=0), whole(1) * torch.nan, whole(ROWS, 8), whole(8, 1))
    assert len(timed.summed) == 1, "of one shape"


@pytest.mark.parametrize("case", ["slower", "few rows", "two columns", "lies by columns", "float64"])
def test_other_products_are_no_sums(timed, case):
    timed.times_summed = 1.0, 0.99
    columns, rows = 2 if case == "two columns" else 1, 48 if case == "few rows" else ROWS
    dtype = torch.float64 if case == "float64" else torch.bfloat16
    x, w = whole(rows, 8, dtype=dtype), whole(8, columns, dtype=dtype)
    check(lambda x, w: x @ w, x.t().contiguous().t() if case == "lies by columns" else x, w)
    assert len(timed.summed) == (case == "slower")


def test_sums_of_dynamic_rows(timed):
    linear = layer(8, 1)
    fast = compiled_of(lambda x: linear(x).relu())
    with torch.no_grad():
        for rows in (80, 96, 128):
            x = whole(rows, 8)
            assert torch.equal(fast(x), linear(x).relu())
    assert len(timed.summed) == 2


# Products of much K


@pytest.mark.parametrize(("k", "is_tried"), [(64 * 16, True), (64 * 16 - 8, False)])
def test_bare_products_of_much_k_are_tried(timed, k, is_tried):
    check(lambda x, w: x.t() @ w, whole(k, 16), whole(k, 8))
    assert len(timed.seen) == is_tried


# Columns that nothing reads


def test_columns_that_nothing_reads_are_not_computed(timed, capsys):
    w = nn.Parameter(whole(32, 59), requires_grad=False)
    check(lambda x: F.relu((x @ w)[:, 27:]), whole(ROWS, 32), verbose=True)
    assert "columns 27 to 59 are computed, since nothing reads the others" in capsys.readouterr().err
    (candidate,) = timed.seen
    assert (candidate.kinds, candidate.products[0].n) == (["linear", "relu"], 32)


def test_ranges_with_others_between_them(timed):
    w = nn.Parameter(whole(32, 96), requires_grad=False)

    def f(x):
        y = (x @ w).view(8, 12, 96)
        return F.relu(y[..., 16:32]), F.relu(y[..., 40:64])

    check(f, whole(ROWS, 32))
    assert {p.n for candidate in timed.seen for p in candidate.products} <= {48, 16, 24}


@pytest.mark.parametrize(
    "f",
    [
        lambda y: F.relu(y),
        lambda y: (y[:, :27], y[:, 27:]),
        lambda y: (y, y[:, 27:]),
        lambda y: y[:, 27:],
        lambda y: y[::2, 27:],
        lambda y: y[:, 27::2],
    ],
)
def test_what_is_read_is_computed(timed, f):
    w = nn.Parameter(whole(32, 59), requires_grad=False)
    check(lambda x: f(x @ w), whole(ROWS, 32))
    assert all(p.n in (59, 64) for candidate in timed.seen for p in candidate.products)


def test_extents_that_are_known_in_the_call_alone(timed):
    w, v = nn.Parameter(whole(63, 16), requires_grad=False), nn.Parameter(whole(63, 1), requires_grad=False)

    def f(x):
        kept = x[x[:, 0] != 2]
        return F.relu((kept @ w)[:, 8:]), kept @ v

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        check(f, whole(ROWS, 63))


@pytest.mark.gpu
@pytest.mark.defaults
def test_a_training_step_on_a_gpu(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setenv("TENON_STRICT", "1")
    torch.manual_seed(0)
    model = nn.ModuleList([Skip(256, 63), nn.Linear(256, 1)]).to("cuda", torch.bfloat16)
    x = torch.randn(65536, 63, device="cuda", dtype=torch.bfloat16)

    def forward(model):
        skip, head = model
        return lambda x: torch.cat([skip(x), head(F.relu(skip.first(x)))], -1)

    wide = copy.deepcopy(model).double()
    fast = torch.compile(forward(model), backend="tenon")
    got, eager = gradients(model, fast, x, False), gradients(model, forward(model), x, False)
    exact = gradients(wide, forward(wide), x.double(), False)
    for a, b, e in zip(got, eager, exact, strict=True):
        assert (a - e).norm() <= 1.5 * (b - e).norm()
