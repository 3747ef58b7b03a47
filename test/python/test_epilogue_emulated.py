# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of epilogues on their own, run by the emulator of PTX beside float64: in place, ragged, each vector width."""

import math
import shutil

import numpy as np
import pytest
from ptx_emulator.host import ELEMENTS, Model

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

# M, N, types, and the tolerance of y.
NORMS = [
    (300, 64, "f32", 1e-5), (37, 40, "f32", 1e-5), (1000, 7, "f32", 1e-5), (513, 1, "f32", 1e-5),
    (2, 256, "f16", 4e-3), (700, 264, "f16", 4e-3), (130, 6, "f64", 1e-12), (600, 6, "f64", 1e-12),
]  # fmt: skip
BROADCASTING = [(37, 24), (1, 7), (300, 1030)]
FIRST_OPERANDS = [(37, 24, "f16"), (5, 7, "f16"), (1, 1032, "f16"), (37, 24, "f32")]
# Groups of blocks, of kernels that reduce rows and of others: as many as the host chooses, one with all rows, and few,
# which take several turns or have no row.
REDUCING, MAPPING = (None, 1, 3), (None, 2)
FEW = 1 << 15  # elements
FILLED, CONSTANT = (37, 24), -1.5


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Give all kernels in one module: compiling them takes as long as running them."""
    sources = sorted({norm_source(n, element) for _, n, element, _ in NORMS})
    sources += [broadcasting_source(n) for _, n in BROADCASTING]
    sources += [first_operands_source(n, element) for _, n, element in FIRST_OPERANDS]
    sources.append(constant_source())
    return Model("".join(sources), "sm_80", tmp_path_factory.mktemp("epilogues"))


def run(model, name, groups, matrix, *others):
    """Call a function with buffers that hold copies of arrays, for each of its kernels; yield the buffers each time.

    Elements of the matrix that are not aligned have the host launch kernels without vectors. There, one group's warps
    take turns at random, which shows missing barriers, but takes long.
    """
    device = model.device
    model.launched.clear()
    for shift in (0, matrix.itemsize):
        for model.groups in groups:
            device.seed = 1 if shift and model.groups == 1 and matrix.size < FEW else None
            buffers = [device.put(matrix, shift), *map(device.put, others)]
            model.run(name, *buffers)
            yield [device.get(buffer) for buffer in buffers]
    kernels = {kernel for kernel in device.module.kernels if kernel.startswith(f"{name}_")}
    assert kernels and kernels == set(model.launched)


def near(got, expected, tolerance):
    """Tell whether results, none of them NaN, are within a tolerance."""
    return got.shape == np.shape(expected) and bool((np.abs(got.astype(np.float64) - expected) <= tolerance).all())


def constant_source():
    """Return what writes a constant, with no input."""
    kind = f"{'x'.join(map(str, FILLED))}xf16"
    return f"""
func.func @constant(%y: memref<{kind}>) {{
  tenon.epilogue ins() outs(%y: memref<{kind}>) {{
    %0 = arith.constant dense<{CONSTANT}> : tensor<{kind}>
    tenon.yield %0 : tensor<{kind}>
  }}
  return
}}"""


def test_constant(model):
    for (y,) in run(model, "constant", MAPPING, np.full(FILLED, np.nan, np.float16)):
        assert (y == CONSTANT).all()


def norm_source(n, element):
    """Return mish(batch norm in training of y * s): y and the running statistics change in place."""
    statistics = "f64" if element == "f64" else "f32"
    y, v = f"?x{n}x{element}", f"{n}x{statistics}"
    return f"""
func.func @norm_{n}_{element}(%y: memref<{y}>, %s: memref<{n}x{element}>, %g: memref<{v}>,
                              %m: memref<{v}>, %v: memref<{v}>) {{
  tenon.epilogue ins(%a = %y: memref<{y}>, %ss = %s: memref<{n}x{element}>, %gg = %g: memref<{v}>,
                     %mm = %m: memref<{v}>, %vv = %v: memref<{v}>)
      outs(%y: memref<{y}>, %m: memref<{v}>, %v: memref<{v}>) {{
    %1 = tenon.mul %a, %ss : tensor<{y}>, tensor<{n}x{element}>
    %2:3 = tenon.batch_norm_training %1 weight(%gg) running(%mm, %vv)
        : (tensor<{y}>, tensor<{v}>, tensor<{v}>, tensor<{v}>) -> (tensor<{y}>, tensor<{v}>, tensor<{v}>)
    %3 = tenon.mish %2#0 : tensor<{y}>
    tenon.yield %3, %2#1, %2#2 : tensor<{y}>, tensor<{v}>, tensor<{v}>
  }}
  return
}}"""


@pytest.mark.parametrize(("m", "n", "element", "tolerance"), NORMS)
def test_batch_norm(m, n, element, tolerance, model):
    numbers = np.random.default_rng(m)
    matrix = (numbers.standard_normal((m, n)) * 2 + numbers.standard_normal(n) * 5).astype(ELEMENTS[element])
    scale = numbers.standard_normal(n).astype(ELEMENTS[element])
    weight, mean, variance = numbers.random((3, n)).astype(np.float64 if element == "f64" else np.float32)
    x = matrix.astype(np.float64) * scale
    z = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) * weight
    for y, _, _, new_mean, new_variance in run(
        model, f"norm_{n}_{element}", REDUCING, matrix, scale, weight, mean, variance
    ):
        assert near(y, z * np.tanh(np.log1p(np.exp(z))), tolerance)
        assert near(new_mean, 0.9 * mean.astype(np.float64) + 0.1 * x.mean(0), min(tolerance, 1e-5))
        assert near(new_variance, 0.9 * variance.astype(np.float64) + 0.1 * x.var(0, ddof=1), min(tolerance, 1e-4))


def broadcasting_source(n):
    """Return results of every shape: y + b, a column, a residual in f16 and a scalar, in place; and three repeated."""
    y = f"tensor<?x{n}xf32>"
    return f"""
