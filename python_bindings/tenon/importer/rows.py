# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What normalises rows, made of reductions along N and elementwise ops.

Each function takes and gives `[M, N]`, or gives `[M, 1]`, in float32 or float64: a caller widens 16 bits before and
rounds once behind.
"""

from __future__ import annotations

from tenon.importer.builder import Builder, Value, constant

_LARGEST = {"float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}


def softmax(b: Builder, x: Value) -> Value:
    """Return each row's exponentials as parts of their sum."""
    powers = b.unary("exp", b.binary("sub", x, b.reduce_row("max", x)))
    return b.binary("mul", powers, b.binary("div", 1.0, b.reduce_row("sum", powers)))


def log_softmax(b: Builder, x: Value) -> Value:
    """Return the logarithm of a softmax, in which nothing underflows."""
    distances, _, logarithm = log_softmax_parts(b, x)
    return b.binary("sub", distances, logarithm)


def log_softmax_parts(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """Return each row's distances from its maximum, the maximum, and what is left to subtract, `[M, 1]`."""
    largest = b.reduce_row("max", x)
    distances = b.binary("sub", x, largest)
    total = b.reduce_row("sum", b.unary("exp", distances))
    return distances, largest, b.unary("log", total)


def gather(b: Builder, x: Value, numbers: Value, index: Value) -> Value:
    """Return the element of each row whose column is that of `index`, `[M, 1]`; `numbers` has 0 to N - 1, `[N]`."""
    return b.reduce_row("sum", b.select_equal(x, numbers, index))


def logsumexp(b: Builder, x: Value) -> Value:
    """Return the logarithm of each row's sum of exponentials, `[M, 1]`.

    A maximum that is infinite would make NaN of itself; within the range of the type it leaves infinity in the sum.
    """
    bound = _LARGEST[x.dtype]
    bounds = f"{{min = {constant(-bound)} : f64, max = {constant(bound)} : f64}}"
    largest = b.unary("clamp", b.reduce_row("max", x), bounds)
    total = b.reduce_row("sum", b.unary("exp", b.binary("sub", x, largest)))
    return b.binary("add", b.unary("log", total), largest)


def layer_norm(
    b: Builder, x: Value, weight: Value | None, bias: Value | None, eps: float
) -> tuple[Value, Value, Value]:
    """Return each row's distances from its mean over its deviation, the means, and the inverse deviations."""
    return group_norm(b, x, 1, weight, bias, eps)


def variance(b: Builder, x: Value, correction: float) -> Value:
    """Return each row's squared distances from its mean, summed and over the row's length less `correction`."""
    distances = b.binary("sub", x, b.reduce_row("mean", x))
    total = b.reduce_row("sum", b.binary("mul", distances, distances))
    return b.binary("div", total, max(x.shape[1] - correction, 0.0))


def group_norm(
    b: Builder, x: Value, groups: int, weight: Value | None, bias: Value | None, eps: float
) -> tuple[Value, Value, Value]:
    """Return each group of a row's columns as a layer norm has a row, the means, and the inverse deviations."""
    columns = x.shape[1] // groups
    mean = b.reduce_row("mean", x, groups)
    distances = b.binary("sub", x, b.repeat_columns(mean, columns))
    inverse = _inverse_root(b, distances, eps, groups)
    normalised = b.binary("mul", distances, b.repeat_columns(inverse, columns))
    return affine(b, normalised, weight, bias), mean, inverse


def rms_norm(b: Builder, x: Value, weight: Value | None, eps: float) -> tuple[Value, Value]:
    """Return each row over its root mean square, and the inverses of these."""
    inverse = _inverse_root(b, x, eps)
    return affine(b, b.binary("mul", x, inverse), weight, None), inverse


def _inverse_root(b: Builder, x: Value, eps: float, groups: int = 1) -> Value:
    square = b.reduce_row("mean", b.binary("mul", x, x), groups)
    return b.unary("rsqrt", b.binary("add", square, eps))


def affine(b: Builder, x: Value, weight: Value | None, bias: Value | None) -> Value:
    """Return a row times a weight and plus a bias, `[N]` each, where they are given."""
    x = b.binary("mul", x, weight) if weight else x
    return b.binary("add", x, bias) if bias else x
