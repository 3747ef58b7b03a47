# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inductor compiles what Tenon leaves over: values, gradients, statistics, caches, options, failures."""

import copy
import os
import subprocess
import sys
import warnings

import pytest
import tenon.torch
import torch
from tenon.torch.fusion import group_function
from torch import nn
from torch._inductor.utils import run_and_get_code
from torch.nn import functional as F

HOSTED = {"target": "cpu", "rest": "inductor"}


class Block(nn.Module):
    """A norm, two layers with a residual, attention's softmax, and a batch norm: fused parts between others."""

    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(16), nn.Linear(16, 32), nn.Linear(32, 16)
        self.last, self.bn = nn.Linear(16, 8), nn.BatchNorm1d(8)

    def forward(self, x):
        x = torch.softmax(x + self.down(F.gelu(self.up(self.norm(x)))), -1)
        return F.hardswish(self.bn(self.last(x))), F.silu(x)


def pair(model, **options):
    """Return a model's twin, and the model compiled."""
    return copy.deepcopy(model), torch.compile(model, backend="tenon", options=HOSTED | options)


def check(actual, expected):
    for a, e in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, e, rtol=2e-4, atol=2e-5)
        assert a.stride() == e.stride()


def test_inference_with_dynamic_batches_and_statistics(compiled):
    model = Block()
    twin, fast = pair(model)
    with torch.no_grad():
        for rows in (6, 9, 13):
            x = torch.randn(rows, 16)
            check(fast(x), twin(x))
    assert compiled.linears >= 3
    check([model.bn.running_mean, model.bn.running_var], [twin.bn.running_mean, twin.bn.running_var])
    assert model.bn.num_batches_tracked == 3


def test_training_step(compiled):
    model = Block()
    twin, fast = pair(model)
    x = torch.randn(12, 16)
    losses = []
    for m, call in ((model, fast), (twin, twin)):
        own = x.clone().requires_grad_()
        a, b = call(own)
        (a.square().sum() + b.sum()).backward()
        losses.append([own.grad, *(p.grad for p in m.parameters())])
    assert compiled.linears >= 3, "the forward graph is fused"
    for a, e in zip(*losses, strict=True):
        assert (a - e).norm() <= 1e-3 * e.norm() + 1e-3
    check([model.bn.running_var], [twin.bn.running_var])


def test_no_warning_of_gradients():
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="tenon")
        torch.compile(model, backend="tenon", options={"target": "cpu", "rest": "eager"})(
            torch.randn(4, 8)
        ).sum().backward()


def test_running_statistics_are_written_where_they_are(compiled):
    model = nn.Sequential(nn.Linear(16, 8), nn.BatchNorm1d(8), nn.ReLU())
    twin, fast = pair(model)
    before = model[1].running_mean.data_ptr()
    x = torch.randn(32, 16)
    with torch.no_grad():
        check([fast(x)], [twin(x)])
    assert model[1].running_mean.data_ptr() == before
    check([model[1].running_mean, model[1].running_var], [twin[1].running_mean, twin[1].running_var])
    assert "batch_norm_training" in compiled.sources[0]


def test_transposed_weights_follow_their_parameter():
    class Conv1D(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(8, 4))

        def forward(self, x):
            return F.relu(x @ self.weight)

    model = Conv1D()
    twin, fast = pair(model)
    x = torch.randn(3, 8)
    with torch.no_grad():
        check([fast(x)], [twin(x)])
        for m in (model, twin):
            m.weight.mul_(2)
        check([fast(x)], [twin(x)])


def test_input_that_is_not_contiguous(compiled):
    layer = nn.Linear(6, 4)
    _, fast = pair(nn.Sequential(layer, nn.ReLU()))
    x = torch.randn(6, 5).t()
    with torch.no_grad():
        torch.testing.assert_close(fast(x), F.relu(layer(x)))
    assert compiled.linears == 1


def test_what_is_left_of_whole_ops_is_decomposed(compiled):
    def f(x):
        return F.mish(x), F.hardtanh(x), F.batch_norm(x, None, None, training=True)

    x = torch.randn(6, 4)
    with torch.no_grad():
        check(torch.compile(f, backend="tenon", options=HOSTED)(x), f(x))
    assert not compiled.sources


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_outer_products_are_elementwise(compiled, dtype):
    def f(x, w, b, many):
        return (torch.relu(x @ w), torch.addmm(b, x, w), many @ many.mT, torch.addmm(b, x, w, beta=2, alpha=3))

    given = [torch.randn(*shape, dtype=dtype) for shape in ((5, 1), (1, 4), (4,), (2, 3, 1))]
    with torch.no_grad():
        found, codes = run_and_get_code(torch.compile(f, backend="tenon", options=HOSTED), *given)
        check(found, f(*given))
    assert not compiled.sources
    assert not any("extern_kernels." in code for code in codes)


