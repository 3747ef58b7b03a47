# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random modules, the same for the same seed: layers, what follows them and what is returned, against float64.

Views and slices of activations and of parameters, norms, autocast, hooks, values read and operands given twice.
"""

from __future__ import annotations

import random
import warnings
from contextlib import nullcontext

import torch
import torch.nn.functional as F
from torch import nn

from .check import FRONT_ENDS, Comparison

WIDTH = 24
# Each takes a value and gives one of the same shape; all stay finite and are continuous.
UNARY = {
    "relu": F.relu,
    "leaky_relu": lambda y: F.leaky_relu(y, 0.1),
    "negative_slope": lambda y: F.leaky_relu(y, -0.3),
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
    "negative_scale": lambda y: y * -0.6,
    "from_one": lambda y: 1.0 - y,
    "eighth": lambda y: y / 8.0,
    "softmax": lambda y: torch.softmax(y, -1),
    "in_place": lambda y: (y * 1.0).add_(0.3).relu_(),
    "in_place_slice": lambda y: _write_slice(y * 1.0),
    "to_three_dims_and_back": lambda y: F.relu(y.unsqueeze(1)).squeeze(1),
    "view_and_back": lambda y: F.silu(y.view(y.shape[0], 3, WIDTH // 3)).reshape(y.shape),
    "flat_and_back": lambda y: torch.tanh(y.reshape(-1)).view(y.shape),
    "transposed_and_back": lambda y: F.relu(y.t()).t(),
    "halves_swapped": lambda y: torch.cat([y[:, WIDTH // 2 :], y[:, : WIDTH // 2]], 1),
    "gated": lambda y: torch.cat([F.silu(y[:, : WIDTH // 2]) * y[:, WIDTH // 2 :], y[:, ::2]], 1),
    "row_of_itself": lambda y: y + y[:1],
    "rolled": lambda y: torch.roll(y, 1, 0),
    "chunks": lambda y: torch.cat([part + 0.1 for part in y.chunk(3, 1)], 1),
    "twice": lambda y: y * y * 0.25,
    "mean": lambda y: y - y.mean(1, keepdim=True),
}
BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": lambda a, b: a * torch.tanh(b),
    "min": torch.minimum,
    "max": torch.maximum,
    "add_scaled": lambda a, b: torch.add(a, b, alpha=0.5),
    "divide": lambda a, b: a / (1.5 + torch.tanh(b)),
}
OPERANDS = ("feature", "feature_slice", "buffer", "zero_dim", "row", "column", "residual", "value", "itself")
NORMS = {
    "batch_norm": lambda affine: nn.BatchNorm1d(WIDTH, affine=affine),
    "batch_norm_without_statistics": lambda affine: nn.BatchNorm1d(WIDTH, affine=affine, track_running_stats=False),
    "layer_norm": lambda affine: nn.LayerNorm(WIDTH, elementwise_affine=affine),
    "rms_norm": lambda affine: nn.RMSNorm(WIDTH, elementwise_affine=affine),
    "group_norm": lambda affine: nn.GroupNorm(4, WIDTH, affine=affine),
}
DTYPES = [torch.float32, torch.float32, torch.bfloat16, torch.float16, torch.float64]


def _write_slice(y: torch.Tensor) -> torch.Tensor:
    y[:, 3:9] = 0.5 * y[:, 9:15]
    return y


class LinearOfASlice(nn.Module):
    """A product with a part of a larger weight, from an offset on."""

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(WIDTH + 5, WIDTH + 2) / WIDTH**0.5)
        self.bias = nn.Parameter(torch.randn(2 * WIDTH)) if bias else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.weight[3:-2, 1:-1], self.bias[WIDTH:] if self.bias is not None else None)


class TransposedProduct(nn.Module):
    """A product with a weight that is laid out as its transpose."""

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(WIDTH, WIDTH) / WIDTH**0.5)
        self.bias = nn.Parameter(torch.randn(WIDTH)) if bias else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight if self.bias is None else torch.addmm(self.bias, x, self.weight)


LINEARS = {
    "linear": lambda bias: nn.Linear(WIDTH, WIDTH, bias=bias),
    "linear_of_a_slice": LinearOfASlice,
    "transposed": TransposedProduct,
}


def draw_steps(rng: random.Random) -> tuple[list[tuple], list[int]]:
    """Draw a list of steps, each of which reads values before it, by number counted from the last, and what returns."""
    steps = [("part", 0, "linear", rng.random() < 0.5)]
    for _ in range(rng.randint(1, 9)):
        source = rng.choice([0, 0, 0, 0, 1, 2])
        kind = rng.choices(["unary", "binary", "linear", "norm"], [3, 3, 1, 1])[0]
        if kind == "unary":
            steps.append((kind, source, rng.choice(sorted(UNARY))))
        elif kind == "binary":
            steps.append((kind, source, rng.choice(sorted(BINARY)), rng.choice(OPERANDS), rng.random() < 0.5))
        else:
            name = rng.choice(["linear", "linear", *LINEARS] if kind == "linear" else ["batch_norm", *NORMS])
            steps.append(("part", source, name, rng.random() < 0.5))
    return steps, [rng.randint(0, 3) for _ in range(rng.randint(1, 3))]


class Program(nn.Module):
    """A module that runs drawn steps."""

    def __init__(self, steps: list[tuple], returns: list[int]) -> None:
        super().__init__()
        self.steps, self.returns = steps, returns
        self.parts = nn.ModuleDict()
        for i, (kind, _, name, *rest) in enumerate(steps):
            if kind == "part":
                self.parts[str(i)] = (LINEARS | NORMS)[name](rest[0])
            elif kind == "binary":
                self.add_operand(f"operand{i}", rest[0])

    def add_operand(self, name: str, kind: str) -> None:
        shapes = {"feature": (WIDTH,), "feature_slice": (WIDTH + 7,), "zero_dim": (), "buffer": (WIDTH,)}
        if kind in ("feature", "feature_slice", "zero_dim"):
            self.register_parameter(name, nn.Parameter(torch.randn(shapes[kind])))
        elif kind in ("buffer", "row"):
            self.register_buffer(name, torch.randn(shapes.get(kind, (1, WIDTH))))

    def forward(self, x: torch.Tensor, column: torch.Tensor) -> list[torch.Tensor]:
        values = [x]
        for i, (kind, back, name, *rest) in enumerate(self.steps):
            y = values[max(0, len(values) - 1 - back)]
            if kind == "unary":
                y = UNARY[name](y)
            elif kind == "binary":
                other = self.operand(i, rest[0], y, x, column, values)
                if other is y and name == "sub":
                    name = "add"  # y - y is 0 but for contraction (arithmetic-R3), and its error has no measure
                y = BINARY[name](other, y) if rest[1] else BINARY[name](y, other)
            else:
                y = self.parts[str(i)](y)
            values.append(y)
        return [values[max(0, len(values) - 1 - back)] for back in self.returns]

    def operand(
        self, i: int, kind: str, y: torch.Tensor, x: torch.Tensor, column: torch.Tensor, values: list[torch.Tensor]
    ) -> torch.Tensor:
        if kind == "feature_slice":
            return getattr(self, f"operand{i}")[5 : 5 + WIDTH]
        held = {"column": column, "residual": x, "value": values[len(values) // 2], "itself": y}
        return held[kind] if kind in held else getattr(self, f"operand{i}")

    def extra_repr(self) -> str:
        return f"{self.steps}, returns {self.returns}"


class Autocast(nn.Module):
    """Runs a module under autocast."""

    def __init__(self, module: nn.Module, device: str, dtype: torch.dtype) -> None:
        super().__init__()
        self.module, self.device, self.dtype = module, device, dtype

    def forward(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        wide = inputs[0].dtype == torch.float64  # the copy that is exact
        with nullcontext() if wide else torch.autocast(self.device, self.dtype):
            return self.module(*inputs)


def add_hooks(module: Program, rng: random.Random) -> None:
    """Register hooks at some parts, which change what these take and give."""
    for part in module.parts.values():
        if rng.random() < 0.4:
            part.register_forward_pre_hook(lambda _, inputs: (inputs[0] + 0.25,))
        if rng.random() < 0.4:
            part.register_forward_hook(lambda _, __, output: output * 0.75)


class Drawn:
    """A module with its inputs, front end and mode, of a seed."""

    def __init__(self, seed: int, device: str = "cpu") -> None:
        rng = random.Random(f"program {seed}")
        self.device, self.seed = device, seed
        self.steps, self.returns = draw_steps(rng)
        self.training, self.dtype = rng.random() < 0.5, rng.choice(DTYPES)
        # What is exact has float64's roundings too, which the batch norm of two rows amplifies without bound.
        self.rows = rng.choice([17, 64] if self.dtype == torch.float64 else [2, 17, 64])
        self.hooks, self.laid_out = rng.random() < 0.15, rng.choice(["plain", "plain", "slice", "transposed"])
        self.autocast = rng.choice([torch.bfloat16, torch.float16]) if rng.random() < 0.15 else None
        self.rng = rng

    def __str__(self) -> str:
        """Return what reproduces a failure."""
        mode = "training" if self.training else "inference"
        extras = f"hooks {self.hooks}, autocast {self.autocast}, x {self.laid_out}"
        text = f"seed {self.seed}, {self.device}, {mode}, {self.dtype}, {self.rows} rows, {extras}"
        return f"{text}\n{self.steps}, returns {self.returns}"

    def module(self) -> nn.Module:
        program = Program(self.steps, self.returns)
        if self.hooks:
            add_hooks(program, random.Random(self.seed))
        if self.autocast and self.dtype == torch.float32:
            return Autocast(program, self.device, self.autocast)
        return program

    def inputs(self) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.randn(self.rows, WIDTH)
        if self.laid_out == "slice":
            x = torch.randn(self.rows + 2, WIDTH + 3)[1:-1, 2:-1]
        elif self.laid_out == "transposed":
            x = torch.randn(WIDTH, self.rows).t()
        laid_out = torch.empty_strided(x.shape, x.stride(), dtype=self.dtype, device=self.device)
        return laid_out.copy_(x), torch.randn(self.rows, 1).to(self.device, self.dtype)

    def check(self, front_end: str) -> None:
        """Raise AssertionError where what Tenon computes is not what PyTorch does but for roundings."""
        torch.manual_seed(self.seed)
        # Tensors that are returned twice or unchanged are compared by value; Dynamo warns about some.
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = self.module().train(self.training).to(self.device, self.dtype)
            # PyTorch's hardswish of float64 on a GPU multiplies by a float32 sixth: what is exact comes from the CPU.
            Comparison(module, FRONT_ENDS[front_end], exact_device="cpu").step(*self.inputs())
        torch._dynamo.reset()
