#!/usr/bin/env python3
# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times cuBLASLt's pairs of epilogues for training beside Tenon's own kernels of the same, on the GPU at hand.

Of a layer `act(x w^T + b)` of M x N x K: the forward product with what backward reads of it (RELU_AUX_BIAS,
GELU_AUX_BIAS), the product that gives the layer's gradient with the derivative and the bias' sum (DRELU_BGRAD,
DGELU_BGRAD), and the product that gives the weight's (BGRADB), each beside the bare product. Of cuBLASLt's products
the fastest of what its heuristic lists is taken. cuBLASLt's gelu is the one with tanh; the exact one is Tenon's alone.

Usage: cublaslt_pairs.py -o RESULT.json [--cases REGEX] [--limit-s SECONDS]
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import json
import math
import re
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ctypes import byref, c_float, c_int, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path

import tenon
import torch
from cublaslt import COMPUTE_32F, COMPUTE_32F_FAST_TF32, DATA_TYPE, OP_T, R_32F, HeuristicResult, check, load

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tenon.bench.timing import elapsed
from torch_timing import burst, rotated

# Values of cublasLt.h.
TRANSPOSES = (3, 4)  # of A, of B
EPILOGUE, BIAS_POINTER, AUX_POINTER, AUX_LD = 7, 8, 11, 12
MAX_WORKSPACE_BYTES = 1
EPILOGUES = {
    "bare": 1,
    "bias": 4,
    "relu_bias": 6,
    "relu_aux_bias": 134,
    "gelu_bias": 36,
    "gelu_aux_bias": 164,
    "drelu": 136,
    "drelu_bgrad": 152,
    "dgelu": 192,
    "dgelu_bgrad": 208,
    "bgradb": 512,
}
WORKSPACE_BYTES = 64 << 20
LISTED = 8  # of the heuristic
ROUNDS, GRAPH_MS = 9, 1.5

# Rows of the batch, the layer's features and its inputs', and what is computed.
SHAPES = {
    "mlp": (8192, 16384, 4096),
    "bert": (8192, 3072, 768),
    "square": (1024, 8192, 8192),
    "wide_rows": (65536, 1024, 512),
    "rows": (65536, 512, 256),
    "nerf": (262144, 256, 256),
}
CASES = [("bf16", shape) for shape in SHAPES] + [("tf32", shape) for shape in ("bert", "mlp", "wide_rows")]
CASES += [("fp32", "bert")]
Tensors = dict[str, torch.Tensor]
FORWARD, BACKWARD = "forward", "backward"


