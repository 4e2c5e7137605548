"""What a thread holds of a tensor.

A tensor of the TTGIR level is, in one thread, `n` registers. While lowering it is one of

- an LLVM scalar: all registers are equal (splats, and tensors of one register);
- an LLVM vector of `n` lanes: data, such as what a load returns;
- an `Expression`: registers that are computed where they are needed. Index arithmetic is like that: of the 64 offsets and
  masks of a tile, a load of 4 elements at a time asks for 16.

    tt.make_range               Range(base = (tid & 127) << 2, offsets = (0, 1, 2, 3, 512, ...))
    tt.addptr (splat, range)    Pointwise(getelementptr, (pointer, range))
    tt.broadcast                RegisterView(source, (0, 0, 0, 0, 1, 1, 1, 1, ...))
    a loop-carried pointer      Elements(one block argument per register)

`element(b, value, i)` gives one register as a scalar, `vector(b, value, n)` all of them as a vector.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeGuard

from xdsl.dialects.builtin import LocationAttr, VectorType
from xdsl.ir import Attribute, Block, SSAValue

from minitriton.codegen.builder import Builder
from minitriton.codegen.types import I32


class Expression(ABC):
    """Registers computed on demand; what was computed in a block is not computed again in it."""

    __slots__ = ("_block", "_elements", "_vector", "count", "element_type")

    def __init__(self, count: int, element_type: Attribute):
        self.count = count
        self.element_type = element_type
        self._block: Block | None = None
        self._elements: dict[int, SSAValue] = {}
        self._vector: SSAValue | None = None

    def _enter(self, block: Block) -> None:
        if block is not self._block:
            self._block = block
            self._elements = {}
            self._vector = None

    def element(self, b: Builder, index: int) -> SSAValue:
        """Register `index` as a scalar."""
        self._enter(b.block)
        found = self._elements.get(index)
        if found is None:
            found = self._make_element(b, index)
            self._enter(b.block)
            self._elements[index] = found
        return found

    def vector(self, b: Builder) -> SSAValue:
        """All registers as a vector (a scalar if there is one)."""
        if self.count == 1:
            return self.element(b, 0)
        self._enter(b.block)
        if self._vector is None:
            known = self._elements
            complete = len(known) == self.count
            self._vector = b.pack([known[i] for i in range(self.count)]) if complete else self._make_vector(b)
        return self._vector

    @abstractmethod
    def _make_element(self, b: Builder, index: int) -> SSAValue: ...

    @abstractmethod
    def _make_vector(self, b: Builder) -> SSAValue: ...


Registers = SSAValue | Expression


def element(b: Builder, registers: Registers, index: int) -> SSAValue:
    """One register as a scalar."""
    if isinstance(registers, Expression):
        return registers.element(b, index)
    return b.extract(registers, index)


def elements(b: Builder, registers: Registers, count: int) -> list[SSAValue]:
    """The first `count` registers as scalars."""
    return [element(b, registers, i) for i in range(count)]


def vector(b: Builder, registers: Registers, count: int) -> SSAValue:
    """`count` registers as one vector."""
    if isinstance(registers, Expression):
        return registers.vector(b)
    return registers if isinstance(registers.type, VectorType) else b.splat(registers, count)


def is_splat(registers: Registers) -> TypeGuard[SSAValue]:
    """Whether all registers are one scalar."""
    return isinstance(registers, SSAValue) and not isinstance(registers.type, VectorType)


def is_vector(registers: Registers) -> TypeGuard[SSAValue]:
    """Whether the registers already are an LLVM vector."""
    return isinstance(registers, SSAValue) and registers.type.__class__ is VectorType


class Range(Expression):
    """`base + offsets[i]`, an integer. Bits of `clear` are 0 in `base`: an offset within them carries into nothing.

    Registers stand at `location`, where the range was moved; those of a range that was not, at what asks for them.
    """

    __slots__ = ("_sums", "base", "clear", "location", "offsets")

    def __init__(self, base: SSAValue, offsets: Sequence[int], clear: int, location: LocationAttr | None = None):
        super().__init__(len(offsets), base.type)
        self.base = base
        self.location = location
        self.offsets = tuple(offsets)
        self.clear = clear
        self._sums: dict[int, SSAValue] = {}

    def plus(self, b: Builder, scalar: SSAValue, divisibility: int) -> Range:
        """The range moved by a scalar that is a multiple of `divisibility`."""
        return Range(b.add(scalar, self.base), self.offsets, self.clear & (divisibility - 1), b.location)

    def moved(self, b: Builder, offset: SSAValue) -> SSAValue:
        """The number at one of the offsets, whichever."""
        carries = any(each & ~self.clear for each in self.offsets)
        return b.add(self.base, offset) if carries else b.or_disjoint(self.base, offset)

    def _enter(self, block: Block) -> None:
        if block is not self._block:
            self._sums = {}
        super()._enter(block)

    def _make_element(self, b: Builder, index: int) -> SSAValue:
        offset = self.offsets[index]
        if offset == 0:
            return self.base
        found = self._sums.get(offset)
        if found is None:
            previous, b.location = b.location, self.location or b.location
            constant = b.constant(self.element_type, offset)
            found = b.add(self.base, constant) if offset & ~self.clear else b.or_disjoint(self.base, constant)
            b.location = previous
            self._sums[offset] = found
        return found

    def _make_vector(self, b: Builder) -> SSAValue:
        base = b.splat(self.base, self.count)
        offsets = b.constants(self.element_type, self.offsets)
        if any(offset & ~self.clear for offset in self.offsets):
            return b.add(base, offsets)
        return b.or_disjoint(base, offsets)


class Pointwise(Expression):
    """A pure op applied register by register; `emit` makes it for scalars and for vectors alike.

    `otherwise` gives other operands with the same result, if there are any.
    """

    __slots__ = ("emit", "location", "operands", "otherwise")

    def __init__(
        self,
        emit: Callable[[Builder, Sequence[SSAValue]], SSAValue],
        operands: Sequence[Registers],
        count: int,
        element_type: Attribute,
        location: LocationAttr,
        otherwise: Callable[[], Sequence[Registers]] | None = None,
    ):
        super().__init__(count, element_type)
        self.emit = emit
        self.operands = operands
        self.location = location
        self.otherwise = otherwise

    def _make_element(self, b: Builder, index: int) -> SSAValue:
        operands = [element(b, operand, index) for operand in self.operands]
        previous, b.location = b.location, self.location
        result = self.emit(b, operands)
        b.location = previous
        return result

    def _make_vector(self, b: Builder) -> SSAValue:
        operands = [vector(b, operand, self.count) for operand in self.operands]
        previous, b.location = b.location, self.location
        result = self.emit(b, operands)
        b.location = previous
        return result


class Constants(Expression):
    """Integers that are known."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: Sequence[int], element_type: Attribute):
        super().__init__(len(numbers), element_type)
        self.numbers = tuple(numbers)

    def _make_element(self, b: Builder, index: int) -> SSAValue:
        return b.constant(self.element_type, self.numbers[index])

    def _make_vector(self, b: Builder) -> SSAValue:
        return b.constants(self.element_type, self.numbers)


