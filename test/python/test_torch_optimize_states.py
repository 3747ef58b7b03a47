# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon.torch.optimize: PyTorch's modes, transforms, compilers and threads."""

import copy
import threading
import warnings

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
from optimize_models import Chain, Distances, Scaled, assert_follows, assert_same, dispatcher, entries  # noqa: E402
from tenon.torch import optimize  # noqa: E402
from tenon.torch.precision import float32_matmul_precision  # noqa: E402


def test_gradients_are_pytorchs_without_a_warning(x):
    model = Chain()
    optimized, eager = optimize(model), copy.deepcopy(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            optimized(x).square().sum().backward()
            eager(x).square().sum().backward()
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


def test_autocast_ends_at_the_graph():
    model = Distances().eval()
    optimized = optimize(model)
    x = torch.randn(30, 8)
    with torch.no_grad(), torch.autocast("cpu"):
        for _ in range(2):
            got, expected = optimized(x), model(x)
            assert [t.dtype for t in got] == [torch.bfloat16, torch.float32]
            assert_same(got[1], expected[1])
    assert dispatcher(optimized).declined is None


def test_batches_within_one_autocast(scaled):
    """Autocast keeps the weights that it converted, in which no later recording would know the parameter."""
    model = scaled[0]
    optimized = optimize(model, dynamic=False)
    with torch.no_grad(), torch.autocast("cpu"):
        for batch in (3, 4, 5):
            x = torch.randn(batch, 8)
            torch.testing.assert_close(optimized(x), model(x), rtol=2e-2, atol=2e-2)
    assert entries(optimized) == 3
    assert dispatcher(optimized).declined is None


def test_default_dtype_and_precision(scaled, x):
    model, optimized = scaled
    assert_follows(optimized, model, x)
    try:
        for precision in ("high", "medium", "high"):
            torch.set_float32_matmul_precision(precision)
            with torch.no_grad():
                torch.testing.assert_close(optimized(x), model(x), rtol=1e-2, atol=1e-2)
    finally:
        torch.set_float32_matmul_precision("highest")
    assert entries(optimized) == 3


@pytest.mark.parametrize("where", [torch.backends.cuda.matmul, torch.backends.mkldnn.matmul, torch.backends])
def test_newer_settings_of_precision(scaled, x, where):
    """PyTorch's older function raises where a setting of its newer interface has no word in the older one."""
    model, _ = scaled
    model.requires_grad_(False)
    optimized, before = optimize(model, options={"precision": "fp32"}), where.fp32_precision
    assert_follows(optimized, model, x)
    where.fp32_precision = "tf32"
    try:
        for _ in range(2):
            assert_same(optimized(x), model(x))
        assert float32_matmul_precision() in ("high", "highest")
    finally:
        where.fp32_precision = before
    assert_same(optimized(x), model(x))
    assert float32_matmul_precision() == torch.get_float32_matmul_precision()


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
