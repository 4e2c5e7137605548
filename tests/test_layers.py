"""The architecture is tested: imports go down the layers of docs/architecture.md, and packages of a layer stay apart."""

import ast
import functools
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "minitriton"

LAYERS = {
    "errors": 0, "host": 0, "target": 0, "layouts": 0, "language": 0, "knobs": 0,
    "language.gluon": 1, "dialects": 1, "pipeline.pass_registry": 1, "pipeline.choice": 1, 
    "rewriting": 2, "analysis": 2,
    "frontend": 3, "passes": 3, "codegen": 3, "interpreter": 3,
    "pipeline": 4, "emulator": 4,
    "runtime": 5, "backends": 5,
    "commands": 6, "lab": 6, "explorer": 6, "fuzz": 6, "as_triton": 6, "__main__": 6, 
}  # fmt: skip

APART = {"layouts", "language", "frontend", "passes", "codegen", "interpreter", "emulator", "runtime"}
"""Packages that do not import the other packages of their layer."""


EXCEPTIONS = {
    (
        "runtime/stored_kernel.py",
        "as_triton",
    ): "`asm['sass']` is made when it is first asked for, by the disassembler among the tools",
}
"""Imports inside functions that go up the layers, each with its reason: at most ten."""


@functools.cache
def imports_of(path: Path) -> frozenset[tuple[str, bool]]:
    """What a file imports of minitriton, as dotted names below it, and whether only inside a function or for types."""
    found: set[tuple[str, bool]] = set()
    pending: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text()), False)]
    while pending:
        node, later = pending.pop()
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        found |= {(n.removeprefix("minitriton."), later) for n in names if n.startswith("minitriton.")}
        later |= isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        later |= isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        pending.extend((child, later) for child in ast.iter_child_nodes(node))
    return frozenset(found)


FILES = sorted(PACKAGE.rglob("*.py"))


def part_of(name: str) -> str | None:
    """The entry of `LAYERS` that a module, or a name of one, belongs to: the longest that it begins with."""
    while name and name not in LAYERS:
        name = name.rpartition(".")[0]
    return name or None


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(PACKAGE)) for p in FILES])
def test_imports_go_down_the_layers(path: Path) -> None:
    module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    imports = imports_of(path)
    if module == "__init__":
        assert all(later for _, later in imports), "the package's __init__ imports lazily"
        return
    own = part_of(module)
    assert own is not None, f"{module} has no layer: name one in docs/architecture.md and here"
    for name, later in imports:
        other = part_of(name)
        if other == own or other is None or (later and (str(path.relative_to(PACKAGE)), other) in EXCEPTIONS):
            continue
        assert LAYERS[other] <= LAYERS[own], f"{own} (layer {LAYERS[own]}) imports {other} (layer {LAYERS[other]})"
        if LAYERS[other] == LAYERS[own] and other in APART and own in APART:
            raise AssertionError(f"{own} and {other} are of one layer and do not import each other")


def test_exceptions_are_few_and_there() -> None:
    assert len(EXCEPTIONS) <= 10
    for file, other in EXCEPTIONS:
        assert any(part_of(name) == other for name, _ in imports_of(PACKAGE / file)), f"{file} imports no {other}"


def _graph(*, all_imports: bool) -> dict[str, set[str]]:
    modules = {".".join(p.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): p for p in FILES}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        names = {name for name, later in imports_of(path) if all_imports or not later}
        found = {name if name in modules else name.rpartition(".")[0] for name in names}
        graph[module] = {name for name in found if name in modules and name != module}
    return graph


def _circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The sets of files that reach each other."""
    reach: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        pending = list(graph[start])
        while pending:
            module = pending.pop()
            if module not in seen:
                seen.add(module)
                pending.extend(graph[module])
        reach[start] = seen
    circles = {frozenset({m} | {o for o in reach[m] if m in reach[o]}) for m in graph if m in reach[m]}
    return [set(circle) for circle in circles]


@pytest.mark.parametrize("all_imports", [False, True])
def test_no_files_import_each_other(all_imports: bool) -> None:
    """Neither when they are loaded nor, with `all_imports`, later or for types."""
    assert _circles(_graph(all_imports=all_imports)) == []


def test_make_check_touches_every_package() -> None:
    tests = Path(__file__).parent
    listed = re.search(r"^CHECK := ((?:.*\\\n)*.*)", (tests.parent / "Makefile").read_text(), re.MULTILINE)
    assert listed is not None
    named = [tests / name for name in listed[1].replace("\\", " ").split()]
    assert not [str(path) for path in named if not path.exists()]
    files = [file for path in named for file in (path.glob("*.py") if path.is_dir() else [path])]
    touched = {name.split(".")[0] for file in files for name, _ in imports_of(file)}
    assert not {path.parent.name for path in PACKAGE.glob("*/__init__.py")} - touched
