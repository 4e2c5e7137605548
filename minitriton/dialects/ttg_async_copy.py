"""`ttg.async_copy_global_to_local`: a load that goes to shared memory without passing through registers.

%t = ttg.async_copy_global_to_local %ptrs, %buf mask %m other %o cacheModifier = cg
     : tensor<64x!tt.ptr<f16>, #blocked> -> <64xf16, #shared, #smem, mutable>
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, TensorType, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.op_definition import op_definition
from minitriton.dialects.tt_enums import CacheModifier, CacheModifierAttr, EvictionPolicy, EvictionPolicyAttr
from minitriton.dialects.tt_types import i1_same_shape, pointee_type
from minitriton.dialects.ttg_text import (
    parse_attr_dict,
    parse_cache_clauses,
    parse_memdesc,
    print_attr_dict,
    print_cache_clauses,
    print_memdesc,
    resolve,
)
from minitriton.dialects.ttg_traits import (
    FALSE,
    GLOBAL,
    SHARED,
    OperandEffects,
    VerifyTensorLayouts,
    bool_attr,
    i32_array,
    i32_attr,
)
from minitriton.dialects.ttg_types import AsyncTokenType, MemDescType

_TOKEN = AsyncTokenType()
_DEFAULT_CACHE = CacheModifierAttr.of(CacheModifier.NONE)
_DEFAULT_EVICT = EvictionPolicyAttr.of(EvictionPolicy.NORMAL)


@op_definition
class AsyncCopyGlobalToLocalOp(IRDLOperation):
    """Starts copying what `src` points at into the buffer `result` (`cp.async`); `other` where `mask` is false.

    `contiguity` promises that so many elements can go in one access.
    """

    name = "ttg.async_copy_global_to_local"

    src = operand_def(TensorType)
    destination = operand_def(MemDescType)
    mask = opt_operand_def(TensorType)
    other = opt_operand_def()
    cache = prop_def(CacheModifierAttr, default_value=_DEFAULT_CACHE)
    evict = prop_def(EvictionPolicyAttr, default_value=_DEFAULT_EVICT)
    is_volatile = prop_def(IntegerAttr.constr(i1), default_value=FALSE, prop_name="isVolatile")
    contiguity = prop_def(IntegerAttr.constr(i32), default_value=i32_attr(1))
    result = result_def(_TOKEN)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(
        OperandEffects(reads=(("src", GLOBAL),), writes=(("destination", SHARED),)), VerifyTensorLayouts()
    )

    def __init__(
        self,
        src: SSAValue,
        destination: SSAValue,
        mask: SSAValue | None = None,
        other: SSAValue | None = None,
        *,
        cache: CacheModifier = CacheModifier.NONE,
        evict: EvictionPolicy = EvictionPolicy.NORMAL,
        is_volatile: bool = False,
        contiguity: int = 1,
    ) -> None:
        operands = [src, destination]
        if mask is not None:
            operands.append(mask)
        if other is not None:
            operands.append(other)
        properties: dict[str, Attribute] = {
            "operandSegmentSizes": i32_array((1, 1, int(mask is not None), int(other is not None))),
            "cache": CacheModifierAttr.of(cache),
            "evict": EvictionPolicyAttr.of(evict),
            "isVolatile": bool_attr(is_volatile),
            "contiguity": i32_attr(contiguity),
        }
        Operation.__init__(self, operands=operands, result_types=(_TOKEN,), properties=properties)

    @classmethod
    def parse(cls, parser: Parser) -> AsyncCopyGlobalToLocalOp:
        operands = [parser.parse_unresolved_operand()]
        parser.parse_punctuation(",")
        operands.append(parser.parse_unresolved_operand())
        has_mask = parser.parse_optional_keyword("mask") is not None
        if has_mask:
            operands.append(parser.parse_unresolved_operand())
        has_other = parser.parse_optional_keyword("other") is not None
        if has_other:
            operands.append(parser.parse_unresolved_operand())
        clauses: dict[str, Attribute] = {"operandSegmentSizes": i32_array((1, 1, int(has_mask), int(has_other)))}
        parse_cache_clauses(parser, clauses)
        properties, attributes = parse_attr_dict(parser, cls)
        parser.parse_punctuation(":")
        src_type = parser.parse_type()
        parser.parse_punctuation("->")
        types = [src_type, parse_memdesc(parser)]
        if has_mask:
            types.append(i1_same_shape(src_type))
        if has_other:
            types.append(pointee_type(src_type))
        return cls.create(
            operands=resolve(parser, operands, types),
            result_types=[_TOKEN],
            properties=clauses | properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.src, self.destination), printer.print_ssa_value)
        for keyword, value in (("mask", self.mask), ("other", self.other)):
            if value is not None:
                printer.print_string(f" {keyword} ")
                printer.print_ssa_value(value)
        print_cache_clauses(printer, self)
        print_attr_dict(printer, self, ("cache", "evict"))
        printer.print_string(" : ")
        printer.print_attribute(self.src.type)
        printer.print_string(" -> ")
        print_memdesc(printer, self.destination.type)

    def verify_(self) -> None:
        destination = self.destination.type
        if not isinstance(destination, MemDescType) or not destination.mutable:
            raise VerifyException(f"'{self.name}' op Cannot store into immutable memory")
