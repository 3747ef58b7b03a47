# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles kernels of tenon.split and checks that they keep their rows in registers, and with how many."""

from __future__ import annotations

from all_targets_assembly import check

# Of each kind: rows of 16, 8 and 4 warps and of one, rows read twice, ends that are no vector, pairs, padding alone.
WIDTHS = (16384, 8192, 4096, 40000, 32770, 16385, 100, 31, 1)
# Of a transpose [K, M]: whole tiles and panels, ends of both, padding alone.
TRANSPOSED = ((8192, 8192), (1000, 100), (1, 1))
RESIDENT_THREADS = 1024
RESIDENT_PANEL_THREADS = 512


def write_split(k: int, parts: int) -> str:
    """Return a function that splits rows of `k` elements."""
    columns = -(-k // 8) * 8 if parts == 1 else 2 * -(-k // 32) * 32
    x, halves, factors = f"memref<?x{k}xf32>", f"memref<?x{columns}xf16>", "memref<?x1xf32>"
    return f"""func.func @k{k}_p{parts}(%x: {x}, %halves: {halves}, %factors: {factors}) {{
  tenon.split %x outs(%halves, %factors) : ({x}, {halves}, {factors}) -> ()
  return
}}
"""


def write_transposed_split(k: int, m: int, parts: int) -> str:
    """Return a function that splits columns of `k` elements."""
    columns = -(-k // 8) * 8 if parts == 1 else 2 * -(-k // 32) * 32
    x, halves, factors = f"memref<{k}x{m}xf32>", f"memref<{m}x{columns}xf16>", f"memref<{m}x1xf32>"
    return f"""func.func @t{k}_{m}_p{parts}(%x: {x}, %halves: {halves}, %factors: {factors}) {{
  tenon.split %x transposed outs(%halves, %factors) : ({x}, {halves}, {factors}) -> ()
  return
}}
"""


if __name__ == "__main__":
    splits = [write_split(k, parts) for k in WIDTHS for parts in (1, 2)]
    splits += [write_transposed_split(k, m, parts) for k, m in TRANSPOSED for parts in (1, 2)]
    check("".join(splits), lambda entry: RESIDENT_PANEL_THREADS if "_split_panels_" in entry else RESIDENT_THREADS)
