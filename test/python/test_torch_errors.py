# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes of the caller: each raises an exception of PyTorch's kind that says what is wrong, and breaks nothing."""

import re

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
from torch import nn  # noqa: E402
from torch_models import MODELS  # noqa: E402
from torch_models.check import FRONT_ENDS, Comparison  # noqa: E402


@pytest.fixture(autouse=True)
def no_grad():
    with torch.no_grad():
        yield


@pytest.fixture(params=[(f, w) for f in FRONT_ENDS for w in ("first", "second")], ids="-".join)
def comparison(request):
    """Give a compiled model: before its first call, or after it."""
    front_end, when = request.param
    model = MODELS["linear_leaky_relu"]
    comparison = Comparison(model.build(), FRONT_ENDS[front_end])
    if when == "second":
        comparison.step(*model.inputs())
    return comparison


def check_raises(comparison, *inputs):
    """Both raise, eager's kind of exception with the gist of its message; then a right call works."""
    with pytest.raises(Exception) as expected:
        comparison.eager(*inputs)
    with pytest.raises(type(expected.value)) as raised:
        comparison.compiled(*inputs)
    comparison.step(*MODELS["linear_leaky_relu"].inputs())
    return str(expected.value), str(raised.value)


@pytest.mark.parametrize("shape", [(33, 63), (64, 33), (2, 3, 65), (63,), ()])
def test_wrong_shape(shape, comparison):
    expected, message = check_raises(comparison, torch.randn(shape))
    assert message
    if len(shape) == 2:
        assert "mat1 and mat2 shapes cannot be multiplied" in expected
        assert re.search("cannot be multiplied|same reduction dim", message)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int64])
def test_wrong_dtype(dtype, comparison):
    _, message = check_raises(comparison, torch.ones(33, 64, dtype=dtype))
    assert "dtype" in message or "type" in message


def test_too_few_and_too_many_inputs(comparison):
    for inputs in ((), (torch.randn(3, 64), torch.randn(3, 64))):
        _, message = check_raises(comparison, *inputs)
        assert "argument" in message


def test_not_a_tensor(comparison):
    check_raises(comparison, "text")


def test_meta_tensor(comparison):
    """A tensor without memory beside parameters with memory: PyTorch's answer, whatever it is, and no crash."""
    x = torch.empty(33, 64, device="meta")
    try:
        expected = comparison.eager(x)
    except Exception:
        with pytest.raises(Exception, match=r"meta|device"):
            comparison.compiled(x)
    else:
        got = comparison.compiled(x)
        assert (got.device, got.shape) == (expected.device, expected.shape)


def test_operand_that_does_not_broadcast():
    class Wrong(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.scale = nn.Linear(8, 8), nn.Parameter(torch.randn(7))

        def forward(self, x):
            return torch.relu(self.linear(x) * self.scale)

    for front_end in FRONT_ENDS.values():
        with pytest.raises(RuntimeError, match=r"(?s)8.*7"):
            front_end(Wrong())(torch.randn(3, 8))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"speed": 11}, r"'speed' is not known.*'precision'"),
        ({"precision": "fp4"}, r"precision 'fp4' is not known.*'tf32'"),
        ({"strategy": "magic"}, r"strategy 'magic' is not known.*'library', 'tiled'"),
        ({"reduction": "magic"}, r"reduction 'magic' is not known.*'two_phase', 'resident'"),
        ({"reduction": "resident", "strategy": "library"}, r"reduction='resident' is for tiled layers.*leave one"),
        ({"target": 3}, "option target=3 is neither a name"),
        ({"target": []}, r"option target=\[\] is neither a name"),
        ({"target": "sm_52"}, r"target 'sm_52' is not known.*'cpu'"),
        ({"verbose": "yes"}, r"verbose='yes' is not a bool"),
    ],
)
def test_options(options, message):
    """An unknown option or value is named, with the ones there are."""
    model = MODELS["linear_leaky_relu"]
    with pytest.raises(Exception, match=rf"(?s){message}"):
        torch.compile(model.build(), backend="tenon", options=options)(*model.inputs())


def test_mode():
    model = MODELS["linear_leaky_relu"]
    with pytest.raises(Exception, match="mode 'fastest' is not known"):
        torch.compile(model.build(), backend="tenon", mode="fastest")(*model.inputs())


def test_target_of_another_machine():
    """A model for a GPU that is not here is compiled, and runs on the CPU."""
    model = MODELS["linear_leaky_relu"]
    comparison = Comparison(model.build(), FRONT_ENDS["compile"], options={"target": "sm_80"})
    comparison.step(*model.inputs())


def test_public_functions_check_their_arguments():
    import tenon
    import tenon.torch

    with pytest.raises(TypeError, match="Module"):
        tenon.torch.optimize(3)
    with pytest.raises(tenon.errors.CompileError) as raised:
        tenon.compile("func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {\n  return %y : tensor<4x4xf32>\n}\n")
    (diagnostic,) = raised.value.diagnostics[:1]
    assert diagnostic.line == 2
    assert "undeclared" in diagnostic.message
