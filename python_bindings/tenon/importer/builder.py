# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the ops of a function as MLIR text."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import NamedTuple

from tenon.dtypes import DATA_TYPES
from tenon.importer.shapes import Extent, Shape, broadcast, is_expressible, product

TYPES = {kind.name: kind.spelling for kind in DATA_TYPES.values()}  # by dtype
MAX_NUMBERED = 2**24  # columns, which float32 tells apart
WHOLE_TYPES = {"bool": "i1", "int32": "i32", "int64": "i64"}  # inside functions only


class InexpressibleError(Exception):
    """Tenon has no word for an op; the message is the reason, a sentence."""


class Value(NamedTuple):
    """A tensor in the function: its name with the percent sign, and its type."""

    name: str
    dtype: str
    shape: Shape


Operand = Value | float


class Factor(NamedTuple):
    """A matrix of a product: x `[M, K]` or w `[N, K]`, or given as the transpose of that; a parameter, if known so.

    With factors of rows, `[M, 1]`, and of columns, `[K]`, x is the value times all of them; with shifts of rows, `[M, 1]`,
    and of columns, `[K]`, these are subtracted before, and with addends of columns, `[K]`, those are added behind.
    """

    value: Value
    is_transposed: bool = False
    is_parameter: bool = False
    row_factors: tuple[Value, ...] = ()
    column_factors: tuple[Value, ...] = ()
    row_shifts: tuple[Value, ...] = ()
    column_addends: tuple[Value, ...] = ()
    column_shifts: tuple[Value, ...] = ()

    def is_scaled(self) -> bool:
        """Tell whether it has factors."""
        return bool(self.row_factors or self.column_factors)

    def rows(self) -> Extent:
        """Return M or N."""
        return self.value.shape[1 if self.is_transposed else 0]

    def depth(self) -> Extent:
        """Return K."""
        return self.value.shape[0 if self.is_transposed else 1]


