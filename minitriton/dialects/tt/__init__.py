"""The `tt` dialect: what a kernel computes, before it is laid out over threads.

This module is the dialect's front door: every op, type, attribute and helper of it can be had from here.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from minitriton.dialects.fast_paths.op_definition import declared
from minitriton.dialects.tt.descriptor import DescriptorGatherOp as DescriptorGatherOp
from minitriton.dialects.tt.descriptor import DescriptorLoadOp as DescriptorLoadOp
from minitriton.dialects.tt.descriptor import DescriptorReduceOp as DescriptorReduceOp
from minitriton.dialects.tt.descriptor import DescriptorScatterOp as DescriptorScatterOp
from minitriton.dialects.tt.descriptor import DescriptorStoreOp as DescriptorStoreOp
from minitriton.dialects.tt.descriptor import MakeTensorDescOp as MakeTensorDescOp
from minitriton.dialects.tt.dot import DotOp as DotOp
from minitriton.dialects.tt.dot import DotScaledOp as DotScaledOp
from minitriton.dialects.tt.elementwise import AddPtrOp as AddPtrOp
from minitriton.dialects.tt.elementwise import BitcastOp as BitcastOp
from minitriton.dialects.tt.elementwise import ClampFOp as ClampFOp
from minitriton.dialects.tt.elementwise import ElementwiseInlineAsmOp as ElementwiseInlineAsmOp
from minitriton.dialects.tt.elementwise import ExternElementwiseOp as ExternElementwiseOp
from minitriton.dialects.tt.elementwise import FpToFpOp as FpToFpOp
from minitriton.dialects.tt.elementwise import IntToPtrOp as IntToPtrOp
from minitriton.dialects.tt.elementwise import MapElementwiseOp as MapElementwiseOp
from minitriton.dialects.tt.elementwise import MapElementwiseReturnOp as MapElementwiseReturnOp
from minitriton.dialects.tt.elementwise import MulhiUIOp as MulhiUIOp
from minitriton.dialects.tt.elementwise import PreciseDivFOp as PreciseDivFOp
from minitriton.dialects.tt.elementwise import PreciseSqrtOp as PreciseSqrtOp
from minitriton.dialects.tt.elementwise import PtrToIntOp as PtrToIntOp
from minitriton.dialects.tt.enums import CacheModifier as CacheModifier
from minitriton.dialects.tt.enums import CacheModifierAttr as CacheModifierAttr
from minitriton.dialects.tt.enums import DescriptorReduceKind as DescriptorReduceKind
from minitriton.dialects.tt.enums import DescriptorReduceKindAttr as DescriptorReduceKindAttr
from minitriton.dialects.tt.enums import EvictionPolicy as EvictionPolicy
from minitriton.dialects.tt.enums import EvictionPolicyAttr as EvictionPolicyAttr
from minitriton.dialects.tt.enums import InputPrecision as InputPrecision
from minitriton.dialects.tt.enums import InputPrecisionAttr as InputPrecisionAttr
from minitriton.dialects.tt.enums import IntegerEnumAttr as IntegerEnumAttr
from minitriton.dialects.tt.enums import MemSemantic as MemSemantic
from minitriton.dialects.tt.enums import MemSemanticAttr as MemSemanticAttr
from minitriton.dialects.tt.enums import MemSyncScope as MemSyncScope
from minitriton.dialects.tt.enums import MemSyncScopeAttr as MemSyncScopeAttr
from minitriton.dialects.tt.enums import PaddingOption as PaddingOption
from minitriton.dialects.tt.enums import PaddingOptionAttr as PaddingOptionAttr
from minitriton.dialects.tt.enums import ProgramIDDim as ProgramIDDim
from minitriton.dialects.tt.enums import ProgramIDDimAttr as ProgramIDDimAttr
from minitriton.dialects.tt.enums import PropagateNan as PropagateNan
from minitriton.dialects.tt.enums import PropagateNanAttr as PropagateNanAttr
from minitriton.dialects.tt.enums import RMWOp as RMWOp
from minitriton.dialects.tt.enums import RMWOpAttr as RMWOpAttr
from minitriton.dialects.tt.enums import RoundingMode as RoundingMode
from minitriton.dialects.tt.enums import RoundingModeAttr as RoundingModeAttr
from minitriton.dialects.tt.enums import ScaleDotElemType as ScaleDotElemType
from minitriton.dialects.tt.enums import ScaleDotElemTypeAttr as ScaleDotElemTypeAttr
from minitriton.dialects.tt.func import AssertOp as AssertOp
from minitriton.dialects.tt.func import BreakpointOp as BreakpointOp
from minitriton.dialects.tt.func import CallOp as CallOp
from minitriton.dialects.tt.func import FuncOp as FuncOp
from minitriton.dialects.tt.func import GetNumProgramsOp as GetNumProgramsOp
from minitriton.dialects.tt.func import GetProgramIdOp as GetProgramIdOp
from minitriton.dialects.tt.func import PrintOp as PrintOp
from minitriton.dialects.tt.func import ReturnOp as ReturnOp
from minitriton.dialects.tt.memory import AdvanceOp as AdvanceOp
from minitriton.dialects.tt.memory import AtomicCASOp as AtomicCASOp
from minitriton.dialects.tt.memory import AtomicLoadOp as AtomicLoadOp
from minitriton.dialects.tt.memory import AtomicPollOp as AtomicPollOp
from minitriton.dialects.tt.memory import AtomicRMWOp as AtomicRMWOp
from minitriton.dialects.tt.memory import AtomicStoreOp as AtomicStoreOp
from minitriton.dialects.tt.memory import LoadOp as LoadOp
from minitriton.dialects.tt.memory import MakeTensorPtrOp as MakeTensorPtrOp
from minitriton.dialects.tt.memory import StoreOp as StoreOp
from minitriton.dialects.tt.reduce import GatherOp as GatherOp
from minitriton.dialects.tt.reduce import HistogramOp as HistogramOp
from minitriton.dialects.tt.reduce import ReduceOp as ReduceOp
from minitriton.dialects.tt.reduce import ReduceReturnOp as ReduceReturnOp
from minitriton.dialects.tt.reduce import ScanOp as ScanOp
from minitriton.dialects.tt.reduce import ScanReturnOp as ScanReturnOp
from minitriton.dialects.tt.shape import BroadcastOp as BroadcastOp
from minitriton.dialects.tt.shape import CatOp as CatOp
from minitriton.dialects.tt.shape import ExpandDimsOp as ExpandDimsOp
from minitriton.dialects.tt.shape import JoinOp as JoinOp
from minitriton.dialects.tt.shape import MakeRangeOp as MakeRangeOp
from minitriton.dialects.tt.shape import ReshapeOp as ReshapeOp
from minitriton.dialects.tt.shape import SplatOp as SplatOp
from minitriton.dialects.tt.shape import SplitOp as SplitOp
from minitriton.dialects.tt.shape import TransOp as TransOp
from minitriton.dialects.tt.shape import UnsplatOp as UnsplatOp
from minitriton.dialects.tt.traits import VerifiedElementwise as VerifiedElementwise
from minitriton.dialects.tt.types import PointerType as PointerType
from minitriton.dialects.tt.types import TensorDescType as TensorDescType
from minitriton.dialects.tt.types import i1_same_shape as i1_same_shape
from minitriton.dialects.tt.types import pointer_type as pointer_type
from minitriton.dialects.tt.types import tensor_type as tensor_type

TT = Dialect("tt", *declared("tt", globals()))
