# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that f16 on one scale cannot hold: their tiles, and no others, come from the kernel without tensor cores."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon", reason="the package compiles the layers")
from tenon_graphs.devices import schedule_fixtures, to_device, to_host  # noqa: E402
from tenon_graphs.execute import bind_entry, describe_misses  # noqa: E402
from tenon_graphs.fp32 import SCHEDULES, compile_fp32, find_guard  # noqa: E402
from tenon_graphs.graph import Graph, Op, Value, draw_inputs  # noqa: E402
from tenon_graphs.oracle import evaluate  # noqa: E402
from tenon_graphs.tiled import compile_tiled, linear  # noqa: E402
from tiled_layers import Layer, same_bits  # noqa: E402

pytestmark = pytest.mark.gpu
NAMES = [
    "wgmma_128x128",
    "wgmma_128x168_stream_k",
    "wgmma_128x192_2x1",
    "mma_sync_128x128",
    "mma_sync_128x64_stream_k",
    "wgmma_fp16_128x256_stream_k",
    "mma_sync_fp16_128x128_stream_k",
]
M, N, K = 300, 520, 1096
# The first and last of a tile of any size, and the last of all.
ROWS, COLUMNS = [0, 127, 128, 299], [64, 511, 519]


def sum_graph(kind):
    """Return y = relu(x w^T) + z v^T: what is added is a result of the model's own, whose memory y may take."""
    x, z = (Value(name, ("m", K), "f32") for name in "xz")
    w, v = (Value(name, (N, K), "f32", "weight", is_param=True) for name in "wv")
    p, r, q, y = (Value(name, ("m", N), "f32") for name in "prqy")
    ops = [linear(kind, x, w, p), Op("relu", [p], [r]), linear(kind, z, v, q), Op("add", [r, q], [y])]
    return Graph("sum", {"m": M}, dynamic=True, inputs=[x, z, w, v], ops=ops, returns=[y])


class Case:
    """A schedule's layers, and the same by the guarded kernel's schedule alone."""

    def __init__(self, name, folder):
        kind = SCHEDULES[name].kind
        self.layer, self.bare, self.sum = Layer(kind, N, K), Layer(kind, N, K, bare=True), sum_graph(kind)
        graphs = [self.layer.graph(), self.bare.graph(), self.sum]
        self.model = compile_fp32(graphs, folder / name, "cuda", name).model
        text, self.tile_rows, self.tile_columns = find_guard(graphs[0], folder / f"{name}-guard", name)
        self.alone = compile_tiled(graphs[:2], folder / f"{name}-alone", "cuda", text, SCHEDULES[name].target).model

    def run(self, tensors, alone=False):
        """Return a copy of the layer's result."""
        call = bind_entry(self.alone if alone else self.model, self.layer.name, tensors)
        call.outputs[0].fill_(float("nan"))
        return call()[0].clone()


compiled, name, case = schedule_fixtures(NAMES, Case)


def widen(tensor, rows):
    """Give rows magnitudes over 40 powers of two: on the scale of the largest most lose digits."""
    generator = torch.Generator("cuda").manual_seed(7)
    shape = (len(rows), tensor.shape[1])
    exponents = torch.rand(shape, device="cuda", generator=generator) * -40.0
    signs = torch.randint(0, 2, shape, device="cuda", generator=generator) * 2.0 - 1.0
    tensor[rows] = signs * torch.exp2(exponents) * tensor.abs().max()


def tiles_of(case, rows, columns):
    """Return where tiles with any of these rows or columns are."""
    mask = torch.zeros(M, N, dtype=torch.bool, device="cuda")
    for row in rows:
        start = row // case.tile_rows * case.tile_rows
        mask[start : start + case.tile_rows] = True
    for column in columns:
        start = column // case.tile_columns * case.tile_columns
        mask[:, start : start + case.tile_columns] = True
    return mask


@pytest.mark.parametrize(("rows", "columns"), [(ROWS, []), ([], COLUMNS), ([5], [519]), ([M - 1], []), ([], [0])])
def test_their_tiles_and_no_others(case, rows, columns):
    tensors = case.layer.draw(M)
    before = case.run(tensors)
    widen(tensors["x"], rows)
    widen(tensors["w"], columns)
    after, alone = case.run(tensors), case.run(tensors, alone=True)
    tiles = tiles_of(case, rows, columns)
    assert same_bits(after[tiles], alone[tiles]), "not the other kernel's bits in the tiles of rows outside"
    assert same_bits(after[~tiles], before[~tiles]), "other bits in tiles without a row outside"
    case.layer.assert_right(after, tensors, "some rows outside")
    kept = tiles.clone()
    kept[rows], kept[:, columns] = False, False
    assert not bool(kept.any()) or not same_bits(after[kept], before[kept]), "both kernels give the same bits"
    assert same_bits(case.run(tensors), after), "the second call has other bits"


