"""Bare 5, 31 and 32 that mean a warp: `lane & 31`, `thread >> 5`, `32 * num_warps`, `rows.reshape(-1, 32)` next to a name of lanes, warps or threads.

`target.architectures.WARP_SIZE`, `Architecture.lane_bits`, `threads_per_warp(op)` and `num_threads(op)` say it instead.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_NAMES = re.compile(r"lane|warp|thread|reader|writer", re.IGNORECASE)
_OPERATIONS: dict[type[ast.operator], tuple[int, ...]] = {
    ast.BitAnd: (31,),
    ast.RShift: (5,),
    ast.LShift: (5, 32),
    ast.FloorDiv: (32,),
    ast.Mod: (32,),
    ast.Mult: (32,),
}
_SHAPES = ("reshape", "repeat", "arange", "zeros", "blocked_for_cga", "icmp", "i32", "range")
"""Calls whose argument is a number of lanes."""


def _number(node: ast.expr) -> int | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def of_tree(tree: ast.AST, lines: list[str]) -> Iterator[int]:
    """The lines where a number means a warp."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp):
            sides = {_number(node.left), _number(node.right)}
            found = bool(sides & {*_OPERATIONS.get(type(node.op), ())})
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            found = name in _SHAPES and bool({_number(a) for a in node.args} & {5, 31, 32})
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            found = node.value is not None and _number(node.value) in (5, 31, 32)
        elif isinstance(node, ast.Compare):
            found = bool({_number(a) for a in (node.left, *node.comparators)} & {5, 31, 32})
        else:
            continue
        if found and _NAMES.search(lines[node.lineno - 1]):
            yield node.lineno
