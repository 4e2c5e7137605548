"""The `nvvm` dialect: what NVIDIA hardware does that LLVM has no instruction for.

Ops are named after the PTX instruction and verified; they become LLVM intrinsics or inline assembly only when LLVM IR text
is written (`codegen/text`). An op works on a thread's whole register vector where that is useful: one
`nvvm.ld.global` below is two predicated `ld.global.v4.b32`, one `nvvm.shfl.sync` moves every lane of its vector.

    %v = "nvvm.ld.global"(%p0, %p1, %m0, %m1) <{vector_width = 4 : i32, ...}> : (...) -> vector<8xf32>
    %w = "nvvm.shfl.sync"(%v, %c16) <{kind = "bfly"}> : (vector<8xf32>, i32) -> vector<8xf32>

The `nvvm` ops on the elements of vectors in global memory that a mask ends in: all but the last element, each if its mask says so.

%w = "nvvm.ld.global.partial"(%p0, %m0, %m1, %m2, %v) {vector_width = 4} : vector<4xf32>

@%m0 ld.global.b32 %w0, [%p0];  @%m1 ld.global.b32 %w1, [%p0+4];  @%m2 ld.global.b32 %w2, [%p0+8];      w3 = v3
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr, UnitAttr, i1, i32
from xdsl.ir import Dialect
from xdsl.irdl import (
    AnyAttr,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.fast_paths.op_definition import Op, declared, named
from minitriton.dialects.llvm import GLOBAL, lanes
from minitriton.dialects.nvvm import tma as nvvm_tma
from minitriton.dialects.nvvm.base import InstructionOp, IntrinsicOp, PtxOp, words_of
from minitriton.dialects.nvvm.memory import *
from minitriton.dialects.nvvm.memory import GlobalAccessOp
from minitriton.target.architectures import WARP_SIZE


def _check_partial(op: LoadPartialOp | StorePartialOp, registers: int) -> None:
    width, pointers = op.vector_width.value.data, len(op.pointers)
    if width < 2 or width & (width - 1):
        raise VerifyException(f"{op.name}: vector_width must be a power of 2 above 1, got {width}")
    if pointers * width != registers:
        raise VerifyException(f"{op.name}: {pointers} pointers of {width} elements do not make {registers} registers")
    if len(op.masks) != pointers * (width - 1):
        raise VerifyException(f"{op.name}: needs {width - 1} masks for each pointer, got {len(op.masks)} in all")


class LoadPartialOp(GlobalAccessOp):
    """Loads elements of the vectors at `pointers` whose masks are true, of each vector all but the last; the others, and the last, are those of
    `other`. `cache`, `evict`, `prefetch` and `policy` are those of `nvvm.ld.global`."""

    name = "nvvm.ld.global.partial"
    CLOBBERS: ClassVar = ()

    pointers = var_operand_def(GLOBAL)
    masks = var_operand_def(i1)
    other = operand_def(AnyAttr())
    res = result_def(AnyAttr())
    prefetch = opt_prop_def(IntegerAttr)

    def verify_(self) -> None:
        _check_partial(self, lanes(self.res.type))
        if self.other.type != self.res.type:
            raise VerifyException(f"{self.name}: `other` must have the type of the result")

    def ptx(self) -> str:
        """Of one vector."""
        words = words_of(self.res.type, 1)
        modifiers, hint = self.cache_modifiers(self.prefetch)
        return "\n\t".join(
            f"@$masks.{i} ld.global{modifiers}.b{words.bits} $res.{i}, [ $pointers + {i * words.bits // 8} ]{hint};"
            for i in range(self.vector_width.value.data - 1)
        )


class StorePartialOp(GlobalAccessOp):
    """Stores elements of `value` to the vectors at `pointers` where masks are true, of each vector all but the last."""

    name = "nvvm.st.global.partial"

    value = operand_def(AnyAttr())
    pointers = var_operand_def(GLOBAL)
    masks = var_operand_def(i1)

    def verify_(self) -> None:
        _check_partial(self, lanes(self.value.type))

    def ptx(self) -> str:
        """Of one vector."""
        words = words_of(self.value.type, 1)
        modifiers, hint = self.cache_modifiers()
        return "\n\t".join(
            f"@$masks.{i} st.global{modifiers}.b{words.bits} [ $pointers + {i * words.bits // 8} ], $value.{i}{hint};"
            for i in range(self.vector_width.value.data - 1)
        )


# Special registers ----------------------------------------------------------------------------------------------------


class SpecialRegisterOp(IntrinsicOp):
    """Reads a 32-bit special register (PTX ISA, "Special Registers")."""

    res = result_def(i32)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($res)"

    def __init__(self) -> None:
        super().__init__(result_types=[i32])

    def calls(self) -> str:
        return f"llvm.{self.name}()"


ThreadIdXOp = named(SpecialRegisterOp, "ThreadIdXOp", "nvvm.read.ptx.sreg.tid.x", "`%tid.x`")
BlockIdXOp = named(SpecialRegisterOp, "BlockIdXOp", "nvvm.read.ptx.sreg.ctaid.x", "`%ctaid.x`")
BlockIdYOp = named(SpecialRegisterOp, "BlockIdYOp", "nvvm.read.ptx.sreg.ctaid.y", "`%ctaid.y`")
BlockIdZOp = named(SpecialRegisterOp, "BlockIdZOp", "nvvm.read.ptx.sreg.ctaid.z", "`%ctaid.z`")
GridDimXOp = named(SpecialRegisterOp, "GridDimXOp", "nvvm.read.ptx.sreg.nctaid.x", "`%nctaid.x`")
GridDimYOp = named(SpecialRegisterOp, "GridDimYOp", "nvvm.read.ptx.sreg.nctaid.y", "`%nctaid.y`")
GridDimZOp = named(SpecialRegisterOp, "GridDimZOp", "nvvm.read.ptx.sreg.nctaid.z", "`%nctaid.z`")
ClusterIdXOp = named(SpecialRegisterOp, "ClusterIdXOp", "nvvm.read.ptx.sreg.clusterid.x", "`%clusterid.x`")
ClusterIdYOp = named(SpecialRegisterOp, "ClusterIdYOp", "nvvm.read.ptx.sreg.clusterid.y", "`%clusterid.y`")
ClusterIdZOp = named(SpecialRegisterOp, "ClusterIdZOp", "nvvm.read.ptx.sreg.clusterid.z", "`%clusterid.z`")
ClusterRankOp = named(
    SpecialRegisterOp,
    "ClusterRankOp",
    "nvvm.read.ptx.sreg.cluster.ctarank",
    "`%cluster_ctarank`: the block's number within its cluster.",
)
# Within a warp --------------------------------------------------------------------------------------------------------


class ShflSyncOp(InstructionOp):
    """Moves every lane of `value` between the threads of a warp (PTX `shfl.sync`, full mask).

    `kind`: `bfly` reads from thread `id ^ offset`, `up` from `id - offset`, `down` from `id + offset`, `idx` from `offset`.
    Elements of 8, 16, 32 and 64 bits.
    """

    name = "nvvm.shfl.sync"
    WORDS: ClassVar = {"kind": ("bfly", "up", "down", "idx")}

    value = operand_def(AnyAttr())
    offset = operand_def(i32)
    res = result_def(AnyAttr())
    kind = prop_def(StringAttr)

    def verify_(self) -> None:
        if self.value.type != self.res.type:
            raise VerifyException("nvvm.shfl.sync returns the type of its operand")

    def call(self) -> str:
        """The intrinsic that moves one word, as `IntrinsicOp.calls` says it."""
        kind = self.kind.data
        return f"llvm.nvvm.shfl.sync.{kind}.i32(-1, $value, $offset, {0 if kind == 'up' else 31})"


class VoteSyncOp(IntrinsicOp):
    """A vote over the warp: `ballot` returns an i32 of the predicates, `any` and `all` an i1."""

    name = "nvvm.vote.sync"
    TEXT: ClassVar = "llvm.nvvm.vote.{kind}.sync(-1, $pred)"
    WORDS: ClassVar = {"kind": ("any", "all", "ballot")}

    pred = operand_def(i1)
    res = result_def(IntegerType)
    kind = prop_def(StringAttr)

    def verify_(self) -> None:
        if self.res.type != (i32 if self.kind.data == "ballot" else i1):
            raise VerifyException(f"nvvm.vote.sync {self.kind.data} cannot return {self.res.type}")


class ReduxSyncOp(IntrinsicOp):
    """Reduction of an i32 over the warp in one instruction (sm_80)."""

    name = "nvvm.redux.sync"
    TEXT: ClassVar = "llvm.nvvm.redux.sync.{kind}($value, -1)"
    WORDS: ClassVar = {"kind": ("add", "umin", "umax", "min", "max", "and", "or", "xor")}

    value = operand_def(i32)
    res = result_def(i32)
    kind = prop_def(StringAttr)


class BarWarpSyncOp(IntrinsicOp):
    """Waits for all threads of the warp."""

    name = "nvvm.bar.warp.sync"
    TEXT: ClassVar = "llvm.nvvm.bar.warp.sync(-1)"
    assembly_format = "attr-dict"


class ElectSyncOp(IntrinsicOp):
    """True in exactly one thread of the warp (sm_90)."""

    name = "nvvm.elect.sync"
    TEXT: ClassVar = "llvm.nvvm.elect.sync(-1)"
    res = result_def(i1)
    assembly_format = "attr-dict `:` type($res)"

    def __init__(self) -> None:
        super().__init__(result_types=[i1])

    RETURNS_FIRST: ClassVar = ("i32",)


# Lane by lane ---------------------------------------------------------------------------------------------------------


class InlinePtxOp(Op):
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


class BarrierOp(IntrinsicOp):
    """Waits for the threads of the block, or for the `number_of_threads` that use barrier `barrier_id` (1 to 15).

    With `divergent`, warps may wait at different instructions for each other (PTX `barrier.sync` instead of `bar.sync`).
    """

    name = "nvvm.barrier"

    barrier_id = opt_prop_def(IntegerAttr)
    number_of_threads = opt_prop_def(IntegerAttr)
    divergent = opt_prop_def(UnitAttr)

    def verify_(self) -> None:
        if self.barrier_id is not None and not 0 <= self.barrier_id.value.data < 16:
            raise VerifyException("nvvm.barrier: a block has barriers 0 to 15")
        if self.number_of_threads is not None and self.number_of_threads.value.data % WARP_SIZE:
            raise VerifyException("nvvm.barrier: the number of threads must be a multiple of the warp size")

    def calls(self) -> str:
        number = self.barrier_id.value.data if self.barrier_id is not None else 0
        name = f"llvm.nvvm.barrier.cta.sync{'' if self.divergent else '.aligned'}"
        if self.number_of_threads is None:
            return f"{name}.all({number})"
        return f"{name}.count({number}, {self.number_of_threads.value.data})"


class NamedBarrierOp(PtxOp):
    """Threads of a warp for which `predicate` holds meet `number_of_threads` at barrier `number`: they wait, or only arrive (`arrives`)."""

    name = "nvvm.barrier.named"

    number = operand_def(i32)
    predicate = operand_def(i1)
    number_of_threads = prop_def(IntegerAttr)
    arrives = opt_prop_def(UnitAttr)

    def ptx(self) -> str:
        return f"@$predicate bar.{'arrive' if self.arrives else 'sync'} $number, {self.number_of_threads.value.data};"


class SetMaxRegisterOp(IntrinsicOp):
    """Every thread of the warp group has `count` registers from now on (PTX `setmaxnreg`); `action` is `inc` or `dec`."""

    name = "nvvm.setmaxregister"
    TEXT: ClassVar = "llvm.nvvm.setmaxnreg.{action}.sync.aligned.u32({count})"
    WORDS: ClassVar = {"action": ("inc", "dec")}

    count = prop_def(IntegerAttr)
    action = prop_def(StringAttr)

    def verify_(self) -> None:
        count = self.count.value.data
        if count % 8 or not 24 <= count <= 256:
            raise VerifyException("nvvm.setmaxregister: registers are a multiple of 8 from 24 to 256")


NVVM = Dialect("nvvm", *declared("nvvm", globals(), vars(nvvm_tma)))
