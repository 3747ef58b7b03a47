# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From one node to Tenon's ops: what the rules in ops.py and norms.py are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import fx

from tenon.importer import quantised
from tenon.importer.builder import TYPES, Builder, Factor, InexpressibleError, Operand, Value
from tenon.importer.shapes import Shape, as_matrix, flatten, is_expressible
from tenon.torch.fusion.shapes import torch_shape
from tenon.torch.fusion.views import LIES_BY_ROWS, arguments, cast_source, dtype_of, op_name, replay, strip, view_source
from tenon.torch.precision import default_precision

_UNIFORM = {"zeros": 0.0, "zeros_like": 0.0, "ones": 1.0, "ones_like": 1.0, "new_zeros": 0.0, "new_ones": 1.0}


class Weight(NamedTuple):
    """Where a linear layer's weight `[N, K]` comes from, or another matrix of a product.

    Attributes:
        source: the node that has its elements.
        shape: `[N, K]`.
        casts: the dtypes that it goes through.
        transpose: whether the source is `[K, N]`.

    """

    source: fx.Node
    shape: Shape
    casts: list[str]
    transpose: bool


class Shifted(NamedTuple):
    """A matrix less values of its rows, `[M, 1]` each."""

    matrix: Value
    shifts: tuple[Value, ...]


class Scaled(NamedTuple):
    """A matrix that a linear layer multiplies in place of its x, of which it gives x's product by scaling.

    Attributes:
        matrix: what stands for x, which is its product with factors.
        rows: the factors of its rows.
        columns: those of its columns.
        shifts: what is subtracted from its rows before.
        addends: what is added to its columns behind.
        column_shifts: what is subtracted from its columns before.

    """

    matrix: fx.Node
    rows: tuple[fx.Node, ...]
    columns: tuple[fx.Node, ...]
    shifts: tuple[fx.Node, ...] = ()
    addends: tuple[fx.Node, ...] = ()
    column_shifts: tuple[fx.Node, ...] = ()


# The largest magnitude of a row of weights that is scaled for float16: a power of two below its limit, so that scaling
# rounds nothing.
_LARGE = 2.0**15

# Of a node that linear layers alone read: its `Scaled`.
SCALED = "tenon_scaled"


