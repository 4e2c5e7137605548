"""Checks a kernel before anything runs: types, definedness, and what every oracle must agree on.

In: a `Kernel`. Out: an `Analysis`: the length every array needs and, per array written, how far oracles may be apart. Raises
`Unsound` for a tree that is no well-formed kernel: a type that does not fit, an access out of bounds, two writes to one address,
a division by zero, a result that the language leaves open.

Loops run here as often as they do in the launch, with facts in place of values. What only the launch decides (program numbers,
ranges, integer arguments and what is computed from them) is computed exactly, for all programs at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from minitriton.fuzz.generation import cast_operations as cast_operations
from minitriton.fuzz.generation import reduce_operations as reduce_operations
from minitriton.fuzz.generation import shape_operations as shape_operations
from minitriton.fuzz.generation.elements import BOOL, INT32, INT64, Element
from minitriton.fuzz.generation.float_operations import constant
from minitriton.fuzz.generation.operations import OPERATIONS
from minitriton.fuzz.tree import (
    Apply,
    Array,
    Assign,
    Atomic,
    Expr,
    For,
    Helper,
    If,
    Kernel,
    Literal,
    Name,
    Return,
    Scalar,
    Stmt,
    Store,
    Unpack,
    While,
)
from minitriton.fuzz.validity.access_analysis import MOST_TRIPS, AccessAnalysis, Env, Snapshot, Written
from minitriton.fuzz.validity.facts import (
    Ints,
    Partial,
    Pointers,
    Type,
    Unsound,
    Value,
    from_known,
    merged,
    need,
)

ELEMENT_BY_ELEMENT = {
    "add", "sub", "mul", "and", "or", "xor", "min", "max", "not", "fadd", "fsub", "fmul", "fmin", "fmax", "neg", "cast", "where",
}  # fmt: skip
"""Operations whose result, on an operand with undefined elements, is undefined in the same elements and no others."""
MOST_ELEMENTS = 4096
"""Elements of one tile: more would only make a run slow."""


class Analysis(AccessAnalysis):
    """Facts of a kernel, statement by statement; the generator asks it as it goes along."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.arrays: dict[str, Array] = {a.name: a for a in kernel.arrays}
        self.helpers: dict[str, Helper] = {h.name: h for h in kernel.helpers}
        self.lengths: dict[str, int] = {}
        self.written: dict[str, Written] = {}
        self.env: Env = {}
        for array in kernel.arrays:
            self.add_array(array)
        for scalar in kernel.scalars:
            self.add_scalar(scalar)
        self.depth = 0

    def add_array(self, array: Array) -> None:
        """Makes a parameter known."""
        need(0 <= array.skew < 16, "an array that begins near an aligned address")
        self.arrays[array.name] = array
        zero = from_known(np.zeros((1,), np.int64))
        self.env[array.name] = Value(Type(array.element, (), True), Pointers(array.name, zero))
        self.lengths.setdefault(array.name, 1)

    def add_scalar(self, scalar: Scalar) -> None:
        """Makes a parameter known."""
        self.env[scalar.name] = self._number(scalar.element, scalar.value)

    def _number(self, element: Element, value: float) -> Value:
        if element.is_float:
            return Value(Type(element), constant(float(value), element))
        # The launch takes a number's type from its value.
        fits = INT32 if INT32.low <= value <= INT32.high else INT64
        need(element == fits and INT64.low <= value <= INT64.high, "a number of another type")
        return Value(Type(element), from_known(np.full((1,), value, np.int64)))

    def snapshot(self) -> Snapshot:
        """What `restore` needs to forget the statements checked from now on."""
        written = {n: replace(w, offsets=list(w.offsets)) for n, w in self.written.items()}
        return dict(self.env), dict(self.lengths), written, self.depth

    def restore(self, snapshot: Snapshot) -> None:
        """Goes back to where `snapshot` was made; that can be done once."""
        self.env, self.lengths, self.written, self.depth = snapshot

    def run(self) -> Analysis:
        """Checks the whole body."""
        self.block(self.kernel.body)
        for name in self.written:
            self.check_offsets(name)
        need(bool(self.written), "nothing is stored")
        return self

    def block(self, body: tuple[Stmt, ...]) -> None:
        """Checks statements in order."""
        for statement in body:
            self.statement(statement)

    def statement(self, statement: Stmt) -> None:
        """Checks one statement; its names are known from then on."""
        if isinstance(statement, Assign):
            value = self.value(statement.value)
            old = self.env.get(statement.name)
            if self.depth and isinstance(old, Value):
                need(old.type == value.type, f"{statement.name} changes its type")
                need(value.partial is None, f"{statement.name} is undefined in part")
            self.env[statement.name] = value
        elif isinstance(statement, Unpack):
            pair = self.evaluate(statement.value)
            need(isinstance(pair, tuple), "one value for two names")
            need(not any(name in self.env for name in statement.names) or not self.depth, "names taken")
            self.env.update(zip(statement.names, pair, strict=True))
        elif isinstance(statement, Store):
            self.store(statement)
        elif isinstance(statement, Atomic):
            self.atomic(statement)
        elif isinstance(statement, If):
            self._if(statement)
        elif isinstance(statement, Return):
            # What follows is checked as if every program went on: a bound that holds for all holds for those that do.
            need(self.depth <= 1, "a return in a branch of the kernel itself")
        else:
            self._loop(statement)

    def value(self, expression: Expr) -> Value:
        """The value of an expression that gives one."""
        found = self.evaluate(expression)
        need(isinstance(found, Value), "two values for one name")
        return found

    def evaluate(self, expression: Expr) -> Any:
        """The value of an expression, or a pair of values."""
        if isinstance(expression, Name):
            need(expression.name in self.env, f"{expression.name} is not defined here")
            return self.env[expression.name]
        if isinstance(expression, Literal):
            value = expression.value
            if isinstance(value, bool):
                return Value(Type(BOOL), from_known(np.array([int(value)], np.int64)))
            need(isinstance(value, int) and INT32.low <= value <= INT32.high, "a number without a type")
            return Value(Type(INT32), from_known(np.array([value], np.int64)))
        if expression.op in ("program_id", "num_programs"):
            return self._program(expression)
        if expression.op == "addptr":
            return self.addptr(expression)
        if expression.op == "load":
            return self.load(expression)
        if expression.op.startswith("call:"):
            return self._call(expression)
        operation = OPERATIONS.get(expression.op)
        if operation is None:
            raise Unsound(f"no operation {expression.op}")
        if operation.weak:
            values = self._with_weak(expression)
        else:
            values = [self.value(a) for a in expression.args]
        partial = _common_partial([v.partial for v in values])
        found = operation.infer(values, *expression.attrs)
        for one in found if isinstance(found, tuple) else (found,):
            need(one.type.size <= MOST_ELEMENTS, "a tile too large")
        if partial is not None:
            if expression.op not in ELEMENT_BY_ELEMENT or not isinstance(found, Value):
                raise Unsound("a use of undefined elements")
            return replace(found, partial=partial)
        return found

    def _with_weak(self, expression: Apply) -> list[Value]:
        """The operands; a number takes the type of the other one."""
        typed = [None if isinstance(a, Literal) else self.value(a) for a in expression.args]
        element = next((v.element for v in typed if v is not None), None)
        if element is None:
            raise Unsound("numbers only")
        return [
            self.literal(a, element) if v is None and isinstance(a, Literal) else self.value(a) if v is None else v
            for a, v in zip(expression.args, typed, strict=True)
        ]

    def literal(self, literal: Literal, element: Element) -> Value:
        value = literal.value
        if element.is_float:
            return Value(Type(element), constant(float(value), element))
        need(not isinstance(value, float) and element.low <= value <= element.high, "a number that does not fit")
        need(isinstance(value, bool) == element.is_bool, "a number and booleans")
        if not INT64.low <= value <= INT64.high:
            return Value(Type(element), Ints(int(value), int(value)))
        return Value(Type(element), from_known(np.array([int(value)], np.int64)))

    def _program(self, expression: Apply) -> Value:
        (axis,) = expression.attrs
        assert isinstance(axis, int)
        grid = (*self.kernel.grid, 1, 1)[:3]
        if expression.op == "num_programs":
            return Value(Type(INT32), from_known(np.array([grid[axis]], np.int64)))
        below = int(np.prod(grid[:axis]))
        numbers = np.arange(self.kernel.programs, dtype=np.int64) // below % grid[axis]
        return Value(Type(INT32), from_known(numbers))

    def _call(self, expression: Apply) -> Value:
        helper = self.helpers.get(expression.op.removeprefix("call:"))
        need(helper is not None and len(helper.parameters) == len(expression.args), "a call of a function")
        assert helper is not None
        inner = {name: self.value(a) for name, a in zip(helper.parameters, expression.args, strict=True)}
        need(all(v.partial is None for v in inner.values()), "a call with undefined elements")
        need(not helper.noinline or all(v.shape == () for v in inner.values()), "a call with numbers only")
        outside, self.env = self.env, inner
        depth, self.depth = self.depth, 0
        try:
            self.block(helper.body)
            return self.value(helper.result)
        finally:
            self.env, self.depth = outside, depth

    def _if(self, statement: If) -> None:
        condition = self.value(statement.condition)
        need(condition.type == Type(BOOL), "a scalar condition")
        before = dict(self.env)
        self.depth += 1
        self.block(statement.then)
        after_then, self.env = self.env, dict(before)
        self.block(statement.otherwise)
        self.depth -= 1
        active = None if condition.fact.known is None else condition.fact.known != 0
        self.env = self._merged(after_then, self.env, before, active)

    def _merged(self, new: Env, old: Env, outside: Env, active: np.ndarray | None) -> Env:
        """The names of `outside`, with what holds of them after `new` or `old`."""
        found: Env = {}
        for name in outside:
            a, b = new[name], old[name]
            if a is b:
                found[name] = a
                continue
            need(a.type == b.type, f"{name} has two types")
            need(a.partial is None and b.partial is None, f"{name} is undefined in part")
            found[name] = Value(a.type, merged(a.fact, b.fact, active))
        return found

    def _loop(self, statement: For | While) -> None:
        start, stop = self.value(statement.start), self.value(statement.stop)
        need(start.type == stop.type == Type(INT32) and statement.step > 0, "bounds of int32")
        if isinstance(statement, For) and statement.kind == "tl.static_range":
            need(isinstance(statement.start, Literal) and isinstance(statement.stop, Literal), "constant bounds")
        need(statement.variable not in self.env, "a loop variable of its own")
        trips = -(-(stop.fact.high - start.fact.low) // statement.step)
        need(trips <= MOST_TRIPS and stop.fact.high < 1 << 30, "a loop too long")
        outside = dict(self.env)
        self.depth += 1
        for trip in range(max(trips, 0)):
            before = dict(self.env)
            counter = self._counter(start, trip * statement.step)
            self.env[statement.variable] = counter
            self.block(statement.body)
            need(self.env[statement.variable] is counter, "the loop's own variable")
            self.env = self._merged(self.env, before, outside, _less(counter.fact, stop.fact))
        self.depth -= 1
        # A body that never runs is checked by its types at least.
        if trips <= 0:
            self.env[statement.variable] = start
            self.block(statement.body)
        self.env = {name: self.env[name] for name in outside} if trips > 0 else outside

    @staticmethod
    def _counter(start: Value, added: int) -> Value:
        fact = start.fact
        known = None if fact.known is None else fact.known + added
        return replace(start, fact=Ints(fact.low + added, fact.high + added, known))


def _common_partial(partials: list[Partial | None]) -> Partial | None:
    """Where the result of an operation on values with these masks is undefined."""
    found = [p for p in partials if p is not None]
    need(all(p == found[0] for p in found), "elements undefined in several ways")
    return found[0] if found else None


def _less(a: Ints, b: Ints) -> np.ndarray | None:
    """Where `a < b`, by program; None where that is not known."""
    if a.known is None or b.known is None:
        return None
    x, y = np.broadcast_arrays(a.known, b.known)
    return x < y


def analyse(kernel: Kernel) -> Analysis:
    """Checks `kernel`. Raises `Unsound`."""
    return Analysis(kernel).run()
