# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exact gelu of 32 and 16 bits: its error everywhere, its special values, and where its coefficients come from.

The CPU and the GPU have it from one emitter, each with an exp2 of its own: all numbers of 16 bits go through both.
"""

import math
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import tenon  # noqa: E402
from ptx_emulator.floats import bf16_to_f32  # noqa: E402
from ptx_emulator.host import ELEMENTS, Model  # noqa: E402

ROOT = Path(__file__).parents[2]
# A last dimension that is no multiple of a vector: the remainder is computed as well.
COLUMNS = 1021
# gelu-R2, the second bound
RELATIVE_ERROR = 2.0**-10
# gelu-R4: of x, and of the value from -5 to 0
BOUNDS_TF32 = (2.0**-18, 2.0**-8)
# gelu-R3: the error, in parts of the value or of the floor below which it is
BOUNDS_16_BITS = {"f16": (2.0**-13, 2.0**-14), "bf16": (2.0**-11, 2.0**-27)}
SOURCE = f"""
func.func @forward(%x: tensor<?x{COLUMNS}xf32>) -> tensor<?x{COLUMNS}xf32> {{
  %0 = tenon.gelu %x : tensor<?x{COLUMNS}xf32>
  return %0 : tensor<?x{COLUMNS}xf32>
}}
"""


def source_16_bits(dtype: str) -> str:
    """Return a gelu of `dtype` between casts, which are left out within the fused op: its value before rounding."""
    wide, narrow = f"tensor<?x{COLUMNS}xf32>", f"tensor<?x{COLUMNS}x{dtype}>"
    return f"""
func.func @forward(%x: {wide}, %w: tensor<{COLUMNS}x1xf32>, %zero: tensor<?x1xf32>) -> {wide} {{
  %p = tenon.linear %zero, %w : (tensor<?x1xf32>, tensor<{COLUMNS}x1xf32>) -> {wide}
  %0 = tenon.add %p, %x : {wide}, {wide}
  %1 = tenon.cast %0 : {wide} -> {narrow}
  %2 = tenon.gelu %1 : {narrow}
  %3 = tenon.cast %2 : {narrow} -> {wide}
  return %3 : {wide}
}}
"""


def padded(x: np.ndarray) -> torch.Tensor:
    rows = np.zeros(-(-x.size // COLUMNS) * COLUMNS, np.float32)
    rows[: x.size] = x
    return torch.from_numpy(rows.reshape(-1, COLUMNS))


@pytest.fixture(scope="module")
def gelu() -> Callable:
    compiled = tenon.compile(SOURCE, "cpu")
    return lambda x: compiled(padded(x)).numpy().ravel()[: x.size]


@pytest.fixture(scope="module", params=BOUNDS_16_BITS)
def gelu_16_bits(request) -> tuple[Callable, float, float]:
    """Return the function, its error, and its floor."""
    compiled = tenon.compile(source_16_bits(request.param), "cpu")

    def call(x: np.ndarray) -> np.ndarray:
        rows = padded(x)
        zeros = torch.zeros(rows.shape[0], 1)
        return compiled(rows, torch.zeros(COLUMNS, 1), zeros).numpy().ravel()[: x.size]

    return call, *BOUNDS_16_BITS[request.param]


def dense() -> np.ndarray:
    """Return every 509th float32 of either sign from 2^-20 to 20."""
    bits = np.arange(*np.array([2.0**-20, 20.0], np.float32).view(np.uint32), 509, dtype=np.uint32)
    x = bits.view(np.float32)
    return np.concatenate([x, -x])


def reference(x: np.ndarray) -> np.ndarray:
    return np.array([0.5 * v * math.erfc(-v * math.sqrt(0.5)) for v in x.astype(np.float64).tolist()])


def test_error(gelu):
    x = dense()
    wide, exact = x.astype(np.float64), reference(x)
    error = abs(gelu(x) - exact)
    # What float32 offers by the definition, which is within gelu-R2's first bound.
    y = torch.from_numpy(x)
    by_erf = abs((0.5 * y * (1 + torch.erf(y * math.sqrt(0.5)))).numpy() - exact)
    assert error.max() <= by_erf.max()
    assert (error / abs(wide)).max() <= (by_erf / abs(wide)).max() < 2.0**-22
    tail = (wide < 0) & (wide > -5)
    assert (error[tail] / abs(exact[tail])).max() < RELATIVE_ERROR


def test_error_tf32():
    compiled = tenon.compile(SOURCE.replace("tenon.gelu %x", "tenon.gelu %x approximate<tf32>"), "cpu")
    x = dense()
    error = abs(compiled(padded(x)).numpy().ravel()[: x.size] - reference(x))
    of_x, of_tail = BOUNDS_TF32
    # It is the polynomial of fewer terms.
    assert of_x / 4 < (error / abs(x)).max() < of_x
    tail = (x < 0) & (x > -5)
    assert (error[tail] / abs(reference(x)[tail])).max() < of_tail


def test_error_16_bits(gelu_16_bits):
    function, bound, floor = gelu_16_bits
    x = dense()
    result, exact = function(x), reference(x)
    relative = abs(result - exact) / np.maximum(abs(exact), floor)
    assert relative.max() < bound
    # That is the value before rounding, and of the polynomial of fewer terms.
    assert relative.max() > bound / 4
    assert len(np.unique(result)) > 2**16


ALL = np.arange(1 << 16, dtype=np.uint16).reshape(256, 256)
# A rounding to nearest, in parts of the power of 2 below a number, and the least such power.
HALF_UNIT = {"f16": (2.0**-11, 2.0**-14), "bf16": (2.0**-8, 2.0**-126)}


def on_cpu(element: str, folder: Path) -> np.ndarray:
    t = f"tensor<256x256x{element}>"
    text = f"func.func @forward(%x: {t}) -> {t} {{\n  %0 = tenon.gelu %x : {t}\n  return %0 : {t}\n}}"
    x = torch.from_numpy(ALL.view(np.int16)).view(torch.float16 if element == "f16" else torch.bfloat16)
    return tenon.compile(text, "cpu")(x).view(torch.int16).numpy().view(np.uint16)


def on_gpu(element: str, folder: Path) -> np.ndarray:
    if not shutil.which("ptxas"):
        pytest.skip("the compiler needs ptxas to write PTX")
    m, t = f"memref<256x256x{element}>", f"tensor<256x256x{element}>"
    text = f"""
