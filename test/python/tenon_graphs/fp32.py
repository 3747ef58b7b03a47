# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules of layers of f32 that are split into f16, or multiplied without tensor cores.

Names of tests with those of family wgmma contain "wgmma".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import wgmma
from .execute import write_module
from .graph import Graph
from .tiled import TARGET, Tiled, compile_tiled

WGMMA = "wgmma,tile={tile},warps={warps},stages={stages},swizzle=128,raster=8,blocks=1{options},method={method}"
MMA_SYNC = WGMMA.replace("wgmma", "mma_sync")


@dataclass(frozen=True)
class Schedule:
    """A schedule's text, "" for the one that is chosen, its target, and the kind of layer that it is for."""

    text: str
    target: str
    kind: str = "fp32"


def _schedule(form: str, tile: str, warps: str, stages: int, options: str = "", method: str = "fp16x3") -> Schedule:
    text = form.format(tile=tile, warps=warps, stages=stages, options=options, method=method)
    target = wgmma.TARGET if form == WGMMA else TARGET
    return Schedule(text, target, "tf32" if method == "fp16" else "fp32")


STREAM_K, PING_PONG = ",stream_k=true", ",ping_pong=true"
# One warpgroup a tile and two, every cluster, with and without stream-K; tiles of whole and of odd subtiles.
SPLIT = {
    "wgmma_128x128": _schedule(WGMMA, "128x128x64", "8x1", 6),
    "wgmma_128x168_stream_k": _schedule(WGMMA, "128x168x64", "8x1", 5, STREAM_K),
    "wgmma_128x168_1x2": _schedule(WGMMA, "128x168x64", "8x1", 5, ",cluster=1x2"),
    "wgmma_128x176_2x1_stream_k": _schedule(WGMMA, "128x176x64", "8x1", 5, STREAM_K + ",cluster=2x1"),
    "wgmma_128x192_2x1": _schedule(WGMMA, "128x192x64", "8x1", 4, ",cluster=2x1"),
    "wgmma_128x192_stream_k": _schedule(WGMMA, "128x192x64", "8x1", 2, STREAM_K),
    "wgmma_256x96": _schedule(WGMMA, "256x96x64", "8x1", 3),
    "wgmma_64x192_1x2_stream_k": _schedule(WGMMA, "64x192x64", "4x1", 6, STREAM_K + ",cluster=1x2"),
    "wgmma_64x192_ping_pong": _schedule(WGMMA, "64x192x64", "4x1", 4, PING_PONG),
    "wgmma_64x40": _schedule(WGMMA, "64x40x64", "4x1", 2),
    "wgmma_176x128_1x2_swapped": _schedule(WGMMA, "176x128x64", "1x8", 5, ",cluster=1x2"),
    "mma_sync_128x128": _schedule(MMA_SYNC, "128x128x64", "2x4", 3),
    "mma_sync_128x64_stream_k": _schedule(MMA_SYNC, "128x64x64", "2x2", 4, STREAM_K),
    "mma_sync_16x128": _schedule(MMA_SYNC, "16x128x64", "1x4", 4),
}
FMA = {
    "fma_128x128": _schedule(MMA_SYNC, "128x128x32", "2x4", 3, method="fma"),
    "fma_64x64": _schedule(MMA_SYNC, "64x64x32", "2x2", 3, method="fma"),
}
# Layers of tf32 whose x and w are f16 on a scale.
FP16 = {
    "wgmma_fp16_128x256_stream_k": _schedule(WGMMA, "128x256x64", "8x1", 4, STREAM_K, "fp16"),
    "wgmma_fp16_192x112_ping_pong": _schedule(WGMMA, "192x112x64", "4x1", 4, PING_PONG, "fp16"),
    "mma_sync_fp16_128x128_stream_k": _schedule(MMA_SYNC, "128x128x64", "2x4", 3, STREAM_K, "fp16"),
}
CHOSEN = {"chosen": Schedule("", TARGET), "wgmma_chosen": Schedule("", wgmma.TARGET)}
SCHEDULES = SPLIT | FMA | FP16 | CHOSEN


def compile_fp32(graphs: Sequence[Graph], stem: Path, device: str, name: str) -> Tiled:
    """Compile graphs whose layers, all of the schedule's kind, have one schedule."""
    schedule = SCHEDULES[name]
    compiled = compile_tiled(graphs, stem, device, schedule.text, schedule.target)
    assert compiled.tiled >= len(graphs) and compiled.library == 0
    return compiled


def find_guard(graph: Graph, stem: Path, name: str) -> tuple[str, int, int]:
    """Return the schedule of the guarded kernel of a graph's one layer, and the rows and columns of its tiles."""
    from tenon import compiler

    schedule = SCHEDULES[name]
    source = write_module([graph], stem.with_suffix(".mlir"))
    lowered = compiler.lower(source, "cuda-blaslt", schedule.target, strategy="tiled", schedule=schedule.text)
    kept = [text for text in re.findall(r"schedule<([^<>]*)>", lowered) if f"method = {_method(schedule)}" not in text]
    assert len(kept) == 1, lowered
    rows, columns, _ = map(int, re.search(r"tile = (\d+)x(\d+)x(\d+)", kept[0]).groups())
    return kept[0], rows, columns


def _method(schedule: Schedule) -> str:
    return schedule.text.rpartition("method=")[2]
