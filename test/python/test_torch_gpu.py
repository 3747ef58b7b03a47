# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The zoo on a GPU, and what only a GPU has: precisions, streams, CUDA graphs, several devices.

Needs torch with CUDA and an installed `tenon`; no build tree.
"""

import contextlib
import copy
import threading

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
from torch_models import MODELS  # noqa: E402
from torch_models.check import FRONT_ENDS, Comparison, assert_as_eager, clone_as_laid_out, observe  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU"),
]
# Extents that fit no tile, and some that fit all.
SIZES = {"ragged": (130, 72), "round": (256, 256)}
FEW = [
    "linear_leaky_relu",
    "two_linears",
    "gate",
    "per_row",
    "residual",
    "bn_train_plain",
    "bn_eval_plain",
    "three_dim",
]


@pytest.fixture(autouse=True)
def no_grad():
    with torch.no_grad():
        yield


@contextlib.contextmanager
def matmul_precision(setting):
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(setting)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def compare(name, front_end, batch=130, width=72, dtype=None, device="cuda"):
    model = MODELS[name]
    comparison = Comparison(model.build(width, dtype, device), front_end)
    return comparison, lambda seed=1: model.inputs(batch, width, dtype, device, seed)


# The zoo


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", [n for n, m in MODELS.items() if not m.random])
def test_model(name, size, front_end, compiled):
    """In float32, errors are at most a few times eager's, and the same linears are fused as on the CPU."""
    comparison, inputs = compare(name, front_end, *SIZES[size])
    comparison.step(*inputs())
    assert (compiled.linears, len(compiled.sources)) == (MODELS[name].fused, MODELS[name].calls)


@pytest.mark.parametrize("name", [n for n, m in MODELS.items() if m.dtype == torch.float32 and not m.random])
def test_model_in_bf16(name):
    """In bfloat16, the fused chain rounds at most as often as eager."""
    comparison, inputs = compare(name, FRONT_ENDS["compile"], dtype=torch.bfloat16)
    comparison.step(*inputs())


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("setting", ["high", "medium"])
def test_model_with_less_precision(setting, name, front_end):
    """With tf32 or bf16 products, errors are at most a few times those of eager with rounded operands."""
    model = MODELS[name]
    module = model.build(256, device="cuda")
    inputs = model.inputs(256, 256, device="cuda")
    # PyTorch computes "medium" with tf32 where it has no better; so the measure is a bf16 model's error.
    rounded = torch.bfloat16 if setting == "medium" else torch.float32
    fused, measure, exact = copy.deepcopy(module), copy.deepcopy(module).to(rounded), copy.deepcopy(module).double()
    call = front_end(fused)
    for _ in range(2):  # of optimize's calls, the first is PyTorch's own
        with matmul_precision(setting):
            got = observe(fused, call, inputs)
            eager = observe(measure, measure, tuple(t.to(rounded) for t in inputs))
        wanted = observe(exact, exact, tuple(t.double() for t in inputs))
    as_measure = {n: t.to(eager[n].dtype) if isinstance(t, torch.Tensor) else t for n, t in got.items()}
    assert_as_eager(as_measure, eager, wanted)


def test_precision_changes_the_product(front_end):
    """The precisions are told apart by their errors, so that none is silently another."""
    model = MODELS["linear_leaky_relu"]
    module = model.build(1024, device="cuda")
    (x,) = model.inputs(256, 1024, device="cuda")
    exact = copy.deepcopy(module).double()(x.double())
    errors = {}
    for setting in ("highest", "high", "medium"):
        torch._dynamo.reset()
        with matmul_precision(setting):
            call = front_end(copy.deepcopy(module))
            call(x)
            errors[setting] = (call(x) - exact).square().mean().sqrt().item()
    scale = exact.square().mean().sqrt().item()
    assert errors["highest"] < 1e-5 * scale
    assert errors["high"] < 2e-3 * scale
    assert errors["medium"] < 2e-2 * scale


# Layouts


@pytest.mark.parametrize("name", FEW)
def test_pointers_at_any_element(name, front_end):
    """Tensors that start one element behind an aligned address, parameters as well."""
    comparison, inputs = compare(name, front_end)
    for module in comparison.each():
        for tensor in (*module.parameters(), *module.buffers()):
            if tensor.is_floating_point():
                tensor.data = shifted(tensor.data)
    comparison.step(*(shifted(t) for t in inputs()))


