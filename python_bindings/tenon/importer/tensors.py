# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Tenon has no word for, as linalg and tensor ops: tensors of any rank, of static extents, and whole numbers.

A `Tensor` is kept as a matrix of Tenon's, and has the shape that its model gives it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tenon.importer.builder import TYPES, Builder, Factor, InexpressibleError, Value, constant, spelling, type_of
from tenon.importer.shapes import Shape, flatten


class Tensor(NamedTuple):
    """A tensor: a value of at most two dimensions, and the shape that the model has."""

    value: Value
    shape: Shape


# A tensor, or a number of floating point.
Part = Tensor | float
# From names of elements to lines and the name of what they give.
Body = Callable[[list[str]], tuple[list[str], str]]


def static(shape: Shape) -> tuple[int, ...]:
    """Return a shape, all of whose extents must be numbers."""
    if not all(isinstance(extent, int) for extent in shape):
        dynamic = ", ".join(sorted({str(extent) for extent in shape if not isinstance(extent, int)}))
        raise InexpressibleError(f"it needs static extents; give those of {dynamic}")
    return shape


def broadcast_all(*shapes: Shape) -> tuple[int, ...]:
    """Return the shape that all broadcast to."""
    try:
        return np.broadcast_shapes(*(static(shape) for shape in shapes))
    except ValueError:
        raise InexpressibleError("its operands do not broadcast") from None


# Shapes


def reshape(b: Builder, x: Value, shape: Shape) -> Value:
    """Return x in another shape of as many elements, of any rank."""
    if x.shape == shape:
        return x
    if math.prod(static(x.shape)) != math.prod(static(shape)):
        raise InexpressibleError(f"{list(x.shape)} has not as many elements as {list(shape)}")
    if len(x.shape) != 1:
        groups = f"[[{', '.join(map(str, range(len(x.shape))))}]]"
        x = _collapse(b, x, groups, (math.prod(x.shape),)) if x.shape else _expand(b, x, "[]", (1,))
    if shape == x.shape:
        return x
    if not shape:
        return _collapse(b, x, "[]", ())
    return _expand(b, x, f"[[{', '.join(map(str, range(len(shape))))}]]", shape)


def _collapse(b: Builder, x: Value, groups: str, shape: Shape) -> Value:
    into = type_of(Value("", x.dtype, shape))
    return b.foreign(f"tensor.collapse_shape {x.name} {groups} : {type_of(x)} into {into}", x.dtype, shape)


def _expand(b: Builder, x: Value, groups: str, shape: Shape) -> Value:
    into = type_of(Value("", x.dtype, shape))
    text = f"tensor.expand_shape {x.name} {groups} output_shape {list(shape)} : {type_of(x)} into {into}"
    return b.foreign(text, x.dtype, shape)


def unfold(b: Builder, x: Tensor) -> Value:
    """Return the value in the model's shape."""
    return reshape(b, x.value, static(x.shape))


def fold(b: Builder, x: Value) -> Tensor:
    """Return a value of any rank as a tensor."""
    return Tensor(reshape(b, x, flatten(x.shape)), x.shape)


def view(b: Builder, x: Tensor, shape: Shape) -> Tensor:
    """Return a tensor in another shape of as many elements."""
    return Tensor(reshape(b, x.value, flatten(shape)), shape)


# Elements


def literal(b: Builder, array: np.ndarray) -> Value:
    """Return a constant of whole numbers."""
    value = Value("", array.dtype.name, array.shape)
    numbers = array.reshape(-1)
    is_splat = numbers.size and (numbers == numbers[0]).all()
    text = str(numbers[0].item() if is_splat else array.tolist()).lower()
    return b.foreign(f"arith.constant dense<{text}> : {type_of(value)}", value.dtype, value.shape)


def empty(b: Builder, dtype: str, shape: Shape) -> Value:
    """Return a tensor without values."""
    return b.foreign(f"tensor.empty() : {type_of(Value('', dtype, shape))}", dtype, shape)


def scalar_text(number: float, dtype: str) -> str:
    """Return a constant of a dtype, of which infinities and NaN are written bit by bit."""
    if math.isfinite(number):
        return constant(number)
    bits = np.array(number, "float32" if dtype == "bfloat16" else dtype).tobytes()[::-1].hex().upper()
    return f"0x{bits[:4] if dtype == 'bfloat16' else bits}"


