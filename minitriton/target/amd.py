"""AMD's GPUs as targets: what each can do, and the options of a compile for it. Kernels in Gluon become IR, and no pass lowers that yet.

GPUTarget("hip", "gfx942", 64)      module attributes {ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn, Self

from minitriton.errors import MinitritonError
from minitriton.target import CompileOptions, GPUTarget
from minitriton.target.architectures import Architecture
from minitriton.target.option_types import OptionType, integer

_FP8 = ("fp8e4b8", "fp8e4nv", "fp8e5", "fp8e5b16")
_CDNA = Architecture(
    "gfx90a", 0, shared_memory_kib=64, shared_kib_per_sm=64, warps_per_sm=32, ctas_per_sm=32, registers_per_sm=131072,
    registers_per_thread=512, warp_size=64, fp8_types=_FP8, mfma_version=2, has_fp8_conversions=True,
    shared_load="ds_read", shared_store="ds_write", keeps_zero_signs=False,
)  # fmt: skip
_RDNA = replace(_CDNA, sm="gfx1100", warp_size=32, registers_per_thread=256, mfma_version=0)

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
    "gfx1200": replace(_RDNA, sm="gfx1200"),
    "gfx1201": replace(_RDNA, sm="gfx1201"),
    "gfx1250": replace(_RDNA, sm="gfx1250", shared_memory_kib=320, shared_kib_per_sm=320, has_clusters=True),
}
"""By LLVM's names (https://llvm.org/docs/AMDGPUUsage.html). What the language asks for is here; figures that only a lowering would ask for are not checked."""


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


def no_steps(target: GPUTarget, *_: object) -> NoReturn:
    """Raises `MinitritonError`: there are no passes for Gluon's kernels on AMD's GPUs."""
    raise MinitritonError(
        f"kernels in Gluon for {target.ttg_target} become IR, and cannot be compiled further: no pass lowers `amdg` yet",
        help="write the kernel with tl, compile for cuda, or read the IR that the frontend makes",
    )
