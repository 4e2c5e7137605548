"""Ops of `ttng` for TMA: copies between device and shared memory by descriptor, and descriptors made on the device.

ttng.async_tma_copy_global_to_local %desc[%x, %y] %buf, %bar, %true
    : !tt.tensordesc<tensor<128x64xf16, #shared>>, !ttg.memdesc<1xi64, ...> -> !ttg.memdesc<128x64xf16, ...>
ttng.async_tma_copy_local_to_global %desc[%x, %y] %buf : !tt.tensordesc<...>, !ttg.memdesc<128x64xf16, ...>
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, TensorType, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.op_definition import op_definition
from minitriton.dialects.tt_enums import (
    CacheModifier,
    CacheModifierAttr,
    DescriptorReduceKind,
    DescriptorReduceKindAttr,
    EvictionPolicy,
    EvictionPolicyAttr,
)
from minitriton.dialects.tt_types import PointerType, TensorDescType
from minitriton.dialects.ttg_attributes import layout_of
from minitriton.dialects.ttg_text import (
    parse_attr_dict,
    parse_cache_clauses,
    parse_indices,
    print_attr_dict,
    print_cache_clauses,
    print_indices,
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
from minitriton.dialects.ttg_types import MemDescType
from minitriton.dialects.ttng_barriers import verify_barrier_type
from minitriton.layouts.encodings import NVMMAShared

_DEFAULT_CACHE = CacheModifierAttr.of(CacheModifier.NONE)
_DEFAULT_EVICT = EvictionPolicyAttr.of(EvictionPolicy.NORMAL)


@op_definition
class AsyncTMACopyGlobalToLocalOp(IRDLOperation):
    """Starts copying the block of `desc` at `coord` into `destination`; `barrier` gets the bytes, where `pred` holds."""

    name = "ttng.async_tma_copy_global_to_local"

    desc = operand_def(TensorDescType)
    coord = var_operand_def(i32)
    barrier = operand_def(MemDescType)
    destination = operand_def(MemDescType)
    pred = operand_def(i1)
    cache = prop_def(CacheModifierAttr, default_value=_DEFAULT_CACHE)
    evict = prop_def(EvictionPolicyAttr, default_value=_DEFAULT_EVICT)
    is_volatile = prop_def(IntegerAttr.constr(i1), default_value=FALSE, prop_name="isVolatile")

    traits = traits_def(
        OperandEffects(reads=(("desc", GLOBAL),), writes=(("barrier", SHARED), ("destination", SHARED))),
        VerifyTensorLayouts(),
    )

    def __init__(
        self,
        desc: SSAValue,
        coord: Sequence[SSAValue],
        barrier: SSAValue,
        destination: SSAValue,
        pred: SSAValue,
        *,
        cache: CacheModifier = CacheModifier.NONE,
        evict: EvictionPolicy = EvictionPolicy.NORMAL,
        is_volatile: bool = False,
    ) -> None:
        Operation.__init__(
            self,
            operands=(desc, *coord, barrier, destination, pred),
            properties={
                "cache": CacheModifierAttr.of(cache),
                "evict": EvictionPolicyAttr.of(evict),
                "isVolatile": bool_attr(is_volatile),
            },
        )

    @classmethod
    def parse(cls, parser: Parser) -> AsyncTMACopyGlobalToLocalOp:
        desc = parser.parse_unresolved_operand()
        coord = parse_indices(parser)
        destination = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        barrier = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        pred = parser.parse_unresolved_operand()
        clauses: dict[str, Attribute] = {}
        parse_cache_clauses(parser, clauses)
        properties, attributes = parse_attr_dict(parser, cls)
        parser.parse_punctuation(":")
        desc_type = parser.parse_type()
        parser.parse_punctuation(",")
        barrier_type = parser.parse_type()
        parser.parse_punctuation("->")
        destination_type = parser.parse_type()
        return cls.create(
            operands=resolve(
                parser,
                [desc, *coord, barrier, destination, pred],
                [desc_type, *[i32] * len(coord), barrier_type, destination_type, i1],
            ),
            properties=clauses | properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.desc)
        print_indices(printer, self.coord)
        printer.print_string(" ")
        printer.print_list((self.destination, self.barrier, self.pred), printer.print_ssa_value)
        print_cache_clauses(printer, self)
        print_attr_dict(printer, self, ("cache", "evict"))
        printer.print_string(" : ")
        printer.print_list((self.desc.type, self.barrier.type), printer.print_attribute)
        printer.print_string(" -> ")
        printer.print_attribute(self.destination.type)

    def verify_(self) -> None:
        verify_barrier_type(self, self.barrier.type)
        if not 1 <= len(self.coord) <= 5:
            raise VerifyException(f"'{self.name}' op TMA copies must have between 1 and 5 coordinates")
        destination = self.destination.type
        if not isinstance(destination, MemDescType) or not destination.mutable:
            raise VerifyException(f"'{self.name}' op Cannot store into immutable memory")
        if not isinstance(layout_of(destination), NVMMAShared):
            raise VerifyException(f"'{self.name}' op TMA result must have NVMMA shared layout")


@op_definition
class AsyncTMACopyLocalToGlobalOp(IRDLOperation):
    """Starts copying the buffer `src` to the block of `desc` at `coord`."""

    name = "ttng.async_tma_copy_local_to_global"

    desc = operand_def(TensorDescType)
    coord = var_operand_def(i32)
    src = operand_def(MemDescType)
    traits = traits_def(
        OperandEffects(reads=(("desc", GLOBAL), ("src", SHARED)), writes=(("desc", GLOBAL),)), VerifyTensorLayouts()
    )
    assembly_format = "$desc `[` $coord `]` $src attr-dict `:` type($desc) `,` type($src)"

    def __init__(self, desc: SSAValue, coord: Sequence[SSAValue], src: SSAValue) -> None:
        Operation.__init__(self, operands=(desc, *coord, src))


@op_definition
class AsyncTMAReduceOp(IRDLOperation):
    """Starts combining the buffer `src` into the block of `desc` at `coord`, atomically, element by element."""

    name = "ttng.async_tma_reduce"

    kind = prop_def(DescriptorReduceKindAttr)
    desc = operand_def(TensorDescType)
    coord = var_operand_def(i32)
    src = operand_def(MemDescType)
    traits = traits_def(
        OperandEffects(reads=(("desc", GLOBAL), ("src", SHARED)), writes=(("desc", GLOBAL),)), VerifyTensorLayouts()
    )
    assembly_format = "$kind `,` $desc `[` $coord `]` $src attr-dict `:` type($desc) `,` type($src)"

    def __init__(self, desc: SSAValue, coord: Sequence[SSAValue], src: SSAValue, *, kind: DescriptorReduceKind) -> None:
        Operation.__init__(self, operands=(desc, *coord, src), properties={"kind": DescriptorReduceKindAttr.of(kind)})


@op_definition
class AsyncTMAGatherOp(IRDLOperation):
    """Starts copying the rows `x_offsets` of `desc`, from column `y_offset` on, into `destination`."""

    name = "ttng.async_tma_gather"

    desc = operand_def(TensorDescType)
    x_offsets = operand_def(TensorType)
    y_offset = operand_def(i32)
    barrier = operand_def(MemDescType)
    destination = operand_def(MemDescType)
    pred = operand_def(i1)
    traits = traits_def(
        OperandEffects(reads=(("desc", GLOBAL),), writes=(("barrier", SHARED), ("destination", SHARED))),
        VerifyTensorLayouts(),
    )
    assembly_format = (
        "$desc `[` $x_offsets `,` $y_offset `]` $destination `,` $barrier `,` $pred attr-dict `:` type(operands)"
    )

    def __init__(
        self,
        desc: SSAValue,
        x_offsets: SSAValue,
        y_offset: SSAValue,
        barrier: SSAValue,
        destination: SSAValue,
        pred: SSAValue,
    ) -> None:
        Operation.__init__(self, operands=(desc, x_offsets, y_offset, barrier, destination, pred))

    def verify_(self) -> None:
        verify_barrier_type(self, self.barrier.type)
        destination = self.destination.type
        if not isinstance(destination, MemDescType) or not destination.mutable:
            raise VerifyException(f"'{self.name}' op cannot store into immutable memory")


@op_definition
class AsyncTMAScatterOp(IRDLOperation):
    """Starts copying the buffer `src` to the rows `x_offsets` of `desc`, from column `y_offset` on."""

    name = "ttng.async_tma_scatter"

    desc = operand_def(TensorDescType)
    x_offsets = operand_def(TensorType)
    y_offset = operand_def(i32)
    src = operand_def(MemDescType)
    traits = traits_def(
        OperandEffects(reads=(("desc", GLOBAL), ("src", SHARED)), writes=(("desc", GLOBAL),)), VerifyTensorLayouts()
    )
    assembly_format = "$desc `[` $x_offsets `,` $y_offset `]` $src attr-dict `:` type(operands)"

    def __init__(self, desc: SSAValue, x_offsets: SSAValue, y_offset: SSAValue, src: SSAValue) -> None:
        Operation.__init__(self, operands=(desc, x_offsets, y_offset, src))


@op_definition
class TMAStoreWaitOp(IRDLOperation):
    """Waits until at most `pendings` TMA stores still read their buffers."""

    name = "ttng.async_tma_store_wait"

    pendings = prop_def(IntegerAttr.constr(i32))
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(VerifyTensorLayouts())
    assembly_format = "attr-dict"

    def __init__(self, *, pendings: int) -> None:
        Operation.__init__(self, properties={"pendings": i32_attr(pendings)})


@op_definition
class ReinterpretTensorDescOp(IRDLOperation):
    """A pointer to a descriptor's bytes, seen as a descriptor."""

    name = "ttng.reinterpret_tensor_descriptor"

    raw_desc = operand_def(PointerType)
    result = result_def(TensorDescType)
    traits = traits_def(Pure(), VerifyTensorLayouts())
    assembly_format = "$raw_desc attr-dict `:` type($raw_desc) `to` type($result)"

    def __init__(self, raw_desc: SSAValue, result_type: Attribute) -> None:
        Operation.__init__(self, operands=(raw_desc,), result_types=(result_type,))