def filled(b: Builder, number: float, dtype: str, shape: Shape) -> Value:
    """Return a tensor of one number."""
    target = empty(b, dtype, shape)
    scalar = b.foreign(f"arith.constant {scalar_text(number, dtype)} : {spelling(dtype)}", dtype, ())
    text = (
        f"linalg.fill ins({scalar.name} : {spelling(dtype)}) outs({target.name} : {type_of(target)}) "
        f"-> {type_of(target)}"
    )
    return b.foreign(text, dtype, shape)


def loops(
    b: Builder,
    inputs: Sequence[tuple[Value, Sequence[int]]],
    output: tuple[Value, Sequence[int]],
    num_loops: int,
    body: Body,
) -> Value:
    """Return what loops compute; each tensor is read at the loops that are given with it.

    Loops that the output does not have reduce: the body gets its element last.
    """
    dims = ", ".join(f"d{i}" for i in range(num_loops))
    maps = ", ".join(
        f"affine_map<({dims}) -> ({', '.join(f'd{loop}' for loop in where)})>" for _, where in [*inputs, output]
    )
    kinds = ", ".join(f'"{"parallel" if i in output[1] else "reduction"}"' for i in range(num_loops))
    target = output[0]
    elements = [f"%e{i}" for i in range(len(inputs))] + ["%out"]
    arguments = ", ".join(
        f"{name}: {spelling(value.dtype)}"
        for name, value in zip(elements, [*(v for v, _ in inputs), target], strict=True)
    )
    lines, result = body(elements)
    ins = f"ins({', '.join(v.name for v, _ in inputs)} : {', '.join(type_of(v) for v, _ in inputs)}) " if inputs else ""
    text = "\n    ".join(
        [
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} {ins}"
            f"outs({target.name} : {type_of(target)}) {{",
            f"^bb0({arguments}):",
            *(f"  {line}" for line in lines),
            f"  linalg.yield {result} : {spelling(target.dtype)}",
        ]
    )
    return b.foreign(f"{text}\n  }} -> {type_of(target)}", target.dtype, target.shape)


def _spread(b: Builder, x: Tensor, shape: Shape) -> tuple[Value, list[int]]:
    """Return a tensor without the extents that are repeated, and the loops over `shape` that read it."""
    first = len(shape) - len(x.shape)
    kept = [i for i, extent in enumerate(x.shape) if extent == shape[first + i]]
    return reshape(b, x.value, tuple(x.shape[i] for i in kept)), [first + i for i in kept]


def pointwise(b: Builder, parts: Sequence[Part], dtype: str, body: Body, shape: Shape | None = None) -> Tensor:
    """Return what `body` makes of each element of operands that broadcast; of one dtype, where they are numbers."""
    tensors = [part for part in parts if isinstance(part, Tensor)]
    shape = broadcast_all(*(t.shape for t in tensors)) if shape is None else shape
    inputs = [_spread(b, t, shape) for t in tensors]
    kind = next((t.value.dtype for t in tensors if t.value.dtype in TYPES), dtype)

    def with_numbers(elements: list[str]) -> tuple[list[str], str]:
        read, lines, operands = iter(elements), [], []
        for i, part in enumerate(parts):
            if isinstance(part, Tensor):
                operands.append(next(read))
            else:
                lines.append(f"%n{i} = arith.constant {scalar_text(part, kind)} : {spelling(kind)}")
                operands.append(f"%n{i}")
        more, result = body(operands)
        return lines + more, result

    target = empty(b, dtype, shape), range(len(shape))
    return fold(b, loops(b, inputs, target, len(shape), with_numbers))


def apply(b: Builder, op: str, parts: Sequence[Part], dtype: str, kind: str) -> Tensor:
    """Return one op of arith or math on elements; `kind` is the type behind the colon."""
    return pointwise(b, parts, dtype, lambda e: ([f"%r = {op} {', '.join(e)} : {kind}"], "%r"))


