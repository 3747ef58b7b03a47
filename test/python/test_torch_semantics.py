# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch.compile(backend="tenon") promises beside right results: batches, layouts, grad modes, options."""

import copy
import warnings
from functools import partial

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
import tenon.torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch_models import MODELS, activations  # noqa: E402
from torch_models.check import Comparison, assert_close, compile_with_torch  # noqa: E402

BATCHED = ["linear_leaky_relu", "per_row", "residual", "two_linears", "three_dim", "bn_train_plain", "bn_eval_plain"]


def compare(name, front_end=compile_with_torch, **options):
    model = MODELS[name]
    return model, Comparison(model.build(), front_end, **options)


def optimize_dynamic(module):
    return tenon.torch.optimize(module, dynamic=True)


WAYS = {
    "mark_dynamic": compile_with_torch,
    "dynamic=True": partial(compile_with_torch, dynamic=True),
    "optimize": optimize_dynamic,
}


# Values and side effects


class ReturnsItsInput(nn.Module):
    """Writes to its input and returns it, besides what is fused."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        return F.relu(self.linear(x)), x.mul_(2)


@torch.no_grad()
def test_input_written_and_returned(front_end):
    model = ReturnsItsInput()
    compiled = front_end(model)
    for _ in range(3):
        ours, theirs = torch.ones(4, 8), torch.ones(4, 8)
        results = compiled(ours)
        torch.testing.assert_close(results, model(theirs))
        torch.testing.assert_close(ours, theirs)
        assert results[1].data_ptr() == ours.data_ptr()


@torch.no_grad()
def test_absolute_value_of_zero_is_positive(front_end):
    model = nn.Sequential(nn.Linear(8, 8), nn.Softsign()).requires_grad_(False)
    model[0].weight.zero_()
    model[0].bias.copy_(torch.tensor([0.0, -0.0] * 4))
    model[1].forward = lambda y: 1 / y.abs()
    torch.testing.assert_close(front_end(model)(torch.ones(4, 8)), torch.full((4, 8), torch.inf))


class PlainAndTransposed(nn.Module):
    """Takes a weight as it is, and one that is transposed beforehand."""

    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(weight)

    def forward(self, x):
        return F.relu(F.linear(x, self.weight)) * F.gelu(x @ self.weight)


@pytest.mark.parametrize("negated", ["input", "weight"])
@torch.no_grad()
def test_lazily_negated(negated, front_end):
    """`z.conj().imag` shares z's memory, and its elements are negated when they are read."""
    x, weight = (torch.randn(n, 8, dtype=torch.complex64) for n in (5, 8))
    x, weight = (z.conj().imag if name == negated else z.imag for z, name in ((x, "input"), (weight, "weight")))
    x, weight = (t if t.is_neg() else t.contiguous() for t in (x, weight))
    model = PlainAndTransposed(weight)
    compiled = front_end(model)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), model(x))
    contiguous = torch._neg_view(torch.randn(5, 8))
    for _ in range(2):
        torch.testing.assert_close(compiled(contiguous), model(contiguous))


# Batches


@pytest.mark.parametrize("name", BATCHED)
@pytest.mark.parametrize("way", WAYS)
@torch.no_grad()
def test_dynamic_batch_compiles_once(way, name, compiled):
    """One compilation serves all batches of two rows and more."""
    model, comparison = compare(name, WAYS[way])
    if way == "mark_dynamic":  # the mark is on tensors, and step() copies them
        inputs = model.inputs()
        for tensor in inputs:
            torch._dynamo.mark_dynamic(tensor, 0)
        comparison.compiled(*inputs)
        comparison.copy.load_state_dict(comparison.eager.state_dict())
    for batch in (33, 2, 100, 7):
        comparison.step(*model.inputs(batch=batch))
        assert compiled.linears == model.fused


@pytest.mark.parametrize("name", [n for n in BATCHED if n != "bn_train_plain"])
@pytest.mark.parametrize("batch", [1, 0])
@torch.no_grad()
def test_one_row_and_none(batch, name, front_end):
    """Batches of one row and of none, alone and after another batch."""
    model, comparison = compare(name, front_end)
    for size in (batch, 5, batch):
        comparison.step(*model.inputs(batch=size))


