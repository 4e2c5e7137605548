"""The `nvvm` dialect: what NVIDIA hardware does that LLVM has no instruction for.

Ops are named after the PTX instruction and verified; they become LLVM intrinsics or inline assembly only when LLVM IR text
is written (`codegen/text`). An op works on a thread's whole register vector where that is useful: one
`nvvm.ld.global` below is two predicated `ld.global.v4.b32`, one `nvvm.shfl.sync` moves every lane of its vector.

    %v = "nvvm.ld.global"(%p0, %p1, %m0, %m1) <{vector_width = 4 : i32, ...}> : (...) -> vector<8xf32>
    %w = "nvvm.shfl.sync"(%v, %c16) <{kind = "bfly"}> : (vector<8xf32>, i32) -> vector<8xf32>
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntAttr, IntegerAttr, IntegerType, StringAttr, UnitAttr, VectorType, i1, i32
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

GLOBAL = LLVMPointerType(IntAttr(1))
SHARED = LLVMPointerType(IntAttr(3))

_UNIT = UnitAttr()


def lanes(type_: Attribute) -> int:
    """Registers of a value: the lanes of a vector, 1 for a scalar."""
    return type_.get_shape()[0] if isinstance(type_, VectorType) else 1


def _one_of(op: Operation, name: str, allowed: Sequence[str]) -> None:
    attr = op.properties[name]
    if not isinstance(attr, StringAttr) or attr.data not in allowed:
        raise VerifyException(f"{op.name}: {name} must be one of {', '.join(allowed)}, got {attr}")


# Special registers ----------------------------------------------------------------------------------------------------


class SpecialRegisterOp(IRDLOperation, ABC):
    """Reads a 32-bit special register (PTX ISA, "Special Registers")."""

    res = result_def(i32)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($res)"

    def __init__(self) -> None:
        super().__init__(result_types=[i32])


@irdl_op_definition
class ThreadIdXOp(SpecialRegisterOp):
    """`%tid.x`"""

    name = "nvvm.read.ptx.sreg.tid.x"


@irdl_op_definition
class BlockIdXOp(SpecialRegisterOp):
    """`%ctaid.x`"""

    name = "nvvm.read.ptx.sreg.ctaid.x"


@irdl_op_definition
class BlockIdYOp(SpecialRegisterOp):
    """`%ctaid.y`"""

    name = "nvvm.read.ptx.sreg.ctaid.y"


@irdl_op_definition
class BlockIdZOp(SpecialRegisterOp):
    """`%ctaid.z`"""

    name = "nvvm.read.ptx.sreg.ctaid.z"


@irdl_op_definition
class GridDimXOp(SpecialRegisterOp):
    """`%nctaid.x`"""

    name = "nvvm.read.ptx.sreg.nctaid.x"


@irdl_op_definition
class GridDimYOp(SpecialRegisterOp):
    """`%nctaid.y`"""

    name = "nvvm.read.ptx.sreg.nctaid.y"


@irdl_op_definition
class GridDimZOp(SpecialRegisterOp):
    """`%nctaid.z`"""

    name = "nvvm.read.ptx.sreg.nctaid.z"


@irdl_op_definition
class ClusterIdXOp(SpecialRegisterOp):
    """`%clusterid.x`"""

    name = "nvvm.read.ptx.sreg.clusterid.x"


@irdl_op_definition
class ClusterIdYOp(SpecialRegisterOp):
    """`%clusterid.y`"""

    name = "nvvm.read.ptx.sreg.clusterid.y"


@irdl_op_definition
class ClusterIdZOp(SpecialRegisterOp):
    """`%clusterid.z`"""

    name = "nvvm.read.ptx.sreg.clusterid.z"


@irdl_op_definition
class ClusterRankOp(SpecialRegisterOp):
    """`%cluster_ctarank`: the block's number within its cluster."""

    name = "nvvm.read.ptx.sreg.cluster.ctarank"


SPECIAL_REGISTERS: tuple[type[SpecialRegisterOp], ...] = (
    ThreadIdXOp,
    BlockIdXOp,
    BlockIdYOp,
    BlockIdZOp,
    GridDimXOp,
    GridDimYOp,
    GridDimZOp,
    ClusterIdXOp,
    ClusterIdYOp,
    ClusterIdZOp,
    ClusterRankOp,
)


# Within a warp --------------------------------------------------------------------------------------------------------


