# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mma_sync kernels that give moments of their tiles, guarded ones too, run by the emulator of PTX."""

import re
import shutil
from dataclasses import dataclass

import numpy as np
import pytest
from ptx_emulator.host import ELEMENTS, Model
from ptx_emulator.layers import WORKSPACE, Layer, Operands, mma_sync, random, to_numbers, wgmma

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

TWO_PHASE = ", reduction = two_phase"


@dataclass
class MomentsLayer(Layer):
    """A layer that also yields moments of what it stores; M is static if it is given."""

    m: int | None = None

    @property
    def method(self):
        found = re.search(r"method = (\w+)", self.schedule)
        return found[1] if found else "direct"

    @property
    def rows(self):
        return 64 if "wgmma" in self.schedule else int(re.search(r"tile = (\d+)x", self.schedule)[1])

    @property
    def scalars(self):
        """Rows of the moments for each block."""
        return 3 if self.element == "f32" else 2

    def moment_rows(self, m):
        return self.scalars * -(-m // self.rows)

    def source(self):
        extent = self.moment_rows(self.m) if self.m else "?"
        p, text = f"{extent}x{self.n}xf32", super().source()
        if self.m:
            text = text.replace("<?x", f"<{self.m}x")
        text = text.replace("xi8>) {\n", f"xi8>, %p: memref<{p}>) {{\n", 1)
        text = re.sub(r"outs\(%y: (\S+)\)", rf"outs(%y: \1, %p: memref<{p}>)", text)
        return re.sub(
            r"tenon\.yield (%\d) : (\S+)",
            rf"%m = tenon.moments \1 {{rows = {self.rows}}} : \2 -> tensor<{p}>\n"
            rf"    tenon.yield \1, %m : \2, tensor<{p}>",
            text,
        )


def moments_of(y, rows):
    """Return means and M2 of blocks of rows in float64."""
    blocks = [y[first : first + rows] for first in range(0, len(y), rows)]
    means = [block.mean(axis=0) for block in blocks]
    return np.array(means), np.array([((b - mean) ** 2).sum(axis=0) for b, mean in zip(blocks, means, strict=True)])


def right(p, y, rows, where=True):
    """Tell whether moments of blocks are those of y: as exact as its elements allow, however far from zero they are.

    Of f32, a mean's two rows have it as exactly as elements differ; one row alone, or of 16 bits, as they are large.
    """
    blocks = p.reshape(-(-len(y) // rows), -1, y.shape[1]).astype(np.float64)
    with np.errstate(invalid="ignore"):
        mean, m2 = moments_of(y, rows)
        size, spread = np.abs(y).max(axis=0) * 2.0**-22, np.abs(y - y[0]).max(axis=0) * 2.0**-21
        # M2 is a sum of squares: an error of d in each distance makes 2 d sqrt(rows M2) of it.
        close = (np.abs(blocks[:, 0] - mean) <= size) & (
            np.abs(blocks[:, 1] - m2) <= m2 * 2.0**-19 + 2 * size * np.sqrt(rows * m2) + rows * size**2
        )
        if blocks.shape[1] == 3:
            close &= np.abs(blocks[:, 0] + blocks[:, 2] - mean) <= spread
        # Where an element is infinite, M2 is NaN, and the mean is not finite.
        close = np.where(np.isfinite(m2), close, ~np.isfinite(blocks[:, :2]).any(axis=1))
    return bool((close | ~np.asarray(where)).all())


def run(operands, model, shift=0, before=None, seed=None):
    """Run a layer; return y and the moments, and the kernel that was launched."""
    layer, device = operands.layer, model.device
    device.seed = seed
    m = len(operands.x)
    y_before, p_before = before or (None, np.full((layer.moment_rows(m), layer.n), np.nan, np.float32))
    y = device.empty((m, layer.n), ELEMENTS[layer.element]) if y_before is None else device.put(y_before)
    p, x = device.put(p_before), device.put(operands.x, shift)
    model.launched.clear()
    workspace = np.zeros(WORKSPACE, np.uint8)
    model.run("layer", x, operands.w, *operands.factors, operands.bias, operands.residual, y, workspace, p)
    return to_numbers(device.get(y), layer.element), device.get(p), model.launched[0]


def mma(tile, warps, k, more=""):
    return mma_sync(k, more + TWO_PHASE).replace("64x64", tile).replace("warps = 2x2", f"warps = {warps}")


FP16, FP16X3, FMA, STREAM = ", method = fp16", ", method = fp16x3", ", method = fma", ", stream_k = true"
# A layer and M, and what is added to all of y.
PRODUCTS = {
    "bf16": (MomentsLayer("sm_80", mma("64x64", "2x2", 64), 72, 136, "bf16"), 70, 0),
    "bf16_far": (MomentsLayer("sm_80", mma("64x64", "2x2", 64), 64, 64, "bf16"), 130, 64),
    "f16_stream_k": (MomentsLayer("sm_80", mma("64x64", "2x2", 64, STREAM), 20, 512, "f16"), 70, 0),
    "f16_odd": (MomentsLayer("sm_80", mma("64x64", "4x1", 64), 69, 40, "f16"), 33, 0),
    "f16_one_warp_of_rows": (MomentsLayer("sm_80", mma("32x128", "1x2", 64), 136, 64, "f16"), 70, 0),
    # 128 accumulators a thread: operands are loaded one step ahead.
    "bf16_full": (MomentsLayer("sm_80", mma("64x128", "1x2", 64), 136, 64, "bf16"), 70, 0),
    "tf32_full": (MomentsLayer("sm_80", mma("64x128", "1x2", 32), 100, 40), 150, 0),
    "tf32": (MomentsLayer("sm_80", mma("128x64", "4x2", 32), 72, 40), 150, 0),
    "tf32_far": (MomentsLayer("sm_80", mma("64x64", "2x2", 32), 72, 40), 100, 1000),
    "tf32_static": (MomentsLayer("sm_80", mma("64x128", "2x2", 32), 128, 64, m=128), 128, 0),
    "tf32_few_rows": (MomentsLayer("sm_80", mma("64x64", "2x2", 32), 64, 64, m=20), 20, 0),
    "tf32_narrow_group": (MomentsLayer("sm_80", mma("64x96", "2x1", 32), 94, 64), 70, 0),
    "fma": (MomentsLayer("sm_80", mma("64x64", "2x2", 32, FMA), 72, 40), 70, 0),
    "fma_far": (MomentsLayer("sm_80", mma("128x64", "4x2", 32, FMA), 70, 40), 130, 1000),
    "fma_one_row": (MomentsLayer("sm_80", mma("16x128", "1x4", 32, FMA), 66, 40, m=1), 1, 0),
    "fma_many_rows": (MomentsLayer("sm_80", mma("256x64", "4x2", 32, FMA), 64, 32), 300, 0),
    "fp16": (MomentsLayer("sm_80", mma("64x64", "2x2", 64, FP16), 20, 100, factors=True), 70, 0),
    "fp16x3": (MomentsLayer("sm_80", mma("64x64", "2x2", 64, FP16X3), 20, 100, factors=True), 70, 0),
    "fp16x3_wide": (MomentsLayer("sm_80", mma("128x128", "2x4", 64, FP16X3), 137, 70, factors=True), 140, 0),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_moments(name, tmp_path):
    layer, m, distance = PRODUCTS[name]
    model = layer.compile(tmp_path)
    x, w = random(m, layer.k), random(layer.n, layer.k, seed=4)
    if layer.element == "f32" and layer.method == "direct":  # numbers that tf32 holds
        x, w = ((a.view(np.uint32) & 0xFFFFE000).view(np.float32) for a in (x, w))
    operands = Operands(layer, x, w)
    operands.bias = operands.bias + np.float32(distance)
    launched = set()
    for shift, seed in ((0, 1), (4 if layer.element == "f32" and not layer.factors else 2, None)):
        y, p, kernel = run(operands, model, shift, seed=seed)
        assert distance or operands.right(y)
        assert right(p, y, layer.rows)
        assert not right(p + np.float32(0.01), y, layer.rows)
        launched.add(kernel)
    assert len(launched) == (1 if layer.n % 2 and layer.k % 2 else 2)


# Rows of y that are no multiples of 16 bytes are stored without TMA; a warp then has 16 of each 64 rows.
UNTILED = {
    "bf16": (MomentsLayer("sm_90a", wgmma("128x16", 64, "4x1", TWO_PHASE), 21, 72, "bf16"), 150),
    "tf32_ping_pong": (MomentsLayer("sm_90a", wgmma("64x32", 32, "4x1", ", ping_pong = true" + TWO_PHASE), 42, 40), 70),
}


@pytest.mark.parametrize("name", UNTILED)
def test_moments_of_wgmma_without_tma(name, tmp_path):
    layer, m = UNTILED[name]
    model = layer.compile(tmp_path)
    x, w = ((a.view(np.uint32) & 0xFFFFE000).view(np.float32) for a in (random(m, layer.k), random(layer.n, layer.k)))
    operands = Operands(layer, x, w)
    y, p, _ = run(operands, model, seed=1)
    assert operands.right(y)
    assert right(p, y, layer.rows)


GUARDED = {
    "fma": MomentsLayer("sm_80", mma("64x64", "2x2", 32, FMA), 72, 40, factors=True),
    "fma_128": MomentsLayer("sm_80", mma("128x64", "4x2", 32, FMA), 72, 40, factors=True),
    "tf32": MomentsLayer("sm_80", mma("64x64", "2x2", 32), 72, 40, factors=True),
}
# A row of x or w outside, and what its element 7 is.
OUTSIDE = {"none": (None, 1.0), "x": (("x", 129), 1e-30), "w": (("w", 5), 1e-30), "x_inf": (("x", 3), np.inf)}


@pytest.fixture(scope="module", params=GUARDED)
def guarded(request, tmp_path_factory):
    layer = GUARDED[request.param]
    return layer, layer.compile(tmp_path_factory.mktemp("guarded"))


@pytest.mark.parametrize("shift", [0, 4])
@pytest.mark.parametrize("where", OUTSIDE)
def test_guard(guarded, where, shift):
    layer, model = guarded
    row, value = OUTSIDE[where]
    m = 150
    made = Operands.with_row_outside(layer, m, row, value)
    computed = np.zeros((m, layer.n), bool)
    if row:
        tile = layer.rows if row[0] == "x" else 64
        computed.T[:] |= (np.arange(m) // tile == row[1] // tile) if row[0] == "x" else False
        computed[:] |= (np.arange(layer.n) // tile == row[1] // tile) if row[0] == "w" else False
    before = random(m, layer.n, seed=5), random(layer.moment_rows(m), layer.n, seed=6)
    y, p, _ = run(made, model, shift, before, seed=2)
    assert made.right(y, computed)
    assert (y == before[0])[~computed].all()
    of_tiles = computed[:: layer.rows]
    assert right(p, y, layer.rows, of_tiles)
    assert (p == before[1])[~np.repeat(of_tiles, layer.scalars, axis=0)].all()


def test_moments_of_f16_by_fma(tmp_path):
    """Four threads have a row, so that shuffles meet the bits of the lane that fma exchanges."""
    m, n, k, rows = 70, 72, 40, 64
    y, p, t = f"memref<?x{n}xf16>", f"memref<?x{n}xf32>", f"tensor<?x{n}x"
    model = Model(
        f"""func.func @f(%x: memref<?x{k}xf32>, %w: memref<{n}x{k}xf32>, %y: {y}, %p: {p}) {{
  tenon.tiled_linear %x, %w : memref<?x{k}xf32>, memref<{n}x{k}xf32>
      epilogue(%acc: {t}f32>) outs(%y: {y}, %p: {p}) schedule<{mma("64x64", "2x2", 32, FMA)}> {{
    %0 = tenon.cast %acc : {t}f32> -> {t}f16>
    %1 = tenon.moments %0 {{rows = {rows}}} : {t}f16> -> {t}f32>
    tenon.yield %0, %1 : {t}f16>, {t}f32>
  }}
  return
}}""",
        "sm_80",
        tmp_path,
    )
    x, w = random(m, k), random(n, k, seed=4)
    device = model.device
    z, moments = device.empty((m, n), np.float16), device.empty((2 * -(-m // rows), n), np.float32)
    model.run("f", x, w, z, moments)
    stored = device.get(z).astype(np.float64)
    assert np.allclose(stored, x.astype(np.float64) @ w.T.astype(np.float64), rtol=2**-10, atol=1e-3)
    assert right(device.get(moments), stored, rows)
