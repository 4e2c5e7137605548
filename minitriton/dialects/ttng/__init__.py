"""The `ttng` dialect: what Hopper (and later) has of its own: mbarriers, TMA, wgmma, tensor memory.

This module is the dialect's front door: every op and attribute of it can be had from here.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from minitriton.dialects.fast_paths.op_definition import declared
from minitriton.dialects.ttng.barriers import ArriveBarrierOp as ArriveBarrierOp
from minitriton.dialects.ttng.barriers import ArriveForFirstWarpOp as ArriveForFirstWarpOp
from minitriton.dialects.ttng.barriers import AsyncCopyMbarrierArriveOp as AsyncCopyMbarrierArriveOp
from minitriton.dialects.ttng.barriers import BarrierExpectOp as BarrierExpectOp
from minitriton.dialects.ttng.barriers import ClusterArriveOp as ClusterArriveOp
from minitriton.dialects.ttng.barriers import ClusterWaitOp as ClusterWaitOp
from minitriton.dialects.ttng.barriers import EndTurnOp as EndTurnOp
from minitriton.dialects.ttng.barriers import FenceAsyncSharedOp as FenceAsyncSharedOp
from minitriton.dialects.ttng.barriers import FirstWarpWaitsOp as FirstWarpWaitsOp
from minitriton.dialects.ttng.barriers import InitBarrierOp as InitBarrierOp
from minitriton.dialects.ttng.barriers import InvalBarrierOp as InvalBarrierOp
from minitriton.dialects.ttng.barriers import WaitBarrierOp as WaitBarrierOp
from minitriton.dialects.ttng.barriers import WaitForTurnOp as WaitForTurnOp
from minitriton.dialects.ttng.dot import WarpGroupDotOp as WarpGroupDotOp
from minitriton.dialects.ttng.dot import WarpGroupDotWaitOp as WarpGroupDotWaitOp
from minitriton.dialects.ttng.tensor_memory import TMEM as TMEM
from minitriton.dialects.ttng.tensor_memory import TCGen5CommitOp as TCGen5CommitOp
from minitriton.dialects.ttng.tensor_memory import TCGen5MMAOp as TCGen5MMAOp
from minitriton.dialects.ttng.tensor_memory import TCGen5MMAScaledOp as TCGen5MMAScaledOp
from minitriton.dialects.ttng.tensor_memory import TensorMemoryEncodingAttr as TensorMemoryEncodingAttr
from minitriton.dialects.ttng.tensor_memory import TensorMemoryScalesEncodingAttr as TensorMemoryScalesEncodingAttr
from minitriton.dialects.ttng.tensor_memory import TensorMemorySpaceAttr as TensorMemorySpaceAttr
from minitriton.dialects.ttng.tensor_memory import TMEMAllocOp as TMEMAllocOp
from minitriton.dialects.ttng.tensor_memory import TMEMCopyOp as TMEMCopyOp
from minitriton.dialects.ttng.tensor_memory import TMEMLoadOp as TMEMLoadOp
from minitriton.dialects.ttng.tensor_memory import TMEMStoreOp as TMEMStoreOp
from minitriton.dialects.ttng.tensor_memory import TMEMSubSliceOp as TMEMSubSliceOp
from minitriton.dialects.ttng.tma import AsyncTMACopyGlobalToLocalOp as AsyncTMACopyGlobalToLocalOp
from minitriton.dialects.ttng.tma import AsyncTMACopyLocalToGlobalOp as AsyncTMACopyLocalToGlobalOp
from minitriton.dialects.ttng.tma import AsyncTMAGatherOp as AsyncTMAGatherOp
from minitriton.dialects.ttng.tma import AsyncTMAReduceOp as AsyncTMAReduceOp
from minitriton.dialects.ttng.tma import AsyncTMAScatterOp as AsyncTMAScatterOp
from minitriton.dialects.ttng.tma import ReinterpretTensorDescOp as ReinterpretTensorDescOp
from minitriton.dialects.ttng.tma import TensormapCreateOp as TensormapCreateOp
from minitriton.dialects.ttng.tma import TensormapFenceproxyAcquireOp as TensormapFenceproxyAcquireOp
from minitriton.dialects.ttng.tma import TMAStoreWaitOp as TMAStoreWaitOp

TTNG = Dialect("ttng", *declared("ttng", globals()))
