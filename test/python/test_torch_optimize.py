# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon.torch.optimize: a module that is the original in all but speed.

That the fast path is taken is checked as well as that results are right: a test of a guard means
nothing where every call goes through torch.compile.
"""

import copy
import io
import pickle
import threading
import warnings

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
from optimize_models import (  # noqa: E402
    Appending,
    Branch,
    Chain,
    Counting,
    Inner,
    Logging,
    Nested,
    Outer,
    Printing,
    Scaled,
    Sharing,
    WritesArgument,
)
from tenon.torch import optimize  # noqa: E402
from torch import nn  # noqa: E402


def dispatcher(module):
    return type(module)._tenon


def entries(module):
    return sum(len(tree.entries) for tree in dispatcher(module)._trees)


def assert_same(got, expected):
    torch.testing.assert_close(got, expected, rtol=2e-5, atol=2e-6)


def assert_follows(optimized, model, *args, **kwargs):
    """Check that a call gives what the original gives, from compiled code."""
    with torch.no_grad():
        assert_same(optimized(*args, **kwargs), type(model).forward(model, *args, **kwargs))
    assert dispatcher(optimized).declined is None


@pytest.fixture
def x():
    return torch.randn(4, 8)


@pytest.fixture
def scaled():
    model = Scaled().eval()
    return model, optimize(model)


# The stand-in is the original


def test_is_an_instance_of_its_class(scaled, x):
    model, optimized = scaled
    assert isinstance(optimized, Scaled)
    assert type(optimized) is not Scaled
    assert repr(optimized).replace("[tenon]", "") == repr(model)
    assert "[tenon]" in repr(optimized)
    assert optimized.linear is model.linear


def test_shares_state(scaled, x):
    model, optimized = scaled
    for (name, mine), (other, its) in zip(
        optimized.state_dict(keep_vars=True).items(), model.state_dict(keep_vars=True).items(), strict=True
    ):
        assert name == other
        assert mine is its
    assert [p is q for p, q in zip(optimized.parameters(), model.parameters(), strict=True)] == [True] * 4
    optimized.train()
    assert model.linear.training
    optimized.note = "seen"
    assert model.note == "seen"


@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies(again, scaled, x):
    model, optimized = scaled
    other = again(optimized)
    assert isinstance(other, Scaled)
    assert dispatcher(other) is not dispatcher(optimized)
    assert (other.linear is optimized.linear) == (again is copy.copy)
    other.scale = 7.0
    assert_follows(optimized, model, x)
    assert_follows(other, dispatcher(other).original, x)
    with torch.no_grad():
        assert_same(other(x) - 1.0, 7.0 / 2.0 * (optimized(x) - 1.0))


def test_saves_whole(scaled, x):
    model, optimized = scaled
    file = io.BytesIO()
    torch.save(optimized, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    assert_follows(loaded, model, x)


def test_optimizing_twice(scaled, x):
    model, optimized = scaled
    twice = optimize(optimized, dynamic=True)
    assert type(twice).__mro__[1] is Scaled
    assert dispatcher(twice).dynamic
    assert_follows(twice, model, x)


def test_as_a_submodule(x):
    inner = Inner().eval()
    outer = Outer(optimize(inner)).eval()
    assert_follows(outer.inner, inner, x)
    assert_follows(optimize(outer), outer, x)
    assert set(outer.state_dict()) == {"inner.linear.weight", "inner.linear.bias"}


def test_refuses_what_is_no_module():
    with pytest.raises(TypeError, match="needs a torch.nn.Module, not function"):
        optimize(lambda x: x)
    with pytest.raises(ValueError, match="precison"):
        optimize(nn.Linear(2, 2), options={"precison": "tf32"})


def test_script_modules_are_refused(x):
    with pytest.raises(TypeError, match="outside __dict__"):
        optimize(torch.jit.trace(nn.Linear(8, 8), x))


# What changes is seen by the next call


def test_repeated_calls_use_what_was_compiled(scaled, x, compiled):
    model, optimized = scaled
    for _ in range(3):
        assert_follows(optimized, model, x)
    assert entries(optimized) == 1
    assert compiled.linears == 1


def set_attribute(model):
    model.scale = 3.0


def set_type(model):
    model.scale = 2  # equal, and integer


def replace_module(model):
    model.linear = nn.Linear(8, 8)


def replace_parameter(model):
    model.linear.weight = nn.Parameter(torch.randn(8, 8))


def swap_data(model):
    model.linear.weight.data = torch.randn(8, 8)


def remove_bias(model):
    model.linear.bias = None


def write_in_place(model):
    with torch.no_grad():
        model.linear.weight.mul_(2.0)


def load(model):
    model.load_state_dict(Scaled().state_dict())


def step(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    Scaled.forward(model, torch.randn(4, 8)).sum().backward()
    optimizer.step()


def train(model):
    model.train()
    model.norm.eval()  # dropout alone


def widen(model):
    model.double()


def tie(model):
    model.norm.bias = model.norm.weight


def hook_submodule(model):
    model.linear.register_forward_hook(lambda module, args, result: result + 1.0)


def pre_hook_submodule(model):
    model.linear.register_forward_pre_hook(lambda module, args: (args[0] + 1.0,))


def override_forward(model):
    linear = model.linear
    linear.forward = lambda x: nn.Linear.forward(linear, x) * 5.0


def change_class(model):
    class Doubled(nn.Linear):
        def forward(self, x):
            return super().forward(x) * 2.0

    model.linear.__class__ = Doubled


CHANGES = [set_attribute, set_type, replace_module, replace_parameter, swap_data, remove_bias, write_in_place, load]
CHANGES += [step, tie]
UNPROVED = [hook_submodule, pre_hook_submodule, override_forward, change_class]


@pytest.mark.parametrize("change", [*CHANGES, *UNPROVED], ids=lambda f: f.__name__)
def test_changes_are_seen(change, scaled, x):
    model, optimized = scaled
    assert_follows(optimized, model, x)
    with torch.no_grad():
        before = optimized(x)
    change(model)
    with torch.no_grad():
        assert_same(optimized(x), Scaled.forward(model, x))  # a call of a new kind is PyTorch's own
        got = optimized(x)
        assert_same(got, Scaled.forward(model, x))
        assert torch.equal(got, before) == (change in (set_type, tie))
    assert (dispatcher(optimized).declined is None) == (change in CHANGES)


def test_conversion_to_another_dtype(scaled, x):
    model, optimized = scaled
    assert_follows(optimized, model, x)
    widen(model)
    assert_follows(optimized, model, x.double())
    with torch.no_grad():
        assert optimized(x.double()).dtype == torch.float64


def test_switch_between_training_and_evaluation(x):
    model = Chain()
    optimized, eager = optimize(model), copy.deepcopy(model)
    for training in (True, False, True, True, False):
        optimized.train(training)
        eager.train(training)
        with torch.no_grad():
            assert_same(optimized(x), eager(x))
        assert_same(model.state_dict(), eager.state_dict())
    assert model.norm.num_batches_tracked == 3
    assert entries(optimized) == 2


def test_dropout_draws_as_eager_does(scaled, x):
    model, optimized = scaled
    train(model)
    with torch.no_grad():
        torch.manual_seed(3)
        got = optimized(x)
        torch.manual_seed(3)
        assert_same(got, Scaled.forward(model, x))


def test_global_constant(x, monkeypatch):
    import optimize_models

    model = Branch().eval()
    optimized = optimize(model)
    assert_follows(optimized, model, x)
    monkeypatch.setattr(optimize_models, "FACTOR", -4.0)
    assert_follows(optimized, model, x)
    monkeypatch.setattr(optimize_models, "helper", lambda x: x * 0)
    with torch.no_grad():
        assert_same(optimized(x), model(x))


def test_patched_class(x, monkeypatch):
    model = Inner().eval()
    optimized = optimize(model)
    assert_follows(optimized, model, x)
    original = nn.Linear.forward
    monkeypatch.setattr(nn.Linear, "forward", lambda self, x: original(self, x) + 1.0)
    with torch.no_grad():
        assert_same(optimized(x), model(x))


def test_new_class_attribute_hides_a_submodule(x, monkeypatch):
    model = Inner().eval()
    optimized = optimize(model)
    assert_follows(optimized, model, x)
    monkeypatch.setattr(Inner, "linear", property(lambda self: torch.relu), raising=False)
    with torch.no_grad():
        assert_same(optimized(x), torch.relu(x).relu() * 2.0)


def test_class_attribute(x, monkeypatch):
    model = Inner().eval()
    optimized = optimize(model)
    assert_follows(optimized, model, x)
    monkeypatch.setattr(Inner, "factor", 9.0)
    assert_follows(optimized, model, x)


def test_forward_replaced_on_the_object(scaled, x):
    model, optimized = scaled
    optimized.forward = lambda x: x + 1
    assert_same(optimized(x), x + 1)
    del optimized.forward
    assert_follows(optimized, model, x)


def test_hooks_of_the_root(scaled, x):
    model, optimized = scaled
    calls = []
    handle = optimized.register_forward_hook(lambda module, args, result: calls.append(module))
    assert_follows(optimized, model, x)
    assert calls == [optimized]
    handle.remove()
    model.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    with torch.no_grad():
        assert_same(optimized(x), model(x))


def test_global_hooks(scaled, x):
    model, optimized = scaled
    assert_follows(optimized, model, x)
    calls = []
    handle = nn.modules.module.register_module_forward_hook(lambda module, args, result: calls.append(type(module)))
    with torch.no_grad():
        optimized(x)
    handle.remove()
    assert nn.Linear in calls


def test_replaced_modules_are_let_go(scaled, x):
    import gc
    import weakref

    model, optimized = scaled
    assert_follows(optimized, model, x)
    old = weakref.ref(model.linear)
    model.linear = nn.Linear(8, 8)
    assert_follows(optimized, model, x)
    gc.collect()
    assert old() is None


def test_is_collected(x):
    import gc
    import weakref

    model = Inner().eval()
    model.peer = [optimize(model)]
    assert_follows(model.peer[0], model, x)
    dead = weakref.ref(model)
    del model
    torch._dynamo.reset()
    gc.collect()
    assert dead() is None


# What a graph cannot do


@pytest.mark.parametrize("make", [Counting, Logging])
def test_side_effects_happen_in_every_call(make, x):
    model, eager = make().eval(), make().eval()
    eager.load_state_dict(model.state_dict())
    optimized = optimize(model)
    with torch.no_grad():
        for _ in range(3):
            assert_same(optimized(x), eager(x))
    assert model.seen() == eager.seen()
    assert "optimize_models.py" in dispatcher(optimized).declined


def test_printing_in_every_call(x, capsys):
    optimized = optimize(Printing().eval())
    with torch.no_grad():
        for _ in range(3):
            optimized(x)
    assert capsys.readouterr().out == "called\n" * 3


@torch.no_grad()
def test_control_flow_on_data(x):
    model = Branch(on="data").eval()
    optimized = optimize(model)
    for inputs in (x.abs(), -x.abs(), x.abs()):
        assert_same(optimized(inputs), model(inputs))


@torch.no_grad()
def test_control_flow_on_shapes():
    model = Branch(on="shape").eval()
    optimized = optimize(model)
    for batch in (8, 9, 3, 2, 12, 5, 6, 1):
        assert_follows(optimized, model, torch.randn(batch, 8))


def test_writes_to_arguments(x):
    model = WritesArgument().eval()
    optimized = optimize(model)
    given, expected = x.clone(), x.clone()
    with torch.no_grad():
        assert_same(optimized(given), model(expected))
        assert_same(given, expected)
        whole = torch.randn(5, 8)
        expected = model(whole.clone()[1:])
        assert_same(optimized(whole[1:]), expected)
    assert "writes to its arguments" in dispatcher(optimized).declined


def test_changes_of_containers(x):
    model = Appending().eval()
    optimized = optimize(model)
    assert_follows(optimized, model, x)
    given, expected = [x], [x]
    with torch.no_grad():
        for _ in range(2):
            assert_same(optimized(x, given), model(x, expected))
    assert len(given) == 3
    assert "container" in dispatcher(optimized).declined


def test_errors_are_pytorchs(scaled, x):
    model, optimized = scaled
    with torch.no_grad():
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            optimized(torch.randn(4, 9))
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            optimized()
    assert_follows(optimized, model, x)


# Arguments and results


def test_keyword_and_nested_arguments(x):
    model = Nested().eval()
    optimized = optimize(model)
    y = torch.randn(4, 8)
    for _ in range(2):
        assert_follows(optimized, model, x, (y, y + 1))
        assert_follows(optimized, model, x, pair=(y, y + 1))
        assert_follows(optimized, model, x, pair=(y, y + 1), scale=3.0)
        assert_follows(optimized, model, x, pair=(y, y + 1), scale=3)
        assert_follows(optimized, model, x, pair=[y, y + 1], names=True)
    assert entries(optimized) == 5


def test_equal_values_of_other_types_differ():
    model = Nested().eval()
    optimized = optimize(model)
    x = torch.ones(4, 8)
    with torch.no_grad():
        for scale in (1, 1.0, True):
            got = optimized(x, (x, x + 0), scale=scale)
            assert got["product"].dtype == model(x, (x, x + 0), scale=scale)["product"].dtype
            assert type(got["scale"]) is type(scale)


def test_one_tensor_given_twice(x):
    model = Nested().eval()
    optimized = optimize(model)
    with torch.no_grad():
        assert_same(optimized(x, (x, x)), model(x, (x, x)))


def test_results_are_the_same_objects_as_in_eager(x):
    model = Sharing().eval()
    optimized = optimize(model)
    with torch.no_grad():
        for _ in range(2):
            given, view, result, again = optimized(x)
            assert given is x
            assert view.data_ptr() == x.data_ptr()
            assert result is again
            assert_same(result, model(x)[2])


def test_other_layouts(scaled):
    model, optimized = scaled
    for inputs in (torch.randn(8, 4).t(), torch.randn(4, 16)[:, ::2], torch.randn(2, 3, 8), torch.randn(8)):
        with torch.no_grad():
            assert_same(optimized(inputs), model(inputs)) if inputs.dim() != 2 else assert_follows(
                optimized, model, inputs
            )


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_batches(dynamic, compiled):
    model = Scaled().eval()
    optimized = optimize(model, dynamic=dynamic)
    for batch in (4, 7, 2, 100, 33):
        assert_follows(optimized, model, torch.randn(batch, 8))
    assert entries(optimized) == {None: 2, True: 1, False: 5}[dynamic]
    assert compiled.linears == entries(optimized)
    assert_follows(optimized, model, torch.randn(1, 8))
    assert_follows(optimized, model, torch.randn(0, 8))


def test_many_shapes_go_through_torch_compile():
    model = Scaled().eval()
    optimized = optimize(model, dynamic=False)
    with torch.no_grad():
        for batch in range(2, 14):
            x = torch.randn(batch, 8)
            assert_same(optimized(x), model(x))
    assert entries(optimized) == 8
    assert "more than 8 ways" in dispatcher(optimized).declined


# PyTorch's states and transforms


def test_gradients_are_pytorchs_with_one_warning(x):
    model = Chain()
    optimized, eager = optimize(model), copy.deepcopy(model)
    with pytest.warns(UserWarning, match=r"PyTorch runs Chain itself.*torch\.no_grad\(\)") as caught:
        for _ in range(2):
            optimized(x).square().sum().backward()
            eager(x).square().sum().backward()
    assert len(caught) == 1
    assert caught[0].filename == __file__
    for (name, p), q in zip(model.named_parameters(), eager.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad, msg=name)


def test_grad_mode_without_gradients(scaled, x):
    model, optimized = scaled
    model.requires_grad_(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(optimized(x), model(x))
    assert entries(optimized) == 1
    model.linear.requires_grad_(True)
    with pytest.warns(UserWarning):
        result = optimized(x)
    assert result.requires_grad
    model.requires_grad_(False)
    leaf = x.clone().requires_grad_()
    optimized(leaf).sum().backward()
    assert leaf.grad is not None


def test_inference_mode(scaled, x):
    model, optimized = scaled
    with torch.inference_mode():
        assert_same(optimized(x), model(x))
        assert optimized(x).is_inference()
        assert_same(optimized(torch.ones(4, 8)), model(torch.ones(4, 8)))
    model.requires_grad_(False)
    assert not torch.is_inference(optimized(x))
    assert_follows(optimized, model, x)


def test_autocast(scaled, x):
    model, optimized = scaled
    assert_follows(optimized, model, x)
    with torch.no_grad():
        for dtype in (torch.bfloat16, torch.float16, torch.bfloat16):
            with torch.autocast("cpu", dtype=dtype):
                got, expected = optimized(x), model(x)
            assert got.dtype == expected.dtype
            torch.testing.assert_close(got, expected, rtol=2e-2, atol=2e-2)
    assert_follows(optimized, model, x)
    assert entries(optimized) == 3


def test_default_dtype_and_precision(scaled, x):
    model, optimized = scaled
    assert_follows(optimized, model, x)
    torch.set_float32_matmul_precision("high")
    try:
        with torch.no_grad():
            torch.testing.assert_close(optimized(x), model(x), rtol=1e-2, atol=1e-2)
    finally:
        torch.set_float32_matmul_precision("highest")
    assert entries(optimized) == 2


def test_transforms_of_functions(scaled, x):
    model, optimized = scaled
    model.requires_grad_(False)
    assert_same(torch.func.vmap(optimized)(x), torch.func.vmap(model)(x))
    assert_same(torch.func.jvp(optimized, (x,), (x,)), torch.func.jvp(model, (x,), (x,)))
    assert_same(torch.func.grad(lambda x: optimized(x).sum())(x), torch.func.grad(lambda x: model(x).sum())(x))
    assert_follows(optimized, model, x)


def test_forward_mode(scaled, x):
    model, optimized = scaled
    model.requires_grad_(False)
    assert_same(optimized(x), model(x))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        assert torch.autograd.forward_ad.unpack_dual(optimized(dual)).tangent is not None


def test_functional_call(scaled, x):
    model, optimized = scaled
    others = {name: torch.randn_like(p) for name, p in model.named_parameters()}
    with torch.no_grad():
        assert_same(
            torch.func.functional_call(optimized, others, (x,)), torch.func.functional_call(model, others, (x,))
        )
    assert_follows(optimized, model, x)


def test_fake_tensors_modes_and_subclasses(scaled, x):
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Recording(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            ops.append(str(function))
            return function(*args, **(kwargs or {}))

    class Sub(torch.Tensor):
        pass

    model, optimized = scaled
    model.requires_grad_(False)
    assert_follows(optimized, model, x)
    ops = []
    with Recording():
        optimized(x)
    assert "aten.addmm.default" in ops
    assert type(optimized(x.as_subclass(Sub))) is Sub
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        assert type(optimized(mode.from_tensor(x))).__name__ == "FakeTensor"
    with torch.device("meta"):
        assert_same(optimized(x), model(x))
    assert entries(optimized) == 1


def test_other_compilers_see_the_original(scaled, x):
    model, optimized = scaled
    with torch.no_grad():
        expected = model(x)
        assert_same(torch.compile(optimized, backend="eager", fullgraph=True)(x), expected)
        assert_same(torch.export.export(optimized, (x,)).module()(x), expected)
        assert_same(torch.jit.trace(optimized, x)(x), expected)
        assert_same(torch.fx.symbolic_trace(optimized)(x), expected)


def test_threads():
    model = Scaled().eval()
    optimized = optimize(model, dynamic=False)
    inputs = [torch.randn(batch, 8) for batch in (2, 3, 4, 5)]
    with torch.no_grad():
        expected = [model(x) for x in inputs]
    errors = []

    def work(seed):
        try:
            with torch.no_grad():
                for i in range(40):
                    k = (i + seed) % len(inputs)
                    assert_same(optimized(inputs[k]), expected[k])
                    if i % 10 == 0:  # the module is whole while others compile
                        assert_same(model(inputs[k]), expected[k])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert entries(optimized) == len(inputs)
    assert dispatcher(optimized).declined is None
