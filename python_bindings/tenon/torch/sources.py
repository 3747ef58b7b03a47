# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The syntax tree of a function, proved to be the one that its code was compiled from."""

from __future__ import annotations

import ast
import functools
import linecache
from types import CodeType, FunctionType


def tree_of(function: FunctionType) -> ast.FunctionDef | None:
    """Return the tree of a function that is written with `def`, else None.

    The file is compiled again and its code compared with the function's: an edited
    file, a decorator or generated code gives None, never another function's tree.
    """
    code = function.__code__
    lines = tuple(linecache.getlines(code.co_filename, function.__globals__))
    trees, codes = _compile(code.co_filename, lines)
    tree = trees.get((code.co_name, code.co_firstlineno))
    return tree if tree is not None and code in codes.get(code.co_firstlineno, ()) else None


@functools.lru_cache(maxsize=64)
def _compile(
    filename: str, lines: tuple[str, ...]
) -> tuple[dict[tuple[str, int], ast.FunctionDef], dict[int, list[CodeType]]]:
    """Return a file's functions by name and line, and its code objects by line."""
    try:
        module = ast.parse("".join(lines), filename)
        code = compile(module, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return {}, {}
    trees = {}
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            trees[node.name, line] = node
    codes: dict[int, list[CodeType]] = {}
    pending = [code]
    while pending:
        current = pending.pop()
        codes.setdefault(current.co_firstlineno, []).append(current)
        pending += [constant for constant in current.co_consts if isinstance(constant, CodeType)]
    return trees, codes
