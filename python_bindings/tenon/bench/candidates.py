# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The schedules of family wgmma that are worth measuring for a problem, the likely ones first.

The order comes from a rough count of clocks. It only decides what is measured when not all is, and
which of two equally fast schedules is taken.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tenon.bench.source import Problem
from tenon.elementwise import UNARY

MULTIPROCESSORS = 132  # of an H100 or H200 as SXM modules
SHARED_BYTES = 232448  # of a block at most
ROW_BYTES = 128  # of K in a stage
WARPGROUP_BYTES, PING_PONG_BYTES, WARP_BYTES, BARRIER_BYTES = 16384, 12288, 64, 1024  # shared memory beside the stages
MAX_STAGES = 12
MAX_ACCUMULATORS = 192  # of a thread; of split products the sums are as many once more
HALVES_ACCUMULATORS = 176  # by method fp16, whose results are scaled
# Of one where no other warpgroup's products hide what a large tile waits for; with operands swapped more were faster.
ALONE_ACCUMULATORS = 128
TMA_BYTES = 16  # rows of x and w must be multiples of it
RASTERS = (8, 12, 16, 4, 32)  # the first is taken where nothing is known
COMMON = (256, 192, 128, 96, 64)  # extents of tiles
MAX_WAVES = 8  # that tiles are made to fill
SPLIT_ELEMENTS, LEAST_SPLIT_K = 32, 64  # of f32 in a stage, and with which a sum hides what the halves lack
CLUSTERS = ((2, 1), (1, 2), (1, 1))
# With a part of each tile deferred: accumulators of a thread at most, stages of K and tiles of a block at least, and
# what is not deferred.
DEFERRED_ACCUMULATORS, DEFERRED_STEPS, DEFERRED_TILES, DEFERRED_FACTOR = 128, 32, 2, 0.5
# Of M, up to which tiles with operands swapped have all rows or half, few that are not there; and up to which blocks
# wait for w, which those share through L2 whose tiles lie one above the other.
FEW_ROWS = 256

# For the order alone: products a clock of a multiprocessor in 16 bits, bytes that L2 and memory give it a
# clock, clocks of a light epilogue for each row of 128 accumulators' columns, and of a tile's start.
PRODUCTS, L2_BYTES, MEMORY_BYTES = 1900.0, 56.0, 18.0
EPILOGUE_CLOCKS, HEAVY_FACTOR, TILE_CLOCKS = 0.08, 2.5, 700.0
# Of what products read from shared memory and copies write there, beside what a tile of 128x256 does.
SHARED_SHARE, COPY_SHARE = 0.2, 0.15
# Power decides the clock of large products. With operands swapped they took 0.97 of the time, which depends on what
# x and w are: half of that puts these forms first, and keeps the others among the first too. And multiprocessors
# that have no tile in the last wave count for less.
SWAPPED_FACTOR, IDLE_SHARE = 0.985, 0.3
# What a raster that is not the first, and the exchange of partial tiles, count for.
RASTER_FACTOR, EXCHANGE_WAVES = 1.04, 0.3


