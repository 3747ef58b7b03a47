# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms ahead of linear layers: which join the layers, that errors are no larger, and what kernels come of them."""

import operator

import pytest

torch = pytest.importorskip("torch")
import tenon.torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from tenon.torch.fusion.partition import partition  # noqa: E402
from tenon.torch.options import Options  # noqa: E402
from torch import fx, nn  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch_support import Cut, parameter  # noqa: E402

K, N = 512, 64


def llama(x, g):
    wide = x.float()
    return g * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def gemma(x, g):
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6) * (1.0 + g.float())).type_as(x)


NORMS = {
    "llama": llama,
    "gemma": gemma,
    "rms_norm": lambda x, g: F.rms_norm(x, (K,), g, 1e-6),
    "without_weight": lambda x, g: F.rms_norm(x, (K,)),
}


def operands(dtype=torch.bfloat16, rows=(3, 7)):
    torch.manual_seed(0)
    weights = (parameter(N, K, dtype=dtype), parameter(K, N, dtype=dtype), parameter(N, dtype=dtype))
    return 5 * torch.randn(*rows, K, dtype=dtype), parameter(K, dtype=dtype), *weights


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_norm_joins_all_layers_that_read_it(name, dynamic):
    def function(x, g, w, v, b):
        normed = NORMS[name](x, g)
        return F.silu(F.linear(normed, w, b)), normed @ v

    inputs = operands()
    cut = Cut(function, *inputs, dynamic=dynamic, norms_ahead="always")
    assert len(cut.partitions) == 2 and all("reduce_row" not in part.source for part in cut.partitions)
    assert {"rsqrt", "mean"} <= set(cut.kept) and not {"mm", "addmm"} & set(cut.kept)
    # Of x times factors nothing is left but what gives the factors.
    assert len([kind for kind in cut.kept if kind == "mul"]) == 0
    with torch.no_grad():
        exact, eager = function(*(t.double() for t in inputs)), function(*inputs)
    for found, rounded, y in zip(cut(*inputs), eager, exact, strict=True):
        assert found.dtype == torch.bfloat16
        assert (found - y).norm() <= 1.1 * (rounded - y).norm()


@pytest.mark.parametrize("affine", ["weight and bias", "weight", "none"])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("offset", [0.0, 2.0, 30.0])
def test_layer_norm_joins_the_layers_that_read_it(affine, dynamic, offset):
    x, g, w, v, b = operands()
    x, shift = x + 5 * offset, parameter(K, dtype=torch.bfloat16)
    given = {"weight and bias": (g, shift), "weight": (g,), "none": ()}[affine]

    def function(x, w, v, b, *of_norm):
        normed = F.layer_norm(x, (K,), *of_norm)
        return F.silu(F.linear(normed, w, b)), normed @ v

    inputs = (x, w, v, b, *given)
    cut = Cut(function, *inputs, dynamic=dynamic, norms_ahead="always")
    assert len(cut.partitions) == 2 and all("reduce_row mean" not in part.source for part in cut.partitions)
    assert not {"mm", "addmm"} & set(cut.kept)
    with torch.no_grad():
        exact, eager = function(*(t.double() for t in inputs)), function(*inputs)
    for found, rounded, y in zip(cut(*inputs), eager, exact, strict=True):
        assert (found - y).norm() <= 1.1 * (rounded - y).norm()


def test_a_norm_between_layers():
    x, g, w, *_ = operands(rows=(21,))
    first = parameter(K, K, dtype=torch.bfloat16)

    def function(x, first, g, w):
        y = x + F.linear(x, first)
        return y, F.relu(F.linear(F.layer_norm(y, (K,), g), w))

    cut = Cut(function, x, first, g, w, norms_ahead="always")
    assert not {"mm", "native_layer_norm"} & set(cut.kept) and "var_mean" in cut.kept
    with torch.no_grad():
        exact, eager = function(*(t.double() for t in (x, first, g, w))), function(x, first, g, w)
    for found, rounded, y in zip(cut(x, first, g, w), eager, exact, strict=True):
        assert (found - y).norm() <= 1.1 * (rounded - y).norm()


def test_an_rms_norm_that_is_one_op():
    """As PyTorch has it for CUDA."""
    graph, aten = fx.Graph(), torch.ops.aten
    with FakeTensorMode() as mode:
        x, g, w = (torch.empty(shape, dtype=torch.bfloat16) for shape in ((8, K), (K,), (N, K)))
        values = {"x": x, "g": g, "w": w, "norm": (torch.empty_like(x), x.new_empty(8, 1, dtype=torch.float32))}
        values |= {"normed": x, "turned": w.t(), "y": x.new_empty(8, N), "result": x.new_empty(8, N)}
        x, g, w = (graph.placeholder(name) for name in "xgw")
        norm = graph.call_function(aten._fused_rms_norm.default, (x, [K], g, 1e-6))
        normed = graph.call_function(operator.getitem, (norm, 0))
        turned = graph.call_function(aten.permute.default, (w, [1, 0]))
        y = graph.call_function(aten.mm.default, (normed, turned))
        result = graph.call_function(aten.relu.default, (y,))
        graph.output(result)
        for node, value in zip((x, g, w, norm, normed, turned, y, result), values.values(), strict=True):
            node.meta["val"] = value
    module = fx.GraphModule(nn.Module(), graph)
    with mode:
        (part,) = partition(module, {"g", "w"}, norms_ahead="always")
    assert [spec.shape for spec in part.inputs] == [(8, K), (8, 1), (K,), (N, K)]
    assert not graph.find_nodes(op="call_function", target=aten._fused_rms_norm.default)
    assert len(graph.find_nodes(op="call_function", target=aten.rsqrt.default)) == 1