def convert(b: Builder, x: Tensor, dtype: str) -> Tensor:
    """Return a tensor in another dtype, whole or not."""
    given, kind, wanted = x.value.dtype, spelling(x.value.dtype), spelling(dtype)
    if given == dtype:
        return x
    if given in TYPES and dtype in TYPES:
        return Tensor(b.cast(x.value, dtype), x.shape)
    if dtype == "bool":
        zero = "0.0" if given in TYPES else "0"
        op = "arith.cmpf une," if given in TYPES else "arith.cmpi ne,"
        return pointwise(
            b, [x], dtype, lambda e: ([f"%z = arith.constant {zero} : {kind}", f"%r = {op} {e[0]}, %z : {kind}"], "%r")
        )
    if given in TYPES:
        op = "arith.fptosi"
    elif dtype in TYPES:
        op = "arith.uitofp" if given == "bool" else "arith.sitofp"
    elif given == "bool":
        op = "arith.extui"
    else:
        op = "arith.extsi" if dtype == "int64" else "arith.trunci"
    return apply(b, op, [x], dtype, f"{kind} to {wanted}")


# Order


def transpose(b: Builder, x: Tensor, order: Sequence[int]) -> Tensor:
    """Return a tensor whose dimension i is dimension order[i] of x."""
    value, shape = unfold(b, x), tuple(x.shape[i] for i in order)
    target = empty(b, value.dtype, shape)
    text = (
        f"linalg.transpose ins({value.name} : {type_of(value)}) outs({target.name} : {type_of(target)}) "
        f"permutation = {list(order)}"
    )
    return fold(b, b.foreign(text, value.dtype, shape))


def cut(b: Builder, x: Tensor, begins: Sequence[int], extents: Shape, steps: Sequence[int] | None = None) -> Tensor:
    """Return a part of a tensor."""
    value, steps = unfold(b, x), list(steps or [1] * len(x.shape))
    if extents == x.shape:
        return x
    into = type_of(Value("", value.dtype, extents))
    text = f"tensor.extract_slice {value.name}{list(begins)} {list(extents)} {steps} : {type_of(value)} to {into}"
    return fold(b, b.foreign(text, value.dtype, extents))


def part(b: Builder, x: Tensor, axis: int, begin: int, end: int) -> Tensor:
    """Return some of a tensor's elements along one dimension."""
    extents = tuple(end - begin if i == axis else extent for i, extent in enumerate(static(x.shape)))
    return cut(b, x, [begin if i == axis else 0 for i in range(len(x.shape))], extents)


def concatenate(b: Builder, tensors: Sequence[Tensor], axis: int) -> Tensor:
    """Return tensors behind each other along one dimension."""
    values = [unfold(b, t) for t in tensors]
    first = values[0]
    extent = sum(v.shape[axis] for v in values)
    shape = tuple(extent if i == axis else other for i, other in enumerate(first.shape))
    into = type_of(Value("", first.dtype, shape))
    names, types = ", ".join(v.name for v in values), ", ".join(map(type_of, values))
    return fold(b, b.foreign(f"tensor.concat dim({axis}) {names} : ({types}) -> {into}", first.dtype, shape))


def gather(b: Builder, x: Tensor, index: Tensor, axis: int) -> Tensor:
    """Return the elements of x at whole numbers along one dimension, which count from its end if they are negative.

    One that is beyond either end reads the element there.
    """
    data, extent = unfold(b, x), static(x.shape)[axis]
    shape = (*x.shape[:axis], *static(index.shape), *x.shape[axis + 1 :])
    rank, kind = len(index.shape), spelling(index.value.dtype)
    places = [i if i < axis else i + rank - 1 for i in range(len(x.shape))]

    def body(elements: list[str]) -> tuple[list[str], str]:
        lines = [f"%i{i} = linalg.index {places[i]} : index" for i in range(len(x.shape)) if i != axis]
        lines += [
            f"%zero = arith.constant 0 : {kind}",
            f"%extent = arith.constant {extent} : {kind}",
            f"%last = arith.constant {extent - 1} : {kind}",
            f"%behind = arith.cmpi slt, {elements[0]}, %zero : {kind}",
            f"%added = arith.addi {elements[0]}, %extent : {kind}",
            f"%chosen = arith.select %behind, %added, {elements[0]} : {kind}",
            f"%least = arith.maxsi %chosen, %zero : {kind}",
            f"%inside = arith.minsi %least, %last : {kind}",
            f"%i{axis} = arith.index_cast %inside : {kind} to index",
            f"%r = tensor.extract {data.name}[{', '.join(f'%i{i}' for i in range(len(x.shape)))}] : {type_of(data)}",
        ]
        return lines, "%r"

    read = unfold(b, index), range(axis, axis + rank)
    target = empty(b, data.dtype, shape), range(len(shape))
    return fold(b, loops(b, [read], target, len(shape), body))


