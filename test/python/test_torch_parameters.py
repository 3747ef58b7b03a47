# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every way in which a parameter can change is seen by the next call, and no change prepares nothing."""

import copy

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
from torch import nn  # noqa: E402
from torch_models import MODELS  # noqa: E402
from torch_models.check import Comparison  # noqa: E402

# Of these, the compiled models prepare something: weights transposed or folded, and operands made ahead.
NAMES = ["matmul_plain", "linear_scale_batch_norm_1024"]


@pytest.fixture(params=NAMES)
def compared(request, front_end):
    """Give a comparison that has been called once, and a function that takes a step."""
    model = MODELS[request.param]
    comparison = Comparison(model.build(), front_end)

    def step():
        with torch.no_grad():
            comparison.step(*model.inputs())

    step()
    return comparison, step


def weight_of(module):
    return module.linear.weight if hasattr(module, "linear") else module.weight


@torch.no_grad()
def multiply_in_place(module):
    weight_of(module).mul_(-1.5)


@torch.no_grad()
def copy_into(module):
    weight_of(module).copy_(weight_of(module).flip(0))


@torch.no_grad()
def write_elements(module):
    weight_of(module)[1:3] = 0.25


def write_through_a_view(module):
    with torch.no_grad():
        weight_of(module).view(-1)[::7].zero_()


def swap_data(module):
    weight_of(module).data = weight_of(module).data.roll(1)


def replace_parameter(module):
    new = nn.Parameter(weight_of(module).detach().roll(1, 1).clone())
    (module.linear if hasattr(module, "linear") else module).weight = new


def change_bias(module):
    bias = module.linear.bias if hasattr(module, "linear") else module.bias
    with torch.no_grad():
        bias.add_(1.0)


def load(module):
    state = {n: t.flip(0) if t.dim() else t for n, t in module.state_dict().items()}
    module.load_state_dict(state)


def load_by_assignment(module):
    state = {n: t.flip(0) if t.dim() else t for n, t in module.state_dict().items()}
    module.load_state_dict(state, assign=True)


def from_vector(module):
    vector = nn.utils.parameters_to_vector(module.parameters()).detach()
    nn.utils.vector_to_parameters(-vector, module.parameters())


