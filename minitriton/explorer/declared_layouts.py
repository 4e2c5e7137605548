"""The lines of a Gluon kernel that declare its layouts, each with the layout as a picture needs it.

rows: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])        a variable, or part of any line
def copy(x, out, layout: gl.constexpr):                                         a parameter, with what it was given
ROWS = gl.constexpr(gl.BlockedLayout(...))                                      a global, or a name of an enclosing function
@gluon.constexpr_function                                                       a function that gives one: its first line, and where it returns
def rows(warps): return gl.BlockedLayout([1, 1], [1, 32], [warps, 1], [1, 0])
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute

from minitriton.dialects import ttg
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.ttg.types import MemDescType
from minitriton.errors import MinitritonError
from minitriton.explorer.inspection import bits_of
from minitriton.explorer.layout_facts import Encoding, LayoutFact, layout_fact
from minitriton.frontend.function import JITCallable
from minitriton.host.source_text import text_at
from minitriton.language.declare import ConstexprFunction
from minitriton.language.gluon.layouts import Layout, written
from minitriton.language.values import unwrap
from minitriton.layouts import encodings as enc

_Line = tuple[str, int]
"""A file, and a line from 1."""


@dataclass(frozen=True)
class DeclaredLayout:
    """A layout at a line, as a kernel writes it; `bits`: of the elements of what has it."""

    file: str
    line: int
    text: str
    bits: int
    fact: LayoutFact


@dataclass
class DeclaredLayouts:
    """Takes what the frontend knows at compile time: `make_ir(..., seen=DeclaredLayouts())`."""

    lines: dict[_Line, dict[Layout, None]] = field(default_factory=dict["_Line", "dict[Layout, None]"])

    def __call__(self, fn: JITCallable, node: ast.AST, value: object) -> None:
        """`value` is that of `node`, an expression or parameter of `fn`."""
        value = unwrap(value)
        if not isinstance(value, Layout):
            return
        self._add((fn.file_name, fn.begin_line - 1 + getattr(node, "lineno", 1)), value)
        if isinstance(node, ast.Name):
            self._add_all(_assignments(fn, node.id), value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called = fn.get_capture_scope().get(node.func.id)
            if isinstance(called, ConstexprFunction):
                self._add_all(_lines_of(cast("ConstexprFunction[object]", called)), value)

    def _add(self, line: _Line, value: Layout) -> None:
        self.lines.setdefault(line, {})[value] = None

    def _add_all(self, lines: Iterator[_Line], value: Layout) -> None:
        for line in lines:
            self._add(line, value)

    def on_shapes_of(self, module: ModuleOp) -> list[DeclaredLayout]:
        """One for each layout of each line, whole ones before their parts, on the largest shape that `module` has it on, or else on one that it covers once."""
        largest = _largest(module)
        found: list[DeclaredLayout] = []
        for (file, line), layouts in sorted(self.lines.items()):
            for layout in reversed(layouts):
                try:
                    encoding = layout.encoding()
                    shape, bits = largest.get(encoding, (_own_shape(encoding), 32))
                    if shape and isinstance(encoding, Encoding):
                        found.append(DeclaredLayout(file, line, written(layout), bits, layout_fact(encoding, shape)))
                except (MinitritonError, NotImplementedError):
                    continue  # the compiler chooses it, or no picture is drawn of its kind
        return found


def _largest(module: ModuleOp) -> dict[enc.Encoding, tuple[tuple[int, ...], int]]:
    """The largest shape that values of `module` with an encoding have, and the bits of their elements."""
    types: set[Attribute] = {value.type for op in module.walk() for value in op.results}
    types |= {
        value.type for op in module.walk() for region in op.regions for block in region.blocks for value in block.args
    }
    found: dict[enc.Encoding, tuple[tuple[int, ...], int]] = {}
    for type_ in types:
        if not instance_of(type_, (TensorType, MemDescType)):
            continue
        encoding = ttg.layout_of(type_)
        if encoding is None:
            continue
        shape = tuple(type_.get_shape())
        shape = shape[len(shape) - encoding.rank :] if isinstance(type_, MemDescType) else shape
        if math.prod(shape) > math.prod(found.get(encoding, ((0,), 0))[0]):
            found[encoding] = (shape, bits_of(type_))
    return found


def _own_shape(encoding: enc.Encoding) -> tuple[int, ...]:
    """A shape that an encoding of registers covers once; () where it says none."""
    match encoding:
        case enc.Blocked():
            parts = (encoding.size_per_thread, encoding.threads_per_warp, encoding.warps_per_cta)
            return tuple(math.prod(sizes) for sizes in zip(*parts, strict=True))
        case enc.Linear() | enc.PaddedShared():
            return tuple(encoding.shape)
        case enc.Slice():
            shape = _own_shape(encoding.parent)
            return shape[: encoding.dim] + shape[encoding.dim + 1 :]
        case _:
            return ()


def _assignments(fn: JITCallable, name: str) -> Iterator[_Line]:
    """The lines, outside of `fn`, of the assignments that give it `name`: of the innermost function around it that has some, or of the file."""
    text = text_at(fn.file_name)
    scope: list[ast.stmt] = ast.parse(text).body if text is not None else []
    found: list[int] = []
    while scope:
        inner: list[ast.stmt] = []
        here: list[int] = []
        for node in _statements(scope):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                if first < fn.starting_line_number <= (node.end_lineno or 0):
                    inner = node.body
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                here += [node.lineno for each in targets if isinstance(each, ast.Name) and each.id == name]
        found, scope = here or found, inner
    yield from ((fn.file_name, line) for line in found)


def _statements(scope: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Those of a scope, of its branches and loops too, not of functions and classes within it."""
    for node in scope:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield from _statements([each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)])


def _lines_of(function: ConstexprFunction[object]) -> Iterator[_Line]:
    """The first line of a function that gives a layout, and that of its `return`, where it has one."""
    file = inspect.getsourcefile(function.fn)
    try:
        lines, first = inspect.getsourcelines(function.fn)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError):
        return
    definition = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    returns = [node for node in ast.walk(definition) if isinstance(node, ast.Return)]
    for node in (definition, *(returns if len(returns) == 1 else ())):
        yield str(file), first - 1 + node.lineno
