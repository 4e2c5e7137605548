"""Tensor memory (sm_100) in `ttng`: its attributes and ops, which parse, print and verify loosely; no pass of this compiler makes or lowers them.

#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
%d, %t = ttng.tmem_alloc : () -> (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
%t2 = ttng.tc_gen5_mma %a, %b, %d[%t], %use_d, %pred, %bar[%p] {is_async} : ...
"""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.dialects.builtin import IntAttr, IntegerAttr, TensorType, UnitAttr, i1, i32
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    ParsePropInAttrDict,
    irdl_attr_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.facts.gpu_traits import SHARED, TENSOR, OperandEffects, VerifyTensorLayouts
from minitriton.dialects.facts.layout import LayoutAnchor
from minitriton.dialects.facts.synchronization import OfAsyncProxy, TensorCoreReads
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.tt.enums import ScaleDotElemTypeAttr
from minitriton.dialects.ttg.format import Barriers, Token
from minitriton.dialects.ttg.types import AsyncTokenType, MemDescType


def _parse_struct(parser: AttrParser, defaults: dict[str, int | None]) -> list[int]:
    """`key = value` pairs in any order; a key with default None must be there."""
    found: dict[str, int] = {}

    def entry() -> None:
        key = parser.parse_identifier()
        if key not in defaults:
            parser.raise_error(f"unexpected key: {key}")
        parser.parse_punctuation("=")
        found[key] = parser.parse_integer()

    parser.parse_comma_separated_list(parser.Delimiter.ANGLE, entry)
    values: list[int] = []
    for key, default in defaults.items():
        if key in found:
            values.append(found[key])
        elif default is not None:
            values.append(default)
        else:
            parser.raise_error(f"struct is missing required parameter: {key}")
    return values


@irdl_attr_definition
class TensorMemorySpaceAttr(ParametrizedAttribute):
    """The memory space of tensor memory: `#ttng.tensor_memory`."""

    name = "ttng.tensor_memory"
    ALIAS: ClassVar[str | None] = None


TMEM = TensorMemorySpaceAttr()


@irdl_attr_definition
class TensorMemoryEncodingAttr(ParametrizedAttribute):
    """Blocks of `block_m` x `block_n` elements over the rows and columns of tensor memory."""

    name = "ttng.tensor_memory_encoding"
    ALIAS: ClassVar[str | None] = "tmem"

    block_m: IntAttr
    block_n: IntAttr
    col_stride: IntAttr
    cta_split_m: IntAttr
    cta_split_n: IntAttr
    two_ctas: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        defaults: dict[str, int | None] = {
            "blockM": None,
            "blockN": None,
            "colStride": None,
            "CTASplitM": 1,
            "CTASplitN": 1,
            "twoCTAs": 0,
        }
        return [IntAttr(value) for value in _parse_struct(parser, defaults)]

    def print_parameters(self, printer: Printer) -> None:
        text = f"<blockM = {self.block_m.data}, blockN = {self.block_n.data}, colStride = {self.col_stride.data}"
        if self.cta_split_m.data != 1:
            text += f", CTASplitM = {self.cta_split_m.data}"
        if self.cta_split_n.data != 1:
            text += f", CTASplitN = {self.cta_split_n.data}"
        if self.two_ctas.data:
            text += ", twoCTAs = true"
        printer.print_string(text + ">")


@irdl_attr_definition
class TensorMemoryScalesEncodingAttr(ParametrizedAttribute):
    """The arrangement of block scales in tensor memory."""

    name = "ttng.tensor_memory_scales_encoding"
    ALIAS: ClassVar[str | None] = "tmem_scales"

    cta_split_m: IntAttr
    cta_split_n: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        return [IntAttr(value) for value in _parse_struct(parser, {"CTASplitM": 1, "CTASplitN": 1})]

    def print_parameters(self, printer: Printer) -> None:
        parts = [
            f"{name} = {value.data}"
            for name, value in (("CTASplitM", self.cta_split_m), ("CTASplitN", self.cta_split_n))
            if value.data != 1
        ]
        printer.print_string("<" + ", ".join(parts) + ">")


_TOKEN = AsyncTokenType()


def _element_type(value: SSAValue) -> Attribute:
    return cast(MemDescType, value.type).element_type


