"""The `tt` dialect: what a kernel computes, before it is laid out over threads.

This module is the dialect's front door: every op, type, attribute and helper of it can be had from here.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from minitriton.dialects.fast_paths.op_definition import declared
from minitriton.dialects.tt.descriptor import (
    DescriptorGatherOp,
    DescriptorLoadOp,
    DescriptorReduceOp,
    DescriptorScatterOp,
    DescriptorStoreOp,
    MakeTensorDescOp,
)
from minitriton.dialects.tt.dot import DotOp, DotScaledOp
from minitriton.dialects.tt.elementwise import (
    AddPtrOp,
    BitcastOp,
    ClampFOp,
    ElementwiseInlineAsmOp,
    ExternElementwiseOp,
    FpToFpOp,
    IntToPtrOp,
    MapElementwiseOp,
    MapElementwiseReturnOp,
    MulhiUIOp,
    PreciseDivFOp,
    PreciseSqrtOp,
    PtrToIntOp,
)
from minitriton.dialects.tt.enums import (
    CacheModifier,
    CacheModifierAttr,
    DescriptorReduceKind,
    DescriptorReduceKindAttr,
    EvictionPolicy,
    EvictionPolicyAttr,
    InputPrecision,
    InputPrecisionAttr,
    IntegerEnumAttr,
    MemSemantic,
    MemSemanticAttr,
    MemSyncScope,
    MemSyncScopeAttr,
    PaddingOption,
    PaddingOptionAttr,
    ProgramIDDim,
    ProgramIDDimAttr,
    PropagateNan,
    PropagateNanAttr,
    RMWOp,
    RMWOpAttr,
    RoundingMode,
    RoundingModeAttr,
    ScaleDotElemType,
    ScaleDotElemTypeAttr,
)
from minitriton.dialects.tt.func import CallOp, FuncOp, ReturnOp
from minitriton.dialects.tt.memory import (
    AdvanceOp,
    AtomicCASOp,
    AtomicLoadOp,
    AtomicPollOp,
    AtomicRMWOp,
    AtomicStoreOp,
    LoadOp,
    MakeTensorPtrOp,
    StoreOp,
)
from minitriton.dialects.tt.program import AssertOp, BreakpointOp, GetNumProgramsOp, GetProgramIdOp, PrintOp
from minitriton.dialects.tt.reduce import GatherOp, HistogramOp, ReduceOp, ReduceReturnOp, ScanOp, ScanReturnOp
from minitriton.dialects.tt.shape import (
    BroadcastOp,
    CatOp,
    ExpandDimsOp,
    JoinOp,
    MakeRangeOp,
    ReshapeOp,
    SplatOp,
    SplitOp,
    TransOp,
    UnsplatOp,
)
from minitriton.dialects.tt.traits import VerifiedElementwise
from minitriton.dialects.tt.types import PointerType, TensorDescType, i1_same_shape, pointer_type, tensor_type
from minitriton.dialects.tt.verify import compute as _compute_checks
from minitriton.dialects.tt.verify import func as _func_checks
from minitriton.dialects.tt.verify import memory as _memory_checks
from minitriton.dialects.tt.verify import shape as _shape_checks

__all__ = [
    "TT",
    "VERIFIED_BY",
    "AddPtrOp",
    "AdvanceOp",
    "AssertOp",
    "AtomicCASOp",
    "AtomicLoadOp",
    "AtomicPollOp",
    "AtomicRMWOp",
    "AtomicStoreOp",
    "BitcastOp",
    "BreakpointOp",
    "BroadcastOp",
    "CacheModifier",
    "CacheModifierAttr",
    "CallOp",
    "CatOp",
    "ClampFOp",
    "DescriptorGatherOp",
    "DescriptorLoadOp",
    "DescriptorReduceKind",
    "DescriptorReduceKindAttr",
    "DescriptorReduceOp",
    "DescriptorScatterOp",
    "DescriptorStoreOp",
    "DotOp",
    "DotScaledOp",
    "ElementwiseInlineAsmOp",
    "EvictionPolicy",
    "EvictionPolicyAttr",
    "ExpandDimsOp",
    "ExternElementwiseOp",
    "FpToFpOp",
    "FuncOp",
    "GatherOp",
    "GetNumProgramsOp",
    "GetProgramIdOp",
    "HistogramOp",
    "InputPrecision",
    "InputPrecisionAttr",
    "IntToPtrOp",
    "IntegerEnumAttr",
    "JoinOp",
    "LoadOp",
    "MakeRangeOp",
    "MakeTensorDescOp",
    "MakeTensorPtrOp",
    "MapElementwiseOp",
    "MapElementwiseReturnOp",
    "MemSemantic",
    "MemSemanticAttr",
    "MemSyncScope",
    "MemSyncScopeAttr",
    "MulhiUIOp",
    "PaddingOption",
    "PaddingOptionAttr",
    "PointerType",
    "PreciseDivFOp",
    "PreciseSqrtOp",
    "PrintOp",
    "ProgramIDDim",
    "ProgramIDDimAttr",
    "PropagateNan",
    "PropagateNanAttr",
    "PtrToIntOp",
    "RMWOp",
    "RMWOpAttr",
    "ReduceOp",
    "ReduceReturnOp",
    "ReshapeOp",
    "ReturnOp",
    "RoundingMode",
    "RoundingModeAttr",
    "ScaleDotElemType",
    "ScaleDotElemTypeAttr",
    "ScanOp",
    "ScanReturnOp",
    "SplatOp",
    "SplitOp",
    "StoreOp",
    "TensorDescType",
    "TransOp",
    "UnsplatOp",
    "VerifiedElementwise",
    "i1_same_shape",
    "pointer_type",
    "tensor_type",
]

VERIFIED_BY = (_compute_checks, _func_checks, _memory_checks, _shape_checks)
"""What says, once loaded, whether these ops are well formed."""

TT = Dialect("tt", *declared("tt", globals()))