@pytest.mark.parametrize("wide", ["x", "w", "xw"])
def test_all_rows(case, wide):
    tensors = case.layer.draw(M)
    for name in wide:
        widen(tensors[name], list(range(tensors[name].shape[0])))
    after = case.run(tensors)
    case.layer.assert_right(after, tensors, f"all rows of {wide} outside")
    assert same_bits(after, case.run(tensors, alone=True))


def is_outside(case, tensors, tiles):
    """Tell whether the tiles come from the guarded kernel; other rows in them differ between the two."""
    return same_bits(case.run(tensors)[tiles], case.run(tensors, alone=True)[tiles])


def test_few_lost_elements_are_no_reason(case):
    """A row is outside from one lost element on more than a 64th of them; with two parts, than one less than that."""
    tensors, kept = case.layer.draw(M), K - K % 64
    row, lost = tensors["x"][3], 2.0**-30 * (1.0 + 2.0**-9)
    count = kept // 64 - (case.layer.kind == "fp32")
    row[:count], row[count:kept], row[kept:] = lost, 1.0, 0.0
    tiles = tiles_of(case, [3], [])
    assert not is_outside(case, tensors, tiles)
    row[count] = lost
    assert is_outside(case, tensors, tiles)
    case.layer.assert_right(case.run(tensors), tensors, "one lost element too many")


@pytest.mark.parametrize("count", [1, 63, 64])
def test_few_numbers(case, count):
    """With two parts a row of fewer than 64 numbers is outside: no sum hides what the parts lack."""
    tensors = case.layer.draw(M)
    tensors["x"][200, count:] = 0.0
    assert is_outside(case, tensors, tiles_of(case, [200], [])) == (case.layer.kind == "fp32" and count < 64)


@pytest.mark.parametrize("scales", [{"x": (-140, 60), "w": (-9, 60)}, {"x": (-9, 9), "w": (-110, 110)}], ids=["x", "w"])
def test_scales(case, scales):
    """Rows of x from 2^-140 to 2^120, denormal ones, of w from 2^-110 to 2^110, and zeros are as right as others."""
    layer = case.bare
    tensors = layer.draw(M)
    generator = torch.Generator("cuda").manual_seed(3)
    for name, (low, high) in scales.items():
        rows = tensors[name].shape[0]
        exponents = torch.randint(low, high, (rows, 1), device="cuda", generator=generator)
        tensors[name] = (tensors[name].double() * torch.exp2(exponents.double())).float()
    tensors["x"][17], tensors["w"][33] = 0.0, 0.0
    (got,) = bind_entry(case.model, layer.name, tensors)()
    layer.assert_right(got, tensors, "rows of many scales")
    assert not bool(got[17].any()) and not bool(got[:, 33].any())


def test_what_is_added_is_read_again(case):
    """The second kernel's epilogue reads its operands as they were before the first one wrote the result."""
    inputs = draw_inputs(case.sum)
    tensors = to_device(inputs, "cuda")
    for name in "xz":
        widen(tensors[name], ROWS)
        inputs[name] = tensors[name].cpu().numpy()
    got = to_host(bind_entry(case.model, "sum", tensors)())
    misses = describe_misses(case.sum, got, evaluate(case.sum, inputs))
    assert not misses, misses


def test_the_device_decides(case):
    """A captured call follows x: the host knew of no row outside when it was captured."""
    tensors = case.layer.draw(M)
    clean = tensors["x"].clone()
    call = bind_entry(case.model, case.layer.name, tensors)
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    before = case.run(tensors)
    for rows in ([], ROWS, list(range(M)), []):
        tensors["x"].copy_(clean)
        widen(tensors["x"], rows)
        call.outputs[0].fill_(float("nan"))
        graph.replay()
        torch.cuda.synchronize()
        assert same_bits(call.outputs[0], case.run(tensors))
        case.layer.assert_right(call.outputs[0], tensors, f"{len(rows)} rows outside")
    assert same_bits(call.outputs[0], before)


def test_rows_outside_are_counted(case):
    """Each call counts x's rows, each preparation w's, each replay of a captured call too."""
    tensors = case.layer.draw(M)
    start = case.model.rows_outside()
    case.run(tensors)
    assert case.model.rows_outside() == start
    widen(tensors["x"], ROWS)
    widen(tensors["w"], COLUMNS)
    call = bind_entry(case.model, case.layer.name, tensors)
    assert case.model.rows_outside() == start + len(COLUMNS)
    call()
    assert case.model.rows_outside() == start + len(COLUMNS) + len(ROWS)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    for _ in range(3):
        graph.replay()
    assert case.model.rows_outside() == start + len(COLUMNS) + 4 * len(ROWS)
