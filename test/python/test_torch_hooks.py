# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hooks that PyTorch runs on every module: on the user's, and on none of Tenon's."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
from tenon.torch import optimize  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.modules import module as registry  # noqa: E402


def first_changed(change):
    """Return a hook before forward that changes the first argument and keeps the others."""
    return lambda module, inputs: (change(inputs[0]), *inputs[1:])


HOOKS = {
    "one_argument": (registry.register_module_forward_pre_hook, lambda module, inputs: (inputs[0] + 1,)),
    "first_argument": (registry.register_module_forward_pre_hook, first_changed(lambda x: x * 2)),
    "nothing": (registry.register_module_forward_pre_hook, lambda module, inputs: None),
    "result": (registry.register_module_forward_hook, lambda module, inputs, result: result * 2),
    "result_and_keywords": (
        lambda hook: registry.register_module_forward_hook(hook, with_kwargs=True),
        lambda module, inputs, keywords, result: result + 1,
    ),
}


def make():
    layers = nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.BatchNorm1d(8), nn.SiLU()
    return nn.Sequential(*layers).eval().requires_grad_(False)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("name", HOOKS)
def test_hooks_of_all_modules(name, before, dynamic):
    register, hook = HOOKS[name]
    model, batches = make(), [torch.randn(m, 8) for m in (4, 7, 7, 4, 9)]
    optimized = optimize(model, dynamic=dynamic)
    for x in () if before else batches:
        torch.testing.assert_close(optimized(x), model(x))
    handle = register(hook)
    try:
        for x in batches:
            torch.testing.assert_close(optimized(x), model(x))
    finally:
        handle.remove()
    torch.testing.assert_close(optimized(batches[0]), model(batches[0]))


@pytest.mark.parametrize("fuses", [True, False])
def test_hooks_see_the_users_modules_alone(fuses):
    model = make() if fuses else nn.Sequential(nn.Softmax(-1), nn.LayerNorm(8)).eval().requires_grad_(False)
    optimized, seen = optimize(model), []
    handle = registry.register_module_forward_pre_hook(lambda module, inputs: seen.append(type(module).__name__))
    try:
        model(torch.randn(4, 8))
        expected = sorted(set(seen))
        seen.clear()
        for m in (4, 7, 9):
            optimized(torch.randn(m, 8))
    finally:
        handle.remove()
    assert sorted(set(seen)) == expected


@pytest.mark.parametrize(
    "register",
    [
        registry.register_module_module_registration_hook,
        registry.register_module_parameter_registration_hook,
        registry.register_module_buffer_registration_hook,
    ],
)
def test_nothing_is_registered(register):
    """Hooks on what a module is given see no module of Tenon's either."""
    model, seen = make(), []
    handle = register(lambda module, name, value: seen.append(type(module).__name__))
    try:
        optimized = optimize(model, dynamic=True)
        for x in (torch.randn(4, 8), torch.randn(7, 8)):
            torch.testing.assert_close(optimized(x), model(x))
    finally:
        handle.remove()
    assert seen == []


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gradients_with_backward_hooks():
    model, seen = make().requires_grad_(True), []
    optimized, x = optimize(model), torch.randn(4, 8)
    handle = registry.register_module_full_backward_hook(lambda module, gradients, given: seen.append(type(module)))
    try:
        model(x).sum().backward()
        expected, seen[:] = list(seen), []
        optimized(x).sum().backward()
    finally:
        handle.remove()
    assert [kind.__name__ for kind in seen] == [kind.__name__ for kind in expected]