@irdl_op_definition
class ShflSyncOp(IRDLOperation):
    """Moves every lane of `value` between the threads of a warp (PTX `shfl.sync`, full mask).

    `kind`: `bfly` reads from thread `id ^ offset`, `up` from `id - offset`, `down` from `id + offset`, `idx` from `offset`.
    Elements of 8, 16, 32 and 64 bits.
    """

    name = "nvvm.shfl.sync"
    KINDS: ClassVar = ("bfly", "up", "down", "idx")

    value = operand_def(AnyAttr())
    offset = operand_def(i32)
    res = result_def(AnyAttr())
    kind = prop_def(StringAttr)

    def verify_(self) -> None:
        _one_of(self, "kind", self.KINDS)
        if self.value.type != self.res.type:
            raise VerifyException("nvvm.shfl.sync returns the type of its operand")


@irdl_op_definition
class VoteSyncOp(IRDLOperation):
    """A vote over the warp: `ballot` returns an i32 of the predicates, `any` and `all` an i1."""

    name = "nvvm.vote.sync"
    KINDS: ClassVar = ("any", "all", "ballot")

    pred = operand_def(i1)
    res = result_def(IntegerType)
    kind = prop_def(StringAttr)

    def verify_(self) -> None:
        _one_of(self, "kind", self.KINDS)
        if self.res.type != (i32 if self.kind.data == "ballot" else i1):
            raise VerifyException(f"nvvm.vote.sync {self.kind.data} cannot return {self.res.type}")


@irdl_op_definition
class ReduxSyncOp(IRDLOperation):
    """Reduction of an i32 over the warp in one instruction (sm_80)."""

    name = "nvvm.redux.sync"
    KINDS: ClassVar = ("add", "umin", "umax", "min", "max", "and", "or", "xor")

    value = operand_def(i32)
    res = result_def(i32)
    kind = prop_def(StringAttr)

    def verify_(self) -> None:
        _one_of(self, "kind", self.KINDS)


@irdl_op_definition
class BarWarpSyncOp(IRDLOperation):
    """Waits for all threads of the warp."""

    name = "nvvm.bar.warp.sync"
    assembly_format = "attr-dict"


@irdl_op_definition
class ElectSyncOp(IRDLOperation):
    """True in exactly one thread of the warp (sm_90)."""

    name = "nvvm.elect.sync"
    res = result_def(i1)
    assembly_format = "attr-dict `:` type($res)"

    def __init__(self) -> None:
        super().__init__(result_types=[i1])


# Lane by lane ---------------------------------------------------------------------------------------------------------


@irdl_op_definition
class EachLaneOp(IRDLOperation):
    """Calls a scalar function or intrinsic, `callee`, for every lane of its operands."""

    name = "nvvm.each_lane"

    args = var_operand_def(AnyAttr())
    res = result_def(AnyAttr())
    callee = prop_def(StringAttr)

    def verify_(self) -> None:
        if any(lanes(arg.type) != lanes(self.res.type) for arg in self.args):
            raise VerifyException("nvvm.each_lane needs operands and a result of as many lanes")


@irdl_op_definition
class InlinePtxOp(IRDLOperation):
    """Inline PTX for every `packed` lanes; lanes narrower than 32 bits share a register."""

    name = "nvvm.inline_ptx"

    args = var_operand_def(AnyAttr())
    results_ = var_result_def(AnyAttr())
    asm_string = prop_def(StringAttr)
    constraints = prop_def(StringAttr)
    packed = prop_def(IntegerAttr)
    pure = opt_prop_def(UnitAttr)

    def verify_(self) -> None:
        if len({lanes(v.type) for v in (*self.args, *self.results_)}) > 1:
            raise VerifyException("nvvm.inline_ptx needs operands and results of as many lanes")


# Within a block -------------------------------------------------------------------------------------------------------


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """Waits for the threads of the block, or for the `number_of_threads` that use barrier `barrier_id` (1 to 15)."""

    name = "nvvm.barrier"

    barrier_id = opt_prop_def(IntegerAttr)
    number_of_threads = opt_prop_def(IntegerAttr)

    def verify_(self) -> None:
        if self.barrier_id is not None and not 0 <= self.barrier_id.value.data < 16:
            raise VerifyException("nvvm.barrier: a block has barriers 0 to 15")
        if self.number_of_threads is not None and self.number_of_threads.value.data % 32:
            raise VerifyException("nvvm.barrier: the number of threads must be a multiple of the warp size")


# Global memory --------------------------------------------------------------------------------------------------------