@dataclass(frozen=True)
class Candidate:
    """A schedule of family wgmma; `tile` is M x N."""

    tile: tuple[int, int]
    warpgroups: int  # that multiply one tile
    ping_pong: bool
    cluster: tuple[int, int]
    stages: int
    raster: int
    stream_k: bool
    swapped: bool = False  # operands: warps lie along N
    defer: bool = False  # a part of a tile's epilogue, to the next tile's products
    method: str = ""  # by which tf32 is multiplied; "": as it is

    def text(self, dtype: str) -> str:
        """Return what stands within #tenon.schedule<...> for a dtype of x and w."""
        facts = [
            "wgmma",
            f"tile = {self.tile[0]}x{self.tile[1]}x{step_of(self.method or dtype)}",
            f"warps = {self.warps}",
            f"stages = {self.stages}",
            f"swizzle = {ROW_BYTES}",
            f"raster = {self.raster}",
            "blocks = 1",
        ]
        facts += ["stream_k = true"] if self.stream_k else []
        facts += [f"cluster = {self.cluster[0]}x{self.cluster[1]}"] if self.cluster != (1, 1) else []
        facts += ["ping_pong = true"] if self.ping_pong else []
        facts += ["defer = true"] if self.defer else []
        method = "fp16x3" if dtype == "fp32" else self.method
        facts += [f"method = {method}"] if method else []
        return ", ".join(facts)

    @property
    def warps(self) -> str:
        """Return the warps of a tile along M and N."""
        return f"1x{4 * self.warpgroups}" if self.swapped else f"{4 * self.warpgroups}x1"

    @property
    def name(self) -> str:
        """Return it in short."""
        form = self.warps if not self.ping_pong else "pp1x4" if self.swapped else "pp"
        marks = [f"{self.tile[0]}x{self.tile[1]}", form, f"s{self.stages}", f"r{self.raster}"]
        marks += [f"c{self.cluster[0]}x{self.cluster[1]}"] if self.cluster != (1, 1) else []
        marks += ["d"] if self.defer else []
        marks += [self.method] if self.method else []
        return "-".join([*marks, "k"] if self.stream_k else marks)

    @property
    def consumers(self) -> int:
        """Give the warpgroups of a block that multiply."""
        return 2 if self.ping_pong else self.warpgroups

    @property
    def most_stages(self) -> int:
        """Give the stages that fit shared memory beside everything else."""
        return self.stages_beside(WARPGROUP_BYTES)

    def stages_beside(self, epilogue: int) -> int:
        """Give the stages that fit beside so many bytes for the epilogue of each warpgroup."""
        beside = self.consumers * epilogue + 4 * (self.consumers + 1) * WARP_BYTES + BARRIER_BYTES
        return min(MAX_STAGES, (SHARED_BYTES - beside) // (sum(self.tile) * ROW_BYTES))

    @property
    def accumulators(self) -> int:
        """Give those of a thread."""
        return self.tile[0] * self.tile[1] // (128 * self.warpgroups)


def step_of(dtype: str) -> int:
    """Return the columns of x and w in a stage."""
    return ROW_BYTES // element_bytes(dtype)


def element_bytes(dtype: str) -> int:
    """Return the bytes of an element of x and w as the kernel reads them: of fp32, f16 halves."""
    return 4 if dtype == "tf32" else 2


def why_none(problem: Problem) -> str:
    """Say why a problem has no candidates; "" if it has."""
    if problem.dynamic_m:
        return "its M is dynamic; the table is of fixed M"
    if problem.epilogue.has_batch_norm:
        return "its time is not that of the product's kernel alone; tune a model without batch norm"
    if problem.dtype == "fp32":
        few = problem.k < LEAST_SPLIT_K
        return f"products of precision fp32 with K below {LEAST_SPLIT_K} are not split" if few else ""
    if problem.dtype != "tf32" and not fits_tma(problem):
        return f"rows of K = {problem.k} are no multiple of {TMA_BYTES} bytes, which TMA needs"
    return ""


def fits_tma(problem: Problem) -> bool:
    """Tell whether TMA can copy rows of x and w, or of fp32 their halves, which are padded."""
    return problem.dtype == "fp32" or problem.k * element_bytes(problem.dtype) % TMA_BYTES == 0


def is_heavy(problem: Problem) -> bool:
    """Tell whether the epilogue computes an exp, log, erf or tanh, or reads an operand of the product's shape."""
    ops = {op.name for op in problem.epilogue.ops}
    slow = (ops & UNARY.keys()) - {"clamp", "leaky_relu", "relu"}
    return bool(slow) or any(kind.shape == ("M", "N") for kind in problem.epilogue.operands.values())


def candidates(problem: Problem) -> list[Candidate]:
    """Return the schedules for a problem, each once, those that should be fast first."""
    if why_none(problem):
        return []
    found = {}
    if fits_tma(problem):
        found = {candidate: estimate(candidate, problem) for candidate in _variants(problem)}
    if problem.dtype == "tf32":  # by method fp16 kernels are those of f16, and rows are padded
        halves = replace(problem, dtype="f16")
        fitting = (c for c in _variants(halves) if c.accumulators <= HALVES_ACCUMULATORS)
        found |= {replace(c, method="fp16"): estimate(c, halves) for c in fitting}
    return sorted(found, key=lambda c: found[c])  # stable: of equal ones the earlier


def _variants(problem: Problem) -> Iterator[Candidate]:
    forms = itertools.chain(_forms(problem), _few_row_forms(problem))
    for base, cluster in itertools.product(forms, CLUSTERS):
        shaped = replace(base, cluster=cluster)
        if not _fits(shaped, problem):
            continue
        for raster in _rasters(shaped, problem):
            stages = {shaped.most_stages}
            if shaped.ping_pong:
                stages.add(shaped.stages_beside(PING_PONG_BYTES))
            for count in sorted(stages, reverse=True):
                one = replace(shaped, stages=count, raster=raster)
                yield one
                if _waves(one, problem) % 1:
                    yield replace(one, stream_k=True)
                if _defers(one, problem):
                    yield replace(one, defer=True)


def _defers(candidate: Candidate, problem: Problem) -> bool:
    """Tell whether blocks have next tiles, whose products hide something, and threads have registers for it."""
    roomy = candidate.accumulators <= DEFERRED_ACCUMULATORS and problem.dtype != "fp32"
    steps, tiles = problem.k // step_of(problem.dtype), math.ceil(_waves(candidate, problem))
    long = steps >= DEFERRED_STEPS and tiles >= DEFERRED_TILES
    return candidate.swapped and not candidate.ping_pong and roomy and long


def _forms(problem: Problem) -> Iterator[Candidate]:
    """Yield tiles with how many warpgroups have one: two together, one alone, or two in turn."""
    plain = Candidate((128, 256), 2, False, (1, 1), 2, RASTERS[0], False)
    for swapped, (warpgroups, ping_pong, blocks) in itertools.product(
        (False, True) if problem.m > FEW_ROWS else (False,),
        ((2, False, 1), (2, False, 2), (1, True, 1), (1, True, 2), (1, True, 3), (1, False, 1)),
    ):
        along = 64 * warpgroups * blocks  # wgmma's rows, of x or with operands swapped of w
        for across in _widths(problem, along, swapped):
            tile = (across, along) if swapped else (along, across)
            candidate = replace(plain, tile=tile, warpgroups=warpgroups, ping_pong=ping_pong, swapped=swapped)
            if candidate.accumulators <= _limit(problem, candidate):
                yield candidate


def _few_row_forms(problem: Problem) -> Iterator[Candidate]:
    """Yield tiles of few rows of x, all of them or half, with operands swapped."""
    if problem.m > FEW_ROWS:
        return
    for parts, (warpgroups, n) in itertools.product((1, 2), ((1, 64), (1, 128), (1, 192), (2, 128), (2, 256))):
        m = math.ceil(problem.m / parts / 8) * 8
        candidate = Candidate((m, n), warpgroups, False, (1, 1), 2, RASTERS[0], False, swapped=True)
        if candidate.accumulators <= _limit(problem, candidate) and (parts == 1 or problem.m > 8):
            yield candidate


def _limit(problem: Problem, candidate: Candidate) -> int:
    """Return the accumulators that a thread may have."""
    if problem.dtype == "fp32":
        return MAX_ACCUMULATORS // 2
    together = candidate.swapped and candidate.warpgroups == 2
    return MAX_ACCUMULATORS if candidate.ping_pong or together else ALONE_ACCUMULATORS


def _widths(problem: Problem, along: int, swapped: bool) -> list[int]:
    """Return the other extent of tiles: common ones, and the narrowest with which the tiles need so many waves."""
    fixed, free = (problem.n, problem.m) if swapped else (problem.m, problem.n)
    rows = math.ceil(fixed / along)
    whole = []
    multiples = (8, 16) if problem.dtype == "fp32" else (16,)  # 16: for clusters that share these rows
    for waves in range(1, MAX_WAVES + 1):
        if columns := waves * MULTIPROCESSORS // rows:
            whole += [math.ceil(free / columns / multiple) * multiple for multiple in multiples]
    widest = math.ceil(free / 8) * 8
    return [n for n in dict.fromkeys([*COMMON, *whole, widest]) if 64 <= n <= 256 or n == widest < 64]


def _fits(candidate: Candidate, problem: Problem) -> bool:
    m, n = candidate.cluster
    enough = problem.m > (m - 1) * candidate.tile[0] and problem.n > (n - 1) * candidate.tile[1]
    halves = not (m == 2 and candidate.tile[1] % 16) and not (n == 2 and candidate.tile[0] % 16)
    return enough and candidate.most_stages >= 2 and halves


def _rasters(candidate: Candidate, problem: Problem) -> tuple[int, ...]:
    """Return the groups of row tiles that differ: one group is as good as another that holds all rows."""
    rows = math.ceil(problem.m / candidate.tile[0])
    return tuple(r for i, r in enumerate(RASTERS) if i == 0 or min(r, rows) != min(RASTERS[0], rows))


def _waves(candidate: Candidate, problem: Problem) -> float:
    """Return clusters of tiles over those that run at once."""
    (m, n), (cluster_m, cluster_n) = candidate.tile, candidate.cluster
    tiles = math.ceil(math.ceil(problem.m / m) / cluster_m) * math.ceil(math.ceil(problem.n / n) / cluster_n)
    return tiles / (MULTIPROCESSORS // (cluster_m * cluster_n))


def _shared_traffic(candidate: Candidate) -> float:
    """Return what shared memory gives and takes beside what it could in the time of the products."""
    m, n = candidate.tile
    columns = m if candidate.swapped else n  # what 64 rows of a wgmma are multiplied by
    return 32 * (64 + columns) / (64 * columns) + 32 * (m + n) / (m * n)


def estimate(candidate: Candidate, problem: Problem) -> float:
    """Return roughly the clocks that a problem takes."""
    (m, n), (cluster_m, cluster_n) = candidate.tile, candidate.cluster
    split = problem.dtype == "fp32"
    steps = math.ceil(problem.k / (SPLIT_ELEMENTS if split else step_of(problem.dtype)))
    products = m * n * (96 if split else 64) / PRODUCTS  # tf32: half the rate, half the elements; split: three of 32
    products *= 1 + SHARED_SHARE * (_shared_traffic(candidate) - 1)
    products *= SWAPPED_FACTOR if candidate.swapped and not split else 1.0
    copies = (m / cluster_n + n / cluster_m) * ROW_BYTES / L2_BYTES
    weight = n * ROW_BYTES / MEMORY_BYTES / math.ceil(problem.m / m) if problem.m <= FEW_ROWS else 0.0
    main = steps * (max(products, copies, weight) + COPY_SHARE * min(products, copies))
    finish = m * n * EPILOGUE_CLOCKS * (HEAVY_FACTOR if is_heavy(problem) else 1.0)
    finish *= DEFERRED_FACTOR if candidate.defer else 1.0
    tile = main + TILE_CLOCKS + (0.2 * finish if candidate.ping_pong else finish)
    waves = _waves(candidate, problem)
    idle = math.ceil(waves) - waves if waves > 1 else 0.0
    rounds = waves + EXCHANGE_WAVES if candidate.stream_k else math.ceil(waves) - IDLE_SHARE * idle
    if candidate.ping_pong and not candidate.stream_k and waves <= 1:
        tile += 0.8 * finish  # nothing hides the last tile's epilogue
    return rounds * tile * RASTER_FACTOR ** RASTERS.index(candidate.raster)