CHANGES = [
    multiply_in_place,
    copy_into,
    write_elements,
    write_through_a_view,
    swap_data,
    replace_parameter,
    change_bias,
    load,
    load_by_assignment,
    from_vector,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_change_is_seen(change, compared):
    """After each of two changes of one kind, the next call has the new values."""
    comparison, step = compared
    for _ in range(2):
        for module in comparison.each():
            change(module)
        step()
    step()


def make_optimizers():
    yield "sgd", lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
    for options in ({"foreach": False}, {"foreach": True}, {"fused": True}):
        yield f"adam-{next(iter(options))}", lambda p, options=options: torch.optim.AdamW(p, lr=0.01, **options)


OPTIMIZERS = dict(make_optimizers())


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer_step(name, compared):
    """An optimizer's step, plain, in groups or fused, is seen."""
    comparison, step = compared
    gradients = [torch.randn_like(p) for p in comparison.eager.parameters()]
    optimizers = [OPTIMIZERS[name](module.parameters()) for module in comparison.each()]
    for _ in range(2):
        for module, optimizer in zip(comparison.each(), optimizers, strict=True):
            for parameter, gradient in zip(module.parameters(), gradients, strict=True):
                parameter.grad = gradient.to(parameter.dtype)
            optimizer.step()
        # The narrow roundings of an optimizer are no matter of this test.
        comparison.exact.load_state_dict(comparison.copy.state_dict())
        comparison.eager.load_state_dict(comparison.copy.state_dict())
        step()


def test_swap_back(compared):
    """Two sets of values in turn, as an exponential average of weights is swapped in and out."""
    comparison, step = compared
    for _ in range(4):
        for module in comparison.each():
            weight = weight_of(module)
            other = getattr(module, "_other", weight.detach().flip(0).clone())
            module._other, weight.data = weight.data, other
        step()


def test_memory_is_used_again():
    """New parameters at the address of old ones are not taken for them."""
    model = MODELS["matmul_plain"]
    inputs = model.inputs()
    compiled = torch.compile(lambda x, w, b: torch.relu(x @ w + b), backend="tenon")
    with torch.no_grad():
        for seed in range(6):
            module = model.build(seed=seed)
            got = compiled(*inputs, module.weight, module.bias)
            torch.testing.assert_close(got, module(*inputs), rtol=1e-4, atol=1e-5)
            del module


def test_change_of_dtype(front_end):
    """half(), double() and back: each call has the parameters' type."""
    model = MODELS["linear_leaky_relu"]
    comparison = Comparison(model.build(), front_end)
    for dtype in (torch.float32, torch.float16, torch.float64, torch.bfloat16, torch.float32):
        for module in comparison.each()[:2]:
            module.to(dtype)
        with torch.no_grad():
            comparison.exact.load_state_dict(comparison.eager.state_dict())
            comparison.step(*model.inputs(dtype=dtype))


def test_layers_that_share_code(front_end):
    """Six layers of one class: each keeps its own prepared parameters."""
    model = MODELS["matmul_plain"]
    module = nn.Sequential(*(MODELS["residual"].build(seed=i) for i in range(6)))
    comparison = Comparison(module, front_end)
    with torch.no_grad():
        for i in range(3):
            comparison.step(*model.inputs(seed=i))
            for each in comparison.each():
                each[2 * i].linear.weight.mul_(2.0)
        comparison.step(*model.inputs())


def test_copies_are_independent(front_end):
    """A deep copy of a compiled model has parameters of its own."""
    model = MODELS["linear_leaky_relu"]
    (x,) = model.inputs()
    with torch.no_grad():
        first = front_end(model.build())
        before = first(x)
        second = copy.deepcopy(first)
        for parameter in second.parameters():
            parameter.zero_()
        assert torch.count_nonzero(second(x)) == 0
        assert torch.equal(first(x), before)


def test_buffers_change(front_end):
    """Buffers written in place, swapped and replaced."""
    model = MODELS["per_feature"]
    comparison = Comparison(model.build(), front_end)
    with torch.no_grad():
        comparison.step(*model.inputs())
        for module in comparison.each():
            module.shift.add_(1.0)
        comparison.step(*model.inputs())
        for module in comparison.each():
            module.divisor.data = module.divisor.data * 3.0
        comparison.step(*model.inputs())
        for module in comparison.each():
            module.shift = -module.shift
        comparison.step(*model.inputs())


@pytest.fixture
def preparations(monkeypatch):
    """Count how often parameters are prepared."""
    from tenon.torch.calls.prepare import Prepare

    count, make = [], Prepare._make
    monkeypatch.setattr(Prepare, "_make", lambda self, *args: count.append(self) or make(self, *args))
    return count


def test_prepared_once_a_version(front_end, preparations):
    """Calls without a change between them prepare once; a change prepares once more."""
    model = MODELS["matmul_plain"]
    module = model.build()
    compiled = front_end(module)
    with torch.no_grad():
        for version in range(3):
            for seed in range(4):
                compiled(*model.inputs(seed=seed))
            assert len(preparations) == version + 1
            module.weight.mul_(1.1)


def test_refresh_after_a_hidden_change(front_end):
    """A write through .data is counted by nobody; tenon.torch.refresh tells of it."""
    import tenon.torch

    model = MODELS["matmul_plain"]
    comparison = Comparison(model.build(), front_end)
    with torch.no_grad():
        comparison.step(*model.inputs())
        for module in comparison.each():
            module.weight.data.mul_(3.0)
        tenon.torch.refresh()
        comparison.step(*model.inputs())
