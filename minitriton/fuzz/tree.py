"""A fuzzed kernel as a tree: what the generator makes, the shrinker reduces, the printer writes and the analysis checks.

    Assign("v3", Apply("add", (Name("v1"), Literal(3))))          v3 = v1 + 3

Types are not stored: `analysis` infers them from the leaves, so that a reduced tree needs no repair. Equal trees print equally.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from minitriton.fuzz.generation.elements import Element


@dataclass(frozen=True)
class Name:
    """A parameter, or what an earlier statement assigned."""

    name: str


@dataclass(frozen=True)
class Literal:
    """A Python number, which takes the type of the other operand."""

    value: int | float | bool


Attribute: TypeAlias = "int | float | str | tuple[int, ...] | None"
"""A compile-time argument of an operation: an axis, a shape, a flag, a number, the name of an element type."""


@dataclass(frozen=True)
class Apply:
    """An operation of `operations.OPERATIONS`, or `call:NAME` for a helper; `attrs` are its compile-time arguments."""

    op: str
    args: tuple[Expr, ...]
    attrs: tuple[Attribute, ...] = ()


Expr = Name | Literal | Apply


@dataclass(frozen=True)
class Assign:
    name: str
    value: Expr


@dataclass(frozen=True)
class Unpack:
    """`a, b = value`: for what gives two tensors."""

    names: tuple[str, str]
    value: Expr


@dataclass(frozen=True)
class Store:
    pointer: Expr
    value: Expr
    mask: Expr | None = None


@dataclass(frozen=True)
class Atomic:
    """An atomic whose result is not used: `op` is add, max, min, and, or, xor."""

    op: str
    pointer: Expr
    value: Expr
    mask: Expr | None = None


@dataclass(frozen=True)
class For:
    """`for variable in KIND(start, stop, step)`; KIND is range, tl.range or tl.static_range."""

    variable: str
    start: Expr
    stop: Expr
    step: int
    body: tuple[Stmt, ...]
    kind: str = "range"


@dataclass(frozen=True)
class While:
    """`variable = start`, then `while variable < stop`, with `variable += step` at the end of the body."""

    variable: str
    start: Expr
    stop: Expr
    step: int
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class If:
    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()


@dataclass(frozen=True)
class Return:
    """The end of the program, inside an `If` of the kernel's own body."""


Stmt = Assign | Unpack | Store | Atomic | For | While | If | Return


@dataclass(frozen=True)
class Array:
    """A pointer parameter. `fill` says what it holds at first (`inputs.FILLS`), `low` and `high` bound integers,
    `skew` is how many elements it begins after an address divisible by 16, `written` whether the kernel stores to it."""

    name: str
    element: Element
    fill: str
    low: int = 0
    high: int = 0
    skew: int = 0
    written: bool = False


@dataclass(frozen=True)
class Scalar:
    """A number among the parameters."""

    name: str
    element: Element
    value: int | float


