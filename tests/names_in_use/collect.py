"""`python collect.py FOLDER > names.txt`: the names of Triton that Python sources use, with how many repositories use each.

FOLDER holds a folder of sources per repository. A line of the result is `name repositories wheel`: `wheel` is + if the Triton that is
installed has the name (as `run_as_triton` or PYTHONPATH says which). Names come from imports and from attributes of what was imported:

    import triton.language as tl; tl.math.exp(x)      →  triton.language.math.exp
    from triton.runtime.jit import JITFunction        →  triton.runtime.jit.JITFunction

A name whose beginning alone is in use is left out, and so is what a source sets (`triton.extra = ...`).
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections import defaultdict
from pathlib import Path

from resolve import exists

PACKAGE = "triton"


class NamesOfTriton(ast.NodeVisitor):
    """The dotted names that one source uses, in `found`."""

    def __init__(self) -> None:
        self.meaning: dict[str, str] = {}
        self.found: set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.split(".")[0] == PACKAGE:
                self.found.add(alias.name)
                self.meaning[alias.asname or PACKAGE] = alias.name if alias.asname else PACKAGE

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or node.module is None or node.module.split(".")[0] != PACKAGE:
            return
        for alias in node.names:
            name = node.module if alias.name == "*" else f"{node.module}.{alias.name}"
            self.found.add(name)
            self.meaning[alias.asname or alias.name] = name

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts: list[str] = []
        at: ast.expr = node
        while isinstance(at, ast.Attribute):
            parts.append(at.attr)
            at = at.value
        if isinstance(at, ast.Name) and at.id in self.meaning and isinstance(node.ctx, ast.Load):
            self.found.add(".".join([self.meaning[at.id], *reversed(parts)]))
        self.generic_visit(node)


def names_of(source: str) -> set[str]:
    """The names of Triton in `source`, none for what is not Python. Imports count wherever they stand, so they are read first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            return set()
    names = NamesOfTriton()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names.visit(node)
    names.visit(tree)
    return names.found


def main(folder: Path) -> None:
    users: dict[str, set[str]] = defaultdict(set)
    repositories = sorted(path for path in folder.iterdir() if path.is_dir())
    for repository in repositories:
        for file in repository.rglob("*.py"):
            for name in names_of(file.read_text(errors="replace")) if file.is_file() else ():
                users[name].add(repository.name)
    using = set().union(*users.values())
    print(f"# {len(using)} repositories use Triton: {' '.join(sorted(using))}")
    for name in sorted(users):
        print(name, len(users[name]), "+" if exists(name) else "-")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
