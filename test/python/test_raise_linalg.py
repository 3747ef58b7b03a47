# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of linalg on the CPU, raised to tenon ops, against NumPy."""

import itertools

import numpy as np
import pytest

tenon = pytest.importorskip("tenon")

RANDOM = np.random.default_rng(0)


def normal(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def raised(text):
    """Return what a module is after it was raised, without linalg."""
    lowered = tenon.lower(text, "raise")
    assert "linalg." not in lowered
    return lowered


def type_of(array):
    return f"tensor<{array.shape[0]}x{array.shape[1]}xf32>"


@pytest.mark.parametrize("maps", itertools.product(["m, k", "k, m"], ["k, n", "n, k"], ["m, n", "n, m"]), ids=str)
def test_products(maps):
    m, n, k = 3, 5, 7
    extents = {"m": m, "n": n, "k": k}
    shapes = [[extents[loop] for loop in indices.split(", ")] for indices in maps]
    a, b, c = (normal(*shape) for shape in shapes)
    affine = ", ".join(f"affine_map<(m, n, k) -> ({indices})>" for indices in maps)
    text = f"""
func.func @forward(%a: {type_of(a)}, %b: {type_of(b)}, %c: {type_of(c)}) -> {type_of(c)} {{
  %0 = linalg.generic {{indexing_maps = [{affine}], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : {type_of(a)}, {type_of(b)}) outs(%c : {type_of(c)}) {{
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  }} -> {type_of(c)}
  return %0 : {type_of(c)}
}}"""
    assert "tenon.linear" in raised(text)
    left, right, out = (indices.replace(", ", "") for indices in maps)
    expected = np.einsum(f"{left},{right}->{out}", a, b) + c
    np.testing.assert_allclose(tenon.compile(text, "cpu")(a, b, c), expected, rtol=1e-5, atol=1e-5)


def elementwise(body):
    """Return a model of one generic on x and y, whose body gives %r of %a and %b."""
    matrix = "tensor<?x8xf32>"
    rows = "affine_map<(m, n) -> (m, n)>"
    return f"""
func.func @forward(%x: {matrix}, %y: {matrix}) -> {matrix} {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %m = tensor.dim %x, %c0 : {matrix}
  %empty = tensor.empty(%m) : {matrix}
  %0 = linalg.generic {{indexing_maps = [{rows}, {rows}, {rows}], iterator_types = ["parallel", "parallel"]}}
      ins(%x, %y : {matrix}, {matrix}) outs(%empty : {matrix}) {{
  ^bb0(%a: f32, %b: f32, %out: f32):
    {body}
    linalg.yield %r : f32
  }} -> {matrix}
  return %0 : {matrix}
}}"""


def select(order, left, right, yes, no):
    return f"%c = arith.cmpf {order}, {left}, {right} : f32\n    %r = arith.select %c, {yes}, {no} : f32"


MORE = {"gt": np.greater, "ge": np.greater_equal, "lt": np.less, "le": np.less_equal}
SELECTIONS = [
    ("%a", "%b", "%a", "%b"),
    ("%a", "%b", "%b", "%a"),
    ("%a", "%half", "%a", "%half"),
    ("%half", "%a", "%a", "%half"),
    ("%a", "%zero", "%a", "%s"),
    ("%a", "%zero", "%s", "%a"),
    ("%zero", "%a", "%a", "%s"),
    ("%zero", "%a", "%s", "%a"),
]


@pytest.mark.parametrize("order", [u + name for u in "ou" for name in MORE])
@pytest.mark.parametrize("operands", SELECTIONS, ids=" ".join)
def test_selections(order, operands):
    """What is selected is what the text says, but for NaN, which none of the numbers is."""
    text = elementwise(f"%s = arith.mulf %a, %half : f32\n    {select(order, *operands)}")
    x, y = normal(5, 8), normal(5, 8)
    x[0, :4] = y[0, :4] = [0, -0.0, 0.5, -np.inf]
    values = {"%a": x, "%b": y, "%zero": np.float32(0), "%half": np.float32(0.5), "%s": x * np.float32(0.5)}
    left, right, yes, no = (np.broadcast_to(values[name], x.shape) for name in operands)
    np.testing.assert_array_equal(tenon.compile(text, "cpu")(x, y), np.where(MORE[order[1:]](left, right), yes, no))


@pytest.mark.parametrize("order", ["ogt", "ole"])
def test_gates(order):
    yes, no = ("%b", "%zero") if order == "ogt" else ("%zero", "%b")
    text = elementwise(select(order, "%a", "%zero", yes, no))
    assert "tenon.gate" in raised(text)
    x, y = normal(5, 8), normal(5, 8)
    x[0, :2] = [0, -0.0]
    np.testing.assert_array_equal(tenon.compile(text, "cpu")(x, y), np.where(x > 0, y, 0))


@pytest.mark.parametrize(
    ("op", "function"),
    [
        ("math.powf %a, %three", lambda a: a**3),
        ("math.absf %a", np.abs),
        ("arith.negf %a", np.negative),
        ("math.exp %a", np.exp),
        ("math.tanh %a", np.tanh),
        ("math.sqrt %positive", lambda a: np.sqrt(np.abs(a))),
        ("math.rsqrt %positive", lambda a: 1 / np.sqrt(np.abs(a))),
        ("math.log %positive", lambda a: np.log(np.abs(a))),
        ("math.fma %a, %half, %positive", lambda a: a / 2 + np.abs(a)),
        ("math.sin %a", np.sin),
    ],
)
def test_functions(op, function):
    body = f"%three = arith.constant 3.0 : f32\n%positive = math.absf %a : f32\n%r = {op} : f32"
    text = elementwise(body)
    raised(text)
    x = normal(5, 8)
    np.testing.assert_allclose(tenon.compile(text, "cpu")(x, x), function(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("initial", [0.0, 0.75])
@pytest.mark.parametrize("kind", ["arith.addf", "arith.maximumf", "arith.minimumf"])
@pytest.mark.parametrize("keeps", [True, False])
def test_reductions_of_rows(kind, initial, keeps):
    result = "tensor<4x1xf32>" if keeps else "tensor<4xf32>"
    text = f"""
func.func @forward(%x: tensor<4x8xf32>) -> {result} {{
  %initial = arith.constant {initial} : f32
  %empty = tensor.empty() : {result}
  %fill = linalg.fill ins(%initial : f32) outs(%empty : {result}) -> {result}
  %0 = linalg.generic {{
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m{", 0" if keeps else ""})>],
      iterator_types = ["parallel", "reduction"]}} ins(%x : tensor<4x8xf32>) outs(%fill : {result}) {{
  ^bb0(%a: f32, %sofar: f32):
    %1 = arith.mulf %a, %a : f32
    %2 = {kind} %sofar, %1 : f32
    linalg.yield %2 : f32
  }} -> {result}
  return %0 : {result}
}}"""
    assert "tenon.reduce_row" in raised(text)
    x = normal(4, 8)
    reduce = {"arith.addf": np.add, "arith.maximumf": np.maximum, "arith.minimumf": np.minimum}[kind].reduce
    expected = reduce(x * x, axis=1, initial=np.float32(initial), keepdims=keeps)
    np.testing.assert_allclose(tenon.compile(text, "cpu")(x), expected, rtol=1e-5)


def test_body_of_a_product_that_is_none():
    """Upstream takes a body with exp(a) b + c for a contraction's."""
    text = """
func.func @forward(%a: tensor<3x7xf32>, %b: tensor<7x5xf32>, %c: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<3x7xf32>, tensor<7x5xf32>) outs(%c : tensor<3x5xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %1 = math.exp %x : f32
    %2 = arith.mulf %1, %y : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}"""
    assert "linalg.generic" in tenon.lower(text, "raise")
    a, b, c = normal(3, 7), normal(7, 5), normal(3, 5)
    np.testing.assert_allclose(tenon.compile(text, "cpu")(a, b, c), np.exp(a) @ b + c, rtol=1e-5, atol=1e-5)
