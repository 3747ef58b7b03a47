# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles kernels of mma_sync that multiply f32 by method fp16x3 or fma, or are guarded, with several epilogues.

Fails where tiled_resources.py would, but for a budget of registers: the blocks' threads get all there are. Schedules
are those that leave a thread few registers, and those of the kernels for unaligned pointers.
"""

from __future__ import annotations

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tiled_cases import Case, Layer, Schedule, run
from tiled_resources import Kernel, inspect, keep_kernels

# Bytes of shared memory that a block may have.
TARGETS = {"sm_80": 166912, "sm_90a": 232448}
# A warp's part of 64x32 leaves the fewest registers; one of 32x32 has a block's neighbour to share them with.
TILES = (("128x128", "2x4", 1), ("64x64", "2x2", 2), ("16x128", "1x4", 2))
# Methods, whether the kernel is guarded, and how else a tile may be computed.
VARIANTS = (
    ("fp16x3", False, ""),
    ("fp16x3", False, ", stream_k = true"),
    ("fma", False, ", stream_k = true"),
    ("fma", True, ""),
    ("direct", True, ""),
)
# M, N and K: tiles that fit; tiles beyond M and N; copies and stores of single elements.
SHAPES = ((4096, 4096, 4096), ("?", 4090, 4100), ("?", 4097, 4099))
# Each an operand's declaration and the ops.
EPILOGUES = {
    "leaky": (
        "{n}xf32",
        (
            "%0 = tenon.add %acc, %arg : {y}, tensor<{n}xf32>",
            "%1 = tenon.mul %0, 2.0 : {y}",
            "%2 = tenon.leaky_relu %1 {{negative_slope = 0.1}} : {y}",
        ),
    ),
    "residual": (
        "{m}x{n}xf32",
        (
            "%0 = tenon.gelu %acc : {y}",
            "%1 = tenon.add %0, %arg : {y}, {y}",
            "%2 = tenon.clamp %1 {{min = -1.0, max = 1.0}} : {y}",
        ),
    ),
}


@dataclass(frozen=True)
class Product:
    """A layer by one method, on memrefs."""

    method: str
    guarded: bool
    schedule: str
    epilogue: str
    shape: tuple[int | str, int, int]

    @property
    def name(self) -> str:
        """Return the function's name."""
        parts = (*self.shape, self.epilogue, *re.findall(r"\d+x\d+", self.schedule)[:2], "stream_k" in self.schedule)
        return "_".join([self.method, *map(str, parts)]).replace("?", "m")

    @property
    def kernel(self) -> str:
        """Return its kernel's name, for aligned pointers."""
        return f"{self.name}_tiled{'_guard' if self.guarded else ''}"

    def write(self) -> str:
        """Return the function."""
        m, n, k = self.shape
        element, columns = ("f16", -(-k // 32) * 64) if self.method == "fp16x3" else ("f32", k)
        y = f"{m}x{n}xf32"
        declared, ops = EPILOGUES[self.epilogue]
        arg = declared.format(m=m, n=n)
        operands = {"x": f"{m}x{columns}x{element}", "w": f"{n}x{columns}x{element}"}
        factors = ""
        if self.guarded or self.method == "fp16x3":
            operands |= {"fx": f"{m}x1xf32", "fw": f"{n}x1xf32"}
            factors = f" factors(%fx, %fw : memref<{operands['fx']}>, memref<{operands['fw']}>)"
        operands |= {"b": arg, "y": y}
        workspace = ""
        if "stream_k" in self.schedule:
            height, width = map(int, re.search(r"tile = (\d+)x(\d+)", self.schedule).groups())
            operands["s"] = f"{384 * (8 + height * width * 4)}xi8"
            workspace = f" workspace(%s: memref<{operands['s']}>)"
        arguments = ", ".join(f"%{name}: memref<{type_}>" for name, type_ in operands.items())
        body = "\n    ".join(op.format(m=m, n=n, y=f"tensor<{y}>") for op in ops)
        return f"""func.func @{self.name}({arguments}) {{
  tenon.tiled_linear %x, %w : memref<{operands["x"]}>, memref<{operands["w"]}>{factors}
      epilogue(%acc: tensor<{y}>, %arg = %b: memref<{arg}>) outs(%y: memref<{y}>){workspace}
      schedule<{self.schedule}> {{
    {body}
    tenon.yield %2 : tensor<{y}>
  }}
  return
}}
"""


def list_products(method: str, guarded: bool, options: str) -> list[Product]:
    """Return the kernels of a variant."""
    products = []
    for tile, warps, blocks in TILES:
        for number, shape in enumerate(SHAPES):
            k = 64 if method == "fp16x3" else 32
            schedule = (
                f"mma_sync, tile = {tile}x{k}, warps = {warps}, stages = 3, swizzle = 128, raster = 8, "
                f"blocks = {blocks}{options}{'' if method == 'direct' else f', method = {method}'}"
            )
            # Each shape meets each tile, and epilogues take turns; those of most registers meet both.
            names = list(EPILOGUES) if tile == TILES[0][0] else [list(EPILOGUES)[number % len(EPILOGUES)]]
            products += [Product(method, guarded, schedule, epilogue, shape) for epilogue in names]
    return products


def assemble(target: str, variant: tuple[str, bool, str]) -> list[Kernel]:
    """Return a variant's kernels on `target`; of those for unaligned pointers the first of each shape."""
    products = list_products(*variant)
    text, _ = run(["--tenon-emit-kernels", "--tenon-clean-kernels"], "".join(p.write() for p in products))
    kernels = []
    for product in products:
        layer = Layer(("f32", "f32"), product.epilogue, 0, product.shape)
        case = Case(target, Schedule(product.schedule, TARGETS[target]), layer)
        aligned, unaligned = product.kernel, f"{product.kernel}_unaligned"
        kernels += [Kernel(case, name) for name in (aligned, unaligned) if f"llvm.func @{name}(" in text]
    first = {kernel.case.layer.shape: kernel.name for kernel in reversed(kernels) if kernel.is_unaligned}
    kernels = [k for k in kernels if not k.is_unaligned or k.name == first[k.case.layer.shape]]
    kept = keep_kernels(text, {kernel.name for kernel in kernels})
    assembled, _ = run([f"--tenon-serialize-kernels=targets={target}"], kept)
    for kernel in kernels:
        inspect(kernel, text, assembled)
    return kernels


def main() -> None:
    """Check all kernels."""
    jobs = [(target, variant) for target in TARGETS for variant in VARIANTS]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        kernels = [kernel for group in pool.map(lambda job: assemble(*job), jobs) for kernel in group]
    failures = [f"{kernel.case.target} {kernel.name} {what}" for kernel in kernels for what in kernel.failures]
    print("\n".join([*failures, f"{len(kernels)} kernels, {len(failures)} failures"]))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
