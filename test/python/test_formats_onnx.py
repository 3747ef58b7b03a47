# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon-import of ONNX files: models of several exporters, and each op, against onnxruntime; what is refused."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
tenon = pytest.importorskip("tenon")

from imported_models import compare, import_file  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from tenon.formats.cli import main  # noqa: E402

FLOAT = TensorProto.FLOAT
RANDOM = np.random.default_rng(0)


def normal(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def model_of(nodes, inputs, constants=(), outputs=("y",), opset=20, domains=()):
    """Return a model; inputs have a shape each, constants an array."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in dict(constants).items()],
    )
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(name, 1) for name in domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def compare_model(model, folder, **options):
    path = folder / "model.onnx"
    onnx.save(model, path)
    compare(path, folder, **options)


# Files of exporters


def torch_mlp():
    torch = pytest.importorskip("torch")
    from torch import nn

    class Mlp(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.batch_norm = nn.Linear(16, 32), nn.BatchNorm1d(32)
            self.second, self.layer_norm = nn.Linear(32, 24), nn.LayerNorm(24)
            self.third = nn.Linear(24, 8)

        def forward(self, x):
            x = torch.relu(self.batch_norm(self.first(x)))
            x = self.layer_norm(nn.functional.gelu(self.second(x)))
            x = nn.functional.leaky_relu(self.third(x), 0.1)
            x = nn.functional.silu(x) + nn.functional.softplus(x) * nn.functional.hardswish(x) + x.clamp(-1, 6)
            return torch.softmax(nn.functional.elu(x) + nn.functional.gelu(x, approximate="tanh"), -1)

    torch.manual_seed(0)
    return Mlp().eval(), torch.randn(4, 16)


@pytest.mark.parametrize("dynamo", [True, False])
def test_torch_mlp(dynamo, tmp_path):
    if dynamo:
        pytest.importorskip("onnxscript")
    import torch

    module, x = torch_mlp()
    path = tmp_path / "mlp.onnx"
    free = {"dynamic_shapes": ({0: torch.export.Dim("m")},)} if dynamo else {"dynamic_axes": {"x": {0: "m"}}}
    torch.onnx.export(module, (x,), str(path), dynamo=dynamo, input_names=["x"], **free)
    compare(path, tmp_path)


def test_sklearn_mlps(tmp_path):
    neural_network = pytest.importorskip("sklearn.neural_network")
    to_onnx = pytest.importorskip("skl2onnx").to_onnx
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = normal(100, 10)
    regressor = neural_network.MLPRegressor(hidden_layer_sizes=(20, 15), max_iter=20).fit(x, x[:, 0])
    scaled = make_pipeline(StandardScaler().fit(x), regressor)
    path = tmp_path / "regressor.onnx"
    path.write_bytes(to_onnx(scaled, x[:1]).SerializeToString())
    compare(path, tmp_path)
    path = tmp_path / "classifier.onnx"
    labels = (x[:, 1] > 0) + 2 * (x[:, 2] > 0)
    classifier = neural_network.MLPClassifier((20,), activation="tanh", max_iter=20).fit(x, labels)
    path.write_bytes(to_onnx(classifier, x[:1], options={"zipmap": False}).SerializeToString())
    compare(path, tmp_path, "--output", "probabilities", outputs=["probabilities"])


# Ops, each alone

CASES = {
    "relu": ("Relu", {}),
    "sigmoid": ("Sigmoid", {}),
    "tanh": ("Tanh", {}),
    "exp": ("Exp", {}),
    "mish": ("Mish", {}),
    "softplus": ("Softplus", {}),
    "leaky_relu": ("LeakyRelu", {"alpha": 0.2}),
    "elu": ("Elu", {"alpha": 0.5}),
    "selu": ("Selu", {}),
    "selu_of_others": ("Selu", {"alpha": 1.5, "gamma": 0.5}),
    "celu": ("Celu", {"alpha": 2.0}),
    "gelu": ("Gelu", {}),
    "gelu_tanh": ("Gelu", {"approximate": "tanh"}),
    "hard_sigmoid": ("HardSigmoid", {}),
    "hard_swish": ("HardSwish", {}),
    "neg": ("Neg", {}),
    "abs": ("Abs", {}),
    "reciprocal": ("Reciprocal", {}),
    "erf": ("Erf", {}),
    "softmax": ("Softmax", {}),
    "log_softmax": ("LogSoftmax", {"axis": 1}),
    "identity": ("Identity", {}),
}


@pytest.mark.parametrize("case", CASES)
def test_op(case, tmp_path):
    op, attributes = CASES[case]
    compare_model(model_of([helper.make_node(op, ["x"], ["y"], **attributes)], {"x": ["m", 8]}), tmp_path)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Min", "Max"])
@pytest.mark.parametrize("other", [(), (8,), (1, 8), (5, 1), (5, 8)], ids=str)
def test_binary(op, other, tmp_path):
    values = normal(*other) + np.float32(3)
    for operands in (["x", "c"], ["c", "x"]):
        compare_model(model_of([helper.make_node(op, operands, ["y"])], {"x": [5, 8]}, {"c": values}), tmp_path)


@pytest.mark.parametrize("op", ["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"])
def test_reduction(op, tmp_path):
    node = helper.make_node(op, ["x", "axes"], ["y"], keepdims=1)
    compare_model(model_of([node], {"x": ["m", 8]}, {"axes": np.array([-1])}), tmp_path)


@pytest.mark.parametrize("exponent", [2.0, 3.0])
def test_power(exponent, tmp_path):
    node = helper.make_node("Pow", ["x", "e"], ["y"])
    compare_model(model_of([node], {"x": ["m", 8]}, {"e": np.float32(exponent)}), tmp_path)


@pytest.mark.parametrize("opset", [10, 11])
def test_clip(opset, tmp_path):
    bounds = {"low": np.float32(-0.5), "high": np.float32(1)} if opset == 11 else {}
    attributes = {} if opset == 11 else {"min": -0.5, "max": 1.0}
    node = helper.make_node("Clip", ["x", *bounds], ["y"], **attributes)
    compare_model(model_of([node], {"x": ["m", 8]}, bounds, opset=opset), tmp_path)


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("bias", [None, (8,), (1, 8), (5, 1), ()], ids=str)
def test_gemm(trans_a, trans_b, bias, tmp_path):
    attributes = {"transA": trans_a, "transB": trans_b}
    constants = {"w": normal(8, 16) if trans_b else normal(16, 8)}
    if bias is not None:
        constants["c"] = normal(*bias)
        attributes |= {"alpha": 0.5, "beta": 2.0} if bias == (8,) else {}
    node = helper.make_node("Gemm", ["x", *constants], ["y"], **attributes)
    compare_model(model_of([node], {"x": [16, 5] if trans_a else [5, 16]}, constants), tmp_path)


def test_product_of_more_dimensions(tmp_path):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Add", ["h", "b"], ["y"])]
    compare_model(model_of(nodes, {"x": ["n", 3, 16]}, {"w": normal(16, 8), "b": normal(8)}), tmp_path)


@pytest.mark.parametrize("axis", [-1, 1])
def test_layer_norm(axis, tmp_path):
    node = helper.make_node("LayerNormalization", ["x", "w", "b"], ["y"], axis=axis, epsilon=1e-3)
    compare_model(model_of([node], {"x": ["m", 8]}, {"w": normal(8), "b": normal(8)}), tmp_path)


def test_spelled_out_functions(tmp_path):
    """Older files have a layer norm and a gelu as their parts."""
    constants = {
        "axes": np.array([-1]),
        "eps": np.float32(1e-5),
        "two": np.float32(2),
        "root": np.float32(2**0.5),
        "one": np.float32(1),
        "half": np.float32(0.5),
    }
    nodes = [
        helper.make_node(op, inputs.split(), [output])
        for op, inputs, output in [
            ("ReduceMean", "x axes", "mean"),
            ("Sub", "x mean", "d"),
            ("Pow", "d two", "square"),
            ("ReduceMean", "square axes", "variance"),
            ("Add", "variance eps", "shifted"),
            ("Sqrt", "shifted", "deviation"),
            ("Div", "d deviation", "norm"),
            ("Div", "norm root", "scaled"),
            ("Erf", "scaled", "erf"),
            ("Add", "erf one", "sum"),
            ("Mul", "norm sum", "product"),
            ("Mul", "product half", "y"),
        ]
    ]
    compare_model(model_of(nodes, {"x": ["m", 8]}, constants), tmp_path)
    text = (tmp_path / "imported.mlir").read_text()
    assert "tenon.gelu" in text and "tenon.rsqrt" in text and "math." not in text


def test_constants_are_computed(tmp_path):
    """A weight that the graph transposes and scales is a parameter as it then is."""
    nodes = [
        helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0]),
        helper.make_node("Mul", ["t", "s"], ["scaled"]),
        helper.make_node("MatMul", ["x", "scaled"], ["y"]),
    ]
    compare_model(model_of(nodes, {"x": ["m", 16]}, {"w": normal(8, 16), "s": np.float32(3)}), tmp_path)
    assert "%scaled: tensor<8x16xf32>" in (tmp_path / "imported.mlir").read_text()


def test_external_data(tmp_path):
    """Large models have their weights in a file beside them."""
    model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": ["m", 64]}, {"w": normal(64, 32)})
    onnx.save(model, tmp_path / "model.onnx", save_as_external_data=True, location="weights", size_threshold=0)
    assert (tmp_path / "weights").stat().st_size == 64 * 32 * 4
    compare(tmp_path / "model.onnx", tmp_path)


def test_half_precision(tmp_path):
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["h"]), helper.make_node("Softmax", ["h"], ["y"])]
    w, b = normal(16, 8).astype(np.float16), normal(8).astype(np.float16)
    model = model_of(nodes, {"x": ["m", 16]}, {"w": w, "b": b})
    for info in (model.graph.input[0], model.graph.output[0]):
        info.type.tensor_type.elem_type = TensorProto.FLOAT16
    onnx.save(model, tmp_path / "model.onnx")
    x = normal(5, 16).astype(np.float16)
    h = np.exp(x.astype(np.float32) @ w.astype(np.float32) + b)
    expected = h / h.sum(1, keepdims=True)
    np.testing.assert_allclose(import_file(tmp_path / "model.onnx", tmp_path)(x), expected, rtol=4e-3, atol=1e-3)


def test_several_outputs(tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Tanh", ["y"], ["z"])]
    compare_model(model_of(nodes, {"x": ["m", 8]}, outputs=("z", "y")), tmp_path)


# Tensors of more than two dimensions, and whole numbers


def whole(*numbers):
    return np.array(numbers, np.int64)


# By case: the op, its attributes, the shapes of inputs, and constants.
LAYOUTS = {
    "transpose": ("Transpose", {"perm": [0, 2, 1, 3]}, [(2, 3, 4, 8)], []),
    "transpose_all": ("Transpose", {}, [(2, 3, 8)], []),
    "reshape": ("Reshape", {}, [(2, 3, 8)], [whole(0, -1, 2, 4)]),
    "reshape_to_vector": ("Reshape", {}, [(2, 3, 8)], [whole(-1)]),
    "flatten": ("Flatten", {"axis": 2}, [(2, 3, 4, 8)], []),
    "squeeze": ("Squeeze", {}, [(2, 1, 8)], [whole(1)]),
    "unsqueeze": ("Unsqueeze", {}, [(2, 8)], [whole(0, -1)]),
    "expand": ("Expand", {}, [(3, 1)], [whole(2, 1, 8)]),
    "slice": ("Slice", {}, [(2, 9, 8)], [whole(1, -6), whole(9, -1), whole(1, 2), whole(2, 3)]),
    "gather": ("Gather", {"axis": 1}, [(2, 9, 8)], [np.array([[0, -1, 3], [-9, 8, 5]])]),
    "gather_one": ("Gather", {"axis": 1}, [(2, 9, 8)], [np.array(-2)]),
    "gather_nd": ("GatherND", {}, [(2, 9, 8)], [np.array([[[0, 1]], [[-1, 8]]])]),
    "concat": ("Concat", {"axis": 1}, [(2, 3, 8), (2, 1, 8)], []),
    "conv": ("Conv", {"strides": [4, 2]}, [(2, 3, 8, 4)], [normal(5, 3, 4, 2), normal(5)]),
    "conv_of_pixels": ("Conv", {}, [(2, 3, 4)], [normal(5, 3, 1)]),
    "product": ("MatMul", {}, [(2, 3, 9, 16), (2, 3, 16, 7)], []),
    "product_repeated": ("MatMul", {}, [(3, 1, 9, 16), (2, 16, 33)], []),
    "product_of_one": ("MatMul", {}, [(2, 3, 16), (1, 16, 7)], []),
    "add_crosswise": ("Add", {}, [(2, 1, 8), (1, 2, 8)], []),
    "sub_constant": ("Sub", {}, [(2, 3, 8)], [normal(2, 1, 8)]),
    "mask": ("Mul", {}, [(2, 4, 3, 3), (2, 1, 1, 3)], []),
    "mean_of_some": ("ReduceMean", {"keepdims": 0}, [(2, 3, 8)], [whole(1)]),
    "max_of_two": ("ReduceMax", {"keepdims": 1}, [(2, 3, 8)], [whole(0, 2)]),
    "least_of_all": ("ReduceMin", {"keepdims": 0}, [(2, 3, 8)], []),
    "sum_of_rows": ("ReduceSum", {"keepdims": 0}, [(2, 3, 8)], [whole(-1)]),
}


@pytest.mark.parametrize("case", LAYOUTS)
def test_layout(case, tmp_path):
    op, attributes, shapes, constants = LAYOUTS[case]
    inputs, given = (
        {f"x{i}": list(shape) for i, shape in enumerate(shapes)},
        {f"c{i}": c for i, c in enumerate(constants)},
    )
    compare_model(model_of([helper.make_node(op, [*inputs, *given], ["y"], **attributes)], inputs, given), tmp_path)


@pytest.mark.parametrize("extents", [None, [2, 5, 1]])
def test_split(extents, tmp_path):
    names = ["a", "b", "c"]
    constants = {} if extents is None else {"s": np.array(extents)}
    attributes = {"num_outputs": 3} if extents is None else {}
    node = helper.make_node("Split", ["x", *constants], names, axis=1, **attributes)
    compare_model(model_of([node], {"x": [2, 8, 3]}, constants, outputs=names), tmp_path)


def test_comparisons(tmp_path):
    nodes = [
        helper.make_node(op, inputs.split(), [output], **attributes)
        for op, inputs, output, attributes in [
            ("Greater", "x zero", "positive", {}),
            ("LessOrEqual", "x z", "less", {}),
            ("Not", "less", "more", {}),
            ("And", "positive more", "both", {}),
            ("Sqrt", "x", "root", {}),
            ("IsNaN", "root", "nan", {}),
            ("Or", "both nan", "chosen", {}),
            ("Where", "chosen x low", "kept", {}),
            ("Cast", "chosen", "ones", {"to": FLOAT}),
            ("Cast", "x", "cut", {"to": TensorProto.INT64}),
            ("Equal", "cut none", "small", {}),
            ("Mul", "cut cut", "square", {}),
            ("Cast", "square", "wide", {"to": FLOAT}),
            ("Where", "small ones wide", "last", {}),
            ("Add", "kept last", "y", {}),
        ]
    ]
    constants = {"zero": np.float32(0), "low": np.float32(-np.inf), "none": np.array(0)}
    path = tmp_path / "model.onnx"
    onnx.save(model_of(nodes, {"x": [2, 3, 8], "z": [3, 1]}, constants), path)
    x, z = normal(2, 3, 8) * 2, normal(3, 1)
    compare(path, tmp_path, feeds={"x": x, "z": z})


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.bool_])
def test_whole_inputs(dtype, tmp_path):
    """They are passed as float64; numbers beyond a table's ends read its ends, as onnxruntime refuses to."""
    nodes = [
        helper.make_node("Cast", ["i"], ["index"], to=TensorProto.INT64),
        helper.make_node("Gather", ["t", "index"], ["y"]),
    ]
    model = model_of(nodes, {"i": [2, 5]}, {"t": normal(7, 4)})
    model.graph.input[0].type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    onnx.save(model, tmp_path / "model.onnx")
    index = (RANDOM.integers(-7, 7, (2, 5)) if dtype is not np.bool_ else RANDOM.integers(0, 2, (2, 5))).astype(dtype)
    compare(tmp_path / "model.onnx", tmp_path, feeds={"i": index})
    table = numpy_helper.to_array(model.graph.initializer[0])
    beyond = np.array([[99, -99, 1, 1, 1]] * 2, np.float64)
    if dtype is not np.bool_:
        result = import_file(tmp_path / "model.onnx", tmp_path)(beyond)
        np.testing.assert_array_equal(result, np.tile(table[[6, 0, 1, 1, 1]], (2, 1)))


@pytest.mark.parametrize("reset", [0, 1])
def test_gru_that_resets(reset, tmp_path, capsys):
    node = helper.make_node(
        "GRU", ["x", "w", "r"], ["", "y"], hidden_size=4, linear_before_reset=reset, direction="reverse"
    )
    model = model_of([node], {"x": [5, 3, 8]}, {"w": normal(1, 12, 8), "r": normal(1, 12, 4)})
    if reset:
        compare_model(model, tmp_path)
    else:
        assert "it resets the state ahead of the product" in refuse(model, tmp_path, capsys)


# What is refused


def refuse(model, folder, capsys, *options):
    path = folder / "model.onnx"
    onnx.save(model, path)
    assert main([str(path), "-o", str(folder / "refused.mlir"), *options]) == 1
    assert not (folder / "refused.mlir").exists()
    return capsys.readouterr().err


def test_all_unknown_ops_are_listed(tmp_path, capsys):
    nodes = [
        helper.make_node("Sin", ["x"], ["s"], name="first"),
        helper.make_node("Relu", ["s"], ["r"]),
        helper.make_node("Det", ["x"], ["d"]),
        helper.make_node("Add", ["r", "d"], ["y"]),
    ]
    error = refuse(model_of(nodes, {"x": [8, 8]}), tmp_path, capsys)
    assert "but 2 of its ops are not" in error
    assert "Sin first: Tenon has no word for Sin" in error and "Det d: Tenon has no word for Det" in error


def test_input_of_another_type(tmp_path, capsys):
    model = model_of([helper.make_node("Identity", ["x"], ["y"])], {"x": [4, 8]})
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.UINT8
    assert "cannot import input x, uint8[4, 8]" in refuse(model, tmp_path, capsys)


def test_order_of_dynamic_extents(tmp_path, capsys):
    model = model_of([helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0, 2])], {"x": ["n", 3, 8]})
    assert "it needs static extents; give those of n" in refuse(model, tmp_path, capsys)
    assert "no input has a dynamic extent m; there are: n" in refuse(model, tmp_path, capsys, "--extent=m=4")
    compare(tmp_path / "model.onnx", tmp_path, "--extent=n=5")