class Builder:
    """Appends ops to `lines`; each method returns the op's result.

    A rounding that the front end does not have is avoided: what it computes in one op and
    Tenon in several is computed in float32 (see `widen`).
    """

    def __init__(self, precision: str | None) -> None:
        """Take the precision of float32 products."""
        self.lines: list[str] = []
        self.origin = ""  # what the ops to come are made from
        self.origins: list[str] = []  # of each line
        self.location = ""  # a trailing `loc(...)` of the ops to come
        self.name = "v"  # what values are named after
        self._precision = precision
        self._names: set[str] = set()

    def fresh(self, name: str) -> str:
        """Return a name that no other value has, made of `name`."""
        unique, number = name, 0
        while unique in self._names:
            unique, number = f"{name}_{number}", number + 1
        self._names.add(unique)
        return unique

    def unary(self, op: str, x: Value, attributes: str = "") -> Value:
        """Append an op whose result has its operand's type."""
        text = f"tenon.{op} {x.name}{attributes and ' ' + attributes} : {type_of(x)}"
        return self._append(text, x.dtype, x.shape)

    def elementwise(self, op: str, x: Value) -> Value:
        """Append an op of dialect math on one tensor, such as `math.sqrt`."""
        return self._append(f"{op} {x.name} : {type_of(x)}", x.dtype, x.shape)

    def reduce_row(self, kind: str, x: Value, groups: int = 1) -> Value:
        """Append the sum, mean, max or min of each row, or of equal groups of its columns, `[M, groups]`.

        Or the column of the largest or smallest element, "argmax" and "argmin", in float32 or float64.
        """
        if len(x.shape) != 2:
            raise InexpressibleError("it does not take the rows of a matrix")
        if x.shape[1] % groups:
            raise InexpressibleError(f"{groups} groups do not divide {x.shape[1]} columns")
        attributes = f" {{groups = {groups}}}" if groups != 1 else ""
        text = f"tenon.reduce_row {kind} {x.name}{attributes} : {type_of(x)}"
        is_place = kind.startswith("arg")
        if is_place and x.dtype != "float64" and x.shape[1] > MAX_NUMBERED:
            raise InexpressibleError("it has more columns than float32 tells apart")
        dtype = "float32" if is_place and x.dtype != "float64" else x.dtype
        return self._append(text, dtype, (x.shape[0], groups))

    def repeat_columns(self, x: Value, times: int) -> Value:
        """Append each column so many times, as what was found of groups is at each of theirs; nothing for one."""
        if times == 1 or x.shape[1] == 1:  # one for a row broadcasts
            return x
        text = f"tenon.repeat_columns {x.name} {{times = {times}}} : {type_of(x)}"
        return self._append(text, x.dtype, (x.shape[0], x.shape[1] * times))

    def scale_blocks(self, x: Value, scales: Value, rows: int, columns: int) -> Value:
        """Append float32 of a matrix of 8 bits whose blocks have scales, a matrix or column by column a vector."""
        blocks = (x.shape[0] if rows == 1 else _ceil_div(x.shape[0], rows), _ceil_div(x.shape[1], columns))
        if scales.shape not in (blocks, (product(blocks),)) or scales.dtype != "float32" or DATA_TYPES[x.dtype].bytes != 1:
            raise InexpressibleError(f"its scales are not those of blocks of {rows} by {columns}")
        result = Value("", "float32", x.shape)
        types = f"({type_of(x)}, {type_of(scales)}) -> {type_of(result)}"
        text = f"tenon.scale_blocks {x.name}, {scales.name} {{rows = {rows}, columns = {columns}}} : {types}"
        return self._append(text, result.dtype, result.shape)

    def as_vector(self, x: Value) -> Value:
        """Return a matrix of static shape as a vector, row by row."""
        result = Value("", x.dtype, (product(x.shape),))
        text = f"tensor.collapse_shape {x.name} [[0, 1]] : {type_of(x)} into {type_of(result)}"
        return self._append(text, x.dtype, result.shape)

    def select_equal(self, x: Value, first: Value, second: Value) -> Value:
        """Append x where two tensors that broadcast to its shape are equal, and 0 elsewhere."""
        operands = x, first, second
        if len({v.dtype == "float64" for v in operands}) > 1:
            raise InexpressibleError("it mixes float64 with another dtype")
        text = f"tenon.select_equal {', '.join(v.name for v in operands)} : {', '.join(map(type_of, operands))}"
        return self._append(text, x.dtype, x.shape)

    def cast(self, x: Value, dtype: str) -> Value:
        """Convert to another dtype; nothing where it has it."""
        if x.dtype == dtype:
            return x
        if "float64" in (x.dtype, dtype):
            raise InexpressibleError("Tenon has no cast from or to float64")
        result = Value("", dtype, x.shape)
        return self._append(f"tenon.cast {x.name} : {type_of(x)} -> {type_of(result)}", dtype, x.shape)

    def widen(self, x: Value) -> Value:
        """Convert 16 bits to float32, in which frameworks compute as well."""
        return self.cast(x, "float32") if DATA_TYPES[x.dtype].bytes < 4 else x

    def binary(self, op: str, x: Operand, y: Operand) -> Value:
        """Append add, sub, mul, div, min or max; the result has the first tensor's dtype."""
        if not isinstance(x, Value) and not isinstance(y, Value):
            raise InexpressibleError("it computes with numbers alone")
        if not isinstance(y, Value):
            return self._append(f"tenon.{op} {x.name}, {constant(y)} : {type_of(x)}", x.dtype, x.shape)
        if not isinstance(x, Value):
            return self._append(f"tenon.{op} {constant(x)}, {y.name} : {type_of(y)}", y.dtype, y.shape)
        if (x.dtype == "float64") != (y.dtype == "float64"):
            raise InexpressibleError("it mixes float64 with another dtype")
        shape = broadcast(x.shape, y.shape)
        if shape is None:
            raise InexpressibleError("it broadcasts over some of the leading dimensions only")
        return self._append(f"tenon.{op} {x.name}, {y.name} : {type_of(x)}, {type_of(y)}", x.dtype, shape)

    def promoted(self, op: str, x: Operand, y: Operand, dtype: str) -> Value:
        """Append a binary op whose result has `dtype`, as the front end's promotion chose it."""
        commutes = op not in ("sub", "div")
        if commutes and isinstance(x, Value) and isinstance(y, Value) and x.dtype != dtype == y.dtype:
            x, y = y, x
        elif isinstance(x, Value) and x.dtype != dtype:
            x = self.widen(x)
        elif isinstance(y, Value) and not isinstance(x, Value) and y.dtype != dtype:
            y = self.widen(y)
        return self.cast(self.binary(op, x, y), dtype)

    def linear(
        self,
        x: Factor | Value,
        w: Factor | Value,
        bias: Value | None = None,
        dtype: str | None = None,
        precision: str | None = None,
    ) -> Value:
        """Append a linear layer of x `[M, K]` and w `[N, K]`, or of their transposes; the result is `[M, N]`.

        A precision is taken in the place of that of all float32 products.
        """
        precision = precision or self._precision
        x, w = (Factor(v) if isinstance(v, Value) else v for v in (x, w))
        operands = [x.value, w.value] if bias is None else [x.value, w.value, bias]
        if x.value.dtype != w.value.dtype:
            raise InexpressibleError("its two matrices have different dtypes")
        if any(len(v.shape) != 2 for v in operands[:2]) or x.depth() != w.depth():
            raise InexpressibleError("it is not a product of an activation [M, K] with a weight [N, K]")
        if not isinstance(w.rows(), int):
            raise InexpressibleError("its weight has a dynamic shape")
        layout = f"{'km' if x.is_transposed else 'mk'}_{'kn' if w.is_transposed else 'nk'}"
        how = f" precision<{precision}>" if precision and x.value.dtype == "float32" else ""
        how += f" layout<{layout}>" if layout != "mk_nk" else ""
        result = Value("", dtype or x.value.dtype, (x.rows(), w.rows()))
        names, types = ", ".join(v.name for v in operands), ", ".join(map(type_of, operands))
        text = f"tenon.linear {names}{how} : ({types}) -> {type_of(result)}"
        return self._append(text, result.dtype, result.shape)

    def batch_norm_inference(
        self, x: Value, mean: Value, variance: Value, weight: Value | None, bias: Value | None, eps: float
    ) -> Value:
        """Append batch norm with given statistics, each `[N]`."""
        _check_norm(x, mean, variance, weight, bias)
        affine = f"{_group('weight', weight)}{_group('bias', bias)}"
        types = ", ".join(type_of(v) for v in (x, mean, variance, weight, bias) if v)
        text = (
            f"tenon.batch_norm_inference {x.name} stats({mean.name}, {variance.name}){affine} "
            f"{{eps = {constant(eps)}}} : {types}"
        )
        return self._append(text, x.dtype, x.shape)

    def batch_norm_training(
        self,
        x: Value,
        weight: Value | None,
        bias: Value | None,
        running: tuple[Value, Value] | None,
        eps: float,
        momentum: float,
        save: bool = False,
    ) -> list[Value]:
        """Append batch norm with the batch's statistics.

        Gives the result, new running statistics if there are old ones, and if `save` says so the batch's mean
        and inverse deviation.
        """
        _check_norm(x, weight, bias, *(running or ()))
        groups = f"{_group('weight', weight)}{_group('bias', bias)}"
        if running:
            groups += f" running({running[0].name}, {running[1].name})"
        operands = [x, *(v for v in (weight, bias, *(running or ())) if v)]
        results = [x, *(running or ()), *([_statistic(x)] * 2 if save else ())]
        types = type_of(x) if len(results) == 1 else f"({', '.join(map(type_of, results))})"
        attributes = f"eps = {constant(eps)}, momentum = {constant(momentum)}{', save_statistics' if save else ''}"
        text = (
            f"tenon.batch_norm_training {x.name}{groups} {{{attributes}}} : "
            f"({', '.join(map(type_of, operands))}) -> {types}"
        )
        names = ["%" + self.fresh(self.name)]
        target = names[0]
        if len(results) > 1:
            statistics = "%" + self.fresh(f"{self.name}_statistics")
            names += [f"{statistics}#{i}" for i in range(len(results) - 1)]
            target = f"{names[0]}, {statistics}:{len(results) - 1}"
        self._emit(f"{target} = {text}")
        return [Value(name, v.dtype, v.shape) for name, v in zip(names, results, strict=True)]

    def batch_moments(self, x: Value) -> list[Value]:
        """Append what gives mean and M2 of each column."""
        if not is_expressible(x.shape) or len(x.shape) != 2:
            raise InexpressibleError("it does not take the rows of a matrix")
        statistic = _statistic(x)
        name = "%" + self.fresh(self.name)
        types = f"({type_of(x)}) -> ({type_of(statistic)}, {type_of(statistic)})"
        self._emit(f"{name}:2 = tenon.batch_moments {x.name} : {types}")
        return [statistic._replace(name=f"{name}#{i}") for i in range(2)]

    def batch_sum(self, x: Value, dtype: str) -> Value:
        """Append the sum of each column, `[N]`."""
        if not is_expressible(x.shape) or len(x.shape) != 2:
            raise InexpressibleError("it does not take the columns of a matrix")
        if x.dtype != dtype and "float64" in (x.dtype, dtype):
            raise InexpressibleError("it mixes float64 with another dtype")
        result = Value("", dtype, x.shape[1:])
        return self._append(f"tenon.batch_sum {x.name} : ({type_of(x)}) -> {type_of(result)}", dtype, result.shape)

    def foreign(self, text: str, dtype: str, shape: Shape) -> Value:
        """Append an op of another dialect, whose result may be of any shape."""
        name = "%" + self.fresh(self.name)
        self._emit(f"{name} = {text}")
        return Value(name, dtype, shape)

    def _append(self, text: str, dtype: str, shape: Shape) -> Value:
        if not is_expressible(shape):
            raise InexpressibleError("only the number of rows may be dynamic, and no static extent may be 0")
        return self.foreign(text, dtype, shape)

    def _emit(self, text: str) -> None:
        self.lines.append(text + self.location)
        self.origins.append(self.origin)


