# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products that are computed in another form where that is faster, with the same values.

Of rows that are no multiple of 16 bytes, of a vector, and of which some columns are not read.
"""

import copy

import pytest
import tenon.torch
import torch
from tenon.torch.fusion import tall, unread
from tenon.torch.fusion.nodes import insert
from tenon.torch.fusion.views import is_transpose
from tenon.torch.inductor import graph_pass
from torch import nn
from torch.nn import functional as F

ROWS = 96
aten = torch.ops.aten


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Have small matrices stand for large ones."""
    monkeypatch.setattr(tall, "_LEAST_BYTES", 1)
    monkeypatch.setattr(tall, "_ROWS_OF_COLUMNS", 1)
    monkeypatch.setattr(unread, "_LEAST_BYTES", 1)


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


@pytest.fixture
def notes(monkeypatch):
    """Give what became of products, as sentences."""
    found = []
    monkeypatch.setattr(graph_pass, "print_notes", lambda notes, options: found.extend(notes))
    return found


def padded(more):
    return [f"mm is padded by {more}, for rows of a multiple of 16 bytes"] if more else []


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize(("m", "n", "more"), [(16, 9, "0x7x0"), (3, 8, "5x0x0"), (11, 6, "5x2x0"), (8, 16, "")])
def test_the_gradient_of_a_weight(timed, notes, m, n, more, dtype):
    check(lambda z, x: z.t() @ x, whole(ROWS, m, dtype=dtype), whole(ROWS, n, dtype=dtype))
    assert notes == padded(more)


@pytest.mark.parametrize(("k", "more"), [(2, "0x0x6"), (7, "0x0x1"), (9, "0x0x7"), (8, "")])
def test_the_gradient_of_an_input(timed, notes, k, more):
    check(lambda z, w: F.relu(z @ w), whole(ROWS, k), whole(k, 16))
    assert notes == padded(more)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("k", "n", "more"),
    [(8, 2, "0x6x0"), (8, 7, "0x1x0"), (3, 16, "0x0x5"), (3, 4, "0x4x5"), (9, 9, "0x0x7"), (1, 16, "")],
)
def test_a_layer(timed, notes, k, n, more, bias):
    linear = layer(k, n, bias=bias)
    check(lambda x: F.relu(linear(x)), whole(8, 12, k))
    assert [note.removeprefix("add") for note in notes] == padded(more)


@pytest.mark.parametrize("case", ["float32", "small", "few rows", "bias of all"])
def test_products_that_are_not_padded(timed, notes, monkeypatch, case):
    if case == "small":
        monkeypatch.setattr(tall, "_LEAST_BYTES", 2 * ROWS * 8 + 1)
    dtype = torch.float32 if case == "float32" else torch.bfloat16
    x, w = whole(7 if case == "few rows" else ROWS, 8, dtype=dtype), whole(3, 8, dtype=dtype)
    b = whole(1 if case == "bias of all" else 3, dtype=dtype)
    check(lambda x, w, b: torch.addmm(b, x, w.t()), x, w, b)
    assert not notes


def test_dimensions_in_their_own_order_are_not_turned():
    graph = torch.fx.Graph()
    node = graph.placeholder("x")
    node.meta["val"] = torch.empty(ROWS, 9)
    for order in ([0, 1], [1, 0], [0, 1]):
        node = insert(aten.permute.default, node, order)
        assert is_transpose(node) == (order == [1, 0])


@pytest.mark.parametrize(
    "f", [lambda y: y.split([1, 2], -1), lambda y: y.unbind(-1), lambda y: y.as_strided((90, 2), (3, 1), 1).relu()]
)
def test_views_of_what_is_padded(timed, notes, f):
    linear = layer(8, 3)
    check(lambda x: f(linear(x)), whole(ROWS, 8))
    assert notes


def test_layers_of_one_weight(timed, notes):
    linear = layer(8, 3)
    check(lambda x, y: (F.relu(linear(x)), F.relu(linear(y))), whole(ROWS, 8), whole(ROWS, 8))
    assert len(notes) == 2