def shifted(tensor):
    """Return a copy whose address is that of a second element."""
    flat = torch.empty(tensor.numel() + 1, dtype=tensor.dtype, device=tensor.device)[1:]
    return flat.view(tensor.shape).copy_(tensor)


LAYOUTS = {
    "transposed": lambda n, k: torch.randn(k, n, device="cuda").t(),
    "columns": lambda n, k: torch.randn(n, 3 * k, device="cuda")[:, k : 2 * k],
    "every_second_row": lambda n, k: torch.randn(2 * n, k, device="cuda")[::2],
    "expanded_row": lambda n, k: torch.randn(1, k, device="cuda").expand(n, k),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout, front_end):
    comparison, _ = compare("linear_leaky_relu", front_end)
    comparison.step(LAYOUTS[layout](130, 72))


@pytest.mark.parametrize("batch", [1, 0])
def test_one_row_and_none(batch, front_end):
    comparison, inputs = compare("residual", front_end, batch=batch)
    comparison.step(*inputs())


def test_statistics_are_written_in_place(front_end):
    comparison, inputs = compare("bn_train_plain", front_end)
    addresses = [b.data_ptr() for b in comparison.copy.buffers()]
    for seed in range(3):
        comparison.step(*inputs(seed))
    assert [b.data_ptr() for b in comparison.copy.buffers()] == addresses


# Streams and CUDA graphs


@pytest.mark.parametrize("name", FEW)
def test_captured_call(name, front_end):
    """A compiled call is captured in a CUDA graph, whose replay computes from what its input holds then."""
    comparison, inputs = compare(name, front_end)
    held = tuple(clone_as_laid_out(t) for t in inputs())
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            comparison.compiled(*held)
    torch.cuda.current_stream().wait_stream(stream)
    comparison.copy.load_state_dict(comparison.eager.state_dict())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = comparison.compiled(*held)

    def replay(*given):
        for into, tensor in zip(held, given, strict=True):
            into.copy_(tensor)
        graph.replay()
        return torch.utils._pytree.tree_map(torch.clone, y)

    comparison.compiled = replay
    for seed in (2, 3, 4):
        comparison.step(*inputs(seed))


@pytest.mark.parametrize("name", ["linear_leaky_relu", "bn_train_plain", "three_linears"])
def test_reduce_overhead(name):
    """mode="reduce-overhead" replays CUDA graphs; results of one call are read before the next."""
    model = MODELS[name]
    comparison = Comparison(model.build(72, device="cuda"), FRONT_ENDS["compile"], mode="reduce-overhead")
    for seed in range(5):
        comparison.step(*model.inputs(130, 72, device="cuda", seed=seed))


def test_weights_change_between_replays():
    """With reduce-overhead too, a change of the parameters is seen."""
    model = MODELS["matmul_plain"]
    comparison = Comparison(model.build(72, device="cuda"), FRONT_ENDS["compile"], mode="reduce-overhead")
    for seed in range(5):
        comparison.step(*model.inputs(130, 72, device="cuda", seed=seed))
        for module in comparison.each():
            module.weight.mul_(-1.25)


def test_callers_stream(front_end):
    """Work is put on the caller's current stream, behind what that stream still has to do."""
    comparison, inputs = compare("linear_leaky_relu", front_end)
    given = inputs()
    comparison.compiled(*given)
    expected = comparison.compiled(*given)
    late = [t.clone() for t in given]
    for _ in range(2):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for tensor in given:
                tensor.fill_(float("nan"))
            torch.cuda._sleep(5_000_000)
            for tensor, value in zip(given, late, strict=True):
                tensor.copy_(value)
            y = comparison.compiled(*given)
        stream.synchronize()
        assert torch.equal(y, expected)


