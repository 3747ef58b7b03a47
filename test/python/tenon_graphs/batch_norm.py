# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers that end in training batch norm, and the schedules whose kernels compute it with the product.

Names of tests with schedules of family wgmma contain "wgmma".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from . import wgmma
from .dtypes import decode, encode
from .execute import write_module
from .graph import Graph, Op, Value, draw_inputs
from .tiled import LAYERS, TARGET, Tiled, compile_apart, linear


@dataclass(frozen=True)
class Schedule:
    """A schedule's text, its target, the kind of layer that it is for, and how batch norm is computed."""

    text: str
    target: str
    kind: str
    reduction: str

    @property
    def is_wgmma(self) -> bool:
        return self.target == wgmma.TARGET


def _schedule(
    kind: str, tile: str, warps: str, stages: int, options: str = "", method: str = "", reduction: str = "two_phase"
) -> Schedule:
    """Return a schedule of family wgmma."""
    step = 32 if (kind, method) in (("tf32", ""), ("fp32", "fma")) else 64
    end = f"{options}{f',method={method}' if method else ''},reduction={reduction}"
    text = f"wgmma,tile={tile}x{step},warps={warps},stages={stages},swizzle=128,raster=8,blocks=1{end}"
    return Schedule(text, wgmma.TARGET, kind, reduction)


def _mma_sync(
    kind: str, tile: str, warps: str, stages: int, options: str = "", method: str = "", reduction: str = "two_phase"
) -> Schedule:
    made = _schedule(kind, tile, warps, stages, options, method, reduction)
    return replace(made, text=made.text.replace("wgmma", "mma_sync"), target=TARGET)


def _resident(kind: str, tile: str, stages: int, options: str = "", warps: str = "8x1") -> Schedule:
    return _schedule(kind, tile, warps, stages, options, reduction="resident")


