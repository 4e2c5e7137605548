"""What the analysis says of memory: addresses, loads, stores and atomics.

Raises `Unsound` for an access out of bounds, two stores to one address, a use of elements that a mask leaves undefined.
"""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from minitriton.fuzz.generation.elements import Element
from minitriton.fuzz.generation.fills import fact_of
from minitriton.fuzz.tree import Apply, Array, Atomic, Expr, Kernel, Literal, Store, names_in
from minitriton.fuzz.validity.facts import (
    Floats,
    Ints,
    Partial,
    Pointers,
    Type,
    Value,
    broadcast_shapes,
    from_known,
    joined,
    lifted,
    need,
    without_known,
)

MOST_TRIPS = 8
MOST_LENGTH = 1 << 17
"""Elements of an array."""

Env = dict[str, Any]


Snapshot: TypeAlias = "tuple[Env, dict[str, int], dict[str, Written], int]"
"""What is known at some point of a kernel: of names, lengths and stores, and how deep in loops and branches it is."""


@dataclass
class Written:
    """What is stored to an array: where, and how exactly the oracles agree on it."""

    offsets: list[np.ndarray] = field(default_factory=list[np.ndarray])
    error: float = 0.0
    either_zero: bool = False
    atomic: str | None = None


class AccessAnalysis:
    """The part of `Analysis` that checks accesses; the rest of it says what expressions are."""

    kernel: Kernel
    arrays: dict[str, Array]
    lengths: dict[str, int]
    written: dict[str, Written]
    env: Env

    def value(self, expression: Expr) -> Value:
        """The value of an expression that gives one."""
        raise NotImplementedError

    def literal(self, literal: Literal, element: Element) -> Value:
        """A number in the type of the other operand."""
        raise NotImplementedError

    def addptr(self, expression: Apply) -> Value:
        """A pointer moved by an offset."""
        base, offset = (self.value(a) for a in expression.args)
        need(base.type.pointer and offset.element.is_int and not offset.type.pointer, "a pointer and an integer")
        need(base.partial is None and offset.partial is None, "an address that is undefined in part")
        shape = broadcast_shapes(base.shape, offset.shape)
        a, b = base.fact.offsets, offset.fact
        known = None
        if a.known is not None and b.known is not None:
            left, right = lifted(a.known, len(shape)), lifted(b.known, len(shape))
            assert left is not None and right is not None
            known = left + right
        need(abs(a.low + b.low) < 1 << 40 and abs(a.high + b.high) < 1 << 40, "an address far away")
        offsets = from_known(known) if known is not None else Ints(a.low + b.low, a.high + b.high)
        return Value(Type(base.element, shape, True), Pointers(base.fact.array, offsets))

    def _accessed(self, pointer: Value, mask: Value | None) -> np.ndarray | None:
        """Checks an access: all of it in bounds. The addresses it touches, where they are known."""
        need(pointer.type.pointer, "an access by a pointer")
        fact: Ints = pointer.fact.offsets
        low, high, offsets = fact.low, fact.high, fact.known
        if offsets is not None:
            offsets = np.broadcast_to(offsets, (self.kernel.programs, *pointer.shape))
        if mask is not None:
            need(
                mask.element.is_bool and broadcast_shapes(mask.shape, pointer.shape) == pointer.shape,
                "a mask that fits",
            )
            if offsets is not None and mask.fact.known is not None:
                chosen = lifted(mask.fact.known, len(pointer.shape))
                assert chosen is not None
                offsets = offsets[np.broadcast_to(chosen != 0, offsets.shape)]
                low, high = (int(offsets.min()), int(offsets.max())) if offsets.size else (0, 0)
        need(low >= 0 and high < MOST_LENGTH, "an access out of bounds")
        name = pointer.fact.array
        self.lengths[name] = max(self.lengths[name], high + 1)
        return offsets

    def load(self, expression: Apply) -> Value:
        """What a load gives."""
        pointer = self.value(expression.args[0])
        array = self.arrays[pointer.fact.array] if pointer.type.pointer else None
        need(array is not None and not array.written, "a load from an array that is not written")
        assert array is not None
        mask = self.value(expression.args[1]) if len(expression.args) > 1 else None
        need(mask is None or mask.partial is None, "a mask that is undefined in part")
        self._accessed(pointer, mask)
        fact = fact_of(array)
        partial = self._mask_identity(expression.args[1]) if len(expression.args) == 2 else None
        if len(expression.args) == 3:
            other = expression.args[2]
            value = self.literal(other, array.element) if isinstance(other, Literal) else self.value(other)
            need(value.element == array.element and not value.type.pointer, "other of the element type")
            need(value.partial is None, "other that is undefined in part")
            need(broadcast_shapes(value.shape, pointer.shape) == pointer.shape, "other of the shape")
            fact = joined(fact, without_known(value.fact))
        return Value(Type(array.element, pointer.shape), fact, partial)

    def _mask_identity(self, mask: Expr) -> Partial:
        """A mask as it is now: the expression, and what its names stand for."""
        return (mask, *(self.env[name] for name in names_in(mask)))

    def _target(self, statement: Store | Atomic) -> tuple[Value, Value, np.ndarray | None, Written]:
        pointer, value = self.value(statement.pointer), self.value(statement.value)
        mask = None if statement.mask is None else self.value(statement.mask)
        need(
            pointer.type.pointer and not value.type.pointer and value.element == pointer.element, "a store of its type"
        )
        array = self.arrays[pointer.fact.array]
        need(array.written and broadcast_shapes(value.shape, pointer.shape) == pointer.shape, "a store that fits")
        offsets = self._accessed(pointer, mask)
        if value.partial is not None:
            need(isinstance(statement, Store) and statement.mask is not None, "a store of undefined elements")
            assert statement.mask is not None
            need(value.partial == self._mask_identity(statement.mask), "a store of undefined elements")
        need(mask is None or mask.partial is None, "a mask that is undefined in part")
        return pointer, value, offsets, self.written.setdefault(array.name, Written())

    def store(self, statement: Store) -> None:
        """Checks a store."""
        _, value, offsets, written = self._target(statement)
        need(written.atomic is None, "a store in addition to atomics")
        need(offsets is not None, "a store to places that data decides")
        assert offsets is not None
        written.offsets.append(offsets.reshape(-1))
        if isinstance(value.fact, Floats):
            written.error = max(written.error, value.fact.error)
            written.either_zero |= value.fact.either_zero

    def check_offsets(self, name: str) -> None:
        """No element of an array is stored to twice: the order of programs, and of the threads of one, is open."""
        written = self.written[name]
        if written.atomic is None and written.offsets:
            offsets = np.concatenate(written.offsets)
            need(len(np.unique(offsets)) == len(offsets), "two stores to one address")

    def atomic(self, statement: Atomic) -> None:
        """Checks an atomic update: its result must not depend on the order."""
        pointer, value, _, written = self._target(statement)
        element, op = pointer.element, statement.op
        need(not written.offsets and written.atomic in (None, op), "one kind of access to an array of atomics")
        written.atomic = op
        if element.is_float:
            need(op == "add" and element.name in ("float32", "float16"), "an atomic addition of floats")
            fact = value.fact
            need(
                fact.grid is not None and fact.error == 0 and not fact.special and fact.grid <= 4,
                "an exact atomic addition",
            )
            count = value.type.size * self.kernel.programs * MOST_TRIPS
            need((fact.size * count + 64) * 16 <= 2**element.mantissa, "an exact atomic addition")
            written.either_zero = True
        else:
            need(element.bits in (32, 64) and element.is_int, "an atomic of 32 or 64 bits")
