"""The reference: a kernel's text run as Python, its `tl` the few functions below.

In: a `Program`. Out: its arrays after the run. Independent of the frontend, every pass, the interpreter and the emulator; what the language
leaves open raises `Rejected`: an access out of bounds, a false `tl.assume`, a division by zero, lanes that store different numbers
to one element, a loop longer than `MOST_ITERATIONS`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from minitriton.fuzz.control_flow.builder import Program, source_of
from minitriton.fuzz.control_flow.values import (
    Numbers,
    Operand,
    Rejected,
    Value,
    dot_type,
    extreme_type,
    loaded,
    made,
    need,
    need_exact,
    pair,
    scalar,
    stored,
    sum_type,
)
from minitriton.fuzz.generation.elements import ELEMENTS, INT32, INT64, Element, promoted
from minitriton.fuzz.printing import KERNEL

MOST_ITERATIONS = 80
"""Of all loops of a program together."""


def run_reference(program: Program) -> list[np.ndarray]:
    """The arrays after `program` has run. Raises `Rejected` for a kernel that has no one meaning, or that is no program."""
    memory = [buffer.contents(program.seed) for buffer in program.buffers]
    for number in builtins.range(program.programs):
        language = _Language(number, program.programs)
        namespace: dict[str, Any] = {
            "triton": SimpleNamespace(jit=_as_it_is),
            "tl": language,
            "range": language.range,
        }
        pointers = [
            _Pointer(buffer.element, data, np.zeros((), np.int64))
            for buffer, data in zip(program.buffers, memory, strict=True)
        ]
        numbers = [int(s.value) if s.name in program.constants else scalar(s.element, s.value) for s in program.scalars]
        try:
            with np.errstate(over="ignore"):
                exec(source_of(program).replace("while ", "while tl.count() and "), namespace)
                namespace[KERNEL](*pointers, *numbers)
        except (NameError, AttributeError, TypeError, ValueError, IndexError) as error:
            raise Rejected(f"no program: {error}") from None
    return memory


@dataclass(frozen=True)
class _Pointer:
    """A pointer or a tile of them: an array and the index of an element."""

    element: Element
    memory: np.ndarray
    index: Numbers

    def __add__(self, offset: Operand) -> _Pointer:
        data = np.asarray(offset.data if isinstance(offset, Value) else offset)
        return _Pointer(self.element, self.memory, self.index + data.astype(np.int64))

    def reached(self, mask: Operand | None) -> tuple[Numbers, Numbers]:
        """Which lanes take part, and their indices, which must be within the array."""
        lanes = True if mask is None else mask.data if isinstance(mask, Value) else np.bool_(mask)
        on, index = np.broadcast_arrays(lanes, self.index)
        chosen = index[on]
        need(bool(((chosen >= 0) & (chosen < len(self.memory))).all()), "an access out of bounds")
        return on, index


@dataclass(frozen=True)
class _Descriptor:
    """A tensor of `sizes` and `strides` in memory, read and written block by block."""

    language: _Language
    base: _Pointer
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    block: tuple[int, ...]

    def _reached(self, offsets: list[Operand]) -> tuple[_Pointer, Value]:
        """Pointers to a block's elements, and which of them the tensor has."""
        need(int(offsets[-1]) * self.base.memory.itemsize % 16 == 0, "a first column inside a chunk of 16 bytes")
        inside, index = np.ones(self.block, np.bool_), np.zeros(self.block, np.int64)
        for axis, (offset, size, stride) in enumerate(zip(offsets, self.sizes, self.strides, strict=True)):
            need(-(1 << 31) <= int(offset) + self.block[axis] < 1 << 31, "an offset out of range")
            number = np.arange(self.block[axis]).reshape(
                [-1 if axis == a else 1 for a in builtins.range(len(self.block))]
            )
            inside = inside & (int(offset) + number >= 0) & (int(offset) + number < size)
            index = index + (int(offset) + number) * stride
        return self.base + Value(INT64, index), Value(ELEMENTS["int1"], inside)

    def _reached_to_write(self, offsets: list[Operand]) -> tuple[_Pointer, Value]:
        need(all(int(offset) >= 0 for offset in offsets), "a store that begins before the tensor")
        need(self.sizes[-1] * self.base.memory.itemsize % 16 == 0, "a row that ends inside a chunk of 16 bytes")
        return self._reached(offsets)

    def load(self, offsets: list[Operand]) -> Value:
        pointer, inside = self._reached(offsets)
        return self.language.load(pointer, inside, 0)

    def store(self, offsets: list[Operand], value: Value) -> None:
        pointer, inside = self._reached_to_write(offsets)
        elements = {(id(pointer.memory), int(index)) for index in pointer.index[inside.data]}
        need(not elements & self.language.copied, "two tensor copies to one element")
        self.language.copied |= elements
        self.language.store(pointer, value, inside)

    def atomic_add(self, offsets: list[Operand], value: Value) -> None:
        pointer, inside = self._reached_to_write(offsets)
        self.language.atomic_add(pointer, value, inside)


