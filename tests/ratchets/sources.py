"""The package's files, each read and parsed once, with what the ratchets count in them."""

from __future__ import annotations

import ast
import functools
import gc
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "minitriton"

_OP_NAME = re.compile(r"(tt|ttg|ttng|arith|math|scf|cf|nvvm|llvm|gpu|ub|nvws|func|builtin)\.[a-z_0-9.]+")
_COMMENT = re.compile(r"(?:^\s*|\s\s)# (.*)")
_WORDS = re.compile(r"[A-Za-z]{2,}")
_OF_TUPLES = {"_replace", "_asdict", "_exit", "_fields", "_make"}
"""Documented names of the standard library that begin with an underscore."""


@dataclass(frozen=True)
class Text:
    """A docstring, a comment, or the literal parts of a string that a user may read."""

    file: str
    line: int
    text: str
    is_message: bool


@dataclass(frozen=True)
class Source:
    """One file of the package."""

    file: str
    lines: int
    imports: frozenset[str]
    """Modules of minitriton, and names imported from them, dotted."""
    texts: tuple[Text, ...]
    op_name_comparisons: int
    private_accesses: tuple[str, ...]

    @property
    def package(self) -> str:
        """Its entry at the top of minitriton."""
        return self.file.split("/")[0].removesuffix(".py")

    @property
    def module(self) -> str:
        return ".".join(("minitriton", *Path(self.file).with_suffix("").parts)).removesuffix(".__init__")


@functools.cache
def files() -> dict[str, tuple[str, ast.Module]]:
    """The text and syntax tree of each file. The trees stay: no collection of garbage needs to look through them."""
    gc.disable()
    texts = {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
    found = {file: (text, ast.parse(text)) for file, text in texts.items()}
    gc.freeze()
    gc.enable()
    return found


@functools.cache
def sources() -> tuple[Source, ...]:
    """All files of the package."""
    return tuple(_read(file, text, tree) for file, (text, tree) in files().items())


def _read(file: str, text: str, tree: ast.Module) -> Source:
    nodes = list(ast.walk(tree))
    documents = {id(d) for node in nodes if (d := _docstring(node)) is not None}
    formatted = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    defined = {name for node in nodes for name in _private_definitions(node)}
    return Source(
        file,
        text.count("\n"),
        frozenset(name for node in nodes for name in _imports(node)),
        (*_comments(file, text), *(t for node in nodes for t in _strings(file, node, documents, formatted))),
        sum(map(_compares_an_op_name, nodes)),
        tuple(name for node in nodes if (name := _private_access(node)) and name not in defined),
    )


def _docstring(node: ast.AST) -> ast.Constant | None:
    """The string of a statement that is nothing else: of a module, class, function, or the attribute above it."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value
    return None


def _strings(file: str, node: ast.AST, documents: set[int], formatted: set[int]) -> Iterator[Text]:
    """A string with values in it is one text, each value a `."""
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "`" for part in node.values)
        yield Text(file, node.lineno, "".join(map(str, parts)), True)
    elif id(node) in formatted:
        return
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        is_message = id(node) not in documents
        if not is_message or len(_WORDS.findall(node.value)) > 2:
            yield Text(file, node.lineno, node.value, is_message)


def _comments(file: str, text: str) -> Iterator[Text]:
    """Neighbouring lines are one text."""
    block, first = "", 0
    for number, line in enumerate((*text.split("\n"), ""), 1):
        found = _COMMENT.search(line) if "# " in line else None
        if found:
            block, first = f"{block} {found[1]}", first or number
        elif block:
            yield Text(file, first, block, False)
            block, first = "", 0


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name.startswith("minitriton"))
    elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("minitriton"):
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _compares_an_op_name(node: ast.AST) -> bool:
    """`op.name == "tt.load"`, `op.name in ("tt.load", ...)`."""
    if not isinstance(node, ast.Compare):
        return False
    sides = (node.left, *node.comparators)
    if not any(isinstance(side, ast.Attribute) and side.attr == "name" for side in sides):
        return False
    inner = [part for side in sides for part in (getattr(side, "elts", None) or [side])]
    values = [part.value for part in inner if isinstance(part, ast.Constant)]
    return any(isinstance(value, str) and _OP_NAME.fullmatch(value) for value in values)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("_") and name not in _OF_TUPLES


def _private_access(node: ast.AST) -> str:
    """The private name that `x._y` or `from m import _y` asks for, x being neither `self` nor `cls`."""
    if isinstance(node, ast.Attribute) and _is_private(node.attr):
        own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        return "" if own else node.attr
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("minitriton"):
        return next((alias.name for alias in node.names if _is_private(alias.name)), "")
    return ""


def _private_definitions(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr


def identifiers(tree: ast.Module) -> Iterator[tuple[str, int, bool]]:
    """Each name that a module defines, its line, and whether it is that of a function or class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node.lineno, True
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno, False
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno, False
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno, False


def pages() -> Iterator[Text]:
    """The prose of docs/*.md, README.md and CONTRIBUTING.md, paragraph by paragraph, without the glossary, which names words to avoid."""
    for path in [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        if path.name == "glossary.md":
            continue
        without_code = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
        for paragraph in without_code.split("\n"):
            if not paragraph.startswith("    "):
                yield Text(path.name, 0, paragraph, False)


def single_importers() -> dict[str, str]:
    """Modules that one other file of the package imports, with that file. Front doors (`__init__`) do not count."""
    importers: dict[str, set[str]] = {source.module: set() for source in sources()}
    for source in sources():
        for name in source.imports:
            for module in (name, name.rpartition(".")[0]):
                if module in importers and module != source.module:
                    importers[module].add(source.file)
    return {
        source.file: next(iter(importers[source.module]))
        for source in sources()
        if len(importers[source.module]) == 1 and not source.file.endswith("__init__.py")
    }