_KINDS = {"f32": "tf32", "f16": "f16", "bf16": "f16", "f8E4M3FN": "f8f6f4", "f8E5M2": "f8f6f4", "i8": "f8f6f4"}
_ACCUMULATORS = {
    "f32": ("f32",),
    "f16": ("f16", "f32"),
    "bf16": ("f32",),
    "f8E4M3FN": ("f16", "f32"),
    "f8E5M2": ("f16", "f32"),
    "i8": ("f16", "f32"),
}


def _verify_mma_types(op: Operation, a: SSAValue, b: SSAValue, d: SSAValue) -> None:
    a_name, b_name, d_name = (str(_element_type(value)) for value in (a, b, d))
    for side, name in (("LHS", a_name), ("RHS", b_name)):
        if name not in _KINDS:
            raise VerifyException(f"'{op.name}' op unsupported {side} operand dtype: '{name}'")
    if _KINDS[a_name] != _KINDS[b_name]:
        raise VerifyException(
            f"'{op.name}' op LHS and RHS operand dtypes kinds don't match: "
            f"LHS kind is {_KINDS[a_name]} but RHS kind is {_KINDS[b_name]}"
        )
    if d_name not in _ACCUMULATORS[a_name] or d_name not in _ACCUMULATORS[b_name]:
        allowed = ", ".join(f"'{name}'" for name in _ACCUMULATORS[a_name])
        raise VerifyException(
            f"'{op.name}' op unsupported accumulator dtype for operand types '{a_name}' and '{b_name}', "
            f"accumulator dtype is '{d_name}' but must be one of [{allowed}]"
        )


class TCGen5MMAOp(Op):
    """`d += a * b` (`d = a * b` where `use_d` is false) by the tensor cores of sm_100."""

    name = "ttng.tc_gen5_mma"

    a = operand_def(MemDescType)
    b = operand_def(MemDescType)
    d = operand_def(MemDescType)
    acc_dep = opt_operand_def(_TOKEN)
    use_d = operand_def(i1)
    pred = operand_def(i1)
    barriers = var_operand_def(MemDescType)
    barrier_preds = var_operand_def(i1)
    is_async = opt_prop_def(UnitAttr)
    two_ctas = opt_prop_def(UnitAttr)
    token = opt_result_def(_TOKEN)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    custom_directives = (Barriers, Token)
    assembly_format = (
        "$a `,` $b `,` $d custom<Token>($acc_dep, type($token)) `,` $use_d `,` $pred "
        "custom<Barriers>($barriers, $barrier_preds) attr-dict "
        "`:` type($a) `,` type($b) `,` type($d) (`,` type($barriers)^)?"
    )
    traits = traits_def(
        OperandEffects(reads=(("a", SHARED), ("b", SHARED), ("d", TENSOR)), writes=(("d", TENSOR),)),
        VerifyTensorLayouts(),
        TensorCoreReads(),
    )

    def verify_(self) -> None:
        if self.is_async is None and self.barriers:
            raise VerifyException(f"'{self.name}' op The op is synchronous but a barrier is present.")
        _verify_mma_types(self, self.a, self.b, self.d)


class TCGen5MMAScaledOp(Op):
    """`d += scale(a) * scale(b)` by the tensor cores of sm_100."""

    name = "ttng.tc_gen5_mma_scaled"

    a = operand_def(MemDescType)
    b = operand_def(MemDescType)
    d = operand_def(MemDescType)
    acc_dep = opt_operand_def(_TOKEN)
    a_scale = operand_def(MemDescType)
    b_scale = operand_def(MemDescType)
    use_d = operand_def(i1)
    pred = operand_def(i1)
    barriers = var_operand_def(MemDescType)
    barrier_preds = var_operand_def(i1)
    a_type = prop_def(ScaleDotElemTypeAttr)
    b_type = prop_def(ScaleDotElemTypeAttr)
    is_async = opt_prop_def(UnitAttr)
    token = opt_result_def(_TOKEN)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    custom_directives = (Barriers, Token)
    assembly_format = (
        "$a `,` $b `,` $d custom<Token>($acc_dep, type($token)) `,` $a_scale `,` $b_scale `,` $use_d `,` $pred "
        "`lhs` `=` $a_type `rhs` `=` $b_type custom<Barriers>($barriers, $barrier_preds) attr-dict "
        "`:` type($a) `,` type($b) `,` type($d) `,` type($a_scale) `,` type($b_scale) (`,` type($barriers)^)?"
    )
    traits = traits_def(
        OperandEffects(
            reads=(("a", SHARED), ("b", SHARED), ("d", TENSOR), ("a_scale", TENSOR), ("b_scale", TENSOR)),
            writes=(("d", TENSOR),),
        ),
        VerifyTensorLayouts(),
        TensorCoreReads(),
    )

    def verify_(self) -> None:
        _verify_mma_types(self, self.a, self.b, self.d)