SCRIPT = """
import sys, tenon, torch
from tenon import cache
from torch._dynamo.utils import counters
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Softmax(-1))
torch.manual_seed(0)
fast = torch.compile(model, backend="tenon", options={"target": "cpu", "rest": "inductor"})
with torch.no_grad():
    x = torch.randn(4, 8)
    torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)
from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCache
print(cache.statistics().compiled, counters["aot_autograd"]["autograd_cache_miss"])
"""


def test_a_second_process_compiles_nothing(tmp_path):
    environment = os.environ | {"TENON_CACHE_DIR": str(tmp_path / "t"), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "i")}

    def run():
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert run() == ["1", "1"]
    assert run() == ["0", "0"]


@pytest.fixture
def broken(monkeypatch):
    """Have the import of any group fail."""

    def fail(*args):
        raise KeyError("a fault of Tenon's")

    monkeypatch.setattr("tenon.torch.fusion.partition.import_group", fail)
    monkeypatch.setenv("TENON_STRICT", "0")
    return group_function


@pytest.mark.parametrize("rest", ["inductor", "eager"])
def test_a_failure_of_tenons_ends_no_model(broken, rest):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    fast = torch.compile(model, backend="tenon", options={"target": "cpu", "rest": rest})
    x = torch.randn(4, 8)
    with torch.no_grad(), pytest.warns(UserWarning, match=r"left to PyTorch.*KeyError.*report it"):
        torch.testing.assert_close(fast(x), model(x))


def test_a_graph_that_was_half_rewritten_is_put_back(monkeypatch):
    def fail(*args):
        raise KeyError("a fault of Tenon's")

    monkeypatch.setattr("tenon.torch.inductor.graph_pass.insert_op", fail)
    monkeypatch.setenv("TENON_STRICT", "0")
    model = Block()
    monkeypatch.setattr(torch.compiler.config, "force_disable_caches", True)
    twin, fast = pair(model)
    x = torch.randn(12, 16)
    with pytest.warns(UserWarning, match="a graph is left to PyTorch"):
        check(fast(x), twin(x))


def test_strict_raises(broken):
    fast = torch.compile(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), backend="tenon", options=HOSTED | {"strict": True})
    with torch.no_grad(), pytest.raises(Exception, match="a fault of Tenon's"):
        fast(torch.randn(4, 8))


def test_options_of_inductors_pass_through(monkeypatch):
    from tenon.torch.inductor import host

    seen = {}
    compile_fx = host.compile_fx

    def record(*args, config_patches, **kwargs):
        seen.update(config_patches)
        return compile_fx(*args, config_patches=config_patches, **kwargs)

    monkeypatch.setattr(host, "compile_fx", record)
    model = nn.Linear(4, 4)
    with torch.no_grad():
        torch.compile(model, backend="tenon", options=HOSTED | {"max_autotune": False, "epilogue_fusion": True})(
            torch.randn(2, 4)
        )
        assert seen["epilogue_fusion"] is True
        torch._dynamo.reset()
        torch.compile(model, backend="tenon", mode="reduce-overhead")(torch.randn(2, 4))
    with pytest.raises(ValueError, match="epilogue_fusion"):
        tenon.torch.Options.of({"rest": "eager", "epilogue_fusion": True})
    with pytest.raises(ValueError, match="'no_such_option' is not known"):
        tenon.torch.Options.of({"no_such_option": 1})


@pytest.mark.defaults
def test_by_default_the_cpu_is_pytorchs(compiled):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    x = torch.randn(4, 8)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(model, backend="tenon")(x), model(x))
        torch.testing.assert_close(tenon.torch.optimize(model)(x), model(x))
    assert not compiled.sources


def test_optimize_takes_the_same_rest():
    model = Block()
    twin = copy.deepcopy(model)
    fast = tenon.torch.optimize(model, options=HOSTED)
    x = torch.randn(12, 16)
    with torch.no_grad():
        for _ in range(3):
            check(fast(x), twin(x))
    a, b = fast(x)
    (a.sum() + b.square().sum()).backward()
    c, d = twin(x)
    (c.sum() + d.square().sum()).backward()
    for p, q in zip(model.parameters(), twin.parameters(), strict=True):
        assert (p.grad - q.grad).norm() <= 1e-3 * q.grad.norm() + 1e-3


def test_heads_of_one_token(compiled):
    """Strides along an extent of one are PyTorch's, and need not be those of the memory that a call fills."""
    layer = nn.Linear(16, 32)

    def heads(x):
        return F.relu(layer(x)).view(8, 1, 2, 16).transpose(1, 2)

    def attend(x):
        return F.scaled_dot_product_attention(heads(x), heads(x + 1), heads(x - 1), is_causal=True)

    x = torch.randn(8, 1, 16)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(attend, backend="tenon", options=HOSTED)(x), attend(x))
    assert compiled.linears