class LtProduct:
    """`d = a b` with an epilogue, all row-major, a and b transposed or not: for cuBLAS, d^T = b^T a^T."""

    def __init__(
        self, a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, compute: int, epilogue: str, **more: torch.Tensor
    ) -> None:
        """Describe the product; `more` has `bias`, which some epilogues write, and `aux`, of which bits are bytes."""
        self.library, self.given, self.d, self.more = load(), (b, a), d, more
        self.handle, self.operation = c_void_p(), c_void_p()
        check(self.library.cublasLtCreate(byref(self.handle)), "cublasLtCreate")
        check(self.library.cublasLtMatmulDescCreate(byref(self.operation), compute, R_32F), "cublasLtMatmulDescCreate")
        self.set(EPILOGUE, c_int(EPILOGUES[epilogue]))
        if "bias" in more:
            self.set(BIAS_POINTER, c_void_p(more["bias"].data_ptr()))
        if "aux" in more:
            self.set(AUX_POINTER, c_void_p(more["aux"].data_ptr()))
            bits = 8 if more["aux"].dtype == torch.uint8 else 1
            self.set(AUX_LD, c_int64(more["aux"].shape[1] * bits))
        for attribute, tensor in zip(TRANSPOSES, self.given, strict=True):
            if not tensor.is_contiguous():
                self.set(attribute, c_int(OP_T))
        self.layouts = [self.layout(tensor if tensor.is_contiguous() else tensor.t()) for tensor in (*self.given, d, d)]
        self.one, self.zero = c_float(1), c_float(0)
        self.workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")
        self.algorithm = self.fastest()

    def set(self, attribute: int, value: ctypes._SimpleCData) -> None:
        """Set an attribute of the operation."""
        status = self.library.cublasLtMatmulDescSetAttribute(
            self.operation, attribute, byref(value), c_size_t(ctypes.sizeof(value))
        )
        check(status, "cublasLtMatmulDescSetAttribute")

    def layout(self, tensor: torch.Tensor) -> c_void_p:
        """Return the layout of a tensor's transpose, column-major."""
        layout, (columns, rows) = c_void_p(), tensor.shape
        status = self.library.cublasLtMatrixLayoutCreate(
            byref(layout), DATA_TYPE[tensor.dtype], c_uint64(rows), c_uint64(columns), c_int64(rows)
        )
        check(status, "cublasLtMatrixLayoutCreate")
        return layout

    def fastest(self) -> HeuristicResult:
        """Return the fastest algorithm of those that the heuristic lists."""
        preference, results, count = c_void_p(), (HeuristicResult * LISTED)(), c_int()
        check(self.library.cublasLtMatmulPreferenceCreate(byref(preference)), "cublasLtMatmulPreferenceCreate")
        status = self.library.cublasLtMatmulPreferenceSetAttribute(
            preference, MAX_WORKSPACE_BYTES, byref(c_uint64(WORKSPACE_BYTES)), c_size_t(8)
        )
        check(status, "cublasLtMatmulPreferenceSetAttribute")
        status = self.library.cublasLtMatmulAlgoGetHeuristic(
            self.handle, self.operation, *self.layouts, preference, LISTED, results, byref(count)
        )
        check(status, "cublasLtMatmulAlgoGetHeuristic")
        times = {}
        for number in range(count.value):
            self.algorithm = results[number]
            try:
                self()
                times[number] = min(elapsed(self, 3) for _ in range(2))
            except RuntimeError:  # what it lists may still not run
                continue
        if not times:
            raise RuntimeError("the heuristic lists nothing that runs")
        self.listed = len(times)
        return results[min(times, key=times.get)]

    def __call__(self) -> None:
        """Launch the product on PyTorch's current stream."""
        d = c_void_p(self.d.data_ptr())
        b, a = (c_void_p(tensor.data_ptr()) for tensor in self.given)
        b_layout, a_layout, c_layout, d_layout = self.layouts
        status = self.library.cublasLtMatmul(
            self.handle,
            self.operation,
            byref(self.one),
            b,
            b_layout,
            a,
            a_layout,
            byref(self.zero),
            d,
            c_layout,
            d,
            d_layout,
            byref(self.algorithm.algorithm),
            c_void_p(self.workspace.data_ptr()),
            c_size_t(WORKSPACE_BYTES),
            c_void_p(torch.cuda.current_stream().cuda_stream),
        )
        check(status, "cublasLtMatmul")


def source(kind: str, dtype: str, shape: tuple[int, int, int]) -> str:
    """Return MLIR of a layer of Tenon's: what follows the product, by `kind`, and what the function gives."""
    m, n, k = shape
    element = "bf16" if dtype == "bf16" else "f32"
    mn, wide, v, sums = (
        f"tensor<{m}x{n}x{element}>",
        f"tensor<{m}x{n}xf32>",
        f"tensor<{n}x{element}>",
        f"tensor<{n}xf32>",
    )
    x = f"tensor<{m}x{k}x{element}>"
    precision = " precision<tf32>" if dtype == "tf32" else ""
    if kind in ("relu", "gelu", "gelu_tanh"):
        w = f"tensor<{n}x{k}x{element}>"
        op = {"relu": "relu %z", "gelu": "gelu %z", "gelu_tanh": "gelu %z approximate<tanh>"}[kind]
        given, types = ("%y", mn) if kind == "relu" else ("%z, %y", f"{mn}, {mn}")
        return f"""func.func @layer(%x: {x}, %w: {w}, %b: {v}) -> ({types}) {{
  %z = tenon.linear %x, %w, %b{precision} : ({x}, {w}, {v}) -> {mn}
  %y = tenon.{op} : {mn}
  return {given} : {types}
}}"""
    w = f"tensor<{k}x{n}x{element}>"
    product = f"%p = tenon.linear %x, %w{precision} layout<mk_kn> : ({x}, {w}) -> {mn}"
    slope = 2 * math.sqrt(2 / math.pi)
    cast = f"%h = tenon.cast %z : {mn} -> {wide}" if dtype == "bf16" else f"%h = tenon.mul %z, 1.0 : {mn}"
    round_ = f"%d = tenon.cast %e : {wide} -> {mn}" if dtype == "bf16" else f"%d = tenon.mul %e, 1.0 : {mn}"
    chain = {
        "drelu": f"%d = tenon.gate %p, %z : {mn}, {mn}",
        "dgelu": f"%f = tenon.gelu_derivative %z : {mn}\n  %d = tenon.mul %p, %f : {mn}, {mn}",
        "dgelu_tanh": f"""{cast}
  %q = tenon.mul %h, %h : {wide}, {wide}
  %q1 = tenon.mul %q, {slope * 0.044715} : {wide}
  %q2 = tenon.add %q1, {slope} : {wide}
  %i = tenon.mul %h, %q2 : {wide}, {wide}
  %s = tenon.sigmoid %i : {wide}
  %r = tenon.sub 1.0, %s : {wide}
  %t = tenon.mul %s, %r : {wide}, {wide}
  %u = tenon.mul %t, %h : {wide}, {wide}
  %q3 = tenon.mul %q, {3 * slope * 0.044715} : {wide}
  %q4 = tenon.add %q3, {slope} : {wide}
  %a = tenon.mul %u, %q4 : {wide}, {wide}
  %f = tenon.add %a, %s : {wide}, {wide}
  %e = tenon.mul %f, %p : {wide}, {mn}
  {round_}""",
    }[kind.removesuffix("_sum")]
    body = f"func.func @layer(%x: {x}, %w: {w}, %z: {mn}) -> "
    if not kind.endswith("_sum"):
        return f"{body}{mn} {{\n  {product}\n  {chain}\n  return %d : {mn}\n}}"
    return f"""{body}({mn}, {sums}) {{
  {product}
  {chain}
  %sum = tenon.batch_sum %d : ({mn}) -> {sums}
  return %d, %sum : {mn}, {sums}
}}"""


