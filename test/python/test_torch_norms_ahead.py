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


def parameter_of(tensor):
    return nn.Parameter(tensor, requires_grad=False)


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


@pytest.mark.parametrize("norm", ["llama", "layer_norm"])
@pytest.mark.parametrize(("of_norm", "of_weight", "of_x"), [(1, 1, 1), (1e-3, 1e-2, 1), (1e-5, 1, 100), (100, 30, 1)])
def test_float16_joins_whatever_products_of_weights_are(norm, of_norm, of_weight, of_x):
    x, g, w, *_ = operands(torch.float16)
    g, w, x = of_norm * g, of_weight * w / K**0.5, of_x / 5 * x
    w[3] = 0
    inputs = x, parameter_of(g), parameter_of(w)

    def function(x, g, w):
        return F.silu(F.linear(llama(x, g) if norm == "llama" else F.layer_norm(x, (K,), g), w))

    cut = Cut(function, *inputs, norms_ahead="always")
    assert "reduce_row max" in cut.source and not {"mm", "native_layer_norm"} & set(cut.kept)
    with torch.no_grad():
        exact, eager, found = function(*(t.double() for t in inputs)), function(*inputs), cut(*inputs)
    assert found.dtype == torch.float16 and (found[..., 3] == 0).all()
    assert (found - exact).norm() <= 1.1 * (eager - exact).norm()


def batch_normed(x, mean, variance, g, shift, w, b):
    return F.silu(F.linear(F.batch_norm(x, mean, variance, g, shift, False, 0.1, 1e-5), w, b))


def batch_operands(mean, deviation, dtype, affine=True):
    x = (mean + deviation * torch.randn(40, K)).to(dtype)
    running = (mean + 0.1 * deviation * torch.randn(K)).to(dtype), (deviation**2 * (1 + torch.rand(K))).to(dtype)
    of_norm = [parameter(K, dtype=dtype) for _ in range(2)] if affine else [None] * 2
    return x, *running, *of_norm, parameter(N, K, dtype=dtype), parameter(N, dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("mean", [0.0, 3.0, 300.0])
def test_inference_batch_norm_joins_where_that_is_asked_for(dtype, affine, dynamic, mean):
    torch.manual_seed(0)
    inputs = batch_operands(mean, 1.0, dtype, affine)
    cut = Cut(batch_normed, *inputs, dynamic=dynamic, norms_ahead="always")
    assert "batch_norm" not in cut.source and set(cut.kept) <= {"convert_element_type", "add", "rsqrt"}
    with torch.no_grad():
        exact = batch_normed(*(t if t is None else t.double() for t in inputs))
        eager, found = batch_normed(*inputs), cut(*inputs)
    assert (found - exact).norm() <= 1.1 * (eager - exact).norm()


def test_an_inference_batch_norm_joins_a_layer_whose_weight_lies_as_k_by_n():
    *of_norm, w, _ = batch_operands(0.0, 1.0, torch.bfloat16)
    inputs = *of_norm, parameter_of(w.t().contiguous())

    def function(x, mean, variance, g, shift, v):
        return F.silu(F.batch_norm(x, mean, variance, g, shift) @ v)

    cut = Cut(function, *inputs, norms_ahead="always")
    with torch.no_grad():
        exact, eager = function(*(t.double() for t in inputs)), function(*inputs)
    assert "batch_norm" not in cut.source
    assert (cut(*inputs) - exact).norm() <= 1.1 * (eager - exact).norm()


def test_running_statistics_that_are_written_uncounted_are_read():
    torch.manual_seed(0)
    inputs = batch_operands(3.0, 1.0, torch.bfloat16)
    cut = Cut(batch_normed, *inputs, norms_ahead="always")
    versions = [t._version for t in inputs[1:3]]
    F.batch_norm(5 * torch.randn(64, K).bfloat16() + 9, *inputs[1:3], training=True, momentum=0.5)
    assert versions == [t._version for t in inputs[1:3]]
    with torch.no_grad():
        exact, eager = batch_normed(*(t.double() for t in inputs)), batch_normed(*inputs)
    assert (cut(*inputs) - exact).norm() <= 1.1 * (eager - exact).norm()


@pytest.mark.parametrize("case", ["float32", "behind a layer", "training", "three dimensions"])
def test_batch_norms_that_stay(case):
    dtype = torch.float32 if case == "float32" else torch.bfloat16
    inputs = batch_operands(0.0, 1.0, dtype)
    first = parameter(K, K, dtype=dtype)

    def function(x, mean, variance, g, shift, w, b):
        if case == "three dimensions":
            return F.silu(F.linear(F.batch_norm(x.view(10, 4, K).transpose(1, 2), mean, variance).transpose(1, 2), w))
        x = F.relu(F.linear(x, first)) if case == "behind a layer" else x
        return F.silu(F.linear(F.batch_norm(x, mean, variance, g, shift, case == "training"), w, b))

    cut = Cut(function, *inputs, norms_ahead="always")
    assert not any("tenon.mul %weight" in part.source for part in cut.partitions)
    said = {"float32": "digits", "behind a layer": "stays behind"}.get(case)
    assert not said or any(said in missed.reason for missed in cut.missed)


@pytest.mark.parametrize(
    "case", ["read by others", "float32 layer norm", "weight is an input", "w is one", "of 8 bits"]
)
def test_norms_that_stay(case):
    dtype = {"float32 layer norm": torch.float32}.get(case, torch.bfloat16)
    x, g, w, *_ = operands(dtype)
    if case == "weight is an input":
        g = g.detach().clone()
    if case == "w is one":
        w = w.detach().clone()

    def function(x, g, w):
        if case == "of 8 bits":  # x is rounded, not what the norm gives
            scale = torch.rsqrt(x.float().square().mean(-1, keepdim=True))
            normed = (x.to(torch.float8_e4m3fn).float() * scale).to(x.dtype)
        else:
            normed = F.layer_norm(x, (K,), g) if case == "float32 layer norm" else llama(x, g)
        return F.relu(F.linear(normed, w)), *([normed.exp()] if case == "read by others" else [])

    cut = Cut(function, x, g, w, norms_ahead="always")
    assert "tenon.mul" not in cut.source
    said = {
        "read by others": "more than",
        "w is one": "more than",
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
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("norm", [nn.RMSNorm, nn.LayerNorm, nn.BatchNorm1d])
@pytest.mark.parametrize(("rows", "offset"), [(8, 0.0), (300, 0.0), (300, 30.0)])
def test_modules_on_a_gpu(compiled, norm, rows, offset, dtype):
    torch.manual_seed(0)
    model = nn.Sequential(norm(1024, eps=1e-6), nn.Linear(1024, 512), nn.SiLU()).cuda().to(dtype).requires_grad_(False)
    model.eval()[0].weight.normal_()
    if norm is nn.BatchNorm1d:
        model[0].running_mean.normal_(offset)
    x = offset + torch.randn(rows, 1024, dtype=dtype, device="cuda")
    fast = torch.compile(model, backend="tenon", options={"norms_ahead": "always"})
    found, eager = fast(x), model(x)
    exact = model.double()(x.double())
    assert (found - exact).norm() <= 1.1 * (eager - exact).norm()
    assert any("tenon.param" in source and "tenon.mul" in source for source in compiled.sources)