def _ceil_div(extent: Extent, divisor: int) -> Extent:
    return -(-extent // divisor) if isinstance(extent, int) else extent


def _statistic(x: Value) -> Value:
    return Value("", "float64" if x.dtype == "float64" else "float32", x.shape[1:])


def _check_norm(x: Value, *vectors: Value | None) -> None:
    for v in vectors:
        if v and v.shape != x.shape[1:]:
            raise InexpressibleError("one of its operands is not a vector of the features")
        if v and (v.dtype == "float64") != (x.dtype == "float64"):
            raise InexpressibleError("it mixes float64 with another dtype")


def _group(name: str, value: Value | None) -> str:
    return f" {name}({value.name})" if value else ""


def shape_text(shape: Sequence[Extent]) -> str:
    """Return a shape as in a tensor type, such as `?x64x`."""
    return "".join(f"{d}x" if isinstance(d, int) else "?x" for d in shape)


def type_of(value: Value) -> str:
    """Return a value's type, such as `tensor<?x64xf32>`."""
    return f"tensor<{shape_text(value.shape)}{spelling(value.dtype)}>"


def spelling(dtype: str) -> str:
    """Return the type of an element in MLIR."""
    return TYPES.get(dtype) or WHOLE_TYPES[dtype]


def return_text(values: Sequence[Value]) -> str:
    """Return a function's last line."""
    return f"return {', '.join(v.name for v in values)} : {', '.join(map(type_of, values))}"


def module_text(name: str, signature: str, lines: Sequence[str]) -> str:
    """Return a module with one function; the signature is `(%x: type, ...) -> (type, ...)`."""
    body = "\n".join(f"  {line}" for line in lines)
    return f"func.func @{name}{signature} {{\n{body}\n}}\n"


def constant(number: float) -> str:
    """Return an f64 constant that reads back as exactly this number."""
    if not math.isfinite(number):
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    mantissa, e, exponent = repr(float(number)).partition("e")
    return mantissa + ("" if "." in mantissa else ".0") + e + exponent