def _check_vectors(op: Operation, registers: int, width: int, pointers: int, masks: int) -> None:
    if width < 1 or width & (width - 1):
        raise VerifyException(f"{op.name}: vector_width must be a power of 2, got {width}")
    if pointers * width != registers:
        raise VerifyException(f"{op.name}: {pointers} pointers of {width} elements do not make {registers} registers")
    if masks not in (0, pointers):
        raise VerifyException(f"{op.name}: needs no mask or one for each pointer, got {masks}")


@irdl_op_definition
class LoadGlobalOp(IRDLOperation):
    """Loads `vector_width` consecutive elements from each pointer; where a mask is false the registers hold `other`.

    `other` is a vector, or a scalar for all. Without it a masked-off element is 0. `cache` is `ca`, `cg`, `cv` or empty, `evict` is `evict_first`,
    `evict_last` or empty (PTX `ld.global`).
    """

    name = "nvvm.ld.global"

    pointers = var_operand_def(GLOBAL)
    masks = var_operand_def(i1)
    other = opt_operand_def(AnyAttr())
    res = result_def(AnyAttr())
    vector_width = prop_def(IntegerAttr)
    cache = opt_prop_def(StringAttr)
    evict = opt_prop_def(StringAttr)
    is_volatile = opt_prop_def(UnitAttr)
    policy = opt_operand_def(IntegerType(64))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        count = lanes(self.res.type)
        _check_vectors(self, count, self.vector_width.value.data, len(self.pointers), len(self.masks))
        if self.other is not None:
            element = self.res.type.element_type if isinstance(self.res.type, VectorType) else self.res.type
            if self.other.type not in (self.res.type, element):
                raise VerifyException("nvvm.ld.global: `other` must have the type of the result or of its elements")


@irdl_op_definition
class StoreGlobalOp(IRDLOperation):
    """Stores `vector_width` consecutive elements of `value` to each pointer whose mask is true (PTX `st.global`)."""

    name = "nvvm.st.global"

    value = operand_def(AnyAttr())
    pointers = var_operand_def(GLOBAL)
    masks = var_operand_def(i1)
    vector_width = prop_def(IntegerAttr)
    cache = opt_prop_def(StringAttr)
    evict = opt_prop_def(StringAttr)
    policy = opt_operand_def(IntegerType(64))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        count = lanes(self.value.type)
        _check_vectors(self, count, self.vector_width.value.data, len(self.pointers), len(self.masks))


@irdl_op_definition
class CreatePolicyOp(IRDLOperation):
    """An L2 eviction policy for `ld.global`/`st.global` (PTX `createpolicy.fractional`)."""

    name = "nvvm.createpolicy"
    KINDS: ClassVar = ("evict_first", "evict_last")

    res = result_def(IntegerType(64))
    kind = prop_def(StringAttr)

    def verify_(self) -> None:
        _one_of(self, "kind", self.KINDS)


