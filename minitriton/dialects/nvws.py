"""The `nvws` dialect: how warp specialisation speaks of producers and consumers before it is lowered to mbarriers.

%t = nvws.create_token {loadType = 2 : i32, numBuffers = 3 : i32} : tensor<3x!nvws.token>
nvws.producer_acquire %t, %idx, %phase : tensor<3x!nvws.token>, i32, i1
%a = nvws.aref.create %buf : <[!ttg.memdesc<1x64x16xf16, #shared, #smem>]>
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, TensorType, i1, i32
from xdsl.ir import Attribute, Data, Dialect, Operation, ParametrizedAttribute, Region, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    ParsePropInAttrDict,
    irdl_attr_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.irdl.declarative_assembly_format import ParsingState, TypeDirective
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsTerminator,
    NoTerminator,
    Pure,
    RecursivelySpeculatable,
    RecursiveMemoryEffect,
    ReturnLike,
)
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.attribute_values import i32_array, i32_attr
from minitriton.dialects.facts.gpu_traits import GLOBAL, SHARED, OperandEffects
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op, declared, directive
from minitriton.dialects.tt.enums import CacheModifierAttr, EvictionPolicyAttr
from minitriton.dialects.tt.format import CacheClauses, Pointer
from minitriton.dialects.tt.memory import NO_MODIFIER, NORMAL
from minitriton.dialects.tt.types import TensorDescType
from minitriton.dialects.ttg.memory_ops import LocalDeallocOp
from minitriton.dialects.ttg.types import AsyncTokenType, MemDescType

_TOKEN = AsyncTokenType()


class AsyncOp(StrEnum):
    """What kind of asynchronous op fills or reads a buffer."""

    NONE = "none"
    TMA_LOAD = "tma_load"
    TC5MMA = "tc5mma"
    TMEM_COPY = "tmem_copy"
    CP_ASYNC = "cp_async"
    WGMMA = "wgmma"


@irdl_attr_definition
class AsyncOpAttr(Data[AsyncOp]):
    """`#nvws.async_op<tma_load>`."""

    name = "nvws.async_op"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> AsyncOp:
        with parser.in_angle_brackets():
            return AsyncOp(parser.parse_identifier())

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.value}>")


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """A channel between a producer and a consumer: `!nvws.token`."""

    name = "nvws.token"


@irdl_attr_definition
class ArefType(ParametrizedAttribute, TypeAttribute):
    """An asynchronous reference to buffers: `!nvws.aref<[!ttg.memdesc<...>]>`."""

    name = "nvws.aref"

    base_type: ArrayAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_type))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets(), printer.in_square_brackets():
            printer.print_list(self.base_type.data, printer.print_attribute)


@directive
class Aref(Pointer):
    """`custom<Aref>(type($aref))`: the type of a reference without its name. Its full form is read too."""

    type: TypeDirective

    CLASS: ClassVar[type[ParametrizedAttribute]] = ArefType


@directive
class ArefOf(Aref):
    """`custom<ArefOf>(type($aref), type($buffers))`: the same, which says the types of the buffers too."""

    type: TypeDirective
    buffers: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        super().parse(parser, state)
        (aref,) = cast(Sequence[ArefType], state.result_types[0])
        self.buffers.set(state, aref.base_type.data)


class ArefCreateOp(Op):
    """An asynchronous reference to `buffers`, whose first dimension counts the copies of each."""

    name = "nvws.aref.create"

    buffers = var_operand_def(MemDescType)
    result = result_def(ArefType)
    traits = traits_def(Pure())
    custom_directives = (ArefOf,)
    assembly_format = "$buffers attr-dict `:` custom<ArefOf>(type($result), type($buffers))"

    def __init__(self, buffers: Sequence[SSAValue]) -> None:
        types = ArrayAttr([value.type for value in buffers])
        Operation.__init__(self, operands=tuple(buffers), result_types=(ArefType(types),))

    def verify_(self) -> None:
        users = [use.operation for value in self.buffers for use in value.uses]
        if not all(isinstance(user, ArefCreateOp | LocalDeallocOp) for user in users):
            raise VerifyException("Aref buffer is used elsewhere, Aref cannot guarantee async safety")
        if len({cast(MemDescType, value.type).get_shape()[0] for value in self.buffers}) > 1:
            raise VerifyException("Leading dims of sliced aref inputs don't match.")


class ArefBufferOp(Op):
    """The buffers of an entered reference."""

    name = "nvws.aref.buffer"

    aref = operand_def(ArefType)
    token = operand_def(_TOKEN)
    stage = opt_operand_def(i32)
    buffers = var_result_def(MemDescType)
    custom_directives = (Aref,)
    assembly_format = "$aref (`[` $stage^ `]`)? `,` $token attr-dict `:` custom<Aref>(type($aref)) `,` type($token) `->` type($buffers)"


class _ArefEnter(Op):
    """What entering a reference to read and to write have in common."""

    aref = operand_def(ArefType)
    stage = opt_operand_def(i32)
    phase = opt_operand_def(i32)
    buffers = var_result_def(MemDescType)
    token = result_def(_TOKEN)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    custom_directives = (Aref,)
    assembly_format = "$aref (`[` $stage^ `,` $phase `]`)? attr-dict `:` custom<Aref>(type($aref)) `->` type(results)"

    def verify_(self) -> None:
        aref_types = cast(ArefType, self.aref.type).base_type.data
        if len(aref_types) != len(self.buffers):
            raise VerifyException("Aref has different number of arguments than enter")
        for whole, value in zip(aref_types, self.buffers, strict=True):
            complaint = _slice_complaint(cast(MemDescType, whole), value.type)
            if complaint is not None:
                raise VerifyException(complaint)


def _slice_complaint(whole: MemDescType, part: MemDescType) -> str | None:
    if whole.encoding.name == "ttng.tensor_memory_scales_encoding":
        if whole.element_type != part.element_type or whole.get_num_dims() != part.get_num_dims():
            return "Ranks don't match for TensorMemoryScalesEncodingAttr"
        if whole.get_shape() != part.get_shape():
            return "Dimensions don't match for TensorMemoryScalesEncodingAttr"
        return None
    if whole.element_type != part.element_type or whole.get_num_dims() - 1 != part.get_num_dims():
        return "Ranks don't match"
    return None if whole.get_shape()[1:] == part.get_shape() else "Dimensions don't match"


class ArefGetEnterOp(_ArefEnter):
    """Waits until the buffers are full; they may be read until the matching exit."""

    name = "nvws.aref.get.enter"


class ArefPutEnterOp(_ArefEnter):
    """Waits until the buffers are empty; they may be written until the matching exit."""

    name = "nvws.aref.put.enter"


class _ArefExit(Op):
    """What leaving a reference after reading and after writing have in common."""

    aref = operand_def(ArefType)
    token = operand_def(_TOKEN)
    stage = opt_operand_def(i32)
    async_ops = prop_def(ArrayAttr)
    custom_directives = (Aref,)
    assembly_format = (
        "$aref (`[` $stage^ `]`)? `,` $token $async_ops attr-dict `:` custom<Aref>(type($aref)) `,` type($token)"
    )


class ArefGetExitOp(_ArefExit):
    """The buffers have been read once `async_ops` are done."""

    name = "nvws.aref.get.exit"


class ArefPutExitOp(_ArefExit):
    """The buffers are full once `async_ops` are done."""

    name = "nvws.aref.put.exit"


class WarpGroupOp(Op):
    """Groups of warps that each run a region; the first one gives the results. Becomes `ttg.warp_specialize`."""

    name = "nvws.warp_group"

    num_warps = prop_def(DenseArrayBase.constr(i32), prop_name="numWarps")
    results_ = var_result_def()
    partition_regions = var_region_def()
    traits = traits_def(RecursiveMemoryEffect(), RecursivelySpeculatable(), NoTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> WarpGroupOp:
        found = parser.parse_optional_attr_dict_with_keyword()
        attributes = dict(found.data) if found is not None else {}
        num_warps: list[int] = []
        regions: list[Region] = []
        while parser.parse_optional_keyword(f"partition{len(regions)}") is not None:
            parser.parse_keyword("num_warps")
            with parser.in_parens():
                num_warps.append(parser.parse_integer())
            regions.append(parser.parse_region())
        properties = {"numWarps": i32_array(tuple(num_warps))}
        return cls.create(properties=properties, attributes=attributes, regions=regions)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(dict(sorted(self.attributes.items())), print_keyword=True)
        for index, (region, warps) in enumerate(zip(self.regions, self.num_warps.get_values(), strict=True)):
            printer.print_string(f"\npartition{index} num_warps({warps}) ")
            printer.print_region(region, print_entry_block_args=False)

    def verify_(self) -> None:
        if len(self.num_warps.get_values()) != len(self.regions):
            raise VerifyException("Must supply numWarps for each Warp Group.")


class WarpGroupYieldOp(Op):
    """Ends the first region of a warp group and gives its results."""

    name = "nvws.warp_group.yield"

    values = var_operand_def()
    traits = traits_def(Pure(), IsTerminator(), ReturnLike(), HasParent(WarpGroupOp))
    assembly_format = "($values^)? attr-dict (`:` type($values)^)?"


class WarpGroupReturnOp(Op):
    """Ends a region of a warp group."""

    name = "nvws.warp_group.return"

    traits = traits_def(Pure(), IsTerminator(), HasParent(WarpGroupOp))
    assembly_format = "attr-dict"


class TokenLoadType(StrEnum):
    """What fills the buffers that a token guards; its number in the IR is its position."""

    NONE = "none"
    ASYNC_LOAD_OP = "asyncLoadOp"
    TMA_LOAD_OP = "tmaLoadOp"
    LOCAL_STORE_OP = "localStoreOp"
    TMEM_LOAD_OP = "TmemLoadOp"


class CreateTokenOp(Op):
    """A channel of `numBuffers` buffers between a producer and a consumer."""

    name = "nvws.create_token"

    LOAD_TYPES: ClassVar[tuple[TokenLoadType, ...]] = tuple(TokenLoadType)

    num_buffers = prop_def(IntegerAttr.constr(i32), prop_name="numBuffers")
    load_type = prop_def(IntegerAttr.constr(i32), prop_name="loadType")
    result = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, *, num_buffers: int, load_type: TokenLoadType) -> None:
        Operation.__init__(
            self,
            result_types=(TensorType(TokenType(), (num_buffers,)),),
            properties={"numBuffers": i32_attr(num_buffers), "loadType": i32_attr(self.LOAD_TYPES.index(load_type))},
        )


class _WaitOp(Op):
    """Base of waiting for buffer `idx` of a channel."""

    token = operand_def(TensorType)
    idx = operand_def(i32)
    phase = operand_def(i1)
    assembly_format = "$token `,` $idx `,` $phase attr-dict `:` type(operands)"

    @from_fields
    def __init__(self, token: SSAValue, idx: SSAValue, phase: SSAValue) -> None: ...


class _HandOverOp(Op):
    """Base of handing buffer `idx` of a channel to the other side."""

    token = operand_def(TensorType)
    idx = operand_def(i32)
    assembly_format = "$token `,` $idx attr-dict `:` type(operands)"

    @from_fields
    def __init__(self, token: SSAValue, idx: SSAValue) -> None: ...


class ProducerAcquireOp(_WaitOp):
    """The producer waits until buffer `idx` is empty."""

    name = "nvws.producer_acquire"


class ProducerCommitOp(_HandOverOp):
    """The producer says that buffer `idx` is full."""

    name = "nvws.producer_commit"


class ConsumerWaitOp(_WaitOp):
    """The consumer waits until buffer `idx` is full."""

    name = "nvws.consumer_wait"


class ConsumerReleaseOp(_HandOverOp):
    """The consumer says that buffer `idx` is empty."""

    name = "nvws.consumer_release"


class DescriptorLoadOp(Op):
    """`tt.descriptor_load` whose block goes to the buffer `destination`."""

    name = "nvws.descriptor_load"

    desc = operand_def(TensorDescType)
    indices = var_operand_def(i32)
    destination = operand_def(MemDescType)
    tx_count = prop_def(IntegerAttr.constr(i32), prop_name="txCount")
    cache = prop_def(CacheModifierAttr, default_value=NO_MODIFIER)
    evict = prop_def(EvictionPolicyAttr, default_value=NORMAL)
    custom_directives = (CacheClauses,)
    assembly_format = (
        "$desc `[` $indices `]` $txCount $destination custom<CacheClauses>($cache, $evict) attr-dict `:` type(operands)"
    )
    traits = traits_def(OperandEffects(reads=(("desc", GLOBAL),), writes=(("destination", SHARED),)))


class DescriptorGatherOp(Op):
    """`tt.descriptor_gather` whose rows go to the buffer `destination`."""

    name = "nvws.descriptor_gather"

    desc = operand_def(TensorDescType)
    x_offsets = operand_def(TensorType)
    y_offset = operand_def(i32)
    destination = operand_def(MemDescType)
    tx_count = prop_def(IntegerAttr.constr(i32), prop_name="txCount")
    traits = traits_def(OperandEffects(reads=(("desc", GLOBAL),), writes=(("destination", SHARED),)))
    assembly_format = "$desc `[` $x_offsets `,` $y_offset `]` $txCount $destination attr-dict `:` type(operands)"


NVWS = Dialect("nvws", *declared("nvws", globals()))
