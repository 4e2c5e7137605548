"""xDSL's `llvm` dialect, completed with what lowering a GPU kernel needs.

Most ops are xDSL's. Added here are the ones it lacks (`llvm.addrspacecast`, `llvm.fptosi`, `llvm.intr.assume`, `llvm.extractelement`, `llvm.atomicrmw`, ...) and the
ones that it restricts to scalars although a thread's part of a tensor is a vector (`llvm.fcmp`, `llvm.select`, `llvm.getelementptr`, `llvm.inttoptr`,
`llvm.ptrtoint`):

    %p = llvm.getelementptr %base[%offsets] : (!llvm.ptr<1>, vector<8xi32>) -> vector<8x!llvm.ptr<1>>, f32

`LLVM` is the dialect to register in place of xDSL's.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects import llvm as upstream
from xdsl.dialects.builtin import (
    I32,
    DenseArrayBase,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    VectorType,
    i1,
    i32,
)
from xdsl.dialects.llvm import FastMathAttr, FCmpPredicateFlag, LLVMPointerType
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    ParsePropInAttrDict,
    VarConstraint,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import MemoryWriteEffect, NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.fast_paths.op_definition import Op, declared, named
from minitriton.dialects.narrowing import instance_of

GLOBAL = LLVMPointerType(IntAttr(1))
SHARED = LLVMPointerType(IntAttr(3))

DYNAMIC_INDEX = -(2**31)
"""Stands in `rawConstantIndices` of a `llvm.getelementptr` for "taken from an operand"."""


def lanes(type_: Attribute) -> int:
    """Registers of a value: the lanes of a vector, 1 for a scalar."""
    return type_.shape.data[0].data if type_.__class__ is VectorType and instance_of(type_, VectorType) else 1


def lane_type(type_: Attribute) -> Attribute:
    """The type of one lane."""
    return type_.element_type if instance_of(type_, VectorType) else type_


def _is_vector_like(type_: Attribute, element: type[Attribute] | tuple[type[Attribute], ...]) -> bool:
    return isinstance(type_.element_type if instance_of(type_, VectorType) else type_, element)


def _lanes(type_: Attribute) -> int:
    """Number of lanes of a vector, 0 for a scalar."""
    return type_.get_shape()[0] if instance_of(type_, VectorType) else 0


class _CastOp(Op, ABC):
    """A conversion lane by lane."""

    arg = operand_def(AnyAttr())
    result = result_def(AnyAttr())

    traits = traits_def(NoMemoryEffect())

    assembly_format = "$arg attr-dict `:` type($arg) `to` type($result)"

    def __init__(self, arg: SSAValue, result_type: Attribute):
        super().__init__(operands=[arg], result_types=[result_type])

    def verify_(self) -> None:
        if _lanes(self.arg.type) != _lanes(self.result.type):
            raise VerifyException(f"{self.name} must keep the number of lanes")


class AddrSpaceCastOp(_CastOp):
    """A pointer seen in another address space."""

    name = "llvm.addrspacecast"

    def verify_(self) -> None:
        super().verify_()
        if not _is_vector_like(self.arg.type, LLVMPointerType) or not _is_vector_like(
            self.result.type, LLVMPointerType
        ):
            raise VerifyException("llvm.addrspacecast converts pointers")


FPToSIOp = named(_CastOp, "FPToSIOp", "llvm.fptosi", "Float to signed integer, towards zero.")
FPToUIOp = named(_CastOp, "FPToUIOp", "llvm.fptoui", "Float to unsigned integer, towards zero.")
UIToFPOp = named(_CastOp, "UIToFPOp", "llvm.uitofp", "Unsigned integer to float, to nearest.")
IntToPtrOp = named(_CastOp, "IntToPtrOp", "llvm.inttoptr", "Integer to pointer.")
PtrToIntOp = named(_CastOp, "PtrToIntOp", "llvm.ptrtoint", "Pointer to integer.")


class ExtractElementOp(Op):
    """One lane of a vector."""

    name = "llvm.extractelement"

    vector = operand_def(VectorType)
    index = operand_def(IntegerType)
    res = result_def(AnyAttr())

    traits = traits_def(Pure())
    assembly_format = "$vector `[` $index `:` type($index) `]` attr-dict `:` type($vector) `->` type($res)"

    def __init__(self, vector: SSAValue, index: SSAValue):
        assert instance_of(vector.type, VectorType)
        super().__init__(operands=[vector, index], result_types=[vector.type.element_type])

    def verify_(self) -> None:
        assert instance_of(self.vector.type, VectorType)
        if self.vector.type.element_type != self.res.type:
            raise VerifyException("llvm.extractelement must return the element type of its vector")


class PoisonOp(Op):
    """A value that nobody may depend on."""

    name = "llvm.mlir.poison"

    res = result_def(AnyAttr())

    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($res)"

    def __init__(self, result_type: Attribute):
        super().__init__(result_types=[result_type])


class SelectOp(Op):
    """`cond ? lhs : rhs`, lane by lane if `cond` is a vector."""

    name = "llvm.select"

    T: ClassVar = VarConstraint("T", AnyAttr())

    cond = operand_def(AnyAttr())
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$cond `,` $lhs `,` $rhs attr-dict `:` type($cond) `,` type($res)"

    def __init__(self, cond: SSAValue, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[cond, lhs, rhs], result_types=[lhs.type])

    def verify_(self) -> None:
        lanes = _lanes(self.cond.type)
        if lanes and lanes != _lanes(self.res.type):
            raise VerifyException("llvm.select of a vector condition needs as many lanes in its values")


class FCmpOp(Op):
    """Floating-point comparison, lane by lane."""

    name = "llvm.fcmp"

    T: ClassVar = VarConstraint("T", AnyAttr())

    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(AnyAttr())
    predicate = prop_def(IntegerAttr)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))

    traits = traits_def(Pure())

    def __init__(self, lhs: SSAValue, rhs: SSAValue, predicate: str, result_type: Attribute):
        super().__init__(
            operands=[lhs, rhs],
            result_types=[result_type],
            properties={"predicate": IntegerAttr(FCmpPredicateFlag(predicate).to_int(), 64)},
        )

    def verify_(self) -> None:
        if _lanes(self.lhs.type) != _lanes(self.res.type) or not _is_vector_like(self.res.type, IntegerType):
            raise VerifyException("llvm.fcmp must return one i1 per lane")

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{FCmpPredicateFlag.from_int(self.predicate.value.data)}" ')
        printer.print_ssa_value(self.lhs)
        printer.print_string(", ")
        printer.print_ssa_value(self.rhs)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)

    @classmethod
    def parse(cls, parser: Parser) -> FCmpOp:
        predicate = parser.parse_str_literal()
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        operands = parser.resolve_operands([lhs, rhs], [type_, type_], parser.pos)
        result = VectorType(i1, type_.get_shape()) if instance_of(type_, VectorType) else i1
        op = cls(operands[0], operands[1], predicate, result)
        op.attributes |= attributes
        return op


class GEPOp(Op):
    """Pointer arithmetic in units of `elem_type`; vector operands give a vector of pointers."""

    name = "llvm.getelementptr"

    ptr = operand_def(AnyAttr())
    ssa_indices = var_operand_def(AnyAttr())
    result = result_def(AnyAttr())
    elem_type = prop_def()
    rawConstantIndices = prop_def(DenseArrayBase.constr(i32))
    noWrapFlags = opt_prop_def(IntegerAttr[I32])
    inbounds = opt_prop_def(UnitAttr)

    traits = traits_def(NoMemoryEffect())

    def __init__(
        self,
        ptr: SSAValue,
        indices: list[int],
        elem_type: Attribute,
        ssa_indices: Sequence[SSAValue] | None = None,
        result_type: Attribute | None = None,
        *,
        inbounds: bool = False,
    ):
        properties: dict[str, Attribute] = {
            "elem_type": elem_type,
            "rawConstantIndices": DenseArrayBase.from_list(i32, indices),
        }
        if inbounds:
            properties["inbounds"] = UnitAttr()
        super().__init__(
            operands=[ptr, ssa_indices or []], result_types=[result_type or ptr.type], properties=properties
        )

    def verify_(self) -> None:
        dynamic = sum(index == DYNAMIC_INDEX for index in self.rawConstantIndices.iter_values())
        if dynamic != len(self.ssa_indices):
            raise VerifyException(
                f"llvm.getelementptr marks {dynamic} indices as operands, has {len(self.ssa_indices)}"
            )
        if not _is_vector_like(self.ptr.type, LLVMPointerType) or not _is_vector_like(
            self.result.type, LLVMPointerType
        ):
            raise VerifyException("llvm.getelementptr needs a pointer and returns one")

    def print(self, printer: Printer) -> None:
        if self.inbounds is not None:
            printer.print_string(" inbounds")
        printer.print_string(" ")
        printer.print_ssa_value(self.ptr)
        dynamic = iter(self.ssa_indices)
        with printer.in_square_brackets():
            for position, index in enumerate(self.rawConstantIndices.iter_values()):
                if position:
                    printer.print_string(", ")
                if index == DYNAMIC_INDEX:
                    printer.print_ssa_value(next(dynamic))
                else:
                    printer.print_int(index)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_function_type([self.ptr.type, *(v.type for v in self.ssa_indices)], [self.result.type])
        printer.print_string(", ")
        printer.print_attribute(self.elem_type)

    @classmethod
    def parse(cls, parser: Parser) -> GEPOp:
        inbounds = parser.parse_optional_keyword("inbounds") is not None
        pointer = parser.parse_unresolved_operand()
        constants: list[int] = []
        dynamic: list[UnresolvedOperand] = []

        def index() -> None:
            operand = parser.parse_optional_unresolved_operand()
            if operand is None:
                constants.append(parser.parse_integer())
            else:
                constants.append(DYNAMIC_INDEX)
                dynamic.append(operand)

        parser.parse_comma_separated_list(parser.Delimiter.SQUARE, index)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        signature = parser.parse_function_type()
        parser.parse_punctuation(",")
        element = parser.parse_type()
        operands = parser.resolve_operands([pointer, *dynamic], signature.inputs.data, parser.pos)
        op = cls(operands[0], constants, element, operands[1:], signature.outputs.data[0], inbounds=inbounds)
        op.attributes |= attributes
        return op


class AtomicRMWOp(Op):
    """Atomic read-modify-write; returns the value before. `bin_op` and `ordering` are LLVM's spelling (`add`, `fadd`, `monotonic`, ...)."""

    name = "llvm.atomicrmw"

    ptr = operand_def(LLVMPointerType)
    val = operand_def(AnyAttr())
    res = result_def(AnyAttr())
    bin_op = prop_def(StringAttr)
    ordering = prop_def(StringAttr)
    syncscope = opt_prop_def(StringAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$bin_op $ptr `,` $val $ordering attr-dict `:` type($ptr) `,` type($val) `->` type($res)"


class CmpXchgOp(Op):
    """Stores `val` if `cmp` is there, atomically; returns what was there and whether it was that. `ordering` is that of a store."""

    name = "llvm.cmpxchg"

    ptr = operand_def(LLVMPointerType)
    cmp = operand_def(AnyAttr())
    val = operand_def(AnyAttr())
    res = result_def(AnyAttr())
    ordering = prop_def(StringAttr)
    syncscope = opt_prop_def(StringAttr)


class FenceOp(Op):
    """Orders the accesses of memory before it and after it, for the threads of a scope."""

    name = "llvm.fence"

    ordering = prop_def(StringAttr)
    syncscope = opt_prop_def(StringAttr)


class AssumeOp(Op):
    """A promise that a condition holds: what comes after may count on it (`tl.assume`)."""

    name = "llvm.intr.assume"

    cond = operand_def(i1)

    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$cond attr-dict `:` type($cond)"

    def __init__(self, cond: SSAValue):
        Operation.__init__(self, operands=(cond,))


class EachLaneOp(Op):
    """Calls a scalar function or intrinsic, `callee`, for every lane of its operands; with `noinline` it stays a call."""

    name = "llvm.each_lane"

    args = var_operand_def(AnyAttr())
    res = result_def(AnyAttr())
    callee = prop_def(StringAttr)
    noinline = opt_prop_def(UnitAttr)

    def verify_(self) -> None:
        if any(lanes(arg.type) != lanes(self.res.type) for arg in self.args):
            raise VerifyException("llvm.each_lane needs operands and a result of as many lanes")


class PackOp(Op):
    """A vector of scalars, the first in lane 0."""

    name = "llvm.pack"

    values = var_operand_def(AnyAttr())
    res = result_def(AnyAttr())

    def verify_(self) -> None:
        type_ = self.res.type
        element = type_.element_type if instance_of(type_, VectorType) else type_
        if lanes(type_) != len(self.values) or any(value.type != element for value in self.values):
            raise VerifyException("llvm.pack needs a scalar of the vector's element type for each lane")


_OPS = declared("llvm", globals())[0]
_REPLACED = {op.name for op in _OPS}

LLVM = Dialect(
    "llvm",
    [*(op for op in upstream.LLVM.operations if op.name not in _REPLACED), *_OPS],
    list(upstream.LLVM.attributes),
)
