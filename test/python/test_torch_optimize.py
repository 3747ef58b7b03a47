# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon.torch.optimize: a module that is the original in all but speed.

That the fast path is taken is checked as well as that results are right, here and in
test_torch_optimize_*.py: a test of a guard means nothing where every call goes through torch.compile.
"""

import copy
import io
import pickle

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
from optimize_models import (  # noqa: E402
    Inner,
    Nested,
    Outer,
    Scaled,
    Sharing,
    assert_follows,
    assert_same,
    dispatcher,
    entries,
)
from tenon.torch import optimize  # noqa: E402
from torch import nn  # noqa: E402


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


def test_replicas_have_their_own_state(scaled, x):
    model, optimized = scaled
    replica = optimized._replicate_for_data_parallel()
    replica.scale = 0.0
    with torch.no_grad():
        assert_same(replica(x), torch.ones(4, 8))
    assert_follows(optimized, model, x)


def test_refuses_what_is_no_module():
    with pytest.raises(TypeError, match="needs a torch.nn.Module, not function"):
        optimize(lambda x: x)
    with pytest.raises(ValueError, match="precison"):
        optimize(nn.Linear(2, 2), options={"precison": "tf32"})


def test_script_modules_are_refused(x):
    with pytest.raises(TypeError, match="outside __dict__"):
        optimize(torch.jit.trace(nn.Linear(8, 8), x))


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