def test_prepared_on_another_stream(front_end):
    """Parameters prepared on a busy stream are ready before another stream uses them."""
    model = MODELS["matmul_plain"]
    module = model.build(512, device="cuda")
    (x,) = model.inputs(64, 512, device="cuda")
    compiled = front_end(module)
    for _ in range(2):
        compiled(x)
    for _ in range(5):
        module.weight.mul_(-1.1)
        expected = module(x)
        torch.cuda.synchronize()
        first, second = torch.cuda.Stream(), torch.cuda.Stream()
        with torch.cuda.stream(first):
            torch.cuda._sleep(5_000_000)
            compiled(x)
        with torch.cuda.stream(second):
            y = compiled(x)
        torch.cuda.synchronize()
        torch.testing.assert_close(y, expected, rtol=1e-4, atol=1e-4)


def test_threads_on_streams(front_end):
    """Threads with streams of their own call one model at once; each has its own results."""
    comparison, inputs = compare("three_linears", front_end)
    given = [inputs(seed) for seed in range(4)]
    comparison.compiled(*given[0])
    expected = [comparison.compiled(*g) for g in given]
    torch.cuda.synchronize()
    problems = []

    def work(i):
        try:
            with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(50):
                    y = comparison.compiled(*given[i])
                    torch.cuda.current_stream().synchronize()
                    assert torch.equal(y, expected[i])
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems[0]


def test_same_bits_each_time(front_end):
    for name in FEW:
        comparison, inputs = compare(name, front_end)
        if not MODELS[name].training:
            comparison.compiled(*inputs())
            first = comparison.compiled(*inputs())
            assert all(torch.equal(comparison.compiled(*inputs()), first) for _ in range(5))


# Devices


def test_moved_to_the_gpu(front_end):
    """A model that was compiled and called on the CPU, moved, and called again; and back."""
    model = MODELS["matmul_plain"]
    comparison = Comparison(model.build(), front_end)
    for device in ("cpu", "cuda", "cpu"):
        for module in comparison.each():
            module.to(device)
        comparison.step(*model.inputs(device=device))


def test_wrong_device(front_end):
    """An input on the CPU beside parameters on the GPU: PyTorch's kind of exception."""
    comparison, _ = compare("linear_leaky_relu", front_end)
    with pytest.raises(RuntimeError, match="device"):
        comparison.compiled(torch.randn(130, 72))


@pytest.mark.parametrize("current", [0, 1])
def test_second_gpu(current, front_end):
    """A model on another GPU than the current one, and on the current one."""
    if torch.cuda.device_count() < 2:
        pytest.skip("this machine shows one GPU")
    with torch.cuda.device(current):
        for name in FEW:
            comparison, inputs = compare(name, front_end, device="cuda:1")
            comparison.step(*inputs())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", ["linear_leaky_relu", "two_linears", "bn_train_plain"])
def test_autocast(name, dtype, front_end):
    comparison, inputs = compare(name, front_end)
    given = inputs()
    with torch.autocast("cuda", dtype=dtype):
        eager = observe(comparison.eager, comparison.eager, given)
        got = observe(comparison.copy, comparison.compiled, given)
    assert_as_eager(got, eager, observe(comparison.exact, comparison.exact, tuple(t.double() for t in given)))


@pytest.mark.parametrize("options", [{"foreach": True}, {"fused": True}], ids=str)
def test_optimizer_step(options, front_end):
    """A step of an optimizer on the GPU is seen by the next call."""
    comparison, inputs = compare("matmul_plain", front_end)
    modules = (comparison.eager, comparison.copy)
    gradients = [torch.randn_like(p) for p in comparison.eager.parameters()]
    optimizers = [torch.optim.AdamW(module.parameters(), lr=0.05, **options) for module in modules]
    for _ in range(3):
        comparison.exact.load_state_dict(comparison.eager.state_dict())
        comparison.step(*inputs())
        for module, optimizer in zip(modules, optimizers, strict=True):
            for parameter, gradient in zip(module.parameters(), gradients, strict=True):
                parameter.grad = gradient.clone()
            optimizer.step()


def test_number_on_the_cpu(front_end):
    """A 0-d tensor on the CPU is a number to PyTorch, beside tensors on the GPU."""
    model = MODELS["zero_dim"]
    comparison = Comparison(model.build(72, device="cuda"), front_end)
    for module in comparison.each():
        module.offset.data = module.offset.data.cpu()
    for _ in range(2):
        comparison.step(*model.inputs(130, 72, device="cuda"))
        for module in comparison.each():
            module.offset.add_(1.0)
