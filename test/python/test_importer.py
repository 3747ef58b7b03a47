# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ATen ops in Tenon's words: the text, and the numbers of what is compiled from it."""

import math

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from tenon.importer.builder import constant  # noqa: E402
from torch_support import Cut, assert_as_eager, parameter, verify  # noqa: E402

M, K, N = 6, 8, 4

# By name: a function of the linear layer's result y and of v, a vector of the features; what it becomes.
WORDS = {
    "add": (lambda y, v: y + v, ["add"]),
    "add_alpha": (lambda y, v: torch.add(y, v, alpha=2), ["mul", "add"]),
    "add_number": (lambda y, v: y + 3, ["add"]),
    "add_number_alpha": (lambda y, v: torch.add(y, 3, alpha=0.5), ["add"]),
    "sub": (lambda y, v: y - v, ["sub"]),
    "sub_from": (lambda y, v: v - y, ["sub"]),
    "sub_from_number": (lambda y, v: 1.5 - y, ["sub"]),
    "rsub_alpha": (lambda y, v: torch.rsub(y, v, alpha=3), ["mul", "sub"]),
    "mul": (lambda y, v: y * v, ["mul"]),
    "mul_row": (lambda y, v: y * v.view(1, N), ["mul"]),
    "mul_tensor_of_one": (lambda y, v: y * torch.tensor(2.0), ["mul"]),
    "mul_full": (lambda y, v: y * torch.full((N,), 0.1), ["mul"]),
    "div": (lambda y, v: y / v, ["div"]),
    "div_number": (lambda y, v: y / 3, ["div"]),
    "div_of_number": (lambda y, v: 2 / y, ["div", "mul"]),
    "reciprocal": (lambda y, v: y.reciprocal(), ["div"]),
    "minimum": (torch.minimum, ["min"]),
    "maximum": (torch.maximum, ["max"]),
    "neg": (lambda y, v: -y, ["mul"]),
    "abs": (lambda y, v: y.abs(), ["mul", "max", "add"]),
    "square": (lambda y, v: y.square(), ["mul"]),
    "cube": (lambda y, v: y**3, ["mul", "mul"]),
    "relu": (lambda y, v: F.relu(y), ["relu"]),
    "relu_in_place": (lambda y, v: (y * v).relu_(), ["mul", "relu"]),
    "relu6": (lambda y, v: F.relu6(y), ["clamp"]),
    "leaky_relu": (lambda y, v: F.leaky_relu(y, 0.2), ["leaky_relu"]),
    "gelu": (lambda y, v: F.gelu(y), ["gelu"]),
    "gelu_tanh": (lambda y, v: F.gelu(y, approximate="tanh"), ["gelu"]),
    "silu": (lambda y, v: F.silu(y), ["silu"]),
    "mish": (lambda y, v: F.mish(y), ["mish"]),
    "softplus": (lambda y, v: F.softplus(y, 2.0, 5.0), ["softplus"]),
    "elu": (lambda y, v: F.elu(y, 0.5), ["elu"]),
    "selu": (lambda y, v: F.selu(y), ["elu"]),
    "celu": (lambda y, v: F.celu(y, 0.5), ["elu"]),
    "exp": (lambda y, v: torch.exp(y), ["exp"]),
    "log": (lambda y, v: torch.log(y * y + 1.0), ["mul", "add", "log"]),
    "sigmoid": (lambda y, v: y.sigmoid(), ["sigmoid"]),
    "tanh": (lambda y, v: y.tanh(), ["tanh"]),
    "clamp": (lambda y, v: y.clamp(-0.5, 0.25), ["clamp"]),
    "clamp_min": (lambda y, v: y.clamp_min(-0.5), ["max"]),
    "clamp_max": (lambda y, v: y.clamp(max=0.5), ["clamp"]),
    "clamp_tensor": (
        lambda y, v: y.clamp(-v.abs(), v.abs()),
        ["mul", "max", "add", "mul", "max", "mul", "max", "add", "min"],
    ),
    "clamp_tensor_min": (lambda y, v: torch.clamp(y, min=v), ["max"]),
    "hardtanh": (lambda y, v: F.hardtanh(y, -0.3, 0.3), ["clamp"]),
    "hardsigmoid": (lambda y, v: F.hardsigmoid(y), ["add", "clamp", "div"]),
    "hardswish": (lambda y, v: F.hardswish(y), ["add", "clamp", "mul", "div"]),
    "softsign": (lambda y, v: F.softsign(y), ["mul", "max", "add", "add", "div"]),
    "tanhshrink": (lambda y, v: F.tanhshrink(y), ["tanh", "sub"]),
    "threshold": (lambda y, v: F.threshold(y, 0.25, 0.25), ["max"]),
    "threshold_relu": (lambda y, v: F.threshold(y, 0.0, 0.0), ["relu"]),
    "dropout_in_eval": (lambda y, v: F.dropout(y, 0.5, training=False) * v, ["mul"]),
    "dropout_of_none": (lambda y, v: F.dropout(y, 0.0, training=True) * v, ["mul"]),
    "copies": (lambda y, v: y.clone().detach().contiguous().to(y.dtype) * v, ["mul"]),
    "to_32_bits_and_back": (lambda y, v: (y.float() * v).to(y.dtype), None),
}

