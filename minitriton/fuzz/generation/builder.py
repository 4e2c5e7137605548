"""A kernel in the making: statements added one by one, each checked at once.

b.emit(Apply("add", (Name("v1"), Literal(3))))   →   "v7", or `Unsound` and nothing is added
"""

import contextlib
import random
from collections.abc import Callable, Generator, Iterator

from minitriton.fuzz.generation.elements import BOOL, FLOAT32, FLOATS, FP8, INT32, INT64, INTEGERS, Element
from minitriton.fuzz.tree import (
    Apply,
    Array,
    Assign,
    Attribute,
    Expr,
    Helper,
    Kernel,
    Literal,
    Name,
    Scalar,
    Stmt,
    Unpack,
    expressions,
    names_in,
    statements,
)
from minitriton.fuzz.validity.access_analysis import Snapshot
from minitriton.fuzz.validity.analysis import Analysis
from minitriton.fuzz.validity.facts import Unsound, Value


def apply(op: str, *args: Expr | int | float | str, attrs: tuple[Attribute, ...] = ()) -> Apply:
    """An operation; names and numbers stand for themselves."""
    made = [Name(a) if isinstance(a, str) else Literal(a) if isinstance(a, int | float) else a for a in args]
    return Apply(op, tuple(made), attrs)


