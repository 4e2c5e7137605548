"""The `nvvm` ops of clusters of CTAs: their barrier, and addresses in each other's shared memory (sm_90)."""

from __future__ import annotations

from xdsl.dialects.builtin import IntAttr, i32
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.irdl import operand_def, result_def

from minitriton.dialects.fast_paths.op_definition import op_definition
from minitriton.dialects.nvvm.base import SHARED, IntrinsicOp

SHARED_CLUSTER = LLVMPointerType(IntAttr(7))
"""A pointer to the shared memory of any CTA of the cluster (PTX `.shared::cluster`)."""


@op_definition
class ClusterBarrierOp(IntrinsicOp):
    """Waits for all threads of the cluster; what they wrote before is seen after (`barrier.cluster.arrive`, `.wait`)."""

    name = "nvvm.cluster.barrier"
    assembly_format = "attr-dict"

    def calls(self) -> str:
        return "llvm.nvvm.barrier.cluster.arrive.aligned()\nllvm.nvvm.barrier.cluster.wait.aligned()"


@op_definition
class MapaOp(IntrinsicOp):
    """The place of `ptr` in the shared memory of the CTA with number `rank` in the cluster (PTX `mapa`)."""

    name = "nvvm.mapa"

    ptr = operand_def(SHARED)
    rank = operand_def(i32)
    res = result_def(SHARED_CLUSTER)

    def calls(self) -> str:
        return "llvm.nvvm.mapa.shared.cluster($ptr, $rank)"