def test_float32_joins_with_its_precision():
    x, g, w, *_ = operands(torch.float32)
    function = lambda x, g, w: F.relu(F.linear(llama(x, g), w))  # noqa: E731
    cut = Cut(function, x, g, w, norms_ahead="always")
    assert "tenon.mul" in cut.source
    with torch.no_grad():
        exact, eager = function(x.double(), g.double(), w.double()), function(x, g, w)
    assert (cut(x, g, w) - exact).norm() <= 1.1 * (eager - exact).norm() + 1e-7 * exact.norm()


@pytest.mark.parametrize("case", ["read by others", "float16", "float32 layer norm", "weight is an input", "w is one"])
def test_norms_that_stay(case):
    dtype = {"float16": torch.float16, "float32 layer norm": torch.float32}.get(case, torch.bfloat16)
    x, g, w, *_ = operands(dtype)
    if case == "weight is an input":
        g = g.detach().clone()
    if case == "w is one":
        w = w.detach().clone()

    def function(x, g, w):
        normed = F.layer_norm(x, (K,), g) if case == "float32 layer norm" else llama(x, g)
        return F.relu(F.linear(normed, w)), *([normed.exp()] if case == "read by others" else [])

    cut = Cut(function, x, g, w, norms_ahead="always")
    assert "tenon.mul" not in cut.source
    said = {
        "read by others": "more than",
        "w is one": "more than",
        "float16": "range",
        "float32 layer norm": "digits",
    }.get(case)
    assert [said in m.reason for m in cut.missed] == [True] if said else not cut.missed


class Block(nn.Module):
    """A block of Llama's without its positions."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ParameterList([torch.ones(256) for _ in range(2)])
        self.q, self.k, self.v, self.o = (nn.Linear(256, n, bias=False) for n in (256, 64, 64, 256))
        self.gate, self.up, self.down = (nn.Linear(*s, bias=False) for s in ((256, 512), (256, 512), (512, 256)))

    def forward(self, x):
        normed = llama(x, self.norms[0])
        q, k, v = (p(normed).view(1, len(x), -1, 64).transpose(1, 2) for p in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(x.shape))
        normed = llama(x, self.norms[1])
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


def test_kernels_of_a_block():
    options = {"target": "sm_90a", "strategy": "tiled", "siblings": "always", "norms_ahead": "always"}
    x = torch.randn(8, 256, dtype=torch.bfloat16)
    (report,) = tenon.torch.explain(Block().bfloat16().eval(), x, options=options).reports
    found = [[(kernel.name, len(kernel.nodes)) for kernel in layer.kernels] for layer in report.layers]
    # q, k and v; o with the residual, whose rows it reduces; gate and up; down with the residual.
    assert found == [[("tiled kernel", ops)] for ops in (3, 7, 4, 2)]
    assert len([node for node in report.prepared if node.startswith("mm")]) == 5


def test_option():
    with pytest.raises(ValueError, match="norms_ahead 'sometimes' is not known"):
        Options(norms_ahead="sometimes")


@pytest.mark.gpu
@pytest.mark.parametrize("rows", [8, 64, 1000])
def test_block_on_a_gpu(rows):
    torch.manual_seed(0)
    model, x = Block().cuda().bfloat16().eval(), 3 * torch.randn(rows, 256, dtype=torch.bfloat16, device="cuda")
    options = {"strategy": "tiled", "siblings": "always", "norms_ahead": "always"}
    with torch.no_grad():
        found, eager = torch.compile(model, backend="tenon", options=options)(x), model(x)
        exact = model.double()(x.double())
    assert (found - exact).norm() <= 1.1 * (eager - exact).norm()


@pytest.mark.gpu
@pytest.mark.parametrize("norm", [nn.RMSNorm, nn.LayerNorm])
@pytest.mark.parametrize(("rows", "offset"), [(8, 0.0), (300, 0.0), (300, 30.0)])
def test_modules_on_a_gpu(compiled, norm, rows, offset):
    torch.manual_seed(0)
    model = nn.Sequential(norm(1024, eps=1e-6), nn.Linear(1024, 512), nn.SiLU()).cuda().bfloat16().requires_grad_(False)
    model[0].weight.normal_()
    x = offset + torch.randn(rows, 1024, dtype=torch.bfloat16, device="cuda")
    fast = torch.compile(model, backend="tenon", options={"norms_ahead": "always"})
    found, eager = fast(x), model(x)
    exact = model.double()(x.double())
    assert (found - exact).norm() <= 1.1 * (eager - exact).norm()
    assert any("tenon.param" in source and "tenon.mul %weight" in source for source in compiled.sources)