@op_definition
class TensormapCreateOp(IRDLOperation):
    """Writes a TMA descriptor at `desc_ptr`. Sizes and strides run fastest dimension first, strides in bytes."""

    name = "ttng.tensormap_create"

    desc_ptr = operand_def(PointerType)
    global_address = operand_def(PointerType)
    box_dim = var_operand_def(i32)
    global_dim = var_operand_def(i32)
    global_stride = var_operand_def(i64)
    element_stride = var_operand_def(i32)
    elem_type = prop_def(IntegerAttr.constr(i32))
    interleave_layout = prop_def(IntegerAttr.constr(i32))
    swizzle_mode = prop_def(IntegerAttr.constr(i32))
    fill_mode = prop_def(IntegerAttr.constr(i32))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(
        OperandEffects(reads=(("global_address", GLOBAL),), writes=(("desc_ptr", GLOBAL),)), VerifyTensorLayouts()
    )

    def __init__(
        self,
        desc_ptr: SSAValue,
        global_address: SSAValue,
        box_dim: Sequence[SSAValue],
        global_dim: Sequence[SSAValue],
        global_stride: Sequence[SSAValue],
        element_stride: Sequence[SSAValue],
        *,
        elem_type: int,
        interleave_layout: int,
        swizzle_mode: int,
        fill_mode: int,
    ) -> None:
        groups = (box_dim, global_dim, global_stride, element_stride)
        Operation.__init__(
            self,
            operands=(desc_ptr, global_address, *box_dim, *global_dim, *global_stride, *element_stride),
            properties={
                "operandSegmentSizes": i32_array((1, 1, *map(len, groups))),
                "elem_type": i32_attr(elem_type),
                "interleave_layout": i32_attr(interleave_layout),
                "swizzle_mode": i32_attr(swizzle_mode),
                "fill_mode": i32_attr(fill_mode),
            },
        )

    @classmethod
    def parse(cls, parser: Parser) -> TensormapCreateOp:
        operands = [parser.parse_unresolved_operand()]
        parser.parse_punctuation(",")
        operands.append(parser.parse_unresolved_operand())
        sizes = [1, 1]
        for _ in range(4):
            parser.parse_punctuation(",")
            group = parse_indices(parser)
            sizes.append(len(group))
            operands += group
        properties, attributes = parse_attr_dict(parser, cls)
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        parser.parse_punctuation("->")
        with parser.in_parens():
            pass
        properties["operandSegmentSizes"] = i32_array(tuple(sizes))
        return cls.create(operands=resolve(parser, operands, list(types)), properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.desc_ptr, self.global_address), printer.print_ssa_value)
        for group in (self.box_dim, self.global_dim, self.global_stride, self.element_stride):
            printer.print_string(", ")
            print_indices(printer, group)
        print_attr_dict(printer, self)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, ())

    def verify_(self) -> None:
        rank = len(self.box_dim)
        for what, have, want in (
            ("global dim", len(self.global_dim), rank),
            ("global stride", len(self.global_stride), rank - 1),
            ("element stride", len(self.element_stride), rank),
        ):
            if have != want:
                raise VerifyException(f"Rank mismatch for {what}. Got {have} but expected {want}")


@op_definition
class TensormapFenceproxyAcquireOp(IRDLOperation):
    """Makes a descriptor written at `desc_ptr` visible to TMA."""

    name = "ttng.tensormap_fenceproxy_acquire"

    desc_ptr = operand_def(PointerType)
    traits = traits_def(OperandEffects(writes=(("desc_ptr", GLOBAL),)), VerifyTensorLayouts())
    assembly_format = "$desc_ptr attr-dict `:` type($desc_ptr)"

    def __init__(self, desc_ptr: SSAValue) -> None:
        Operation.__init__(self, operands=(desc_ptr,))
