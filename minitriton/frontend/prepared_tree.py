"""A function's syntax tree with what the code generator asks of it often, worked out once per function.

In: the tree of a `JITCallable`. Out: the same tree, whose nodes carry

    node.place              where it stands in the kernel's file (None without a line)
    For.assigned, While.assigned    names that the loop's body may bind
    If.has_return           whether a branch contains `return`
"""

from __future__ import annotations

import ast
from typing import Any

from xdsl.dialects.builtin import StringAttr

from minitriton.frontend.builder import Place
from minitriton.frontend.function import JITCallable


def prepared_tree(fn: JITCallable) -> ast.FunctionDef:
    """The `def` of `fn`, prepared."""
    module: Any = fn.parse()
    function = module.body[0]
    if not hasattr(module, "is_prepared"):
        _prepare(module, StringAttr(fn.file_name), fn.begin_line - 1)
        module.is_prepared = True
    return function


def _prepare(tree: ast.AST, file: StringAttr, offset: int) -> None:
    places: dict[tuple[int, int], Place] = {}
    for node in ast.walk(tree):
        annotated: Any = node
        line = getattr(node, "lineno", None)
        annotated.place = None
        if line is not None:
            key = (line, annotated.col_offset)
            annotated.place = places.get(key) or places.setdefault(key, Place(file, offset + line, key[1]))
        if isinstance(node, (ast.For, ast.While)):
            annotated.assigned = frozenset(_bound_names(node.body))
        elif isinstance(node, (ast.If, ast.With)):
            annotated.has_return = any(isinstance(inner, ast.Return) for inner in ast.walk(node))


def _bound_names(statements: list[ast.stmt]) -> set[str]:
    return {
        node.id
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
