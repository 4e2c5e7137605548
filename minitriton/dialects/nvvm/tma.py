"""The `nvvm` ops of Hopper's asynchronous copies: barriers in memory, tensor copies, descriptors made on the device, clusters.

Each is one PTX instruction; where an op has a `pred` it happens in the threads where that is true.
"""

from typing import ClassVar

from xdsl.dialects.builtin import IntAttr, IntegerAttr, StringAttr, UnitAttr, i1, i32
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.irdl import AnyAttr, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.llvm import GLOBAL, SHARED
from minitriton.dialects.nvvm.base import IntrinsicOp, PtxOp, words_of
from minitriton.target.tensor_map import SIZE as TENSOR_MAP_BYTES


class MBarrierOp(PtxOp):
    """An operation on an mbarrier in shared memory.

    `init` sets the number of arrivals it waits for, `inval` ends its life, `arrive` arrives (`amount` times),
    `arrive.expect_tx` arrives and announces `amount` bytes.
    """

    name = "nvvm.mbarrier"
    WORDS: ClassVar = {"kind": ("init", "inval", "arrive", "arrive.expect_tx")}

    barrier = operand_def(SHARED)
    pred = operand_def(i1)
    kind = prop_def(StringAttr)
    amount = opt_prop_def(IntegerAttr)

    def ptx(self) -> str:
        kind, amount = self.kind.data, 1 if self.amount is None else self.amount.value.data
        match kind:
            case "init":
                return f"@$pred mbarrier.init.shared::cta.b64 [$barrier], {amount};"
            case "inval":
                return "@$pred mbarrier.inval.shared::cta.b64 [$barrier];"
            case "arrive":
                times = f", {amount}" if amount > 1 else ""
                return f"@$pred mbarrier.arrive.shared::cta.b64 _, [$barrier]{times};"
            case _:
                return f"@$pred mbarrier.{kind}.shared.b64 _, [$barrier], {amount};"


class MBarrierWaitOp(PtxOp):
    """Waits until the phase of parity `phase` is complete (`mbarrier.try_wait.parity` in a loop)."""

    name = "nvvm.mbarrier.wait"

    barrier = operand_def(SHARED)
    phase = operand_def(i32)
    pred = opt_operand_def(i1)

    def ptx(self) -> str:
        skip, done = ("", "") if self.pred is None else ("@!$pred bra.uni done;\n", "done:")
        return (
            "{\n.reg .pred complete;\n"
            f"{skip}again:\n"
            "mbarrier.try_wait.parity.shared.b64 complete, [$barrier], $phase;\n"
            f"@!complete bra.uni again;\n{done}\n}}"
        )


class CpAsyncMBarrierArriveOp(PtxOp):
    """Arrives at an mbarrier when the thread's earlier `cp.async` copies are complete."""

    name = "nvvm.cp.async.mbarrier.arrive"

    barrier = operand_def(SHARED)
    noinc = opt_prop_def(UnitAttr)

    def ptx(self) -> str:
        return f"cp.async.mbarrier.arrive{'.noinc' if self.noinc else ''}.shared::cta.b64 [$barrier];"


class TensorLoadOp(PtxOp):
    """Starts a copy of a box of a tensor to shared memory (`cp.async.bulk.tensor`); `coordinates` fastest first."""

    name = "nvvm.cp.async.bulk.tensor.load"

    dst = operand_def(SHARED)
    descriptor = operand_def(AnyAttr())
    coordinates = var_operand_def(i32)
    barrier = operand_def(SHARED)
    pred = operand_def(i1)

    def verify_(self) -> None:
        if not 1 <= len(self.coordinates) <= 5:
            raise VerifyException("a tensor copy has 1 to 5 coordinates")

    def ptx(self) -> str:
        copy = f"cp.async.bulk.tensor.{len(self.coordinates)}d.shared::cluster.global.mbarrier::complete_tx::bytes"
        return f"@$pred {copy} [$dst], [$descriptor, {{$coordinates}}], [$barrier];"


class TensorStoreOp(PtxOp):
    """Starts a copy of a box from shared memory to a tensor; with `reduce`, combines it with what is there."""

    name = "nvvm.cp.async.bulk.tensor.store"

    src = operand_def(SHARED)
    descriptor = operand_def(AnyAttr())
    coordinates = var_operand_def(i32)
    pred = operand_def(i1)
    reduce = opt_prop_def(StringAttr)

    def ptx(self) -> str:
        reduce, kind = ("", "") if self.reduce is None else (".reduce", f".{self.reduce.data}")
        copy = f"cp{reduce}.async.bulk.tensor.{len(self.coordinates)}d.global.shared::cta{kind}.bulk_group"
        return f"@$pred {copy} [$descriptor, {{$coordinates}}], [$src];"


