"""How the package is built, in numbers: what the table of docs/architecture.md is filled from.

    python benchmarks/structure.py [CHECKOUT]

Kernels of the corpus and of the lessons do not count. A table of op names is a literal dict, set, list or tuple with two or more of them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

OP = re.compile(r"(tt|ttg|ttng|arith|math|scf|cf|nvvm|llvm|gpu|ub|nvws|func)\.[a-z_0-9.]+")
NAMED = ("tt.reduce", "tt.load", "tt.mulhiui")


def trees(package: Path) -> dict[Path, ast.Module]:
    """The files, parsed."""
    files = [p for p in sorted(package.rglob("*.py")) if "kernels" not in p.relative_to(package).parts[:-1]]
    return {path: ast.parse(path.read_text()) for path in files}


def is_op_table(node: ast.AST) -> bool:
    """Whether a literal holds at least two names of ops."""
    parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
    names = [p for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str) and OP.fullmatch(p.value)]
    return len(names) > 1


def later_imports(tree: ast.Module) -> set[int]:
    """Lines of imports of the package that stand inside of functions."""
    found: set[int] = set()
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for node in ast.walk(function):
                module = node.module if isinstance(node, ast.ImportFrom) else None
                if isinstance(node, ast.Import):
                    module = node.names[0].name
                if module and module.split(".")[0] == "minitriton":
                    found.add(node.lineno)  # pyright: ignore[reportAttributeAccessIssue]
    return found


def classes(parsed: dict[Path, ast.Module]) -> Iterator[tuple[str, int]]:
    """Each class, with its lines and those of its bases in the package."""
    known = {n.name: n for tree in parsed.values() for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}

    def lines(name: str, seen: tuple[str, ...] = ()) -> int:
        if name not in known or name in seen:
            return 0
        node = known[name]
        own = (node.end_lineno or node.lineno) - node.lineno + 1
        return own + sum(lines(base.id, (*seen, name)) for base in node.bases if isinstance(base, ast.Name))

    return ((name, lines(name)) for name in known)


def main() -> None:
    """Prints a row each."""
    package = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]) / "minitriton"
    parsed = trees(package)
    texts = {path: path.read_text() for path in parsed}
    tables = {path: sum(map(is_op_table, ast.walk(tree))) for path, tree in parsed.items()}
    later = {path: len(later_imports(tree)) for path, tree in parsed.items()}
    print(f"files {len(parsed)}, lines {sum(t.count(chr(10)) for t in texts.values())}")
    print(f"modules at the top {len(list(package.glob('*.py')))}")
    print(f"tables of op names {sum(tables.values())} in {sum(map(bool, tables.values()))} files")
    for op in NAMED:
        print(
            f"files that name {op}: {sum(1 for t in texts.values() if re.search(chr(34) + re.escape(op) + chr(34), t))}"
        )
    print(f"imports inside functions {sum(later.values())} in {sum(map(bool, later.values()))} files")
    names = sum(1 for tree in parsed.values() for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == "Any")
    print(f"Any {names}, pyright: ignore {sum(t.count('# pyright: ignore') for t in texts.values())}")
    print("longest class with its bases: {}, {} lines".format(*max(classes(parsed), key=lambda item: item[1])))


if __name__ == "__main__":
    main()
