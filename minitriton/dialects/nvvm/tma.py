"""The `nvvm` ops of Hopper's asynchronous copies: barriers in memory, tensor copies, descriptors made on the device, clusters.

Each is one PTX instruction; where an op has a `pred` it happens in the threads where that is true.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i1, i32
from xdsl.irdl import AnyAttr, IRDLOperation, operand_def, opt_operand_def, opt_prop_def, prop_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.nvvm.base import GLOBAL, SHARED, one_of
from minitriton.dialects.op_definition import op_definition


@op_definition
class MBarrierOp(IRDLOperation):
    """An operation on an mbarrier in shared memory.

    `init` sets the number of arrivals it waits for, `inval` ends its life, `arrive` arrives (`amount` times),
    `arrive.expect_tx` arrives and announces `amount` bytes.
    """

    name = "nvvm.mbarrier"
    KINDS: ClassVar = ("init", "inval", "arrive", "arrive.expect_tx")

    barrier = operand_def(SHARED)
    pred = operand_def(i1)
    kind = prop_def(StringAttr)
    amount = opt_prop_def(IntegerAttr)

    def verify_(self) -> None:
        one_of(self, "kind", self.KINDS)


@op_definition
class MBarrierWaitOp(IRDLOperation):
    """Waits until the phase of parity `phase` is complete (`mbarrier.try_wait.parity` in a loop)."""

    name = "nvvm.mbarrier.wait"

    barrier = operand_def(SHARED)
    phase = operand_def(i32)
    pred = opt_operand_def(i1)


@op_definition
class CpAsyncMBarrierArriveOp(IRDLOperation):
    """Arrives at an mbarrier when the thread's earlier `cp.async` copies are complete."""

    name = "nvvm.cp.async.mbarrier.arrive"

    barrier = operand_def(SHARED)
    noinc = opt_prop_def(UnitAttr)


@op_definition
class TensorLoadOp(IRDLOperation):
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


@op_definition
class TensorStoreOp(IRDLOperation):
    """Starts a copy of a box from shared memory to a tensor; with `reduce`, combines it with what is there."""

    name = "nvvm.cp.async.bulk.tensor.store"

    src = operand_def(SHARED)
    descriptor = operand_def(AnyAttr())
    coordinates = var_operand_def(i32)
    pred = operand_def(i1)
    reduce = opt_prop_def(StringAttr)


@op_definition
class BulkCommitGroupOp(IRDLOperation):
    """Makes a group of the thread's bulk copies started since the last one."""

    name = "nvvm.cp.async.bulk.commit.group"
    assembly_format = "attr-dict"


@op_definition
class BulkWaitGroupOp(IRDLOperation):
    """Waits until at most `n` groups of bulk copies have still to read their source."""

    name = "nvvm.cp.async.bulk.wait_group.read"
    n = prop_def(IntegerAttr)


@op_definition
class TensormapReplaceOp(IRDLOperation):
    """Sets one field of a tensor map in shared memory; `ordinal` tells which dimension of it."""

    name = "nvvm.tensormap.replace"

    map = operand_def(SHARED)
    value = operand_def(AnyAttr())
    pred = operand_def(i1)
    field = prop_def(StringAttr)
    ordinal = opt_prop_def(IntegerAttr)


@op_definition
class TensormapPublishOp(IRDLOperation):
    """Copies a tensor map from shared to global memory and releases it to the TMA unit; by a whole warp."""

    name = "nvvm.tensormap.cp_fenceproxy"

    dst = operand_def(GLOBAL)
    src = operand_def(SHARED)
    pred = operand_def(i1)


@op_definition
class TensormapAcquireOp(IRDLOperation):
    """Makes a tensor map in global memory that was written on the device visible to the TMA unit."""

    name = "nvvm.fence.proxy.tensormap.acquire"

    map = operand_def(GLOBAL)
    pred = operand_def(i1)


@op_definition
class ClusterArriveOp(IRDLOperation):
    """Arrives at the cluster's barrier."""

    name = "nvvm.cluster.arrive"
    relaxed = opt_prop_def(UnitAttr)


@op_definition
class ClusterWaitOp(IRDLOperation):
    """Waits for all threads of the cluster to arrive."""

    name = "nvvm.cluster.wait"
    assembly_format = "attr-dict"