class BulkCommitGroupOp(PtxOp):
    """Makes a group of the thread's bulk copies started since the last one."""

    name = "nvvm.cp.async.bulk.commit.group"
    TEXT: ClassVar = "cp.async.bulk.commit_group;"
    assembly_format = "attr-dict"


class BulkWaitGroupOp(PtxOp):
    """Waits until at most `n` groups of bulk copies have still to read their source."""

    name = "nvvm.cp.async.bulk.wait_group.read"
    TEXT: ClassVar = "cp.async.bulk.wait_group.read {n};"
    n = prop_def(IntegerAttr)


class TensormapReplaceOp(PtxOp):
    """Sets one field of a tensor map in shared memory; `ordinal` tells which dimension of it."""

    name = "nvvm.tensormap.replace"

    map = operand_def(SHARED)
    value = operand_def(AnyAttr())
    pred = operand_def(i1)
    field = prop_def(StringAttr)
    ordinal = opt_prop_def(IntegerAttr)
    FIELDS_OF_NUMBERS: ClassVar = ("elemtype", "interleave_layout", "swizzle_mode", "fill_mode")
    """Fields whose value is part of the instruction."""

    ORDER: ClassVar = ("map", "pred", "value")

    @property
    def immediate(self) -> frozenset[str]:
        return frozenset({"value"} if self.field.data in self.FIELDS_OF_NUMBERS else ())

    def ptx(self) -> str:
        ordinal = "" if self.ordinal is None else f"{self.ordinal.value.data}, "
        width = words_of(self.value.type).bits
        return f"@$pred tensormap.replace.tile.{self.field.data}.shared::cta.b1024.b{width} [$map], {ordinal}$value;"


class TensormapPublishOp(PtxOp):
    """Copies a tensor map from shared to global memory and releases it to the TMA unit; by a whole warp."""

    name = "nvvm.tensormap.cp_fenceproxy"

    dst = operand_def(GLOBAL)
    src = operand_def(SHARED)
    pred = operand_def(i1)

    def ptx(self) -> str:
        copy = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
        return f"@$pred {copy} [$dst], [$src], {TENSOR_MAP_BYTES};"


class TensormapAcquireOp(PtxOp):
    """Makes a tensor map in global memory that was written on the device visible to the TMA unit."""

    name = "nvvm.fence.proxy.tensormap.acquire"

    map = operand_def(GLOBAL)
    pred = operand_def(i1)

    def ptx(self) -> str:
        """The empty group of bulk copies makes ptxas (12.8) keep the order of the fence and later copies."""
        return (
            f"@$pred fence.proxy.tensormap::generic.acquire.gpu [$map], {TENSOR_MAP_BYTES};\n\t"
            "@$pred cp.async.bulk.commit_group;\n\t@$pred cp.async.bulk.wait_group.read 0;"
        )


class ClusterArriveOp(PtxOp):
    """Arrives at the cluster's barrier."""

    name = "nvvm.cluster.arrive"
    relaxed = opt_prop_def(UnitAttr)

    def ptx(self) -> str:
        return f"barrier.cluster.arrive{'.relaxed' if self.relaxed else ''}.aligned;"


class ClusterWaitOp(PtxOp):
    """Waits for all threads of the cluster to arrive."""

    name = "nvvm.cluster.wait"
    TEXT: ClassVar = "barrier.cluster.wait.aligned;"
    assembly_format = "attr-dict"


# The `nvvm` ops of clusters of CTAs: their barrier, and addresses in each other's shared memory (sm_90).

SHARED_CLUSTER = LLVMPointerType(IntAttr(7))
"""A pointer to the shared memory of any CTA of the cluster (PTX `.shared::cluster`)."""


class ClusterBarrierOp(IntrinsicOp):
    """Waits for all threads of the cluster; what they wrote before is seen after (`barrier.cluster.arrive`, `.wait`)."""

    name = "nvvm.cluster.barrier"
    TEXT: ClassVar = "llvm.nvvm.barrier.cluster.arrive.aligned()\nllvm.nvvm.barrier.cluster.wait.aligned()"
    assembly_format = "attr-dict"


class MapaOp(IntrinsicOp):
    """The location of `ptr` in the shared memory of the CTA with number `rank` in the cluster (PTX `mapa`)."""

    name = "nvvm.mapa"
    TEXT: ClassVar = "llvm.nvvm.mapa.shared.cluster($ptr, $rank)"

    ptr = operand_def(SHARED)
    rank = operand_def(i32)
    res = result_def(SHARED_CLUSTER)
