# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which nodes of a graph Tenon has words for, and what they are made from."""

from __future__ import annotations

import dataclasses
import operator

import torch
from torch import fx

from tenon.importer.builder import TYPES, Factor, InexpressibleError, Value
from tenon.importer.shapes import Shape, as_matrix, flatten
from tenon.torch.failures import failed
from tenon.torch.fusion.gradients import GRADIENTS
from tenon.torch.fusion.lowering import Lowering
from tenon.torch.fusion.norms import Norm, is_moments, is_norm, lower_norm
from tenon.torch.fusion.ops import ELEMENTWISE, LINEAR, NORMALIZE
from tenon.torch.fusion.patterns import match
from tenon.torch.fusion.rows import ROWS, reduces_rows, rows_of_result
from tenon.torch.fusion.shapes import is_row_major, torch_shape
from tenon.torch.fusion.views import arguments, cast_source, dtype_of, is_view, op_name


@dataclasses.dataclass(frozen=True)
class Word:
    """A node that Tenon can express.

    Attributes:
        operands: the nodes whose values it takes, seen through views and chains.
        weights: those of them that are weights of linear layers.
        is_linear: whether it is a linear layer.
        is_prepared: whether it depends on parameters alone, and is elementwise.
        is_start: whether a group may begin with it, as with a linear layer.
        scales: whether it is a linear layer whose result is scaled, in place of its x.
        is_turned: whether it is a linear layer of x `[K, M]` or w `[K, N]`, as those of backward graphs.

    """

    operands: tuple[fx.Node, ...]
    weights: frozenset[fx.Node]
    is_linear: bool
    is_prepared: bool
    is_start: bool = False
    scales: bool = False
    is_turned: bool = False


def lower(b: Lowering, node: fx.Node) -> Value | Norm:
    """Append what a node computes.

    Raises:
        InexpressibleError: Tenon has no word for it.

    """
    name = op_name(node)
    if is_norm(node):
        return lower_norm(b, node)
    if dtype_of(node) not in TYPES:
        raise InexpressibleError("its result is not a tensor of floating-point numbers that Tenon has")
    found = match(node)
    source = cast_source(node) if name else None
    table = next((table for table in (LINEAR, ROWS, GRADIENTS) if name in table), ELEMENTWISE)
    if found:
        value = b.unary(found.op, b.tensor(found.x), found.attributes)
    elif source is not None:
        value = b.cast(b.tensor(source), dtype_of(node))
    elif name in table:
        value = table[name](b, node, arguments(node))
    else:
        raise InexpressibleError(f"Tenon has no word for {name or node.op}")
    shape = rows_of_result(node) or flatten(torch_shape(node))
    if value.dtype != dtype_of(node) or as_matrix(value.shape) != as_matrix(shape):
        raise InexpressibleError("it broadcasts or promotes its operands in a way that Tenon does not")
    return value


def norm_of(node: fx.Node) -> fx.Node | None:
    """Return the norm that a node is a result of."""
    is_result = node.target is operator.getitem and isinstance(node.args[0], fx.Node)
    return node.args[0] if is_result and is_norm(node.args[0]) else None


class _Trial(Lowering):
    """Lowers one node on its own, to see what it takes."""

    def __init__(self, parameters: set[str]) -> None:
        super().__init__(parameters, None)
        self.operands: list[fx.Node] = []
        self.weights: set[fx.Node] = set()
        self.is_turned = False

    def value(self, node: fx.Node, shape: Shape, transpose: bool = False) -> Value:
        self.operands.append(node)
        return Value(f"%{node.name}", dtype_of(node), shape)

    def activation(self, argument: fx.Node) -> Factor:
        factor = super().activation(argument)
        self.is_turned |= factor.is_transposed
        return factor

    def weight(self, argument: fx.Node, is_transposed: bool, x: Factor | None = None) -> Factor:
        factor = super().weight(argument, is_transposed, x)
        self.weights.add(self.operands[-1])
        self.is_turned |= factor.is_transposed
        return factor