class RegisterView(Expression):
    """Other registers in another order: register `i` is register `indices[i]` of `source`."""

    __slots__ = ("indices", "source")

    def __init__(self, source: Registers, indices: Sequence[int], element_type: Attribute):
        super().__init__(len(indices), element_type)
        self.source = source
        self.indices = indices

    def _make_element(self, b: Builder, index: int) -> SSAValue:
        return element(b, self.source, self.indices[index])

    def _make_vector(self, b: Builder) -> SSAValue:
        source = self.source
        return b.permute(source.vector(b) if isinstance(source, Expression) else source, self.indices)


class Elements(Expression):
    """One scalar per register."""

    __slots__ = ("values",)

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(len(values), values[0].type)
        self.values = values

    def _make_element(self, b: Builder, index: int) -> SSAValue:
        return self.values[index]

    def _make_vector(self, b: Builder) -> SSAValue:
        return b.pack(self.values)


def permuted(registers: Registers, indices: Sequence[int], element_type: Attribute) -> Registers:
    """The registers in another order; nothing is emitted for index arithmetic and splats."""
    if is_splat(registers):
        return registers
    if isinstance(registers, RegisterView):
        indices = [registers.indices[i] for i in indices]
        registers = registers.source
    if isinstance(registers, Range):
        return Range(registers.base, [registers.offsets[i] for i in indices], registers.clear, registers.location)
    if isinstance(registers, Constants):
        return Constants([registers.numbers[i] for i in indices], element_type)
    return RegisterView(registers, indices, element_type)


def range_of(base: SSAValue | None, offsets: Sequence[int], b: Builder, used_bits: int) -> Registers:
    """`base ^ offsets[i]`, where `base` has only bits of `used_bits`, as registers."""
    if base is None:
        if all(offset == offsets[0] for offset in offsets):
            return b.constant(I32, offsets[0])
        base = b.constant(I32, 0)
    elif all(offset == 0 for offset in offsets):
        return base
    return Range(base, offsets, ~used_bits & 0xFFFFFFFF)


def computed_again(b: Builder, registers: Registers) -> Registers:
    """Registers that an instruction each makes of one scalar, of a copy of that: they are not kept from where they were computed before."""
    if isinstance(registers, RegisterView):
        again = computed_again(b, registers.source)
        return (
            registers if again is registers.source else RegisterView(again, registers.indices, registers.element_type)
        )
    if not isinstance(registers, Pointwise) or not any(isinstance(each, Constants) for each in registers.operands):
        return registers
    copies = [_copy(b, each) if is_splat(each) else each for each in registers.operands]
    return Pointwise(registers.emit, copies, registers.count, registers.element_type, registers.location)


def computed_otherwise(registers: Registers) -> Registers:
    """The same registers, of other operands where there are any: assemblers take them for different ones, and keep neither for the other's uses."""
    if isinstance(registers, RegisterView):
        other = computed_otherwise(registers.source)
        return registers if other is registers.source else permuted(other, registers.indices, registers.element_type)
    if not isinstance(registers, Pointwise):
        return registers
    found = registers.otherwise() if registers.otherwise is not None else [*map(computed_otherwise, registers.operands)]
    if all(other is each for other, each in zip(found, registers.operands, strict=True)):
        return registers
    return Pointwise(registers.emit, found, registers.count, registers.element_type, registers.location)


def _copy(b: Builder, number: SSAValue) -> SSAValue:
    copy = b.inline_asm("mov.b32 $0, $1;", "=r,r", [number], number.type)
    assert copy is not None
    return copy


# What a memory descriptor is while lowering: where its buffer begins and which part of it the view shows.
#
# %v = ttg.memdesc_subslice %b [0, 32]     SharedView(base of %b, offsets = (0, 32))


class SharedView(NamedTuple):
    """A view of shared memory: `base` is the address of the buffer, `offsets` the view's first coordinates in it."""

    base: SSAValue
    offsets: tuple[int, ...]