def test_parameters_may_change_in_place(timed, notes):
    linear = layer(8, 3)
    fast, x = compiled_of(lambda x: F.relu(linear(x))), whole(ROWS, 8)
    with torch.no_grad():
        for _ in range(3):
            assert torch.equal(fast(x), F.relu(linear(x)))
            linear.weight.add_(1)
    assert notes


class Skip(nn.Module):
    """Layers that read what they are given again, as NeRF's, of a width that is no multiple of 8."""

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
def test_a_training_step(timed, notes, dtype, shape, needs_x):
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
    assert (("of mm_2 columns 27 to 59 are computed, since nothing reads the others") in notes) != needs_x
    assert any("is padded by 0x5x0" in note for note in notes), "a gradient of a weight"


def test_forward_saves_what_is_padded_and_nothing_beside(timed, notes):
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(tuple(t.shape)) or t, lambda t: t):
        compiled_of(Skip().bfloat16())(whole(ROWS, 27))
    assert len([note for note in notes if "0x0x5" in note]) == 2, "each layer once"
    assert saved.count((ROWS, 64)) == 1
    assert (ROWS, 59) not in saved


def test_a_training_step_of_dynamic_rows(timed):
    torch.manual_seed(0)
    model = Skip().bfloat16()
    fast = compiled_of(model)
    for rows in (48, 64, 80):
        x = torch.randn(rows, 27, dtype=torch.bfloat16)
        got, eager = (gradients(model, call, x, False) for call in (fast, model))
        for a, b in zip(got, eager, strict=True):
            assert (a - b).norm() <= 3e-2 * b.norm()


# Matrices and vectors


SUM = "a product by a vector, is computed as products and their sum"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("bias", [True, False])
def test_a_product_with_one_column_is_a_sum(timed, notes, compiled, dtype, bias):
    linear = layer(8, 1, dtype, bias)
    check(lambda x: linear(x).sigmoid(), whole(ROWS, 8, dtype=dtype))
    assert len(notes) == 1 and SUM in notes[0]
    assert not compiled.sources


def test_a_sum_may_join_the_layer_before_it(timed):
    first, last = layer(16, 8), layer(8, 1)
    check(lambda x: last(F.relu(first(x))), whole(ROWS, 16))
    assert timed.seen[0].kinds == ["linear", "relu", "cast", "mul", "reduce_row", "add", "cast"]


def test_a_product_with_one_row_is_a_sum(timed, notes):
    check(lambda x, w: x.t() @ w, whole(ROWS, 1), whole(ROWS, 8))
    assert len(notes) == 1 and SUM in notes[0]


def test_factors_of_an_addend_and_of_a_sum(timed, notes):
    check(lambda b, x, w: torch.addmm(b, x, w, beta=2, alpha=3), whole(1), whole(ROWS, 8), whole(8, 1))
    check(lambda b, x, w: torch.addmm(b, x, w, beta=0), whole(1) * torch.nan, whole(ROWS, 8), whole(8, 1))
    assert len(notes) == 2


@pytest.mark.parametrize("case", ["small", "few rows", "two columns", "lies by columns", "float64"])
def test_other_products_are_no_sums(timed, notes, monkeypatch, case):
    if case == "small":
        monkeypatch.setattr(tall, "_LEAST_BYTES", 2 * ROWS * 8 + 1)
    columns, rows = 2 if case == "two columns" else 1, 7 if case == "few rows" else ROWS
    dtype = torch.float64 if case == "float64" else torch.bfloat16
    x, w = whole(rows, 8, dtype=dtype), whole(8, columns, dtype=dtype)
    check(lambda x, w: x @ w, x.t().contiguous().t() if case == "lies by columns" else x, w)
    assert not any(SUM in note for note in notes)


def test_sums_of_dynamic_rows(timed, notes):
    linear = layer(8, 1)
    fast = compiled_of(lambda x: linear(x).relu())
    with torch.no_grad():
        for rows in (80, 96, 128):
            x = whole(rows, 8)
            assert torch.equal(fast(x), linear(x).relu())
    assert len(notes) == 2


