# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch._scaled_mm with what follows it: one call of Tenon's, with the numbers of eager PyTorch."""

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from tenon.torch.explanation.layers import layers_of  # noqa: E402
from tenon.torch.options import Options  # noqa: E402
from torch_support import Cut  # noqa: E402

M, N, K = 32, 48, 64
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2


def operands(rowwise: bool, dtype: torch.dtype = E4M3) -> tuple[torch.Tensor, ...]:
    """Return x [M, K], w [N, K], their scales, a bias and a residual."""
    generator = torch.Generator().manual_seed(0)

    def rand(*shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=generator) + 0.5

    x, w = (torch.randn(n, K, generator=generator).to(dtype) for n in (M, N))
    scales = (rand(M, 1), rand(1, N)) if rowwise else (rand(), rand())
    return x, w, *scales, rand(N).bfloat16(), rand(M, N).bfloat16()


def multiply(x, w, s, t, **more):
    return torch._scaled_mm(x, w.t(), scale_a=s, scale_b=t, out_dtype=torch.bfloat16, **more)


# A function of all operands, and the ops of its call.
FOLLOWED = {
    "silu": (lambda x, w, s, t, b, r: F.silu(multiply(x, w, s, t)), ["silu"]),
    "bias_silu": (lambda x, w, s, t, b, r: F.silu(multiply(x, w, s, t, bias=b)), ["add", "cast", "silu"]),
    "fast_sums": (lambda x, w, s, t, b, r: F.relu(multiply(x, w, s, t, use_fast_accum=True)), ["relu"]),
    "residual": (lambda x, w, s, t, b, r: multiply(x, w, s, t) + r, ["add"]),
    "in_float32": (
        lambda x, w, s, t, b, r: torch._scaled_mm(x, w.t(), scale_a=s, scale_b=t, out_dtype=torch.float32).relu(),
        ["relu"],
    ),
    "requantised": (
        lambda x, w, s, t, b, r: (multiply(x, w, s, t).float() * 0.25).clamp(-448, 448).to(E4M3).float(),
        ["mul", "clamp", "cast", "cast"],
    ),
}


@pytest.mark.parametrize("rowwise", [False, True], ids=["tensor", "rows"])
@pytest.mark.parametrize("name", FOLLOWED)
def test_scaled_product(name, rowwise):
    function, ops = FOLLOWED[name]
    inputs = operands(rowwise)
    if name == "in_float32" and rowwise:
        pytest.skip("PyTorch scales rows of bfloat16 results alone")
    cut = Cut(function, *inputs)
    assert cut.ops[:3] == ["linear", "mul", "mul"] and cut.ops[-len(ops) :] == ops
    assert cut.kept == [] and cut.missed == []
    got, expected = cut(*inputs).double(), function(*inputs).double()
    # What eager rounds to bfloat16 first may come to the edge between two numbers of 8 bits, and fall to either side.
    tolerance, norm = (2.0**-3, 2e-2) if name == "requantised" else (2.0**-7, 4e-3)
    torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance)
    assert (got - expected).norm() <= norm * expected.norm()


@pytest.mark.parametrize("rowwise", [False, True], ids=["tensor", "rows"])
def test_scaled_by_recipe(rowwise):
    if not hasattr(F, "scaled_mm"):
        pytest.skip("PyTorch has no scaled_mm")
    recipe = F.ScalingType.RowWise if rowwise else F.ScalingType.TensorWise

    def function(x, w, s, t, b, r):
        return F.silu(F.scaled_mm(x, w.t(), s, recipe, t, recipe, bias=b, output_dtype=torch.bfloat16)) + r

    inputs = operands(rowwise)
    cut = Cut(function, *inputs)
    assert cut.kept == [] and cut.missed == [] and cut.ops[:3] == ["linear", "mul", "mul"]
    expected = FOLLOWED["bias_silu"][0](*inputs) + inputs[-1]
    torch.testing.assert_close(cut(*inputs).float(), expected.float(), rtol=2.0**-7, atol=2.0**-7)


@pytest.mark.parametrize("dtypes", [(E4M3, E5M2), (E5M2, E4M3)], ids=["e4m3_e5m2", "e5m2_e4m3"])
def test_two_types_of_8_bits(dtypes):
    """Their product is one of float16, which has the numbers of both."""
    x, w, *others = operands(rowwise=True)
    inputs = x.to(dtypes[0]), w.to(dtypes[1]), *others
    cut = Cut(FOLLOWED["silu"][0], *inputs)
    assert cut.kept == [] and cut.ops[:3] == ["cast", "cast", "linear"]
    x, w, s, t = (a.double() for a in inputs[:4])
    torch.testing.assert_close(cut(*inputs).double(), F.silu(x @ w.T * s * t), rtol=2.0**-7, atol=2.0**-7)


