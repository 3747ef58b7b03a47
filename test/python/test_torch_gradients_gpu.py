# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of activations and bias' gradients in the kernels of backward products, on a GPU, beside eager's."""

import copy

import pytest
import torch
from test_torch_backward import K as K_SCALED
from test_torch_backward import N as N_SCALED
from test_torch_backward import Scaled, error, gradients
from test_torch_gradients import ACTIVATIONS, K, N, Two, check, epilogues
from test_torch_norm_gradients import sums_of_calls
from torch import nn
from torch.nn import functional as F

pytestmark = pytest.mark.gpu
TILED = {"strategy": "tiled", "rest": "inductor", "strict": True}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_derivatives(compiled, name, dtype):
    torch.manual_seed(0)
    function, op = ACTIVATIONS[name]
    dtype = getattr(torch, dtype)
    model = Two(function, dtype).cuda()
    # Rows of which Inductor pads no matrix.
    x, target = (torch.randn(304, width, dtype=dtype, device="cuda") for width in (K, N))
    check(model, x, target, TILED)
    assert {op, "batch_sum"} <= set(epilogues(compiled))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_larger_layers(compiled, dtype):
    torch.manual_seed(0)
    dtype = getattr(torch, dtype)
    layers = [nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 768), nn.ReLU(), nn.Linear(768, 256)]
    model = nn.Sequential(*layers).to("cuda", dtype)
    x, target = torch.randn(2048, 512, device="cuda", dtype=dtype), torch.randn(2048, 256, device="cuda", dtype=dtype)
    check(model, x, target, TILED)
    assert {"gelu_derivative", "gate", "batch_sum"} <= set(epilogues(compiled))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_batch_norm(compiled, dtype):
    torch.manual_seed(0)
    dtype = getattr(torch, dtype)
    layers = [nn.Linear(512, 1024), nn.BatchNorm1d(1024), nn.ReLU(), nn.Linear(1024, 768), nn.BatchNorm1d(768)]
    model = nn.Sequential(*layers, nn.ReLU(), nn.Linear(768, 256)).to("cuda", dtype)
    x, target = torch.randn(2048, 512, device="cuda", dtype=dtype), torch.randn(2048, 256, device="cuda", dtype=dtype)
    check(model, x, target, TILED)
    assert sums_of_calls(compiled).count(2) == 2
    assert model[0].bias.grad.abs().max() == 0.0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_scale_ahead_of_a_norm(compiled, dtype):
    """The product is stored once, from before the scale, for the norm and for the scale's gradient."""
    torch.manual_seed(0)
    dtype = getattr(torch, dtype)
    model = Scaled().to("cuda", dtype)
    x, target = (torch.randn(2048, width, device="cuda", dtype=dtype) for width in (K_SCALED, N_SCALED))
    check(model, x, target, TILED)
    (source,) = [s for s in compiled.sources if "batch_norm_training" in s]
    assert source[source.index("->") : source.index("{")].count(f"tensor<2048x{N_SCALED}x") == 2


def test_replayed_graphs():
    """A training step as CUDA graphs, of weights that change: the same as without, bit for bit."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(K, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, N)).cuda()
    twin = copy.deepcopy(model)
    x, target = (torch.randn(304, width, device="cuda") for width in (K, N))
    for m, more in ((model, {"triton.cudagraphs": True}), (twin, {})):
        call = torch.compile(m, backend="tenon", options=TILED | more)
        optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
        for _ in range(5):
            torch.compiler.cudagraph_mark_step_begin()
            optimizer.zero_grad()
            (call(x) - target).square().mean().backward()
            optimizer.step()
    for p, q in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(p, q)


@pytest.mark.defaults
def test_trials_take_a_layer_of_16_bits(compiled):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4096, 8192), nn.GELU(), nn.Linear(8192, 4096)).to("cuda", torch.bfloat16)
    x, target = (torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    check(model, x, target, {})
    assert "gelu_derivative" in epilogues(compiled)


def test_under_autocast():
    torch.manual_seed(0)
    model = Two(F.gelu).cuda()
    x, target = (torch.randn(300, width, device="cuda") for width in (K, N))

    def under_autocast(call):
        def run(x):
            with torch.autocast("cuda", torch.bfloat16):
                return call(x)

        return run

    exact = [t.double() for t in gradients(model, model, x, target)]
    fast = torch.compile(model, backend="tenon", options=TILED)
    eager = error(gradients(under_autocast(model), model, x, target), exact)
    assert error(gradients(under_autocast(fast), model, x, target), exact) <= 1.1 * eager
