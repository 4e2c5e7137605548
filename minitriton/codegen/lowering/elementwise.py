"""`arith` and the like: one LLVM op on the whole register vector.

    %2 = arith.addf %0, %1 : tensor<128x64xf32, #blocked>   ->   %2 = llvm.fadd %0, %1 : vector<64xf32>

Ops on integers, booleans and pointers whose operands are no data (nothing that was loaded) are kept as expressions and made
where a register is needed; ops on splats are scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, cast

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
    UnitAttr,
)
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from minitriton.codegen import registers
from minitriton.codegen.builder import Builder, fills_registers
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.integer_division import known_division, rounded_down, rounded_up, unsigned_rounded_up
from minitriton.codegen.lowering.registry import LOWERINGS, Lowering, lowers
from minitriton.codegen.registers import Constants, Expression, Pointwise, Range, Registers, RegisterView
from minitriton.codegen.types import I8, I32, I64, bit_width, lane_type, lanes, scalar_type, vector_type
from minitriton.dialects import arith, tt, ttg
from minitriton.dialects import llvm as ours
from minitriton.dialects.arith.base import CMPI_PREDICATES
from minitriton.dialects.arith.float import FloatBinaryOp
from minitriton.dialects.attribute_values import string_attr
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt import PointerType
from minitriton.layouts.encodings import Slice
from minitriton.rewriting.constants import constant_attr, number_of

_UNIT = UnitAttr()

Emit = Callable[[Builder, Sequence[SSAValue]], SSAValue]


_type_of = cast(Callable[[Registers], Attribute], attrgetter("type"))


def width(reps: Sequence[Registers]) -> int:
    """Number of registers that these operands have in common (1 if all are scalars)."""
    count = 1
    for rep in reps:
        if rep.__class__ is not OpResult and isinstance(rep, Expression):
            return rep.count
        count = max(count, lanes(_type_of(rep)))
    return count


def apply(f: FunctionLowering, reps: Sequence[Registers], emit: Emit) -> Registers:
    """Applies a lane-by-lane op at once: to the scalars if all operands are splats, else to the vectors."""
    count = width(reps)
    scalars = [rep for rep in reps if isinstance(rep, SSAValue)]
    if count == 1 and len(scalars) == len(reps):
        return emit(f.b, scalars)
    return emit(f.b, [registers.vector(f.b, rep, count) for rep in reps])


def apply_to_registers(f: FunctionLowering, result: SSAValue, reps: Sequence[Registers], emit: Emit) -> Registers:
    """As `apply`; to each register by itself where the vectors are known by the scalars that they were made of, so that LLVM sees none."""
    vectors = [rep for rep in reps if registers.is_vector(rep)]
    if not vectors or any(f.b.scalars_of(vector) is None for vector in vectors):
        return apply(f, reps, emit)
    if not fills_registers(scalar_type(result.type)):
        return apply(f, reps, emit)
    rows = zip(*[registers.elements(f.b, rep, width(reps)) for rep in reps], strict=True)
    return f.b.pack([emit(f.b, row) for row in rows])


def apply_lazily(
    f: FunctionLowering,
    result: SSAValue,
    reps: Sequence[Registers],
    emit: Emit,
    otherwise: Callable[[], Sequence[Registers]] | None = None,
) -> Registers:
    """Applies a pure lane-by-lane op, later if no operand is data; once for all registers that are known to be equal.

    `otherwise`: other operands with the same result (`Pointwise`).
    """
    if any(registers.is_vector(rep) for rep in reps) or not any(isinstance(rep, Expression) for rep in reps):
        return apply_to_registers(f, result, reps, emit)
    element = scalar_type(result.type)
    same = f.equal_registers(result)
    if same is None:
        return Pointwise(emit, reps, width(reps), element, f.b.location, otherwise)
    distinct, indices = same

    def of_distinct(reps: Sequence[Registers]) -> list[Registers]:
        return [registers.permuted(rep, distinct, _element(rep)) for rep in reps]

    chosen = of_distinct(reps)
    if len(distinct) == 1:
        return emit(f.b, [registers.element(f.b, rep, 0) for rep in chosen])
    others = None if otherwise is None else lambda: of_distinct(otherwise())
    return RegisterView(Pointwise(emit, chosen, len(distinct), element, f.b.location, others), indices, element)


def _element(rep: Registers) -> Attribute:
    return rep.element_type if isinstance(rep, Expression) else lane_type(rep.type)


def operands_of(f: FunctionLowering, op: Operation) -> list[Registers]:
    return [f.values[operand] for operand in op.operands]


# Constants ------------------------------------------------------------------------------------------------------------


@lowers(arith.ConstantOp)
def constant(f: FunctionLowering, op: arith.ConstantOp) -> None:
    """A splat is a scalar constant; other dense constants are read register by register."""
    result = op.results[0]
    value = op.value
    element = scalar_type(result.type)
    encode = _fp8_bits(result.type)
    if instance_of(value, (IntegerAttr, FloatAttr)):
        f.values[result] = f.b.constant(element, encode(value.value.data))
        return
    assert instance_of(value, DenseIntOrFPElementsAttr)
    if value.is_splat():
        f.values[result] = f.b.constant(element, encode(next(iter(value.get_values()))))
        return
    facts = f.facts(result.type)
    if any(any(basis) for basis in facts.layout.thread_bases):
        raise f.unsupported(op, "a constant tensor that differs between threads", help="use a splat")
    numbers = list(value.get_values())
    strides = [1] * len(facts.shape)
    for dim in reversed(range(len(facts.shape) - 1)):
        strides[dim] = strides[dim + 1] * facts.shape[dim + 1]
    picked = [numbers[sum(c * s for c, s in zip(o, strides, strict=True))] for o in facts.layout.offsets]
    f.values[result] = registers.Elements([f.b.constant(element, encode(number)) for number in picked])


def _fp8_bits(type_: Attribute) -> Callable[[Any], float]:
    """Numbers of `type_` as LLVM constants: those of the fp8 types, which LLVM lacks, as their bits."""
    element = type_.element_type if instance_of(type_, TensorType) else type_
    if element.__class__ is IntegerType or not isinstance(element, AnyFloat) or element.bitwidth != 8:
        return lambda number: number
    return lambda number: int.from_bytes(element.pack((number,)), "little")


# Integers -------------------------------------------------------------------------------------------------------------


def _integer(cls: type[Operation]) -> Emit:
    return lambda b, v: b.binary(cls, v[0], v[1])


def lanewise(emit: Emit) -> Lowering:
    """The rule of a pure op that does `emit` to each lane."""

    def lower(f: FunctionLowering, op: Operation) -> None:
        f.values[op.results[0]] = apply_lazily(f, op.results[0], operands_of(f, op), emit)

    return lower


def _shift(cls: type[Operation]) -> Lowering:
    """A shift. By a constant of the width or more, for which LLVM knows no result, it is what PTX makes of one known at run time only."""

    def lower(f: FunctionLowering, op: Operation) -> None:
        result = op.results[0]
        amount, element = number_of(constant_attr(op.operands[1])), scalar_type(result.type)
        bits = bit_width(element)
        is_inside = not isinstance(amount, int) or 0 <= amount < bits
        emit = _integer(cls) if is_inside else _shifted_out(bits - 1 if cls is L.AShrOp else None)
        f.values[result] = apply_lazily(f, result, operands_of(f, op), emit)

    return lower


def _shifted_out(amount: int | None) -> Emit:
    """The first operand shifted right by `amount`, or 0."""

    def emit(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
        if amount is None:
            return b.constant(v[0].type, 0)
        return b.binary(L.AShrOp, v[0], b.constant(v[0].type, amount))

    return emit


def _division(cls: type[Operation]) -> Lowering:
    """As `cls`, or what a division about which more is known is made."""

    def lower(f: FunctionLowering, op: Operation) -> None:
        emit = known_division(op) or _integer(cls)
        f.values[op.results[0]] = apply_lazily(f, op.results[0], operands_of(f, op), emit)

    return lower


LOWERINGS.update(
    {
        arith.SubiOp: lanewise(_integer(L.SubOp)),
        arith.MuliOp: lanewise(_integer(L.MulOp)),
        arith.DivSIOp: _division(L.SDivOp),
        arith.DivUIOp: _division(L.UDivOp),
        arith.RemSIOp: _division(L.SRemOp),
        arith.RemUIOp: _division(L.URemOp),
        arith.CeilDivSIOp: lanewise(rounded_up),
        arith.CeilDivUIOp: lanewise(unsigned_rounded_up),
        arith.FloorDivSIOp: lanewise(rounded_down),
        arith.AndIOp: lanewise(_integer(L.AndOp)),
        arith.OrIOp: lanewise(_integer(L.OrOp)),
        arith.XOrIOp: lanewise(_integer(L.XOrOp)),
        arith.ShLIOp: _shift(L.ShlOp),
        arith.ShRSIOp: _shift(L.AShrOp),
        arith.ShRUIOp: _shift(L.LShrOp),
        arith.MaxSIOp: lanewise(lambda b, v: b.overloaded("llvm.smax", v)),
        arith.MaxUIOp: lanewise(lambda b, v: b.overloaded("llvm.umax", v)),
        arith.MinSIOp: lanewise(lambda b, v: b.overloaded("llvm.smin", v)),
        arith.MinUIOp: lanewise(lambda b, v: b.overloaded("llvm.umin", v)),
    }
)


@lowers(arith.AddiOp)
def add(f: FunctionLowering, op: arith.AddiOp) -> None:
    """A range plus a scalar stays a range."""
    reps = operands_of(f, op)
    f.values[op.result] = _moved_range(f, op, reps) or apply_lazily(f, op.result, reps, _integer(L.AddOp))


def _moved_range(f: FunctionLowering, op: Operation, reps: Sequence[Registers]) -> Range | None:
    for rep, other, operand in ((reps[0], reps[1], op.operands[1]), (reps[1], reps[0], op.operands[0])):
        if isinstance(rep, Range) and registers.is_splat(other):
            return rep.plus(f.b, other, f.module.divisibility(operand))
    return None


@lowers(arith.CmpiOp)
def cmpi(f: FunctionLowering, op: arith.CmpiOp) -> None:
    """Integer comparison; of many registers of a range with a bound, of each register's offset with what the bound leaves of it."""
    predicate = CMPI_PREDICATES[op.predicate.value.data]
    result, reps = op.results[0], operands_of(f, op)
    has_room = predicate in _ORDERED and _has_room(reps)
    takes_room = has_room and _pays(f, result, reps)
    first = offsets_and_room(f, reps) if takes_room else reps
    f.values[result] = apply_lazily(
        f,
        result,
        first,
        lambda b, v: b.icmp(predicate, v[0], v[1]),
        (lambda: offsets_and_room(f, reps, moved=takes_room)) if has_room else None,
    )


