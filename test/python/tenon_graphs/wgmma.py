# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules of family wgmma, and graphs whose layers can have them.

Names of tests with them contain "wgmma".
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .graph import Graph, Op, Value
from .tiled import KINDS, OPERANDS, Tiled, compile_tiled, linear, operand_graph

TARGET = "sm_90a"
# What stands before and behind what all have in common: few stages and many, one warpgroup a tile and two. The name
# says the tile, the cluster, and whether it is ping-pong, stream-K or deferred, or has operands swapped.
SCHEDULES = {
    "wgmma_128x256": ("tile=128x256x{k},warps=8x1,stages=2", ""),
    "wgmma_128x256_2x1_stream_k": ("tile=128x256x{k},warps=8x1,stages=4", ",stream_k=true,cluster=2x1"),
    "wgmma_128x256_1x2": ("tile=128x256x{k},warps=8x1,stages=3", ",cluster=1x2"),
    "wgmma_256x128_2x1": ("tile=256x128x{k},warps=8x1,stages=4", ",cluster=2x1"),
    "wgmma_256x128_1x2_stream_k": ("tile=256x128x{k},warps=8x1,stages=4", ",stream_k=true,cluster=1x2"),
    "wgmma_128x168_stream_k": ("tile=128x168x{k},warps=8x1,stages=5", ",stream_k=true"),
    "wgmma_64x64_stream_k": ("tile=64x64x{k},warps=4x1,stages=12", ",stream_k=true"),
    "wgmma_64x40": ("tile=64x40x{k},warps=4x1,stages=2", ""),
    "wgmma_64x8_1x2_stream_k": ("tile=64x8x{k},warps=4x1,stages=8", ",stream_k=true,cluster=1x2"),
    "wgmma_128x192_ping_pong": ("tile=128x192x{k},warps=4x1,stages=4", ",ping_pong=true"),
    "wgmma_192x128_1x2_ping_pong": ("tile=192x128x{k},warps=4x1,stages=5", ",cluster=1x2,ping_pong=true"),
    "wgmma_192x128_ping_pong_stream_k": ("tile=192x128x{k},warps=4x1,stages=4", ",stream_k=true,ping_pong=true"),
    "wgmma_64x256_ping_pong_stream_k": ("tile=64x256x{k},warps=4x1,stages=4", ",stream_k=true,ping_pong=true"),
    "wgmma_128x128_2x1_ping_pong_stream_k": (
        "tile=128x128x{k},warps=4x1,stages=6",
        ",stream_k=true,cluster=2x1,ping_pong=true",
    ),
    "wgmma_8x128_stream_k_swapped": ("tile=8x128x{k},warps=1x4,stages=11", ",stream_k=true"),
    "wgmma_24x256_2x1_swapped": ("tile=24x256x{k},warps=1x8,stages=5", ",cluster=2x1"),
    "wgmma_48x128_1x2_stream_k_swapped": ("tile=48x128x{k},warps=1x8,stages=8", ",stream_k=true,cluster=1x2"),
    "wgmma_72x192_swapped": ("tile=72x192x{k},warps=1x4,stages=3", ""),
    "wgmma_256x128_1x2_swapped": ("tile=256x128x{k},warps=1x8,stages=4", ",cluster=1x2"),
    "wgmma_256x128_1x2_defer_swapped": ("tile=256x128x{k},warps=1x8,stages=4", ",cluster=1x2,defer=true"),
    "wgmma_72x192_defer_swapped": ("tile=72x192x{k},warps=1x4,stages=3", ",defer=true"),
    "wgmma_192x256_2x1_swapped": ("tile=192x256x{k},warps=1x8,stages=3", ",cluster=2x1"),
    "wgmma_192x128_1x2_ping_pong_swapped": ("tile=192x128x{k},warps=1x4,stages=5", ",cluster=1x2,ping_pong=true"),
    "wgmma_128x64_ping_pong_stream_k_swapped": ("tile=128x64x{k},warps=1x4,stages=6", ",stream_k=true,ping_pong=true"),
}


def schedule(name: str, kind: str) -> str:
    """Return a schedule's text for a kind of layer."""
    form, options = SCHEDULES[name]
    return f"wgmma,{form.format(k=32 if kind == 'tf32' else 64)},swizzle=128,raster=8,blocks=1{options}"


def compile_wgmma(graphs: Sequence[Graph], stem: Path, device: str, kind: str, name: str) -> Tiled:
    """Compile graphs whose layers, all of one kind, have one schedule."""
    compiled = compile_tiled(graphs, stem, device, schedule(name, kind), TARGET)
    assert (compiled.wgmma, compiled.library) == (compiled.tiled, 0)
    assert compiled.tiled >= len(graphs)
    return compiled


def sum_graph(kind: str, n: int, k: int) -> Graph:
    """Return y = relu(x w^T) + z v^T, where y may take the memory of what it adds, and z v^T beside it."""
    dtype = KINDS[kind][0]
    x, z = (Value(name, ("m", k), dtype) for name in "xz")
    w, v = (Value(name, (n, k), dtype, "weight", is_param=True) for name in "wv")
    p, r, q, y = (Value(name, ("m", n), dtype) for name in "prqy")
    ops = [linear(kind, x, w, p), Op("relu", [p], [r]), linear(kind, z, v, q), Op("add", [r, q], [y])]
    return Graph(f"s_{kind}_{n}_{k}", {"m": 1}, dynamic=True, inputs=[x, z, w, v], ops=ops, returns=[y, q])


def scheduled_graphs(number: int) -> tuple[str, list[Graph]]:
    """Return a kind of layer and graphs of it, for the schedule of that number.

    One has operands of every shape and three results, two of them of other types than x; all types occur.
    """
    kind = ["bf16", "f16", "tf32"][number % 3]
    n, k = [(264, 200), (65, 72), (777, 136), (8, 1096)][number % 4]
    if "defer" in list(SCHEDULES)[number]:
        n, k = 264, 4104  # a stage for each step that a tile before is finished in
    operand, output = OPERANDS[(number + number // 3) % 3], OPERANDS[number // 3 % 3]
    return kind, [operand_graph(kind, operand, output, n, k), sum_graph(kind, n, k)]
