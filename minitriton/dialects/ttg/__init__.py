"""The `ttg` dialect: tensors with layouts, buffers in shared memory, groups of warps.

This module is the dialect's front door: every op, type, attribute and helper of it can be had from here.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from minitriton.dialects.encodings import SMEM as SMEM
from minitriton.dialects.encodings import AmdMfmaEncodingAttr as AmdMfmaEncodingAttr
from minitriton.dialects.encodings import AmdRotatingSharedEncodingAttr as AmdRotatingSharedEncodingAttr
from minitriton.dialects.encodings import AmdWmmaEncodingAttr as AmdWmmaEncodingAttr
from minitriton.dialects.encodings import BlockedEncodingAttr as BlockedEncodingAttr
from minitriton.dialects.encodings import DotOperandEncodingAttr as DotOperandEncodingAttr
from minitriton.dialects.encodings import EncodingAttr as EncodingAttr
from minitriton.dialects.encodings import LinearEncodingAttr as LinearEncodingAttr
from minitriton.dialects.encodings import NvidiaMmaEncodingAttr as NvidiaMmaEncodingAttr
from minitriton.dialects.encodings import NVMMASharedEncodingAttr as NVMMASharedEncodingAttr
from minitriton.dialects.encodings import PaddedSharedEncodingAttr as PaddedSharedEncodingAttr
from minitriton.dialects.encodings import SharedLinearEncodingAttr as SharedLinearEncodingAttr
from minitriton.dialects.encodings import SharedMemorySpaceAttr as SharedMemorySpaceAttr
from minitriton.dialects.encodings import SliceEncodingAttr as SliceEncodingAttr
from minitriton.dialects.encodings import SwizzledSharedEncodingAttr as SwizzledSharedEncodingAttr
from minitriton.dialects.encodings import encoding_attr as encoding_attr
from minitriton.dialects.encodings import layout_of as layout_of
from minitriton.dialects.facts.launch import ALLOCATION_OFFSET as ALLOCATION_OFFSET
from minitriton.dialects.facts.launch import num_ctas as num_ctas
from minitriton.dialects.facts.launch import num_warps as num_warps
from minitriton.dialects.facts.launch import target_arch as target_arch
from minitriton.dialects.facts.launch import threads_per_warp as threads_per_warp
from minitriton.dialects.fast_paths.op_definition import declared
from minitriton.dialects.ttg.memory_ops import AsyncCommitGroupOp as AsyncCommitGroupOp
from minitriton.dialects.ttg.memory_ops import AsyncCopyGlobalToLocalOp as AsyncCopyGlobalToLocalOp
from minitriton.dialects.ttg.memory_ops import AsyncWaitOp as AsyncWaitOp
from minitriton.dialects.ttg.memory_ops import LocalAllocOp as LocalAllocOp
from minitriton.dialects.ttg.memory_ops import LocalDeallocOp as LocalDeallocOp
from minitriton.dialects.ttg.memory_ops import LocalLoadOp as LocalLoadOp
from minitriton.dialects.ttg.memory_ops import LocalStoreOp as LocalStoreOp
from minitriton.dialects.ttg.memory_ops import MemDescIndexOp as MemDescIndexOp
from minitriton.dialects.ttg.memory_ops import MemDescReinterpretOp as MemDescReinterpretOp
from minitriton.dialects.ttg.memory_ops import MemDescReshapeOp as MemDescReshapeOp
from minitriton.dialects.ttg.memory_ops import MemDescSubsliceOp as MemDescSubsliceOp
from minitriton.dialects.ttg.memory_ops import MemDescTransOp as MemDescTransOp
from minitriton.dialects.ttg.ops import ConvertLayoutOp as ConvertLayoutOp
from minitriton.dialects.ttg.ops import Fp4ToFpOp as Fp4ToFpOp
from minitriton.dialects.ttg.ops import GlobalScratchAllocOp as GlobalScratchAllocOp
from minitriton.dialects.ttg.ops import LocalBarrierOp as LocalBarrierOp
from minitriton.dialects.ttg.ops import MaskOp as MaskOp
from minitriton.dialects.ttg.ops import MaskReturnOp as MaskReturnOp
from minitriton.dialects.ttg.ops import PredicateStageOp as PredicateStageOp
from minitriton.dialects.ttg.types import AsyncTokenType as AsyncTokenType
from minitriton.dialects.ttg.types import MemDescType as MemDescType
from minitriton.dialects.ttg.warp_specialize import WarpReturnOp as WarpReturnOp
from minitriton.dialects.ttg.warp_specialize import WarpSpecializeOp as WarpSpecializeOp
from minitriton.dialects.ttg.warp_specialize import WarpSpecializePartitionsOp as WarpSpecializePartitionsOp
from minitriton.dialects.ttg.warp_specialize import WarpYieldOp as WarpYieldOp

TTG = Dialect("ttg", *declared("ttg", globals()))