@irdl_op_definition
class AtomicOp(IRDLOperation):
    """`atom` on global memory: `operation` as PTX spells it (`add.f32`, `cas.b32`, ...), with semantics and scope.

    `values` are the operands after the address (one, or two for `cas`); where `mask` is false nothing happens and the
    result is 0.
    """

    name = "nvvm.atom"
    SEMANTICS: ClassVar = ("relaxed", "acquire", "release", "acq_rel")
    SCOPES: ClassVar = ("cta", "gpu", "sys", "cluster")

    ptr = operand_def(GLOBAL)
    values = var_operand_def(AnyAttr())
    mask = opt_operand_def(i1)
    res = result_def(AnyAttr())
    operation = prop_def(StringAttr)
    sem = prop_def(StringAttr)
    scope = prop_def(StringAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        _one_of(self, "sem", self.SEMANTICS)
        _one_of(self, "scope", self.SCOPES)


# Shared memory --------------------------------------------------------------------------------------------------------


@irdl_op_definition
class StoreSharedOp(IRDLOperation):
    """Stores a value or a short vector (at most 128 bits) to shared memory where `mask` is true."""

    name = "nvvm.st.shared"

    value = operand_def(AnyAttr())
    ptr = operand_def(SHARED)
    mask = operand_def(i1)


@irdl_op_definition
class LoadSharedOp(IRDLOperation):
    """Loads a value or a short vector (at most 128 bits) from shared memory where `mask` is true, else anything."""

    name = "nvvm.ld.shared"

    ptr = operand_def(SHARED)
    mask = operand_def(i1)
    res = result_def(AnyAttr())


@irdl_op_definition
class CpAsyncOp(IRDLOperation):
    """Starts a copy of `size` (4, 8, 16) bytes from global to shared memory (PTX `cp.async`).

    Where `src_size` is given only that many bytes are read and the rest is zero; where `mask` is false nothing is copied.
    """

    name = "nvvm.cp.async.shared.global"

    dst = operand_def(SHARED)
    src = operand_def(GLOBAL)
    src_size = opt_operand_def(i32)
    mask = opt_operand_def(i1)
    size = prop_def(IntegerAttr)
    modifier = prop_def(StringAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        _one_of(self, "modifier", ("ca", "cg"))
        if self.size.value.data not in (4, 8, 16):
            raise VerifyException(f"nvvm.cp.async copies 4, 8 or 16 bytes, not {self.size.value.data}")
        if self.modifier.data == "cg" and self.size.value.data != 16:
            raise VerifyException("nvvm.cp.async with cg copies 16 bytes")


@irdl_op_definition
class CpAsyncCommitGroupOp(IRDLOperation):
    """Makes a group of the thread's copies started since the last one."""

    name = "nvvm.cp.async.commit.group"
    assembly_format = "attr-dict"


@irdl_op_definition
class CpAsyncWaitGroupOp(IRDLOperation):
    """Waits until at most `n` of the thread's groups of copies are unfinished."""

    name = "nvvm.cp.async.wait.group"
    n = prop_def(IntegerAttr)


def _check_matrices(op: Operation, type_: Attribute) -> None:
    element = type_.element_type if isinstance(type_, VectorType) else type_
    if element != i32 or lanes(type_) not in (1, 2, 4):
        raise VerifyException(f"{op.name} moves 1, 2 or 4 matrices, an i32 each, not {type_}")


@irdl_op_definition
class LdMatrixOp(IRDLOperation):
    """Loads 1, 2 or 4 matrices of 8x8 16-bit elements, one i32 each (PTX `ldmatrix`)."""

    name = "nvvm.ldmatrix"

    ptr = operand_def(SHARED)
    res = result_def(AnyAttr())
    transposed = opt_prop_def(UnitAttr)

    def verify_(self) -> None:
        _check_matrices(self, self.res.type)


@irdl_op_definition
class StMatrixOp(IRDLOperation):
    """Stores 1, 2 or 4 matrices of 8x8 16-bit elements, one i32 each (PTX `stmatrix`, sm_90)."""

    name = "nvvm.stmatrix"

    value = operand_def(AnyAttr())
    ptr = operand_def(SHARED)
    transposed = opt_prop_def(UnitAttr)

    def verify_(self) -> None:
        _check_matrices(self, self.value.type)


# Tensor cores ---------------------------------------------------------------------------------------------------------


@irdl_op_definition
class MmaSyncOp(IRDLOperation):
    """`a b + c` of a warp on tensor cores (PTX `mma.sync`): 4, 2 words of a and b, as many registers of d as of c.

    `shape` and `types` are spelled as in PTX: `m16n8k16`, `f32.f16.f16.f32` (d, a, b, c).
    """

    name = "nvvm.mma.sync"

    a = operand_def(AnyAttr())
    b = operand_def(AnyAttr())
    c = operand_def(AnyAttr())
    d = result_def(AnyAttr())
    shape = prop_def(StringAttr)
    types = prop_def(StringAttr)

    def verify_(self) -> None:
        if lanes(self.a.type) != 4 or lanes(self.b.type) != 2:
            raise VerifyException("nvvm.mma.sync takes 4 words of a and 2 of b")
        if self.c.type != self.d.type:
            raise VerifyException("nvvm.mma.sync returns the type of c")


NVVM = Dialect(
    "nvvm",
    [
        *SPECIAL_REGISTERS,
        AtomicOp,
        BarWarpSyncOp,
        BarrierOp,
        CpAsyncCommitGroupOp,
        CpAsyncOp,
        CpAsyncWaitGroupOp,
        CreatePolicyOp,
        EachLaneOp,
        ElectSyncOp,
        InlinePtxOp,
        LdMatrixOp,
        LoadGlobalOp,
        LoadSharedOp,
        MmaSyncOp,
        ReduxSyncOp,
        ShflSyncOp,
        StMatrixOp,
        StoreGlobalOp,
        StoreSharedOp,
        VoteSyncOp,
    ],
    [],
)