class Lowering(Builder):
    """A builder that knows the nodes whose values its operands are."""

    def __init__(self, parameters: set[str], precision: str | None, moves_norms: bool = True) -> None:
        """Take the names of the placeholders that are parameters, and whether what is `SCALED` is multiplied so."""
        self._quantises = precision == "fp8"
        super().__init__(default_precision() if self._quantises else precision)
        self.parameters = parameters
        self._moves_norms = moves_norms
        # By name: what follows them may take the matrix, and then what is subtracted.
        self.shifted: dict[str, Shifted] = {}

    def value(self, node: fx.Node, shape: Shape, transpose: bool = False) -> Value:
        """Return the value of a node that no view is between; `shape` is what Tenon sees."""
        raise NotImplementedError

    def linear(
        self,
        x: Factor | Value,
        w: Factor | Value,
        bias: Value | None = None,
        dtype: str | None = None,
        precision: str | None = None,
    ) -> Value:
        """Append a linear layer, quantised where that is asked for and w is a parameter."""
        if isinstance(x, Factor) and x.is_scaled():
            return self._linear_of_scaled(x, w, bias, dtype or x.value.dtype)
        is_asked = self._quantises and isinstance(w, Factor) and w.is_parameter and not w.is_transposed
        if is_asked and quantised.is_quantised(w.value.dtype, w.depth()):
            x = x if isinstance(x, Factor) else Factor(x)
            if not x.is_transposed and x.value.dtype == w.value.dtype and x.depth() == w.depth():
                return quantised.linear(self, x, w, bias, dtype or w.value.dtype)
        return super().linear(x, w, bias, dtype, precision)

    def _linear_of_scaled(self, x: Factor, w: Factor, bias: Value | None, dtype: str) -> Value:
        """Append a linear layer of a weight with x's factors of columns, whose result has those of rows.

        What is subtracted from rows takes the sums of that weight as it was rounded, and what is from columns its
        product by that, so rounding it costs what it would if x had been shifted before it was multiplied. In float16,
        which has not the range for products of weights, rows of that weight are scaled.
        """
        weight, scale = w.value, None
        if w.is_transposed:
            raise InexpressibleError("its weight lies transposed, and has factors of rows")
        if x.column_factors:
            product, *others = x.column_factors
            for factor in others:
                product = self.binary("mul", self.widen(product), factor)
            if w.value.dtype == "float16":
                product = self.binary("mul", self.widen(weight), product)
                weight, scale = quantised.quantise_rows(self, product, "float16", _LARGE)
            else:
                weight = self.binary("mul", weight, product)
        y = super().linear(Factor(x.value, x.is_transposed), weight, None, "float32")
        for shift in x.row_shifts:
            y = self.binary("sub", y, self.binary("mul", shift, self._sums_of_rows(weight)))
        for shift in x.column_shifts:
            y = self.binary("sub", y, self._sums_of_rows(self.binary("mul", self.widen(weight), shift)))
        for factor in [*x.row_factors, *([self.as_vector(scale)] if scale else [])]:
            y = self.binary("mul", y, factor)
        for addend in x.column_addends:
            y = self.binary("add", y, self._sums_of_rows(self.binary("mul", self.widen(w.value), addend)))
        return self.cast(y if bias is None else self.binary("add", y, bias), dtype)

    def _sums_of_rows(self, x: Value) -> Value:
        """Append the sums of a matrix' rows, one for each feature of a product by it."""
        return self.as_vector(self.reduce_row("sum", self.widen(x)))

    def operand(self, argument: Any) -> Operand:
        """Return a number or a tensor that an op is given."""
        if isinstance(argument, fx.Node) and uniform_value(argument) is None:
            return self.tensor(argument)
        return self.number(argument)

    def number(self, argument: Any) -> float:
        """Return a number that is known now."""
        if isinstance(argument, fx.Node):
            argument = uniform_value(argument)
        if not isinstance(argument, int | float):
            raise InexpressibleError("one of its numbers is not known before the call")
        try:
            return float(argument)
        except OverflowError:
            raise InexpressibleError("one of its numbers is too large for float64") from None

    def tensor(self, argument: Any, rank: int = 0) -> Value:
        """Return a tensor that an op is given; with rank 2, a vector is a matrix of one row."""
        if not isinstance(argument, fx.Node):
            raise InexpressibleError("one of its operands is not a tensor")
        node = strip(argument)
        shape, dtype = torch_shape(node), dtype_of(node)
        if shape is None:
            raise InexpressibleError("one of its numbers is not known before the call")
        if dtype not in TYPES:
            raise InexpressibleError(f"one of its operands is of type {dtype}")
        return self._checked_value(node, as_matrix(shape) if len(shape) < rank else flatten(shape))

    def reshaped(self, argument: fx.Node, shape: Shape) -> Value:
        """Return a tensor that an op is given in a shape with fewer or more extents of 1."""
        return self._checked_value(strip(argument), shape)

    def optional_tensor(self, argument: Any) -> Value | None:
        """Return a tensor that an op may be given."""
        return None if argument is None else self.tensor(argument)

    def activation(self, argument: fx.Node) -> Factor:
        """Return what a linear layer multiplies by its weight: `[M, K]`, or a transpose of static shape."""
        if _is_turned(argument):
            return self._factor(find_weight(argument, is_transposed=False))
        scaled = strip(argument).meta.get(SCALED)
        if scaled is None or not self._moves_norms:
            return Factor(self.tensor(argument, rank=2))
        matrix = self.tensor(scaled.matrix, rank=2)
        rows, columns, shifts, addends, column_shifts = (tuple(map(self.tensor, nodes)) for nodes in scaled[1:])
        return Factor(
            matrix,
            row_factors=rows,
            column_factors=columns,
            row_shifts=shifts,
            column_addends=addends,
            column_shifts=column_shifts,
        )

    def weight(self, argument: fx.Node, is_transposed: bool, x: Factor | None = None) -> Factor:
        """Return the weight `[N, K]` of a linear layer, given as that or, transposed, as `[K, N]`.

        It is multiplied as it lies, but a parameter is transposed once a version of it where kernels would take longer,
        or factors of x join it.
        """
        weight = find_weight(argument, is_transposed)
        is_prepared = weight.source.name in self.parameters and len(torch_shape(weight.source)) == 2
        is_scaled = x is not None and x.is_scaled()
        if weight.transpose and is_prepared and (is_scaled or not self._multiplies_as_it_lies(weight)):
            value = self._cast(self._checked_value(weight.source, weight.shape, transpose=True), weight.casts)
            return Factor(value, is_parameter=True)
        return self._factor(weight)._replace(is_parameter=weight.source.name in self.parameters)

    def _multiplies_as_it_lies(self, weight: Weight) -> bool:
        """Tell whether kernels multiply a weight `[K, N]` as fast as its transpose: of 16 bits, in aligned rows.

        Others are rounded, split or quantised once a version anyway.
        """
        is_narrow = dtype_of(weight.source) in ("float16", "bfloat16") and not weight.casts
        return is_narrow and weight.shape[0] % 8 == 0 and not self._quantises

    def _factor(self, matrix: Weight) -> Factor:
        shape = matrix.shape[::-1] if matrix.transpose else matrix.shape
        return Factor(self._cast(self._checked_value(matrix.source, shape), matrix.casts), matrix.transpose)

    def _cast(self, value: Value, dtypes: Sequence[str]) -> Value:
        for dtype in dtypes:
            value = self.cast(value, dtype)
        return value

    def _checked_value(self, node: fx.Node, shape: Shape, transpose: bool = False) -> Value:
        if not is_expressible(shape):
            raise InexpressibleError("one of its operands has an extent of 0, or a dynamic one that is not the rows")
        value = self.value(node, shape, transpose)
        if as_matrix(value.shape) != as_matrix(shape):
            raise InexpressibleError("one of its operands is used in two shapes")
        return value


