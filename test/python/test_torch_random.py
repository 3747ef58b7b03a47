# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random modules, drawn by hypothesis: layers, what follows them and what is returned, against float64."""

import warnings

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
hypothesis = pytest.importorskip("hypothesis")
import torch.nn.functional as F  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch import nn  # noqa: E402
from torch_models.check import FRONT_ENDS, Comparison  # noqa: E402

# Each takes a value and gives one of the same shape; all stay finite and are continuous.
UNARY = {
    "relu": F.relu,
    "leaky_relu": lambda y: F.leaky_relu(y, 0.1),
    "gelu": F.gelu,
    "gelu_tanh": lambda y: F.gelu(y, approximate="tanh"),
    "silu": F.silu,
    "mish": F.mish,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "hardswish": F.hardswish,
    "relu6": F.relu6,
    "clamp": lambda y: torch.clamp(y, -0.7, 0.9),
    "x_sigmoid": lambda y: y * torch.sigmoid(y),
    "neg": torch.neg,
    "abs": torch.abs,
    "scale": lambda y: y * 1.7,
    "from_one": lambda y: 1.0 - y,
    "eighth": lambda y: y / 8.0,
    "softmax": lambda y: torch.softmax(y, -1),
    "in_place": lambda y: (y * 1.0).add_(0.3).relu_(),
    "to_three_dims_and_back": lambda y: F.relu(y.unsqueeze(1)).squeeze(1),
}
BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": lambda a, b: a * torch.tanh(b),
    "min": torch.minimum,
    "max": torch.maximum,
    "add_scaled": lambda a, b: torch.add(a, b, alpha=0.5),
}
OPERANDS = ("feature", "buffer", "zero_dim", "row", "column", "residual", "value")
WIDTH = 24


@st.composite
def programs(draw):
    """Draw a list of steps; each reads values before it, by number counted from the last."""
    steps = [("linear", 0, draw(st.booleans()))]
    for _ in range(draw(st.integers(1, 9))):
        kind = draw(st.sampled_from(["unary", "unary", "unary", "binary", "binary", "binary", "linear", "batch_norm"]))
        source = draw(st.sampled_from([0, 0, 0, 0, 1, 2]))
        if kind == "unary":
            steps.append((kind, source, draw(st.sampled_from(sorted(UNARY)))))
        elif kind == "binary":
            operand = draw(st.sampled_from(OPERANDS))
            steps.append((kind, source, draw(st.sampled_from(sorted(BINARY))), operand, draw(st.booleans())))
        else:
            steps.append((kind, source, draw(st.booleans())))
    returns = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    return steps, returns


class Program(nn.Module):
    """A module that runs drawn steps."""

    def __init__(self, steps, returns):
        super().__init__()
        self.steps, self.returns = steps, returns
        self.parts = nn.ModuleDict()
        for i, step in enumerate(steps):
            if step[0] == "linear":
                self.parts[str(i)] = nn.Linear(WIDTH, WIDTH, bias=step[2])
            elif step[0] == "batch_norm":
                self.parts[str(i)] = nn.BatchNorm1d(WIDTH, affine=step[2])
            elif step[0] == "binary" and step[3] in ("feature", "zero_dim"):
                shape = (WIDTH,) if step[3] == "feature" else ()
                self.register_parameter(f"operand{i}", nn.Parameter(torch.randn(shape)))
            elif step[0] == "binary" and step[3] in ("buffer", "row"):
                self.register_buffer(f"operand{i}", torch.randn((WIDTH,) if step[3] == "buffer" else (1, WIDTH)))

    def forward(self, x, column):
        values = [x]
        for i, (kind, back, *rest) in enumerate(self.steps):
            y = values[max(0, len(values) - 1 - back)]
            if kind == "unary":
                y = UNARY[rest[0]](y)
            elif kind == "binary":
                name, operand, swapped = rest
                other = self.operand(i, operand, x, column, values)
                y = BINARY[name](other, y) if swapped else BINARY[name](y, other)
            else:
                y = self.parts[str(i)](y)
            values.append(y)
        return [values[max(0, len(values) - 1 - back)] for back in self.returns]

    def operand(self, i, kind, x, column, values):
        if kind == "column":
            return column
        if kind == "residual":
            return x
        return values[len(values) // 2] if kind == "value" else getattr(self, f"operand{i}")

    def extra_repr(self):
        return f"{self.steps}, returns {self.returns}"


def check(program, front_end, training, batch, dtype):
    torch.manual_seed(0)
    # Tensors that are returned twice or unchanged are compared by value; Dynamo warns about some.
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        comparison = Comparison(Program(*program).train(training).to(dtype), FRONT_ENDS[front_end])
        comparison.step(torch.randn(batch, WIDTH, dtype=dtype), torch.randn(batch, 1, dtype=dtype))
    torch._dynamo.reset()


SETTINGS = hypothesis.settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(hypothesis.HealthCheck),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate, hypothesis.Phase.shrink],
)


@SETTINGS
@hypothesis.given(
    programs(),
    st.sampled_from(sorted(FRONT_ENDS)),
    st.booleans(),
    st.sampled_from([2, 17, 64]),
    st.sampled_from([torch.float32, torch.float32, torch.bfloat16, torch.float64]),
)
def test_random_program(program, front_end, training, batch, dtype):
    check(program, front_end, training, batch, dtype)