def tenon_kinds(dtype: str) -> dict[str, str]:
    """Return what Tenon computes, by kind: in which part of a step."""
    kinds = {"relu": FORWARD, "gelu": FORWARD, "drelu_sum": BACKWARD, "dgelu_sum": BACKWARD}
    if dtype == "bf16":
        kinds |= {"gelu_tanh": FORWARD, "dgelu_tanh_sum": BACKWARD, "drelu": BACKWARD, "dgelu": BACKWARD}
    return kinds


def compile_layer(text: str) -> str:
    """Compile a layer into the cache; return the error, "" for none."""
    try:
        tenon.compile(text, target="sm_90a")
    except Exception as error:  # the others go on
        return f"{type(error).__name__}: {error}"[:500]
    return ""


def tensors(dtype: str, shape: tuple[int, int, int]) -> Tensors:
    """Return a layer's tensors; those with a capital letter are results."""
    m, n, k = shape
    generator = torch.Generator("cuda").manual_seed(42)
    kind = torch.bfloat16 if dtype == "bf16" else torch.float32

    def normal(*extents: int, by: float = 1.0) -> torch.Tensor:
        return torch.randn(extents, device="cuda", generator=generator).mul_(by).to(kind)

    def room(*extents: int) -> torch.Tensor:
        return torch.zeros(extents, device="cuda", dtype=kind)

    made = {"x": normal(m, k), "w": normal(n, k, by=k**-0.5), "b": normal(n), "z": normal(m, n)}
    made |= {"g": normal(m, k), "v": normal(k, n, by=k**-0.5), "dz": normal(m, n)}
    made |= {"Y": room(m, n), "Z": room(m, n), "DZ": room(m, n), "DB": room(n), "DW": room(n, k)}
    made["bits"] = torch.zeros(m, (n + 127) // 128 * 16, device="cuda", dtype=torch.uint8)
    made["BITS"] = torch.zeros_like(made["bits"])
    powers = 2 ** torch.arange(8, device="cuda", dtype=torch.int32)
    made["bits"][:, : n // 8] = ((made["z"] > 0).view(m, n // 8, 8).int() * powers).sum(-1).to(torch.uint8)
    return made


def library_products(t: Tensors, dtype: str) -> dict[str, Callable[[], LtProduct]]:
    """Return what makes cuBLASLt's products, by name."""
    compute = COMPUTE_32F_FAST_TF32 if dtype == "tf32" else COMPUTE_32F
    forward, backward, weight = (t["x"], t["w"].t()), (t["g"], t["v"]), (t["dz"].t(), t["x"])

    def product(of: tuple[torch.Tensor, torch.Tensor], d: str, epilogue: str, **more: str) -> Callable[[], LtProduct]:
        return lambda: LtProduct(*of, t[d], compute, epilogue, **{name: t[tensor] for name, tensor in more.items()})

    return {
        "forward bare": product(forward, "Y", "bare"),
        "forward relu_bias": product(forward, "Y", "relu_bias", bias="b"),
        "forward relu_aux_bias": product(forward, "Y", "relu_aux_bias", bias="b", aux="BITS"),
        "forward gelu_aux_bias": product(forward, "Y", "gelu_aux_bias", bias="b", aux="Z"),
        "backward bare": product(backward, "DZ", "bare"),
        "backward drelu": product(backward, "DZ", "drelu", aux="bits"),
        "backward drelu_bgrad": product(backward, "DZ", "drelu_bgrad", bias="DB", aux="bits"),
        "backward dgelu": product(backward, "DZ", "dgelu", aux="z"),
        "backward dgelu_bgrad": product(backward, "DZ", "dgelu_bgrad", bias="DB", aux="z"),
        "weight bare": product(weight, "DW", "bare"),
        "weight bgradb": product(weight, "DW", "bgradb", bias="DB"),
    }


def gelu(z: torch.Tensor, how: str) -> torch.Tensor:
    """Return the gelu of float64."""
    return torch.nn.functional.gelu(z, approximate=how)


def derivative(z: torch.Tensor, kind: str) -> torch.Tensor:
    """Return an activation's derivative in float64."""
    if "relu" in kind:
        return (z > 0).double()
    z = z.detach().requires_grad_()
    return torch.autograd.grad(gelu(z, "tanh" if "tanh" in kind else "none").sum(), z)[0]


class References:
    """Results in float64, one kind at a time, since some are large."""

    def __init__(self, t: Tensors) -> None:
        """Keep the tensors."""
        self.t, self.kept = t, {}

    def product(self, part: str) -> torch.Tensor:
        """Return a part's bare product."""
        if part not in self.kept:
            t = self.t
            a, b = {FORWARD: (t["x"], t["w"].t()), BACKWARD: (t["g"], t["v"]), "weight": (t["dz"].t(), t["x"])}[part]
            self.kept = {part: a.double() @ b.double()}
        return self.kept[part]

    def of(self, part: str, kind: str) -> list[torch.Tensor]:
        """Return the results of a kind, in the order in which Tenon's function gives them."""
        p, t = self.product(part), self.t
        if part == "weight":
            return [p] + ([t["dz"].double().sum(0)] if kind == "bgradb" else [])
        if kind == "bare":
            return [p]
        if part == FORWARD:
            z = p + t["b"].double()
            return [z.relu()] if "relu" in kind else [z, gelu(z, "tanh" if "tanh" in kind else "none")]
        d = p * derivative(t["z"].double(), kind)
        return [d] + ([d.sum(0)] if kind.endswith("_sum") else [])


def error(got: torch.Tensor, reference: torch.Tensor) -> float:
    """Return the difference's norm over the reference's."""
    return ((got.double() - reference).norm() / reference.norm()).item()


# A product's kind in the words of Tenon's functions, and what it writes.
MEANS = {
    "forward bare": ("bare", ["Y"]),
    "forward relu_bias": ("relu", ["Y"]),
    "forward relu_aux_bias": ("relu", ["Y"]),
    "forward gelu_aux_bias": ("gelu_tanh", ["Z", "Y"]),
    "backward bare": ("bare", ["DZ"]),
    "backward drelu": ("drelu", ["DZ"]),
    "backward drelu_bgrad": ("drelu_sum", ["DZ", "DB"]),
    "backward dgelu": ("dgelu_tanh", ["DZ"]),
    "backward dgelu_bgrad": ("dgelu_tanh_sum", ["DZ", "DB"]),
    "weight bare": ("bare", ["DW"]),
    "weight bgradb": ("bgradb", ["DW", "DB"]),
}


def graph_of(step: Callable[[], object]) -> tuple[torch.cuda.CUDAGraph, int]:
    """Return a graph of as many calls as take a while, and their number."""
    step()
    torch.cuda.synchronize()
    calls = max(1, min(40, round(GRAPH_MS / min(elapsed(step, 2) for _ in range(2)))))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            step()
    return graph, calls


def in_turn(graphs: dict[str, tuple[torch.cuda.CUDAGraph, int]]) -> dict[str, float]:
    """Return the median microseconds a call of each graph, replayed in turn, each in a burst from idle."""
    samples: dict[str, list[float]] = {name: [] for name in graphs}
    for number in range(ROUNDS + 1):  # the first one warms up
        for name in rotated(list(graphs), number):
            graph, calls = graphs[name]
            us = burst(graph.replay, "cuda", 1, is_held=True) / calls * 1e3
            if number:
                samples[name].append(us)
    return {name: round(statistics.median(times), 2) for name, times in samples.items()}


def run_case(dtype: str, shape: tuple[int, int, int], errors_of_compiling: dict[str, str]) -> dict:
    """Check and time all contenders of a case."""
    t, records, graphs, kept = tensors(dtype, shape), {}, {}, []
    references = References(t)
    for name, make in library_products(t, dtype).items():
        try:
            product = make()
            part, _ = name.split(" ")
            kind, results = MEANS[name]
            product()
            torch.cuda.synchronize()
            found = [error(t[result], r) for result, r in zip(results, references.of(part, kind), strict=True)]
            records[f"cublaslt {name}"] = {"listed": product.listed, "errors": found}
            if "relu_aux" in name:
                n = shape[1]
                bits = (t["BITS"][:, : n // 8, None] >> torch.arange(8, device="cuda")).bitwise_and_(1).bool()
                wrong = bits.view(shape[0], n) != (t["Y"] > 0)
                records[f"cublaslt {name}"]["bits_unlike_y"] = int(wrong.sum())
            graphs[f"cublaslt {name}"] = graph_of(product)
            kept.append(product)
        except Exception as failure:  # the others go on
            records[f"cublaslt {name}"] = {"error": f"{type(failure).__name__}: {failure}"[:300]}
    for kind, part in sorted(tenon_kinds(dtype).items(), key=lambda item: item[1]):
        name, text = f"tenon {part} {kind}", source(kind, dtype, shape)
        if errors_of_compiling.get(text):
            records[name] = {"error": errors_of_compiling[text]}
            continue
        try:
            layer = tenon.compile(text, target="sm_90a")["layer"]
            given = [t[n] for n in (("x", "w", "b") if part == FORWARD else ("g", "v", "z"))]
            got = layer(*given)
            got = got if isinstance(got, list | tuple) else [got]
            found = [error(y, r) for y, r in zip(got, references.of(part, kind), strict=True)]
            records[name] = {"errors": found}
            del got
            graphs[name] = graph_of(lambda layer=layer, given=given: layer(*given))
            kept.append(layer)
        except Exception as failure:  # the others go on
            records[name] = {"error": f"{type(failure).__name__}: {failure}"[:300]}
    references.kept = {}
    torch._dynamo.reset()  # which compiles a function for a few shapes only
    column_sum = torch.compile(lambda d: d.sum(0, dtype=torch.float32), dynamic=False)
    try:
        column_sum(t["dz"])
        graphs["inductor sum"] = graph_of(lambda: column_sum(t["dz"]))
        records["inductor sum"] = {}
    except Exception as failure:  # the others go on
        records["inductor sum"] = {"error": f"{type(failure).__name__}: {failure}"[:300]}
    for name, us in in_turn(graphs).items():
        records[name]["us"] = us
    return records


def main() -> int:
    """Run all cases and write the report after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--cases", default="", help="regular expression on names such as bf16_mlp")
    parser.add_argument("--limit-s", type=float, default=85, help="start no case after this many seconds")
    options = parser.parse_args()
    begin = time.monotonic()
    cases = [(dtype, shape) for dtype, shape in CASES if re.search(options.cases, f"{dtype}_{shape}")]
    texts = [source(kind, dtype, SHAPES[shape]) for dtype, shape in cases for kind in tenon_kinds(dtype)]
    with ThreadPoolExecutor(12) as pool:
        failed = dict(zip(texts, pool.map(compile_layer, texts), strict=True))
    print(f"compiled {len(texts)} layers in {time.monotonic() - begin:.0f} s", flush=True)
    report = {
        "environment": {
            "device": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "cublaslt": load().cublasLtGetVersion(),
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        },
        "timing": "median of bursts of CUDA graphs of the same call, contenders in turn, microseconds a call",
        "cases": [],
    }
    torch.backends.cuda.matmul.allow_tf32 = False
    for dtype, shape in cases:
        if time.monotonic() - begin > options.limit_s:
            print(f"not reached: {dtype}_{shape}")
            continue
        case = {"name": f"{dtype}_{shape}", "shape": SHAPES[shape], "dtype": dtype}
        case["contenders"] = run_case(dtype, SHAPES[shape], failed)
        report["cases"].append(case)
        options.output.write_text(json.dumps(report, indent=1) + "\n")
        print(f"{case['name']} {SHAPES[shape]} at {time.monotonic() - begin:.0f} s", flush=True)
        for name, record in case["contenders"].items():
            errors = " ".join(f"{e:.1e}" for e in record.get("errors", []))
            print(f"  {name:32} {record.get('us', '-'):>9} {errors} {record.get('error', '')[:150]}", flush=True)
        torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
