"""The primitives of NVIDIA GPUs, as ops of `nvvm`. Importing this module registers NVIDIA's lowerings and text writers."""

from collections.abc import Mapping

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, UnitAttr, i32
from xdsl.ir import Attribute, SSAValue

from minitriton.codegen.builder import Builder
from minitriton.codegen.nvidia import atomics as atomics  # these fill the tables
from minitriton.codegen.nvidia import casts as casts
from minitriton.codegen.nvidia import diagnostics as diagnostics
from minitriton.codegen.nvidia import math as math
from minitriton.codegen.nvidia import memory as memory
from minitriton.codegen.nvidia import mma as mma
from minitriton.codegen.nvidia import tma as tma
from minitriton.codegen.nvidia import warp_specialize
from minitriton.codegen.nvidia import wgmma as wgmma
from minitriton.codegen.nvidia.text import nvvm_global as nvvm_global
from minitriton.codegen.target_interface import TargetInfo
from minitriton.codegen.types import I32, vector_type
from minitriton.dialects import nvvm
from minitriton.dialects.attribute_values import string_attr
from minitriton.dialects.nvvm import tma as nvvm_tma
from minitriton.target.architectures import LIMITS, Architecture

_UNIT = UnitAttr()

_BLOCK_ID = (nvvm.BlockIdXOp, nvvm.BlockIdYOp, nvvm.BlockIdZOp)
_CLUSTER_ID = (nvvm.ClusterIdXOp, nvvm.ClusterIdYOp, nvvm.ClusterIdZOp)
_GRID_DIM = (nvvm.GridDimXOp, nvvm.GridDimYOp, nvvm.GridDimZOp)


def _transposed(transposed: bool) -> dict[str, Attribute]:
    return {"transposed": _UNIT} if transposed else {}


class _Nvidia:
    cta_scope = "block"
    reduced_lanes = 0
    shuffle_cost = 2
    sharing_gain = 1.4
    """On record is an argmax of 4 rows at 8 warps alone, the example of `partial_results` (2026-11-22)."""
    lanes_at_once = 8
    """In attention of 128x128 by 4 warps the second half of the first dot was needed before the first: 1,076 bytes of spills with whole vectors, 144 with
    8 lanes, 168 with 32; Triton 164. Compiling takes 0.9 of the time (110 drawn launches, 2026-11-28)."""

    def broadcast_elements(self, bits: int) -> int:
        return 4

    def thread_id(self, b: Builder) -> SSAValue:
        return b.once("tid", nvvm.ThreadIdXOp, I32)

    def cluster_rank(self, b: Builder) -> SSAValue:
        return b.once("cluster_rank", nvvm.ClusterRankOp, I32)

    def program_id(self, b: Builder, axis: int, num_ctas: int) -> SSAValue:
        return b.value((_BLOCK_ID if num_ctas == 1 else _CLUSTER_ID)[axis], (), I32)

    def num_programs(self, b: Builder, axis: int, num_ctas: int) -> SSAValue:
        """Blocks of a cluster follow each other along x."""
        blocks = b.value(_GRID_DIM[axis], (), I32)
        return b.lshr(blocks, num_ctas.bit_length() - 1) if axis == 0 and num_ctas > 1 else blocks

    def barrier(self, b: Builder, named: tuple[int, int] | None = None) -> None:
        if named is None:
            b.operation(nvvm.BarrierOp, (), ())
            return
        number, threads = (IntegerAttr(value, 32) for value in named)
        b.operation(nvvm.BarrierOp, (), (), {"barrier_id": number, "number_of_threads": threads})

    def warp_barrier(self, b: Builder) -> None:
        b.operation(nvvm.BarWarpSyncOp, (), ())

    def cluster_barrier(self, b: Builder) -> None:
        b.operation(nvvm_tma.ClusterBarrierOp, (), ())

    def shuffle(self, b: Builder, value: SSAValue, offset: SSAValue, kind: str) -> SSAValue:
        return b.value(nvvm.ShflSyncOp, (value, offset), value.type, {"kind": string_attr(kind)})

    def swap_lanes(self, b: Builder, features: Architecture, bit: int, low: SSAValue, high: SSAValue) -> None:
        return None

    def warp_reduce(self, b: Builder, kind: str, word: SSAValue) -> SSAValue:
        return b.value(nvvm.ReduxSyncOp, (word,), I32, {"kind": string_attr(kind)})

    def reduce_warp(self, b: Builder, values: list[SSAValue], combine: object) -> list[SSAValue]:
        raise NotImplementedError("shuffles do")

    def in_cta(self, b: Builder, pointer: SSAValue, rank: SSAValue) -> SSAValue:
        return b.value(nvvm_tma.MapaOp, (pointer, rank), nvvm_tma.SHARED_CLUSTER)

    def store_shared(self, b: Builder, value: SSAValue, pointer: SSAValue, mask: SSAValue) -> None:
        b.operation(nvvm.StoreSharedOp, (value, pointer, mask), ())

    def load_matrices(self, b: Builder, pointer: SSAValue, count: int, *, transposed: bool) -> SSAValue:
        return b.value(nvvm.LdMatrixOp, (pointer,), vector_type(I32, count), _transposed(transposed))

    def store_matrices(self, b: Builder, words: SSAValue, pointer: SSAValue, *, transposed: bool) -> None:
        b.operation(nvvm.StMatrixOp, (words, pointer), (), _transposed(transposed))

    def kernel_attributes(self, num_threads: int, num_ctas: int, registers: int | None) -> Mapping[str, Attribute]:
        attributes: dict[str, Attribute] = {
            "nvvm.kernel": _UNIT,
            "nvvm.reqntid": DenseArrayBase.from_list(i32, (num_threads,)),
        }
        if registers is not None:
            attributes["nvvm.maxnreg"] = IntegerAttr(min(registers, LIMITS.registers_per_thread), i32)
        if num_ctas > 1:
            attributes["nvvm.cluster_dim"] = DenseArrayBase.from_list(i32, (num_ctas,))
        return attributes

    def parameter_attributes(self) -> Mapping[str, Attribute]:
        return {}

    def descriptor_attributes(self) -> Mapping[str, Attribute]:
        return {"nvvm.grid_constant": _UNIT}

    workers_of = staticmethod(warp_specialize.workers_of)
    dispatch = staticmethod(warp_specialize.dispatch)
    release_workers = staticmethod(warp_specialize.release_workers)


NVIDIA: TargetInfo = _Nvidia()