def test_result_of_8_bits():
    def quantised(x, w, s, t, b, r):
        return (F.relu(multiply(x, w, s, t)) * 50).to(E4M3)

    inputs = operands(rowwise=True)
    cut = Cut(quantised, *inputs)
    assert cut.kept == [] and "xf8E4M3FN>" in cut.source.rpartition("return")[2]
    assert cut(*inputs).dtype == E4M3
    got, expected = cut(*inputs).float(), quantised(*inputs).float()
    assert (got - expected).norm() <= 2e-2 * expected.norm() and got.max() == expected.max() == 448


@pytest.mark.parametrize("dtype", [E4M3, E5M2])
def test_cast_of_8_bits_is_part_of_a_call(dtype):
    def quantised(x, w):
        return F.relu(F.linear(x, w)).to(dtype)

    inputs = torch.randn(M, K), torch.nn.Parameter(torch.randn(N, K), requires_grad=False)
    cut = Cut(quantised, *inputs)
    assert cut.kept == [] and cut.ops[-1] == "cast"
    assert torch.equal(cut(*inputs).float(), quantised(*inputs).float())


def arguments_lie_by_rows(cut: Cut) -> bool:
    """Tell whether the only call takes all of its arguments without a copy."""
    (part,) = cut.partitions
    return all(node.meta["val"].is_contiguous() for node in part.node.args)


