# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How graphs are cut: what goes together, what stays with PyTorch and why, and what calls take and give."""

import copy
import operator

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from tenon.torch.fusion.partition import InputDim, InputRows, missed_of, partition  # noqa: E402
from tenon.torch.fusion.views import replay  # noqa: E402
from torch import fx  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch_support import Cut, assert_as_eager, parameter, verify  # noqa: E402

M, K, N = 6, 8, 4


def inputs_and_weights(count):
    return torch.randn(M, K), *(parameter(K, K) for _ in range(count))


def check(function, *inputs):
    cut = Cut(function, *inputs)
    assert_as_eager(cut, function, *inputs)
    return cut


def test_cut_around_what_has_no_word():
    def function(x, w, v):
        y = torch.atan(F.relu(F.linear(x, w)))
        return F.silu(F.linear(y, v)) * 2

    cut = check(function, *inputs_and_weights(2))
    assert len(cut.partitions) == 2 and cut.kept == ["atan"]
    assert [(m.op, m.reason) for m in cut.missed] == [("aten.atan", "Tenon has no word for aten.atan.")]
    assert cut.missed[0].where.startswith(f"{__file__}:")
    assert cut.partitions[0].missed == cut.missed and cut.partitions[1].missed == []


def test_two_linears_in_a_chain():
    cut = check(lambda x, w, v: F.linear(F.relu(F.linear(x, w)), v), *inputs_and_weights(2))
    assert cut.ops == ["linear", "relu", "linear"]


def test_gate():
    cut = check(lambda x, w, v, u: F.linear(F.silu(F.linear(x, w)) * F.linear(x, v), u), *inputs_and_weights(3))
    assert cut.ops == ["linear", "silu", "linear", "mul", "linear"]


def test_independent_linears_are_two_calls():
    cut = check(lambda x, w, v: (F.relu(F.linear(x, w)), F.relu(F.linear(x, v))), *inputs_and_weights(2))
    assert [p.name for p in cut.partitions] == ["linear_relu", "linear_relu"]


def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / 2, -1) @ v


def test_products_of_no_plain_views():
    """Attention by hand: what the second operand looks like is found by views of tensors that cannot be viewed so."""

    def function(x, w):
        q, k, v = (F.linear(x, w).view(2, 5, 2, 4).transpose(1, 2) for _ in range(3))
        return F.relu(F.linear(attend(q, k, v).transpose(1, 2).reshape(2, 5, 8), w))

    cut = check(function, torch.randn(2, 5, 8), parameter(8, 8))
    assert len(cut.partitions) == 1


@pytest.mark.parametrize(
    "view",
    [
        lambda k: k.transpose(-2, -1),
        lambda k: k.permute(0, 1, 3, 2),
        lambda k: k.mT.reshape(2, 3, 4, 5),
        lambda k: k.transpose(-2, -1).unflatten(1, (3, 1)).squeeze(2),
        lambda k: k.flip(2).transpose(2, 3),
        lambda k: k[:, :1].expand(2, 3, 5, 4).transpose(2, 3),
    ],
)
def test_views_of_batched_products(view):
    check(lambda x, k, w: (x @ view(k), F.relu(F.linear(x, w))), *torch.randn(2, 2, 3, 5, 4), parameter(4, 4))


@pytest.mark.parametrize("error", [ValueError, IndexError, AssertionError, NotImplementedError, ZeroDivisionError])
def test_any_exception_of_a_view(monkeypatch, error):
    """What PyTorch raises where a tensor cannot be viewed so is no error of the model."""

    def fail(*arguments):
        raise error

    op = torch.ops.aten.view.default
    node = fx.symbolic_trace(lambda x: op(x, [-1])).graph.find_nodes(op="call_function", target=op)[0]
    monkeypatch.setattr(torch.Tensor, "view", fail)
    assert replay(node, torch.empty(4, device="meta")) is None


def test_a_permutation_of_many_dimensions():
    check(lambda x, w: F.relu(F.linear(x.transpose(0, 24), w)), torch.randn([1] * 23 + [2, 3, K]), parameter(K, K))


def test_layers_of_the_same_code_have_the_same_text():
    def function(x, w, v, u):
        for weight in (w, v, u):
            x = torch.cumsum(F.relu(F.linear(x, weight)) + x, 0)
        return x

    cut = check(function, *inputs_and_weights(3))
    assert len(cut.partitions) == 3
    assert len({p.source for p in cut.partitions}) == 1


