"""The primitives of AMD's GPUs, as ops of `rocdl`. Importing this module registers AMD's lowerings and text writers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.codegen.amd import async_copy as async_copy  # these fill the tables
from minitriton.codegen.amd import atomics as atomics
from minitriton.codegen.amd import buffers as buffers
from minitriton.codegen.amd import casts as casts
from minitriton.codegen.amd import lanes
from minitriton.codegen.amd import math as math
from minitriton.codegen.amd import mfma as mfma
from minitriton.codegen.amd import scaled_upcast as scaled_upcast
from minitriton.codegen.amd import scheduling as scheduling
from minitriton.codegen.amd import waits as waits
from minitriton.codegen.amd.memory import where
from minitriton.codegen.amd.text import KERNEL
from minitriton.codegen.builder import Builder
from minitriton.codegen.target_interface import TargetInfo
from minitriton.codegen.types import I32, struct_type
from minitriton.dialects import rocdl
from minitriton.dialects.attribute_values import string_attr
from minitriton.errors import LoweringError
from minitriton.target.architectures import Architecture

_HAS_SWAPS = 4
"""Version of the matrix cores of gfx950, which has `v_permlane16_swap_b32` and `v_permlane32_swap_b32` (CDNA4 ISA, "VOP1 Instructions")."""
_WORKGROUP_ID = (rocdl.WorkgroupIdXOp, rocdl.WorkgroupIdYOp, rocdl.WorkgroupIdZOp)


def _absent(what: str) -> NoReturn:
    raise LoweringError(f"AMD's GPUs lack {what}", help="use num_ctas=1 and no warp specialization")


class _Amd:
    cta_scope = "workgroup"
    reduced_lanes = lanes.WAVE
    lanes_at_once = 1 << 30
    """No limit: LLVM schedules again for AMD, and parts of an MFMA's accumulator make it spill (256 registers of 256x256 by 8 waves; 2026-11-28)."""

    shuffle_cost = 1
    """Of the lanes that share partial results: DPP, often a modifier of the instruction that takes the word."""
    sharing_gain = 1.0
    """Passes over LDS of 210 kernels are 1.17 of Triton's without sharing, 0.97 with 1.4, 0.94 with 1; instructions 0.919, 0.921, 0.922 (2026-11-28)."""

    def broadcast_elements(self, bits: int) -> int:
        """A word: LDS returns 128 bytes in a cycle to a wave, of one address, too; `ds_read_b128` takes eight cycles, `ds_read_b32` two."""
        return max(32 // bits, 1)

    def thread_id(self, b: Builder) -> SSAValue:
        return b.once("tid", rocdl.WorkitemIdXOp, I32)

    def cluster_rank(self, b: Builder) -> SSAValue:
        return b.i32(0)

    def program_id(self, b: Builder, axis: int, num_ctas: int) -> SSAValue:
        return b.value(_WORKGROUP_ID[axis], (), I32)

    def num_programs(self, b: Builder, axis: int, num_ctas: int) -> SSAValue:
        return b.value(rocdl.GridDimOp, (), I32, {"axis": IntegerAttr(axis, i32)})

    def barrier(self, b: Builder, named: tuple[int, int] | None = None) -> None:
        if named is not None:
            _absent("named barriers")
        b.operation(rocdl.BarrierOp, (), ())

    def warp_barrier(self, b: Builder) -> None:
        b.operation(rocdl.WaveBarrierOp, (), ())

    def cluster_barrier(self, b: Builder) -> None:
        _absent("clusters")

    def shuffle(self, b: Builder, value: SSAValue, offset: SSAValue, kind: str) -> SSAValue:
        return lanes.shuffle(b, value, offset, kind, self.thread_id(b))

    def swap_lanes(
        self, b: Builder, features: Architecture, bit: int, low: SSAValue, high: SSAValue
    ) -> list[SSAValue] | None:
        if features.mfma_version < _HAS_SWAPS or bit not in (4, 5):
            return None
        swapped = b.value(rocdl.PermlaneSwapOp, (low, high), struct_type(I32, I32), {"row": IntegerAttr(1 << bit, i32)})
        return [b.field(swapped, 0), b.field(swapped, 1)]

    def warp_reduce(self, b: Builder, kind: str, word: SSAValue) -> SSAValue:
        _absent("a reduction of a word in one instruction")

    def reduce_warp(
        self, b: Builder, values: list[SSAValue], combine: Callable[[list[SSAValue], list[SSAValue]], list[SSAValue]]
    ) -> list[SSAValue]:
        return lanes.reduce_wave(b, values, combine)

    def in_cta(self, b: Builder, pointer: SSAValue, rank: SSAValue) -> SSAValue:
        _absent("clusters")

    def store_shared(self, b: Builder, value: SSAValue, pointer: SSAValue, mask: SSAValue) -> None:
        where(b, mask, (), lambda: _stored(b, value, pointer))

    def load_matrices(self, b: Builder, pointer: SSAValue, count: int, *, transposed: bool) -> SSAValue:
        _absent("loads of matrices")

    def store_matrices(self, b: Builder, words: SSAValue, pointer: SSAValue, *, transposed: bool) -> None:
        _absent("stores of matrices")

    def kernel_attributes(self, num_threads: int, num_ctas: int, registers: int | None) -> Mapping[str, Attribute]:
        return {
            KERNEL: UnitAttr(),
            "amdgpu-flat-work-group-size": string_attr(f"1,{num_threads}"),
            "uniform-work-group-size": string_attr("true"),
        }

    def parameter_attributes(self) -> Mapping[str, Attribute]:
        """The first of them come in registers, where the hardware can do that (AMDGPUUsage, "Preloaded Kernel Arguments")."""
        return {"llvm.inreg": UnitAttr()}

    def descriptor_attributes(self) -> Mapping[str, Attribute]:
        return {}

    def workers_of(self, f: Any, kernel: Operation) -> None:
        """No warps wait for work."""
        return

    def dispatch(self, f: Any, workers: Any, body: Any) -> None:
        _absent("warp specialization")

    def release_workers(self, f: Any, workers: Any) -> None:
        _absent("warp specialization")


def _stored(b: Builder, value: SSAValue, pointer: SSAValue) -> list[SSAValue]:
    b.store(value, pointer)
    return []


AMD: TargetInfo = _Amd()
