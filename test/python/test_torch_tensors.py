# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors that are no elements in memory: sparse, nested, mkldnn's, wrappers of others, zeros without memory."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
import tenon  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from optimize_models import dispatcher, entries  # noqa: E402
from tenon.torch import optimize  # noqa: E402
from tenon.torch.modules.guards import is_plain_tensor  # noqa: E402
from torch import nn  # noqa: E402
from torch_support import Cut, assert_as_eager, parameter  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*(prototype|beta|Sparse).*:UserWarning")

OTHERS = {
    "nested": lambda x: torch.nested.nested_tensor([x, x[:2]]),
    "jagged": lambda x: torch.nested.nested_tensor([x, x[:2]], layout=torch.jagged),
    "sparse": lambda x: x.to_sparse(),
    "compressed": lambda x: x.to_sparse_csr(),
    "mkldnn": lambda x: x.to_mkldnn(),
    "functional": torch._to_functional_tensor,
    "zeros": lambda x: torch._efficientzerotensor(x.shape),
}


class Layer(nn.Module):
    """What every kind of tensor above can be given to."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.register_buffer("kept", torch.randn(4, 8))

    def forward(self, x=None):
        return torch.relu(self.linear(self.kept if x is None else x))


def parts(tensor):
    """Return tensors of elements in memory, which can be compared."""
    if tensor.is_nested:
        return list(tensor.unbind())
    if torch._is_functional_tensor(tensor):
        torch._sync(tensor)
        return [torch._from_functional_tensor(tensor)]
    return [tensor.to_dense() if tensor.layout is not torch.strided else tensor]


def check(result, expected):
    assert type(result) is type(expected) and result.layout == expected.layout
    torch.testing.assert_close(parts(result), parts(expected))


@pytest.fixture
def layer():
    model = Layer().eval().requires_grad_(False)
    return model, optimize(model)


def test_which_tensors_are_plain():
    x = torch.randn(4, 8)
    assert [name for name, make in OTHERS.items() if is_plain_tensor(make(x))] == []
    plain = [x, nn.Parameter(x), x.t(), x[1:, 2:], x.to("meta"), torch._neg_view(x), torch.arange(3), x.new_empty(0)]
    with torch.inference_mode():
        plain += [torch.ones(2), x + 1]
    assert all(map(is_plain_tensor, plain))


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("keywords", [False, True])
def test_as_an_argument(layer, kind, keywords):
    model, optimized = layer
    x = torch.randn(4, 8)
    for _ in range(2):
        check(optimized(x), model(x))
    other = OTHERS[kind](x)
    for _ in range(3):
        check(optimized(x=other) if keywords else optimized(other), model(other))
        check(optimized(x), model(x))
    assert entries(optimized) == 1 and dispatcher(optimized).declined is None


@pytest.mark.parametrize("kind", OTHERS)
def test_as_the_first_argument(layer, kind):
    model, optimized = layer
    other = OTHERS[kind](torch.randn(4, 8))
    for _ in range(3):
        check(optimized(other), model(other))
    assert entries(optimized) == 0


@pytest.mark.parametrize("kind", ["nested", "sparse", "compressed", "zeros"])
@pytest.mark.parametrize("first", [False, True])
def test_as_a_buffer(layer, kind, first):
    model, optimized = layer
    plain = model.kept
    for _ in range(0 if first else 2):
        check(optimized(), model())
    model.kept = OTHERS[kind](plain)
    for _ in range(3):
        check(optimized(), model())
    model.kept = torch.randn(4, 8)
    check(optimized(), model())


@pytest.mark.parametrize(
    "function",
    [
        lambda s, x: torch.relu(s.linear(torch.mm(x.to_sparse(), s.kept.t()[:, :4]) @ s.kept)),
        lambda s, x: torch.relu(s.linear(x.to_sparse_csr().to_dense())) * 2,
        lambda s, x: (torch.relu(s.linear(x)), x.to_sparse()),
        lambda s, x: torch.relu(s.linear(torch._efficientzerotensor((4, 8)) + x)),
    ],
)
def test_within_forward(function):
    class Within(Layer):
        def forward(self, x):
            return function(self, x)

    model = Within().eval().requires_grad_(False)
    optimized, x = optimize(model), torch.randn(4, 8)
    for _ in range(3):
        results, expected = optimized(x), model(x)
        for result, other in zip(*(r if isinstance(r, tuple) else (r,) for r in (results, expected)), strict=True):
            check(result, other)


def zeros(*shape):
    return torch._efficientzerotensor(shape)


@pytest.mark.parametrize("which", range(4))
def test_zeros_without_memory_in_a_call(which):
    def function(x, w, b, r):
        return F.silu(F.linear(x, w, b)) + r

    inputs = [torch.randn(4, 8), parameter(6, 8), parameter(6), torch.randn(4, 6)]
    cut = Cut(function, *inputs)
    inputs[which] = zeros(*inputs[which].shape)
    assert_as_eager(cut, function, *inputs)
    part = cut.partitions[0]
    by_shape = {tuple(t.shape): t for t in inputs}
    results = part.node.target(*(by_shape[s] for s in ((4, 8), (6, 8), (6,), (4, 6))))
    torch.testing.assert_close(results[0], function(*inputs))


def test_zeros_without_memory_that_an_op_made():
    def function(x, w):
        return F.relu(F.linear(x, w) + torch._efficientzerotensor((4, 6)))

    inputs = torch.randn(4, 8), parameter(6, 8)
    assert_as_eager(Cut(function, *inputs), function, *inputs)


def test_forward_mode_within_a_compiled_function():
    """The tangent of a constant is zeros without memory."""
    w = torch.randn(6, 8)

    def function(x, t):
        return torch.func.jvp(lambda x: F.relu(F.linear(x, w)) * 2, (x,), (t,))

    x, t = torch.randn(4, 8), torch.randn(4, 8)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(function, backend="tenon")(x, t), function(x, t))


def test_in_a_call_of_an_executable():
    forward = tenon.compile(
        """func.func @forward(%x: tensor<?x6xf32>, %w: tensor<4x6xf32>) -> tensor<?x4xf32> {
          %0 = tenon.linear %x, %w : (tensor<?x6xf32>, tensor<4x6xf32>) -> tensor<?x4xf32>
          %1 = tenon.add %0, 1.0 : tensor<?x4xf32>
          return %1 : tensor<?x4xf32>
        }""",
        "cpu",
    )
    x, w = torch.randn(5, 6), torch.randn(4, 6)
    assert torch.equal(forward(zeros(5, 6), w), torch.ones(5, 4))
    assert torch.equal(forward(x, zeros(4, 6)), torch.ones(5, 4))
    for name in ("nested", "sparse", "mkldnn", "functional"):
        with pytest.raises(tenon.ArgumentError, match="data is null" if name == "functional" else name):
            forward(OTHERS[name](x), w)
