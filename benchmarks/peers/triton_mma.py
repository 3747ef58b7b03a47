#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: ANN001, ANN201, ANN202 (arguments of kernels are Triton's values, and an annotation would change their types)
"""Times Triton matrix products on mma.sync, as a peer of Tenon's tiled kernels for sm_80.

y = leaky_relu((x w^T + bias) * 2, 0.1), or x w^T alone; x[M,K] and w[N,K] row-major, each of
M, N, K a multiple of the tile. The launch option arch="sm80" makes Triton take its passes for
sm_80 (cp.async, ldmatrix, mma.sync) and assemble their result for the GPU at hand, so that a
Hopper runs it; a kernel whose PTX says otherwise is reported as an error and not timed.

Usage: triton_mma.py -o RESULT.json [--cases REGEX] [--bare] [--limit-s SECONDS]
"""

import re
import sys
from dataclasses import dataclass
from functools import partial

import torch
import triton
import triton.language as tl
from measure import Inputs, Peer, Record, main


@triton.jit
def _origin(tile, m, n, block_m: tl.constexpr, block_n: tl.constexpr, group_m: tl.constexpr):
    """Row and column of a tile: groups of `group_m` row tiles, rows fastest within a group."""
    columns = n // block_n
    first = tile // (group_m * columns) * group_m
    height = min(m // block_m - first, group_m)
    within = tile % (group_m * columns)
    return first + within % height, within // height


@triton.jit
def _store(total, bias, y, n, rows, columns, fused: tl.constexpr):
    """Apply the epilogue to a tile and store it."""
    if fused:
        total = (total + tl.load(bias + columns).to(tl.float32)[None, :]) * 2.0
        total = tl.where(total > 0, total, total * 0.1)
    tl.store(y + rows[:, None] * n + columns[None, :], total.to(y.dtype.element_ty))


@triton.jit
def grouped(
    x,
    w,
    bias,
    y,
    m,
    n,
    k,
    block_m: tl.constexpr,
    block_n: tl.constexpr,
    block_k: tl.constexpr,
    group_m: tl.constexpr,
    fused: tl.constexpr,
):
    """One program a tile."""
    tile_m, tile_n = _origin(tl.program_id(0), m, n, block_m, block_n, group_m)
    rows = tile_m * block_m + tl.arange(0, block_m)
    columns = tile_n * block_n + tl.arange(0, block_n)
    ks = tl.arange(0, block_k)
    xs = x + rows[:, None] * k + ks[None, :]
    ws = w + columns[None, :] * k + ks[:, None]
    total = tl.zeros((block_m, block_n), dtype=tl.float32)
    for _ in range(0, k // block_k):
        total = tl.dot(tl.load(xs), tl.load(ws), total, input_precision="tf32")
        xs += block_k
        ws += block_k
    _store(total, bias, y, n, rows, columns, fused)


@triton.jit
def persistent(
    x,
    w,
    bias,
    y,
    m,
    n,
    k,
    block_m: tl.constexpr,
    block_n: tl.constexpr,
    block_k: tl.constexpr,
    group_m: tl.constexpr,
    fused: tl.constexpr,
):
    """One program an SM. Its tiles are one loop, so that the next tile's loads start under an epilogue."""
    programs = tl.num_programs(0)
    tile = tl.program_id(0) - programs
    tiles = (m // block_m) * (n // block_n)
    steps = k // block_k
    ks = tl.arange(0, block_k)
    step = -1
    tile_m = 0
    tile_n = 0
    total = tl.zeros((block_m, block_n), dtype=tl.float32)
    for _ in range(0, tl.cdiv(tiles - tl.program_id(0), programs) * steps):
        step = tl.where(step == steps - 1, 0, step + 1)
        if step == 0:
            tile += programs
            tile_m, tile_n = _origin(tile, m, n, block_m, block_n, group_m)
        rows = tile_m * block_m + tl.arange(0, block_m)
        columns = tile_n * block_n + tl.arange(0, block_n)
        at = step * block_k + ks
        xs = tl.load(x + rows[:, None] * k + at[None, :])
        ws = tl.load(w + columns[None, :] * k + at[:, None])
        total = tl.dot(xs, ws, total, input_precision="tf32")
        if step == steps - 1:
            _store(total, bias, y, n, rows, columns, fused)
            total = tl.zeros((block_m, block_n), dtype=tl.float32)


@dataclass(frozen=True)
class Config:
    """How a product is tiled. `row_bytes` is the depth of a stage: 128 is 64 of bf16, 32 of tf32."""

    block_m: int
    block_n: int
    row_bytes: int
    warps: int
    stages: int
    group_m: int = 8
    persistent: bool = False

    def name(self, element_bytes: int) -> str:
        """Return the tile, warps and stages in one word."""
        tile = f"{self.block_m}x{self.block_n}x{self.row_bytes // element_bytes}"
        return f"{tile}_w{self.warps}_s{self.stages}" + "_persistent" * self.persistent


# Triton keeps one buffer fewer than `stages`: four of these are three in Tenon's count.
CONFIGS = (
    Config(128, 256, 128, 8, 3),
    Config(128, 256, 128, 8, 4),
    Config(256, 128, 128, 8, 4),
    Config(128, 256, 64, 8, 5),
    Config(128, 128, 128, 4, 4),
    Config(128, 128, 64, 4, 5),
    Config(128, 256, 128, 8, 4, persistent=True),
    Config(256, 128, 128, 8, 4, persistent=True),
)


class TritonProduct:
    """A product with its configuration, inputs and output; a call launches it."""

    def __init__(self, config: Config, inputs: Inputs, fused: bool) -> None:
        """Allocate the output. The first call compiles."""
        (m, k), n = inputs.x.shape, inputs.w.shape[0]
        self.y = inputs.output()
        tiles = (m // config.block_m) * (n // config.block_n)
        processors = torch.cuda.get_device_properties("cuda").multi_processor_count
        kernel, programs = (persistent, min(tiles, processors)) if config.persistent else (grouped, tiles)
        self.launcher = kernel[(programs,)]
        self.arguments = (inputs.x, inputs.w, inputs.bias, self.y, m, n, k)
        self.options = {
            "block_m": config.block_m,
            "block_n": config.block_n,
            "block_k": config.row_bytes // inputs.x.element_size(),
            "group_m": config.group_m,
            "fused": fused,
            "num_warps": config.warps,
            "num_stages": config.stages,
            "arch": "sm80",
        }
        self.compiled = None

    def __call__(self) -> torch.Tensor:
        """Launch the kernel, and return the output."""
        self.compiled = self.launcher(*self.arguments, **self.options)
        return self.y

    def check(self) -> Record:
        """Compile and run once; return what the kernel takes. Raises where it is not one for mma.sync."""
        self()
        torch.cuda.synchronize()
        ptx = self.compiled.asm["ptx"]
        facts = {
            "target": "".join(re.findall(r"^\.target (\S+)", ptx, re.MULTILINE)),
            "mma": sorted(set(re.findall(r"\bmma\.sync\.[\w.]+", ptx))),
            "cp_async_sites": len(re.findall(r"\bcp\.async\.c[ag]\.", ptx)),
            "shared_bytes": self.compiled.metadata.shared,
            "registers": getattr(self.compiled, "n_regs", None),
            "spills": getattr(self.compiled, "n_spills", None),
        }
        if "wgmma" in ptx or not facts["mma"]:
            raise RuntimeError(f"not on mma.sync: this Triton ignores arch='sm80'; the PTX has {facts}")
        return facts


def products(inputs: Inputs, fused: bool, persistent: bool | None = None) -> dict[str, TritonProduct]:
    """Return a callable for each configuration that fits, by name; all of the same inputs, each with its own output.

    `persistent` chooses one of the two kernels; None stands for both.
    """
    (m, k), n, size = inputs.x.shape, inputs.w.shape[0], inputs.x.element_size()
    fitting = [
        config
        for config in CONFIGS
        if persistent in (None, config.persistent)
        and not (m % config.block_m or n % config.block_n or k % (config.row_bytes // size))
    ]
    return {config.name(size): TritonProduct(config, inputs, fused) for config in fitting}


PEERS: dict[str, Peer] = {
    "triton_grouped": partial(products, persistent=False),
    "triton_persistent": partial(products, persistent=True),
}

if __name__ == "__main__":
    sys.exit(main(__doc__, PEERS, {"triton": triton.__version__}))
