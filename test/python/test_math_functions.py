# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of the math dialect are as exact for small arguments as for others."""

import math

import numpy as np
import pytest
from tenon_graphs.devices import to_device, to_host
from tenon_graphs.execute import open_model
from tenon_graphs.modules import compile_for

DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
EXACT = {
    "absf": np.abs, "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "cbrt": np.cbrt, "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh,
    "erf": np.vectorize(math.erf), "erfc": np.vectorize(math.erfc), "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "floor": np.floor, "log": np.log, "log10": np.log10, "log1p": np.log1p, "log2": np.log2,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), "roundeven": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan,
    "tanh": np.tanh, "trunc": np.trunc,
}  # fmt: skip
ULPS = 6
SHAPE = (64, 64)


@pytest.fixture(scope="module", params=DTYPES)
def model(request, device, tmp_path_factory):
    folder, tensor = tmp_path_factory.mktemp("math"), f"tensor<64x64x{request.param}>"
    functions = [
        f"func.func @{name}(%x: {tensor}) -> {tensor} {{\n  %0 = math.{name} %x : {tensor}\n  return %0 : {tensor}\n}}"
        for name in EXACT
    ]
    (folder / "math.mlir").write_text("\n".join(functions))
    compile_for(device, folder / "math.mlir", folder / "math.so")
    model = open_model(folder / "math.so")
    yield model, DTYPES[request.param]
    model.close()


@pytest.mark.parametrize("name", EXACT)
def test_small_arguments(model, device, name):
    model, dtype = model
    draws = np.random.default_rng(0)
    least = -12 if dtype != np.float16 else -5
    x = (10 ** draws.uniform(least, 1, SHAPE) * draws.choice([-1, 1], SHAPE)).astype(dtype)
    x[0, :4] = 0, -0.0, np.inf, np.nan
    (got,) = to_host(model.bind(name, [to_device({"x": x}, device)["x"]])())
    with np.errstate(all="ignore"):
        exact = EXACT[name](x.astype(np.float64))
        rounded = exact.astype(dtype)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(rounded))
        finite = np.isfinite(rounded)
        np.testing.assert_array_equal(np.isfinite(got), finite)
        np.testing.assert_array_equal(got[~finite], rounded[~finite])
        ulps = np.abs(got.astype(np.float64) - exact)[finite] / np.spacing(np.abs(rounded[finite])).astype(np.float64)
    assert ulps.max() <= ULPS, f"{ulps.max()} units in the last place at {x[finite][ulps.argmax()]!r}"