def _resize(signed: bool) -> Callable[[Attribute], Emit]:
    def to(element: Attribute) -> Emit:
        def emit(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
            before, after = bit_width(lane_type(v[0].type)), bit_width(element)
            if before == after:
                return v[0]
            return b.cast(L.TruncOp if after < before else L.SExtOp if signed else L.ZExtOp, v[0], element)

        return emit

    return to


def _cast(cls: type[Operation]) -> Callable[[Attribute], Emit]:
    return lambda element: lambda b, v: b.cast(cls, v[0], element)


def _casts(to: Callable[[Attribute], Emit]) -> Lowering:
    """The rule of a cast among integers and pointers; `to` takes the type of the result's elements."""

    def lower(f: FunctionLowering, op: Operation) -> None:
        result = op.results[0]
        f.values[result] = apply_lazily(f, result, operands_of(f, op), to(scalar_type(result.type)))

    return lower


LOWERINGS.update(
    {
        arith.ExtSIOp: _casts(_cast(L.SExtOp)),
        arith.ExtUIOp: _casts(_cast(L.ZExtOp)),
        arith.IndexCastOp: _casts(_resize(True)),
        arith.IndexCastUIOp: _casts(_resize(False)),
        tt.IntToPtrOp: _casts(_cast(ours.IntToPtrOp)),
        tt.PtrToIntOp: _casts(_cast(ours.PtrToIntOp)),
    }
)


@lowers(arith.TruncIOp)
def truncation(f: FunctionLowering, op: arith.TruncIOp) -> None:
    """The low bits; the upper half of an integer of 64 bits at once."""
    whole = _high_word_of(op)
    if whole is not None:
        f.values[op.result] = apply_lazily(f, op.result, [f.values[whole]], _high_words)
        return
    narrow = _cast(L.TruncOp)(scalar_type(op.result.type))
    f.values[op.result] = apply_lazily(f, op.result, operands_of(f, op), narrow)


def _high_word_of(op: arith.TruncIOp) -> SSAValue | None:
    """The integer of 64 bits whose upper 32 bits `op` takes: `trunci (shrui x, 32)`."""
    shift = op.operands[0].owner
    if not isinstance(shift, arith.ShRUIOp):
        return None
    widths = bit_width(scalar_type(op.operands[0].type)), bit_width(scalar_type(op.results[0].type))
    return shift.operands[0] if widths == (64, 32) and number_of(constant_attr(shift.operands[1])) == 32 else None


def _high_words(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    """The upper halves of integers of 64 bits: every second word.

    Shifts of a vector of multiplications LLVM would turn into multiplications of their own (`mul.hi`), next to those for the lower halves.
    """
    count = lanes(v[0].type)
    if count == 1:
        return b.cast(L.TruncOp, b.lshr(v[0], 32), I32)
    return b.shuffle(b.bitcast(v[0], vector_type(I32, 2 * count)), None, range(1, 2 * count, 2))


@lowers(arith.SelectOp)
def select(f: FunctionLowering, op: arith.SelectOp) -> None:
    """A choice lane by lane; of data, by a vector of conditions unless all lanes choose alike."""
    condition, first, second = reps = operands_of(f, op)
    result = op.results[0]
    element = scalar_type(result.type)
    if registers.is_splat(condition) and not all(registers.is_splat(rep) for rep in reps):
        count = width(reps)
        chosen = [registers.vector(f.b, rep, count) for rep in (first, second)]
        f.values[result] = f.b.select(condition, *chosen)
        return
    emit: Emit = lambda b, v: b.select(v[0], v[1], v[2])  # noqa: E731
    f.values[result] = (
        apply_to_registers(f, result, reps, emit)
        if isinstance(element, AnyFloat)
        else apply_lazily(f, result, reps, emit)
    )


@lowers(tt.AddPtrOp)
def addptr(f: FunctionLowering, op: tt.AddPtrOp) -> None:
    """Pointer arithmetic, in units of what is pointed to."""
    result = op.results[0]
    pointer = result.type.element_type if instance_of(result.type, TensorType) else result.type
    assert isinstance(pointer, PointerType)
    unit = scalar_type(pointer.pointee_type)
    if bit_width(unit) < 8:
        unit = I8
    f.values[result] = apply_lazily(f, result, operands_of(f, op), lambda b, v: b.gep(v[0], v[1], unit))


@lowers(tt.MulhiUIOp)
def mulhiui(f: FunctionLowering, op: tt.MulhiUIOp) -> None:
    """The high half of the product of unsigned integers."""
    element = scalar_type(op.results[0].type)
    bits = bit_width(element)

    def emit(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
        wide = I64 if bits <= 32 else IntegerType(2 * bits)
        first, second = (b.lanewise(L.ZExtOp, (x,), vector_type(wide, lanes(x.type))) for x in v)
        product, count = b.mul(first, second), lanes(v[0].type)
        if count == 1 or bits <= 32:
            return b.cast(L.TruncOp, b.lshr(product, bits), element)
        # No attribute holds a vector of i128.
        shift = b.cast(L.ZExtOp, b.constant(vector_type(I64, count), bits), wide)
        return b.cast(L.TruncOp, b.binary(L.LShrOp, product, shift), element)

    f.values[op.results[0]] = apply(f, operands_of(f, op), emit)


# Floats ---------------------------------------------------------------------------------------------------------------


def refuse_fp8(f: FunctionLowering, op: Operation) -> None:
    """Raises `LoweringError` for arithmetic on 8-bit floats, which are bytes to LLVM."""
    type_ = op.operands[0].type
    element = type_.element_type if instance_of(type_, TensorType) else type_
    if element.name.startswith("f8"):
        raise f.unsupported(op, f"{element.name} is not computed with", help="extend the operands to f16 or f32 before")


def on_vectors(emit: Emit) -> Lowering:
    """The rule of an op that does `emit` to the whole vector at once."""

    def lower(f: FunctionLowering, op: Operation) -> None:
        refuse_fp8(f, op)
        result = op.results[0]
        f.values[result] = apply_to_registers(f, result, operands_of(f, op), emit)

    return lower


LOWERINGS.update(
    {
        arith.AddfOp: on_vectors(lambda b, v: b.fadd(v[0], v[1])),
        arith.SubfOp: on_vectors(lambda b, v: b.fsub(v[0], v[1])),
        arith.NegfOp: on_vectors(lambda b, v: b.fneg(v[0])),
        arith.RemfOp: on_vectors(lambda b, v: b.float_binary(L.FRemOp, v[0], v[1])),
        arith.MaximumfOp: on_vectors(lambda b, v: b.overloaded("llvm.maximum", v)),
        arith.MinimumfOp: on_vectors(lambda b, v: b.overloaded("llvm.minimum", v)),
        arith.MaxnumfOp: on_vectors(lambda b, v: b.overloaded("llvm.maxnum", v)),
        arith.MinnumfOp: on_vectors(lambda b, v: b.overloaded("llvm.minnum", v)),
    }
)


@lowers(arith.MulfOp)
def mulf(f: FunctionLowering, op: FloatBinaryOp) -> None:
    """A multiplication; one that stands for a division (`arcp`) is rounded before anything is added to it, as that was."""
    stands_for_division = FastMathFlag.ALLOW_RECIP in op.fastmath.data
    on_vectors(lambda b, v: (b.fmul_rounded if stands_for_division else b.fmul)(v[0], v[1]))(f, op)


_FLOAT_PREDICATES = tuple(str(p) for p in (
    "_false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "_true",
))  # fmt: skip


@lowers(arith.CmpfOp)
def cmpf(f: FunctionLowering, op: arith.CmpfOp) -> None:
    """Floating-point comparison."""
    refuse_fp8(f, op)
    predicate = _FLOAT_PREDICATES[op.predicate.value.data]
    result = op.results[0]
    f.values[result] = apply_to_registers(f, result, operands_of(f, op), lambda b, v: b.fcmp(predicate, v[0], v[1]))


def each_lane(b: Builder, callee: str, operands: Sequence[SSAValue], element: Attribute) -> SSAValue:
    """Calls a scalar function for every lane."""
    type_ = vector_type(element, lanes(operands[0].type))
    return b.value(ours.EachLaneOp, operands, type_, {"callee": string_attr(callee)})


# Comparisons of many registers of a range with a bound: an offset of each, which is a constant, with the room between base and bound.
#
#     base | 512 < n, base | 1024 < n, ...     ->     room = n - base;  512 < room, 1024 < room, ...
#
# The difference saturates. An offset is at least 0 and below the largest number, so that it compares with a difference that does not fit as it does
# with the nearest number that does; and it has no bit in common with the base, so that base and offset do not overflow.

WORTH_ROOM = 16
"""Registers that are compared from which it pays: the saturated difference is five instructions, an offset added to its base one (2026-11-24)."""

_ORDERED = ("slt", "sle", "sgt", "sge")


def _range_and_bound(reps: Sequence[Registers]) -> tuple[Range, SSAValue] | None:
    left, right = reps
    if isinstance(left, Range) and registers.is_splat(right):
        return left, right
    return (right, left) if isinstance(right, Range) and registers.is_splat(left) else None


def _has_room(reps: Sequence[Registers]) -> bool:
    """Whether the operands of an ordered comparison are a range and its bound, which compare as the offsets and the room do."""
    found = _range_and_bound(reps)
    if found is None or found[0].element_type != I32:
        return False
    return not any(offset < 0 or offset & ~found[0].clear for offset in found[0].offsets)


def offsets_and_room(f: FunctionLowering, reps: Sequence[Registers], *, moved: bool = False) -> list[Registers]:
    """The operands of a comparison, a range and its bound, by offsets and room; `moved`: both from a later base, which are other numbers."""
    found = _range_and_bound(reps)
    assert found is not None
    range_, bound = found
    by = range_.clear & -range_.clear if moved else 0
    base = f.b.or_disjoint(range_.base, f.b.i32(by)) if by else range_.base
    room = f.b.overloaded("llvm.ssub.sat", (bound, base))
    offsets = Constants([offset - by for offset in range_.offsets], I32)
    return [offsets, room] if reps[0] is range_ else [room, offsets]


def _pays(f: FunctionLowering, result: SSAValue, reps: Sequence[Registers]) -> bool:
    """Of rows and columns of a tile the registers of the range are needed for addresses anyway, as multiples of a stride: there it is no less
    work (a transpose of 64x64 f32 took 78 registers for 53)."""
    if width(reps) < WORTH_ROOM:
        return False
    if not instance_of(result.type, TensorType) or isinstance(ttg.layout_of(result.type), Slice):
        return False
    if len(result.type.get_shape()) != 1:
        return False
    same = f.equal_registers(result)
    return same is None or len(same[0]) >= WORTH_ROOM