PATTERNS = {
    "silu": (lambda y: y * y.sigmoid(), ["silu"]),
    "silu_reversed": (lambda y: torch.sigmoid(y) * y, ["silu"]),
    "silu_quotient": (lambda y: y / (1 + torch.exp(-y)), ["silu"]),
    "silu_reciprocal": (lambda y: y * (1 / (1 + torch.exp(-y))), ["silu"]),
    "sigmoid": (lambda y: torch.reciprocal(1 + torch.exp(y * -1)), ["sigmoid"]),
    "mish": (lambda y: y * torch.tanh(F.softplus(y)), ["mish"]),
    "mish_log1p": (lambda y: torch.tanh(torch.log1p(torch.exp(y))) * y, ["mish"]),
    "mish_log": (lambda y: y * torch.tanh(torch.log(1 + torch.exp(y))), ["mish"]),
    "gelu": (lambda y: 0.5 * y * (1 + torch.erf(y / math.sqrt(2))), ["gelu"]),
    "gelu_other_order": (lambda y: y * ((torch.erf(y * 0.7071067811865475) + 1) / 2), ["gelu"]),
    "gelu_expanded": (
        lambda y: y / 2 + (y / 2) * torch.erf(y / 2**0.5) if False else y * 0.5 * (1.0 + torch.erf(y * 2**-0.5)),
        ["gelu"],
    ),
    "gelu_tanh": (
        lambda y: 0.5 * y * (1 + torch.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * torch.pow(y, 3)))),
        ["gelu"],
    ),
    "gelu_tanh_factored": (
        lambda y: 0.5 * y * (1 + torch.tanh(y * 0.7978845608 * (1 + 0.044715 * y * y))),
        ["gelu"],
    ),
    "leaky_relu_max": (lambda y: torch.maximum(y, 0.1 * y), ["leaky_relu"]),
    "leaky_relu_max_reversed": (lambda y: torch.max(y / 4, y), ["leaky_relu"]),
    "leaky_relu_where": (lambda y: torch.where(y > 0, y, 0.1 * y), ["leaky_relu"]),
    "leaky_relu_where_le": (lambda y: torch.where(y <= 0, y * -2, y), ["leaky_relu"]),
    "relu_where_lt": (lambda y: torch.where(y < 0, 0.0, y), ["relu"]),
    "relu_where_zeros": (lambda y: torch.where(y <= 0, torch.zeros_like(y), y), ["relu"]),
    "pattern_of_scaled": (lambda y: (y * 3) * torch.sigmoid(y * 3), ["mul", "mul", "sigmoid", "mul"]),
    "pattern_of_named": (lambda y: (lambda z: z * torch.sigmoid(z))(y * 3), ["mul", "silu"]),
}

# What looks like a pattern and is none, and what must not be in its text.
NO_PATTERNS = {
    "silu_of_other": (lambda y: y * torch.sigmoid(1.702 * y), "silu"),
    "silu_floored": (lambda y: torch.div(y, 1 + torch.exp(-y), rounding_mode="floor"), "silu"),
    "sigmoid_floored": (lambda y: torch.div(1, 1 + torch.exp(-y), rounding_mode="trunc"), "sigmoid"),
    "silu_twice": (lambda y: y * y * torch.sigmoid(y), "silu"),
    "gelu_wrong_root": (lambda y: 0.5 * y * (1 + torch.erf(y / 1.414)), "gelu"),
    "gelu_without_half": (lambda y: y * (1 + torch.erf(y / math.sqrt(2))), "gelu"),
    "gelu_tanh_wrong": (lambda y: 0.5 * y * (1 + torch.tanh(0.79 * (y + 0.044715 * y**3))), "gelu"),
    "mish_beta": (lambda y: y * torch.tanh(F.softplus(y, beta=2)), "mish"),
    "max_slope": (lambda y: torch.maximum(y, 1.5 * y), "leaky_relu"),
    "max_zero_slope": (lambda y: torch.maximum(y, 0.0 * y), "leaky_relu"),
    "where_other_bound": (lambda y: torch.where(y > 1, y, 0.1 * y), "leaky_relu"),
    "where_swapped": (lambda y: torch.where(y > 0, 0.1 * y, y), "leaky_relu"),
    "where_makes_0_of_nan": (lambda y: torch.where(y > 0, y, 0.0), "relu"),
    "where_constant": (lambda y: torch.where(y > 0, y, 1.0), "relu"),
}


def behind_linear(function):
    return lambda x, w, v: function(F.linear(x, w), v)


@pytest.mark.parametrize("name", WORDS)
def test_word(name):
    function, ops = WORDS[name]
    cut = Cut(behind_linear(function), torch.randn(M, K), parameter(N, K), parameter(N))
    assert ops is None or cut.ops[-len(ops) :] == ops
    assert cut.kept == [] and cut.missed == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_words_compute_what_eager_does(dtype):
    names = [n for n in WORDS if dtype != torch.float64 or n != "to_32_bits_and_back"]

    def every_word(x, w, v):
        y = F.linear(x, w)
        return tuple(WORDS[name][0](y, v) for name in names)

    torch.manual_seed(0)  # a word divides by y: one that is nearly 0 magnifies the product's rounding without bound
    v = torch.nn.Parameter(1 + torch.rand(N).to(dtype), requires_grad=False)
    inputs = torch.randn(M, K, dtype=dtype), parameter(N, K, dtype=dtype), v
    cut = Cut(every_word, *inputs)
    assert cut.kept == [] and len(cut.partitions) == 1
    assert_as_eager(cut, every_word, *inputs)


@pytest.mark.parametrize("name", PATTERNS)
def test_pattern(name):
    function, ops = PATTERNS[name]
    cut = Cut(behind_linear(lambda y, v: function(y)), torch.randn(M, K), parameter(N, K), torch.randn(N))
    assert cut.ops == ["linear", *ops]
    assert cut.kept == [] and cut.missed == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_patterns_compute_what_eager_does(dtype):
    def every_pattern(x, w):
        y = F.linear(x, w)
        return tuple(function(y) for function, _ in PATTERNS.values())

    inputs = torch.randn(M, K, dtype=dtype), parameter(N, K, dtype=dtype)
    cut = Cut(every_pattern, *inputs)
    assert cut.kept == []
    assert_as_eager(cut, every_pattern, *inputs)


@pytest.mark.parametrize("name", NO_PATTERNS)
def test_no_pattern(name):
    function, absent = NO_PATTERNS[name]
    inputs = torch.randn(M, K), parameter(N, K), torch.randn(N)
    cut = Cut(behind_linear(lambda y, v: function(y) * v), *inputs)
    assert all(f"tenon.{absent} " not in part.source for part in cut.partitions)
    assert_as_eager(cut, behind_linear(lambda y, v: function(y) * v), *inputs)


