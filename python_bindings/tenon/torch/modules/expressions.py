# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Follows the expressions of one function and refuses whatever it has no rule for."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from functools import partial
from types import CellType, FunctionType
from typing import TYPE_CHECKING

import torch
from torch import nn

from tenon.torch.modules.abstract import (
    BUILTINS,
    CHANGING,
    ITERATION,
    MODULES,
    VALUE,
    VALUE_ATTRIBUTES,
    Abstract,
    Known,
    Method,
    is_pure_function,
    join,
    known_module,
)
from tenon.torch.modules.reads import Impure

if TYPE_CHECKING:
    from tenon.torch.modules.purity import Scan


class Expressions:
    """The kinds of a function's expressions: `env` has those of its variables."""

    def __init__(self, scan: Scan, function: FunctionType) -> None:
        """Follow `function`, found by `scan`."""
        self.scan = scan
        self.function = function
        self.env: dict[str, Abstract] = {}

    def kind(self, node: ast.expr) -> Abstract:
        """Return the kind of an expression."""
        rule = getattr(self, f"_{type(node).__name__.lower()}", None)
        if rule is None:
            raise Impure(f"an expression that is not known to be pure ({ast.unparse(node)})")
        return rule(node)

    def value(self, node: ast.expr | None) -> Abstract:
        """Check that an expression is a VALUE."""
        if node is not None and self.kind(node) is not VALUE:
            raise Impure(f"{ast.unparse(node)} is used as a value")
        return VALUE

    def elements(self, node: ast.expr) -> Abstract:
        """Return the kind of what iterating over an expression gives."""
        kind = self.kind(node)
        if kind in (VALUE, MODULES):
            return kind
        return VALUE if isinstance(self.scan.container(kind), nn.ModuleDict) else MODULES

    def _constant(self, node: ast.Constant) -> Abstract:
        return VALUE

    def _name(self, node: ast.Name) -> Abstract:
        code, name, reads = self.function.__code__, node.id, self.scan.reads
        if name in self.env:
            return self.env[name]
        if name in code.co_freevars:
            cell: CellType = self.function.__closure__[code.co_freevars.index(name)]
            return self.scan.classify(reads.attribute(cell, "cell_contents"), name)
        if name in code.co_varnames or name in code.co_cellvars:
            return VALUE  # bound later in a loop: the next round knows more
        if name in self.function.__globals__:
            return self.scan.classify(reads.item(self.function.__globals__, name), name)
        reads.no_item(self.function.__globals__, name)
        if name in vars(builtins):
            return self.scan.classify(reads.item(vars(builtins), name), name)
        raise Impure(f"{name} is not defined")

    def _attribute(self, node: ast.Attribute) -> Abstract:
        base = self.kind(node.value)
        if node.attr.startswith("__"):
            raise Impure(f"{node.attr} is private, or Python's own")  # the name in the code may be another
        if isinstance(base, Known):
            return self.scan.resolve(base.value, node.attr)
        if base is VALUE and node.attr in VALUE_ATTRIBUTES:
            self.scan.changes |= node.attr in CHANGING
            return VALUE
        raise Impure(f"attribute {node.attr} of {ast.unparse(node.value)}")

    def _subscript(self, node: ast.Subscript) -> Abstract:
        self.value(node.slice)
        return self.container_or_value(node.value)

    def container_or_value(self, node: ast.expr) -> Abstract:
        """Return VALUE, or MODULES for what holds modules."""
        kind = self.kind(node)
        if kind in (VALUE, MODULES):
            return kind
        self.scan.container(kind)
        return MODULES

    def _slice(self, node: ast.Slice) -> Abstract:
        return self.values((node.lower, node.upper, node.step))

    def values(self, nodes: Iterable[ast.expr | None]) -> Abstract:
        """Check that all are VALUE."""
        for node in nodes:
            self.value(node)
        return VALUE

    def _binop(self, node: ast.BinOp) -> Abstract:
        return self.values((node.left, node.right))

    def _unaryop(self, node: ast.UnaryOp) -> Abstract:
        return self.value(node.operand)

    def _boolop(self, node: ast.BoolOp) -> Abstract:
        return self.values(node.values)

    def _compare(self, node: ast.Compare) -> Abstract:
        if all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            for side in (node.left, *node.comparators):
                self.kind(side)
            return VALUE
        return self.values((node.left, *node.comparators))

    def _ifexp(self, node: ast.IfExp) -> Abstract:
        self.value(node.test)
        return self.joined(self.kind(node.body), self.kind(node.orelse))

    def _namedexpr(self, node: ast.NamedExpr) -> Abstract:
        kind = self.kind(node.value)
        self.bind(node.target, kind)
        return kind

    def _tuple(self, node: ast.Tuple | ast.List) -> Abstract:
        kinds = [self.kind(element) for element in node.elts]
        if all(kind is VALUE for kind in kinds):
            return VALUE
        if all(kind in (VALUE, MODULES) or known_module(kind) is not None for kind in kinds):
            return MODULES
        raise Impure(f"{ast.unparse(node)} holds what is neither a value nor a module")

    _list = _tuple

    def _starred(self, node: ast.Starred) -> Abstract:
        return self.container_or_value(node.value)

    def _dict(self, node: ast.Dict) -> Abstract:
        return self.values((*node.keys, *node.values))

    def _listcomp(self, node: ast.ListComp | ast.GeneratorExp) -> Abstract:
        for part in node.generators:
            self.bind(part.target, self.elements(part.iter))
            self.values(part.ifs)
        return self.container_or_value(node.elt)

    _generatorexp = _listcomp

    # === Variables =================================================================

    def bind(self, target: ast.expr, kind: Abstract) -> None:
        """Follow an assignment."""
        if isinstance(target, ast.Name):
            self.env[target.id] = self.joined(self.env.get(target.id), kind)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, kind)
        elif isinstance(target, ast.Tuple | ast.List) and kind in (VALUE, MODULES):
            for element in target.elts:
                self.bind(element, kind)
        elif isinstance(target, ast.Subscript) and kind is VALUE:
            self.value(target.value)
            self.value(target.slice)
            self.scan.changes = True
        else:
            raise Impure(f"assigns to what may outlive the call ({ast.unparse(target)})")

    def joined(self, one: Abstract | None, other: Abstract) -> Abstract:
        """Return the kind of what is one or the other; raise Impure if there is none."""
        kind = other if one is None else join(one, other)
        if kind is None:
            raise Impure("a variable with values of different kinds")
        return kind

    # === Calls =====================================================================

    def _call(self, node: ast.Call) -> Abstract:
        callee = self.kind(node.func)
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        if isinstance(callee, Known) and any(callee.value is f for f in (*ITERATION, isinstance)):
            return self._call_iteration(callee.value, node)
        self.values(arguments)
        if callee is MODULES or known_module(callee) is not None:
            return VALUE  # a module of the tree: each is scanned
        if isinstance(callee, Method):
            return MODULES if callee.function is None else self.scan.call(callee.function, callee.owner)
        if callee is VALUE and isinstance(node.func, ast.Attribute):
            return VALUE  # a method of a tensor, or of a container
        function = callee.value if isinstance(callee, Known) else None
        if type(function) is partial:
            function = self.scan.function_of(function)
        if is_pure_function(function) or any(function is f for f in (*BUILTINS, torch.finfo, torch.iinfo, torch.Size)):
            return VALUE
        if isinstance(function, FunctionType):
            return self.scan.call(function, None)
        raise Impure(f"calls {ast.unparse(node.func)}")

    def _call_iteration(self, function: object, node: ast.Call) -> Abstract:
        if function is isinstance:
            self.kind(node.args[0])
            for part in node.args[1].elts if isinstance(node.args[1], ast.Tuple) else node.args[1:]:
                self._check_class(part)
            return VALUE
        self.values(keyword.value for keyword in node.keywords)
        kinds = [self.container_or_value(argument) for argument in node.args]
        return VALUE if function is len or MODULES not in kinds else MODULES

    def _check_class(self, node: ast.expr) -> None:
        kind = self.kind(node)
        cls = kind.value if isinstance(kind, Known) else None
        if cls not in (torch.Tensor, torch.Size, bool, int, float, str, tuple, list, dict) and not (
            isinstance(cls, type) and issubclass(cls, nn.Module) and type(cls) is type
        ):
            raise Impure(f"isinstance with {ast.unparse(node)}")