def find_words(graph: fx.Graph, parameters: set[str]) -> tuple[dict[fx.Node, Word], dict[fx.Node, str]]:
    """Return the nodes that Tenon can express, and why it cannot express the others."""
    words: dict[fx.Node, Word] = {}
    reasons: dict[fx.Node, str] = {}
    for node in graph.nodes:
        if node.op != "call_function" or is_view(node):
            continue
        norm = norm_of(node)
        if norm is not None and norm in words:
            words[node] = Word((norm,), frozenset(), False, False)
        elif op_name(node):
            try:
                words[node] = find_word(node, parameters, words)
            except InexpressibleError as error:
                reasons[node] = str(error)
            except Exception as error:
                reasons[node] = failed(str(node.target), error)
    return words, reasons


def find_word(node: fx.Node, parameters: set[str], words: dict[fx.Node, Word]) -> Word:
    """Return what a node is made from; `words` has the nodes before it.

    Raises:
        InexpressibleError: Tenon has no word for it.

    """
    trial = _Trial(parameters)
    lower(trial, node)
    result = first_result(node)
    if any(o.meta["val"].device != result.device for o in trial.operands):
        raise InexpressibleError("one of its operands is on another device")
    if result.device.type not in ("cpu", "cuda"):
        raise InexpressibleError(f"Tenon has no code for a device of type {result.device.type}")
    if not is_row_major(result):
        raise InexpressibleError("PyTorch lays its result out as it does an operand that is not contiguous")
    is_linear = op_name(node) in LINEAR
    is_elementwise = not is_linear and not is_norm(node) and not reduces_rows(node)
    prepared = is_elementwise and all(_is_prepared(o, parameters, words) for o in trial.operands)
    is_start = is_linear or op_name(node) == NORMALIZE
    operands, weights = tuple(dict.fromkeys(trial.operands)), frozenset(trial.weights)
    return Word(operands, weights, is_linear, prepared, is_start, is_turned=trial.is_turned)


def is_map(node: fx.Node, word: Word) -> bool:
    """Tell whether a node computes elements from elements."""
    is_other = word.is_linear or word.is_start or is_norm(node) or norm_of(node) is not None
    return not is_other and not reduces_rows(node)


def _is_prepared(node: fx.Node, parameters: set[str], words: dict[fx.Node, Word]) -> bool:
    if node in words:
        return words[node].is_prepared
    return is_parameter(node, parameters)


def is_parameter(node: fx.Node, parameters: set[str]) -> bool:
    """Tell whether a node is a parameter, of static shape."""
    shape = torch_shape(node)
    return node.op == "placeholder" and node.name in parameters and all(isinstance(d, int) for d in shape or ())


def is_of_training(graph: fx.Graph) -> bool:
    """Tell whether a graph is AOTAutograd's forward or backward of a training step.

    It names the inputs: user's tensors by numbers, and what forward saves for backward as it is called there.
    """
    return any(node.name.startswith(("primals_", "tangents_")) for node in graph.find_nodes(op="placeholder"))


def backward_of(graph: fx.Graph) -> set[fx.Node]:
    """Return the nodes of a graph of forward and backward that are made of gradients of its results, and these."""
    found: set[fx.Node] = set()
    for node in graph.nodes:
        is_tangent = node.op == "placeholder" and node.name.startswith("tangents")
        if node.op != "output" and (is_tangent or not found.isdisjoint(node.all_input_nodes)):
            found.add(node)
    return found


def reduced_or_result(node: fx.Node) -> torch.Tensor | None:
    """Return the fake tensor that has a node's rows: what it reduces where it only reduces, or its first result."""
    return first_result(node.args[0] if is_moments(node) or reduces_rows(node) else node)


def first_result(node: fx.Node) -> torch.Tensor | None:
    """Return a node's fake tensor, or the first of several; None if it gives none."""
    value = node.meta.get("val")
    first = value[0] if isinstance(value, tuple | list) and value else value
    return first if isinstance(first, torch.Tensor) else None
