# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiled kernels at any alignment and at the edges of memory: nothing else is read or written."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon", reason="the package compiles the layers")
from cuda_driver import LonelyMemory  # noqa: E402
from tenon_graphs.dtypes import BYTES  # noqa: E402
from tenon_graphs.execute import bind_entry  # noqa: E402
from tenon_graphs.memory import Guarded  # noqa: E402
from tenon_graphs.tiled import KINDS, compile_tiled  # noqa: E402
from tiled_layers import Layer  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU"),
]
# Rows of whole 16-byte chunks that end within a tile; rows of none; less than a tile.
SHAPES = [(264, 200), (257, 199), (8, 16), (3, 1)]
ROWS = [1, 129]
TENSORS = ["x", "w", "bias", "residual", "y"]


@pytest.fixture(scope="module", params=list(KINDS))
def layers(request, tmp_path_factory):
    """Give layers of a kind, and their model."""
    made = [Layer(request.param, n, k) for n, k in SHAPES]
    compiled = compile_tiled([layer.graph() for layer in made], tmp_path_factory.mktemp("memory") / "layers", "cuda")
    assert compiled.library == 0
    return made, compiled.model


def name_of(model, layer, tensor):
    """Return what Guarded calls a tensor of the kernel: w may be what the prepare function makes of it."""
    entry = next(e for e in model.manifest["entries"] if e["name"] == layer.name)
    if tensor == "y":
        return f"{entry['run']}.y0"
    return f"{entry['prepare']}.y0" if tensor == "w" and "prepare" in entry else tensor


def check(model, layer, m, memory, what):
    """Call a layer with all of its tensors in `memory`."""
    tensors = layer.draw(m)
    (got,) = bind_entry(model, layer.name, memory.copy(tensors), memory)()
    torch.cuda.synchronize()
    memory.check()
    layer.assert_right(got, tensors, what)


@pytest.mark.parametrize("tensor", TENSORS)
@pytest.mark.parametrize("shift", [2, 4, 8])
def test_one_tensor_is_misaligned(layers, tensor, shift):
    made, model = layers
    for layer in made:
        name = name_of(model, layer, tensor)
        if shift % (4 if tensor == "bias" else BYTES[layer.dtype]) == 0:
            for m in ROWS:
                check(model, layer, m, Guarded(shifts={name: shift}), f"{name} {shift} bytes off")


@pytest.mark.parametrize("shift", [0, 1, 3])
def test_all_tensors_are_misaligned(layers, shift):
    made, model = layers
    for layer in made:
        for m in [*ROWS, 2, 64]:
            check(model, layer, m, Guarded(shift), f"{shift} elements off")


@pytest.mark.parametrize("at_end", [True, False], ids=["end", "begin"])
def test_tensors_at_the_edge_of_mapped_memory(layers, at_end):
    made, model = layers
    for layer in made:
        for m in ROWS:
            with LonelyMemory(at_end) as memory:
                check(model, layer, m, memory, "at the edge of memory")
