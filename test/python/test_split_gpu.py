# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernel of tenon.split gives the bits that its definition says, for any K, M and alignment, and writes no more."""

import numpy as np
import pytest
import split_reference as reference

torch = pytest.importorskip("torch")
pytest.importorskip("tenon", reason="the package compiles the layers")
from cuda_driver import LonelyMemory  # noqa: E402
from tenon_graphs.devices import assert_same_bits, require_gpu, to_gpu, to_host  # noqa: E402
from tenon_graphs.execute import bind, open_model  # noqa: E402
from tenon_graphs.memory import Guarded  # noqa: E402
from tenon_graphs.tiled import TARGET  # noqa: E402

pytestmark = pytest.mark.gpu
EXTENTS = [1, 7, 8, 31, 32, 33, 64, 100, 1000, 4099, 8192, 16384, 65536]
CASES = [(k, parts) for k in EXTENTS for parts in (1, 2)]
STATIC_ROWS = [1, 67]


def name_of(k, parts, m="?"):
    return f"split_{k}_{parts}" if m == "?" else f"split_{k}_{parts}_{m}"


def function(k, parts, m="?"):
    columns = reference.columns(k, parts)
    x, halves, factors = f"tensor<{m}x{k}xf32>", f"tensor<{m}x{columns}xf16>", f"tensor<{m}x1xf32>"
    return (
        f"func.func @{name_of(k, parts, m)}(%x: {x}) -> ({halves}, {factors}) {{\n"
        f"  %0:2 = tenon.split %x : ({x}) -> ({halves}, {factors})\n"
        f"  return %0#0, %0#1 : {halves}, {factors}\n}}\n"
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Give a model with a function for each K and number of parts, of any M; for some K also of static M."""
    from tenon import compiler

    require_gpu()
    functions = [function(k, parts) for k, parts in CASES]
    functions += [function(k, parts, m) for k in (33, 8192) for parts in (1, 2) for m in STATIC_ROWS]
    folder = tmp_path_factory.mktemp("split")
    (folder / "split.mlir").write_text("".join(functions))
    compiler.build(folder / "split.mlir", folder / "split.so", TARGET)
    made = open_model(folder / "split.so")
    made.load()
    return made


def rows_of(k):
    """Return rows of every kind that the definition tells apart."""
    rng = np.random.default_rng(k)
    return np.concatenate([reference.special_rows(k, rng), reference.tie_rows(k, rng)])


def check(model, name, parts, x, memory):
    """Split x twice with all tensors in `memory`, and compare all bits but those of NaNs with the reference's."""
    call = bind(model, name, [memory.copy({"x": to_gpu(x)})["x"]], memory)
    halves, factors = to_host(call())
    for output in call.outputs:
        output.fill_(float("nan"))
    assert_same_bits([halves, factors], to_host(call()), name)
    expected, expected_factors, _ = reference.split(x, parts)
    np.testing.assert_array_equal(factors.view(np.uint32), expected_factors.view(np.uint32))
    isnan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(halves), isnan)
    np.testing.assert_array_equal(halves.view(np.uint16)[~isnan], expected.view(np.uint16)[~isnan])
    for memory_block, start, size in memory.blocks:
        beside = torch.cat([memory_block[:start], memory_block[start + size :]])
        assert bool((beside == 0xFF).all()), f"{name}: memory beside a tensor of {size} bytes was written"


@pytest.mark.parametrize(("k", "parts"), CASES)
@pytest.mark.parametrize("shift", [0, 1, 2, 3])
def test_bits_at_any_alignment(model, k, parts, shift):
    check(model, name_of(k, parts), parts, rows_of(k), Guarded(shift))


@pytest.mark.parametrize(("k", "parts"), CASES)
def test_any_number_of_rows(model, k, parts):
    rng = np.random.default_rng(k)
    for m in (1, 0, 2, 3, 131, 1500):
        if m * k <= 1 << 24:
            x = rng.standard_normal((m, k)).astype(np.float32)
            check(model, name_of(k, parts), parts, x, Guarded(m % 4))


@pytest.mark.parametrize("m", STATIC_ROWS)
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("k", [33, 8192])
def test_static_rows(model, k, parts, m):
    x = np.resize(rows_of(k), (m, k))
    check(model, name_of(k, parts, m), parts, x, Guarded())


@pytest.mark.parametrize(("k", "parts"), CASES)
@pytest.mark.parametrize("at_end", [True, False], ids=["end", "begin"])
def test_tensors_at_the_edge_of_mapped_memory(model, k, parts, at_end):
    for m in (1, 5):
        with LonelyMemory(at_end) as memory:
            check(model, name_of(k, parts), parts, rows_of(k)[:m], memory)


def test_only_one_row_is_outside(model):
    """Of many rows the one that is outside has a negative factor, wherever it is."""
    k, m = 1000, 300
    for row in (0, 31, 128, 299):
        x = np.random.default_rng(row).standard_normal((m, k)).astype(np.float32)
        x[row] *= np.exp2(-np.arange(k) * 0.1).astype(np.float32)
        check(model, name_of(k, 2), 2, x, Guarded())
        _, factors = to_host(bind(model, name_of(k, 2), [to_gpu(x)])())
        assert np.flatnonzero(factors < 0).tolist() == [row]
