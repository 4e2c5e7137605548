"""A function's syntax tree with what the code generator asks of it often, worked out once per function.

In: the tree of a `JITCallable`. Out: the same tree, whose nodes carry

    node.place              where it stands in the kernel's file (None without a line)
    For.assigned, While.assigned    names that the loop's body may bind, but variables of loops in it that nothing else reads
    If.has_return           whether a branch contains `return`
    For.read_elsewhere      whether the loop's variable is read anywhere but in loops that count with it
"""

from __future__ import annotations

import ast
from typing import Any, cast

from xdsl.dialects.builtin import StringAttr

from minitriton.frontend.builder import Place
from minitriton.frontend.function import JITCallable
from minitriton.host import locks


class Placed(ast.AST):
    """A node of a prepared tree that has a line. Nodes stay those of `ast`: the classes here only say what has been added to them."""

    place: Place


class PreparedFunction(ast.FunctionDef, Placed):
    """The `def` of a prepared tree."""


class PreparedFor(ast.For, Placed):
    """A `for` of a prepared tree."""

    assigned: frozenset[str]
    read_elsewhere: bool


class PreparedWhile(ast.While, Placed):
    """A `while` of a prepared tree."""

    assigned: frozenset[str]


class PreparedIf(ast.If, Placed):
    """An `if` of a prepared tree."""

    has_return: bool


def prepared_tree(fn: JITCallable) -> PreparedFunction:
    """The `def` of `fn`, prepared."""
    with locks.FUNCTIONS:
        module: Any = fn.parse()
        function = module.body[0]
        if not hasattr(module, "is_prepared"):
            _prepare(module, StringAttr(fn.file_name), fn.begin_line - 1)
            _mark_counters(function)
            module.is_prepared = True
        return function


def place_of(node: ast.AST) -> Place:
    """Where a node of a prepared tree that has a line stands."""
    placed: Any = node
    return placed.place


def _prepare(tree: ast.AST, file: StringAttr, offset: int) -> None:
    places: dict[tuple[int, int], Place] = {}
    nodes: list[tuple[ast.AST, ast.AST | None]] = [(tree, None)]
    for node, _ in nodes:
        nodes.extend((child, node) for child in ast.iter_child_nodes(node))
        annotated: Any = node
        line = getattr(node, "lineno", None)
        annotated.place = None
        if line is not None:
            key = (line, annotated.col_offset)
            annotated.place = places.get(key) or places.setdefault(key, Place(file, offset + line, key[1]))
    _tell_around(nodes)


def _tell_around(nodes: list[tuple[ast.AST, ast.AST | None]]) -> None:
    """Hands the names that are bound and the `return`s up from each node to the one around it, which comes before it in `nodes`."""
    bound: dict[ast.AST, set[str]] = {}
    returning: set[ast.AST] = set()
    for node, parent in reversed(nodes):
        annotated: Any = node
        if isinstance(node, (ast.For, ast.While)):
            annotated.assigned = frozenset().union(*(bound.get(statement, ()) for statement in node.body))
        elif isinstance(node, (ast.If, ast.With)):
            annotated.has_return = node in returning
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound[node] = {node.id}
        if parent is None:
            continue
        if node in bound:
            bound.setdefault(parent, set()).update(bound[node])
        if isinstance(node, ast.Return) or node in returning:
            returning.add(parent)


def _mark_counters(function: ast.FunctionDef) -> None:
    loops: list[Any] = [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While))]
    read = _reads_outside_of_counting_loops(function)
    counters = {n.target.id for n in loops if isinstance(n, ast.For) and isinstance(n.target, ast.Name)}
    for loop in loops:
        loop.assigned -= counters - read
        if isinstance(loop, ast.For):
            cast(Any, loop).read_elsewhere = isinstance(loop.target, ast.Name) and loop.target.id in read


def _reads_outside_of_counting_loops(function: ast.AST) -> set[str]:
    """The names that `function` reads where no surrounding `for` counts with them.

    In the body of its loop a variable has the value that the loop gives it; only elsewhere does its last value matter.
    """
    found: set[str] = set()
    waiting: list[tuple[ast.AST, frozenset[str]]] = [(function, frozenset())]
    while waiting:
        node, counting = waiting.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store) and node.id not in counting:
            found.add(node.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id not in counting:
            found.add(node.target.id)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            waiting.append((node.iter, counting))
            waiting.extend((statement, counting | {node.target.id}) for statement in node.body)
            continue
        waiting.extend((child, counting) for child in ast.iter_child_nodes(node))
    return found