# Products and reductions


def product(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    """Return the products of matrices in the last two dimensions, of which those ahead broadcast."""
    xs, ws = static(x.shape), static(w.shape)
    if len(xs) < 2 or len(ws) < 2 or xs[-1] != ws[-2]:
        raise InexpressibleError("it is not a product of matrices")
    batch = broadcast_all(xs[:-2], ws[:-2])
    shape = (*batch, xs[-2], ws[-1])
    if math.prod(ws[:-2]) == 1 and math.prod(xs[:-2]) == math.prod(batch):
        rows = reshape(b, x.value, (math.prod(xs[:-1]), xs[-1]))
        y = b.linear(rows, Factor(reshape(b, w.value, ws[-2:]), is_transposed=True))
        return Tensor(reshape(b, y, flatten(shape)), shape)
    if x.value.dtype != w.value.dtype:
        raise InexpressibleError("its operands have different dtypes")
    first = len(batch)
    m, n, k = first, first + 1, first + 2
    factors = []
    for tensor, loops_of_matrix in ((x, (m, k)), (w, (k, n))):
        matrices = Tensor(tensor.value, tensor.shape[:-2])
        kept = [i for i, extent in enumerate(matrices.shape) if extent == batch[i - len(matrices.shape)]]
        extents = (*(matrices.shape[i] for i in kept), *tensor.shape[-2:])
        where = [first - len(matrices.shape) + i for i in kept]
        factors.append((reshape(b, tensor.value, extents), [*where, *loops_of_matrix]))
    dtype = "float64" if x.value.dtype == "float64" else "float32"
    kind = spelling(dtype)

    def body(elements: list[str]) -> tuple[list[str], str]:
        lines, given = [], spelling(x.value.dtype)
        if given != kind:
            lines = [f"%w{i} = arith.extf {e} : {given} to {kind}" for i, e in enumerate(elements[:2])]
            elements = ["%w0", "%w1", elements[2]]
        lines += [
            f"%p = arith.mulf {elements[0]}, {elements[1]} : {kind}",
            f"%s = arith.addf {elements[2]}, %p : {kind}",
        ]
        return lines, "%s"

    target = filled(b, 0.0, dtype, shape), [*range(first), m, n]
    y = fold(b, loops(b, factors, target, first + 3, body))
    return Tensor(b.cast(y.value, x.value.dtype), shape)


_REDUCTIONS = {
    "sum": ("arith.addf", 0.0),
    "max": ("arith.maximumf", -math.inf),
    "min": ("arith.minimumf", math.inf),
}


def reduce(b: Builder, kind: str, x: Tensor, axes: Sequence[int], keeps: bool) -> Tensor:
    """Return the sum, mean, max or min over some dimensions, which become 1, or go."""
    value = unfold(b, x._replace(value=b.widen(x.value)))
    kept = [i for i in range(len(x.shape)) if i not in axes]
    op, neutral = _REDUCTIONS["sum" if kind == "mean" else kind]
    target = filled(b, neutral, value.dtype, tuple(x.shape[i] for i in kept)), kept

    def body(elements: list[str]) -> tuple[list[str], str]:
        return [f"%r = {op} {elements[0]}, {elements[1]} : {spelling(value.dtype)}"], "%r"

    result = fold(b, loops(b, [(value, range(len(x.shape)))], target, len(x.shape), body))
    y = result.value
    if kind == "mean":
        y = b.binary("mul", y, 1.0 / math.prod(x.shape[i] for i in axes))
    shape = tuple(1 if i in axes else e for i, e in enumerate(x.shape)) if keeps else result.shape
    return view(b, Tensor(b.cast(y, x.value.dtype), result.shape), shape)
