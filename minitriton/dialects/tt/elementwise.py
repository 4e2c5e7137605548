"""Ops of `tt` that act element by element: casts, arithmetic that `arith` lacks, pointers, foreign code.

%2 = tt.addptr %0, %1 : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
"""

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, StringAttr, TensorType, i32
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsTerminator, MemoryEffectKind, Pure, RecursiveMemoryEffect, ReturnLike, get_effects

from minitriton.dialects.facts import Inexact, MayNotReturn, WidensByTypes
from minitriton.dialects.facts.layout import SameLayout
from minitriton.dialects.facts.region_flow import ScalarRegions
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.tt.enums import PropagateNan, PropagateNanAttr, RoundingMode, RoundingModeAttr
from minitriton.dialects.tt.format import RoundingClause
from minitriton.dialects.tt.traits import (
    ANY_TT,
    FLOAT_LIKE,
    I64_LIKE,
    INT_LIKE,
    PTR_LIKE,
    TENSOR,
    PureIfDeclared,
    TensorLayouts,
    VerifiedElementwise,
    encoding_complaint,
    shape_complaint,
    var,
    width_of,
)
from minitriton.dialects.tt.types import PointerType, element_type


class _ConversionOp(Op):
    """Base of conversions of one value."""

    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"
    traits = traits_def(Pure(), VerifiedElementwise(), TensorLayouts())

    @from_fields
    def __init__(self, src: SSAValue, result_type: Attribute) -> None: ...


class IntToPtrOp(_ConversionOp):
    """A 64-bit integer as a pointer."""

    name = "tt.int_to_ptr"
    src = operand_def(I64_LIKE)
    result = result_def(PTR_LIKE)


class PtrToIntOp(_ConversionOp):
    """A pointer as a 64-bit integer."""

    name = "tt.ptr_to_int"
    src = operand_def(PTR_LIKE)
    result = result_def(I64_LIKE)


class BitcastOp(_ConversionOp):
    """The same bits as another type of the same width (pointers count as 64 bits)."""

    name = "tt.bitcast"
    src = operand_def(ANY_TT)
    result = result_def(ANY_TT)

    def complaint(self) -> str | None:
        source, target = element_type(self.src.type), element_type(self.result.type)
        if isinstance(source, PointerType) or isinstance(target, PointerType):
            if not isinstance(source, PointerType) or not isinstance(target, PointerType):
                return "Cannot bitcast pointer to non-pointer type"
            if source.address_space != target.address_space:
                return "Cannot bitcast pointer between different address spaces"
            return None
        if width_of(source) != width_of(target):
            return f"Cannot bitcast data-type of size {width_of(source)} to data-type of size {width_of(target)}"
        return None


class FpToFpOp(Op):
    """Conversion between floating-point types, with fp8 on one side or with a rounding mode that is not the default."""

    name = "tt.fp_to_fp"
    src = operand_def(FLOAT_LIKE)
    rounding = opt_prop_def(RoundingModeAttr)
    result = result_def(FLOAT_LIKE)
    custom_directives = (RoundingClause,)
    assembly_format = "$src attr-dict custom<RoundingClause>($rounding) `:` type($src) `->` type($result)"
    traits = traits_def(Pure(), VerifiedElementwise(), TensorLayouts(), WidensByTypes(), Inexact())

    @from_fields
    def __init__(
        self, src: SSAValue, result_type: Attribute, *, rounding: RoundingMode | str | None = None
    ) -> None: ...

    def complaint(self) -> str | None:
        if width_of(self.result.type) < width_of(self.src.type) and "rounding" not in self.properties:
            return "Rounding mode is required for FP downcast"
        return None


class ClampFOp(Op):
    """`min(max(x, min), max)`; `propagateNan = all` gives NaN where `x` is NaN."""

    T: ClassVar = var("T", FLOAT_LIKE)
    name = "tt.clampf"
    x = operand_def(T)
    min = operand_def(T)
    max = operand_def(T)
    propagate_nan = prop_def(PropagateNanAttr, prop_name="propagateNan")
    result = result_def(T)
    assembly_format = "$x `,` $min `,` $max `,` `propagateNan` `=` $propagateNan attr-dict `:` type($result)"
    traits = traits_def(Pure(), VerifiedElementwise(), TensorLayouts())

    @from_fields
    def __init__(self, x: SSAValue, min: SSAValue, max: SSAValue, *, propagate_nan: PropagateNan | str) -> None: ...


class PreciseSqrtOp(Op):
    """Square root, rounded to nearest."""

    T: ClassVar = var("T", FLOAT_LIKE)
    name = "tt.precise_sqrt"
    x = operand_def(T)
    result = result_def(T)
    assembly_format = "$x attr-dict `:` type($x)"
    traits = traits_def(Pure(), VerifiedElementwise(), TensorLayouts(), Inexact())

    @from_fields
    def __init__(self, x: SSAValue) -> None: ...


class _BinaryOp(Op):
    """Base of ops on two values of one type."""

    assembly_format = "$x `,` $y attr-dict `:` type($x)"
    traits = traits_def(Pure(), VerifiedElementwise(), TensorLayouts())

    @from_fields
    def __init__(self, x: SSAValue, y: SSAValue) -> None: ...