@dataclass(frozen=True)
class Helper:
    """A function that the kernel calls: statements, then `return result`."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[Stmt, ...]
    result: Expr
    noinline: bool = False


@dataclass(frozen=True)
class Kernel:
    """A whole launch. `seed` names the contents of the arrays."""

    seed: int
    arrays: tuple[Array, ...]
    scalars: tuple[Scalar, ...]
    helpers: tuple[Helper, ...]
    body: tuple[Stmt, ...]
    grid: tuple[int, ...] = (1,)
    num_warps: int = 4
    fp_fusion: bool = True

    @property
    def programs(self) -> int:
        """Programs in the grid."""
        return math.prod(self.grid)


def nested(statement: Stmt) -> Iterator[tuple[Stmt, ...]]:
    """The bodies inside a statement."""
    if isinstance(statement, For | While):
        yield statement.body
    elif isinstance(statement, If):
        yield statement.then
        yield statement.otherwise


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """All statements of a body, those inside others too."""
    for statement in body:
        yield statement
        for inner in nested(statement):
            yield from statements(inner)


def expressions(statement: Stmt) -> tuple[Expr, ...]:
    """The expressions that a statement itself holds."""
    if isinstance(statement, Assign | Unpack):
        return (statement.value,)
    if isinstance(statement, Store | Atomic):
        mask = () if statement.mask is None else (statement.mask,)
        return (statement.pointer, statement.value, *mask)
    if isinstance(statement, For | While):
        return (statement.start, statement.stop)
    return (statement.condition,) if isinstance(statement, If) else ()


def parts(expression: Expr) -> Iterator[Expr]:
    """An expression and all inside it."""
    yield expression
    if isinstance(expression, Apply):
        for argument in expression.args:
            yield from parts(argument)


def names_in(expression: Expr) -> Iterator[str]:
    """The names that an expression mentions."""
    for part in parts(expression):
        if isinstance(part, Name):
            yield part.name


def rewritten(kernel: Kernel, change: Callable[[Expr], Expr]) -> Kernel:
    """`kernel` with `change` applied to every expression, innermost first."""

    def expression(e: Expr) -> Expr:
        if isinstance(e, Apply):
            e = replace(e, args=tuple(map(expression, e.args)))
        return change(e)

    def statement(s: Stmt) -> Stmt:
        if isinstance(s, Assign | Unpack):
            return replace(s, value=expression(s.value))
        if isinstance(s, Store | Atomic):
            mask = None if s.mask is None else expression(s.mask)
            return replace(s, pointer=expression(s.pointer), value=expression(s.value), mask=mask)
        if isinstance(s, For | While):
            return replace(s, start=expression(s.start), stop=expression(s.stop), body=tuple(map(statement, s.body)))
        if isinstance(s, Return):
            return s
        then, otherwise = tuple(map(statement, s.then)), tuple(map(statement, s.otherwise))
        return replace(s, condition=expression(s.condition), then=then, otherwise=otherwise)

    helpers = tuple(replace(h, body=tuple(map(statement, h.body)), result=expression(h.result)) for h in kernel.helpers)
    return replace(kernel, body=tuple(map(statement, kernel.body)), helpers=helpers)


def features_of(kernel: Kernel) -> tuple[str, ...]:
    """The features of a kernel, each once, in order."""
    found: set[str] = {f"warps: {kernel.num_warps}", f"grid: {'x'.join(map(str, kernel.grid))}"}
    found |= {f"element: {a.element.name}" for a in kernel.arrays}
    found |= {"skewed pointer" for a in kernel.arrays if a.skew}
    found |= {"NaN and infinity" for a in kernel.arrays if a.fill == "special"}
    for helper in kernel.helpers:
        found.add("call: noinline" if helper.noinline else "call: inlined")
    for body in (kernel.body, *(h.body for h in kernel.helpers)):
        for statement in statements(body):
            found |= _of_statement(statement)
    return tuple(sorted(found))


def _of_statement(statement: Stmt) -> set[str]:
    found: set[str] = set()
    if isinstance(statement, For):
        found.add(f"loop: {statement.kind}")
    elif isinstance(statement, While):
        found.add("loop: while")
    elif isinstance(statement, If):
        found.add("branch: at compile time" if isinstance(statement.condition, Literal) else "branch")
    elif isinstance(statement, Return):
        found.add("early return")
    elif isinstance(statement, Assign) and isinstance(statement.value, Name):
        found.add("another name for a value")
    elif isinstance(statement, Store):
        found.add("store: masked" if statement.mask is not None else "store: whole")
    elif isinstance(statement, Atomic):
        found.add(f"atomic: {statement.op}")
    if isinstance(statement, For | While) and not isinstance(statement.stop, Literal):
        found.add("loop: bound at run time")
    for expression in expressions(statement):
        for part in parts(expression):
            if isinstance(part, Apply):
                found |= _of_operation(part)
    return found


def _of_operation(part: Apply) -> set[str]:
    op = part.op
    if op.startswith("call:") or op in ("addptr", "index", "program_id", "num_programs"):
        return set()
    if op == "load":
        return {("load: whole", "load: masked, no other", "load: masked")[len(part.args) - 1]}
    if op in ("cast", "bitcast"):
        return {f"{op}: to {part.attrs[0]}"}
    if "reduce" in op or op in ("argmax", "argmin"):
        axis = "all" if part.attrs[0] is None else part.attrs[0]
        return {f"op: {op}", f"reduction: axis {axis}"}
    if (
        op == "sub"
        and isinstance(part.args[0], Literal)
        and isinstance(part.args[1], Apply)
        and part.args[1].op == "arange"
    ):
        return {"op: sub", "negative stride"}
    return {f"op: {op}"}
