# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors that are part of a larger one, or put together of several, keep their places: before an op, after one, alone.

What is sliced may be an input, a parameter, which is prepared, or what another op gives.
"""

import numpy as np
import pytest
from tenon_graphs.devices import to_device, to_host
from tenon_graphs.execute import TENON_COMPILE, bind_entry, open_model, tool
from tenon_graphs.modules import compile_for

X, W, B, Y = "tensor<4x32xf32>", "tensor<20x40xf32>", "tensor<40xf32>", "tensor<4x16xf32>"


def linear(x, w):
    return x @ w.T


# name: (arguments, result type, body, what numpy makes of the arguments)
FUNCTIONS = {
    # Ahead of a product.
    "weight": (
        f"%x: {X}, %w: {W} {{tenon.param}}",
        Y,
        f"""%s = tensor.extract_slice %w[1, 3] [16, 32] [1, 1] : {W} to tensor<16x32xf32>
  %r = tenon.linear %x, %s : ({X}, tensor<16x32xf32>) -> {Y}""",
        lambda x, w: linear(x, w[1:17, 3:35]),
    ),
    "weight_rows": (
        f"%x: {X}, %w: tensor<20x32xf32> {{tenon.param}}",
        Y,
        f"""%s = tensor.extract_slice %w[3, 0] [16, 32] [1, 1] : tensor<20x32xf32> to tensor<16x32xf32>
  %r = tenon.linear %x, %s : ({X}, tensor<16x32xf32>) -> {Y}""",
        lambda x, w: linear(x, w[3:19]),
    ),
    "weight_input": (
        f"%x: {X}, %w: {W}",
        Y,
        f"""%s = tensor.extract_slice %w[1, 3] [16, 32] [1, 1] : {W} to tensor<16x32xf32>
  %r = tenon.linear %x, %s : ({X}, tensor<16x32xf32>) -> {Y}""",
        lambda x, w: linear(x, w[1:17, 3:35]),
    ),
    "activations": (
        "%x: tensor<9x70xf32>, %w: tensor<16x32xf32>",
        Y,
        f"""%s = tensor.extract_slice %x[1, 5] [4, 32] [2, 2] : tensor<9x70xf32> to {X}
  %r = tenon.linear %s, %w : ({X}, tensor<16x32xf32>) -> {Y}""",
        lambda x, w: linear(x[1:8:2, 5:69:2], w),
    ),
    # Ahead of elementwise ops.
    "bias": (
        f"%x: {X}, %b: {B} {{tenon.param}}",
        X,
        f"""%s = tensor.extract_slice %b[5] [32] [1] : {B} to tensor<32xf32>
  %r = tenon.add %x, %s : {X}, tensor<32xf32>""",
        lambda x, b: x + b[5:37],
    ),
    "bias_of_a_product": (
        f"%x: {X}, %w: tensor<16x32xf32>, %b: {B} {{tenon.param}}",
        Y,
        f"""%s = tensor.extract_slice %b[5] [16] [2] : {B} to tensor<16xf32>
  %p = tenon.linear %x, %w, %s : ({X}, tensor<16x32xf32>, tensor<16xf32>) -> {Y}
  %r = tenon.relu %p : {Y}""",
        lambda x, w, b: np.maximum(linear(x, w) + b[5:37:2], 0),
    ),
    "collapsed": (
        f"%x: {X}, %b: tensor<6x9xf32> {{tenon.param}}",
        X,
        f"""%s = tensor.extract_slice %b[1, 1] [4, 8] [1, 1] : tensor<6x9xf32> to tensor<4x8xf32>
  %c = tensor.collapse_shape %s [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  %r = tenon.add %x, %c : {X}, tensor<32xf32>""",
        lambda x, b: x + b[1:5, 1:9].reshape(-1),
    ),
    "expanded": (
        f"%x: {X}, %b: tensor<140xf32> {{tenon.param}}",
        X,
        f"""%s = tensor.extract_slice %b[7] [128] [1] : tensor<140xf32> to tensor<128xf32>
  %c = tensor.expand_shape %s [[0, 1]] output_shape [4, 32] : tensor<128xf32> into {X}
  %r = tenon.add %x, %c : {X}, {X}""",
        lambda x, b: x + b[7:135].reshape(4, 32),
    ),
    # Of what an op gives.
    "after": (
        f"%x: {X}, %w: tensor<16x32xf32>",
        "tensor<2x5xf32>",
        f"""%p = tenon.linear %x, %w : ({X}, tensor<16x32xf32>) -> {Y}
  %t = tenon.relu %p : {Y}
  %r = tensor.extract_slice %t[1, 2] [2, 5] [2, 3] : {Y} to tensor<2x5xf32>""",
        lambda x, w: np.maximum(linear(x, w), 0)[1::2, 2:15:3],
    ),
    "alone": (
        f"%x: {X}",
        "tensor<2x5xf32>",
        f"%r = tensor.extract_slice %x[1, 2] [2, 5] [2, 3] : {X} to tensor<2x5xf32>",
        lambda x: x[1::2, 2:15:3],
    ),
    "inserted": (
        f"%x: {X}, %y: tensor<2x5xf32>",
        X,
        f"%r = tensor.insert_slice %y into %x[1, 2] [2, 5] [2, 3] : tensor<2x5xf32> into {X}",
        lambda x, y: insert(x, y),
    ),
    "concatenated": (
        f"%x: {X}, %y: tensor<4x8xf32>",
        "tensor<4x40xf32>",
        f"""%c = tensor.concat dim(1) %x, %y : ({X}, tensor<4x8xf32>) -> tensor<4x40xf32>
  %r = tenon.relu %c : tensor<4x40xf32>""",
        lambda x, y: np.maximum(np.hstack([x, y]), 0),
    ),
    "concatenated_rows": (
        f"%x: {X}, %y: tensor<3x32xf32>, %w: tensor<16x32xf32>",
        "tensor<7x16xf32>",
        f"""%c = tensor.concat dim(0) %y, %x : (tensor<3x32xf32>, {X}) -> tensor<7x32xf32>
  %r = tenon.linear %c, %w : (tensor<7x32xf32>, tensor<16x32xf32>) -> tensor<7x16xf32>""",
        lambda x, y, w: linear(np.vstack([y, x]), w),
    ),
    # With a dynamic M.
    "columns": (
        "%x: tensor<?x70xf32>, %w: tensor<16x32xf32>",
        "tensor<?x16xf32>",
        """%c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x70xf32>
  %s = tensor.extract_slice %x[0, 5] [%m, 32] [1, 1] : tensor<?x70xf32> to tensor<?x32xf32>
  %r = tenon.linear %s, %w : (tensor<?x32xf32>, tensor<16x32xf32>) -> tensor<?x16xf32>""",
        lambda x, w: linear(x[:, 5:37], w),
    ),
    "f16": (
        "%x: tensor<4x33xf16>, %y: tensor<4x32xf16>",
        "tensor<4x32xf16>",
        """%s = tensor.extract_slice %x[0, 1] [4, 32] [1, 1] : tensor<4x33xf16> to tensor<4x32xf16>
  %r = tenon.mul %s, %y : tensor<4x32xf16>, tensor<4x32xf16>""",
        lambda x, y: x[:, 1:] * y,
    ),
}


def insert(x, y):
    x = x.copy()
    x[1::2, 2:15:3] = y
    return x


def source():
    return "\n".join(
        f"func.func @{name}({arguments}) -> {result} {{\n  {body}\n  return %r : {result}\n}}"
        for name, (arguments, result, body, _) in FUNCTIONS.items()
    )


@pytest.fixture(scope="module")
def model(device, tmp_path_factory):
    folder = tmp_path_factory.mktemp("slices")
    (folder / "slices.mlir").write_text(source())
    compile_for(device, folder / "slices.mlir", folder / "slices.so")
    model = open_model(folder / "slices.so")
    yield model
    model.close()


def draw(arguments):
    """Return arguments by name."""
    draws = np.random.default_rng(0)
    inputs = {}
    for text in arguments.split(", "):
        *shape, element = text[text.index("<") + 1 : text.index(">")].split("x")
        values = draws.uniform(-1, 1, [7 if extent == "?" else int(extent) for extent in shape])
        inputs[text[1 : text.index(":")]] = values.astype({"f16": np.float16, "f32": np.float32}[element])
    return inputs


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(model, device, name):
    arguments, _, _, expected = FUNCTIONS[name]
    inputs = draw(arguments)
    (got,) = to_host(bind_entry(model, name, to_device(inputs, device))())
    np.testing.assert_allclose(got, expected(*inputs.values()), rtol=1e-5, atol=1e-5)


def test_booleans_take_whole_bytes(tmp_path):
    """Parts of what a comparison gives, on the CPU; kernels take none."""
    matrix, bits = "tensor<4x8xf32>", "tensor<4x8xi1>"
    source = tmp_path / "booleans.mlir"
    source.write_text(f"""func.func @f(%x: {matrix}, %y: {matrix}) -> ({matrix}, tensor<4x4xf32>) {{
  %c = arith.cmpf ogt, %x, %y : {matrix}
  %d = tensor.concat dim(0) %c, %c : ({bits}, {bits}) -> tensor<8x8xi1>
  %s = tensor.extract_slice %d[2, 0] [4, 8] [1, 1] : tensor<8x8xi1> to {bits}
  %e = tensor.extract_slice %s[0, 1] [4, 4] [1, 2] : {bits} to tensor<4x4xi1>
  %n = arith.uitofp %e : tensor<4x4xi1> to tensor<4x4xf32>
  %r = arith.select %s, %x, %y : {bits}, {matrix}
  return %r, %n : {matrix}, tensor<4x4xf32>
}}""")
    tool(TENON_COMPILE, source, "-o", tmp_path / "booleans.so")
    inputs = draw(f"%x: {matrix}, %y: {matrix}")
    selected, numbers = bind_entry(open_model(tmp_path / "booleans.so"), "f", inputs)()
    x, y = inputs.values()
    is_greater = np.roll(x > y, -2, 0)
    np.testing.assert_array_equal(selected, np.where(is_greater, x, y))
    np.testing.assert_array_equal(numbers, is_greater[:, 1::2])


def test_gpu_code(tmp_path):
    """Kernels and the library read bare pointers, so every function compiles to GPU code as well."""
    (tmp_path / "slices.mlir").write_text(source())
    for strategy in ("library", "tiled"):
        flags = ("--target=sm_80", f"--strategy={strategy}", "--stop-after=cuda-llvm")
        tool(TENON_COMPILE, tmp_path / "slices.mlir", *flags)
