# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPU code of every op on one tensor, run by the emulator of PTX beside float64: usual and special values."""

import random
import shutil

import numpy as np
import pytest
from ptx_emulator.host import ELEMENTS, Model
from tenon_graphs.bounded import Bounded
from tenon_graphs.dtypes import ROUNDOFF, SUBNORMAL, round_to
from tenon_graphs.graph import Graph, Op, Value
from tenon_graphs.oracle import UNARY, Oracle

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

DTYPES = ("f32", "f16")
M, N = 24, 32
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30, 3e38, -3e38, 1e-30, -1e-30, 88.9, -88.9, 3.0, -3.0, 1.0]
DRAWS = 3  # of attributes


def draw_op(kind, dtype, seed):
    """Return an op with random attributes."""
    shape, attributes = (M, N), UNARY[kind].draw(random.Random(f"{kind} {seed}"))
    return Op(kind, [Value("x", shape, dtype)], [Value("v", shape, dtype)], attributes)


def source(op, name):
    """Return a function that applies an op in place."""
    dtype, graph = op.operands[0].dtype, Graph(name, {}, dynamic=False)
    kind = f"{M}x{N}x{dtype}"
    return f"""
func.func @{name}(%y: memref<{kind}>) {{
  tenon.epilogue ins(%x = %y: memref<{kind}>) outs(%y: memref<{kind}>) {{
    {graph.op_text(op)}
    tenon.yield %v : tensor<{kind}>
  }}
  return
}}"""


CASES = {
    f"{kind}_{dtype}_{i}": draw_op(kind, dtype, i)
    for kind, unary in UNARY.items()
    for dtype in DTYPES
    for i in range(DRAWS if unary.draw(random.Random(0)) else 1)
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return Model("".join(source(op, name) for name, op in CASES.items()), "sm_80", tmp_path_factory.mktemp("unary"))


@pytest.mark.parametrize("name", CASES)
def test_op(name, model):
    op = CASES[name]
    dtype, numbers = op.operands[0].dtype, np.random.default_rng(0)
    x = numbers.standard_normal((M, N)) * 10.0 ** numbers.uniform(-4, 1, (M, N))
    if UNARY[op.kind].domain:
        x[4:] = np.clip(x[4:], *UNARY[op.kind].domain)
    x.flat[: len(SPECIAL)] = SPECIAL
    with np.errstate(all="ignore"):
        x = round_to(x, dtype)
        buffer = model.device.put(x.astype(ELEMENTS[dtype]))
        model.run(name, buffer)
        got = model.device.get(buffer).astype(np.float64)
        exact = Oracle(op, rounds_product=False).unary(Bounded(x, np.float64(0.0)))
        expected = round_to(exact.value, dtype)
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(got[~finite], expected[~finite])
        allowed = exact.error + ROUNDOFF[dtype] * abs(exact.value) + SUBNORMAL[dtype]
        assert (abs(got - exact.value) <= allowed)[finite].all()
