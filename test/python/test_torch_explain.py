# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon.torch.explain: what the table and the pictures say, with no GPU here, and what a call leaves behind."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

torch = pytest.importorskip("torch")
tenon = pytest.importorskip("tenon")

import tenon.torch as tt  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch_models import MODELS  # noqa: E402

GPU = {"target": "sm_90a"}


class Chain(nn.Module):
    """The first model that Tenon was born for."""

    def __init__(self):
        super().__init__()
        self.gemm = nn.Linear(64, 32)

    def forward(self, x):
        return F.leaky_relu(self.gemm(x) * 2.0, negative_slope=0.1)


class Gated(Chain):
    """A SiLU that is written out."""

    def forward(self, x):
        x = self.gemm(x)
        return x * torch.sigmoid(x)


class Mixed(nn.Module):
    """Two layers with ops between them that Tenon has no word for, a residual and a scale of parameters."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(32, 128), nn.Linear(128, 32)
        self.bn = nn.BatchNorm1d(32)
        self.scale = nn.Parameter(torch.ones(32))

    def forward(self, x):
        h = torch.cumsum(F.silu(self.up(x)), 1)
        return torch.tanh(self.bn(self.down(h) * (self.scale * self.scale)) + x)


def rows(explanation):
    """Return the table's rows by their columns; remarks are indented further."""
    lines = explanation.table.splitlines()
    rule = next(i for i, line in enumerate(lines) if set(line) == {"-"})
    return [re.split(r"\s{2,}", line.strip()) for line in lines[rule + 1 :]]


def texts(svg):
    """Return every text of a picture; the picture is well-formed XML."""
    return [element.text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def boxes(svg):
    """Return the lines of each box, from its tooltip."""
    root = ElementTree.fromstring(svg)
    return [tuple(e.text.split("\n")) for e in root.iter("{http://www.w3.org/2000/svg}title")]


def test_chain_is_one_layer_of_two_kernels():
    explanation = tt.explain(Chain(), torch.randn(16, 64), options=GPU)
    line = f"test_torch_explain.py:{Chain.forward.__code__.co_firstlineno + 1}"
    # Each of two ops would have read and written 16 x 32 floats.
    saved = 2 * 2 * 16 * 32 * 4
    assert explanation.table.splitlines()[0] == (
        "Chain on sm_90a: 3 ops of PyTorch become 2 steps of Tenon's; "
        f"{saved / 1000:.1f} kB less memory traffic a call."
    )
    (layer,) = explanation.reports[0].layers
    assert layer.choice.startswith("library: tiled is not predicted to take at most ")
    assert rows(explanation) == [
        ["1", "cuBLASLt product", "linear", f"{saved / 1000:.1f} kB", line],
        ["epilogue kernel", "mul, leaky_relu", line],
        [layer.choice],
        ["cuBLASLt cannot do the rest of the layer: 'tenon.mul' cannot come at its place"],
    ]
    assert (layer.strategy, layer.bytes_saved) == ("library", saved)


def test_what_cublaslt_can_do_is_one_call():
    explanation = tt.explain(nn.Sequential(nn.Linear(64, 32), nn.ReLU()), torch.randn(16, 64), options=GPU)
    assert rows(explanation)[0][:3] == ["1", "cuBLASLt call", "linear, relu"]


def test_pattern_is_named_by_its_parts():
    explanation = tt.explain(Gated(), torch.randn(16, 64), options=GPU)
    assert [row[:2] for row in rows(explanation)][1] == ["epilogue kernel", "sigmoid, mul"]
    assert not explanation.reports[0].left()


def test_batch_norm_reduces_and_what_is_left_says_why():
    explanation = tt.explain(Mixed(), torch.randn(16, 32), options=GPU)
    table = explanation.table
    names = [row[0] if not row[0].isdigit() else row[1] for row in rows(explanation)]
    assert names.count("cuBLASLt product") == 2
    assert "epilogue: reduce, map  mul, batch_norm, add, tanh" in table
    assert re.search(r"prepare function +mul +once a version of the parameters", table)
    assert re.search(r"PyTorch +cumsum +test_torch_explain.py:\d+\n +Tenon has no word for aten.cumsum\.", table)
    (report,) = explanation.reports
    assert [step.op for step in report.left()] == ["cumsum", "add"]  # the counter of batches is an integer


class Normed(nn.Module):
    """A batch norm behind a product, with something before it and something after."""

    def __init__(self):
        super().__init__()
        self.gemm, self.bn = nn.Linear(64, 256), nn.BatchNorm1d(256)

    def forward(self, x):
        return F.relu(self.bn(self.gemm(x) * 2.0))


class SwiGLU(nn.Module):
    """As Llama's, T5 1.1's and Mixtral's experts are written, but for the names."""

    def __init__(self, act, swapped=False, bias=False):
        super().__init__()
        self.gate, self.up = (nn.Linear(256, 512, bias=bias) for _ in range(2))
        self.down = nn.Linear(512, 256, bias=bias)
        self.act, self.swapped = act, swapped

    def forward(self, x):
        if self.swapped:
            return self.down(self.up(x) * self.act(self.gate(x)))
        return self.down(self.act(self.gate(x)) * self.up(x))


@pytest.mark.parametrize("act", ["silu", "gelu"])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_gated_pair_is_one_kernel(act, swapped, bias):
    options = GPU | {"strategy": "tiled", "pairs": "always"}
    model, x = SwiGLU(getattr(F, act), swapped, bias).bfloat16(), torch.randn(4, 64, 256, dtype=torch.bfloat16)
    report = tt.explain(model, x, options=options).reports[0]
    ops = {step.name: step.op for step in report.steps}
    found = [[(k.name, sorted(ops[n] for n in k.nodes)) for k in layer.kernels] for layer in report.layers]
    assert found == [[("tiled kernel", sorted(["linear", "linear", act, "mul"]))], [("tiled kernel", ["linear"])]]


class Attention(nn.Module):
    """As Llama's, BERT's (with a bias) and ViT's are written, but for the attention."""

    def __init__(self, bias):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(256, n, bias=bias) for n in (256, 64, 64))

    def forward(self, x):
        q, k, v = (p(x).view(*x.shape[:2], -1, 32).transpose(1, 2) for p in (self.q, self.k, self.v))
        return torch.cos(q), torch.sin(k), v


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
def test_layers_of_one_x_are_one_kernel(bias, target):
    options = {"target": target, "strategy": "tiled", "siblings": "always"}
    model, x = Attention(bias).bfloat16(), torch.randn(2, 4, 256, dtype=torch.bfloat16)
    (report,) = tt.explain(model, x, options=options).reports
    found = [[(kernel.name, len(kernel.nodes)) for kernel in layer.kernels] for layer in report.layers]
    assert found == [[("tiled kernel", 3)]]


