# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs epilogue kernels on the CPU, block by block, and compares with NumPy in float64.

The kernels of --tenon-emit-kernels are lowered as for the GPU, but compiled for this machine, with a
thread for each GPU thread and a real barrier. So indices, ragged edges, reductions and in-place use
are checked where there is no GPU; races between blocks and speed are not.
"""

from __future__ import annotations

import ctypes
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

WORK, SIMULATOR = Path(sys.argv[1]), Path(__file__).with_name("simulator.c")
DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
CANARY, MARGIN = 77, 64


def call(*command: str | Path) -> None:
    """Run a tool; its failure is the test's."""
    subprocess.run([str(part) for part in command], check=True)


class Kernels:
    """The kernels of one module, compiled for this machine."""

    def __init__(self, name: str, source: str) -> None:
        """Compile the kernels of `source`."""
        path = WORK / name
        path.with_suffix(".mlir").write_text(source)
        call(
            "tenon-opt",
            path.with_suffix(".mlir"),
            "--tenon-emit-kernels",
            "--canonicalize",
            "--cse",
            "-o",
            f"{path}.k.mlir",
        )
        self.text = Path(f"{path}.k.mlir").read_text()
        pipeline = "--pass-pipeline=builtin.module(gpu.module(tenon-lower-kernels))"
        call("tenon-opt", f"{path}.k.mlir", pipeline, "-o", f"{path}.l.mlir")
        lowered = Path(f"{path}.l.mlir").read_text()
        body = lowered[lowered.index("gpu.module @kernels") :].replace("gpu.module @kernels", "module", 1)
        body = re.sub(r"gpu\.kernel, nvvm\.kernel[^}]*", "", body.rstrip()[:-1])
        Path(f"{path}.m.mlir").write_text(body)
        call("mlir-translate", "--mlir-to-llvmir", f"{path}.m.mlir", "-o", f"{path}.ll")
        ir = Path(f"{path}.ll").read_text()
        for pattern, replacement in [
            (r" addrspace\(\d\)", ""),
            (r"@llvm\.nvvm\.read\.ptx\.sreg\.tid\.x", "@simTid"),
            (r"@llvm\.nvvm\.read\.ptx\.sreg\.ctaid\.x", "@simCtaid"),
            (r"@llvm\.nvvm\.ex2\.approx\.ftz\.f32", "@exp2f"),
            (r"@llvm\.nvvm\.barrier[\w.]*\([^)]*\)", "@simBarrier()"),
            (r"@llvm\.nvvm\.redux\.sync\.max", "@simReduxMax"),
            (r"@llvm\.nvvm\.redux\.sync\.add", "@simReduxAdd"),
        ]:
            ir = re.sub(pattern, replacement, ir)
        Path(f"{path}.ll").write_text(ir)
        call("clang", "-O1", "-w", "-shared", "-fPIC", f"{path}.ll", SIMULATOR, "-o", f"{path}.so", "-lm", "-lpthread")
        self.library = ctypes.CDLL(f"{path}.so")

    def names(self) -> list[str]:
        """Return all kernels' names, those of an epilogue's phases in order."""
        return re.findall(r"llvm\.func @(\w+)\(", self.text)

    def threads(self, name: str) -> int:
        """Return the threads of a kernel's block."""
        return int(re.search(rf"@{name}\(.*?reqntid = array<i32: (\d+)>", self.text).group(1))

    def launch(self, name: str, arrays: list[np.ndarray], m: int, groups: int, columns: int) -> None:
        """Run a kernel with `groups` groups of blocks that cover `columns` columns."""
        threads = self.threads(name)
        lanes = int(re.search(r"_v(\d+)", name).group(1))
        limit = 32 if "norm" in name else threads
        across = min(limit, 1 << max(0, (columns // lanes - 1).bit_length()))
        self.launch_blocks(name, arrays, m, groups, groups * -(-columns // (across * lanes)))

    def launch_blocks(self, name: str, arrays: list[np.ndarray], m: int, groups: int, blocks: int) -> None:
        """Run a kernel in `blocks` blocks."""
        arguments = (ctypes.c_void_p * 14)(*[a.ctypes.data for a in arrays], m, groups)
        kernel = ctypes.cast(getattr(self.library, name), ctypes.c_void_p)
        self.library.simLaunch(kernel, arguments, blocks, self.threads(name))


def guarded(values: np.ndarray) -> np.ndarray:
    """Copy `values` to the middle of a buffer of canaries; a view of the middle."""
    buffer = np.full(values.size + 2 * MARGIN, CANARY, values.dtype)
    view = buffer[MARGIN : MARGIN + values.size].reshape(values.shape)
    view[...] = values
    return view


def check(what: str, got: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Stop at the first array that is wrong, or whose surroundings were written to."""
    error = np.abs(got.astype(np.float64) - expected).max()
    around = np.concatenate([got.base[:MARGIN], got.base[-MARGIN:]])
    if not error <= tolerance or not (around == CANARY).all():
        sys.exit(f"{what}: error {error}, at most {tolerance} allowed; canaries intact: {(around == CANARY).all()}")
    print(f"{what}: right")


def batch_norm(m: int, n: int, t: str, tolerance: float) -> None:
    """Scale, batch norm in training and mish, in place, running statistics in place."""
    s = "f64" if t == "f64" else "f32"
    y, v = f"?x{n}x{t}", f"{n}x{s}"
    kernels = Kernels(
        f"norm_{m}_{n}_{t}",
        f"""
func.func @norm(%y: memref<{y}>, %s: memref<{n}x{t}>, %g: memref<{v}>, %m: memref<{v}>, %v: memref<{v}>) {{
  tenon.epilogue ins(%a = %y: memref<{y}>, %ss = %s: memref<{n}x{t}>, %gg = %g: memref<{v}>, %mm = %m: memref<{v}>,
                     %vv = %v: memref<{v}>) outs(%y: memref<{y}>, %m: memref<{v}>, %v: memref<{v}>) {{
    %1 = tenon.mul %a, %ss : tensor<{y}>, tensor<{n}x{t}>
    %2:3 = tenon.batch_norm_training %1 weight(%gg) running(%mm, %vv)
        : (tensor<{y}>, tensor<{v}>, tensor<{v}>, tensor<{v}>) -> (tensor<{y}>, tensor<{v}>, tensor<{v}>)
    %3 = tenon.mish %2#0 : tensor<{y}>
    tenon.yield %3, %2#1, %2#2 : tensor<{y}>, tensor<{v}>, tensor<{v}>
  }}
  return
}}""",
    )
    random = np.random.default_rng(m)
    names = kernels.names()
    for reduce, apply in zip(names[::2], names[1::2], strict=True):
        for groups in (1, 3):
            matrix = guarded((random.standard_normal((m, n)) * 2 + random.standard_normal(n) * 5).astype(DTYPES[t]))
            scale = guarded(random.standard_normal(n).astype(DTYPES[t]))
            weight, mean, variance = (guarded(random.random(n).astype(DTYPES[s])) for _ in range(3))
            x = matrix.astype(np.float64) * scale
            z = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) * weight
            expected = z * np.tanh(np.log1p(np.exp(z)))
            new_mean = 0.9 * mean.astype(np.float64) + 0.1 * x.mean(0)
            new_variance = 0.9 * variance.astype(np.float64) + 0.1 * x.var(0, ddof=1)
            states = np.full((groups, 2, n), np.nan, DTYPES[s])
            kernels.launch(reduce, [matrix, scale, states], m, groups, n)
            operands = [matrix, scale, weight, mean, variance, matrix, mean, variance, states]
            kernels.launch(apply, operands, m, groups, n)
            what = f"{apply}, {m}x{n} {t}, {groups} groups"
            check(what, matrix, expected, tolerance)
            check(f"{what}, mean", mean, new_mean, 1e-5)
            check(f"{what}, variance", variance, new_variance, 1e-4)


def broadcasting(m: int, n: int) -> None:
    """Every kind of operand and result, and a residual in f16."""
    y = f"tensor<?x{n}xf32>"
    kernels = Kernels(
        f"map_{m}_{n}",
        f"""
func.func @map(%y: memref<?x{n}xf32>, %b: memref<{n}xf32>, %c: memref<?x1xf32>, %r: memref<?x{n}xf16>, %s: memref<f32>,
               %p: memref<{n}xf32>, %q: memref<?x1xf32>, %u: memref<f32>) {{
  tenon.epilogue ins(%a = %y: memref<?x{n}xf32>, %bb = %b: memref<{n}xf32>, %cc = %c: memref<?x1xf32>,
                     %rr = %r: memref<?x{n}xf16>, %ss = %s: memref<f32>)
      outs(%y: memref<?x{n}xf32>, %p: memref<{n}xf32>, %q: memref<?x1xf32>, %u: memref<f32>) {{
    %0 = tenon.add %a, %bb : {y}, tensor<{n}xf32>
    %1 = tenon.mul %0, %cc : {y}, tensor<?x1xf32>
    %2 = tenon.add %1, %rr : {y}, tensor<?x{n}xf16>
    %3 = tenon.mul %2, %ss : {y}, tensor<f32>
    %4 = tenon.relu %3 : {y}
    %5 = tenon.mul %bb, 2.0 : tensor<{n}xf32>
    %6 = tenon.tanh %cc : tensor<?x1xf32>
    %7 = tenon.silu %ss : tensor<f32>
    %8 = tenon.gelu %6 : tensor<?x1xf32>
    tenon.yield %4, %5, %8, %7 : {y}, tensor<{n}xf32>, tensor<?x1xf32>, tensor<f32>
  }}
  return
}}""",
    )
    random = np.random.default_rng(n)
    for name in kernels.names():
        matrix, bias, column = (
            guarded(random.standard_normal(shape).astype(np.float32)) for shape in [(m, n), (n,), (m, 1)]
        )
        residual = guarded(random.standard_normal((m, n)).astype(np.float16))
        scalar = guarded(np.full((1,), 1.5, np.float32))
        doubled, gelu, silu = (guarded(np.zeros(shape, np.float32)) for shape in [(n,), (m, 1), (1,)])
        expected = np.maximum(((matrix.astype(np.float64) + bias) * column + residual) * 1.5, 0)
        operands = [matrix, bias, column, residual, scalar, matrix, doubled, gelu, silu]
        kernels.launch(name, operands, m, 2, n)
        check(f"{name}, {m}x{n}, matrix", matrix, expected, 1e-5)
        check(f"{name}, {m}x{n}, features", doubled, 2 * bias.astype(np.float64), 0)
        expected = [[0.5 * z * math.erfc(-z * math.sqrt(0.5))] for z in np.tanh(column.astype(np.float64)).ravel()]
        check(f"{name}, {m}x{n}, rows", gelu, np.array(expected), 1e-6)
        check(f"{name}, {m}x{n}, scalar", silu, np.array([1.5 / (1 + np.exp(-1.5))]), 1e-6)


def first_operands(m: int, n: int, t: str) -> None:
    """Repeated tensors as first operands, between casts from `t` to f32 and back."""
    kernels = Kernels(
        f"first_{m}_{n}_{t}",
        f"""
func.func @map(%y: memref<?x{n}x{t}>, %b: memref<{n}xf32>, %c: memref<?x1x{t}>, %s: memref<f32>,
               %z: memref<?x{n}xf32>) {{
  tenon.epilogue ins(%a = %y: memref<?x{n}x{t}>, %bb = %b: memref<{n}xf32>, %cc = %c: memref<?x1x{t}>,
                     %ss = %s: memref<f32>)
      outs(%y: memref<?x{n}x{t}>, %z: memref<?x{n}xf32>) {{
    %0 = tenon.cast %a : tensor<?x{n}x{t}> -> tensor<?x{n}xf32>
    %1 = tenon.sub %bb, %0 : tensor<{n}xf32>, tensor<?x{n}xf32>
    %2 = tenon.cast %cc : tensor<?x1x{t}> -> tensor<?x1xf32>
    %3 = tenon.div %2, %1 : tensor<?x1xf32>, tensor<?x{n}xf32>
    %4 = tenon.sub %ss, %3 : tensor<f32>, tensor<?x{n}xf32>
    %5 = tenon.cast %4 : tensor<?x{n}xf32> -> tensor<?x{n}x{t}>
    tenon.yield %5, %4 : tensor<?x{n}x{t}>, tensor<?x{n}xf32>
  }}
  return
}}""",
    )
    random = np.random.default_rng(n)
    for name in kernels.names():
        matrix, column = (guarded(random.uniform(-1, 1, shape).astype(DTYPES[t])) for shape in [(m, n), (m, 1)])
        bias, scalar = guarded(random.uniform(2, 3, n).astype(np.float32)), guarded(np.full((1,), 1.5, np.float32))
        wide = guarded(np.zeros((m, n), np.float32))
        expected = scalar - column.astype(np.float64) / (bias - matrix.astype(np.float64))
        kernels.launch(name, [matrix, bias, column, scalar, matrix, wide], m, 2, n)
        check(f"{name}, {m}x{n} {t}, wide", wide, expected, 1e-6)
        check(f"{name}, {m}x{n} {t}, rounded", matrix, wide.astype(DTYPES[t]).astype(np.float64), 0)


if __name__ == "__main__":
    WORK.mkdir(parents=True, exist_ok=True)
    for case in [(300, 64, "f32", 1e-5), (37, 40, "f32", 1e-5), (1000, 7, "f32", 1e-5), (2, 256, "f16", 4e-3),
                 (700, 264, "f16", 4e-3), (130, 6, "f64", 1e-12), (513, 1, "f32", 1e-5)]:  # fmt: skip
        batch_norm(*case)
    for case in [(37, 24), (1, 7), (300, 1030)]:
        broadcasting(*case)
    for case in [(37, 24, "f16"), (5, 7, "f16"), (1, 1032, "f16"), (37, 24, "f32")]:
        first_operands(*case)
    print("all right")
