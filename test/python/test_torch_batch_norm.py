# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch norm's side effects are PyTorch's: running statistics, count of batches, switches between modes."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
from tenon.torch import Options  # noqa: E402
from tenon.torch.backend import compile_graph  # noqa: E402
from tenon.torch.capture import capture_inference  # noqa: E402
from torch import nn  # noqa: E402
from torch_models import MODELS  # noqa: E402
from torch_models.check import Comparison  # noqa: E402

TRAINING = [name for name, model in MODELS.items() if name.startswith(("bn_", "two_bn")) and model.training]


@pytest.fixture(autouse=True)
def no_grad():
    with torch.no_grad():
        yield


def compare(name, front_end):
    model = MODELS[name]
    return model, Comparison(model.build(), front_end)


@pytest.mark.parametrize("name", TRAINING)
def test_statistics_of_three_steps(name, front_end):
    """Statistics and count after each of three steps, the batch sizes of which differ."""
    model, comparison = compare(name, front_end)
    for step, batch in enumerate([33, 8, 65]):
        comparison.step(*model.inputs(batch=batch, seed=step))


def test_statistics_are_written_in_place(front_end):
    """The buffers stay the same tensors in the same memory, and tensors that share it see the update."""
    model, comparison = compare("bn_train_plain", front_end)
    bn = comparison.copy.bn
    buffers = dict(bn.named_buffers())
    addresses = {name: buffer.data_ptr() for name, buffer in buffers.items()}
    view = bn.running_mean[1:3]
    before = view.clone()
    comparison.step(*model.inputs())
    for name, buffer in bn.named_buffers():
        assert buffer is buffers[name]
        assert buffer.data_ptr() == addresses[name]
    assert not torch.equal(view, before)
    assert torch.equal(view, bn.running_mean[1:3])


def test_train_eval_train(front_end):
    """Evaluation uses what training made of the statistics, and leaves it as it is."""
    model, comparison = compare("bn_train_plain", front_end)
    for training in (True, False, True, False):
        for module in (*comparison.each(), comparison.compiled):
            module.train(training)
        for seed in (1, 2):
            comparison.step(*model.inputs(seed=seed))
    assert comparison.copy.bn.num_batches_tracked == 8


def test_changes_between_steps(front_end):
    """Statistics that are reset, loaded or written between two steps are those the next step starts from."""
    model, comparison = compare("bn_train_plain", front_end)

    def step():
        comparison.step(*model.inputs())

    step()
    for module in comparison.each():
        module.bn.reset_running_stats()
    step()
    state = {name: tensor.clone() for name, tensor in comparison.eager.state_dict().items()}
    step()
    for module in comparison.each():
        module.load_state_dict(state)
    step()
    for module in comparison.each():
        module.eval()
        module.bn.running_var.fill_(2.0)
        module.bn.running_mean.data = torch.ones_like(module.bn.running_mean)
    step()
    assert comparison.copy.bn.num_batches_tracked == 4


def test_momentum_changes(front_end):
    """A module's attributes are read in each call."""
    model, comparison = compare("bn_train_plain", front_end)
    for momentum in (0.1, 0.7, None):
        for module in comparison.each():
            module.bn.momentum = momentum
        comparison.step(*model.inputs())


@pytest.mark.parametrize(("eps", "momentum"), [(float("inf"), 0.1), (1e-5, float("nan")), (1e-5, 1e300), (-0.0, 0.1)])
def test_numbers_beyond_float32_are_left_to_pytorch(eps, momentum):
    def normalise(x, mean, variance, training):
        return nn.functional.batch_norm(x @ x.T, mean, variance, training=training, eps=eps, momentum=momentum)

    x = torch.randn(6, 4)
    for training in (True, False):
        if training and not eps > 0:
            continue
        given, kept = ([torch.zeros(6), torch.ones(6)] for _ in range(2))
        want = normalise(x, *kept, training)
        got = torch.compile(normalise, backend="tenon")(x, *given, training)
        for a, b in zip((got, *given), (want, *kept), strict=True):
            torch.testing.assert_close(a, b, equal_nan=True)


