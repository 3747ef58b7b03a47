# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of 16 and 32 bits as those of 8, with a scale for each row of x and of w."""

from __future__ import annotations

from tenon.dtypes import DATA_TYPES
from tenon.importer.builder import Builder, Factor, Value

DTYPE = "float8_e4m3fn"
LARGEST = 448.0
# So that rows of zeros stay zeros. Below it float32 has fewer digits.
LEAST_SCALE = 2.0**-126
# What kernels copy is of so many elements of K; of fewer there is little to gain.
_K_MULTIPLE, _LEAST_K = 16, 128


def is_quantised(dtype: str, k: int) -> bool:
    """Tell whether a product of such matrices, w a parameter, is one of 8 bits with precision "fp8"."""
    return DATA_TYPES[dtype].bytes in (2, 4) and k >= _LEAST_K and k % _K_MULTIPLE == 0


def quantise_rows(b: Builder, x: Value, dtype: str = DTYPE, magnitude: float = LARGEST) -> tuple[Value, Value]:
    """Return x in fewer bits and the scale of each row, `[M, 1]`, by which its largest magnitude is the one given."""
    # In x's own type, so that no kernel writes it in float32 for the next.
    largest = b.widen(b.reduce_row("max", b.binary("max", x, b.binary("mul", x, -1.0))))
    scale = b.binary("max", b.binary("div", largest, magnitude), LEAST_SCALE)
    return b.cast(b.binary("div", b.widen(x), scale), dtype), scale


def linear(b: Builder, x: Factor, w: Factor, bias: Value | None, dtype: str) -> Value:
    """Append a linear layer; what is made of w is made once a version of it."""
    (of_x, scale_of_x), (of_w, scale_of_w) = quantise_rows(b, x.value), quantise_rows(b, w.value)
    y = b.linear(of_x, of_w, dtype="float32")
    y = b.binary("mul", b.binary("mul", y, scale_of_x), b.as_vector(scale_of_w))
    return b.cast(y if bias is None else b.binary("add", y, bias), dtype)
