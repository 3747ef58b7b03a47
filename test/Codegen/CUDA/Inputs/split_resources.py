# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles kernels of tenon.split and checks that they keep their rows in registers, and with how many."""

from __future__ import annotations

from all_targets_assembly import check

# Of each kind: rows of 16, 8 and 4 warps and of one, rows read twice, ends that are no vector, pairs, padding alone.
WIDTHS = (16384, 8192, 4096, 40000, 32770, 16385, 100, 31, 1)
RESIDENT_THREADS = 1024


def write_split(k: int, parts: int) -> str:
    """Return a function that splits rows of `k` elements."""
    columns = -(-k // 8) * 8 if parts == 1 else 2 * -(-k // 32) * 32
    x, halves, factors = f"memref<?x{k}xf32>", f"memref<?x{columns}xf16>", "memref<?x1xf32>"
    return f"""func.func @k{k}_p{parts}(%x: {x}, %halves: {halves}, %factors: {factors}) {{
  tenon.split %x outs(%halves, %factors) : ({x}, {halves}, {factors}) -> ()
  return
}}
"""


if __name__ == "__main__":
    check("".join(write_split(k, parts) for k in WIDTHS for parts in (1, 2)), lambda _: RESIDENT_THREADS)