class PreciseDivFOp(_BinaryOp):
    """Division, rounded to nearest."""

    T: ClassVar = var("T", FLOAT_LIKE)
    name = "tt.precise_divf"
    traits = traits_def(Inexact())
    x = operand_def(T)
    y = operand_def(T)
    result = result_def(T)


class MulhiUIOp(_BinaryOp):
    """The upper half of the product of two unsigned integers."""

    T: ClassVar = var("T", INT_LIKE)
    name = "tt.mulhiui"
    x = operand_def(T)
    y = operand_def(T)
    result = result_def(T)


class AddPtrOp(Op):
    """A pointer moved on by `offset` elements."""

    T: ClassVar = var("T", PTR_LIKE)
    name = "tt.addptr"
    ptr = operand_def(T)
    offset = operand_def(INT_LIKE)
    result = result_def(T)
    assembly_format = "$ptr `,` $offset attr-dict `:` type($result) `,` type($offset)"
    traits = traits_def(Pure(), VerifiedElementwise(), TensorLayouts())

    @from_fields
    def __init__(self, ptr: SSAValue, offset: SSAValue) -> None: ...


class ExternElementwiseOp(Op):
    """Calls the function `symbol` of the library `libname` at `libpath` on each element."""

    name = "tt.extern_elementwise"
    srcs = var_operand_def(ANY_TT)
    libname = prop_def(StringAttr)
    libpath = prop_def(StringAttr)
    symbol = prop_def(StringAttr)
    pure = prop_def(BoolAttr)
    result = result_def(ANY_TT)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "operands attr-dict `:` functional-type(operands, $result)"
    traits = traits_def(PureIfDeclared(), VerifiedElementwise(), TensorLayouts(), Inexact())

    @from_fields
    def __init__(
        self, srcs: Sequence[SSAValue], result_type: Attribute, *, libname: str, libpath: str, symbol: str, pure: bool
    ) -> None: ...


class ElementwiseInlineAsmOp(Op):
    """Runs PTX on groups of `packed_element` elements. Which elements form a group is not specified."""

    name = "tt.elementwise_inline_asm"
    args = var_operand_def(ANY_TT)
    asm_string = prop_def(StringAttr)
    constraints = prop_def(StringAttr)
    pure = prop_def(BoolAttr)
    packed_element = prop_def(IntegerAttr.constr(i32))
    result = var_result_def(ANY_TT)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$asm_string attr-dict ($args^ `:` type($args))? `->` type($result)"
    traits = traits_def(PureIfDeclared(), VerifiedElementwise(), TensorLayouts(), MayNotReturn(), Inexact())

    @from_fields
    def __init__(
        self,
        args: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        *,
        asm_string: str,
        constraints: str,
        pure: bool,
        packed_element: int,
    ) -> None: ...

    def complaint(self) -> str | None:
        if not self.args:
            return None
        type_ = self.args[0].type
        count = prod(type_.get_shape()) if isinstance(type_, TensorType) else 0
        packed = self.packed_element.value.data
        if packed <= 0 or count % packed:
            return f"number of input elements {count} must be a multiple of the op's packed_element attribute, {packed}"
        return None


class MapElementwiseOp(Op):
    """Runs a scalar region on each group of `pack` elements.

    The region's arguments are `pack` scalars of the first source, then of the second, ...; it returns `pack` scalars of each result.
    """

    name = "tt.map_elementwise"
    srcs = var_operand_def(TENSOR)
    pack = prop_def(IntegerAttr.constr(i32))
    result = var_result_def(TENSOR)
    scalar_op = region_def()
    traits = traits_def(RecursiveMemoryEffect(), TensorLayouts(), SameLayout(), ScalarRegions())

    @from_fields
    def __init__(
        self, srcs: Sequence[SSAValue], result_types: Sequence[Attribute], scalar_op: Region, *, pack: int = 1
    ) -> None: ...

    def complaint(self) -> str | None:
        pack = self.pack.value.data
        if not self.operands:
            return f"'{self.name}' op MapElementwiseOp must have at least 1 operand"
        if pack <= 0 or pack & (pack - 1):
            return f"'{self.name}' op Pack must be a power of 2"
        block = self.scalar_op.first_block
        arguments = [element_type(type_) for type_ in self.operand_types for _ in range(pack)]
        if block is None or len(block.args) != len(arguments):
            return f"'{self.name}' op region has wrong number of arguments"
        if list(block.arg_types) != arguments:
            return "argument types did not match"
        wrong = shape_complaint(self) or encoding_complaint(self)
        if wrong is not None:
            return wrong
        results = [element_type(type_) for type_ in self.result_types for _ in range(pack)]
        for inner in self.scalar_op.walk():
            effects = get_effects(inner)
            if effects and any(effect.kind is MemoryEffectKind.WRITE for effect in effects):
                return f"'{inner.name}' op Stores are not supported inside map_elementwise"
            if isinstance(inner, MapElementwiseReturnOp) and list(inner.operand_types) != results:
                return "region return does not match map_elementwise result"
        return None


class MapElementwiseReturnOp(Op):
    """Ends the region of a `tt.map_elementwise`."""

    name = "tt.map_elementwise.return"
    result = var_operand_def()
    assembly_format = "attr-dict ($result^ `:` type($result))?"
    traits = traits_def(Pure(), IsTerminator(), ReturnLike())

    @from_fields
    def __init__(self, result: Sequence[SSAValue]) -> None: ...