@torch.no_grad()
def test_batch_that_changes_compiles_twice(front_end, compiled):
    """Without being told, the second batch size is taken as a sign that there will be others."""
    model, comparison = compare("linear_leaky_relu", front_end)
    for batch in (33, 33, 2, 100, 7, 33):
        comparison.step(*model.inputs(batch=batch))
    assert len(compiled.sources) == 2


@torch.no_grad()
def test_static_shapes(compiled):
    """With dynamic=False each batch has code of its own."""
    model, comparison = compare("linear_leaky_relu", dynamic=False)
    for batch in (8, 16):
        comparison.step(*model.inputs(batch=batch))
    assert len(compiled.sources) == 2


@torch.no_grad()
def test_dynamic_inner_dimension(front_end):
    """A sequence length changes as well as the batch."""
    _, comparison = compare("three_dim", front_end)
    for shape in ((4, 5, 64), (3, 9, 64), (8, 2, 64), (1, 5, 64), (4, 1, 64)):
        comparison.step(torch.randn(shape))


@torch.no_grad()
def test_one_dimension(front_end):
    """A single sample without a batch."""
    _, comparison = compare("linear_leaky_relu", front_end)
    comparison.step(torch.randn(64))


# Layouts

LAYOUTS = {
    "transposed": lambda n, k: torch.randn(k, n).t(),
    "columns": lambda n, k: torch.randn(n, 3 * k)[:, k : 2 * k],
    "every_second_row": lambda n, k: torch.randn(2 * n, k)[::2],
    "every_second_column": lambda n, k: torch.randn(n, 2 * k)[:, 1::2],
    "expanded_row": lambda n, k: torch.randn(1, k).expand(n, k),
    "expanded_column": lambda n, k: torch.randn(n, 1).expand(n, k),
    "offset": lambda n, k: torch.randn(n * k + 1)[1:].view(n, k),
    "of_three_dims": lambda n, k: torch.randn(k, n, 2).permute(1, 2, 0),
    "row_major_slices": lambda n, k: torch.randn(n, 4, k)[:, 1:3],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@torch.no_grad()
def test_layout_of_input(layout, front_end):
    """Any strides and any offset into the storage, and then a contiguous tensor through the same code."""
    _, comparison = compare("linear_leaky_relu", front_end)
    x = LAYOUTS[layout](33, 64)
    comparison.step(x)
    comparison.step(x.contiguous())
    comparison.step(LAYOUTS[layout](33, 64))


@pytest.mark.parametrize("layout", ["transposed", "columns", "expanded_row"])
@torch.no_grad()
def test_layout_of_residual(layout, front_end):
    """An operand of the epilogue that is not contiguous."""
    model, comparison = compare("residual_inside", front_end)
    comparison.step(model.inputs()[0], LAYOUTS[layout](33, 128))


@torch.no_grad()
def test_layout_of_parameters(front_end):
    """Parameters and statistics that are views, transposed, strided or shared."""
    model = MODELS["bn_train_plain"].build()
    model.linear.weight = nn.Parameter(torch.randn(64, 128).t())
    model.linear.bias = nn.Parameter(torch.randn(256)[::2])
    model.bn.running_mean = torch.randn(128, 2)[:, 0]
    comparison = Comparison(model, front_end)
    for seed in (1, 2):
        comparison.step(*MODELS["bn_train_plain"].inputs(seed=seed))


# Values


@pytest.mark.parametrize("name", [*activations.ACTIVATIONS, *activations.SPELLED])
@torch.no_grad()
def test_special_values(name):
    """NaN, infinities, zeros of both signs, huge and subnormal numbers give what they give in float64."""
    values = torch.tensor([torch.nan, torch.inf, -torch.inf, 0.0, -0.0, 1e30, -1e30, 1e-42, -1e-42, 3.0, -3.0, 88.9])

    class Biased(nn.Module):
        def __init__(self):
            super().__init__()
            module = MODELS[name].build()
            self.first, self.second = nn.Linear(4, len(values)), nn.Linear(4, len(values))
            self.module, self.function = module.module, module.function
            self.first.bias.copy_(values)
            self.second.bias.copy_(values)

        def forward(self, x):
            return self.module(self.first(x)), self.function(self.second(x))

    module, x = Biased(), torch.zeros(3, 4)
    results = torch.compile(module, backend="tenon")(x)
    # Not eager's float32: on the CPU its gelu of infinity is NaN.
    for got, expected in zip(results, copy.deepcopy(module).double()(x.double()), strict=True):
        torch.testing.assert_close(got, expected.float(), rtol=1e-5, atol=3e-7, equal_nan=True)


# Cuts


@torch.no_grad()
def test_graph_break(compiled):
    """Dynamo breaks the graph at a call it cannot trace; both parts are fused."""

    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(16, 16), nn.Linear(16, 16)

        def forward(self, x):
            y = F.relu(self.first(x))
            torch._dynamo.graph_break()
            return F.relu(self.second(y))

    comparison = Comparison(Broken())
    comparison.step(torch.randn(5, 16))
    assert compiled.linears == 2


@torch.no_grad()
def test_branch_on_data():
    """A model whose path depends on its input's values."""

    class Branching(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(16, 16)

        def forward(self, x):
            y = self.linear(x) * 2.0
            return F.relu(y) if x.sum() > 0 else torch.tanh(y)

    comparison = Comparison(Branching())
    comparison.step(torch.ones(5, 16))
    comparison.step(-torch.ones(5, 16))


def test_fullgraph():
    model, comparison = compare("transformer_mlp", fullgraph=True)
    with torch.no_grad():
        comparison.step(*model.inputs())


def test_function():
    """A function, not a module, is compiled."""
    linear = nn.Linear(16, 8).requires_grad_(False)

    def forward(x):
        return F.relu(F.linear(x, linear.weight, linear.bias)) * 2.0

    x = torch.randn(5, 16)
    torch.testing.assert_close(torch.compile(forward, backend="tenon")(x), forward(x), rtol=1e-5, atol=1e-5)


# Grad modes


@pytest.fixture
def grad_warnings():
    """Record Tenon's warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield lambda: [w for w in caught if "tenon" in str(w.message)]


def gradients(call, module, inputs):
    module.zero_grad()
    inputs = [t.clone().requires_grad_() for t in inputs]
    output = call(*inputs)
    (output * torch.linspace(-1.0, 1.0, output.numel()).view_as(output)).sum().backward()
    return [p.grad.clone() for p in (*module.parameters(), *inputs)]


@pytest.mark.parametrize("name", ["linear_leaky_relu", "gate", "linear_scale_batch_norm_1024", "transformer_mlp"])
def test_gradients_are_eagers(name, front_end, compiled, grad_warnings):
    """With rest="eager" a training step is PyTorch's: gradients are eager's to the bit, and no warning comes."""
    model, comparison = compare(name, front_end)
    for seed in (1, 2):
        inputs = model.inputs(seed=seed)
        expected = gradients(comparison.eager, comparison.eager, inputs)
        got = gradients(comparison.compiled, comparison.copy, inputs)
        for e, g in zip(expected, got, strict=True):
            assert torch.equal(e, g)
    assert grad_warnings() == []
    assert compiled.sources == []


def test_training_loop(front_end):
    """Steps of training with evaluation between them: one compiled model does both."""
    model, comparison = compare("projection_head", front_end)
    optimizers = [torch.optim.SGD(module.parameters(), lr=0.05) for module in comparison.each()[:2]]
    modules = (comparison.eager, comparison.compiled)
    for step in range(3):
        (x,) = model.inputs(seed=step)
        for module, optimizer in zip(modules, optimizers, strict=True):
            module.train()
            optimizer.zero_grad()
            module(x).square().sum(0)[0].backward()
            optimizer.step()
            module.eval()
        with torch.no_grad():
            expected, got = (module(x) for module in modules)
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


def test_gradient_of_input_alone(front_end, compiled):
    """Frozen parameters but an input that needs a gradient."""
    model, comparison = compare("linear_leaky_relu", front_end)
    for module in comparison.each():
        module.requires_grad_(False)
    grads = []
    for call in (comparison.eager, comparison.compiled):
        (x,) = model.inputs()
        call(x.requires_grad_()).sum().backward()
        grads.append(x.grad)
    assert torch.equal(*grads)
    assert compiled.sources == []


def test_frozen_model_is_compiled_in_grad_mode(front_end, compiled, grad_warnings):
    """Nothing needs a gradient, so nothing keeps Tenon from running, and no warning comes."""
    model, comparison = compare("two_linears", front_end)
    for module in comparison.each():
        module.requires_grad_(False)
    comparison.step(*model.inputs())
    assert compiled.linears == model.fused
    assert grad_warnings() == []


def test_all_grad_modes_in_turn(front_end):
    """no_grad, grad and inference mode, in every order of two, on one compiled model."""
    model, comparison = compare("bn_train_plain", front_end)
    modes = [torch.no_grad, torch.enable_grad, torch.inference_mode]
    for i in (0, 1, 2, 1, 0, 2, 0):
        with modes[i]():
            got, expected = (call(*model.inputs(seed=i)) for call in (comparison.compiled, comparison.eager))
        assert got.requires_grad == expected.requires_grad
        assert got.is_inference() == expected.is_inference()
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(comparison.copy.bn.running_var, comparison.eager.bn.running_var)


def test_model_made_in_inference_mode(front_end):
    """Parameters that are inference tensors have no version counter; each change is seen all the same."""
    model = MODELS["per_feature"]
    with torch.inference_mode():
        comparison = Comparison(model.build(), front_end)
        for factor in (1.0, -2.0):
            for module in comparison.each():
                module.scale.mul_(factor)
                module.linear.weight.mul_(factor)
            comparison.step(*model.inputs())


# Options


@torch.no_grad()
def test_same_bits_each_time(front_end):
    """A compiled model gives the same bits each time, and so does another compilation of it.

    Not so the call during which tenon.torch.optimize compiles, which is PyTorch's own.
    """
    model = MODELS["chain_10"]
    results = []
    for _ in range(2):
        compiled = front_end(model.build())
        results += [compiled(*model.inputs()) for _ in range(4)][1:]
        torch._dynamo.reset()
    assert all(torch.equal(result, results[0]) for result in results)


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@torch.no_grad()
def test_modes(mode, compiled):
    """Modes of torch.compile are accepted; without a GPU they change nothing."""
    model, comparison = compare("linear_leaky_relu", mode=mode)
    comparison.step(*model.inputs())
    assert compiled.linears == 1


@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16", "fp16"])
@torch.no_grad()
def test_precision_option(precision, compiled):
    """The option goes into the compiled model as the contract on its product; the CPU's product keeps them all."""
    model, comparison = compare("linear_leaky_relu", options={"precision": precision})
    comparison.step(*model.inputs())
    (source,) = compiled.sources
    assert f"precision<{precision}>" in source or precision == "fp32"
    assert source.count("precision<") <= 1


@pytest.mark.parametrize(("setting", "precision"), [("highest", "fp32"), ("high", "tf32"), ("medium", "bf16")])
@torch.no_grad()
def test_precision_of_torch(setting, precision, compiled, front_end):
    """Without the option, PyTorch's setting at the time of compilation counts."""
    before = torch.get_float32_matmul_precision()
    model = MODELS["linear_leaky_relu"]
    try:
        torch.set_float32_matmul_precision(setting)
        front_end(model.build())(*model.inputs())
    finally:
        torch.set_float32_matmul_precision(before)
    (source,) = compiled.sources
    assert f"precision<{precision}>" in source or precision == "fp32"


@torch.no_grad()
def test_precision_is_for_float32(compiled):
    """Other types have the precision that they have."""
    for name in ("bf16", "f64"):
        model = MODELS[name]
        torch.compile(model.build(), backend="tenon", options={"precision": "tf32"})(*model.inputs())
    assert len(compiled.sources) == 2
    assert not any("precision<" in source for source in compiled.sources)


@torch.no_grad()
def test_verbose(capfd):
    """The option verbose says on stderr what was fused."""
    model = MODELS["softmax_head"]
    torch.compile(model.build(), backend="tenon", options={"verbose": True})(*model.inputs())
    written = capfd.readouterr().err
    assert "relu" in written


@torch.no_grad()
def test_backend_is_registered():
    """PyTorch finds the backend by its entry point, without an import of tenon by the user."""
    assert "tenon" in torch._dynamo.list_backends(exclude_tags=())


def test_harness_notices_mistakes():
    """A result off by a few roundings more than eager's own is refused."""
    exact = torch.randn(50, 50, dtype=torch.float64)
    eager = exact.float() * (1.0 + 1e-7)
    assert_close("y", eager + 1e-7, eager, exact)
    for wrong in (eager * (1.0 + 1e-5), eager.bfloat16().float(), eager.roll(1), eager.where(eager < 2.0, torch.nan)):
        with pytest.raises(AssertionError):
            assert_close("y", wrong, eager, exact)