def test_names_tell_different_functions_apart():
    cut = check(lambda x, w, v: (F.linear(x, w) * 2, F.linear(x, v) * 3), *inputs_and_weights(2))
    assert [p.name for p in cut.partitions] == ["linear_mul", "linear_mul_2"]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x, w: F.linear(x, w), "Nothing follows it that could be fused with it."),
        (lambda x, w: torch.sort(F.linear(x, w), -1)[0], "What follows it (aten.sort) cannot be fused with it."),
    ],
)
def test_linear_alone_stays(function, reason):
    cut = check(function, *inputs_and_weights(1))
    assert cut.partitions == [] and "mm" in cut.kept
    assert [m.op for m in cut.missed] == ["aten.mm"]
    assert cut.missed[0].reason == reason


def test_no_call_waits_for_itself():
    def function(x, w):
        y = F.linear(x, w)
        return F.relu(y) * torch.cumsum(y, 0)

    cut = check(function, *inputs_and_weights(1))
    assert cut.ops == ["linear", "relu"] and sorted(cut.kept) == ["cumsum", "mul"]
    assert [m.reason for m in cut.missed if m.op == "aten.mul"] == [
        "Taking it would make a call wait for its own result, through ops of PyTorch's."
    ]


def test_no_two_calls_wait_for_each_other():
    def function(x, w, v):
        a, b = F.relu(F.linear(x, w)), F.relu(F.linear(x, v))
        return a + torch.cumsum(b, 0), b + torch.cumsum(a, 0)

    cut = check(function, *inputs_and_weights(2))
    assert len(cut.partitions) == 2


def test_cycle_through_another_call():
    def function(x, w, v, u):
        a = F.relu(F.linear(x, w))
        b = torch.cumsum(F.relu(F.linear(torch.cumsum(a, 1), v)), 1)
        return F.linear(a, u) * 2 + b

    check(function, *inputs_and_weights(3))


def test_residual_and_extra_results():
    def function(x, w, r):
        y = F.linear(x, w)
        z = y * 2
        return F.relu(z + r), z, y

    cut = check(function, *inputs_and_weights(1), torch.randn(M, K))
    assert len(cut.partitions[0].outputs) == 3 and cut.kept == []


def test_same_result_twice_and_input_returned():
    def function(x, w):
        y = F.relu(F.linear(x, w))
        return y, y, x

    cut = check(function, *inputs_and_weights(1))
    assert len(cut.partitions[0].outputs) == 1


def test_view_and_its_base_are_one_result():
    def function(x, w):
        y = F.relu(F.linear(x, w))
        return y, y.view(2, 3, K)

    cut = check(function, *inputs_and_weights(1))
    assert len(cut.partitions[0].outputs) == 1 and cut.kept == ["view"]


def test_shared_weight():
    cut = check(lambda x, w: F.relu(F.linear(F.relu(F.linear(x, w)), w)), *inputs_and_weights(1))
    assert len(cut.partitions[0].inputs) == 2


def test_weight_as_it_is_and_transposed():
    cut = check(lambda x, w: F.relu(F.relu(F.linear(x, w)) @ w), *inputs_and_weights(1))
    assert [spec.transpose for spec in cut.partitions[0].inputs] == [False, False, True]


@pytest.mark.parametrize(("n", "dtype"), [(N, torch.bfloat16), (N, torch.float16), (N - 1, torch.bfloat16)])
def test_narrow_weight_that_lies_transposed(n, dtype):
    """As of transformers' Conv1D: nothing is prepared of it, which would cost memory and each call time."""
    x, w, b = (torch.randn(s, dtype=dtype) for s in ((M, K), (K, n), (n,)))
    cut = check(lambda x, w, b: F.relu(torch.addmm(b, x, w)), x, torch.nn.Parameter(w), torch.nn.Parameter(b))
    (partition,) = cut.partitions
    is_aligned = n % 8 == 0
    assert [spec.transpose for spec in partition.inputs] == [False, not is_aligned, False]
    assert ("layout<mk_kn>" in partition.source) == is_aligned


def test_weight_that_a_later_op_computes():
    def function(x, w, v):
        y = F.relu(F.linear(x, w))
        return F.relu(F.linear(y, F.relu(F.linear(v, w))))

    cut = check(function, torch.randn(M, K), parameter(K, K), torch.randn(N, K))
    assert [p.name for p in cut.partitions] == ["linear_relu", "linear_relu_linear_relu"]  # in the order of the calls