STREAM_K, PING_PONG, DEFER = ",stream_k=true", ",ping_pong=true", ",defer=true"
# Every type and method; one warpgroup a tile, two and two in turn, every cluster, with and without stream-K.
TWO_PHASE = {
    "wgmma_bf16_128x256_2x1": _schedule("bf16", "128x256", "8x1", 4, ",cluster=2x1"),
    "wgmma_bf16_192x128_ping_pong_stream_k": _schedule("bf16", "192x128", "4x1", 4, STREAM_K + PING_PONG),
    "wgmma_f16_128x168_stream_k": _schedule("f16", "128x168", "8x1", 5, STREAM_K),
    "wgmma_f16_256x128_1x2": _schedule("f16", "256x128", "8x1", 4, ",cluster=1x2"),
    "wgmma_bf16_64x40": _schedule("bf16", "64x40", "4x1", 2),
    "wgmma_tf32_128x256_1x2": _schedule("tf32", "128x256", "8x1", 3, ",cluster=1x2"),
    "wgmma_tf32_64x256_ping_pong_stream_k": _schedule("tf32", "64x256", "4x1", 4, STREAM_K + PING_PONG),
    "wgmma_tf32_fp16_128x256_stream_k": _schedule("tf32", "128x256", "8x1", 4, STREAM_K, "fp16"),
    "wgmma_fp32_128x192_2x1": _schedule("fp32", "128x192", "8x1", 4, ",cluster=2x1", "fp16x3"),
    "wgmma_fp32_128x168_stream_k": _schedule("fp32", "128x168", "8x1", 5, STREAM_K, "fp16x3"),
    "wgmma_fp32_256x96": _schedule("fp32", "256x96", "8x1", 3, "", "fp16x3"),
    "wgmma_fp32_64x192_ping_pong": _schedule("fp32", "64x192", "4x1", 4, PING_PONG, "fp16x3"),
    "wgmma_fp32_192x128_1x2_swapped": _schedule("fp32", "192x128", "1x8", 4, ",cluster=1x2", "fp16x3"),
    "wgmma_bf16_192x128_1x2_ping_pong_swapped": _schedule("bf16", "192x128", "1x4", 4, ",cluster=1x2" + PING_PONG),
    "wgmma_f16_256x128_1x2_swapped": _schedule("f16", "256x128", "1x8", 4, ",cluster=1x2"),
    "wgmma_tf32_128x256_stream_k_swapped": _schedule("tf32", "128x256", "1x8", 4, STREAM_K),
    "wgmma_bf16_256x128_1x2_defer_swapped": _schedule("bf16", "256x128", "1x8", 4, ",cluster=1x2" + DEFER),
    "wgmma_tf32_fp16_256x128_defer_swapped": _schedule("tf32", "256x128", "1x8", 4, DEFER, "fp16"),
    "mma_sync_bf16_128x256": _mma_sync("bf16", "128x256", "2x4", 3),
    "mma_sync_bf16_16x128": _mma_sync("bf16", "16x128", "1x4", 4),
    "mma_sync_f16_64x64_stream_k": _mma_sync("f16", "64x64", "2x2", 3, STREAM_K),
    "mma_sync_tf32_128x128": _mma_sync("tf32", "128x128", "2x4", 3),
    "mma_sync_tf32_fp16_128x128_stream_k": _mma_sync("tf32", "128x128", "2x4", 3, STREAM_K, "fp16"),
    "mma_sync_fp32_128x128": _mma_sync("fp32", "128x128", "2x4", 3, "", "fp16x3"),
    "mma_sync_fp32_128x64_stream_k": _mma_sync("fp32", "128x64", "2x2", 4, STREAM_K, "fp16x3"),
    "mma_sync_fp32_fma_64x64": _mma_sync("fp32", "64x64", "2x2", 3, "", "fma"),
}
RESIDENT = {
    "wgmma_bf16_128x256_2x1": _resident("bf16", "128x256", 4, ",cluster=2x1"),
    "wgmma_bf16_128x128": _resident("bf16", "128x128", 5),
    "wgmma_f16_128x192_1x2": _resident("f16", "128x192", 4, ",cluster=1x2"),
    "wgmma_tf32_128x256_2x1": _resident("tf32", "128x256", 4, ",cluster=2x1"),
    "wgmma_tf32_128x128": _resident("tf32", "128x128", 5),
    "wgmma_bf16_256x128_2x1_swapped": _resident("bf16", "256x128", 4, ",cluster=2x1", "1x8"),
    "wgmma_f16_64x192_swapped": _resident("f16", "64x192", 5, "", "1x4"),
    "wgmma_bf16_256x128_1x2_defer_swapped": _resident("bf16", "256x128", 4, ",cluster=1x2" + DEFER, "1x8"),
    "wgmma_f16_64x192_defer_swapped": _resident("f16", "64x192", 5, DEFER, "1x4"),
    "wgmma_tf32_256x128_1x2_swapped": _resident("tf32", "256x128", 4, ",cluster=1x2", "1x8"),
    "mma_sync_bf16_128x256": _mma_sync("bf16", "128x256", "2x4", 3, reduction="resident"),
    "mma_sync_f16_64x64": _mma_sync("f16", "64x64", "2x2", 4, reduction="resident"),
    "mma_sync_tf32_128x128": _mma_sync("tf32", "128x128", "2x4", 4, reduction="resident"),
    "mma_sync_tf32_fp16_128x256": _mma_sync("tf32", "128x256", "2x4", 3, "", "fp16", "resident"),
    "mma_sync_fp32_128x128": _mma_sync("fp32", "128x128", "2x4", 3, "", "fp16x3", "resident"),
    "mma_sync_fp32_fma_64x64": _mma_sync("fp32", "64x64", "2x2", 3, "", "fma", "resident"),
}
INPUT_MOMENTS = {
    "wgmma_bf16_128x256_2x1": _schedule("bf16", "128x256", "8x1", 4, ",cluster=2x1", reduction="input_moments"),
    "wgmma_f16_192x128_ping_pong": _schedule("f16", "192x128", "4x1", 4, PING_PONG, reduction="input_moments"),
    "wgmma_fp32_128x192": _schedule("fp32", "128x192", "8x1", 4, "", "fp16x3", "input_moments"),
    "mma_sync_bf16_128x256": _mma_sync("bf16", "128x256", "2x4", 3, reduction="input_moments"),
    "mma_sync_fp32_128x128": _mma_sync("fp32", "128x128", "2x4", 3, "", "fp16x3", "input_moments"),
    "mma_sync_fp32_fma_64x64": _mma_sync("fp32", "64x64", "2x2", 3, "", "fma", "input_moments"),
}
# What stands around batch norm: each has all of these letters' parts. b: bias, s: scale, a: an activation before,
# E: an operand [M, N] added before; p: a weight and a bias of its own, r: running statistics; A: an activation after,
# R: a residual after.
FORMS = ("", "bsr", "bapr", "sprAR", "bsaprAR")
# What mma.sync's tf32 has before the kernel: x rounded, and nothing else done to it.
ROUNDS_X = re.compile(
    r"%\w+ = tenon\.epilogue ins\((%\w+) = %x: [^()]*\) outs\([^()]*\) -> \S+ \{\n"
    r" *(%\w+) = tenon\.round_tf32 \1 : .*\n *tenon\.yield \2 : .*\n *\}\n"
)