def test_a_product_of_a_column_and_a_row_is_computed_where_it_is_read(timed):
    w, row = nn.Parameter(whole(16, 8), requires_grad=False), nn.Parameter(whole(1, 8), requires_grad=False)
    check(lambda x, z: F.relu(x @ w + z[:, 3:] @ row), whole(ROWS, 16), whole(ROWS, 4))
    (candidate,) = timed.seen
    assert (candidate.kinds, candidate.addends) == (["linear", "mul", "add", "relu"], 0)


# Columns that nothing reads


def test_columns_that_nothing_reads_are_not_computed(timed, notes):
    w = nn.Parameter(whole(32, 59), requires_grad=False)
    check(lambda x: F.relu((x @ w)[:, 27:]), whole(ROWS, 32))
    assert notes == ["of mm columns 27 to 59 are computed, since nothing reads the others"]
    (candidate,) = timed.seen
    assert (candidate.kinds, candidate.products[0].n) == (["linear", "relu"], 32)


@pytest.mark.parametrize(("turns", "is_copied"), [(0, True), (1, False), (2, True)])
def test_columns_are_copied_unless_they_lie_as_rows(turns, is_copied):
    graph = torch.fx.Graph()
    x, w = graph.placeholder("x"), graph.placeholder("w")
    x.meta["val"], w.meta["val"] = whole(ROWS, 32), whole(*((59, 32) if turns == 1 else (32, 59)))
    for _ in range(turns):
        w = insert(aten.permute.default, w, [1, 0])
    y = insert(aten.mm.default, x, w)
    graph.output((insert(aten.relu.default, insert(aten.slice.Tensor, y, 1, 0, 32)),))
    assert unread.leave_unread(graph)
    (product,) = graph.find_nodes(op="call_function", target=aten.mm.default)
    assert (product.args[1].target is aten.clone.default) == is_copied


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
        lambda y: y.split([27, 32], -1)[1],
        lambda y: y[:, 27:].as_strided((90, 10), (59, 1), 30).relu(),
    ],
)
def test_what_is_read_is_computed(timed, f):
    w = nn.Parameter(whole(32, 59), requires_grad=False)
    check(lambda x: f(x @ w), whole(ROWS, 32))
    assert all(p.n in (59, 64) for candidate in timed.seen for p in candidate.products)


@pytest.mark.parametrize(
    ("f", "note", "op"),
    [
        (lambda x, w: F.relu((x @ w)[:, 27:]), "Of mm columns 27 to 59 are computed, ", "linear"),
        (lambda x, w: F.relu(x[:, :27] @ w[:27]), "Mm is padded by 0x0x5, ", "constant_pad_nd"),
        (lambda x, w: F.relu(x @ w[:, :1]), "Mm, a product by a vector, is computed as products and their sum.", "sum"),
    ],
)
def test_explain_tells_of_them(timed, f, note, op):
    explanation = tenon.torch.explain(f, whole(ROWS, 32), whole(32, 59))
    (report,) = explanation.reports
    assert len(report.notes) == 1 and note in explanation.table
    assert op in {step.op for step in report.steps}
    assert explanation.to_svg()


@pytest.mark.parametrize(
    ("fails", "of_x"),
    [
        ("is_of_training", lambda x, w: F.relu((x @ w)[:, 27:])),
        ("insert_op", lambda x, w: F.relu(x[:, :27] @ w[:27])),
    ],
)
def test_what_a_failure_takes_back_is_not_told(timed, notes, monkeypatch, fails, of_x):
    def fail(*given):
        raise ValueError("of a test")

    x, w = whole(ROWS, 32), whole(32, 59)
    check(of_x, x, w)
    assert notes
    notes.clear()
    monkeypatch.setattr(graph_pass, fails, fail)
    monkeypatch.delenv("TENON_STRICT")
    with pytest.warns(UserWarning, match="of a test"):
        check(of_x, x, w)
    assert not notes


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
