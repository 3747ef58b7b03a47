# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of each library as arguments, and what is wrong with arguments."""

import array
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import tenon  # noqa: E402
from tenon.arrays import View  # noqa: E402
from tenon.function import Arguments, TensorSpec  # noqa: E402

SOURCE = """
func.func @forward(%x: tensor<?x6xTYPE>, %weight: tensor<4x6xTYPE>, %z: tensor<?x4xTYPE>) -> tensor<?x4xTYPE> {
  %0 = tenon.linear %x, %weight : (tensor<?x6xTYPE>, tensor<4x6xTYPE>) -> tensor<?x4xTYPE>
  %1 = tenon.add %0, %z : tensor<?x4xTYPE>, tensor<?x4xTYPE>
  return %1 : tensor<?x4xTYPE>
}
"""


@pytest.fixture(scope="module")
def forward():
    return tenon.compile(SOURCE.replace("TYPE", "f32"), "cpu")["forward"]


def operands(dtype=np.float32):
    generator = np.random.default_rng(0)
    return [generator.standard_normal(shape).astype(dtype) for shape in ((5, 6), (4, 6), (5, 4))]


def check(result, x, weight, z):
    np.testing.assert_allclose(np.asarray(result, np.float64), x @ weight.T + z, rtol=1e-5, atol=1e-5)


# NumPy


@pytest.mark.parametrize(
    "change",
    [
        np.asfortranarray,
        lambda a: np.concatenate([a, a], axis=1)[:, : a.shape[1]],
        lambda a: np.flip(np.flip(a, 0).copy(), 0),
        lambda a: np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape),
        lambda a: (a.setflags(write=False), a)[1],
    ],
    ids=["column-major", "slice", "reversed", "misaligned", "read-only"],
)
def test_numpy_layouts(forward, change):
    inputs = operands()
    check(forward(*map(change, inputs)), *inputs)


def test_numpy_dtype_is_that_of_the_machine(forward):
    x, weight, z = operands()
    with pytest.raises(tenon.ArgumentError, match=r"'x'.*expected dtype float32, but got byte-swapped float32"):
        forward(x.astype(">f4"), weight, z)


def test_numpy_bfloat16():
    exe = tenon.compile(SOURCE.replace("TYPE", "bf16"), "cpu")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    inputs = operands(ml_dtypes.bfloat16)
    result = exe(*inputs)
    assert result.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(
        result.astype(np.float64), exe(*(torch.tensor(i.astype(np.float32)).bfloat16() for i in inputs)).double()
    )