class _Language:
    """What a kernel finds in `tl`."""

    def __init__(self, number: int, programs: int) -> None:
        self.number, self.programs, self.iterations = number, programs, 0
        self.copied: set[tuple[int, int]] = set()
        """Elements that a tensor copy has stored to, by their memory and index."""
        for name, element in ELEMENTS.items():
            setattr(self, name, element)

    def program_id(self, axis: int) -> Value:
        return scalar(INT32, self.number)

    def range(self, start: Operand, stop: Operand | None = None, step: Operand = 1, **hints: object) -> Iterator[Value]:
        """Python's range, of values in the type of the bounds; the number after the last must have that type too."""
        first, last = (0, start) if stop is None else (start, stop)
        element = promoted(promoted(_type(first), _type(last)), _type(step))
        low, high, by = int(first), int(last), int(step)
        need(by > 0 or (by < 0 and not isinstance(step, Value)), "a step at run time that is not positive")
        need(all(element.low <= n <= element.high for n in (low, high)), "a bound that changes in the loop's type")
        counts = builtins.range(low, high, by)
        need(not counts or element.low <= counts[-1] + by <= element.high, "a range that leaves its type")
        for number in counts:
            self.count()
            yield scalar(element, number)

    def static_range(self, start: int, stop: int | None = None, step: int = 1) -> Iterator[int]:
        yield from builtins.range(start, stop, step) if stop is not None else builtins.range(start)

    def count(self) -> bool:
        """Counts an iteration of any loop, of a `while` loop in its condition."""
        self.iterations += 1
        need(self.iterations <= MOST_ITERATIONS, "a long loop")
        return True

    def arange(self, start: int, stop: int) -> Value:
        return made(INT32, np.arange(start, stop))

    def full(self, shape: tuple[int, ...], value: Operand, element: Element) -> Value:
        number = value.to(element) if isinstance(value, Value) else scalar(element, value)
        return Value(element, np.broadcast_to(number.data, shape))

    def make_tensor_descriptor(
        self, base: _Pointer, shape: list[Operand], strides: list[int], block: list[int]
    ) -> _Descriptor:
        return _Descriptor(self, base, tuple(map(int, shape)), tuple(strides), tuple(block))

    def reshape(self, value: Value, shape: tuple[int, ...]) -> Value:
        return Value(value.element, value.data.reshape(shape))

    def zeros(self, shape: tuple[int, ...], element: Element) -> Value:
        return self.full(shape, 0, element)

    def broadcast_to(self, value: Value, shape: tuple[int, ...]) -> Value:
        return Value(value.element, np.broadcast_to(value.data, shape))

    def trans(self, value: Value) -> Value:
        return Value(value.element, value.data.T)

    def load(self, pointer: _Pointer, mask: Operand | None = None, other: Operand | None = None) -> Value:
        on, index = pointer.reached(mask)
        need(other is not None or bool(on.all()), "elements that nothing loads")
        found = pointer.memory[np.where(on, index, 0)]
        value = loaded(pointer.element, found)
        return value if other is None else self.where(Value(ELEMENTS["int1"], on), value, other)

    def store(self, pointer: _Pointer, value: Operand, mask: Operand | None = None) -> None:
        on, index = pointer.reached(mask)
        number = value if isinstance(value, Value) else scalar(pointer.element, value)
        data = np.broadcast_to(stored(number, pointer.element), index.shape)
        pointer.memory[index[on]] = data[on]
        need(bool((pointer.memory[index[on]] == data[on]).all()), "two numbers for one element")

    def atomic_add(self, pointer: _Pointer, value: Operand, mask: Operand | None = None) -> Value:
        on, index = pointer.reached(mask)
        need(len(np.unique(index[on])) == np.count_nonzero(on), "an atomic whose result depends on the order")
        old = loaded(pointer.element, pointer.memory[np.where(on, index, 0)])
        data = np.broadcast_to(stored(old + value, pointer.element), index.shape)
        pointer.memory[index[on]] = data[on]
        return old

    def where(self, condition: Value, a: Operand, b: Operand) -> Value:
        x, y = pair(a, b)
        return Value(x.element, np.where(condition.data, x.data, y.data))

    def minimum(self, a: Operand, b: Operand) -> Value:
        x, y = pair(a, b)
        return Value(extreme_type(x.element), np.minimum(x.data, y.data))

    def maximum(self, a: Operand, b: Operand) -> Value:
        x, y = pair(a, b)
        return Value(extreme_type(x.element), np.maximum(x.data, y.data))

    def cdiv(self, a: Value, b: int) -> Value:
        return (a + (b - 1)) // b

    def sum(self, value: Value, axis: int) -> Value:
        return self.reduce(value.to(sum_type(value.element)), axis, _added)

    def max(self, value: Value, axis: int) -> Value:
        return self.reduce(value, axis, self.maximum)

    def min(self, value: Value, axis: int) -> Value:
        return self.reduce(value, axis, self.minimum)

    def reduce(self, value: Value | tuple[Value, ...], axis: int, combine: Callable[..., Any]) -> Any:
        """One element after the other. The sizes of all elements may be added up exactly, so that any other order gives the same."""
        many = value if isinstance(value, tuple) else (value,)
        for each in many:
            if each.element.is_float:
                need_exact(each.element, np.abs(each.data).sum(axis))
        length = many[0].data.shape[axis]
        slices = [[Value(v.element, v.data.take(i, axis)) for v in many] for i in builtins.range(length)]
        found = slices[0]
        for following in slices[1:]:
            result: Value | tuple[Value, ...] = combine(*found, *following)
            found = list(result) if isinstance(result, tuple) else [result]
        return tuple(found) if isinstance(value, tuple) else found[0]

    def dot(self, a: Value, b: Value, acc: Value | None = None, input_precision: str = "tf32") -> Value:
        need(a.element == b.element, "a dot of two types")
        if a.element.name == "float32" and input_precision == "tf32":
            need(bool((np.abs(a.data) <= 1 << 11).all() and (np.abs(b.data) <= 1 << 11).all()), "more than tf32 holds")
        kind = dot_type(a.element) if acc is None else acc.element
        wide = np.int64 if a.element.is_int else np.float64
        x, y = a.data.astype(wide), b.data.astype(wide)
        start = np.zeros((), wide) if acc is None else acc.data
        if kind.is_float:
            need_exact(kind, np.abs(x) @ np.abs(y) + np.abs(start))
        return made(kind, x @ y + start)

    def assume(self, condition: Value) -> None:
        need(bool(condition), "a false assumption")

    def debug_barrier(self) -> None:
        """Programs run alone here."""


def _as_it_is(function: Callable[..., object]) -> Callable[..., object]:
    """What `triton.jit` makes of a function."""
    return function


def _added(a: Value, b: Value) -> Value:
    return a + b


def _type(number: Operand) -> Element:
    if isinstance(number, Value):
        return number.element
    return INT32 if INT32.low <= number <= INT32.high else INT64