def uniform_value(node: fx.Node) -> float | None:
    """Return the number that all elements of a tensor are, if the graph tells."""
    name = op_name(node).partition(".")[2]
    if name in _UNIFORM and dtype_of(node) in TYPES:
        return _UNIFORM[name]
    if name in ("full", "full_like", "new_full", "scalar_tensor"):
        given = arguments(node)
        return _rounded(given.get("fill_value", given.get("s")), dtype_of(node))
    if name in ("lift_fresh", "lift_fresh_copy"):
        return _literal(node.args[0])
    source = view_source(node)
    if source is None and name and (source := cast_source(node)) is not None:
        return _rounded(uniform_value(source), dtype_of(node))
    return uniform_value(source) if isinstance(source, fx.Node) else None


def _rounded(number: object, dtype: str | None) -> float | None:
    """Return what a number is in a tensor of `dtype`; None where it is no number, or an integer too large for one."""
    if not isinstance(number, int | float) or dtype not in TYPES:
        return None
    try:
        return torch.tensor(float(number), dtype=getattr(torch, dtype), device="cpu").item()
    except OverflowError:
        return None


def _literal(node: fx.Node) -> float | None:
    """Return the number in `torch.tensor(number)`, which tracing keeps as an attribute."""
    if node.op != "get_attr":
        return None
    tensor = getattr(node.graph.owning_module, node.target, None)
    tensor = getattr(tensor, "constant", None) if hasattr(tensor, "fake_mode") else tensor
    is_known = isinstance(tensor, torch.Tensor) and tensor.dim() == 0 and tensor.device.type == "cpu"
    return float(tensor.item()) if is_known and not tensor.is_complex() else None