def test_numpy_bfloat16_without_ml_dtypes(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    tenon.arrays.NumPy._dtype.cache_clear()
    with pytest.raises(tenon.UnsupportedError, match="install ml_dtypes, or pass PyTorch tensors"):
        tenon.arrays.NumPy().empty([2], "bfloat16", (1, 0))


# Others


class Exporter:
    """An array of an unknown library."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def test_dlpack_gives_numpy(forward):
    inputs = operands()
    result = forward(*map(Exporter, inputs))
    assert isinstance(result, np.ndarray)
    check(result, *inputs)


def test_dlpack_of_an_unknown_gpu_array(forward):
    class OnGpu(Exporter):
        def __dlpack_device__(self):
            return (2, 0)

    with pytest.raises(tenon.ArgumentError, match="a .*OnGpu on a GPU is not supported; pass it as a PyTorch"):
        forward(*map(OnGpu, operands()))


def test_mixed_libraries_give_the_first(forward):
    x, weight, z = operands()
    result = forward(torch.from_numpy(x), weight, Exporter(z))
    assert isinstance(result, torch.Tensor)
    check(result, x, weight, z)


def test_jax(forward):
    jax = pytest.importorskip("jax")
    inputs = operands()
    result = forward(*map(jax.numpy.asarray, inputs))
    assert isinstance(result, jax.Array)
    check(result, *inputs)
    with pytest.raises(tenon.ArgumentError, match="but got a tracer"):
        jax.jit(lambda x: forward(x, *inputs[1:]))(inputs[0])


# PyTorch


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.t().contiguous().t(),
        lambda t: torch.cat([t, t], 1)[:, : t.shape[1]],
        torch.nn.Parameter,
        lambda t: torch.complex(torch.zeros_like(t), -t).conj().imag,
        lambda t: t.to("cpu").as_strided(t.shape, t.stride()),
    ],
    ids=["column-major", "slice", "parameter", "negative bit", "view"],
)
def test_torch_layouts(forward, change):
    inputs = operands()
    with torch.no_grad():
        check(forward(*(change(torch.from_numpy(i)) for i in inputs)), *inputs)


def test_torch_gradients_are_refused(forward):
    x, weight, z = map(torch.from_numpy, operands())
    weight.requires_grad_()
    with pytest.raises(tenon.ArgumentError, match=r"'weight' \(position 2\).*needs no gradient.*torch.no_grad"):
        forward(x, weight, z)
    check(forward(x, weight.detach(), z), *operands())
    with torch.inference_mode():
        check(forward(x, weight, z), *operands())


@pytest.mark.gpu
def test_torch_on_a_gpu():
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")
    forward = tenon.compile(SOURCE.replace("TYPE", "f32"))["forward"]
    inputs = [torch.from_numpy(i).cuda() for i in operands()]
    with torch.cuda.stream(torch.cuda.Stream()) as stream:
        result = forward(*inputs)
        assert result.device == inputs[0].device
    torch.cuda.synchronize(stream)
    check(result.cpu(), *operands())
    with pytest.raises(tenon.ArgumentError, match="same device, but got cpu after cuda:0"):
        forward(inputs[0], inputs[1].cpu(), inputs[2])


# What is wrong


def change(position, make):
    def changed():
        inputs = operands()
        inputs[position] = make(inputs[position])
        return inputs

    return changed


MISTAKES = {
    "too few": (lambda: operands()[:2], "expected 3 arguments (x, weight, z), but got 2"),
    "dtype": (change(0, lambda a: a.astype(np.float64)), "'x' (position 1): expected dtype float32, but got float64"),
    "integers": (change(2, lambda a: a.astype(np.int32)), "'z' (position 3): expected dtype float32, but got int32"),
    "features": (change(1, lambda a: a[:, :5]), "'weight' (position 2): expected shape [4, 6], but got [4, 5]"),
    "rank": (change(0, lambda a: a[0]), "'x' (position 1): expected shape [m, 6], but got [6]"),
    "rows": (
        change(2, lambda a: a[:3]),
        "'z' (position 3): dimension 0 is 'm' and has extent 3, but dimension 0 of argument 'x' made it 5",
    ),
    "a list": (change(0, lambda a: a.tolist()), "'x' (position 1): expected an array"),
    "a buffer": (change(0, lambda a: array.array("f", a.ravel())), "with __dlpack__), but got array"),
    "none": (change(1, lambda a: None), "but got NoneType"),
    "a module": (change(1, lambda a: torch.nn.Linear(6, 4)), "expected a tensor, but got Linear"),
    "sparse": (change(1, lambda a: torch.from_numpy(a).to_sparse()), "dense tensor, but got layout torch.sparse_coo"),
    "meta": (change(1, lambda a: torch.from_numpy(a).to("meta")), "on cpu or cuda, but got one on meta"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(forward, mistake):
    make, message = MISTAKES[mistake]
    with pytest.raises(tenon.ArgumentError, match=re.escape(message)) as raised:
        forward(*make())
    assert str(raised.value).startswith("forward(): ") and isinstance(raised.value, ValueError)
    check(forward(*operands()), *operands())


def test_devices_differ():
    class Fake(tenon.arrays.Adapter):
        def view(self, array):
            return View(None, 0, "float32", (1,), array)

    arguments = Arguments("f")
    arguments.add(TensorSpec("a", "float32", (1,)), 1, (1, 0), Fake())
    message = re.escape("f(): argument 'b' (position 2): expected all tensors to be on the same device, but got cuda:1")
    with pytest.raises(tenon.ArgumentError, match=message + " after cpu"):
        arguments.add(TensorSpec("b", "float32", (1,)), 2, (2, 1), Fake())


def test_no_code_for_the_device(forward):
    launcher = forward._function._launcher((2, 0))
    with pytest.raises(tenon.UnsupportedError, match="no GPU code.*--target"):
        launcher([8, 8, 8, 8], [1], 0, 0, 0)