@pytest.mark.parametrize(
    ("reduction", "kernels"),
    [
        ("two_phase", [["tiled kernel", "linear, mul"], ["epilogue: map", "batch_norm, relu"]]),
        ("resident", [["tiled kernel", "linear, mul, batch_norm, relu"]]),
        ("input_moments", [["moments of x", "batch_norm"], ["tiled kernel", "linear, mul, batch_norm, relu"]]),
        ("separate", [["cuBLASLt product", "linear"], ["epilogue: reduce, map", "mul, batch_norm, relu"]]),
    ],
)
def test_kernels_of_each_reduction(reduction, kernels):
    options = GPU | {"strategy": "tiled", "reduction": reduction}
    explanation = tt.explain(Normed().bfloat16(), torch.randn(1024, 64, dtype=torch.bfloat16), options=options)
    (layer,) = explanation.reports[0].layers
    ops = {step.name: step.op for step in explanation.reports[0].steps}
    assert [[kernel.name, ", ".join(ops[n] for n in kernel.nodes)] for kernel in layer.kernels] == kernels
    assert layer.strategy == ("library" if reduction == "separate" else "tiled")


def test_cpu_is_the_target_of_tensors_there():
    explanation = tt.explain(Mixed().eval(), torch.randn(16, 32))
    assert explanation.target == "cpu"
    assert ["1", "CPU code", "linear, silu"] in [row[:3] for row in rows(explanation)]
    assert "cuBLASLt" not in explanation.table


def test_nothing_to_fuse():
    explanation = tt.explain(lambda x: torch.sort(x)[0].exp(), torch.randn(4, 4))
    assert explanation.table.splitlines()[0] == "<lambda> on cpu: Nothing to fuse: PyTorch runs all 2 ops."
    assert rows(explanation)[0][:2] == ["PyTorch", "sort"]
    assert "saves" not in texts(explanation.to_svg())


