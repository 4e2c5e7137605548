"""Makes ops of the LLVM level, fast.

In: values. Out: values, defined by new ops at the end of the current block. One op costs 4 µs (2026-11), half of what
`Operation.create` takes, because nothing is checked and use lists are linked here. Constants are made once per function, in
a block of their own at its head.

    b = Builder(prologue, body)
    x = b.add(b.constant(I32, 4), y)       # %0 = llvm.mlir.constant(4 : i32); %1 = llvm.add %0, %y
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    LocationAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    UnknownLoc,
    VectorType,
    i32,
    i64,
)
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, SSAValue

from minitriton.codegen.types import (
    I1,
    I32,
    PTR,
    VOID,
    bit_width,
    constant_attr,
    lane_type,
    lanes,
    mangled,
    vector_type,
)
from minitriton.dialects import llvm as ours
from minitriton.dialects.attribute_values import dense_elements, i32_array, integer_array, integer_attr, string_attr
from minitriton.dialects.fast_paths.op_access import append, defining, make, operand_values
from minitriton.dialects.narrowing import instance_of

_UNIT = UnitAttr()
_NO_FLAGS = L.FastMathAttr(None)
_FAST_MATH: Mapping[str, Attribute] = {"fastmathFlags": _NO_FLAGS}
_NEVER_FUSED: Mapping[str, Attribute] = {"fastmathFlags": L.FastMathAttr((FastMathFlag.ALLOW_RECIP,))}
"""`arcp` means nothing to an addition, and stays with it: `ptx.emit` lets no product be fused with it."""
_FUSED: Mapping[str, Attribute] = {"fastmathFlags": L.FastMathAttr((FastMathFlag.ALLOW_CONTRACT,))}
_EMPTY: Mapping[str, Attribute] = {}
_DISJOINT = {"isDisjoint": _UNIT}
_NO_BUNDLES = DenseArrayBase.from_list(i32, ())

_ICMP = {p: {"predicate": IntegerAttr(i, 64)} for i, p in enumerate(L.ICmpPredicateFlag)}
_FCMP = {str(p): {"predicate": IntegerAttr(p.to_int(), 64), **_FAST_MATH} for p in L.FCmpPredicateFlag}


_UNKNOWN = UnknownLoc()

_OF_NUMBERS: Mapping[type[Operation], Callable[[int, int], int]] = {
    L.AddOp: operator.add,
    L.SubOp: operator.sub,
    L.MulOp: operator.mul,
}


class Builder:
    """Appends ops to `block`; `location` is given to every op made.

    Constants, and what depends on nothing but the thread's number, go to `prologue`, which runs before everything else.
    """

    __slots__ = (
        "_constants", "_extracted", "_moved", "_numbers", "_parts", "_splats", "_steps", "block", "fusible",
        "lanes_at_once", "location", "prologue",
    )  # fmt: skip

    def __init__(self, prologue: Block, body: Block, lanes_at_once: int = 8):
        self.prologue = prologue
        self.block = body
        self.location: LocationAttr = _UNKNOWN
        self.fusible = True
        self.lanes_at_once = lanes_at_once
        """The most lanes of an op: one for longer vectors becomes several."""
        self._constants: dict[tuple[object, ...], SSAValue] = {}
        self._extracted: dict[tuple[SSAValue, int], SSAValue] = {}
        self._splats: dict[tuple[SSAValue, int], SSAValue] = {}
        self._numbers: dict[SSAValue, int] = {}
        """Of constants that are scalar integers, the number."""
        self._steps: dict[SSAValue, tuple[SSAValue, SSAValue, Attribute]] = {}
        """Of addresses that are a root and a constant, these and the unit of the constant."""
        self._moved: dict[tuple[SSAValue, SSAValue, Attribute], SSAValue] = {}
        self._parts: dict[SSAValue, tuple[SSAValue, ...]] = {}
        """Of vectors, the scalars or equally long vectors that they were made of: LLVM takes time with the square of the lanes to find out
        that a lane is what was put there (a scan of 512 registers a thread: 190 ms of InstCombine; 2026-11-23)."""

    def move_to(self, block: Block) -> None:
        """Goes on at the end of `block`. What was cached in the block before may not dominate it and is forgotten."""
        if block is not self.block:
            self.block = block
            self._extracted = {}
            self._splats = {}
            self._moved = {}

    @contextmanager
    def in_prologue(self) -> Generator[None]:
        """Ops made inside go to the prologue; they may use constants and other ops made there only."""
        saved = (self.block, self._extracted, self._splats, self._moved, self.location)
        self.block, self._extracted, self._splats, self._moved, self.location = self.prologue, {}, {}, {}, _UNKNOWN
        yield
        self.block, self._extracted, self._splats, self._moved, self.location = saved

    @contextmanager
    def never_fused(self) -> Generator[None]:
        """Sums and differences made inside round what they are given: no multiplication becomes part of them."""
        saved, self.fusible = self.fusible, False
        yield
        self.fusible = saved

    # Making ops -------------------------------------------------------------------------------------------------------

    def operation(
        self,
        cls: type[Operation],
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        properties: Mapping[str, Attribute] = _EMPTY,
        successors: Sequence[Block] = (),
    ) -> Operation:
        """A new op at the end of the block; properties must be complete."""
        op = make(cls, operands, result_types, properties, self.location)
        if successors:
            op.successors = successors
        append(self.block, op)
        return op

    def value(
        self,
        cls: type[Operation],
        operands: Sequence[SSAValue],
        result_type: Attribute,
        properties: Mapping[str, Attribute] = _EMPTY,
    ) -> SSAValue:
        """The result of a new op."""
        op = make(cls, operands, (result_type,), properties, self.location)
        append(self.block, op)
        return op.results[0]

    # Constants --------------------------------------------------------------------------------------------------------

    def constant(self, type_: Attribute, value: int | float) -> SSAValue:
        """A scalar constant, or a vector of equal lanes if `type_` is a vector."""
        key = (id(type_), type(value), value, value == 0 and str(value)) if value == value else (id(type_), "nan")
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self._new_constant(type_, constant_attr(type_, value))
            if isinstance(value, int) and not instance_of(type_, VectorType):
                self._numbers[found] = value
        return found

    def constants(self, element: Attribute, values: Sequence[int]) -> SSAValue:
        """A vector constant of integers."""
        type_ = vector_type(element, len(values))
        if not instance_of(type_, VectorType):
            return self.constant(element, values[0])
        key = (id(type_), tuple(values))
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self._new_constant(type_, dense_elements(type_, values))
        return found

    def _new_constant(self, type_: Attribute, attr: Attribute) -> SSAValue:
        return self._in_prologue(L.ConstantOp, type_, {"value": attr})

    def _in_prologue(self, cls: type[Operation], type_: Attribute, properties: Mapping[str, Attribute]) -> SSAValue:
        op = make(cls, (), (type_,), properties, _UNKNOWN)
        last = self.prologue.last_op
        if isinstance(last, L.CondBrOp | L.BrOp):
            self.prologue.insert_op_before(op, last)
        else:
            append(self.prologue, op)
        return op.results[0]

    def once(
        self, key: str, cls: type[Operation], type_: Attribute, properties: Mapping[str, Attribute] = _EMPTY
    ) -> SSAValue:
        """The result of an op without operands that the whole function shares."""
        found = self._constants.get((key,))
        if found is None:
            found = self._constants[(key,)] = self._in_prologue(cls, type_, properties)
        return found

    def number_of(self, value: SSAValue) -> int | None:
        """The number that a scalar constant of this builder's is; None for any other value."""
        return self._numbers.get(value)

    def i32(self, value: int) -> SSAValue:
        return self.constant(I32, value)

    def local_buffer(self, element: Attribute, count: int) -> SSAValue:
        """The address of memory of the thread's own for `count` elements; one buffer for all that ask for as much."""
        key = ("buffer", id(element), count)
        found = self._constants.get(key)
        if found is None:
            size = self.i32(count)
            with self.in_prologue():
                properties = {"elem_type": element, "alignment": integer_attr(16, i64)}
                found = self._constants[key] = self.value(L.AllocaOp, (size,), PTR, properties)
        return found

    def poison(self, type_: Attribute) -> SSAValue:
        key = ("poison", id(type_))
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self._in_prologue(ours.PoisonOp, type_, _EMPTY)
        return found

    def lanewise(
        self,
        cls: type[Operation],
        operands: Sequence[SSAValue],
        result_type: Attribute,
        properties: Mapping[str, Attribute] = _EMPTY,
    ) -> SSAValue:
        """The result of an op that does each lane for itself: long vectors by blocks of lanes, in their order."""
        return self._by_blocks(operands, result_type, lambda part, type_: self.value(cls, part, type_, properties))

    def _by_blocks(
        self,
        operands: Sequence[SSAValue],
        result_type: Attribute,
        emit: Callable[[Sequence[SSAValue], Attribute], SSAValue],
    ) -> SSAValue:
        count, at_once = lanes(operands[-1].type), self.lanes_at_once
        if count <= at_once or count % at_once:
            return emit(operands, result_type)
        type_ = vector_type(lane_type(result_type), at_once)
        blocks = [range(first, first + at_once) for first in range(0, count, at_once)]
        return self.concat(
            [emit([x if lanes(x.type) == 1 else self.permute(x, block) for x in operands], type_) for block in blocks]
        )

    # Arithmetic -------------------------------------------------------------------------------------------------------

    def binary(self, cls: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        """An integer op of two operands of one type; a constant if both are known scalars and it is a sum, difference or product."""
        if a.owner.__class__ is L.ConstantOp and b.owner.__class__ is L.ConstantOp and cls in _OF_NUMBERS:
            x, y = self._numbers.get(a), self._numbers.get(b)
            if x is not None and y is not None:
                return self.constant(a.type, _OF_NUMBERS[cls](x, y))
        return self.lanewise(cls, (a, b), a.type)

    def float_binary(self, cls: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        """A floating-point op of two operands of one type."""
        return self.lanewise(cls, (a, b), a.type, _FAST_MATH)

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.binary(L.AddOp, a, b)

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.binary(L.SubOp, a, b)

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.binary(L.MulOp, a, b)

    def and_(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.lanewise(L.AndOp, (a, b), a.type)

    def or_(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.lanewise(L.OrOp, (a, b), a.type)

    def or_disjoint(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The sum of two numbers that have no bit in common."""
        if a.owner.__class__ is L.ConstantOp and b.owner.__class__ is L.ConstantOp:
            return self.add(a, b)
        return self.lanewise(L.OrOp, (a, b), a.type, _DISJOINT)

    def xor(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.lanewise(L.XOrOp, (a, b), a.type)

    def shl(self, a: SSAValue, bits: int) -> SSAValue:
        return self.lanewise(L.ShlOp, (a, self.constant(a.type, bits)), a.type) if bits else a

    def lshr(self, a: SSAValue, bits: int) -> SSAValue:
        return self.lanewise(L.LShrOp, (a, self.constant(a.type, bits)), a.type) if bits else a

    def fadd(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.lanewise(L.FAddOp, (a, b), a.type, _FAST_MATH if self.fusible else _NEVER_FUSED)

    def fadd_fused(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """An addition that may be fused with a multiplication also where `ptx.emit` finds none in the module: the assembler may fuse it (`add.f32`)."""
        return self.lanewise(L.FAddOp, (a, b), a.type, _FUSED)

    def fsub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.lanewise(L.FSubOp, (a, b), a.type, _FAST_MATH if self.fusible else _NEVER_FUSED)

    def fmul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.lanewise(L.FMulOp, (a, b), a.type, _FAST_MATH)

    def fmul_rounded(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """A multiplication that is rounded before anything is added to it."""
        return self.lanewise(L.FMulOp, (a, b), a.type, _NEVER_FUSED)

    def fneg(self, a: SSAValue) -> SSAValue:
        return self.lanewise(L.FNegOp, (a,), a.type, _FAST_MATH)

    def icmp(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """Integer comparison by LLVM's predicate name (`slt`, ...)."""
        return self.lanewise(L.ICmpOp, (a, b), vector_type(I1, lanes(a.type)), _ICMP[L.ICmpPredicateFlag(predicate)])

    def fcmp(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """Float comparison by LLVM's predicate name (`olt`, ...)."""
        return self.lanewise(ours.FCmpOp, (a, b), vector_type(I1, lanes(a.type)), _FCMP[predicate])

    def select(self, cond: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.lanewise(ours.SelectOp, (cond, a, b), a.type, _FAST_MATH)

    def cast(self, cls: type[Operation], a: SSAValue, element: Attribute) -> SSAValue:
        """A conversion lane by lane to interned type `element`."""
        return self.lanewise(cls, (a,), vector_type(element, lanes(a.type)))

    def bitcast(self, a: SSAValue, type_: Attribute) -> SSAValue:
        """The same bits as `type_` (which may have another number of lanes)."""
        return a if a.type is type_ else self.value(L.BitcastOp, (a,), type_)

    def intrinsic(self, name: str, args: Sequence[SSAValue], result: Attribute = VOID) -> SSAValue | None:
        """Calls an LLVM intrinsic by its full name (`llvm.fma.f32`)."""
        properties = {
            "intrin": string_attr(name),
            "fastmathFlags": _NO_FLAGS,
            "op_bundle_sizes": _NO_BUNDLES,
            "operandSegmentSizes": i32_array((len(args), 0)),
        }
        op = self.operation(L.CallIntrinsicOp, args, () if result is VOID else (result,), properties)
        return op.results[0] if op.results else None

    def overloaded(self, name: str, args: Sequence[SSAValue]) -> SSAValue:
        """Calls an intrinsic that is overloaded in the type of its first operand, which is also its result's."""

        def call(part: Sequence[SSAValue], type_: Attribute) -> SSAValue:
            result = self.intrinsic(f"{name}.{mangled(type_)}", part, type_)
            assert result is not None
            return result

        return self._by_blocks(args, args[0].type, call)

    # Vectors ----------------------------------------------------------------------------------------------------------

    def extract(self, vector: SSAValue, index: int) -> SSAValue:
        """One lane of a vector (of a scalar: itself)."""
        type_ = vector.type
        if not instance_of(type_, VectorType):
            return vector
        parts = self._parts.get(vector)
        if parts is not None:
            part, lane = divmod(index, lanes(type_) // len(parts))
            return self.extract(parts[part], lane)
        key = (vector, index)
        found = self._extracted.get(key)
        if found is None:
            found = self._extracted[key] = self.value(
                ours.ExtractElementOp, (vector, self.constant(I32, index)), type_.element_type
            )
        return found

    def insert(self, vector: SSAValue, value: SSAValue, index: int) -> SSAValue:
        """`vector` with one lane replaced."""
        return self.value(L.InsertElementOp, (vector, value, self.constant(I32, index)), vector.type)

    def splat(self, value: SSAValue, count: int) -> SSAValue:
        """A vector of `count` equal lanes."""
        if count == 1:
            return value
        owner = value.owner
        type_ = vector_type(value.type, count)
        if isinstance(owner, L.ConstantOp):
            number = owner.value
            if instance_of(number, (IntegerAttr, FloatAttr)):
                return self.constant(type_, number.value.data)
        key = (value, count)
        found = self._splats.get(key)
        if found is None:
            found = self._splats[key] = self.shuffle(self.insert(self.poison(type_), value, 0), None, (0,) * count)
        return found

    def pack(self, values: Sequence[SSAValue]) -> SSAValue:
        """A vector of the given scalars."""
        if len(values) == 1:
            return values[0]
        return self._made_of(values, self.value(ours.PackOp, values, vector_type(values[0].type, len(values))))

    def _made_of(self, parts: Sequence[SSAValue], vector: SSAValue) -> SSAValue:
        self._parts[vector] = tuple(parts)
        return vector

    def scalars_of(self, vector: SSAValue) -> tuple[SSAValue, ...] | None:
        """The scalars that a vector was made of; None if it is another, or its lanes are narrower than a register."""
        parts = self._parts.get(vector)
        return (
            parts if parts is not None and lanes(vector.type) == len(parts) and fills_registers(parts[0].type) else None
        )

    def erase_unused_vectors(self) -> None:
        """Erases vectors all of whose lanes were taken from what they were made of."""
        for vector in reversed(self._parts):
            unused = [vector]
            while unused:
                op = defining(unused.pop(), ours.PackOp, L.ShuffleVectorOp)
                if op is not None and op.parent is not None and op.results[0].first_use is None:
                    unused += operand_values(op)
                    op.parent.erase_op(op)
        self._parts.clear()

    def unpack(self, vector: SSAValue) -> list[SSAValue]:
        """The lanes of a vector."""
        return [self.extract(vector, i) for i in range(lanes(vector.type))]

    def shuffle(self, a: SSAValue, b: SSAValue | None, mask: Sequence[int]) -> SSAValue:
        """Lanes picked from `a` (and `b`, numbered after those of `a`)."""
        type_ = vector_type(lane_type(a.type), len(mask))
        properties = {"mask": integer_array(i32, tuple(mask))}
        return self.value(L.ShuffleVectorOp, (a, self.poison(a.type) if b is None else b), type_, properties)

    def permute(self, vector: SSAValue, indices: Sequence[int]) -> SSAValue:
        """`[vector[i] for i in indices]`, by the cheapest means."""
        count = lanes(vector.type)
        if len(indices) == count and all(i == at for at, i in enumerate(indices)):
            return vector
        if len(indices) == 1:
            return self.extract(vector, indices[0])
        if count == 1:
            return self.splat(vector, len(indices))
        parts = self._parts.get(vector)
        if parts is not None and min(indices) >= 0:
            width = count // len(parts)
            if _is_run(indices) and indices[0] % width == 0 and len(indices) % width == 0:
                return self.concat(parts[indices[0] // width : (indices[0] + len(indices)) // width])
            if len(indices) * 4 <= count or width == 1:
                return self.pack([self.extract(vector, i) for i in indices])
        return self.shuffle(vector, None, indices)

    def concat(self, parts: Sequence[SSAValue]) -> SSAValue:
        """One vector of the lanes of equally long vectors (or scalars)."""
        if len(parts) == 1:
            return parts[0]
        if not instance_of(parts[0].type, VectorType):
            return self.pack(parts)
        level = list(parts)
        while len(level) > 1:
            count = lanes(level[0].type)
            joined = [self.shuffle(a, b, range(2 * count)) for a, b in zip(level[::2], level[1::2], strict=False)]
            if len(level) % 2:
                last = level[-1]
                joined.append(self.shuffle(last, None, [*range(count), *([-1] * count)]))
            level = joined
        wanted = sum(lanes(p.type) for p in parts)
        whole = level[0] if lanes(level[0].type) == wanted else self.shuffle(level[0], None, range(wanted))
        return self._made_of(parts, whole)

    # Memory and aggregates --------------------------------------------------------------------------------------------

    def gep(self, base: SSAValue, index: SSAValue | int, element: Attribute, *, inbounds: bool = False) -> SSAValue:
        """`base + index` in units of `element`; vectors of either give a vector of pointers."""
        if not isinstance(index, int):
            number = self._numbers.get(index)
            if number == 0:
                return base
            step = self._steps.get(base) if number is None and not inbounds else None
            if step is not None and step[2] is element:
                return self.gep(self._moved_root(step[0], index, element), step[1], element)
        if isinstance(index, int):
            if index == 0:
                return base
            properties = {"elem_type": element, "rawConstantIndices": integer_array(i32, (index,))}
            operands = (base,)
            count = lanes(base.type)
        else:
            properties = {"elem_type": element, "rawConstantIndices": _DYNAMIC}
            operands = (base, index)
            count = max(lanes(base.type), lanes(index.type))
        if inbounds:
            properties["inbounds"] = _UNIT
        found = self.value(ours.GEPOp, operands, vector_type(lane_type(base.type), count), properties)
        if not isinstance(index, int) and count == 1 and not inbounds and index in self._numbers:
            self._steps[found] = (base, index, element)
        return found

    def _moved_root(self, root: SSAValue, index: SSAValue, element: Attribute) -> SSAValue:
        """`root + index`, once for all constants that are added to it in this block: of `root + constant + index` the constant comes last."""
        key = (root, index, element)
        found = self._moved.get(key)
        if found is None:
            found = self._moved[key] = self.gep(root, index, element)
        return found

    def load(self, pointer: SSAValue, type_: Attribute, alignment: int | None = None) -> SSAValue:
        properties: dict[str, Attribute] = {"ordering": _ORDERING}
        if alignment:
            properties["alignment"] = integer_attr(alignment, i64)
        return self.value(L.LoadOp, (pointer,), type_, properties)

    def store(self, value: SSAValue, pointer: SSAValue, alignment: int | None = None) -> None:
        properties: dict[str, Attribute] = {"ordering": _ORDERING}
        if alignment:
            properties["alignment"] = integer_attr(alignment, i64)
        self.operation(L.StoreOp, (value, pointer), (), properties)

    def field(self, struct: SSAValue, index: int) -> SSAValue:
        """A field of a struct value."""
        assert isinstance(struct.type, L.LLVMStructType)
        type_ = struct.type.types.data[index]
        return self.value(L.ExtractValueOp, (struct,), type_, {"position": integer_array(i64, (index,))})

    def struct(self, values: Sequence[SSAValue], type_: L.LLVMStructType) -> SSAValue:
        """A struct value of the given fields."""
        result = self.poison(type_)
        for index, value in enumerate(values):
            properties = {"position": integer_array(i64, (index,))}
            result = self.value(L.InsertValueOp, (result, value), type_, properties)
        return result

    def inline_asm(
        self, text: str, constraints: str, operands: Sequence[SSAValue], result: Attribute = VOID, *, pure: bool = False
    ) -> SSAValue | None:
        """Inline PTX; several results come as a struct."""
        properties: dict[str, Attribute] = {
            "asm_string": StringAttr(text),
            "constraints": string_attr(constraints),
            "tail_call_kind": _NO_TAIL_CALL,
        }
        if not pure:
            properties["has_side_effects"] = _UNIT
        op = self.operation(L.InlineAsmOp, operands, () if result is VOID else (result,), properties)
        return op.results[0] if op.results else None

    def call(self, callee: str, args: Sequence[SSAValue], result: Attribute = VOID) -> SSAValue | None:
        """Calls a function of the module."""
        properties: dict[str, Attribute] = {
            "callee": SymbolRefAttr(callee),
            "fastmathFlags": _NO_FLAGS,
            "CConv": _CCC,
            "op_bundle_sizes": _NO_BUNDLES,
            "TailCallKind": _NO_TAIL_CALL,
            "operandSegmentSizes": i32_array((len(args), 0)),
        }
        op = self.operation(L.CallOp, args, () if result is VOID else (result,), properties)
        return op.results[0] if op.results else None

    def gep_field(self, base: SSAValue, index: int, struct: Attribute) -> SSAValue:
        """The address of a field of the struct at `base`."""
        properties = {"elem_type": struct, "rawConstantIndices": integer_array(i32, (0, index))}
        return self.value(ours.GEPOp, (base,), base.type, properties)

    # Control flow -----------------------------------------------------------------------------------------------------

    def branch(self, target: Block, arguments: Sequence[SSAValue] = ()) -> None:
        self.operation(L.BrOp, arguments, (), successors=(target,))

    def cond_branch(
        self,
        cond: SSAValue,
        then: Block,
        otherwise: Block,
        then_arguments: Sequence[SSAValue] = (),
        else_arguments: Sequence[SSAValue] = (),
    ) -> None:
        properties = {"operandSegmentSizes": i32_array((1, len(then_arguments), len(else_arguments)))}
        operands = (cond, *then_arguments, *else_arguments)
        self.operation(L.CondBrOp, operands, (), properties, (then, otherwise))


def _is_run(numbers: Sequence[int]) -> bool:
    """Whether each number is one more than the one before."""
    return all(number == numbers[0] + n for n, number in enumerate(numbers))


def fills_registers(type_: Attribute) -> bool:
    """Whether nothing is gained by doing an op to two such scalars at once: those of 16 bits share a register."""
    return type_ is I1 or bit_width(type_) >= 32


_DYNAMIC = DenseArrayBase.from_list(i32, (ours.DYNAMIC_INDEX,))
_ORDERING = IntegerAttr(0, i64)
_NO_TAIL_CALL = L.TailCallKindAttr(L.TailCallKind.NONE)
_CCC = L.CallingConventionAttr("ccc")
