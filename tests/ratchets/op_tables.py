"""Which tables of ops the package has: literals that list ops by name or by class.

    python tests/ratchets/op_tables.py [--list]

A table is a dict, set, tuple or list literal (also within `frozenset(...)`, `|` unions and `isinstance(x, (...))`) with at least two
elements or keys that are names of ops (`"tt.load"`), or three that are classes (`tt.LoadOp`). What an op is belongs to its class, as a fact of `minitriton/dialects/`;
what it becomes is registered with the one kind of registry (`minitriton.dialects.op_rules`), and not counted.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from minitriton.dialects.context import dialects

sys.path.insert(0, __file__.rpartition("/")[0])
from sources import files

NAMES = frozenset(op.name for dialect in dialects() for op in dialect.operations)
_TABLES = (ast.Dict, ast.Set, ast.Tuple, ast.List, ast.BinOp)
_HOLDERS = (ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
_CLASS = re.compile(r"[A-Z][A-Za-z0-9]*Op")


@dataclass(frozen=True)
class Table:
    """One literal: its file, the first name it is bound to (or where it stands), its line, how many ops it lists, and whether by name."""

    file: str
    holder: str
    line: int
    ops: int
    by_name: bool

    @property
    def key(self) -> str:
        return f"{self.file}:{self.holder}"


@functools.cache
def tables() -> tuple[Table, ...]:
    """All tables of the package."""
    return tuple(table for file, (_, tree) in files().items() for table in of_tree(tree, file))


def of_tree(tree: ast.AST, file: str) -> Iterator[Table]:
    """The tables of a file."""
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    exempt: set[int] = set()
    while pending:
        node, holder = pending.pop()
        if id(node) in exempt:
            continue
        exempt.update(map(id, _exempt(node)))
        if isinstance(node, _TABLES) and (found := _table(node)):
            yield Table(file, holder, node.lineno, *found)
        else:
            inner = _holder(node, holder) if isinstance(node, _HOLDERS) else holder
            pending += [(child, inner) for child in ast.iter_child_nodes(node)][::-1]


def _exempt(node: ast.AST) -> Iterator[ast.AST]:
    """Types, and what is handed to the registry of rules (`OpRules`)."""
    if isinstance(node, ast.AnnAssign | ast.arg) and node.annotation is not None:
        yield node.annotation
    elif isinstance(node, ast.FunctionDef) and node.returns is not None:
        yield node.returns
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
        yield from node.args


def _holder(node: ast.AST, outer: str) -> str:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return f"{outer}.{node.name}".strip(".")
    if isinstance(node, ast.Assign | ast.AnnAssign) and "." not in outer:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        return f"{outer}.{target.id}".strip(".") if isinstance(target, ast.Name) else outer
    return outer


def _table(node: ast.AST) -> tuple[int, bool] | None:
    """How many ops a literal lists, and whether by name; None for what is no table."""
    if isinstance(node, ast.Dict):
        elements = [key for key in node.keys if key is not None]
    elif isinstance(node, ast.Set | ast.Tuple | ast.List):
        elements = list(node.elts)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        elements = _united(node)
    else:
        return None
    names = sum(
        isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value in NAMES for each in elements
    )
    classes = sum(_is_class(each) for each in elements)
    return (names + classes, names > 0) if names + classes >= (2 if names else 3) else None


def _united(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _united(node.left) + _united(node.right)
    return [node]


def _is_class(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return bool(_CLASS.fullmatch(name)) and name != "ModuleOp"


if __name__ == "__main__":
    found = list(tables())
    if "--list" in sys.argv:
        for each in found:
            print(
                f"{each.file}:{each.line}: {each.holder or '(module)'}: {each.ops} {'names' if each.by_name else 'classes'}"
            )
    print(
        f"{len(found)} tables, {sum(each.by_name for each in found)} of them by name, {sum(each.ops for each in found)} ops"
    )
