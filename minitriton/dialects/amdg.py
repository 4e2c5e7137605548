"""The `amdg` dialect: what AMD GPUs have of their own. Passes make `buffer_load` and `buffer_store`; the others parse, print and verify.

%v = amdg.buffer_load %ptr[%offsets], %mask, %other cacheModifier = ca : tensor<64x64xf32, #blocked>
%t = amdg.async_tdm_copy_global_to_local %desc[%i, %j] into %buffer, %pred : !tt.tensordesc<...> -> !ttg.memdesc<...>

Counterpart of Triton's third_party/amd/include/Dialect/TritonAMDGPU/IR.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar, cast

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, TensorType, i1, i32
from xdsl.ir import Attribute, Data, Dialect, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    VariadicOperandVariable,
)
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure

from minitriton.dialects.amdg_slices import ConcatOp as ConcatOp
from minitriton.dialects.amdg_slices import ExtractSliceOp as ExtractSliceOp
from minitriton.dialects.amdg_slices import packed_complaint, transpose_complaint, upcast_complaint
from minitriton.dialects.attribute_values import i32_attr
from minitriton.dialects.facts import KeepsData
from minitriton.dialects.facts.gpu_traits import GLOBAL, SHARED, OperandEffects, VerifyTensorLayouts, require
from minitriton.dialects.facts.layout import UnpacksScaledFp4
from minitriton.dialects.facts.synchronization import ScratchBarrier, WaitsForCopies
from minitriton.dialects.fast_paths.op_definition import Op, declared, directive
from minitriton.dialects.tt.enums import (
    CacheModifierAttr,
    MemSemanticAttr,
    MemSyncScopeAttr,
    RMWOpAttr,
    ScaleDotElemType,
    ScaleDotElemTypeAttr,
)
from minitriton.dialects.tt.format import Pointer
from minitriton.dialects.tt.memory import NO_MODIFIER
from minitriton.dialects.tt.traits import I32_TENSOR, PTR, TENSOR, VerifiedElementwise, follows, var
from minitriton.dialects.tt.types import (
    TensorDescType,
    element_type,
    i1_same_shape,
    pointer_type,
    with_element,
)
from minitriton.dialects.ttg.format import MemDesc
from minitriton.dialects.ttg.types import AsyncTokenType, MemDescType
from minitriton.dialects.ttg.verify import fp4_to_fp_complaint

_TOKEN = AsyncTokenType()
_I32 = IntegerAttr.constr(i32)
_POINTER = ("ptr", GLOBAL)
_CACHE = "(`cacheModifier` `=` $cache^)?"
_STRIDE = "(`stride` `=` $stride^)?"


@directive
class TypeOrSpace(CustomDirective):
    """The type of an operand; a space if it is not there, as MLIR writes it."""

    type: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        type_ = parser.parse_optional_type()
        self.type.set(state, () if type_ is None else (type_,))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_list(self.type.get(op), printer.print_attribute)


@directive
class TokensOrSpace(CustomDirective):
    """Tokens; a space if there are none, as MLIR writes it."""

    tokens: VariadicOperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        tokens: list[UnresolvedOperand] = []
        while (token := parser.parse_optional_unresolved_operand()) is not None:
            tokens.append(token)
            parser.parse_optional_punctuation(",")
        self.tokens.set(state, tokens)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        printer.print_string(" ")
        printer.print_list(self.tokens.get(op), printer.print_ssa_value)


_VALUES = var("V", TENSOR)
_POINTER_TO_VALUES = follows(
    "V", lambda type: pointer_type(element_type(type)), "element type matches the pointed type of ptr"
)
_OFFSETS = follows("V", lambda type: with_element(type, i32), "values and offsets have the same shape")
_MASK = follows("V", i1_same_shape, "values and mask have the same shape")


class BufferLoadOp(Op):
    """Loads at `offsets` elements from a scalar pointer; `other` where `mask` is false. `stride`: bytes between rows, for the cache."""

    name = "amdg.buffer_load"

    ptr = operand_def(_POINTER_TO_VALUES)
    offsets = operand_def(_OFFSETS)
    stride = opt_operand_def(i32)
    cache = prop_def(CacheModifierAttr, default_value=NO_MODIFIER)
    mask = opt_operand_def(_MASK)
    other = opt_operand_def(_VALUES)
    result = result_def(_VALUES)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(OperandEffects(reads=(_POINTER,)), VerifyTensorLayouts())
    assembly_format = (
        f"$ptr `[` $offsets `]` (`,` $mask^)? (`,` $other^)? {_CACHE} {_STRIDE} attr-dict `:` type($result)"
    )


class BufferLoadToLocalOp(Op):
    """Starts copying what a `BufferLoadOp` would load to shared memory. `contiguity`: elements that one access may take."""

    OFFSETS: ClassVar = var("O", I32_TENSOR)
    BASE: ClassVar = var("P", PTR)

    name = "amdg.buffer_load_to_local"

    dest = operand_def(MemDescType)
    ptr = operand_def(BASE)
    offsets = operand_def(OFFSETS)
    mask = opt_operand_def(follows("O", i1_same_shape, "infer mask shape from offsets"))
    other = opt_operand_def(TENSOR)
    stride = opt_operand_def(i32)
    cache = prop_def(CacheModifierAttr, default_value=NO_MODIFIER)
    contiguity = prop_def(_I32, default_value=i32_attr(1))
    token = result_def(_TOKEN)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    custom_directives = (MemDesc, Pointer, TypeOrSpace)
    traits = traits_def(OperandEffects(reads=(_POINTER,), writes=(("dest", SHARED),)), VerifyTensorLayouts())
    assembly_format = (
        f"$ptr `[` $offsets `]` (`mask` `=` $mask^)? (`other` `=` $other^)? {_STRIDE} {_CACHE} `into` $dest attr-dict `:` "
        "custom<Pointer>(type($ptr)) `` `[` type($offsets) `]` custom<TypeOrSpace>(type($other)) `->` "
        "custom<MemDesc>(type($dest))"
    )


class BufferStoreOp(Op):
    """Stores at `offsets` elements from a scalar pointer, where `mask` is true."""

    name = "amdg.buffer_store"

    value = operand_def(_VALUES)
    ptr = operand_def(_POINTER_TO_VALUES)
    offsets = operand_def(_OFFSETS)
    stride = opt_operand_def(i32)
    cache = prop_def(CacheModifierAttr, default_value=NO_MODIFIER)
    mask = opt_operand_def(_MASK)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(OperandEffects(writes=(_POINTER,)), VerifyTensorLayouts())
    assembly_format = f"$value `,` $ptr `[` $offsets `]` (`,` $mask^)? {_CACHE} {_STRIDE} attr-dict `:` type($value)"


class BufferAtomicRMWOp(Op):
    """`tt.atomic_rmw` at `offsets` elements from a scalar pointer."""

    name = "amdg.buffer_atomic_rmw"

    atomic_rmw_op = prop_def(RMWOpAttr)
    ptr = operand_def(_POINTER_TO_VALUES)
    offsets = operand_def(_OFFSETS)
    value = operand_def(_VALUES)
    stride = opt_operand_def(i32)
    sem = prop_def(MemSemanticAttr)
    scope = prop_def(MemSyncScopeAttr)
    mask = opt_operand_def(_MASK)
    result = result_def(_VALUES)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(OperandEffects(reads=(_POINTER,), writes=(_POINTER,)), VerifyTensorLayouts(), ScratchBarrier())
    assembly_format = (
        "$atomic_rmw_op `,` $sem `,` $scope `,` $value `,` $ptr `[` $offsets `]` (`,` $mask^)? "
        f"{_STRIDE} attr-dict `:` type($result)"
    )


class BufferAtomicCASOp(Op):
    """`tt.atomic_cas` at `offsets` elements from a scalar pointer."""

    name = "amdg.buffer_atomic_cas"

    ptr = operand_def(_POINTER_TO_VALUES)
    offsets = operand_def(_OFFSETS)
    cmp = operand_def(_VALUES)
    val = operand_def(_VALUES)
    stride = opt_operand_def(i32)
    sem = prop_def(MemSemanticAttr)
    scope = prop_def(MemSyncScopeAttr)
    result = result_def(_VALUES)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(OperandEffects(reads=(_POINTER,), writes=(_POINTER,)), VerifyTensorLayouts(), ScratchBarrier())
    assembly_format = (
        f"$sem `,` $scope `,` $cmp `,` $val `,` $ptr `[` $offsets `]` {_STRIDE} attr-dict `:` type($result)"
    )


class UpcastMXFPOp(Op):
    """Microscaled numbers as wider floats times 2^(scale - 127): `src` has them, widened already if they have 8 bits, pairs of fp4 along k else."""

    name = "amdg.upcast_mxfp"

    src = operand_def(TENSOR)
    scale = operand_def(TENSOR)
    fp_type = prop_def(ScaleDotElemTypeAttr)
    fast_math = prop_def(BoolAttr, prop_name="fastMath")
    result = result_def(TENSOR)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure(), VerifyTensorLayouts())
    assembly_format = (
        "$src `,` $scale `fp_type` `=` $fp_type attr-dict `:` type($src) `,` type($scale) `->` type($result)"
    )

    def __init__(self, src: SSAValue, scale: SSAValue, fp_type: str, fast_math: bool, result: Attribute) -> None:
        properties = {
            "fp_type": ScaleDotElemTypeAttr(ScaleDotElemType(fp_type)),
            "fastMath": BoolAttr.from_bool(fast_math),
        }
        super().__init__(operands=[src, scale], properties=properties, result_types=[result])

    def verify_(self) -> None:
        source, scale = cast(TensorType, self.src.type), cast(TensorType, self.scale.type)
        require(self, upcast_complaint(source, scale, self.fp_type.data))


class ScaledUpcastFp4Op(Op):
    """Pairs of fp4 in bytes, along `axis`, as wider floats times `scale`."""

    name = "amdg.scaled_upcast_fp4"

    input = operand_def(TENSOR)
    scale = operand_def(TENSOR)
    axis = prop_def(_I32)
    output = result_def(TENSOR)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure(), VerifyTensorLayouts(), UnpacksScaledFp4(), KeepsData())
    assembly_format = "$input `scale` $scale attr-dict `:` type($input) `,` type($scale) `->` type($output)"

    def __init__(self, input: SSAValue, scale: SSAValue, axis: int, output: Attribute) -> None:
        super().__init__(operands=[input, scale], properties={"axis": i32_attr(axis)}, result_types=[output])

    def verify_(self) -> None:
        source, scale, output = (cast(TensorType, value.type) for value in (self.input, self.scale, self.output))
        if scale.get_shape() != output.get_shape() or scale.encoding != output.encoding:
            require(self, f"scale and output should have the same shape and encoding, found {scale} and {output}")
        require(self, fp4_to_fp_complaint(source, output, self.axis.value.data))


class ScaledUpcastFp8Op(Op):
    """Floats of 8 bits as wider ones times `scale`."""

    name = "amdg.scaled_upcast_fp8"

    input = operand_def(TENSOR)
    scale = operand_def(TENSOR)
    output = result_def(TENSOR)
    traits = traits_def(Pure(), VerifyTensorLayouts(), VerifiedElementwise(), KeepsData())
    assembly_format = "$input `scale` $scale attr-dict `:` type($input) `,` type($scale) `->` type($output)"

    def __init__(self, input: SSAValue, scale: SSAValue, output: Attribute) -> None:
        super().__init__(operands=[input, scale], result_types=[output])


class InThreadTransposeOp(Op):
    """The last two dimensions are swapped in the registers of each thread. A conversion of layouts that is not removed."""

    name = "amdg.in_thread_transpose"

    src = operand_def(TENSOR)
    result = result_def(TENSOR)
    traits = traits_def(Pure())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: SSAValue, result: Attribute) -> None:
        super().__init__(operands=[src], result_types=[result])

    def verify_(self) -> None:
        require(self, transpose_complaint(cast(TensorType, self.src.type), cast(TensorType, self.result.type)))


class LocalLoadPackedTransposedOp(Op):
    """Reads bytes of two elements each, packed and contiguous along m or n in shared memory, as bytes packed along k."""

    name = "amdg.local_load_packed_tranposed"

    src = operand_def(MemDescType)
    token = opt_operand_def(_TOKEN)
    result = result_def(TENSOR)
    traits = traits_def(OperandEffects(reads=(("src", SHARED),)), VerifyTensorLayouts())
    assembly_format = "$src (`token` $token^)? attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: SSAValue, result: Attribute) -> None:
        super().__init__(operands=[src, []], result_types=[result])

    def verify_(self) -> None:
        require(self, packed_complaint(self.src.type, cast(TensorType, self.result.type)))


class SchedHint(StrEnum):
    """What a loop is for LLVM's scheduler."""

    NONE = "none"
    ATTENTION = "attention"


