# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms of a linear layer's surroundings that a front end may get wrong: fused or left, the results are eager's."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch_models.check import FRONT_ENDS, Comparison  # noqa: E402


class Around(nn.Module):
    """A linear layer `l`, a vector `v`, and what a case adds: parts, buffers, and a function as forward."""

    def __init__(self, function, **parts):
        super().__init__()
        self.l, self.v, self.function = nn.Linear(16, 16), nn.Parameter(torch.randn(16)), function
        for name, part in parts.items():
            if isinstance(part, nn.Module):
                self.add_module(name, part)
            else:
                self.register_buffer(name, part)

    def forward(self, *inputs):
        return self.function(self, *inputs)


def drawn(*shapes):
    return tuple(torch.randn(shape) for shape in shapes)


def statistics_before_and_after(s, x):
    before = s.bn.running_mean * 2
    y = s.bn(s.l(x))
    return y, before, s.bn.running_mean, s.bn.running_mean * 2


def view_written(s, x):
    y = F.relu(s.l(x))
    y[:, 0].zero_()
    return y


# By name: the function, the inputs, what the module has beside its layer, and how many linears are fused.
CASES = {
    # Operands
    "bias_used_again": (lambda s, x: F.relu(s.l(x)) + s.l.bias, [(5, 16)], {}, 1),
    "weight_used_again": (lambda s, x: F.relu(s.l(x)) + s.l.weight.sum(), [(5, 16)], {}, 1),
    "infinite_scalar": (lambda s, x: F.relu(s.l(x) * float("inf")), [(5, 16)], {}, 1),
    "nan_scalar": (lambda s, x: F.relu(s.l(x) + float("nan")), [(5, 16)], {}, 1),
    "nan_bound": (lambda s, x: torch.clamp(F.relu(s.l(x)), min=float("nan")), [(5, 16)], {}, 1),
    "large_integer": (lambda s, x: F.relu(s.l(x)) + 2**40, [(5, 16)], {}, 1),
    "integer_tensor": (lambda s, x: F.relu(s.l(x)) * s.i, [(5, 16)], {"i": torch.arange(16)}, 1),
    "mask": (lambda s, x: F.relu(s.l(x)) * (x > 0), [(5, 16)], {}, 1),
    "where_mask": (lambda s, x: torch.where(x > 0, F.relu(s.l(x)), -1e9), [(5, 16)], {}, 1),
    "where_nan": (
        lambda s, x: torch.where((y := s.l(x) + s.b) > 0, y, 0.0),
        [(5, 16)],
        {"b": torch.full((16,), torch.nan)},
        1,
    ),
    "double_number": (lambda s, x: F.relu(s.l(x)) * s.b, [(5, 16)], {"b": torch.tensor(0.1, dtype=torch.float64)}, 1),
    "lerp": (lambda s, x: torch.lerp(F.relu(s.l(x)), x, 0.3), [(5, 16)], {}, 1),
    "addcmul": (lambda s, x: torch.addcmul(F.relu(s.l(x)), x, s.v, value=0.5), [(5, 16)], {}, 1),
    "transposed_residual": (lambda s, x: F.relu(s.l(x)) + x.t(), [(16, 16)], {}, 1),
    "floor_division": (lambda s, x: F.relu(torch.div(s.l(x), 0.1, rounding_mode="floor")), [(5, 16)], {}, 0),
    # Shapes that broadcast
    "full_bias": (lambda s, x: F.relu(x @ s.l.weight.t() + s.b), [(5, 16)], {"b": torch.randn(5, 16)}, 1),
    "column_bias": (lambda s, x: F.relu(x @ s.l.weight.t() + s.b), [(5, 16)], {"b": torch.randn(5, 1)}, 1),
    "more_dims": (lambda s, x: F.relu(s.l(x) * s.b), [(5, 16)], {"b": torch.randn(3, 1, 16)}, 0),
    "one_row_repeated": (lambda s, x: F.relu(s.l(x) * s.b), [(1, 16)], {"b": torch.randn(4, 16)}, 0),
    "middle_repeated": (lambda s, x: F.relu(s.l(x) * s.b), [(5, 4, 16)], {"b": torch.randn(5, 1, 16)}, 0),
    "leading_repeated": (lambda s, x: F.relu(s.l(x) + s.b), [(5, 4, 16)], {"b": torch.randn(4, 16)}, 0),
    "column_of_rows": (lambda s, x: F.relu(s.l(x) * s.b), [(5, 4, 16)], {"b": torch.randn(4, 1)}, 0),
    # Products
    "weight_on_the_left": (lambda s, x: F.relu(s.l.weight @ x), [(16, 5)], {}, 1),
    "two_inputs": (lambda s, x, y: F.relu(x @ y), [(5, 16), (16, 8)], {}, 1),
    "two_inputs_transposed": (lambda s, x, y: F.relu(x @ y.t()), [(5, 16), (8, 16)], {}, 1),
    "with_itself": (lambda s, x: F.relu(x @ x.t()), [(5, 16)], {}, 1),
    "batched": (lambda s, x: F.relu(torch.bmm(x, s.b)), [(5, 3, 16)], {"b": torch.randn(5, 16, 16)}, 0),
    "einsum": (lambda s, x: F.relu(torch.einsum("bk,nk->bn", x, s.l.weight)), [(5, 16)], {}, 1),
    "rows_of_weight": (lambda s, x: F.relu(F.linear(x, s.l.weight[:8], s.l.bias[:8])), [(5, 16)], {}, 1),
    "columns_of_weight": (lambda s, x: F.relu(F.linear(x[:, :8], s.l.weight[:, :8])), [(5, 16)], {}, 1),
    "weight_computed": (lambda s, x: F.relu(F.linear(x, torch.cat([s.l.weight, -s.l.weight]))), [(5, 16)], {}, 1),
    "vector": (lambda s, x: F.relu(torch.mv(x, s.v)), [(5, 16)], {}, 0),
    # Views
    "reshaped_between": (lambda s, x: F.relu((s.l(x)).reshape(-1, 8)) * s.v[:8], [(5, 16)], {}, 0),
    "transposed_between": (
        lambda s, x: F.relu(s.l(F.relu(s.l(x)).view(-1, 4, 16).mT.mT.transpose(0, 1))),
        [(8, 16)],
        {},
        2,
    ),
    "columns_of_result": (lambda s, x: F.relu(s.l(x)[:, :8]), [(5, 16)], {}, 0),
    "rows_of_result": (lambda s, x: F.relu(s.l(x)[1:]), [(5, 16)], {}, 0),
    "transposed_result": (lambda s, x: F.relu(s.l(x)).t(), [(5, 16)], {}, 1),
    "expanded_result": (lambda s, x: F.relu(s.l(x)).expand(3, -1, -1), [(5, 16)], {}, 1),
    "view_written": (view_written, [(5, 16)], {}, 1),
    "detached": (lambda s, x: F.relu(s.l(x.detach())).detach(), [(5, 16)], {}, 1),
    # Modules
    "prelu": (lambda s, x: s.m(s.l(x)), [(5, 16)], {"m": nn.PReLU()}, 0),
    "elu": (lambda s, x: F.elu(s.l(x) * 2.0), [(5, 16)], {}, 1),
    "softplus": (lambda s, x: F.softplus(s.l(x) * 2.0), [(5, 16)], {}, 1),
    "attention": (lambda s, x: F.relu(s.m(x, x, x)[0]), [(5, 3, 16)], {"m": nn.MultiheadAttention(16, 2)}, 1),
    "gru": (lambda s, x: F.relu(s.m(x)), [(5, 16)], {"m": nn.GRUCell(16, 16)}, 0),
    "no_features": (lambda s, x: F.relu(s.m(x)), [(5, 16)], {"m": nn.Linear(16, 0)}, 0),
    "no_columns": (lambda s, x: F.relu(s.m(x)), [(5, 0)], {"m": nn.Linear(0, 16)}, 0),
    # Batch norm
    "bn_of_channels": (lambda s, x: F.relu(s.bn(s.l(x))), [(5, 7, 16)], {"bn": nn.BatchNorm1d(7)}, 0),
    "bn_statistics_read": (statistics_before_and_after, [(5, 16)], {"bn": nn.BatchNorm1d(16)}, 1),
    "bn_no_statistics": (lambda s, x: F.batch_norm(s.l(x), None, None, s.v, None, True, 0.1, 1e-3), [(5, 16)], {}, 1),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("front_end", FRONT_ENDS)
@torch.no_grad()
def test_case(front_end, name, compiled):
    function, shapes, parts, fused = CASES[name]
    torch.manual_seed(0)
    comparison = Comparison(Around(function, **parts), FRONT_ENDS[front_end])
    comparison.step(*drawn(*shapes))
    assert compiled.linears == fused


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@torch.no_grad()
def test_one_tensor_as_two_inputs(front_end):
    module = Around(lambda s, x, y: F.relu(s.l(x)) + y)
    compiled = FRONT_ENDS[front_end](module)
    x = torch.randn(5, 16)
    for _ in range(3):
        for given in ((x, x), (x, x + 1.0)):
            torch.testing.assert_close(compiled(*given), module(*given), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@torch.no_grad()
def test_parametrized_weight(front_end):
    """A weight that a parametrization computes in each call follows what it is computed from."""
    module = Around(lambda s, x: F.relu(s.l(x)))
    nn.utils.parametrizations.weight_norm(module.l)
    comparison = Comparison(module, FRONT_ENDS[front_end])
    comparison.step(*drawn((5, 16)))
    for each in comparison.each():
        each.l.parametrizations.weight.original0.mul_(2.0)
    comparison.step(*drawn((5, 16)))


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@torch.no_grad()
def test_functional_call(front_end):
    """torch.func.functional_call with other parameters, and then the module's own again."""
    module = nn.Sequential(nn.Linear(16, 16), nn.SiLU())
    compiled = FRONT_ENDS[front_end](module)
    (x,) = drawn((5, 16))
    others = [{n: torch.randn_like(p) for n, p in compiled.named_parameters()} for _ in range(2)]
    for given in (None, others[0], others[1], None, others[0]):
        for _ in range(2):
            got = torch.func.functional_call(compiled, given, (x,)) if given else compiled(x)
        expected = module(x)
        if given:
            expected = F.silu(F.linear(x, *(t for _, t in sorted(given.items(), reverse=True))))
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@torch.no_grad()
def test_vmap(front_end):
    """Under torch.vmap the model computes what it computes row by row."""
    module = nn.Sequential(nn.Linear(16, 16), nn.SiLU())
    compiled = FRONT_ENDS[front_end](module)
    (x,) = drawn((3, 5, 16))
    torch.testing.assert_close(torch.vmap(compiled)(x), module(x), rtol=1e-5, atol=1e-5)
