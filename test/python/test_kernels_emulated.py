# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products as the compiler emits them, run by the emulator of PTX on small shapes."""

import shutil

import numpy as np
import pytest
from ptx_emulator.layers import Layer, Operands, mma_sync, random, wgmma

pytestmark = pytest.mark.skipif(not shutil.which("ptxas"), reason="the compiler needs ptxas to write PTX")

# So many that the epilogue has 12 KB: operand and result take turns in the same buffers.
SHARED = ("stages = 3", "stages = 10"), ("stages = 3", "stages = 14")
STREAM, CLUSTER, PING_PONG = ", stream_k = true", ", cluster = 2x1", ", ping_pong = true"
FEW_ROWS = "mma_sync, tile = 16x128x64, warps = 1x4, stages = 6, swizzle = 128, raster = 2, blocks = 1" + STREAM
FP16, FP16X3, FP8 = ", method = fp16", ", method = fp16x3", ", method = fp8"
# A layer, M, and how many blocks run at once.
PRODUCTS = {
    "mma_bf16": (Layer("sm_80", mma_sync(64), 72, 136, "bf16"), 70, 4),
    "mma_f16_stream_k": (Layer("sm_80", mma_sync(64, STREAM), 20, 512, "f16"), 70, 3),
    "mma_bf16_few_rows": (Layer("sm_90a", FEW_ROWS, 200, 1000, "bf16"), 13, 3),
    "wgmma_bf16": (Layer("sm_90a", wgmma("64x16", 64, "4x1"), 40, 72, "bf16"), 70, 4),
    "wgmma_f16_ping_pong": (Layer("sm_90a", wgmma("64x32", 64, "4x1", PING_PONG), 40, 200, "f16"), 200, 2),
    "wgmma_bf16_shared": (
        Layer("sm_90a", wgmma("64x96", 64, "4x1", PING_PONG).replace(*SHARED[0]), 280, 72, "bf16"),
        200,
        1,
    ),
    "wgmma_tf32_shared": (
        Layer("sm_90a", wgmma("64x48", 32, "4x1", PING_PONG + STREAM).replace(*SHARED[1]), 88, 136),
        200,
        2,
    ),
    "wgmma_tf32_cluster": (Layer("sm_90a", wgmma("128x16", 32, "8x1", STREAM + CLUSTER), 24, 264), 300, 4),
    "mma_fp16": (Layer("sm_80", mma_sync(64, FP16), 20, 100, factors=True), 70, 4),
    "mma_fp16x3": (Layer("sm_80", mma_sync(64, FP16X3), 20, 100, factors=True), 70, 4),
    "wgmma_fp16": (Layer("sm_90a", wgmma("64x16", 64, "4x1", FP16), 24, 100, factors=True), 70, 4),
    "wgmma_fp16x3": (Layer("sm_90a", wgmma("64x16", 64, "4x1", FP16X3), 24, 100, factors=True), 70, 4),
    "wgmma_fp16x3_cluster": (
        Layer("sm_90a", wgmma("128x16", 64, "8x1", STREAM + CLUSTER + FP16X3), 24, 300, factors=True),
        300,
        4,
    ),
    "mma_sync_fp8": (
        Layer("sm_89", mma_sync(128, FP8), 72, 272, "bf16", input_element="f8E4M3FN"),
        70,
        4,
    ),
    "mma_sync_fp8_stream_k": (
        Layer("sm_89", mma_sync(128, STREAM + FP8), 136, 528, "f32", input_element="f8E5M2"),
        150,
        4,
    ),
    "wgmma_fp8": (
        Layer("sm_90a", wgmma("64x16", 128, "4x1", FP8), 40, 272, "bf16", input_element="f8E4M3FN"),
        70,
        4,
    ),
    "wgmma_fp8_cluster": (
        Layer("sm_90a", wgmma("128x16", 128, "8x1", STREAM + CLUSTER + FP8), 24, 528, "f16", input_element="f8E5M2"),
        300,
        4,
    ),
    "wgmma_fp8_swapped": (
        Layer("sm_90a", wgmma("24x128", 128, "1x8", FP8), 136, 400, "f32", input_element="f8E4M3FN"),
        70,
        4,
    ),
    "wgmma_fp8_to_fp8": (
        Layer("sm_90a", wgmma("64x16", 128, "4x1", FP8), 40, 144, "f8E4M3FN"),
        70,
        4,
    ),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_product(name, tmp_path):
    layer, m, resident = PRODUCTS[name]
    model = layer.compile(tmp_path, resident)
    spread = 3.0 if layer.factors else 0.0
    x, w = random(m, layer.k, spread=spread), random(layer.n, layer.k, spread=spread, seed=4)
    if layer.of_inputs == "f32" and not layer.factors:  # numbers that tf32 holds
        x, w = ((a.view(np.uint32) & 0xFFFFE000).view(np.float32) for a in (x, w))
    operands = Operands(layer, x, w)
    assert operands.right(operands.run(model, seed=1))
    if not layer.factors or "x3" in name:
        shift = 4 if layer.element == "f32" and not layer.factors else 2
        assert operands.right(operands.run(model, shift=1 if layer.method == "fp8" else shift))