def test_graph_breaks_give_one_report_each():
    module = Chain()

    def broken(x):
        y = module(x)
        torch._dynamo.graph_break()
        return F.relu(F.linear(y, torch.ones(8, 32)) + 1)

    explanation = tt.explain(broken, torch.randn(4, 64), options=GPU)
    assert len(explanation.reports) == 2
    assert "Graph 1 of 2" in explanation.table and "Graph 2 of 2" in explanation.table
    assert [len(report.layers) for report in explanation.reports] == [1, 1]
    badges = {text for text in texts(explanation.to_svg()) if text.isdigit()}
    assert badges == {"1", "2"} and re.search(r"(?m)^2  cuBLASLt", explanation.table)
    assert texts(explanation.to_svg()).count("Graph 2 of 2") == 2  # before and after


def test_picture_has_a_box_an_op_and_a_box_a_kernel():
    explanation = tt.explain(Mixed(), torch.randn(16, 32), options=GPU)
    svg = explanation.to_svg()
    drawn = [box[0] for box in boxes(svg)]
    before, after = drawn[: len(drawn) - drawn[::-1].index("x  float32 [16, 32]") - 1], drawn
    ops = ["linear", "silu", "cumsum", "linear", "mul", "mul", "batch_norm", "add", "tanh"]
    for op in ops:
        assert before.count(op) >= ops.count(op), op
    for kernel in ("cuBLASLt product", "epilogue kernel", "epilogue: reduce, map", "prepare function"):
        assert kernel in after and kernel not in before
    meanings = texts(svg)
    for meaning in ("layer 1", "layer 2", "once a version of the parameters", "left to PyTorch"):
        assert meaning in meanings


def test_legend_has_every_layer_by_its_number():
    drawn = []
    for depth in (1, 8, 40):
        model = nn.Sequential(*(m for _ in range(depth) for m in (nn.Linear(16, 16), nn.ReLU())))
        drawn.append([t for t in texts(tt.explain(model, torch.randn(4, 16), options=GPU).to_svg()) if "layer" in t])
    assert drawn[0] == ["layer 1"]
    assert drawn[1] == ["layers 1, 7", "layers 2, 8", "layer 3", "layer 4", "layer 5", "layer 6"]
    assert drawn[2][3] == "layers 4, 10, 16, ..., 40" and len(drawn[2]) == 6


def test_source_is_the_users_not_tenons():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = tt.optimize(nn.Sequential(nn.Linear(64, 32), nn.ReLU()))

        def forward(self, x):
            return self.inner(x)

    line = f"test_torch_explain.py:{Outer.forward.__code__.co_firstlineno + 1}"
    assert rows(tt.explain(Outer(), torch.randn(16, 64), options=GPU))[0][-1] == line


def test_boxes_do_not_overlap_and_lie_in_the_picture():
    chain = Chain()

    def broken(x):
        y = chain(x)
        torch._dynamo.graph_break()
        return F.relu(F.linear(y, torch.ones(8, 32)) + 1)

    for model in (Mixed(), chain, broken):
        x = torch.randn(16, 32 if isinstance(model, Mixed) else 64)
        root = ElementTree.fromstring(tt.explain(model, x, options=GPU).to_svg())
        groups = root.iter("{http://www.w3.org/2000/svg}g")
        rects = [g.find("{http://www.w3.org/2000/svg}rect").attrib for g in groups]
        areas = [[float(r[k]) for k in ("x", "y", "width", "height")] for r in rects]
        for i, (x1, y1, w1, h1) in enumerate(areas):
            assert x1 >= 0 and x1 + w1 <= float(root.attrib["width"])
            assert y1 >= 0 and y1 + h1 <= float(root.attrib["height"])
            for x2, y2, w2, h2 in areas[:i]:
                assert x1 >= x2 + w2 or x2 >= x1 + w1 or y1 >= y2 + h2 or y2 >= y1 + h1


def test_files_are_written(tmp_path):
    explanation = tt.explain(Chain(), torch.randn(16, 64), options=GPU)
    assert explanation.to_svg(tmp_path / "a.svg") is None and explanation.to_html(tmp_path / "a.html") is None
    assert explanation.to_svg() == (tmp_path / "a.svg").read_text()
    page = explanation.to_html()
    assert page == (tmp_path / "a.html").read_text()
    ElementTree.fromstring(page.partition("\n")[2])  # XHTML, but for the doctype
    HTMLParser().feed(page)
    assert "<svg" in page and "cuBLASLt product" in page and explanation._repr_html_() in page
    assert str(explanation) == repr(explanation) == explanation.table


def test_names_with_special_characters_are_escaped():
    class Odd(Chain):
        pass

    Odd.__name__ = "A<b>&c"
    explanation = tt.explain(Odd(), torch.randn(16, 64), options=GPU)
    assert "A<b>&c on sm_90a" in texts(explanation.to_svg())
    assert "A&lt;b&gt;&amp;c" in explanation.to_html()


