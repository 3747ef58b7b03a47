# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The syntax tree of a function, proved to be the one that its code was compiled from."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Sequence
from types import CodeType, FunctionType

Tree = ast.FunctionDef | ast.Lambda


def tree_of(function: FunctionType) -> Tree | None:
    """Return the tree of a function that is written with `def` or `lambda`, else None.

    The file is compiled again and its code compared with the function's: an edited
    file, a decorator or generated code gives None, never another function's tree.
    """
    code = function.__code__
    lines = tuple(linecache.getlines(code.co_filename, function.__globals__))
    pairs = _compile(code.co_filename, lines).get(code.co_firstlineno, ())
    return next((tree for tree, other in pairs if other == code), None)


@functools.lru_cache(maxsize=64)
def _compile(filename: str, lines: tuple[str, ...]) -> dict[int, list[tuple[Tree, CodeType]]]:
    """Return a file's functions by line: each tree with the code that it was compiled to."""
    try:
        module = ast.parse("".join(lines), filename)
        pending = [compile(module, filename, "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return {}
    trees: dict[tuple[str, int], list[Tree]] = {}
    for node in ast.walk(module):
        if isinstance(node, Tree):
            name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
            line = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
            trees.setdefault((name, line), []).append(node)
    pairs: dict[int, list[tuple[Tree, CodeType]]] = {}
    while pending:
        code = pending.pop()
        tree = _choose(trees.get((code.co_name, code.co_firstlineno), ()), code)
        if tree is not None:
            pairs.setdefault(code.co_firstlineno, []).append((tree, code))
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return pairs


def _choose(trees: Sequence[Tree], code: CodeType) -> Tree | None:
    """Return which of the functions of one name and line a code object is, None if that is not certain."""
    if len(trees) <= 1:
        return trees[0] if trees else None
    # Of lambdas, the innermost that holds all that the code computes. What has no columns is Python's own.
    places = [p for p in code.co_positions() if None not in p and p[3]]
    around = [tree for tree in trees if isinstance(tree, ast.Lambda) and all(_holds(tree.body, p) for p in places)]
    return max(around, key=lambda tree: _start(tree.body), default=None) if places else None


def _holds(node: ast.expr, place: tuple[int, int, int, int]) -> bool:
    line, end_line, column, end_column = place
    return _start(node) <= (line, column) and (end_line, end_column) <= (node.end_lineno, node.end_col_offset)


def _start(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset
