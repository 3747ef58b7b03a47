# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon.cast rounds every value right to the last bit: alone, of any shape, and in an epilogue."""

import numpy as np
import pytest
from tenon_graphs.devices import to_device, to_host
from tenon_graphs.dtypes import decode, encode
from tenon_graphs.execute import bind_entry
from tenon_graphs.graph import draw_inputs
from tenon_graphs.modules import open_module, with_batch

EVERY = np.arange(2**16, dtype=np.uint16)


@pytest.fixture(scope="module")
def casts(device, tmp_path_factory):
    """Give the graphs of casts, and the model that they were compiled to."""
    graphs, model = open_module("casts", device, tmp_path_factory.mktemp("casts"))
    if device == "cuda":
        model.load()
    return graphs, model


def hard_values(dtype: str) -> np.ndarray:
    """Return values as stored: all that 16 bits or 8 hold; in f32, those and their neighbourhoods up to half way."""
    if dtype.startswith("f8"):
        return np.tile(EVERY[:256].astype(np.uint8), 4)
    if dtype != "f32":
        return EVERY.view(np.float16) if dtype == "f16" else EVERY
    f16 = EVERY.view(np.float16).astype(np.float32).view(np.uint32)
    bf16 = EVERY.astype(np.uint32) << 16
    near = [bits + np.uint32(offset) for bits in (f16, bf16) for offset in (0, 1, 0xFFF, 0x1000, 0x1001, 0x2000)]
    near += [bf16 + np.uint32(offset) for offset in (0x7FFF, 0x8000, 0x8001)]
    return np.concatenate(near).view(np.float32)


def shuffled(values: np.ndarray) -> np.ndarray:
    """Return values in an order of no pattern, so that any few of them are of all kinds."""
    return np.random.default_rng(0).permutation(values)


def test_every_value(casts, device):
    graphs, model = casts
    assert len(graphs) == 16
    for graph in graphs:
        source = graph.inputs[0].dtype
        values = shuffled(hard_values(source))
        graph = with_batch(graph, len(values) // 8)
        inputs = draw_inputs(graph)
        inputs["w"][...] = 0
        for i in range(7):
            name = f"x{i}"
            size, shape = inputs[name].size, inputs[name].shape
            inputs[name] = np.roll(values, i)[:size].reshape(shape)
        got = to_host(bind_entry(model, graph.name, to_device(inputs, device))())
        for i, value in enumerate(graph.returns):
            with np.errstate(invalid="ignore"):  # numpy minds a signalling NaN
                exact = decode(inputs[f"x{i}"], source) + (0.0 if i == 6 else -0.0)
            check_bits(got[i], exact, value.dtype, f"{graph.name} {value.name}")


def check_bits(got: np.ndarray, exact: np.ndarray, dtype: str, what: str) -> None:
    """Fail unless `got` is `exact` rounded, with NaN where that is NaN."""
    isnan = np.isnan(exact)
    with np.errstate(invalid="ignore", over="ignore"):
        np.testing.assert_array_equal(np.isnan(decode(got, dtype)), isnan, what)
        expected = encode(np.where(isnan, 0.0, exact), dtype)
    same = np.ascontiguousarray(got).view(np.uint8) == np.ascontiguousarray(expected).view(np.uint8)
    wrong = ~same.reshape(-1, got.itemsize).all(1) & ~isnan.reshape(-1)
    assert not wrong.any(), f"{what}: {wrong.sum()} wrong, the first {exact.reshape(-1)[wrong][0]!r}"


def test_empty_batch(casts, device):
    graphs, model = casts
    for graph in graphs:
        got = to_host(bind_entry(model, graph.name, to_device(draw_inputs(graph), device))())
        assert [value.shape for value in got] == [graph.shape_of(v) for v in graph.returns]
