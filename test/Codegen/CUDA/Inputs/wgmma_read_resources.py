# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles wgmma kernels of every form and of narrow tiles whose epilogue does little or nothing to accumulators.

ptxas moves what reads an accumulator alone, as a conversion to 16 bits does, to before the wait for the product, and
then serializes wgmma (C7514). It does so where the main loop's end is not the only way there: a turn may have one
stage. Fails where tiled_resources.py would, but for a budget of registers.
"""

from __future__ import annotations

from tiled_cases import Case, Layer, Schedule
from tiled_resources import check

TARGET = "sm_90a"
SHARED_BYTES = 232448  # that a block may have
# Rows and columns of the tile, warps: of each form tiles of three blocks of wgmma's rows, and widths of wgmma that are
# odd numbers of 8. And the cluster whose blocks share what is not so narrow.
FORMS = (
    ((("64x72", "4x1"), ("128x24", "8x1"), ("192x40", "4x1"), ("64x8", "4x1")), "cluster = 1x2"),
    ((("72x192", "1x4"), ("24x256", "1x8"), ("40x64", "1x4"), ("8x128", "1x4")), "cluster = 2x1"),
)
STAGES = 3
OPTIONS = ("", "stream_k = true", "ping_pong = true")
# Of x and w, and of the result: ones that a result is narrowed to, and one that it has already.
TYPES = (("bf16", "bf16"), ("f16", "f16"), ("f32", "f16"), ("bf16", "f32"))
EPILOGUES = ("none", "relu", "gelu_and_product")
# M and N: results that TMA stores and does not store, of any rows and of one.
SHAPES = (("?", 1000), ("?", 1111), (1, 1000), (1, 1111))


def write_schedule(tile: str, warps: str, options: str, k: int) -> Schedule:
    """Return a schedule of the family."""
    text = f"wgmma, tile = {tile}x{k}, warps = {warps}, stages = {STAGES}, swizzle = 128, raster = 8, blocks = 1"
    return Schedule(", ".join(filter(None, [text, options])), SHARED_BYTES)


def list_cases() -> list[list[Case]]:
    """Return the kernels of each schedule, which are assembled together; types and how many stages K has take turns."""
    forms = [(*tile, options) for tiles, cluster in FORMS for options in (*OPTIONS, cluster) for tile in tiles]
    groups = []
    for turn, (tile, warps, options) in enumerate(forms):
        if "ping_pong" in options and "8" in warps:
            continue  # tiles of one warpgroup each
        types = TYPES[(turn + turn // len(TYPES)) % len(TYPES)]
        k = 32 if types[0] == "f32" else 64
        depth = 8 * k + 8 if turn % 3 == 2 else k
        layers = [Layer(types, epilogue, 0, (*shape, depth)) for epilogue in EPILOGUES for shape in SHAPES]
        groups.append([Case(TARGET, write_schedule(tile, warps, options, k), layer) for layer in layers])
    return groups


if __name__ == "__main__":
    check(list_cases())
