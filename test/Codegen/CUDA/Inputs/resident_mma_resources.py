# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles mma_sync kernels that reduce columns themselves: the tiles that are chosen among, and each method."""

from __future__ import annotations

from resident_resources import write_functions
from wgmma_assembly import check

FP16X3, FMA = ", method = fp16x3", ", method = fma"
# Type, tile, warps, stages, what else is to be said.
SCHEDULES = (
    ("bf16", "128x256x64", "2x4", 3, ""),
    ("f32", "128x256x32", "2x4", 3, ""),
    ("f16", "256x128x64", "4x2", 3, ""),
    ("bf16", "128x128x64", "2x4", 4, ""),
    ("f16", "64x256x64", "2x4", 4, ""),
    ("f32", "128x64x32", "4x2", 4, ""),
    ("bf16", "16x128x64", "1x4", 4, ""),
    ("f16", "128x256x64", "2x4", 3, ", method = fp16"),
    ("f16", "128x128x64", "2x4", 4, FP16X3),
    ("f16", "64x256x64", "1x8", 4, FP16X3),
    ("f32", "64x64x32", "2x2", 4, FMA),
    ("f32", "128x64x32", "4x2", 3, FMA),
)

if __name__ == "__main__":
    check(SCHEDULES, lambda schedule: write_functions(schedule, "mma_sync"), target="sm_80")