@irdl_attr_definition
class SchedHintVariantAttr(Data[SchedHint]):
    """`#amdg.SchedHintVariant<attention>`."""

    name = "amdg.SchedHintVariant"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> SchedHint:
        with parser.in_angle_brackets():
            word = parser.parse_identifier("hint")
        if word not in SchedHint.__members__.values():
            parser.raise_error(f"expected one of {', '.join(SchedHint)}, got {word}")
        return SchedHint(word)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.value}>")


class InstructionSchedHintOp(Op):
    """Marks the block that it is in for LLVM's scheduler."""

    name = "amdg.instruction_sched_hint"

    variant = prop_def(SchedHintVariantAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def __init__(self, variant: str) -> None:
        super().__init__(properties={"variant": SchedHintVariantAttr(SchedHint(variant))})


class CondBarrierOp(Op):
    """A barrier for the threads with `pred` only: waves are made to run apart, and together again by the others' barrier. It orders no memory."""

    name = "amdg.cond_barrier"

    pred = operand_def(i1)
    assembly_format = "$pred attr-dict"

    def __init__(self, pred: SSAValue) -> None:
        super().__init__(operands=[pred])


class MemoryCounterWaitOp(Op):
    """Waits until at most so many loads, stores, accesses of LDS are outstanding."""

    name = "amdg.memory_counter_wait"

    load = opt_prop_def(_I32)
    store = opt_prop_def(_I32)
    ds = opt_prop_def(_I32)
    assembly_format = "(`load` `(` $load^ `)`)? (`store` `(` $store^ `)`)? (`ds` `(` $ds^ `)`)? attr-dict"

    def __init__(self, ds: int) -> None:
        super().__init__(properties={"ds": i32_attr(ds)})


class AsyncWaitOp(Op):
    """Waits until at most `num_inst` copying instructions are outstanding."""

    name = "amdg.async_wait"

    tokens = var_operand_def(_TOKEN)
    num_inst = prop_def(_I32)
    token = result_def(_TOKEN)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(WaitsForCopies())
    assembly_format = "($tokens^)? attr-dict"

    def __init__(self, tokens: Sequence[SSAValue], num_inst: int) -> None:
        super().__init__(operands=[tokens], properties={"num_inst": i32_attr(num_inst)}, result_types=[_TOKEN])


class AsyncTDMCopyGlobalToLocalOp(Op):
    """Starts copying the block of `desc` at `indices` to `result`, where `pred` holds; arrives at `barrier` when it is done."""

    name = "amdg.async_tdm_copy_global_to_local"

    desc = operand_def(TensorDescType)
    indices = var_operand_def(i32)
    result = operand_def(MemDescType)
    pred = operand_def(i1)
    barrier = opt_operand_def(MemDescType)
    token = result_def(_TOKEN)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(
        OperandEffects(reads=(("desc", GLOBAL),), writes=(("result", SHARED), ("barrier", SHARED))),
        VerifyTensorLayouts(),
    )
    assembly_format = (
        "$desc `[` $indices `]` `into` $result `,` $pred (`,` `barrier` `=` $barrier^)? attr-dict "
        "`:` type($desc) (`,` type($barrier)^)? `->` type($result)"
    )


class AsyncTDMCopyLocalToGlobalOp(Op):
    """Starts copying `src` to the block of `desc` at `indices`."""

    name = "amdg.async_tdm_copy_local_to_global"

    desc = operand_def(TensorDescType)
    indices = var_operand_def(i32)
    src = operand_def(MemDescType)
    traits = traits_def(OperandEffects(reads=(("src", SHARED),), writes=(("desc", GLOBAL),)), VerifyTensorLayouts())
    assembly_format = "$desc `[` $indices `]` `from` $src attr-dict `:` type($src) `->` type($desc)"


class AsyncTDMWaitOp(Op):
    """Waits until at most `num` copies of blocks are in flight."""

    name = "amdg.async_tdm_wait"

    async_token = var_operand_def(_TOKEN)
    num = prop_def(_I32)
    ret_token = result_def(_TOKEN)
    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (TokensOrSpace,)
    traits = traits_def(OperandEffects(), VerifyTensorLayouts())
    assembly_format = "custom<TokensOrSpace>($async_token) attr-dict"


_READS_AND_WRITES_ALLOC = OperandEffects(reads=(("alloc", SHARED),), writes=(("alloc", SHARED),))


class InitBarrierOp(Op):
    """Makes `alloc` a barrier that expects `count` arrivals a phase."""

    name = "amdg.init_barrier"

    alloc = operand_def(MemDescType)
    count = prop_def(_I32)
    traits = traits_def(OperandEffects(writes=(("alloc", SHARED),)), VerifyTensorLayouts())
    assembly_format = "$alloc `,` $count attr-dict `:` type($alloc)"


class WaitBarrierOp(Op):
    """Waits until the phase `phase` is complete."""

    name = "amdg.wait_barrier"

    alloc = operand_def(MemDescType)
    phase = operand_def(i32)
    traits = traits_def(_READS_AND_WRITES_ALLOC, VerifyTensorLayouts())
    assembly_format = "$alloc `,` $phase attr-dict `:` type($alloc)"


class ArriveBarrierOp(Op):
    """Arrives `count` times, and gives the phase before."""

    name = "amdg.arrive_barrier"

    alloc = operand_def(MemDescType)
    count = prop_def(_I32)
    result = result_def(i32)
    traits = traits_def(_READS_AND_WRITES_ALLOC, VerifyTensorLayouts())
    assembly_format = "$alloc `,` $count attr-dict `:` type($alloc) `->` type($result)"


class AsyncCopyMbarrierArriveOp(Op):
    """Arrives at `barrier` once earlier copies to shared memory are done."""

    name = "amdg.async_copy_mbarrier_arrive"

    barrier = operand_def(MemDescType)
    traits = traits_def(
        OperandEffects(reads=(("barrier", SHARED),), writes=(("barrier", SHARED),)), VerifyTensorLayouts()
    )
    assembly_format = "$barrier attr-dict `:` type($barrier)"


AMDG = Dialect("amdg", *declared("amdg", globals()))