def test_parts_that_are_refused(tmp_path, capsys):
    backwards = {"b": np.array([-1]), "e": np.array([-9]), "a": np.array([1]), "s": np.array([-1])}
    model = model_of([helper.make_node("Slice", ["x", *backwards], ["y"])], {"x": [4, 8]}, backwards)
    assert "it steps backwards" in refuse(model, tmp_path, capsys)
    conv = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    model = model_of([conv], {"x": [1, 3, 8, 8]}, {"w": normal(4, 3, 3, 3)})
    assert "convolutions of patches that do not overlap, without padding" in refuse(model, tmp_path, capsys)


def test_nodes_out_of_order(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("TENON_STRICT", raising=False)
    nodes = [helper.make_node("Relu", ["z"], ["y"]), helper.make_node("Exp", ["x"], ["z"])]
    assert "as .onnx (KeyError: 'z')" in refuse(model_of(nodes, {"x": [4, 8]}), tmp_path, capsys)


def test_output_that_is_not_there(tmp_path, capsys):
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": [4, 8]})
    assert "the model has no output z; it has y" in refuse(model, tmp_path, capsys, "--output", "z")


def test_file_that_is_none(tmp_path, capsys):
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    assert main([str(tmp_path / "model.onnx")]) == 1
    assert "as ONNX" in capsys.readouterr().err
    assert main([str(tmp_path / "missing.onnx")]) == 1
    assert "No such file" in capsys.readouterr().err
