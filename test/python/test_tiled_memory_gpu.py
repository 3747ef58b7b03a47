# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiled kernels at any alignment and at the edges of memory: nothing else is read or written."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon", reason="the package compiles the layers")
from cuda_driver import LonelyMemory  # noqa: E402
from tenon_graphs import wgmma  # noqa: E402
from tenon_graphs.devices import require_hopper  # noqa: E402
from tenon_graphs.dtypes import BYTES  # noqa: E402
from tenon_graphs.execute import bind_entry  # noqa: E402
from tenon_graphs.memory import Guarded  # noqa: E402
from tenon_graphs.tiled import KINDS, TARGET, compile_tiled  # noqa: E402
from tiled_layers import Layer  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU"),
]
# Rows of whole 16-byte chunks that end within a tile; rows of none; less than a tile.
SHAPES = [(264, 200), (257, 199), (8, 16), (3, 1)]
# The same, but all rows of K are for TMA.
WGMMA_SHAPES = [(264, 200), (257, 72), (8, 16), (3, 8)]
# Kind, and the schedule of wgmma: "" for the one that is chosen.
WGMMA = [
    ("bf16", ""),
    ("tf32", ""),
    ("f16", "wgmma_128x256_2x1_stream_k"),
    ("tf32", "wgmma_256x128_1x2_stream_k"),
    ("bf16", "wgmma_64x256_ping_pong_stream_k"),
    ("f16", "wgmma_64x40"),
]
CASES = [(kind, None) for kind in KINDS] + WGMMA
ROWS = [1, 129]
TENSORS = ["x", "w", "bias", "residual", "y"]


def compile_case(kind, schedule, stem, device):
    """Return layers of a kind, and their model."""
    if schedule:
        made = [Layer(kind, n, k) for n, k in WGMMA_SHAPES]
        return made, wgmma.compile_wgmma([layer.graph() for layer in made], stem, device, kind, schedule).model
    made = [Layer(kind, n, k) for n, k in SHAPES]
    target = TARGET if schedule is None else wgmma.TARGET
    compiled = compile_tiled([layer.graph() for layer in made], stem, device, target=target)
    assert (compiled.library, compiled.wgmma) == (0, 0 if schedule is None else 2)
    return made, compiled.model


def id_of(case):
    return case[0] if case[1] is None else f"{case[0]}-{case[1] or 'wgmma'}"


@pytest.fixture(scope="module", params=CASES, ids=id_of)
def layers(request, tmp_path_factory):
    """Give layers of a kind, and their model."""
    if request.param[1] is not None:
        require_hopper()
    return compile_case(*request.param, tmp_path_factory.mktemp("memory") / "layers", "cuda")


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