def test_activation_as_its_own_weight():
    cut = check(lambda x, w: (lambda y: F.relu(F.linear(y, y)))(F.relu(F.linear(x, w))), *inputs_and_weights(1))
    assert len(cut.partitions) == 2


def test_nothing_but_parameters():
    cut = check(lambda q, w: F.relu(F.linear(q, w)), parameter(M, K), parameter(K, K))
    assert [spec.parameter for spec in cut.partitions[0].inputs] == [True, True]


def test_parameters_alone_are_prepared():
    def function(x, w, s):
        return F.relu(F.linear(x, w * s.abs()) * (s + 1))

    cut = check(function, torch.randn(M, K), parameter(K, K), parameter(K))
    assert cut.kept == []
    assert [spec.parameter for spec in cut.partitions[0].inputs] == [False, True, True]


def test_ops_on_activations_before_a_linear_stay():
    cut = check(lambda x, w: F.relu(F.linear(torch.tanh(x), w)), *inputs_and_weights(1))
    assert cut.kept == ["tanh"] and cut.ops == ["linear", "relu"] and cut.missed == []


def test_cast_that_others_need_stays():
    def function(x, w):
        half = x.to(torch.bfloat16)
        return F.relu(F.linear(half, w.to(torch.bfloat16))), half

    cut = check(function, *inputs_and_weights(1))
    assert cut.kept == ["_to_copy"] and cut.ops == ["cast", "linear", "relu"]


def test_broadcast_over_some_rows_stays():
    def function(x, w, r):
        return F.relu(F.linear(x, w)) + r

    cut = check(function, torch.randn(2, 3, K), parameter(K, K), torch.randn(3, K))
    assert cut.kept == ["add"]
    assert "leading dimensions" in cut.missed[0].reason


@pytest.mark.parametrize("shape", [(), (1,), (K,), (1, K), (1, 1, K), (2, 3, 1), (2, 3, K), (1, 1, 1)])
def test_operands_of_three_dimensions(shape):
    cut = check(lambda x, w, r: F.linear(x, w) * r, torch.randn(2, 3, K), parameter(K, K), torch.randn(shape))
    assert cut.kept == [] and cut.ops == ["linear", "mul"]


def test_more_rows_than_the_linear_stays():
    cut = check(lambda x, w, r: F.relu(F.linear(x, w)) + r, torch.randn(1, K), parameter(K, K), torch.randn(5, K))
    assert cut.kept == ["add"]


def test_result_with_strides_of_an_operand_stays():
    cut = check(lambda x, w, r: r.t() + F.relu(F.linear(x, w)), *inputs_and_weights(1), torch.randn(K, M))
    assert cut.kept[-1] == "add" and "not contiguous" in cut.missed[0].reason


def test_integers_stay():
    cut = check(lambda x, w, i: F.relu(F.linear(x, w)) * i, *inputs_and_weights(1), torch.arange(K))
    assert cut.kept == ["mul"] and "int64" in cut.missed[0].reason


def test_non_contiguous_inputs():
    def function(x, w, r):
        return F.relu(F.linear(x.t(), w) + r[:, ::2])

    check(function, torch.randn(K, M), parameter(K, K), torch.randn(M, 2 * K))