# Numbers on their way to float64: a function of the linear layer's result y, and whether all of it is fused.
NUMBERS = {
    "gelu_of_8_digits": (lambda y: 0.5 * y * (1 + torch.erf(y * 0.70710678)), False),
    "gelu_tanh_of_8_digits": (lambda y: 0.5 * y * (1 + torch.tanh(0.79788456 * (y + 0.044715 * y**3))), True),
    "cast_to_float32": (lambda y: y * torch.full((N,), 0.1, dtype=torch.float64).to(torch.float32), True),
    "cast_to_16_bits": (lambda y: y + torch.full((N,), 0.1, dtype=torch.float64).to(torch.bfloat16), True),
    "cast_there_and_back": (lambda y: y * torch.full((N,), 0.1, dtype=torch.float64).half().double(), True),
    "float32": (lambda y: y * torch.full((N,), 0.1), True),
    "number": (lambda y: y * 0.1 / 0.3 - 0.7, True),
    "alpha": (lambda y: torch.add(y, y, alpha=0.1), True),
    "slope": (lambda y: F.leaky_relu(y, 0.1), True),
    "bounds": (lambda y: F.hardtanh(y, -0.1, 0.7), True),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_float64(name):
    function, fused = NUMBERS[name]

    def followed(x, w):
        y = F.linear(x, w)
        return function(y), y * 2

    inputs = torch.randn(M, K, dtype=torch.float64), parameter(N, K, dtype=torch.float64)
    cut = Cut(followed, *inputs)
    assert (cut.kept == []) == fused
    assert_as_eager(cut, followed, *inputs)


def test_hard_activations_of_float64_are_exact(device):
    """Not compared with eager: PyTorch's own kernels on a GPU multiply by a sixth that float32 rounded."""
    y = torch.linspace(-4, 4, 1001, dtype=torch.float64, device=device).view(-1, 7)
    w = torch.eye(7, dtype=torch.float64, device=device)
    hard = torch.compile(
        lambda y: (F.hardsigmoid(F.linear(y, w)), F.hardswish(F.linear(y, w))), backend="tenon", fullgraph=True
    )
    expected = (y + 3).clamp(0, 6) / 6
    for result, exact in zip(hard(y), (expected, y * expected), strict=True):
        torch.testing.assert_close(result, exact, rtol=1e-15, atol=1e-15)


def test_attributes():
    def function(x, w):
        y = F.linear(x, w)
        return F.leaky_relu(y, 1e-5), y.clamp(max=math.inf, min=-1), F.gelu(y, approximate="tanh"), y * 0.1

    source = Cut(function, torch.randn(M, K), parameter(N, K), precision="tf32").source
    assert "{negative_slope = 1.0e-05}" in source
    assert "{min = -1.0 : f64}" in source
    assert "approximate<tanh>" in source
    assert ", 0.1 :" in source
    assert "precision<tf32>" in source


@given(st.floats())
@settings(max_examples=300, deadline=None)
def test_constant_reads_back_exactly(number):
    text = constant(number)
    if text.startswith("0x"):
        assert not math.isfinite(number)
    else:
        assert "." in text.partition("e")[0]
        assert float(text) == number and math.copysign(1, float(text)) == math.copysign(1, number)


def test_constants_are_read_by_mlir():
    numbers = [1e-5, 1e300, -0.0, 5e-324, 0.1, -1.5e-7, math.inf, -math.inf, math.nan, 1e16, 123456789.0]
    body = "\n".join(f"  %{i} = tenon.mul %x, {constant(n)} : tensor<4xf32>" for i, n in enumerate(numbers))
    verify(f"func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {{\n{body}\n  return %0 : tensor<4xf32>\n}}\n")


# Forms of a linear layer: a function of x [M, K], w [N, K], its transpose p [K, N] and a bias; is p transposed?
LINEARS = {
    "linear": (lambda x, w, p, b: F.linear(x, w, b), False),
    "linear_no_bias": (lambda x, w, p, b: F.linear(x, w), False),
    "matmul_t": (lambda x, w, p, b: x @ w.t() + b, False),
    "matmul_mT": (lambda x, w, p, b: torch.matmul(x, w.mT), False),
    "mm_plain": (lambda x, w, p, b: torch.mm(x, p), True),
    "mm_transposed_twice": (lambda x, w, p, b: x @ p.t().contiguous().t(), True),
    "addmm": (lambda x, w, p, b: torch.addmm(b, x, w.t()), False),
    "addmm_plain": (lambda x, w, p, b: torch.addmm(b, x, p), True),
    "addmm_scaled": (lambda x, w, p, b: torch.addmm(b, x, w.t(), alpha=2, beta=0.5), False),
    "addmm_beta_0": (lambda x, w, p, b: torch.addmm(b, x, w.t(), beta=0), False),
    "addmm_matrix": (lambda x, w, p, b: torch.addmm(b.expand(M, N), x, w.t()), False),
    "addmm_number": (lambda x, w, p, b: torch.addmm(b[:1], x, w.t()), False),
    "einsum": (lambda x, w, p, b: torch.einsum("mk,nk->mn", x, w), False),
    "einsum_plain": (lambda x, w, p, b: torch.einsum("mk,kn->mn", x, p), True),
    "three_dimensions": (lambda x, w, p, b: F.linear(x.view(2, 3, K), w, b), False),
    "three_dimensions_plain": (lambda x, w, p, b: x.view(2, 3, K) @ p, True),
    "bmm": (lambda x, w, p, b: torch.bmm(x.view(2, 3, K), w.t().expand(2, K, N)), False),
    "bmm_plain": (lambda x, w, p, b: torch.bmm(x.view(2, 3, K), p.unsqueeze(0).expand(2, -1, -1)), True),
    "einsum_three_dimensions": (lambda x, w, p, b: torch.einsum("abk,nk->abn", x.view(2, 3, K), w), False),
    "four_dimensions": (lambda x, w, p, b: F.linear(x.view(1, 2, 3, K), w, b), False),
    "vector": (lambda x, w, p, b: F.linear(x[0], w, b), False),
    "vector_matmul": (lambda x, w, p, b: x[0] @ p, True),
    "scaled_weight": (lambda x, w, p, b: F.linear(x, w * b.view(N, 1), b * 2), False),
}


@pytest.mark.parametrize("name", LINEARS)
def test_linear(name):
    function, transposed = LINEARS[name]

    def followed(x, w, p, b):
        return F.relu(function(x, w, p, b))

    inputs = torch.randn(M, K), parameter(N, K), parameter(K, N), parameter(N)
    cut = Cut(followed, *inputs)
    assert "linear" in cut.ops and cut.ops[-1] == "relu"
    assert cut.missed == []
    assert [spec.transpose for spec in cut.partitions[0].inputs if spec.shape == (N, K)] == [transposed]
    assert_as_eager(cut, followed, *inputs)


# Products of which PyTorch reads only a part: what is not read may be NaN.
PARTS = {
    "addmm_alpha_0": lambda x, w, b: torch.addmm(b, x * math.nan, w.t(), alpha=0),
    "addmm_alpha_0_beta_0": lambda x, w, b: torch.addmm(b * math.nan, x * math.nan, w.t(), alpha=0, beta=0),
    "addmm_beta_0": lambda x, w, b: torch.addmm(b * math.nan, x, w.t(), beta=0),
    "addmm_beta_0_alpha": lambda x, w, b: torch.addmm(b * math.nan, x, w.t(), beta=0, alpha=2),
    "addmv_alpha_0": lambda x, w, b: torch.addmv(b, w * math.nan, x[0], alpha=0),
    "addmv_beta_0": lambda x, w, b: torch.addmv(b * math.nan, w, x[0], beta=0),
    "baddbmm_beta_0": lambda x, w, b: torch.baddbmm(b * math.nan, x[None], w.t()[None], beta=0),
    "baddbmm_alpha_0": lambda x, w, b: torch.baddbmm(b, x[None] * math.nan, w.t()[None], alpha=0),
    "addbmm_beta_0": lambda x, w, b: torch.addbmm(b.expand(M, N) * math.nan, x[None], w.t()[None], beta=0),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", PARTS)
def test_what_a_product_ignores(name, dtype):
    def followed(x, w, b):
        return F.relu(PARTS[name](x, w, b)), F.relu(F.linear(x, w))

    inputs = torch.randn(M, K, dtype=dtype), parameter(N, K, dtype=dtype), parameter(N, dtype=dtype)
    assert_as_eager(Cut(followed, *inputs), followed, *inputs)


@pytest.mark.parametrize("which", ["x", "w", "both", "w with gaps", "parameter"])
def test_matrix_that_the_caller_turned_is_multiplied_as_it_lies(which):
    x, w = torch.randn(24, 12), torch.randn(16, 12)
    turns_x, wide = which in ("x", "both"), torch.randn(16, 15)
    x = x.t().contiguous().t() if turns_x else x
    w = wide[:, :12].t() if which == "w with gaps" else w.t() if which != "x" else w.t().contiguous()
    w = torch.nn.Parameter(w, requires_grad=False) if which == "parameter" else w

    def function(x, w):
        return (x @ w).relu(), x * 2, w.t()

    cut = Cut(function, x, w)
    (part,) = cut.partitions
    layout = {"x": "km_kn", "both": "km_nk"}.get(which)
    assert (f"layout<{layout}>" in cut.source) if layout else ("layout" not in cut.source)
    rows = [node.meta["val"].is_contiguous() for node in part.node.args[:2]]
    assert rows == [True, which not in ("w with gaps", "parameter")]
    assert cut.kept.count("permute") == {"both": 2, "parameter": 0}.get(which, 1)
    for a, e in zip(cut(x, w), function(x, w), strict=True):
        torch.testing.assert_close(a, e)
        assert a.stride() == e.stride()


def test_plain_matrix_that_is_no_parameter_is_multiplied_as_it_lies():
    inputs = torch.randn(M, K), torch.randn(K, N)
    cut = Cut(lambda x, p: F.relu(x @ p), *inputs)
    assert_as_eager(cut, lambda x, p: F.relu(x @ p), *inputs)
    assert f"layout<mk_kn> : (tensor<{M}x{K}xf32>, tensor<{K}x{N}xf32>)" in cut.source


PROMOTIONS = [
    (torch.bfloat16, torch.float32, lambda y, v: y * v),
    (torch.bfloat16, torch.float32, lambda y, v: y - v),
    (torch.bfloat16, torch.float32, lambda y, v: v / y),
    (torch.bfloat16, torch.float16, lambda y, v: y + v),
    (torch.float16, torch.bfloat16, lambda y, v: torch.maximum(v, y)),
    (torch.bfloat16, torch.float32, lambda y, v: v[0] * y),
    (torch.bfloat16, torch.float32, lambda y, v: v[0] - y),
    (torch.bfloat16, torch.float16, lambda y, v: v[0] - y),
    (torch.float16, torch.float32, lambda y, v: y.to(torch.bfloat16) * v.to(torch.bfloat16)),
    (torch.float16, torch.float32, lambda y, v: y.clamp(min=v[0])),
    (torch.float32, torch.bfloat16, lambda y, v: y + v),
    (torch.float32, torch.bfloat16, lambda y, v: v - y),
]


@pytest.mark.parametrize("case", range(len(PROMOTIONS)))
def test_promotion(case):
    dtype, other, function = PROMOTIONS[case]
    inputs = torch.randn(M, K, dtype=dtype), parameter(N, K, dtype=dtype), (1 + torch.rand(N)).to(other)
    cut = Cut(behind_linear(function), *inputs)
    assert len(cut.partitions) == 1
    assert_as_eager(cut, behind_linear(function), *inputs)


def test_autocast_becomes_casts():
    linear = torch.nn.Linear(K, N).requires_grad_(False)

    def function(x):
        with torch.autocast("cpu", torch.bfloat16):
            y = F.relu(linear(x))
        return y + linear.bias

    cut = Cut(function, torch.randn(M, K))
    assert cut.kept == []
    assert cut.ops == ["cast", "cast", "cast", "linear", "relu", "add"]
    assert [spec.dtype for spec in cut.partitions[0].inputs] == ["float32"] * 3
    with torch.no_grad():
        x = torch.randn(M, K)
        torch.testing.assert_close(cut(x), function(x), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("shape", [(M, K), (4, 3, K), (5, 2, 3, K)])
def test_dynamic_rows(shape):
    def function(x, w, b):
        return F.gelu(F.linear(x, w, b)).reshape(-1, N), F.relu(F.linear(x, w, b))

    w, b = parameter(N, K), parameter(N)
    first = torch.randn(2, *shape[1:])
    cut = Cut(function, first, w, b, dynamic=True)
    assert all("tensor<?x8xf32>" in part.source for part in cut.partitions)
    before = cut.graph
    assert_as_eager(cut, function, torch.randn(shape), w, b)
    assert_as_eager(cut, function, torch.randn(7, *shape[1:]), w, b)
    assert cut.graph is before


def test_locations_name_the_users_lines():
    source = Cut(lambda x, w: F.relu(F.linear(x, w)), torch.randn(M, K), parameter(N, K)).source
    assert source.count(f'loc("{__file__}":') == 2
