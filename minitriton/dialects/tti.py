"""The `tti` dialect: what the concurrency sanitizer puts into a kernel.

tti.experimental_assert_in_thread %ok, "read before write" {check_any = false} : tensor<4xi1, #blocked>
"""

from __future__ import annotations

from enum import StrEnum

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, TensorType, i1, i32, i64
from xdsl.ir import Dialect
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryWriteEffect, Pure

from minitriton.dialects.declared import declared
from minitriton.dialects.op_definition import op_definition
from minitriton.dialects.tt_enums import IntegerEnumAttr
from minitriton.dialects.ttg_format import MemDesc
from minitriton.dialects.ttg_types import MemDescType


class MemType(StrEnum):
    """A kind of memory."""

    SHARED = "shared_mem"
    TENSOR = "tensor_mem"


@irdl_attr_definition
class MemTypeAttr(IntegerEnumAttr[MemType]):
    name = "tti.mem_type"
    enum = MemType


@op_definition
class ExperimentalAssertInThreadOp(IRDLOperation):
    """Ends the program with `message` unless all (with `check_any`, any) of the thread's values are true."""

    name = "tti.experimental_assert_in_thread"

    condition = operand_def()
    message = prop_def(StringAttr)
    check_any = prop_def(IntegerAttr.constr(i1))
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$condition `,` $message attr-dict `:` type($condition)"


@op_definition
class ExperimentalBufferPointersOp(IRDLOperation):
    """A tensor of the addresses at `offsets` in shared or tensor memory."""

    name = "tti.experimental_buffer_pointers"

    offsets = prop_def(DenseArrayBase.constr(i32))
    mem_type = prop_def(MemTypeAttr, prop_name="memType")
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$offsets `,` $memType attr-dict `:` type($result)"


@op_definition
class ExperimentalMemDescToI64Op(IRDLOperation):
    """The address of a buffer as a number."""

    name = "tti.experimental_memdesc_to_i64"

    memdesc = operand_def(MemDescType)
    result = result_def(i64)
    traits = traits_def(Pure())
    custom_directives = (MemDesc,)
    assembly_format = "$memdesc attr-dict `:` custom<MemDesc>(type($memdesc))"


@op_definition
class ExperimentalLockAcquireOp(IRDLOperation):
    """One thread takes the lock, where `pred` holds."""

    name = "tti.experimental_lock_acquire"

    lock = operand_def()
    pred = opt_operand_def(i1)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$lock (`,` $pred^)? attr-dict `:` type($lock)"


@op_definition
class ExperimentalLockReleaseOp(IRDLOperation):
    """One thread gives the lock back, where `pred` holds."""

    name = "tti.experimental_lock_release"

    lock = operand_def()
    pred = opt_operand_def(i1)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$lock (`,` $pred^)? attr-dict `:` type($lock)"


TTI = Dialect("tti", *declared("tti", globals()))
