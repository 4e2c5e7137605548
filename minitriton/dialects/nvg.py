"""The `nvg` dialect: what Triton's lowering leaves for its last step on NVIDIA, one instruction an op.

%id = nvg.cluster_id
%d = nvg.wgmma %a, %b, %use_c, %c {eltTypeA = 4 : i32, ..., m = 64 : i32, n = 256 : i32} : (i64, i64, i1, !struct) -> !struct
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntAttr, IntegerAttr, i1, i32
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, Pure

from minitriton.dialects.declared import declared
from minitriton.dialects.op_definition import op_definition
from minitriton.dialects.tt_enums import MemSemantic, MemSemanticAttr, MemSyncScope, MemSyncScopeAttr
from minitriton.dialects.ttg_traits import i32_attr

ELEMENT_TYPES = ("s8", "s32", "e4m3", "e5m2", "f16", "bf16", "tf32", "f32")
"""Element types of wgmma in the order of their numbers."""

LAYOUTS = ("row", "col")
"""Layouts of wgmma's operands in the order of their numbers."""


@op_definition
class WGMMAWaitGroupOp(IRDLOperation):
    """Waits until at most `pendings` groups of wgmma are running; hands its input on."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    name = "nvg.wgmma_wait_group"

    input = operand_def(T)
    pendings = prop_def(IntegerAttr.constr(i32))
    result = result_def(T)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$input attr-dict `:` type($input)"

    def __init__(self, input: SSAValue, *, pendings: int) -> None:
        Operation.__init__(
            self, operands=(input,), result_types=(input.type,), properties={"pendings": i32_attr(pendings)}
        )


@op_definition
class WGMMAOp(IRDLOperation):
    """One `wgmma.mma_async`: operands in registers (a struct) or by matrix descriptor (an i64)."""

    name = "nvg.wgmma"

    op_a = operand_def()
    op_b = operand_def()
    use_c = operand_def(i1)
    op_c = opt_operand_def()
    m = prop_def(IntegerAttr.constr(i32))
    n = prop_def(IntegerAttr.constr(i32))
    k = prop_def(IntegerAttr.constr(i32))
    elt_type_c = prop_def(IntegerAttr.constr(i32), prop_name="eltTypeC")
    elt_type_a = prop_def(IntegerAttr.constr(i32), prop_name="eltTypeA")
    elt_type_b = prop_def(IntegerAttr.constr(i32), prop_name="eltTypeB")
    layout_a = prop_def(IntegerAttr.constr(i32), prop_name="layoutA")
    layout_b = prop_def(IntegerAttr.constr(i32), prop_name="layoutB")
    result = result_def()
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$op_a `,` $op_b `,` $use_c (`,` $op_c^)? attr-dict `:` functional-type(operands, $result)"


@op_definition
class ClusterCTAIdOp(IRDLOperation):
    """The number of this CTA in its cluster."""

    name = "nvg.cluster_id"

    result = result_def(i32)
    traits = traits_def(Pure())
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        Operation.__init__(self, result_types=(i32,))


@op_definition
class LoadAcquireOp(IRDLOperation):
    """`ld.acquire` of a scalar, where `mask` holds."""

    name = "nvg.ld_acquire"

    addr = operand_def()
    mask = opt_operand_def(i1)
    sem = prop_def(MemSemanticAttr)
    scope = prop_def(MemSyncScopeAttr)
    result = result_def()
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$sem `,` $scope `,` $addr (`,` $mask^)? attr-dict `:` functional-type($addr, $result)"

    def __init__(
        self, addr: SSAValue, mask: SSAValue | None, result_type: Attribute, *, sem: MemSemantic, scope: MemSyncScope
    ) -> None:
        Operation.__init__(
            self,
            operands=(addr,) if mask is None else (addr, mask),
            result_types=(result_type,),
            properties={"sem": MemSemanticAttr.of(sem), "scope": MemSyncScopeAttr.of(scope)},
        )


@op_definition
class WarpIdOp(IRDLOperation):
    """The number of this warp in its CTA, known to be the same in all its lanes."""

    name = "nvg.warp_id"

    result = result_def(i32)
    traits = traits_def(Pure())
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        Operation.__init__(self, result_types=(i32,))


@op_definition
class TensorMemoryBaseAddressOp(IRDLOperation):
    """Where the kernel's tensor memory begins (sm_100)."""

    name = "nvg.tensor_memory_base"

    result = result_def(LLVMPointerType(IntAttr(6)))
    traits = traits_def(Pure())
    assembly_format = "attr-dict"


NVG = Dialect("nvg", *declared("nvg", globals()))