def norm_graph(kind: str, form: str, n: int, k: int, m: int | None = None) -> Graph:
    """Return a layer of a form; without `m` its M is dynamic."""
    dtype, extent = LAYERS[kind][0], "m"
    x, w = Value("x", (extent, k), dtype), Value("w", (n, k), dtype, "weight", is_param=True)
    graph = Graph(f"bn_{form}_{n}_{k}_{m or 'm'}", {"m": m or 1}, dynamic=m is None, inputs=[x, w])
    last = Value("product", (extent, n), dtype)
    graph.ops = [linear(kind, x, w, last)]

    def append(op: str, name: str, *operands: Value, **attributes: object) -> None:
        nonlocal last
        graph.inputs += operands
        before, last = last, Value(name, (extent, n), dtype)
        graph.ops.append(Op(op, [before, *operands], [last], attributes))

    def feature(name: str, fill: str = "", element: str = "f32", is_param: bool = True) -> Value:
        return Value(name, (n,), element, fill, is_param)

    if "b" in form:
        append("add", "biased", feature("bias", element=dtype))
    if "s" in form:
        append("mul", "scaled", feature("scale", element=dtype))
    if "a" in form:
        append("leaky_relu", "bent", negative_slope=0.25)
    if "E" in form:
        append("add", "joined", Value("early", (extent, n), dtype))
    affine = [feature("gamma"), feature("beta")] if "p" in form else []
    running = [feature("mean", is_param=False), feature("var", "positive", is_param=False)] if "r" in form else []
    append("batch_norm_training", "normal", *affine, *running, eps=1e-5, momentum=0.1)
    graph.ops[-1].groups = (*(("weight", "bias") if affine else ()), *(("running",) if running else ()))
    statistics = [Value(f"new_{value.name}", (n,), "f32") for value in running]
    graph.ops[-1].results += statistics
    if "A" in form:
        append("silu", "active")
    if "R" in form:
        append("add", "summed", Value("residual", (extent, n), dtype))
    graph.returns = [last, *statistics]
    return graph


def draw(graph: Graph, seed: int = 0) -> dict[str, np.ndarray]:
    """Return inputs, as stored, with scales that are zero and negative.

    Rows are about as many times one row in each 16, most often in the last 64: so the moments of a tile say little of
    another's, and without some rows, or with some twice, those of all are far off.
    """
    inputs, dtypes = draw_inputs(graph, seed), {value.name: value.dtype for value in graph.inputs}

    def change(name: str, factor: np.ndarray) -> None:
        inputs[name] = encode(decode(inputs[name], dtypes[name]) * factor, dtypes[name])

    x = decode(inputs["x"], dtypes["x"])
    rows = np.arange(len(x))
    times = (rows // 16 * 5) % 7 - 2.0
    times[(len(x) - 1) // 64 * 64 :] = 8.0
    inputs["x"] = encode(0.5 * x + times[:, None] * x[:1], dtypes["x"])
    if "scale" in inputs:
        columns = np.arange(len(inputs["scale"]))
        change("scale", np.where(columns % 5 == 3, 0.0, np.where(columns % 3 == 1, -1.0, 1.0)))
    return inputs


def compile_norms(graphs: Sequence[Graph], stem: Path, device: str, schedule: Schedule) -> Tiled:
    """Compile graphs at once, all by a schedule; fail where one is computed in another way."""
    check_fused(graphs, stem, schedule)
    compiled = compile_apart(graphs, stem, device, schedule.text, schedule.target)
    assert (compiled.tiled, compiled.library) == (len(graphs), 0)
    return compiled


def check_fused(graphs: Sequence[Graph], stem: Path, schedule: Schedule) -> None:
    """Fail unless every layer's kernel has the reduction that its schedule says."""
    from tenon import compiler

    source = write_module(graphs, stem.with_name(f"{stem.name}-fused.mlir"))
    text = compiler.lower(source, "cuda-blaslt", schedule.target, strategy="tiled", schedule=schedule.text)
    functions = [function for function in text.split("func.func ") if "tenon.tiled_linear" in function]
    assert len(functions) == len(graphs), text  # others prepare parameters
    for function in functions:
        assert f"reduction = {schedule.reduction}" in function, function
        if schedule.reduction == "two_phase":
            assert "tenon.moments" in function and " moments(" in function, function
        elif schedule.reduction == "input_moments":
            assert "tenon.product_moments" in function and "batch_norm_training" not in function, function
        else:  # one kernel for all of it, which has x as the product reads it
            rest, rounded = ROUNDS_X.subn("", function)
            rounds = schedule.kind == "tf32" and not schedule.is_wgmma and "method" not in schedule.text
            assert rounded == rounds, function
            assert "tenon.epilogue" not in rest, function
