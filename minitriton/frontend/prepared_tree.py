"""A function's syntax tree with what the code generator asks of it often, worked out once per function.

In: the tree of a `JITCallable`. Out: the same tree, whose nodes carry

    node.location             where it stands in the kernel's file (None without a line)
    For.assigned, While.assigned    names that the loop's body may bind, but variables of loops in it that nothing else reads
    If.has_return           whether a branch contains `return`
    For.read_elsewhere      whether the loop's variable is read anywhere but in loops that count with it
"""

import ast
from typing import Any, cast

from xdsl.dialects.builtin import StringAttr

from minitriton.frontend.builder import LazyLocation
from minitriton.frontend.function import JITCallable
from minitriton.host import locks


class Located(ast.AST):
    """A node of a prepared tree that has a line. Nodes stay those of `ast`: the classes here only say what has been added to them."""

    lazy_location: LazyLocation


class PreparedFunction(ast.FunctionDef, Located):
    """The `def` of a prepared tree."""


class PreparedFor(ast.For, Located):
    """A `for` of a prepared tree."""

    assigned: frozenset[str]
    read_elsewhere: bool


class PreparedWhile(ast.While, Located):
    """A `while` of a prepared tree."""

    assigned: frozenset[str]


class PreparedIf(ast.If, Located):
    """An `if` of a prepared tree."""

    has_return: bool


def prepared_tree(fn: JITCallable) -> PreparedFunction:
    """The `def` of `fn`, prepared."""
    with locks.FUNCTIONS:
        module: Any = fn.parse()
        function = module.body[0]
        if not hasattr(module, "is_prepared"):
            inside = _prepare(module, StringAttr(fn.file_name), fn.begin_line - 1)
            _mark_counters(function, inside)
            module.is_prepared = True
        return function


def lazy_location_of(node: ast.AST) -> LazyLocation:
    """Where a node of a prepared tree that has a line stands."""
    located: Any = node
    return located.lazy_location


_CONTEXTS = frozenset({ast.Load, ast.Store, ast.Del})
"""Nodes that all names share, which stand nowhere and hold nothing."""

_Inside = dict[ast.AST, list[ast.AST]]
"""For each node those right below it: what `ast.iter_child_nodes` finds, less the contexts, once for all that ask."""


def _nodes_below(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for name in node._fields:
        value: Any = getattr(node, name, None)
        if value.__class__ is list:
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST) and value.__class__ not in _CONTEXTS:
            found.append(value)
    return found


def _prepare(tree: ast.AST, file: StringAttr, offset: int) -> _Inside:
    locations: dict[tuple[int, int], LazyLocation] = {}
    nodes: list[tuple[ast.AST, ast.AST | None]] = [(tree, None)]
    inside: _Inside = {}
    for node, _ in nodes:
        below = inside[node] = _nodes_below(node)
        nodes += [(child, node) for child in below]
        annotated: Any = node
        line = getattr(node, "lineno", None)
        annotated.lazy_location = None
        if line is not None:
            key = (line, annotated.col_offset)
            lazy_location = locations.get(key)
            if lazy_location is None:
                lazy_location = locations[key] = LazyLocation(file, offset + line, key[1])
            annotated.lazy_location = lazy_location
    if any(isinstance(node, _AROUND) for node in inside):
        _tell_around(nodes)
    return inside


_AROUND = (ast.For, ast.While, ast.If, ast.With)
"""Nodes whose contents are known."""


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


def _mark_counters(function: ast.FunctionDef, inside: _Inside) -> None:
    loops: list[Any] = [node for node in inside if isinstance(node, (ast.For, ast.While))]
    if not loops:
        return
    read = _reads_outside_of_counting_loops(function, inside)
    counters = {n.target.id for n in loops if isinstance(n, ast.For) and isinstance(n.target, ast.Name)}
    for loop in loops:
        loop.assigned -= counters - read
        if isinstance(loop, ast.For):
            cast(Any, loop).read_elsewhere = isinstance(loop.target, ast.Name) and loop.target.id in read


def _reads_outside_of_counting_loops(function: ast.AST, inside: _Inside) -> set[str]:
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
        waiting += [(child, counting) for child in inside[node]]
    return found
