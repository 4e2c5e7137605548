"""Ops of `ttng` for wgmma: the dot of a warp group, and waiting for it.

%d = ttng.warp_group_dot %a, %b, %c {inputPrecision = 0 : i32, isAsync = true}
     : !ttg.memdesc<128x64xf16, ...> * !ttg.memdesc<64x128xf16, ...> -> tensor<128x128xf32, #mma>
%e:3 = ttng.warp_group_dot_wait %d, %a, %b {pendings = 0 : i32} : tensor<...>, !ttg.memdesc<...>, !ttg.memdesc<...>
"""

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import Float8E4M3FNType, Float8E5M2Type, Float32Type, IntegerAttr, TensorType, i1, i32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    BaseAttr,
    ParsePropInAttrDict,
    RangeOf,
    RangeVarConstraint,
    VarConstraint,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import EffectInstance, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.attribute_values import FALSE, i32_attr
from minitriton.dialects.encodings import encoding_attr, layout_of
from minitriton.dialects.facts import Contraction, ForwardsOperands
from minitriton.dialects.facts.gpu_traits import SHARED, EffectsOfEach, VerifyTensorLayouts
from minitriton.dialects.facts.launch import num_warps
from minitriton.dialects.facts.layout import LayoutAnchor, NoLayoutRule
from minitriton.dialects.facts.synchronization import Kind, Starts, TensorCoreReads, Waits
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.enums import InputPrecision, InputPrecisionAttr
from minitriton.dialects.ttg.types import MemDescType
from minitriton.layouts import encodings as enc
from minitriton.layouts.properties import are_layouts_equivalent
from minitriton.layouts.to_linear import shape_per_cta


class _ReadsBuffers(EffectsOfEach):
    """Reads those of `a` and `b` that are in shared memory."""

    def get_effects(self, op: Operation) -> set[EffectInstance]:
        return {
            EffectInstance(MemoryEffectKind.READ, value, SHARED)
            for value in op.operands[:2]
            if isinstance(value.type, MemDescType)
        }


_IEEE = InputPrecisionAttr.of(InputPrecision.IEEE)


class WarpGroupDotOp(Op):
    """`a * b + c` by wgmma (`a * b` where `use_c` is false). `a` is a buffer or in registers, `b` a buffer.

    With `is_async` the result may be read only after a `ttng.warp_group_dot_wait`.
    """

    T: ClassVar = VarConstraint("T", BaseAttr(TensorType))

    name = "ttng.warp_group_dot"

    a = operand_def()
    b = operand_def(MemDescType)
    c = operand_def(T)
    use_c = opt_operand_def(i1)
    input_precision = prop_def(InputPrecisionAttr, default_value=_IEEE, prop_name="inputPrecision")
    max_num_imprecise_acc = prop_def(IntegerAttr.constr(i32), default_value=i32_attr(0), prop_name="maxNumImpreciseAcc")
    is_async = prop_def(IntegerAttr.constr(i1), default_value=FALSE, prop_name="isAsync")
    result = result_def(T)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$a `,` $b `,` $c (`,` $use_c^)? attr-dict `:` type($a) `*` type($b) `->` type($result)"
    traits = traits_def(
        _ReadsBuffers(),
        VerifyTensorLayouts(),
        LayoutAnchor(),
        Contraction(),
        TensorCoreReads(),
        Starts(Kind.DOT, reads=("a", "b", "c"), writes=("result",), flag="is_async"),
    )

    @from_fields
    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        c: SSAValue,
        use_c: SSAValue | None = None,
        *,
        input_precision: InputPrecision = InputPrecision.IEEE,
        max_num_imprecise_acc: int = 0,
        is_async: bool = False,
    ) -> None: ...

    def verify_(self) -> None:
        complaint = _wgmma_complaint(self)
        if complaint is not None:
            raise VerifyException(f"'{self.name}' op {complaint}")


_ACCUMULATORS = {
    "f16": ("f16", "f32"),
    "bf16": ("f32",),
    "f32": ("f32",),
    "f8E4M3FN": ("f16", "f32"),
    "f8E5M2": ("f16", "f32"),
    "i8": ("i32",),
}
"""By operand (f32 is read as tf32)."""