def test_cumulative_average(front_end):
    """With momentum=None, the statistics after three steps are the mean of three batches' statistics."""
    model, comparison = compare("bn_train_cumulative", front_end)
    bn = comparison.copy.bn
    bn.reset_running_stats()
    means = []
    for seed in range(3):
        (x,) = model.inputs(seed=seed)
        comparison.compiled(x)
        means.append(comparison.copy.linear(x).mean(0))
    torch.testing.assert_close(bn.running_mean, torch.stack(means).mean(0), rtol=1e-5, atol=1e-6)
    assert bn.num_batches_tracked == 3


def test_one_row_is_refused(front_end):
    """A batch of one row has no variance: PyTorch's own error, and nothing is updated."""
    model, comparison = compare("bn_train_plain", front_end)
    before = {name: tensor.clone() for name, tensor in comparison.copy.state_dict().items()}
    with pytest.raises(Exception, match="Expected more than 1 value per channel"):
        comparison.compiled(*model.inputs(batch=1))
    for name in ("bn.running_mean", "bn.running_var"):
        assert torch.equal(comparison.copy.state_dict()[name], before[name])


def test_empty_batch(front_end):
    """An empty batch is empty, counts as a batch, and leaves the statistics as eager does."""
    model, comparison = compare("bn_train_plain", front_end)
    for batch in (0, 5, 0):
        comparison.step(*model.inputs(batch=batch))


def test_large_mean_keeps_digits(front_end):
    """The variance of values far from 0 is as good as eager's."""
    model, comparison = compare("bn_train_plain", front_end)
    for module in comparison.each():
        module.linear.bias.add_(1000.0)
    comparison.step(*model.inputs(batch=257))


def test_statistics_that_are_shared():
    """Two batch norms that share their statistics update them one after the other."""

    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(16, 16), nn.Linear(16, 16)
            self.bn1, self.bn2 = nn.BatchNorm1d(16), nn.BatchNorm1d(16)
            self.bn2.running_mean, self.bn2.running_var = self.bn1.running_mean, self.bn1.running_var

        def forward(self, x):
            return torch.relu(self.bn1(self.first(x))), torch.relu(self.bn2(self.second(x)))

    comparison = Comparison(Shared())
    for seed in (1, 2):
        comparison.step(torch.randn(9, 16, generator=torch.Generator().manual_seed(seed)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("tracks", [True, False])
def test_saved_statistics(dtype, tracks):
    """The batch's mean and inverse deviation, with the dtypes of PyTorch's."""
    torch.manual_seed(0)
    x, w = torch.randn(33, 24, dtype=dtype), torch.randn(16, 24, dtype=dtype)
    weight, bias = torch.rand(16, dtype=dtype), torch.rand(16, dtype=dtype)

    def forward(x, mean, variance):
        y = torch.nn.functional.linear(x, w)
        y, *saved = torch.native_batch_norm(y, weight, bias, mean, variance, True, 0.1, 1e-3)
        return torch.relu(y), *saved

    results = []
    for function in (forward, torch.compile(forward, backend=counting, fullgraph=True)):
        running = (torch.zeros(16, dtype=dtype), torch.ones(16, dtype=dtype)) if tracks else (None, None)
        results.append([*function(x, *running), *(running if tracks else ())])
    tolerance = {torch.float32: 1e-5, torch.bfloat16: 3e-2, torch.float64: 1e-12}[dtype]
    assert counting.sources.pop().count("save_statistics") == 1
    for want, got in zip(*results, strict=True):
        assert got.dtype == want.dtype
        torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)


class _Counting:
    """Tenon's backend, which keeps the sources of what it fused."""

    def __init__(self):
        self.sources = []

    def __call__(self, graph, inputs):
        def compiler(aten, fakes):
            self.sources += [call.function.source for call in compile_graph(aten, set(), Options())]
            return aten.forward

        return capture_inference(graph, inputs, compiler)


counting = _Counting()
