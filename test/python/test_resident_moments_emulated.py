# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variances that resident batch norm finds in columns whose mean is a million times their deviation.

Numbers are such that f32 holds every product and sum, so that what errs is how moments are computed alone.
"""

import re
import shutil

import numpy as np
import pytest
from ptx_emulator.host import Model
from ptx_emulator.layers import to_bits, wgmma

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

K, N = 256, 32
MEAN, UNIT = 9984.0, 2.0**-10  # a unit is the last place of the mean
MAX_BLOCKS = 192
CLUSTER = ", cluster = 2x1"


def source(m: int, schedule: str, element: str, tile_n: int) -> str:
    """Return y = batch_norm(x w^T) that also gives the batch's unbiased variance as the new running one."""
    x, w, y = (f"memref<{shape}x{element}>" for shape in (f"{m}x{K}", f"{N}x{K}", f"{m}x{N}"))
    t, v, vt = f"tensor<{m}x{N}xf32>", f"memref<{N}xf32>", f"tensor<{N}xf32>"
    yt = y.replace("memref", "tensor")
    cast = f"%y1 = tenon.cast %0#0 : {t} -> {yt}" if element != "f32" else ""
    return f"""
func.func @layer(%x: {x}, %w: {w}, %y: {y}, %s: memref<{MAX_BLOCKS * (8 + 32 * tile_n)}xi8>, %mean: {v}, %var: {v}) {{
  tenon.tiled_linear %x, %w : {x}, {w}
      epilogue(%acc: {t}, %m = %mean: {v}, %v = %var: {v}) outs(%y: {y}, %mean: {v}, %var: {v})
      workspace(%s: memref<{MAX_BLOCKS * (8 + 32 * tile_n)}xi8>) schedule<{schedule}, reduction = resident> {{
    %0:3 = tenon.batch_norm_training %acc running(%m, %v) {{eps = 1.0e-9, momentum = 1.0}}
        : ({t}, {vt}, {vt}) -> ({t}, {vt}, {vt})
    {cast}
    tenon.yield {"%y1" if cast else "%0#0"}, %0#1, %0#2 : {yt}, {vt}, {vt}
  }}
  return
}}"""


def draw(m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return x and w, of whose product each element is a mean and a few units. Rows of one 16 have much in common."""
    numbers = np.random.default_rng(m)
    x = numbers.integers(-1, 2, (m, K)).astype(np.float32)
    w = (numbers.integers(-1, 2, (N, K)) * UNIT).astype(np.float32)
    x[:, -2] = numbers.integers(-6, 7, -(-m // 16)).repeat(16)[:m]
    w[:, -2] = numbers.choice([-2, -1, 1, 2], N) * UNIT
    x[:, -1], w[:, -1] = 1.0, MEAN
    return x, w


def merge(a: tuple, b: tuple) -> tuple:
    """Return count, mean and M2 of two sets, by Chan's rule in f32."""
    count, distance = np.float32(a[0] + b[0]), b[1] - a[1]
    step = distance * (b[0] / count)
    return count, a[1] + step, a[2] + b[2] + distance * step * a[0]


def welford(z: np.ndarray, threads: int = 64) -> np.ndarray:
    """Return variances as PyTorch's kernel finds them: Welford's rule in each thread, then pairs of threads."""
    states = []
    for first in range(threads):
        count, mean, m2 = np.float32(0), np.zeros(z.shape[1], np.float32), np.zeros(z.shape[1], np.float32)
        for row in z[first::threads]:
            count += np.float32(1)
            distance = row - mean
            mean = mean + distance / count
            m2 = m2 + distance * (row - mean)
        states.append((count, mean, m2))
    while len(states) > 1:
        states = [merge(a, b) for a, b in zip(states[::2], states[1::2], strict=True)]
    return states[0][2] / (states[0][0] - 1)


def rms(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


def run(x, w, element: str, schedule: str, resident: int, folder) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return y, as stored, the mean and the unbiased variance of x w^T."""
    m, tile_n = len(x), int(re.search(r"tile = \d+x(\d+)", schedule)[1])
    model = Model(source(m, schedule, element, tile_n), "sm_90a", folder, resident=resident)
    device = model.device
    device.seed = 1
    mean, variance = device.put(np.zeros(N, np.float32)), device.put(np.zeros(N, np.float32))
    y = device.empty((m, N), np.float32 if element == "f32" else np.uint16)
    workspace = np.random.default_rng(3).integers(0, 256, MAX_BLOCKS * (8 + 32 * tile_n)).astype(np.uint8)
    arrays = [device.put(a) for a in (to_bits(x, element), to_bits(w, element))]
    model.run("layer", *arrays, y, device.put(workspace), mean, variance)
    return device.get(y), device.get(mean), device.get(variance)


@pytest.mark.parametrize(
    ("m", "element", "schedule", "resident"),
    [
        (512, "f32", wgmma("128x32", 32, "8x1", CLUSTER), 4),
        (1024, "bf16", wgmma("128x32", 64, "8x1"), 8),
        (2040, "bf16", wgmma("256x32", 64, "8x1"), 8),
        (4096, "bf16", wgmma("256x32", 64, "8x1"), 16),
        (2040, "bf16", wgmma("256x64", 64, "1x4"), 8),
        (1000, "bf16", wgmma("176x64", 64, "1x4"), 6),
    ],
)
def test_variance_beside_welford(m, element, schedule, resident, tmp_path):
    x, w = draw(m)
    z = x.astype(np.float64) @ w.T.astype(np.float64)
    assert np.array_equal(z, z.astype(np.float32))
    _, mean, variance = run(x, w, element, schedule, resident, tmp_path)
    exact = z.var(0, ddof=1)
    error, theirs = rms(variance - exact), rms(welford(z.astype(np.float32)) - exact)
    print(f"M = {m}: rms error of the variance {error:.2e}, Welford's {theirs:.2e}, variance {exact.mean():.2e}")
    # Means of tiles that were rounded to f32 gave as much as Welford's rule.
    assert error <= theirs / 16
    assert np.abs(mean - z.mean(0)).max() <= UNIT / 2


SCHEDULES = {"rows": wgmma("128x32", 64, "8x1"), "swapped": wgmma("256x64", 64, "1x4")}


@pytest.mark.parametrize("equal", [False, True], ids=["others_differ", "others_equal"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_first_row_far_from_the_others(name, equal, tmp_path):
    """What distances are taken from is then as far as can be from the mean of a thread's rows."""
    x, w = draw(500)
    if equal:
        x[1:, :-1] = 0
    x[0, -2] = 3 * 2.0**18
    z = x.astype(np.float64) @ w.T.astype(np.float64)
    assert np.array_equal(z, z.astype(np.float32))
    _, mean, variance = run(x, w, "bf16", SCHEDULES[name], 4, tmp_path)
    assert np.abs(variance / z.var(0, ddof=1) - 1).max() <= 2.0**-17
    assert np.abs(mean - z.mean(0)).max() <= UNIT


@pytest.mark.parametrize("name", SCHEDULES)
def test_variance_beyond_f32(name, tmp_path):
    """It is infinite, and y the norm's bias (batch_norm_training-R7)."""
    x, w = draw(500)
    w[:, -1], w[0, -2], w[1, -2] = 0.0, 2.0**66, 2.0**120
    y, mean, variance = run(x, w, "bf16", SCHEDULES[name], 4, tmp_path)
    assert np.isinf(variance[:2]).all() and np.isfinite(variance[2:]).all() and np.isfinite(mean).all()
    assert not (y[:, :2] & 0x7FFF).any()
