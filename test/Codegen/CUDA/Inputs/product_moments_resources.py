# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles kernels of tenon.product_moments and checks that they keep their sums in registers."""

from __future__ import annotations

import re

from all_targets_assembly import check

# Every number of tiles along a side, with ends and without.
DEPTHS = (1, 30, 64, 96, 128, 131, 160, 192, 224, 256)
ELEMENTS = ("bf16", "f32")


def write_moments(element: str, k: int) -> str:
    """Return a function that has the moments of a product of depth `k`."""
    x, w, vector = f"memref<?x{k}x{element}>", f"memref<100x{k}x{element}>", "memref<100xf32>"
    return f"""func.func @{element}_k{k}(%x: {x}, %w: {w}, %a: {vector}, %b: {vector}, %c: {vector}) {{
  tenon.product_moments %x, %w outs(%a, %b, %c) : ({x}, {w}, {vector}, {vector}, {vector}) -> ()
  return
}}
"""


if __name__ == "__main__":
    check(
        "".join(write_moments(element, k) for element in ELEMENTS for k in DEPTHS),
        lambda ptx: int(re.search(r"\.reqntid (\d+)", ptx)[1]),
    )
