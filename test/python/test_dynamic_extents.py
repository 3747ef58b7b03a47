# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No call gets past the checks whose extents do not fit the code: what the model cannot check is not compiled."""

import re
import subprocess

import numpy as np
import pytest
from tenon_graphs.execute import TENON_COMPILE, open_model, tool

X, DIM = "tensor<?x64xf32>", "%c0 = arith.constant 0 : index\n  %m = tensor.dim %x, %c0 : tensor<?x64xf32>\n  "


def function(arguments, result, body):
    return f"func.func @f({arguments}) -> {result} {{\n  {body}\n  return %r : {result}\n}}\n"


# What a cast says of an extent, a caller has to give. The extents are those that the model has then.
CAST = {
    "to_static": (
        function(
            f"%x: {X}",
            "tensor<8x64xf32>",
            f"%c = tensor.cast %x : {X} to tensor<8x64xf32>\n  %r = tenon.relu %c : tensor<8x64xf32>",
        ),
        [8, 64],
    ),
    "of_a_result": (
        function(
            f"%x: {X}",
            "tensor<8x64xf32>",
            f"%y = tenon.relu %x : {X}\n  %r = tensor.cast %y : {X} to tensor<8x64xf32>",
        ),
        [8, 64],
    ),
    "of_another": (
        function(
            f"%y: {X}, %x: {X}",
            "tensor<8x64xf32>",
            f"%s = tenon.add %x, %y : {X}, {X}\n  %r = tensor.cast %s : {X} to tensor<8x64xf32>",
        ),
        [8, 64],
    ),
    "to_dynamic": (
        function(
            f"%y: tensor<8x64xf32>, %x: {X}",
            X,
            f"%c = tensor.cast %y : tensor<8x64xf32> to {X}\n  %r = tenon.add %x, %c : {X}, {X}",
        ),
        [8, 64],
    ),
}


def compile_text(text, folder):
    (folder / "f.mlir").write_text(text)
    tool(TENON_COMPILE, folder / "f.mlir", "-o", folder / "f.so")
    return open_model(folder / "f.so")


@pytest.mark.parametrize("name", CAST)
def test_cast(name, tmp_path):
    text, shape = CAST[name]
    model = compile_text(text, tmp_path)
    inputs = model.functions["f"]["inputs"]
    assert [i["shape"] for i in inputs] == [shape] * len(inputs)
    x = np.random.default_rng(0).uniform(-1, 1, (8, 64)).astype(np.float32)
    relu = len(inputs) == 1
    (got,) = model.bind("f", [x] * len(inputs))()
    np.testing.assert_array_equal(got, np.maximum(x, 0) if relu else 2 * x)
    with pytest.raises(Exception, match="8"):
        model.bind("f", [np.zeros((100, 64), np.float32)] * len(inputs))()


PART = r"takes a part of dimension 0 of 'tensor<\?x64xf32>' that it may not have"
NEW = "computes an extent that must be that of other tensors"
REFUSED = {
    "rows": (
        f"%x: {X}",
        "tensor<8x64xf32>",
        f"%r = tensor.extract_slice %x[0, 0] [8, 64] [1, 1] : {X} to tensor<8x64xf32>",
        PART,
    ),
    "offset": (
        f"%x: {X}, %y: {X}",
        X,
        DIM
        + f"""%s = tensor.extract_slice %x[1, 0] [%m, 64] [1, 1] : {X} to {X}
  %r = tenon.add %s, %y : {X}, {X}""",
        PART,
    ),
    "rows_of_another": (
        f"%x: {X}, %y: {X}",
        X,
        DIM + f"%r = tensor.extract_slice %y[0, 0] [%m, 64] [1, 1] : {X} to {X}",
        PART,
    ),
    "static_by_dynamic": (
        f"%x: {X}, %y: tensor<8x64xf32>",
        X,
        DIM + f"%r = tensor.extract_slice %y[0, 0] [%m, 64] [1, 1] : tensor<8x64xf32> to {X}",
        r"takes a part of dimension 0 of 'tensor<8x64xf32>' that it may not have",
    ),
    "inserted": (
        f"%x: {X}, %y: tensor<8x64xf32>",
        X,
        f"%r = tensor.insert_slice %y into %x[0, 0] [8, 64] [1, 1] : tensor<8x64xf32> into {X}",
        PART,
    ),
    "computed": (
        f"%x: {X}, %y: {X}",
        X,
        f"""%c = tensor.concat dim(0) %x, %x : ({X}, {X}) -> {X}
  %r = tenon.add %c, %y : {X}, {X}""",
        NEW,
    ),
    "two_casts": (
        f"%x: {X}",
        "tensor<9x64xf32>",
        f"""%c = tensor.cast %x : {X} to tensor<8x64xf32>
  %y = tenon.relu %c : tensor<8x64xf32>
  %r = tensor.cast %x : {X} to tensor<9x64xf32>""",
        "is of a tensor that elsewhere is cast to 8 rows, and here to 9",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, tmp_path):
    arguments, result, body, message = REFUSED[name]
    (tmp_path / "f.mlir").write_text(function(arguments, result, body))
    done = subprocess.run(
        [TENON_COMPILE, tmp_path / "f.mlir", "-o", tmp_path / "f.so"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "f.mlir:" in done.stderr
    assert re.search(message, done.stderr), done.stderr


def test_columns_of_a_dynamic_matrix(tmp_path):
    """All rows of a part of the columns are there whatever M is."""
    body = (
        DIM
        + f"""%s = tensor.extract_slice %x[0, 8] [%m, 32] [1, 1] : {X} to tensor<?x32xf32>
  %t = tensor.extract_slice %x[0, 0] [%m, 32] [1, 2] : {X} to tensor<?x32xf32>
  %r = tenon.add %s, %t : tensor<?x32xf32>, tensor<?x32xf32>"""
    )
    model = compile_text(function(f"%x: {X}", "tensor<?x32xf32>", body), tmp_path)
    x = np.random.default_rng(0).uniform(-1, 1, (5, 64)).astype(np.float32)
    (got,) = model.bind("f", [x])()
    np.testing.assert_array_equal(got, x[:, 8:40] + x[:, ::2])
