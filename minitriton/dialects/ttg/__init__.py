"""The `ttg` dialect: tensors with layouts, buffers in shared memory, groups of warps.

This module is the dialect's front door: every op, type, attribute and helper of it can be had from here.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from minitriton.dialects.encodings import (
    SMEM,
    BlockedEncodingAttr,
    DotOperandEncodingAttr,
    EncodingAttr,
    LinearEncodingAttr,
    NvidiaMmaEncodingAttr,
    NVMMASharedEncodingAttr,
    PaddedSharedEncodingAttr,
    SharedLinearEncodingAttr,
    SharedMemorySpaceAttr,
    SliceEncodingAttr,
    SwizzledSharedEncodingAttr,
    encoding_attr,
    layout_of,
)
from minitriton.dialects.facts.launch import (
    ALLOCATION_OFFSET,
    num_ctas,
    num_warps,
    target_arch,
    threads_per_warp,
)
from minitriton.dialects.fast_paths.op_definition import declared
from minitriton.dialects.ttg.async_copy import AsyncCopyGlobalToLocalOp
from minitriton.dialects.ttg.memory_ops import (
    AsyncCommitGroupOp,
    AsyncWaitOp,
    LocalAllocOp,
    LocalDeallocOp,
    LocalLoadOp,
    LocalStoreOp,
    MemDescIndexOp,
    MemDescReinterpretOp,
    MemDescReshapeOp,
    MemDescSubsliceOp,
    MemDescTransOp,
)
from minitriton.dialects.ttg.ops import (
    ConvertLayoutOp,
    Fp4ToFpOp,
    GlobalScratchAllocOp,
    LocalBarrierOp,
    MaskOp,
    MaskReturnOp,
    PredicateStageOp,
)
from minitriton.dialects.ttg.types import AsyncTokenType, MemDescType
from minitriton.dialects.ttg.warp_specialize import (
    WarpReturnOp,
    WarpSpecializeOp,
    WarpSpecializePartitionsOp,
    WarpYieldOp,
)

__all__ = [
    "ALLOCATION_OFFSET",
    "SMEM",
    "TTG",
    "AsyncCommitGroupOp",
    "AsyncCopyGlobalToLocalOp",
    "AsyncTokenType",
    "AsyncWaitOp",
    "BlockedEncodingAttr",
    "ConvertLayoutOp",
    "DotOperandEncodingAttr",
    "EncodingAttr",
    "Fp4ToFpOp",
    "GlobalScratchAllocOp",
    "LinearEncodingAttr",
    "LocalAllocOp",
    "LocalBarrierOp",
    "LocalDeallocOp",
    "LocalLoadOp",
    "LocalStoreOp",
    "MaskOp",
    "MaskReturnOp",
    "MemDescIndexOp",
    "MemDescReinterpretOp",
    "MemDescReshapeOp",
    "MemDescSubsliceOp",
    "MemDescTransOp",
    "MemDescType",
    "NVMMASharedEncodingAttr",
    "NvidiaMmaEncodingAttr",
    "PaddedSharedEncodingAttr",
    "PredicateStageOp",
    "SharedLinearEncodingAttr",
    "SharedMemorySpaceAttr",
    "SliceEncodingAttr",
    "SwizzledSharedEncodingAttr",
    "WarpReturnOp",
    "WarpSpecializeOp",
    "WarpSpecializePartitionsOp",
    "WarpYieldOp",
    "encoding_attr",
    "layout_of",
    "num_ctas",
    "num_warps",
    "target_arch",
    "threads_per_warp",
]

TTG = Dialect("ttg", *declared("ttg", globals()))