class TCGen5CommitOp(Op):
    """Lets `barrier` track all earlier asynchronous dots."""

    name = "ttng.tc_gen5_commit"

    barrier = operand_def(MemDescType)
    pred = opt_operand_def(i1)
    two_ctas = opt_prop_def(UnitAttr)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(OperandEffects(writes=(("barrier", SHARED),)), VerifyTensorLayouts())
    assembly_format = "$barrier (`,` $pred^)? attr-dict `:` type($barrier)"


class TMEMLoadOp(Op):
    """Loads a buffer of tensor memory into registers."""

    name = "ttng.tmem_load"

    src = operand_def(MemDescType)
    dep = opt_operand_def(_TOKEN)
    result = result_def(TensorType)
    token = opt_result_def(_TOKEN)
    custom_directives = (Token,)
    assembly_format = "$src custom<Token>($dep, type($token)) attr-dict `:` type($src) `->` type($result)"
    traits = traits_def(OperandEffects(reads=(("src", TENSOR),)), VerifyTensorLayouts(), LayoutAnchor())

    def verify_(self) -> None:
        source, result = cast(MemDescType, self.src.type), self.result.type
        if (source.get_shape(), source.element_type) != (result.get_shape(), result.element_type):
            raise VerifyException(f"'{self.name}' op expected a tensor like '{source}', found '{result}'")


class TMEMStoreOp(Op):
    """Stores registers into a buffer of tensor memory."""

    name = "ttng.tmem_store"

    dst = operand_def(MemDescType)
    dep = opt_operand_def(_TOKEN)
    src = operand_def(TensorType)
    pred = operand_def(i1)
    token = opt_result_def(_TOKEN)
    custom_directives = (Token,)
    assembly_format = (
        "$src `,` $dst custom<Token>($dep, type($token)) `,` $pred attr-dict `:` type($src) `->` type($dst)"
    )
    traits = traits_def(OperandEffects(writes=(("dst", TENSOR),)), VerifyTensorLayouts())

    def verify_(self) -> None:
        if not cast(MemDescType, self.dst.type).mutable:
            raise VerifyException(f"'{self.name}' op Cannot store into an immutable alloc")


class TMEMAllocOp(Op):
    """Allocates a buffer in tensor memory, filled with `src` if given."""

    name = "ttng.tmem_alloc"

    src = opt_operand_def()
    result = result_def(MemDescType)
    token = opt_result_def(_TOKEN)
    traits = traits_def(
        OperandEffects(writes=(("result", TENSOR),), allocates=(("result", TENSOR),)), VerifyTensorLayouts()
    )
    assembly_format = "($src^)? attr-dict `:` functional-type(operands, results)"

    def verify_(self) -> None:
        if self.src is None and not self.result.type.mutable:
            raise VerifyException(f"'{self.name}' op uninitialized alloc must have a mutable memdesc type")


class TMEMSubSliceOp(Op):
    """The columns of a tensor-memory buffer from `N` on, as a view."""

    name = "ttng.tmem_subslice"

    src = operand_def(MemDescType)
    n = prop_def(IntegerAttr.constr(i32), prop_name="N")
    result = result_def(MemDescType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure(), VerifyTensorLayouts())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    @from_fields
    def __init__(self, src: SSAValue, result_type: Attribute, *, n: int) -> None: ...


class TMEMCopyOp(Op):
    """Starts copying a buffer of shared memory into tensor memory."""

    name = "ttng.tmem_copy"

    src = operand_def(MemDescType)
    dst = operand_def(MemDescType)
    barrier = opt_operand_def(MemDescType)
    traits = traits_def(
        OperandEffects(reads=(("src", SHARED),), writes=(("dst", TENSOR),)), VerifyTensorLayouts(), OfAsyncProxy()
    )
    assembly_format = "$src `,` $dst (`,` $barrier^)? attr-dict `:` type(operands)"

    def verify_(self) -> None:
        if not cast(MemDescType, self.dst.type).mutable:
            raise VerifyException(f"'{self.name}' op Cannot copy into an immutable alloc")
