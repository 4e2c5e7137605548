"""The `ttng` dialect: what Hopper (and later) has of its own: mbarriers, TMA, wgmma, tensor memory.

This module is the dialect's front door: every op and attribute of it can be had from here.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from minitriton.dialects.fast_paths.op_definition import declared
from minitriton.dialects.ttng.attributes import (
    TMEM,
    TensorMemoryEncodingAttr,
    TensorMemoryScalesEncodingAttr,
    TensorMemorySpaceAttr,
)
from minitriton.dialects.ttng.barriers import (
    ArriveBarrierOp,
    ArriveForFirstWarpOp,
    AsyncCopyMbarrierArriveOp,
    BarrierExpectOp,
    ClusterArriveOp,
    ClusterWaitOp,
    EndTurnOp,
    FenceAsyncSharedOp,
    FirstWarpWaitsOp,
    InitBarrierOp,
    InvalBarrierOp,
    WaitBarrierOp,
    WaitForTurnOp,
)
from minitriton.dialects.ttng.dot import WarpGroupDotOp, WarpGroupDotWaitOp
from minitriton.dialects.ttng.tensor_memory import (
    TCGen5CommitOp,
    TCGen5MMAOp,
    TCGen5MMAScaledOp,
    TMEMAllocOp,
    TMEMCopyOp,
    TMEMLoadOp,
    TMEMStoreOp,
    TMEMSubSliceOp,
)
from minitriton.dialects.ttng.tma import (
    AsyncTMACopyGlobalToLocalOp,
    AsyncTMACopyLocalToGlobalOp,
    AsyncTMAGatherOp,
    AsyncTMAReduceOp,
    AsyncTMAScatterOp,
    ReinterpretTensorDescOp,
    TensormapCreateOp,
    TensormapFenceproxyAcquireOp,
    TMAStoreWaitOp,
)

__all__ = [
    "TMEM",
    "TTNG",
    "ArriveBarrierOp",
    "ArriveForFirstWarpOp",
    "AsyncCopyMbarrierArriveOp",
    "AsyncTMACopyGlobalToLocalOp",
    "AsyncTMACopyLocalToGlobalOp",
    "AsyncTMAGatherOp",
    "AsyncTMAReduceOp",
    "AsyncTMAScatterOp",
    "BarrierExpectOp",
    "ClusterArriveOp",
    "ClusterWaitOp",
    "EndTurnOp",
    "FenceAsyncSharedOp",
    "FirstWarpWaitsOp",
    "InitBarrierOp",
    "InvalBarrierOp",
    "ReinterpretTensorDescOp",
    "TCGen5CommitOp",
    "TCGen5MMAOp",
    "TCGen5MMAScaledOp",
    "TMAStoreWaitOp",
    "TMEMAllocOp",
    "TMEMCopyOp",
    "TMEMLoadOp",
    "TMEMStoreOp",
    "TMEMSubSliceOp",
    "TensorMemoryEncodingAttr",
    "TensorMemoryScalesEncodingAttr",
    "TensorMemorySpaceAttr",
    "TensormapCreateOp",
    "TensormapFenceproxyAcquireOp",
    "WaitBarrierOp",
    "WaitForTurnOp",
    "WarpGroupDotOp",
    "WarpGroupDotWaitOp",
]

TTNG = Dialect("ttng", *declared("ttng", globals()))