def _wgmma_complaint(op: WarpGroupDotOp) -> str | None:
    result_type = op.result.type
    layout = layout_of(result_type)
    if not isinstance(layout, enc.NvidiaMma) or not layout.is_hopper:
        return "WGMMA result layout must be Hopper NVMMA"
    a_layout = layout_of(op.a.type)
    if not isinstance(a_layout, enc.NVMMAShared | enc.DotOperand | enc.SharedLinear):
        return "WGMMA A operand must have NVMMA shared or dot layout"
    if not isinstance(layout_of(op.b.type), enc.NVMMAShared | enc.SharedLinear):
        return "WGMMA B operand must have NVMMA shared layout"
    if num_warps(op) % 4:
        return "WGMMA requires num_warps to be divisible by 4"
    if layout.warps_per_cta[0] % 4:
        return f"WGMMA result layout must have groups of 4 warps along M, found {list(layout.warps_per_cta)}"
    shape = shape_per_cta(layout, result_type.get_shape())
    if len(shape) != 2:
        return "WGMMA result shape must be 2D"
    if shape[0] % 64:
        return "WGMMA result M dimension must be divisible by 64"
    if shape[1] % 8:
        return "WGMMA result N dimension must be divisible by 8"
    if shape[1] % layout.instr_shape[1]:
        return f"WGMMA result N dimension must be divisible by that of the instruction ({layout.instr_shape[1]}), found {shape[1]}"
    a_type = op.a.type
    assert instance_of(a_type, (TensorType, MemDescType))
    m, n = result_type.get_shape()
    b_shape = cast(MemDescType, op.b.type).get_shape()
    k = b_shape[-2]
    for name, found, expected in (("A", a_type.get_shape(), (m, k)), ("B", b_shape, (k, n))):
        if found != expected:
            return f"expected operand {name} of shape {list(expected)} (M = {m}, N = {n}, K = {k}), found {list(found)}"
    element = a_type.element_type
    if str(result_type.element_type) not in _ACCUMULATORS.get(str(element), ()):
        wanted = " or ".join(_ACCUMULATORS.get(str(element), ())) or "none"
        return f"expected an accumulator of {wanted} for operands of {element}, found {result_type.element_type}"
    for name, operand in (("A", op.a.type), ("B", op.b.type)):
        width = getattr(layout_of(operand), "element_bit_width", None)
        if width is not None and width != getattr(element, "bitwidth", None):
            return (
                f"expected a layout of operand {name} for elements of {element}, found one for {width} bits: {operand}"
            )
    imprecise = op.max_num_imprecise_acc.value.data
    if (
        imprecise < 32
        and isinstance(element, Float8E5M2Type | Float8E4M3FNType)
        and isinstance(result_type.element_type, Float32Type)
    ):
        return "Cannot use F32 as the accumulator element type when the max_num_imprecise_acc is less than 32"
    if isinstance(a_layout, enc.DotOperand):
        width = 32 // getattr(element, "bitwidth", 32)
        if a_layout.k_width != width:
            return f"in-register LHS operand must have a kWidth of {width} but got {a_layout.k_width}"
        expected = enc.DotOperand(0, layout, width)
        if not are_layouts_equivalent((m, k), a_layout, expected):
            return f"expected operand A in registers as {encoding_attr(expected)}, found {a_type.encoding}"
    return None


class WarpGroupDotWaitOp(Op):
    """Waits until at most `pendings` dots are still running; its results are its inputs, ready to be read."""

    T: ClassVar = RangeVarConstraint("T", RangeOf(AnyAttr()))

    name = "ttng.warp_group_dot_wait"

    inputs = var_operand_def(T)
    pendings = prop_def(IntegerAttr.constr(i32))
    outputs = var_result_def(T)

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(VerifyTensorLayouts(), NoLayoutRule(), ForwardsOperands(), Waits(Kind.DOT, left="pendings"))
    assembly_format = "$inputs attr-dict `:` type($inputs)"

    def __init__(self, inputs: Sequence[SSAValue], *, pendings: int) -> None:
        Operation.__init__(
            self,
            operands=tuple(inputs),
            result_types=tuple(value.type for value in inputs),
            properties={"pendings": i32_attr(pendings)},
        )

    def verify_(self) -> None:
        if not self.operands:
            raise VerifyException(f"'{self.name}' op expected to be waiting on at least one dependency")
