# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Follows the syntax of one function and refuses whatever it has no rule for."""

from __future__ import annotations

import ast
import builtins
import inspect
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
from tenon.torch.modules.reads import Impure, is_plain
from tenon.torch.modules.sources import tree_of

if TYPE_CHECKING:
    from tenon.torch.modules.purity import Scan


def result_of(scan: Scan, function: FunctionType, owner: nn.Module | None) -> Abstract:
    """Return the kind of what a function returns; raise Impure where it may have side effects.

    `owner` is the function's first argument, if it is a method; all others are VALUE.
    """
    tree = tree_of(function)
    if tree is None:
        raise Impure(f"the source of {function.__qualname__} is not known")
    scan.reads.attribute(function, "__code__")
    for attribute in ("__defaults__", "__kwdefaults__"):
        if getattr(function, attribute):  # else all arguments are given
            scan.reads.attribute(function, attribute)
    if function.__kwdefaults__:
        scan.reads.all_items(function.__kwdefaults__)
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    code = function.__code__
    if not all(map(is_plain, defaults)) or (owner is not None and not code.co_argcount):
        raise Impure(f"{function.__qualname__} has an argument that may change")
    body = _Body(scan, function)
    variable = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + variable]
    body.env = dict.fromkeys(arguments, VALUE)
    if owner is not None:
        body.env[arguments[0]] = Known(owner)
    before = None
    try:
        while before != body.env:  # until loops bring nothing new
            before = dict(body.env)
            body.statements([_returning(tree.body)] if isinstance(tree, ast.Lambda) else tree.body)
    except Impure as error:
        raise error.at(f"{code.co_filename}:{body.line}") from None
    return body.result or VALUE


def _returning(value: ast.expr) -> ast.Return:
    return ast.copy_location(ast.Return(value), value)


class _Body:
    """The state of one function: `env` has the kinds of its variables."""

    def __init__(self, scan: Scan, function: FunctionType) -> None:
        self.scan = scan
        self.function = function
        self.env: dict[str, Abstract] = {}
        self.result: Abstract | None = None
        self.line = function.__code__.co_firstlineno

    # === Statements ================================================================

    def statements(self, nodes: Iterable[ast.stmt]) -> None:
        for node in nodes:
            self.line = node.lineno
            rule = getattr(self, f"_{type(node).__name__.lower()}", None)
            if rule is None:
                raise Impure(f"a statement that is not known to be pure ({type(node).__name__})")
            rule(node)

    def _pass(self, node: ast.stmt) -> None:
        """Nothing to follow."""

    _break = _continue = _pass

    def _expr(self, node: ast.Expr) -> None:
        self.kind(node.value)

    def _return(self, node: ast.Return) -> None:
        kind = self.kind(node.value) if node.value else VALUE
        self.result = self.joined(self.result, kind)

    def _raise(self, node: ast.Raise) -> None:
        error = node.exc
        if isinstance(error, ast.Call):
            self.messages(error.args)
            error = error.func
        if node.cause or not isinstance(error, ast.Name) or not isinstance(getattr(builtins, error.id, None), type):
            raise Impure("raises what is not an exception of Python's own")

    def _assert(self, node: ast.Assert) -> None:
        self.value(node.test)
        if node.msg:
            self.messages([node.msg])

    def messages(self, nodes: Iterable[ast.expr]) -> None:
        """Follow the arguments of an exception: only there may tensors become text."""
        for node in nodes:
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            self.values(part.value if isinstance(part, ast.FormattedValue) else part for part in parts)

    def _if(self, node: ast.If) -> None:
        self.value(node.test)
        self.statements(node.body)
        self.statements(node.orelse)

    _while = _if

    def _for(self, node: ast.For) -> None:
        self.bind(node.target, self.elements(node.iter))
        self.statements(node.body)
        self.statements(node.orelse)

    def _assign(self, node: ast.Assign) -> None:
        kind = self.kind(node.value)
        for target in node.targets:
            self.bind(target, kind)

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value:
            self.bind(node.target, self.kind(node.value))

    def _augassign(self, node: ast.AugAssign) -> None:
        self.value(node.value)
        if isinstance(node.target, ast.Attribute):
            self.change_buffer(node.target, node.op)
            return
        self.scan.changes = True
        if isinstance(node.target, ast.Name):
            self.value(ast.copy_location(ast.Name(node.target.id, ast.Load()), node))
        else:
            self.bind(node.target, VALUE)

    def change_buffer(self, target: ast.Attribute, op: ast.operator) -> None:
        """Follow `self.buffer += ...`, which changes a tensor and then sets the attribute to the same tensor."""
        module = known_module(self.kind(target.value))
        in_place = isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.Div)
        self._attribute(target)
        if module is None or not in_place or not self.scan.is_buffer(module, target.attr):
            raise Impure(f"assigns to what may outlive the call ({ast.unparse(target)})")

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

    # === Expressions ===============================================================

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
