# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bounds by which tenon-run --check judges each element: right results are within, small ones have small bounds."""

import numpy as np
import pytest
from tenon_graphs.checks import bounds_misses
from tenon_graphs.dtypes import decode
from tenon_graphs.execute import TENON_COMPILE, bind_bounds, bind_reference, compile_graphs, open_model, tool
from tenon_graphs.generate import random_graph
from tenon_graphs.graph import draw_inputs
from tenon_graphs.oracle import evaluate

GRAPHS_PER_MODULE = 20


@pytest.fixture(scope="module", params=range(0, 80, GRAPHS_PER_MODULE))
def compiled(request, tmp_path_factory):
    """Give graphs and the model that they were compiled to."""
    graphs = [random_graph(f"bounds {request.param + i}", f"f{i}", views=True) for i in range(GRAPHS_PER_MODULE)]
    model = open_model(compile_graphs(graphs, tmp_path_factory.mktemp("bounds") / "graphs"))
    yield graphs, model
    model.close()


def test_right_results_are_within(compiled):
    graphs, model = compiled
    misses = [bounds_misses(graph, model) for graph in graphs]
    assert not any(misses), "\n".join(filter(None, misses))


def test_bounds_are_near_the_oracles(compiled):
    """Most elements' are within ten times numpy's."""
    graphs, model = compiled
    ratios = []
    for graph in graphs:
        inputs = draw_inputs(graph)
        for bound, expected in zip(bind_bounds(model, graph.name, inputs)(), evaluate(graph, inputs), strict=True):
            known = expected.error > 0
            ratios.append(np.median(bound[known] / expected.error[known]) if known.any() else 1.0)
    assert np.quantile(ratios, 0.9) < 10.0, np.quantile(ratios, [0.1, 0.5, 0.9])


FUNCTIONS = {
    "log1p": ("%r = math.log1p %x : tensor<64xf32>", np.log1p),
    "expm1_of_tanh": (
        "%0 = tenon.tanh %x : tensor<64xf32>\n  %r = math.expm1 %0 : tensor<64xf32>",
        lambda x: np.expm1(np.tanh(x)),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_small_elements_beside_large_ones(name, tmp_path):
    """What a wrong expansion makes of 1e-9 beside 1 is far outside."""
    body, exact = FUNCTIONS[name]
    source = tmp_path / "small.mlir"
    source.write_text(
        f"func.func @f(%x: tensor<64xf32>) -> tensor<64xf32> {{\n  {body}\n  return %r : tensor<64xf32>\n}}"
    )
    tool(TENON_COMPILE, source, "--reference", "-o", tmp_path / "small.so")
    model = open_model(tmp_path / "small.so")
    x = np.geomspace(1e-12, 1.0, 64).astype(np.float32)
    (bound,) = bind_bounds(model, "f", {"x": x})()
    (reference,) = bind_reference(model, "f", {"x": x})()
    np.testing.assert_allclose(reference, exact(decode(x, "f32")), rtol=1e-14)
    assert (bound < 1e-5 * abs(reference)).all() and (bound > 0).all()


@pytest.mark.parametrize(
    ("ops", "flags"),
    [(1, ["--allow-rounding-changes"]), (1, ["--fold-weights"]), (257, [])],
    ids=["rounding", "folding", "long"],
)
def test_no_bounds(ops, flags, tmp_path):
    """Where results may be rounded otherwise, or code would take long, elements are not judged."""
    vector, source = "tensor<64xf32>", tmp_path / "none.mlir"
    body = "\n  ".join(f"%v{i + 1} = tenon.tanh %v{i} : {vector}" for i in range(ops))
    source.write_text(f"func.func @f(%v0: {vector}) -> {vector} {{\n  {body}\n  return %v{ops} : {vector}\n}}")
    tool(TENON_COMPILE, source, "--reference", *flags, "-o", tmp_path / "none.so")
    (entry,) = open_model(tmp_path / "none.so").manifest["entries"]
    assert "reference" in entry and "bounds" not in entry