def _is_turned(node: fx.Node) -> bool:
    """Tell whether a matrix of static shape is the transpose of one that lies in memory row by row."""
    try:
        return isinstance(node, fx.Node) and find_weight(node, is_transposed=False).transpose
    except InexpressibleError:
        return False


def find_weight(node: fx.Node, is_transposed: bool) -> Weight:
    """Return where a linear layer's weight comes from, looking through views and casts.

    Args:
        node: what the layer is given: `[N, K]`, or `[..., K, N]` where it is transposed.
        is_transposed: whether it is.

    Raises:
        InexpressibleError: it is not a matrix of static shape, in either orientation.

    """
    shape = torch_shape(node)
    if len(shape) < 2 or not all(isinstance(d, int) for d in shape):
        raise InexpressibleError("its second operand is not a matrix of static shape")
    chain = [node]
    while (source := _weight_source(chain[-1])) is not None and isinstance(source, fx.Node):
        chain.append(source)
    if chain[-1].op != "placeholder" and LIES_BY_ROWS not in chain[-1].meta:
        # What computes a tensor casts it on the way, once for all that multiply it.
        chain = chain[: next((i + 1 for i, link in enumerate(chain) if cast_source(link) is not None), len(chain))]
    n, k = (shape[-1], shape[-2]) if is_transposed else (shape[-2], shape[-1])
    for i in reversed(range(len(chain))):
        orientation = _orientation(chain[i], chain[:i], is_transposed)
        is_base = i == len(chain) - 1
        is_matrix = orientation is not None and flatten(torch_shape(chain[i])) == (k, n)
        if orientation == "direct" or (orientation == "plain" and is_base and is_matrix):
            casts = [dtype_of(c) for c in reversed(chain[:i]) if cast_source(c) is not None]
            return Weight(chain[i], (n, k), casts, orientation == "plain")
    raise InexpressibleError("its second operand is not a matrix, or one that is repeated")


def _weight_source(node: fx.Node) -> fx.Node | None:
    if LIES_BY_ROWS in node.meta:
        return None
    source = view_source(node) or cast_source(node) if op_name(node) else None
    if source is not None:
        return source
    is_view = op_name(node) and torch_shape(node) is not None and _replays(node)
    return node.args[0] if is_view else None


def _replays(node: fx.Node) -> bool:
    source = node.args[0] if node.args else None
    shape = torch_shape(source) if isinstance(source, fx.Node) else None
    if shape is None or not all(isinstance(d, int) for d in shape):
        return False
    return replay(node, _contiguous(shape)) is not None


def _contiguous(shape: Sequence[int]) -> torch.Tensor:
    """Return a tensor without memory; of bytes, so that a large view's size does not overflow."""
    return torch.empty(shape, dtype=torch.uint8, device="meta")


def _orientation(base: fx.Node, views: list[fx.Node], is_transposed: bool) -> str | None:
    """Tell how a contiguous base lies as the weight `[N, K]`: "direct", or "plain" for `[K, N]`."""
    shape = torch_shape(base)
    if shape is None or not all(isinstance(d, int) for d in shape):
        return None
    tensor = _contiguous(shape)
    size = tensor.numel()
    for view in reversed(views):
        if cast_source(view) is None:
            tensor = replay(view, tensor)
            if tensor is None:
                return None
    matrix = tensor.transpose(-1, -2) if is_transposed else tensor
    n, k = matrix.shape[-2:]
    leading = zip(matrix.shape[:-2], matrix.stride()[:-2], strict=True)
    if size != n * k or any(d != 1 and stride != 0 for d, stride in leading):
        return None
    lies = matrix.stride()[-2:]
    if (n == 1 or lies[0] == k) and (k == 1 or lies[1] == 1):
        return "direct"
    return "plain" if (n == 1 or lies[0] == 1) and (k == 1 or lies[1] == n) else None
