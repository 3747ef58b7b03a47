# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles wgmma kernels that leave a thread few registers, with each epilogue, and holds them against their limits.

Fails where tiled_resources.py would, but for a budget of registers: the blocks' threads get all there are. Schedules
are written out, since those that need most need not be chosen for any layer of a test.
"""

from __future__ import annotations

from tiled_cases import EPILOGUES, Case, Layer, Schedule
from tiled_resources import check

TARGET = "sm_90a"
SHARED_BYTES = 232448  # that a block may have
# Types of x and w and of the result, the tile, and what else is to be said. 168 columns are subtiles of 8 alone. Five
# stages with ping-pong leave the epilogue less shared memory, so narrower subtiles. The last have operands swapped.
SCHEDULES = (
    (("bf16", "bf16"), "128x256x64", "8x1", 4, "cluster = 2x1"),
    (("f32", "f32"), "128x256x32", "8x1", 4, "stream_k = true, cluster = 2x1"),
    (("f32", "f32"), "256x128x32", "8x1", 4, "stream_k = true, cluster = 1x2"),
    (("bf16", "bf16"), "128x192x64", "4x1", 4, "cluster = 2x1, ping_pong = true"),
    (("bf16", "bf16"), "128x192x64", "4x1", 5, "stream_k = true, cluster = 2x1, ping_pong = true"),
    (("bf16", "f32"), "128x192x64", "4x1", 4, "stream_k = true, ping_pong = true"),
    (("f32", "f32"), "192x128x32", "4x1", 5, "cluster = 1x2, ping_pong = true"),
    (("f16", "f16"), "192x128x64", "4x1", 5, "cluster = 1x2, ping_pong = true"),
    (("f16", "f16"), "192x128x64", "4x1", 4, "stream_k = true, ping_pong = true"),
    (("f16", "f16"), "64x256x64", "4x1", 4, "stream_k = true, ping_pong = true"),
    (("bf16", "f32"), "128x168x64", "8x1", 4, "stream_k = true"),
    (("bf16", "bf16"), "8x128x64", "1x4", 10, "stream_k = true"),
    (("bf16", "bf16"), "256x128x64", "1x8", 4, "cluster = 2x1"),
    (("f16", "f16"), "128x128x64", "1x4", 5, "stream_k = true, cluster = 1x2"),
    (("bf16", "f32"), "128x192x64", "1x4", 4, "stream_k = true, ping_pong = true"),
    (("f32", "f32"), "72x256x32", "1x8", 4, "stream_k = true, cluster = 2x1"),
    (("f16", "f16"), "256x128x64", "1x8", 4, "cluster = 1x2"),
    (("bf16", "f32"), "128x256x64", "1x8", 4, "stream_k = true, cluster = 2x1"),
    (("bf16", "bf16"), "192x256x64", "1x8", 3, "stream_k = true, cluster = 1x2"),
    (("bf16", "bf16"), "192x128x64", "1x4", 5, "cluster = 1x2, ping_pong = true"),
    (("bf16", "bf16"), "256x128x64", "1x8", 4, "cluster = 1x2, defer = true"),
    (("f16", "f16"), "128x256x64", "1x8", 4, "cluster = 2x1, defer = true"),
    (("f16", "f32"), "256x128x64", "1x8", 4, "cluster = 2x1, defer = true"),
    (("f32", "f32"), "256x128x32", "1x8", 4, "cluster = 1x2, defer = true"),
    (("bf16", "bf16"), "256x64x64", "1x4", 4, "defer = true"),
)
# M, N and K: tiles that fit, and tiles beyond M and N.
SHAPES = ((4096, 4032, 4096), ("?", 4040, 4096))
# TMA cannot store its rows of 16-bit elements. The largest tiles would spill: those with ping-pong, and of 192x256.
SHAPE_BY_THREADS = ("?", 4036, 4096)
# Two stages are left when a whole tile of 256x128 has been finished beside the next one's products.
SHAPE_OF_FEW_STAGES = ("?", 4040, 1280)


def list_cases() -> list[list[Case]]:
    """Return the kernels of each schedule, which are assembled together."""
    groups = []
    for types, tile, warps, stages, options in SCHEDULES:
        shared = f"stages = {stages}, swizzle = 128"
        text = f"wgmma, tile = {tile}, warps = {warps}, {shared}, raster = 8, blocks = 1, {options}"
        schedule = Schedule(text, SHARED_BYTES)
        is_largest = "ping_pong" in options or tile.startswith("192x256")
        shapes = SHAPES if is_largest else (*SHAPES, SHAPE_BY_THREADS)
        if "defer" in options:
            shapes = (*shapes, SHAPE_OF_FEW_STAGES)
        layers = [Layer(types, epilogue, 0, shape) for epilogue in EPILOGUES for shape in shapes]
        groups.append([Case(TARGET, schedule, layer) for layer in layers])
    return groups


if __name__ == "__main__":
    check(list_cases())