def test_nothing_of_the_model_changes():
    module, x = Mixed().train(), torch.randn(16, 32)
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    tt.explain(nn.Sequential(module, nn.Dropout(0.5)), x, options=GPU)
    assert torch.equal(torch.rand(3), expected)
    for name, tensor in module.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    assert module.training and all(p.grad is None for p in module.parameters())


def test_explains_as_often_as_asked():
    module = Chain()
    for batch in range(2, 14):
        assert len(tt.explain(module, torch.randn(batch, 64)).reports[0].layers) == 1


def test_options_are_checked():
    with pytest.raises(ValueError, match="option 'tile' is not known"):
        tt.explain(Chain(), torch.randn(16, 64), options={"tile": 3})
    with pytest.raises(ValueError, match="sm_12"):
        tt.explain(Chain(), torch.randn(16, 64), options={"target": "sm_12"})
    with pytest.raises(TypeError, match=r'options is a mapping such as {"precision": "tf32"}, not str'):
        tt.explain(Chain(), torch.randn(16, 64), options="tf32")


def test_inputs_are_given_one_by_one():
    with pytest.raises(TypeError, match=r"cannot be called with one tuple; pass its inputs to explain one by one"):
        tt.explain(Chain(), (torch.randn(16, 64),))
    module = Chain()
    assert len(tt.explain(lambda pair: module(pair[0]) + pair[1], (torch.randn(16, 64), 1.0)).reports[0].layers) == 1


def test_number_that_is_a_tensor():
    module = nn.Linear(64, 32)
    explanation = tt.explain(lambda x: torch.relu(module(x) * torch.tensor(2.0)), torch.randn(16, 64), options=GPU)
    assert [row[:2] for row in rows(explanation)][1] == ["epilogue kernel", "mul, relu"]
    assert not explanation.reports[0].left()


def test_compiled_module_is_explained_as_its_original():
    module, x = Chain(), torch.randn(16, 64)
    compiled = torch.compile(module, backend="tenon")
    assert tt.explain(compiled, x, options=GPU).table == tt.explain(module, x, options=GPU).table


def test_verbose_prints_the_table(capfd):
    torch._dynamo.reset()
    module = torch.compile(Chain(), backend="tenon", options={"verbose": True})
    with torch.no_grad():
        module(torch.randn(16, 64))
    printed = capfd.readouterr().err
    assert re.search(r"runs as +does the work of +saves", printed)
    assert printed.startswith("tenon: a graph with 1 fused call: linear_mul_leaky_relu\n")
    assert "CPU code" in printed
    assert tt.explain(Chain(), torch.randn(16, 64)).table.startswith("Chain on cpu: 3 ops")  # still the function


@pytest.mark.parametrize("front_end", ["compile", "optimize"])
def test_verbose_has_the_words_of_explain(capfd, front_end):
    class Twice(Mixed):
        def forward(self, x):
            return F.gelu(self.down(F.gelu(self.up(x))) * 2.0) + x

    module, x, options = Twice(), torch.randn(16, 32), {"verbose": True}
    if front_end == "compile":
        torch._dynamo.reset()
        call = torch.compile(module, backend="tenon", options=options)
    else:
        call = tt.optimize(module, options=options)
    with torch.no_grad():
        call(x)
    printed = [line.rstrip() for line in capfd.readouterr().err.splitlines()]
    explained = tt.explain(module, x).table.splitlines()
    does = [re.search(r"linear.*", line)[0] for line in explained[4:]]
    if front_end == "optimize":  # which has no lines of the user's code
        does = [re.sub(r" +test_torch_explain.py:\d+", "", line) for line in does]
    assert does and [re.search(r"linear.*", line)[0] for line in printed[4:]] == does


@pytest.mark.parametrize("name", sorted(MODELS)[::6])
def test_zoo_model_is_explained(name):
    torch._dynamo.reset()
    model = MODELS[name]
    explanation = tt.explain(model.build(width=32), *model.inputs(batch=6, width=32), options=GPU)
    layers = [layer for report in explanation.reports for layer in report.layers]
    products = sum(kernel.name.startswith(("cuBLASLt", "tiled")) for layer in layers for kernel in layer.kernels)
    assert products == model.fused
    ElementTree.fromstring(explanation.to_svg())


def test_a_model_that_computes_nothing():
    with pytest.raises(ValueError, match="nothing to explain"):
        tt.explain(lambda x: x, torch.ones(2))