func.func @broadcasting_{n}(%y: memref<?x{n}xf32>, %b: memref<{n}xf32>, %c: memref<?x1xf32>, %r: memref<?x{n}xf16>,
                            %s: memref<f32>, %p: memref<{n}xf32>, %q: memref<?x1xf32>, %u: memref<f32>) {{
  tenon.epilogue ins(%a = %y: memref<?x{n}xf32>, %bb = %b: memref<{n}xf32>, %cc = %c: memref<?x1xf32>,
                     %rr = %r: memref<?x{n}xf16>, %ss = %s: memref<f32>)
      outs(%y: memref<?x{n}xf32>, %p: memref<{n}xf32>, %q: memref<?x1xf32>, %u: memref<f32>) {{
    %0 = tenon.add %a, %bb : {y}, tensor<{n}xf32>
    %1 = tenon.mul %0, %cc : {y}, tensor<?x1xf32>
    %2 = tenon.add %1, %rr : {y}, tensor<?x{n}xf16>
    %3 = tenon.mul %2, %ss : {y}, tensor<f32>
    %4 = tenon.relu %3 : {y}
    %5 = tenon.mul %bb, 2.0 : tensor<{n}xf32>
    %6 = tenon.tanh %cc : tensor<?x1xf32>
    %7 = tenon.silu %ss : tensor<f32>
    %8 = tenon.gelu %6 : tensor<?x1xf32>
    tenon.yield %4, %5, %8, %7 : {y}, tensor<{n}xf32>, tensor<?x1xf32>, tensor<f32>
  }}
  return
}}"""


@pytest.mark.parametrize(("m", "n"), BROADCASTING)
def test_operands_and_results_of_every_shape(m, n, model):
    numbers = np.random.default_rng(n)
    matrix, bias, column = (numbers.standard_normal(shape).astype(np.float32) for shape in [(m, n), n, (m, 1)])
    residual, scalar = numbers.standard_normal((m, n)).astype(np.float16), np.float32(1.5)
    results = [np.full(shape, np.nan, np.float32) for shape in [n, (m, 1), ()]]
    expected = np.maximum(((matrix.astype(np.float64) + bias) * column + residual) * scalar, 0)
    gelu = [[0.5 * z * math.erfc(-z * math.sqrt(0.5))] for z in np.tanh(column.astype(np.float64)).ravel()]
    for y, *_, features, rows, one in run(
        model, f"broadcasting_{n}", MAPPING, matrix, bias, column, residual, scalar, *results
    ):
        assert near(y, expected, 1e-5)
        assert near(features, 2 * bias.astype(np.float64), 0)
        assert near(rows, gelu, 1e-6)
        assert near(one, 1.5 / (1 + math.exp(-1.5)), 1e-6)


def first_operands_source(n, element):
    """Return s - c / (b - y) in f32 and, in y's place, rounded: repeated tensors are first operands, between casts."""
    return f"""
func.func @first_{n}_{element}(%y: memref<?x{n}x{element}>, %b: memref<{n}xf32>, %c: memref<?x1x{element}>,
                               %s: memref<f32>, %z: memref<?x{n}xf32>) {{
  tenon.epilogue ins(%a = %y: memref<?x{n}x{element}>, %bb = %b: memref<{n}xf32>, %cc = %c: memref<?x1x{element}>,
                     %ss = %s: memref<f32>)
      outs(%y: memref<?x{n}x{element}>, %z: memref<?x{n}xf32>) {{
    %0 = tenon.cast %a : tensor<?x{n}x{element}> -> tensor<?x{n}xf32>
    %1 = tenon.sub %bb, %0 : tensor<{n}xf32>, tensor<?x{n}xf32>
    %2 = tenon.cast %cc : tensor<?x1x{element}> -> tensor<?x1xf32>
    %3 = tenon.div %2, %1 : tensor<?x1xf32>, tensor<?x{n}xf32>
    %4 = tenon.sub %ss, %3 : tensor<f32>, tensor<?x{n}xf32>
    %5 = tenon.cast %4 : tensor<?x{n}xf32> -> tensor<?x{n}x{element}>
    tenon.yield %5, %4 : tensor<?x{n}x{element}>, tensor<?x{n}xf32>
  }}
  return
}}"""


@pytest.mark.parametrize(("m", "n", "element"), FIRST_OPERANDS)
def test_repeated_first_operands(m, n, element, model):
    numbers = np.random.default_rng(n)
    matrix, column = (numbers.uniform(-1, 1, shape).astype(ELEMENTS[element]) for shape in [(m, n), (m, 1)])
    bias, scalar = numbers.uniform(2, 3, n).astype(np.float32), np.float32(1.5)
    expected = scalar - column.astype(np.float64) / (bias - matrix.astype(np.float64))
    unset = np.full((m, n), np.nan, np.float32)
    for y, *_, wide in run(model, f"first_{n}_{element}", MAPPING, matrix, bias, column, scalar, unset):
        assert near(wide, expected, 1e-6)
        assert (y == wide.astype(y.dtype)).all()