class KernelBuilder:
    """Statements, parameters and what is known of them. `random` decides everything."""

    def __init__(self, seed: int, rng: random.Random, grid: tuple[int, ...], num_warps: int, fp_fusion: bool) -> None:
        self.random = rng
        self.kernel = Kernel(seed, (), (), (), (), grid, num_warps, fp_fusion)
        self.analysis = Analysis(self.kernel)
        self.body: list[Stmt] = []
        self.arrays: list[Array] = []
        self.scalars: list[Scalar] = []
        self.helpers: list[Helper] = []
        self.count = 0
        self.values: list[str] = []
        """What later statements may use, the newest last."""
        self.shapes: list[tuple[int, ...]] = []
        self.loops: list[str] = []
        """Variables of the loops that are open."""

    def fresh(self, prefix: str = "v") -> str:
        """A new name."""
        self.count += 1
        return f"{prefix}{self.count}"

    def type_of(self, name: str) -> Value:
        """What is known of a name."""
        return self.analysis.env[name]

    def infer(self, expression: Expr) -> Value:
        """What is known of an expression. Raises `Unsound`."""
        return self.analysis.value(expression)

    def add(self, statement: Stmt) -> None:
        """Adds a statement. Raises `Unsound`, with nothing added."""
        self.analysis.statement(statement)
        self.body.append(statement)

    def emit(self, expression: Expr, prefix: str = "v", *, usable: bool = True) -> str:
        """Gives an expression a name; `usable` says whether later statements may pick it."""
        name = self.fresh(prefix)
        self.add(Assign(name, expression))
        if usable:
            self.values.append(name)
        return name

    def emit_pair(self, expression: Expr) -> tuple[str, str]:
        """Names the two results of an expression."""
        names = self.fresh(), self.fresh()
        self.add(Unpack(names, expression))
        self.values += names
        return names

    @contextlib.contextmanager
    def inner_block(self) -> Generator[list[Stmt]]:
        """Statements added inside go to the list, and their names are forgotten afterwards."""
        outside, values, snapshot = self.body, list(self.values), self.analysis.snapshot()
        self.body = []
        try:
            yield self.body
        finally:
            self.body, self.values = outside, values
            self.restore(snapshot)

    def attempt(self, action: Callable[[], object]) -> bool:
        """Does `action`; False, and nothing done, where that leads to no well-formed kernel."""
        body, values, snapshot = list(self.body), list(self.values), self.analysis.snapshot()
        try:
            return action() is not False
        except Unsound:
            self.body[:] = body
            self.values = values
            self.restore(snapshot)
            return False

    def restore(self, snapshot: Snapshot) -> None:
        """Forgets statements, but no parameters."""
        self.analysis.restore(snapshot)
        for array in self.arrays:
            if array.name not in self.analysis.env:
                self.analysis.add_array(array)
        for scalar in self.scalars:
            self.analysis.add_scalar(scalar)

    def scalar(self, element: Element, value: int | float) -> str:
        """A number parameter of this value: an old one, or a new one."""
        for old in self.scalars:
            if old.element == element and old.value == value:
                return old.name
        found = Scalar(self.fresh("s"), element, value)
        self.analysis.add_scalar(found)
        self.scalars.append(found)
        return found.name

    def number(self, value: int) -> Expr:
        """An integer as a literal, or now and then as a parameter."""
        fits = INT32.low <= value <= INT32.high
        if fits and self.random.random() < 0.25:
            return Name(self.scalar(INT32, value))
        return Literal(value)

    def array(self, element: Element, *, written: bool = False) -> str:
        """A new pointer parameter."""
        pick = self.random
        fill, low, high = "random", 0, 0
        if element.is_float:
            kinds = [
                "quarters", "quarters", "eighths", "small", "small", "counts", "normal", "normal", "positive",
                "zeros", "special",
            ]  # fmt: skip
            fill = "quarters" if written else pick.choice(kinds)
            if element.is_fp8 and fill in ("normal", "positive", "special"):
                fill = "small"
            if element.name == "float8e5" and fill in ("quarters", "eighths", "counts", "zeros"):
                fill = "small"
        else:
            low, high = pick.choice(
                [
                    (element.low, element.high),
                    (element.low, element.high),
                    (max(element.low, -9), 9),
                    (0, 15),
                    (1, 7),
                    (0, 100),
                ]
            )
            fill = pick.choice(["random", "random", "extremes"])
            if element.is_bool:
                low, high, fill = 0, 1, "random"
        skew = pick.choice([0, 0, 0, 0, 0, 0, 1, 2, 4, 8])
        found = Array(self.fresh("out" if written else "in"), element, fill, low, high, skew, written)
        self.analysis.add_array(found)
        self.arrays.append(found)
        return found.name

    def any_element(self) -> Element:
        """An element type to load."""
        pick = self.random.random()
        if pick < 0.5:
            return self.random.choice([*INTEGERS, INT32, INT32, INT64])
        if pick < 0.58:
            return BOOL
        if pick < 0.95:
            return self.random.choice([*FLOATS, FLOAT32, FLOAT32, FLOATS[0]])
        return self.random.choice(FP8)

    def finished(self) -> Kernel:
        """The kernel, with the parameters and functions that it uses."""
        return pruned(
            Kernel(
                self.kernel.seed, tuple(self.arrays), tuple(self.scalars), tuple(self.helpers), tuple(self.body),
                self.kernel.grid, self.kernel.num_warps, self.kernel.fp_fusion,
            )
        )  # fmt: skip


def pruned(kernel: Kernel) -> Kernel:
    """`kernel` without the parameters and functions that nothing mentions."""
    bodies = [kernel.body, *(h.body for h in kernel.helpers)]
    every = [e for body in bodies for s in statements(body) for e in expressions(s)] + [
        h.result for h in kernel.helpers
    ]
    used = {name for e in every for name in names_in(e)}
    called = {op for e in every for op in _calls(e)}
    return Kernel(
        kernel.seed,
        tuple(a for a in kernel.arrays if a.name in used),
        tuple(s for s in kernel.scalars if s.name in used),
        tuple(h for h in kernel.helpers if h.name in called),
        kernel.body, kernel.grid, kernel.num_warps, kernel.fp_fusion,
    )  # fmt: skip


def _calls(expression: Expr) -> Iterator[str]:
    if isinstance(expression, Apply):
        if expression.op.startswith("call:"):
            yield expression.op.removeprefix("call:")
        for argument in expression.args:
            yield from _calls(argument)
