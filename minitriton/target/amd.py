"""AMD's GPUs as targets: what each can do, and the options of a compile for it.

GPUTarget("hip", "gfx942", 64)      module attributes {ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32}

The instructions of the matrix cores, `v_mfma`, of each version (2 gfx90a, 3 gfx942, 4 gfx950):

    mfma_of(3, (32, 32), "f16", "f16", 64)     Mfma("f32.32x32x8f16", 8, 4): a lane holds 4 elements of 8 along k

Sources: AMD Instinct MI200, MI300 and CDNA4 ISA, "Matrix Arithmetic Instructions"; names as LLVM has them (`IntrinsicsAMDGPU.td`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

from minitriton.target import CompileOptions, GPUTarget
from minitriton.target.architectures import Architecture, Speeds
from minitriton.target.option_types import OptionType, integer

_FP8 = ("fp8e4b8", "fp8e4nv", "fp8e5", "fp8e5b16")
_CDNA = Architecture(
    "gfx90a", 0, shared_memory_kib=64, shared_kib_per_sm=64, warps_per_sm=32, ctas_per_sm=32, registers_per_sm=131072,
    registers_per_thread=512, warp_size=64, fp8_types=_FP8, mfma_version=2, has_fp8_conversions=True,
    shared_load="ds_read", shared_store="ds_write", keeps_zero_signs=False,
)  # fmt: skip
_RDNA = replace(_CDNA, sm="gfx1100", warp_size=32, registers_per_thread=256, mfma_version=0, wmma_version=1)
_RDNA4 = replace(_RDNA, sm="gfx1200", wmma_version=2)

ARCHITECTURES: dict[str, Architecture] = {
    "gfx90a": _CDNA,
    "gfx942": replace(_CDNA, sm="gfx942", mfma_version=3),
    "gfx950": replace(
        _CDNA,
        sm="gfx950",
        shared_memory_kib=160,
        shared_kib_per_sm=160,
        deprecated_fp8_types=("fp8e4b8", "fp8e5b16"),
        mfma_version=4,
    ),
    "gfx1100": _RDNA,
    "gfx1101": replace(_RDNA, sm="gfx1101"),
    "gfx1200": _RDNA4,
    "gfx1201": replace(_RDNA4, sm="gfx1201"),
    "gfx1250": replace(
        _RDNA, sm="gfx1250", wmma_version=0, shared_memory_kib=320, shared_kib_per_sm=320, has_clusters=True
    ),
}
"""By LLVM's names (https://llvm.org/docs/AMDGPUUsage.html). What the language asks for is here; figures that only a lowering would ask for are not checked."""


_CDNA3_SPEEDS = Speeds(
    2100, tensor_flops_16=2048, sync_share=1.0, fma_flops=256, memory_bytes=2524, l2_bytes_per_sm=54, l2_bytes=32e6, lanes=64.0,
    memory_latency=800.0, l2_latency=300.0, shared_latency=64.0, multiprocessors=304,
)  # fmt: skip
_RDNA3_SPEEDS = replace(
    _CDNA3_SPEEDS, megahertz=2500, tensor_flops_16=512, memory_bytes=384, l2_bytes=6e6, lanes=128.0, multiprocessors=96
)
SPEEDS: dict[str, Speeds] = {
    "gfx90a": replace(
        _CDNA3_SPEEDS, megahertz=1700, tensor_flops_16=1024, memory_bytes=964, l2_bytes=8e6, multiprocessors=110
    ),
    "gfx942": _CDNA3_SPEEDS,
    "gfx950": replace(
        _CDNA3_SPEEDS, megahertz=2400, tensor_flops_16=4096, memory_bytes=3333, shared_bytes=256.0, multiprocessors=256
    ),
    "gfx1100": _RDNA3_SPEEDS,
    "gfx1101": replace(_RDNA3_SPEEDS, megahertz=2430, memory_bytes=257, l2_bytes=4e6, multiprocessors=60),
    "gfx1200": replace(
        _RDNA3_SPEEDS, megahertz=3130, tensor_flops_16=1024, memory_bytes=102, l2_bytes=4e6, multiprocessors=32
    ),
    "gfx1201": replace(
        _RDNA3_SPEEDS, megahertz=2970, tensor_flops_16=1024, memory_bytes=215, l2_bytes=8e6, multiprocessors=64
    ),
}
"""Of an MI250X (one of its two dies), MI300X, MI355X, RX 7900 XTX, 7800 XT, 9060 XT and 9070 XT, from AMD's data sheets: peak rates over the clock.
Latencies and bytes of L2 are rounded estimates. None was measured."""


