# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Follows the statements of one function and refuses whatever it has no rule for."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Iterable
from types import FunctionType
from typing import TYPE_CHECKING

from tenon.torch.modules.abstract import VALUE, Abstract, Known, known_module
from tenon.torch.modules.expressions import Expressions
from tenon.torch.modules.reads import Impure, is_plain
from tenon.torch.modules.sources import tree_of

if TYPE_CHECKING:
    from torch import nn

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


class _Body(Expressions):
    """The state of one function: what it returns, and which line is followed."""

    def __init__(self, scan: Scan, function: FunctionType) -> None:
        super().__init__(scan, function)
        self.result: Abstract | None = None
        self.line = function.__code__.co_firstlineno

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
