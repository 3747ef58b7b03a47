# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a front end writes models with: here a list of layers, as of a framework that Tenon does not know."""

import subprocess
import sys

import numpy as np
import pytest
import tenon
from tenon.importer.builder import Builder, InexpressibleError, Value, module_text, return_text, type_of


def argument(builder, name, *shape, dtype="float32"):
    return Value(f"%{builder.fresh(name)}", dtype, shape)


def write(layers, dtype="float32"):
    """Return the text of linear layers, each with what is done to its result."""
    b = Builder(None)
    takes = [x := argument(b, "x", "m", layers[0][1], dtype=dtype)]
    for n, k, act in layers:
        takes.append(w := argument(b, "w", n, k, dtype=dtype))
        b.name = "layer"
        x = b.linear(x, w)
        x = b.binary("mul", x, 2.0) if act == "twice" else b.unary(act, x)
    arguments = ", ".join(f"{v.name}: {type_of(v)}" for v in takes)
    return module_text("forward", f"({arguments}) -> {type_of(x)}", [*b.lines, return_text([x])])


def test_a_front_end_without_torch():
    text = write([(8, 4, "relu"), (3, 8, "twice")])
    x, w, v = (np.random.default_rng(0).standard_normal(s).astype("float32") for s in ((5, 4), (8, 4), (3, 8)))
    result = tenon.compile(text, "cpu")(x, w, v)
    np.testing.assert_allclose(result, 2 * np.maximum(x @ w.T, 0) @ v.T, rtol=1e-5, atol=1e-5)


def test_values_are_named_after_what_they_are():
    assert "%layer_0 = tenon.relu %layer : tensor<?x8xf16>" in write([(8, 4, "relu")], "float16")


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda b, x, w: b.linear(x, w._replace(dtype="float16")), "its two matrices have different dtypes"),
        (
            lambda b, x, w: b.linear(x, w._replace(shape=(4, 9))),
            "it is not a product of an activation [M, K] with a weight [N, K]",
        ),
        (lambda b, x, w: b.binary("add", 1.0, 2.0), "it computes with numbers alone"),
        (lambda b, x, w: b.cast(x, "float64"), "Tenon has no cast from or to float64"),
        (lambda b, x, w: b.unary("relu", x._replace(shape=(4, "k"))), "only the number of rows may be dynamic"),
    ],
)
def test_what_cannot_be_said(build, reason):
    b = Builder(None)
    x, w = Value("%x", "float32", ("m", 8)), Value("%w", "float32", (4, 8))
    with pytest.raises(InexpressibleError) as error:
        build(b, x, w)
    assert reason in str(error.value) and b.lines == []


def test_no_framework_is_imported():
    code = "import sys, tenon.importer.builder, tenon.importer.specs; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}).returncode == 0