@dataclass(frozen=True)
class HIPOptions(CompileOptions):
    """Compile options of one kernel for AMD's GPUs, named and defaulted as in Triton 3.6.0."""

    TYPES: ClassVar[Mapping[str, OptionType]] = {
        "waves_per_eu": integer(0, 16, 2),
        "matrix_instr_nonkdim": integer(0, 32, 16),
        "kpack": integer(1, 2, 1),
        "warp_size": integer(32, 64, 64),
    }

    backend_name: str = "hip"
    num_stages: int = 2
    default_dot_input_precision: str = "ieee"
    allowed_dot_input_precisions: tuple[str, ...] = ("ieee", "bf16x3", "bf16x6")
    waves_per_eu: int = 0
    matrix_instr_nonkdim: int = 0
    kpack: int = 1
    allow_flush_denorm: bool = False
    schedule_hint: str = "none"
    maxnreg: int | None = None
    """Of NVIDIA's: always None."""

    @classmethod
    def for_target(cls, target: GPUTarget, **given: Any) -> Self:
        """As of every target; gfx942 multiplies tf32, too."""
        if target.arch == "gfx942":
            given = {"allowed_dot_input_precisions": (*cls.allowed_dot_input_precisions, "tf32"), **given}
        return super().for_target(target, **given)


class Mfma(NamedTuple):
    """An instruction: LLVM's name after `llvm.amdgcn.mfma.`, its k, and how many elements of an operand along k a lane gives it.

    Of 4x64 it is that of 16 blocks of 4x4; `depth` is what 16 of them take, each with another block of the narrow operand for all."""

    intrinsic: str
    depth: int
    per_lane: int


Key = tuple[int, str, str]
"""Rows or columns of the result, whichever are fewer (4: of 4x64 and 64x4), element types of A and B."""

_ALWAYS: dict[Key, tuple[Mfma, ...]] = {
    (16, "f64", "f64"): (Mfma("f64.16x16x4f64", 4, 1),),
    (32, "f32", "f32"): (Mfma("f32.32x32x2f32", 2, 1),),
    (16, "f32", "f32"): (Mfma("f32.16x16x4f32", 4, 1),),
    (32, "f16", "f16"): (Mfma("f32.32x32x8f16", 8, 4),),
    (16, "f16", "f16"): (Mfma("f32.16x16x16f16", 16, 4),),
    (32, "bf16", "bf16"): (Mfma("f32.32x32x8bf16.1k", 8, 4),),
    (16, "bf16", "bf16"): (Mfma("f32.16x16x16bf16.1k", 16, 4),),
    (32, "i8", "i8"): (Mfma("i32.32x32x8i8", 8, 4),),
    (16, "i8", "i8"): (Mfma("i32.16x16x16i8", 16, 4),),
    (4, "f32", "f32"): (Mfma("f32.4x4x1f32", 16, 1),),
    (4, "f16", "f16"): (Mfma("f32.4x4x4f16", 64, 4),),
    (4, "bf16", "bf16"): (Mfma("f32.4x4x4bf16.1k", 64, 4),),
    (4, "i8", "i8"): (Mfma("i32.4x4x4i8", 64, 4),),
}
FNUZ = {"fp8": "f8E4M3FNUZ", "bf8": "f8E5M2FNUZ"}
"""What gfx940 to gfx942 mean by names of types."""
OCP = {"fp8": "f8E4M3FN", "bf8": "f8E5M2"}
"""Of gfx950 and what came later."""


