"""Ops of `ttg` outside shared memory: layout conversion, barriers, the pipeliner's helpers.

%1 = ttg.convert_layout %0 : tensor<128xf32, #blocked> -> tensor<128xf32, #blocked1>
"""

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, TensorType, i1, i32
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    AnyOf,
    ParsePropInAttrDict,
    VarConstraint,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import HasParent, IsTerminator, Pure, ReturnLike

from minitriton.dialects.facts import KeepsData
from minitriton.dialects.facts.gpu_traits import GLOBAL, OperandEffects, VerifyTensorLayouts, require
from minitriton.dialects.facts.layout import AnyButMma, UnpacksFp4
from minitriton.dialects.facts.synchronization import Barrier, ScratchBarrier
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.ttg.verify import convert_layout_complaint, fp4_to_fp_complaint


class ConvertLayoutOp(Op):
    """The same tensor, its elements held by other threads."""

    name = "ttg.convert_layout"

    src = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure(), VerifyTensorLayouts(), AnyButMma(), KeepsData(), ScratchBarrier())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    @from_fields
    def __init__(self, src: SSAValue, result_type: Attribute) -> None: ...

    def verify_(self) -> None:
        require(self, convert_layout_complaint(cast(TensorType, self.src.type), self.result.type))


class LocalBarrierOp(Op):
    """All threads of the CTA (of the partition) meet; their accesses to shared memory are ordered around it."""

    name = "ttg.local_barrier"

    traits = traits_def(OperandEffects(), VerifyTensorLayouts(), Barrier())
    assembly_format = "attr-dict"

    @from_fields
    def __init__(self) -> None: ...


class Fp4ToFpOp(Op):
    """Widens fp4 (e2m1) numbers, packed by two in an i8 along `axis` (low half first)."""

    name = "ttg.fp4_to_fp"

    src = operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i32))
    result = result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure(), VerifyTensorLayouts(), UnpacksFp4(), KeepsData())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    @from_fields
    def __init__(self, src: SSAValue, result_type: Attribute, *, axis: int) -> None: ...

    def verify_(self) -> None:
        axis = self.axis.value.data
        require(self, fp4_to_fp_complaint(cast(TensorType, self.src.type), self.result.type, axis))


class GlobalScratchAllocOp(Op):
    """A buffer of `nbytes` in device memory that belongs to this program alone."""

    name = "ttg.global_scratch_alloc"

    nbytes = prop_def(IntegerAttr.constr(i32))
    alignment = prop_def(IntegerAttr.constr(i32))
    result = result_def()
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(OperandEffects(allocates=(("result", GLOBAL),)), VerifyTensorLayouts())
    assembly_format = "attr-dict `:` type($result)"

    @from_fields
    def __init__(self, result_type: Attribute, *, nbytes: int, alignment: int) -> None: ...


class PredicateStageOp(Op):
    """Whether pipeline stage `stage` (of `maxStage`) runs in iteration `iv`. Lives inside the pipeliner only."""

    T: ClassVar = VarConstraint("T", AnyOf.get(IndexType, IntegerType))

    name = "ttg.predicate_stage"

    iv = operand_def(T)
    ub = operand_def(T)
    step = operand_def(T)
    max_stage = prop_def(IntegerAttr.constr(i32), prop_name="maxStage")
    stage = prop_def(IntegerAttr.constr(i32))
    result = result_def(i1)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure(), VerifyTensorLayouts())
    assembly_format = (
        "$iv `,` $ub `,` $step `maxStage` $maxStage `stage` $stage attr-dict `:` type($iv) `->` type($result)"
    )

    @from_fields
    def __init__(self, iv: SSAValue, ub: SSAValue, step: SSAValue, *, max_stage: int, stage: int) -> None: ...


class MaskOp(Op):
    """Ops that run only where `pred` holds. Lives inside the pipeliner only."""

    name = "ttg.mask"

    pred = operand_def(i1)
    result = var_result_def()
    region = region_def("single_block")
    traits = traits_def(VerifyTensorLayouts())

    @from_fields
    def __init__(self, pred: SSAValue, result_types: Sequence[Attribute], region: Region) -> None: ...


class MaskReturnOp(Op):
    """Ends a `ttg.mask` and gives its results."""

    name = "ttg.mask.return"

    result = var_operand_def()
    traits = traits_def(Pure(), IsTerminator(), ReturnLike(), HasParent(MaskOp), VerifyTensorLayouts())
    assembly_format = "$result attr-dict `:` type($result)"

    @from_fields
    def __init__(self, result: Sequence[SSAValue]) -> None: ...