def test_shapes_of_results():
    def function(x, w):
        return F.relu(F.linear(x, w)), F.silu(F.linear(x.flatten(0, 1), w)), F.relu(F.linear(x, w)).view(-1, 2, K // 2)

    cut = Cut(function, torch.randn(2, 3, K), parameter(K, K), dynamic=True)
    shapes = [output.shape for part in cut.partitions for output in part.outputs]
    position = next(i for i, spec in enumerate(cut.partitions[0].inputs) if spec.shape == (None, K))
    assert (InputDim(position, 0), 3, K) in shapes
    assert (InputRows(position), K) in shapes
    assert_as_eager(cut, function, torch.randn(5, 3, K), parameter(K, K))


def test_input_changed_in_place():
    def function(x, w):
        x.add_(F.relu(F.linear(x, w)))
        return x * 2

    x, w = inputs_and_weights(1)
    cut, kept = Cut(function, x.clone(), w), x.clone()
    compiled, eager = cut(x, w), function(kept, w)
    torch.testing.assert_close(compiled, eager)
    torch.testing.assert_close(x, kept)
    assert cut.kept == ["copy_"]


# Batch norm


def batch_norm(training, **options):
    norm = torch.nn.BatchNorm1d(K, **options).requires_grad_(False)
    return norm.train(training)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("tracked", [False, True])
def test_batch_norm(training, affine, tracked):
    norm = batch_norm(training, affine=affine, track_running_stats=tracked, momentum=0.3)
    eager = copy.deepcopy(norm)
    x, w = inputs_and_weights(1)
    cut = Cut(lambda x, w: F.relu(norm(F.linear(x, w) * 2)), x, w)
    expected = eager(F.linear(x, w) * 2).relu()
    assert set(cut.kept) <= {"add", "copy_"} and cut.missed == []  # num_batches_tracked
    uses_batch = training or not tracked
    assert ("batch_norm_training" if uses_batch else "batch_norm_inference") in cut.ops
    in_place = [output.in_place for output in cut.partitions[0].outputs if output.in_place is not None]
    assert len(in_place) == (2 if training and tracked else 0)
    for name, buffer in norm.named_buffers():
        torch.testing.assert_close(buffer, dict(eager.named_buffers())[name], msg=name)
    if not training:
        torch.testing.assert_close(cut(x, w), expected)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    ("dtype", "statistics"),
    [
        (torch.bfloat16, torch.bfloat16),
        (torch.float16, torch.float16),
        (torch.bfloat16, torch.float32),
        (torch.float64, torch.float64),
    ],
)
def test_statistics_of_any_dtype_are_written_in_place(dtype, statistics, dynamic):
    torch.manual_seed(0)
    norm = batch_norm(True, momentum=0.3).to(statistics)
    eager = copy.deepcopy(norm)
    x, w = torch.randn(M, K, dtype=dtype), parameter(K, K, dtype=dtype)
    cut = Cut(lambda x, w: F.relu(norm(F.linear(x, w))), x, w, dynamic=dynamic)
    F.relu(eager(F.linear(x, w)))
    assert sorted(cut.kept) == ["add", "copy_"]  # num_batches_tracked
    written = [output for output in cut.partitions[0].outputs if output.in_place is not None]
    assert [getattr(torch, output.dtype) for output in written] == [statistics] * 2
    addresses = [buffer.data_ptr() for buffer in norm.buffers()]
    for _ in range(2):
        torch.testing.assert_close(dict(norm.named_buffers()), dict(eager.named_buffers()), rtol=1e-2, atol=1e-2)
        torch.testing.assert_close(cut(x, w), F.relu(eager(F.linear(x, w))), rtol=4e-2, atol=4e-2)
    assert [buffer.data_ptr() for buffer in norm.buffers()] == addresses


def test_statistics_that_are_read_again():
    """A new statistic of 16 bits that something else reads is a result, and copied."""
    norm = batch_norm(True).to(torch.bfloat16)
    eager = copy.deepcopy(norm)
    x, w = torch.randn(M, K, dtype=torch.bfloat16), parameter(K, K, dtype=torch.bfloat16)

    def function(module):
        return lambda x, w: (F.relu(module(F.linear(x, w))), module.running_mean * 2, module.running_var + 1)

    cut = Cut(function(norm), x, w)
    function(eager)(x, w)
    for result, expected in zip(cut(x, w), function(eager)(x, w), strict=True):
        assert result.dtype == expected.dtype
        torch.testing.assert_close(result, expected, rtol=4e-2, atol=4e-2)
    torch.testing.assert_close(dict(norm.named_buffers()), dict(eager.named_buffers()), rtol=1e-2, atol=1e-2)


def test_batch_norm_called_twice():
    norm = batch_norm(True)
    eager = copy.deepcopy(norm)
    x, w = inputs_and_weights(1)

    def function(module):
        return lambda x, w: module(module(F.linear(x, w)) * 2)

    cut = Cut(function(norm), x, w)
    torch.testing.assert_close(function(eager)(x, w), function(copy.deepcopy(eager))(x, w))
    assert cut.ops.count("batch_norm_training") == 2
    for name, buffer in norm.named_buffers():
        torch.testing.assert_close(buffer, dict(eager.named_buffers())[name], msg=name)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_batch_norm_of_16_bits_with_float32_parameters(dtype):
    norm = batch_norm(False)

    def function(x, w):
        return norm(F.linear(x, w))

    inputs = torch.randn(M, K, dtype=dtype), parameter(K, K, dtype=dtype)
    assert "batch_norm_inference" in check(function, *inputs).ops