def _of_fp8(types: dict[str, str]) -> dict[Key, tuple[Mfma, ...]]:
    """The instructions of 8-bit floats, by what an architecture means by `fp8` and `bf8`."""
    return {
        (rows, types[a], types[b]): (Mfma(f"f32.{shape}.{a}.{b}", depth, 8),)
        for rows, shape, depth in ((32, "32x32x16", 16), (16, "16x16x32", 32))
        for a in types
        for b in types
    }


_LONG_INT8: dict[Key, tuple[Mfma, ...]] = {
    (32, "i8", "i8"): (Mfma("i32.32x32x16.i8", 16, 8),),
    (16, "i8", "i8"): (Mfma("i32.16x16x32.i8", 32, 8),),
}
_VERSION_3: dict[Key, tuple[Mfma, ...]] = {
    **_ALWAYS,
    **_of_fp8(FNUZ),
    **_LONG_INT8,
    (32, "tf32", "tf32"): (Mfma("f32.32x32x4.xf32", 4, 2),),
    (16, "tf32", "tf32"): (Mfma("f32.16x16x8.xf32", 8, 2),),
}
_VERSION_4: dict[Key, tuple[Mfma, ...]] = {
    **_ALWAYS,
    **_of_fp8(OCP),
    (32, "f16", "f16"): (Mfma("f32.32x32x16.f16", 16, 8), *_ALWAYS[32, "f16", "f16"]),
    (16, "f16", "f16"): (Mfma("f32.16x16x32.f16", 32, 8), *_ALWAYS[16, "f16", "f16"]),
    (32, "bf16", "bf16"): (Mfma("f32.32x32x16.bf16", 16, 8), *_ALWAYS[32, "bf16", "bf16"]),
    (16, "bf16", "bf16"): (Mfma("f32.16x16x32.bf16", 32, 8), *_ALWAYS[16, "bf16", "bf16"]),
    (32, "i8", "i8"): (Mfma("i32.32x32x32.i8", 32, 16), *_LONG_INT8[32, "i8", "i8"]),
    (16, "i8", "i8"): (Mfma("i32.16x16x64.i8", 64, 16), *_LONG_INT8[16, "i8", "i8"]),
}
SCALED_MFMA = {32: Mfma("f32.32x32x64.f8f6f4", 64, 32), 16: Mfma("f32.16x16x128.f8f6f4", 128, 32)}
"""By rows, of version 4: operands of 8, 6 or 4 bits, `per_lane` numbers that share a scale."""
_INSTRUCTIONS = {2: _ALWAYS, 3: _VERSION_3, 4: _VERSION_4}
"""Of each version, the instructions for a key, the longest along k first."""


def mfma_of(version: int, shape: tuple[int, int], a: str, b: str, depth: int) -> Mfma | None:
    """The longest instruction that `depth` is enough for, else the shortest; None if there is none for these rows, columns and types."""
    rows, columns = shape
    is_known = rows == columns > 4 or sorted(shape) == [4, 64]
    found = _INSTRUCTIONS.get(version, {}).get((min(shape), a, b), ()) if is_known else ()
    return next((each for each in found if each.depth <= depth), found[-1] if found else None)


WMMA_SIDE = 16
"""Rows and columns of the results of `v_wmma`."""


class Wmma(NamedTuple):
    """An instruction of RDNA: LLVM's name after `llvm.amdgcn.wmma.`, its k, and how many elements of an operand along k a lane gives it."""

    intrinsic: str
    depth: int
    per_lane: int


def wmma_of(version: int, a: str, b: str) -> Wmma | None:
    """The instruction of version 1 (RDNA3) or 2 (RDNA4) for operands of these types, whose results are f32 or i32; None if there is none."""
    kept = {"f16": "f16", "bf16": "bf16", "i8": "iu8"}
    small = {"f8E4M3FN": "fp8", "f8E5M2": "bf8"} if version == 2 else {}
    per_lane = {1: 16, 2: 8}.get(version, 0)
    if not per_lane:
        return None
    if a in small and b in small:
        return Wmma(f"f32.16x16x16.{small[a]}.{small[b]}", 16, per_lane)
    if a != b or a not in kept:
        return None
    return Wmma(f"{'i32' if a == 'i8' else 'f32'}.16x16x16.{kept[a]}", 16, per_lane)
