# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What makes tests fast makes them no different: models compiled apart and ahead, the oracle in blocks of rows."""

import threading

import numpy as np
import pytest

pytest.importorskip("tenon", reason="the package compiles the graphs")
from tenon_graphs import bounded
from tenon_graphs.ahead import compile_ahead, compilers
from tenon_graphs.batch_norm import draw, norm_graph
from tenon_graphs.bounded import Bounded, by_rows
from tenon_graphs.execute import bind_entry, describe_misses
from tenon_graphs.memory import Guarded
from tenon_graphs.oracle import evaluate
from tenon_graphs.tiled import compile_apart


def test_models_are_called_as_one(tmp_path):
    """With prepared parameters, a workspace, and outputs of dynamic shapes."""
    graphs = [norm_graph("bf16", "bsaprAR", 72, 40), norm_graph("fp32", "bsr", 40, 136, 65)]
    compiled = compile_apart(graphs, tmp_path / "norms", "cpu")
    assert compiled.tiled + compiled.library == len(graphs)
    for graph in graphs:
        graph.extents["m"] = 65
        inputs, memory = draw(graph), Guarded()
        got = bind_entry(compiled.model, graph.name, memory.copy(inputs), memory)()
        memory.check()
        assert not describe_misses(graph, got, evaluate(graph, inputs))


def test_what_is_asked_for_comes_first_and_errors_stay_with_their_name():
    started, hold = [], threading.Event()

    def job(name):
        started.append(name)
        assert name == "asked" or hold.wait(60)
        assert name != "wrong"
        return name

    names = ["wrong", "right", "asked"]
    with compile_ahead({name: [lambda name=name: job(name)] * 2 for name in names}) as get:
        assert get("asked") == ["asked", "asked"]
        assert started[0] == "asked"
        hold.set()
        with pytest.raises(AssertionError):
            get("wrong")
        assert get("right") == ["right", "right"]
        assert started.count("right") == 2
    assert compilers() is compilers()


def combine(x, row, column, nothing):
    assert nothing is None
    with np.errstate(all="raise"):
        np.sqrt(x.value + 1.0)
    value = x.value * row.value + column.value
    return Bounded(value, x.error + row.error * abs(value) + np.sqrt(x.value - 1.0))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shape", [(1, 1000), (1000, 1), (37, 129), (130, 64), (0, 8)])
def test_blocks_of_rows_have_the_same_bits(shape, monkeypatch):
    """Large ones are cut, in threads, where errors of NumPy are handled as outside."""
    rng = np.random.default_rng(0)
    x = Bounded(rng.random(shape), rng.random(shape))
    row = Bounded(rng.random(shape[1]), np.float64(0.5))
    column = Bounded(rng.random((shape[0], 1)), rng.random((shape[0], 1)))
    with np.errstate(invalid="ignore"):
        whole = combine(x, row, column, None)
        monkeypatch.setattr(bounded, "BLOCK", 256)
        cut = by_rows(combine, x, row, column, None)
    np.testing.assert_array_equal(cut.value, whole.value)
    np.testing.assert_array_equal(cut.error, whole.error)
    assert len(bounded.blocks_of_rows((130, 64))) == 33