def test_batch_norm_over_channels_stays():
    norm = batch_norm(False)
    cut = check(lambda x, w: norm(F.linear(x, w).view(3, K, 2)), *inputs_and_weights(1))
    assert cut.partitions == []
    assert any("not the last of two" in m.reason for m in cut.missed)


AFFINE = ("input", "weight", "bias", "running_mean", "running_var")
# Every op that a batch norm may arrive as on a device, and the arguments behind those of AFFINE.
NORMS = {
    "_native_batch_norm_legit_functional.default": (True, 0.1, 1e-5),
    "_native_batch_norm_legit.default": (True, 0.1, 1e-5),
    "_native_batch_norm_legit_no_training.default": (0.1, 1e-5),
    "native_batch_norm.default": (True, 0.1, 1e-5),
    "cudnn_batch_norm.default": (True, 0.1, 1e-5),
    "_batch_norm_with_update.default": (0.1, 1e-5),
    "_batch_norm_with_update_functional.default": (0.1, 1e-5),
    "_batch_norm_no_update.default": (0.1, 1e-5),
    "_batch_norm_impl_index.default": (True, 0.1, 1e-5, True),
    "batch_norm.default": (True, 0.1, 1e-5, True),
}


def graph_of_norm(op, rest, device, use_saved=False):
    """Return `norm(x @ w.t())` as a graph that nobody traced."""
    mode, graph = FakeTensorMode(), fx.Graph()

    def placeholder(name, *shape):
        node = graph.placeholder(name)
        with mode:
            node.meta["val"] = torch.empty(shape, device=device)
        return node

    def call(target, *arguments):
        node = graph.call_function(target, arguments)
        with mode:
            node.meta["val"] = torch.empty(M, K, device=device) if target is not torch.ops.aten.t.default else None
        return node

    x, w = placeholder("x", M, K), placeholder("w", K, K)
    vectors = [placeholder(name, K) for name in AFFINE[1:]]
    transposed = call(torch.ops.aten.t.default, w)
    with mode:
        transposed.meta["val"] = w.meta["val"].t()
    norm = call(op, call(torch.ops.aten.mm.default, x, transposed), *vectors, *rest)
    results = [norm]
    if op is not torch.ops.aten.batch_norm.default:
        norm.meta["val"] = (norm.meta["val"], *(v.meta["val"] for v in vectors))
        results = [call(operator.getitem, norm, 0)]
        if use_saved:
            results.append(call(operator.getitem, norm, 1))
            results[1].meta["val"] = vectors[0].meta["val"]
    graph.output(tuple(results))
    return fx.GraphModule(torch.nn.Module(), graph)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", NORMS)
def test_every_batch_norm_op(name, device):
    packet, _, overload = name.partition(".")
    op = getattr(getattr(torch.ops.aten, packet), overload)
    gm = graph_of_norm(op, NORMS[name], device)
    (part,) = partition(gm, {"w"})
    verify(part.source)
    training = NORMS[name][0] is True or "with_update" in name
    assert ("batch_norm_training" if training else "batch_norm_inference") in part.source
    writes = training and "functional" not in name
    assert len([o for o in part.outputs if o.in_place is not None]) == (2 if writes else 0)
    assert all(not isinstance(n.target, torch._ops.OpOverload) for n in gm.graph.nodes)


@pytest.mark.parametrize("name", [name for name in NORMS if NORMS[name][0] is True and name != "batch_norm.default"])
def test_saved_statistics_that_are_used(name):
    packet, _, overload = name.partition(".")
    op = getattr(getattr(torch.ops.aten, packet), overload)
    gm = graph_of_norm(op, NORMS[name], "cpu", use_saved=True)
    (part,) = partition(gm, {"w"})
    verify(part.source)
    assert "save_statistics" in part.source
    assert [o.shape for o in part.outputs if o.in_place is None] == [(M, K), (K,)]


def test_saved_statistics_that_are_not_the_batchs():
    """In eval mode PyTorch saves nothing of use."""
    gm = graph_of_norm(torch.ops.aten.native_batch_norm.default, (False, 0.1, 1e-5), "cpu", use_saved=True)
    assert partition(gm, {"w"}) == []
    assert any("saves for a backward pass" in m.reason for m in missed_of(gm))