def blocks(m: int, n: int, k: int) -> tuple[torch.Tensor, ...]:
    """Return x and w with scales of blocks as PyTorch has them lie, and what both are in float64."""
    generator = torch.Generator().manual_seed(1)
    x, w = (torch.randn(rows, k, generator=generator).to(E4M3) for rows in (m, n))
    of_k = -(-k // 128)
    s = (torch.rand(of_k, m, generator=generator) + 0.5).t()
    t = torch.rand(-(-n // 128), of_k, generator=generator) + 0.5
    wide_x = x.double() * s.double().repeat_interleave(128, 1)[:, :k]
    wide_w = w.double() * t.double().repeat_interleave(128, 0).repeat_interleave(128, 1)[:n, :k]
    return x, s, w, t, wide_x @ wide_w.t()


def scaled_by_recipe(x, s, w, t):
    from torch.nn.functional import ScalingType, scaled_mm

    recipes = ScalingType.BlockWise1x128, ScalingType.BlockWise128x128
    return scaled_mm(x, w.t(), s, recipes[0], t.t(), recipes[1], output_dtype=torch.bfloat16)


def scaled_by_shape(x, s, w, t):
    return torch._scaled_mm(x, w.t(), scale_a=s, scale_b=t.t(), out_dtype=torch.bfloat16)


@pytest.mark.parametrize(
    ("function", "n", "k"),
    [(scaled_by_recipe, 256, 512), (scaled_by_shape, 256, 512), (scaled_by_shape, 208, 272)],
    ids=["recipe", "shape", "cut_off"],
)
def test_scaled_blocks(function, n, k):
    """PyTorch has no such product on the CPU, so it is compared with one in float64."""
    if function is scaled_by_recipe and not hasattr(torch.nn.functional, "scaled_mm"):
        pytest.skip("PyTorch has no scaled_mm")
    *inputs, expected = blocks(M, n, k)
    cut = Cut(lambda *given: F.silu(function(*given)), *inputs)
    assert cut.kept == ["permute"] and cut.missed == [] and arguments_lie_by_rows(cut)
    assert cut.ops == ["scale_blocks", "scale_blocks", "linear", "cast", "silu"] and "precision<tf32>" in cut.source
    torch.testing.assert_close(cut(*inputs).double(), F.silu(expected), rtol=2.0**-7, atol=2.0**-7)


@pytest.mark.parametrize(("m", "n", "k"), [(M, 256, 512), (4, 256, 512), (M, 128, 512), (1, 256, 512)])
def test_scaled_blocks_that_the_caller_laid_out(m, n, k):
    """What is passed lies column by column, as PyTorch asks: w and the scales of both. Nothing of it is copied."""
    x, s, w, t, expected = blocks(m, n, k)
    inputs = x, s, w.t(), t.t()

    def function(x, s, w, t):
        return F.silu(torch._scaled_mm(x, w, scale_a=s, scale_b=t, out_dtype=torch.bfloat16))

    cut = Cut(function, *inputs)
    assert cut.missed == [] and set(cut.kept) <= {"permute"} and arguments_lie_by_rows(cut)
    assert cut.ops == ["scale_blocks", "scale_blocks", "linear", "cast", "silu"] and "precision<tf32>" in cut.source
    torch.testing.assert_close(cut(*inputs).double(), F.silu(expected), rtol=2.0**-7, atol=2.0**-7)


@pytest.mark.parametrize("rowwise", [False, True], ids=["tensor", "rows"])
def test_weight_that_the_caller_turned(rowwise):
    x, w, s, t, b, _ = operands(rowwise)

    def function(x, w, s, t, b):
        return F.silu(torch._scaled_mm(x, w, scale_a=s, scale_b=t, bias=b, out_dtype=torch.bfloat16))

    inputs = x, w.t(), s, t, b
    cut = Cut(function, *inputs)
    assert cut.kept == ["permute"] and cut.missed == [] and arguments_lie_by_rows(cut)
    assert "layout" not in cut.source
    torch.testing.assert_close(cut(*inputs).float(), function(*inputs).float(), rtol=2.0**-7, atol=2.0**-7)


@pytest.mark.parametrize(("target", "kernels"), [("sm_90a", 1), ("sm_80", 3)])
def test_scaled_blocks_are_explained(target, kernels):
    """A kernel of wgmma takes bytes and their scales; elsewhere kernels of their own make float32 of them."""
    x, s, w, t, _ = blocks(256, 256, 512)
    w, t = (torch.nn.Parameter(p, requires_grad=False) for p in (w, t))
    cut = Cut(lambda *given: F.silu(scaled_by_shape(*given)), x, s, w, t)
    explained = layers_of(cut.partitions[0], [target], Options.of({"target": target, "strategy": "tiled"}))
    assert len(explained.layers) == kernels and explained.prepared == []


def test_scales_of_other_blocks_are_left_to_pytorch():
    x, s, w, t, _ = blocks(M, 256, 512)
    t = t.repeat_interleave(128, 0)  # a scale of each 1x128 of w

    def function(x, s, w, t):
        return F.silu(torch._scaled_mm(x, w.t(), scale_a=s, scale_b=t.t(), out_dtype=torch.bfloat16))

    with pytest.raises(Exception, match="scal"):  # which cannot run it on the CPU
        Cut(function, x, s, w, t)


def quantise_rows(x):
    """Return x in 8 bits with a scale a row, as the graphs of torchao 0.18's float8 inference linears do it."""
    scale = (x.abs().amax(1, keepdim=True) / 448.0).float()
    return (x.float() / scale).clamp(-448.0, 448.0).to(E4M3), scale


def test_inference_linears_of_torchao():
    """Two layers, whose x is quantised by row: the first one's result is in the call of both."""
    generator = torch.Generator().manual_seed(0)
    weights = [torch.randn(n, k, generator=generator).bfloat16() for n, k in ((N, K), (K, N))]
    biases = [torch.randn(w.shape[0], generator=generator).bfloat16() for w in weights]
    x = torch.randn(M, K, generator=generator).bfloat16()

    def model(x, first, of_first, bias, second, of_second, other_bias):
        more = {"out_dtype": torch.bfloat16, "use_fast_accum": True}
        q, s = quantise_rows(x)
        h = F.silu(torch._scaled_mm(q, first.t(), s, of_first.t(), bias=bias, **more))
        q, s = quantise_rows(h)
        return torch._scaled_mm(q, second.t(), s, of_second.t(), bias=other_bias, **more)

    first, second = (quantise_rows(w) for w in weights)
    inputs = x, *first, biases[0], *second, biases[1]
    cut = Cut(model, *inputs)
    # What is ahead of the first layer stays with PyTorch, but for the cast.
    ahead = ["abs", "amax", "div", "_to_copy", "_to_copy", "div", "clamp"]
    assert [op for op in cut.kept if op != "t"] == ahead
    assert cut.missed == [] and cut.ops.count("linear") == 2 and cut.ops.count("reduce_row") == 1
    got, expected = cut(*inputs).double(), model(*inputs).double()
    assert (got - expected).norm() <= 2e-2 * expected.norm()


def test_rows_of_zeros():
    """They have a scale of 0, as in PyTorch, and so no numbers."""
    x = torch.zeros(4, K).bfloat16()
    x[1] = 1

    def function(x, w):
        return quantise_rows(F.linear(x, w))

    inputs = x, torch.eye(K).bfloat16()
    cut = Cut(function, *inputs)
    assert cut.kept == []
    for got, expected in zip(cut(*inputs), function(*inputs), strict=True):  # eager rounds the scale to bfloat16
        torch.testing.assert_close(got.float(), expected.float(), rtol=2.0**-8, atol=0, equal_nan=True)