func.func @forward(%y: {m}) {{
  tenon.epilogue ins(%x = %y: {m}) outs(%y: {m}) {{
    %0 = tenon.gelu %x : {t}
    tenon.yield %0 : {t}
  }}
  return
}}"""
    model = Model(text, "sm_80", folder)
    buffer = model.device.put(ALL.view(ELEMENTS[element]))
    model.run("forward", buffer)
    return model.device.get(buffer).view(np.uint16)


@pytest.mark.parametrize("element", HALF_UNIT)
@pytest.mark.parametrize("compute", [on_cpu, on_gpu])
def test_all_of_16_bits(compute, element, tmp_path):
    def numbers(bits: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):  # a NaN may be a signalling one
            return (bf16_to_f32(bits) if element == "bf16" else bits.view(np.float16)).astype(np.float64).ravel()

    x, result = numbers(ALL), numbers(compute(element, tmp_path))
    exact = reference(np.where(np.isfinite(x), x, 0))
    special = ~np.isfinite(x)
    assert special.sum() > 2 and np.array_equal(np.isnan(result), special & (x != np.inf))
    assert (result[x == np.inf] == np.inf).all()
    bound, floor = BOUNDS_16_BITS[element]
    computed = np.abs(exact) + bound * np.maximum(np.abs(exact), floor)
    part, least = HALF_UNIT[element]
    half_unit = part * 2.0 ** np.floor(np.log2(np.maximum(computed, least)))
    finite = ~special & (computed < np.abs(x[~special]).max())  # what is rounded to infinity is x itself
    error = np.abs(result - exact)[finite]
    assert (error <= (computed - np.abs(exact) + half_unit)[finite]).all()
    assert finite.sum() > 63000


def test_special_values(gelu):
    check_special_values(gelu)


def test_special_values_16_bits(gelu_16_bits):
    check_special_values(gelu_16_bits[0])


def check_special_values(function: Callable) -> None:
    largest = np.finfo(np.float32).max
    pairs = [
        (0.0, 0.0),
        (-0.0, 0.0),
        (np.inf, np.inf),
        (-np.inf, np.nan),
        (np.nan, np.nan),
        (largest, largest),
        (-largest, 0.0),
        (20.0, 20.0),
        (-20.0, 0.0),
        (1e-42, 5e-43),
        (-1e-42, -5e-43),
    ]
    x, expected = np.array(pairs, np.float32).T
    np.testing.assert_array_equal(function(x), expected)


def test_coefficients():
    text = (ROOT / "lib/Dialect/Tenon/IR/Activations.cpp").read_text()
    written = dict(re.findall(r"(kLog2Tail\w*)\[\] = \{([^}]*)\}", text))
    command = [sys.executable, ROOT / "scripts/fit_gelu.py"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    printed = dict(re.findall(r"^(k\w+): (.*)$", output, re.MULTILINE))
    assert written.keys() == printed.keys()
    for name, coefficients in written.items():
        table = np.array([c.strip().rstrip("f") for c in coefficients.split(",")], np.float32)
        assert np.array_equal(table, np.array(printed[name].split(), np.float32)), name
