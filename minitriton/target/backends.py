"""The back ends that there are, by the name before the colon of a module's `ttg.target`: `cuda` of `cuda:90`.

    BACKENDS["cuda"].load("target_info")      the object `NVIDIA` of minitriton.codegen.nvidia.target_info

A back end is one entry here. Each part is written `module:name` and is imported when it is first needed, so that an entry may name modules of any
layer. What each part has to be is a protocol of `codegen.target_interface`; `docs/targets.md` adds one step by step.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from minitriton.errors import MinitritonError
from minitriton.host.frozen import frozen


@frozen
class BackEnd:
    """Where the parts of a back end are."""

    architectures: str
    """What each of its GPUs can do, by the number or name in `ttg.target`: a mapping to `Architecture`."""
    pipeline: str
    """The passes from the frontend's IR to the last stage, as text (`PipelineSteps`)."""
    target_info: str | None = None
    """The lowering's primitives (`TargetInfo`). Importing its module registers the lowerings and text writers of the back end."""
    options: str = "minitriton.target:CompileOptions"
    """Its compile options: a subclass of `CompileOptions`."""
    passes: Mapping[str, str] = field(default_factory=dict[str, str])
    """The module of each pass and translation of its own, by its name."""
    dialects: Mapping[str, str] = field(default_factory=dict[str, str])
    """The dialects of its own, by their names."""
    gluon_pipeline: str | None = None
    """The passes from a Gluon kernel's IR on, as text; None if it takes no Gluon."""
    stages: tuple[str, ...] = ()
    """The stages of its own, in order, after those of every target (`ttir`, `ttgir`, `llir`)."""
    stages_when_asked: tuple[str, ...] = ()
    """The stage that is run when its binary is first asked for, not by each compile."""
    binary: str = ""
    """The stage that is bytes, not text."""
    binary_of: str = ""
    """The stage that the binary is made of, where it is made when first asked for."""
    assembly: str | None = None
    """The text of the step for that stage: a function of target, options and switches."""
    emulator: str | None = None
    """What runs its last text on the CPU (`Emulator`); None if nothing does."""
    driver: str | None = None
    """What finds devices, loads binaries and launches them (`Driver`); None if kernels are compiled only."""
    speeds: str | None = None
    """How fast each of its GPUs is, for the model of time: a mapping to `Speeds`."""
    devices: tuple[str, ...] = ()
    """Files of which one is there where such a GPU may be; none if its driver is to be asked always."""

    @property
    def may_have_device(self) -> bool:
        """Whether its driver is worth loading."""
        return not self.devices or any(os.path.exists(os.path.expandvars(file)) for file in self.devices)

    @property
    def text_stage(self) -> str:
        """The last of its stages that is text: what an emulator runs."""
        return [stage for stage in self.stages if stage != self.binary][-1]

    def load(self, part: str) -> Any:
        """The part called `part`, imported. Raises `MinitritonError` if this back end has none."""
        where = getattr(self, part)
        if where is None:
            raise MinitritonError(
                f"this back end cannot do that yet: it lacks {part}",
                help='for an NVIDIA GPU add the module attribute ttg.target = "cuda:90"; a back end names its parts in target/backends.py',
            )
        return imported(where)


@functools.cache
def imported(where: str) -> Any:
    """The object that `module:name` names."""
    module, _, name = where.partition(":")
    return getattr(importlib.import_module(module), name)


BACKENDS: dict[str, BackEnd] = {
    "cuda": BackEnd(
        architectures="minitriton.target.architectures:ARCHITECTURES",
        target_info="minitriton.codegen.nvidia.target_info:NVIDIA",
        pipeline="minitriton.pipeline.pipelines:cuda_steps",
        gluon_pipeline="minitriton.pipeline.pipelines:gluon_cuda_steps",
        options="minitriton.target:CUDAOptions",
        passes={
            "translate-to-llvm-ir": "minitriton.codegen.emission",
            "optimize-llvm-ir": "minitriton.codegen.emission",
            "emit-ptx": "minitriton.codegen.emission",
            "assemble-ptx": "minitriton.codegen.assemble_ptx",
        },
        dialects={"nvvm": "minitriton.dialects.nvvm:NVVM", "ttng": "minitriton.dialects.ttng:TTNG"},
        stages=("ptx",),
        stages_when_asked=("cubin",),
        binary="cubin",
        binary_of="ptx",
        assembly="minitriton.pipeline.pipelines:assembly_step",
        emulator="minitriton.emulator.launch:run",
        driver="minitriton.runtime.active_driver:ActiveDriver",
        speeds="minitriton.target.architectures:SPEEDS",
    ),
    "hip": BackEnd(
        architectures="minitriton.target.amd:ARCHITECTURES",
        target_info="minitriton.codegen.amd.target_info:AMD",
        pipeline="minitriton.pipeline.amd_pipelines:hip_steps",
        gluon_pipeline="minitriton.pipeline.amd_pipelines:gluon_hip_steps",
        options="minitriton.target.amd:HIPOptions",
        passes={
            "translate-to-amdgpu-llvm-ir": "minitriton.codegen.amd.emission",
            "optimize-amdgpu-llvm-ir": "minitriton.codegen.amd.emission",
            "emit-amdgcn": "minitriton.codegen.amd.emission",
            "link-hsaco": "minitriton.codegen.amd.emission",
            "optimize-amd-lds-usage": "minitriton.passes.amd.optimize_lds_usage",
            "tritonamdgpu-accelerate-matmul": "minitriton.passes.amd.accelerate_matmul",
            "tritonamdgpu-block-pingpong": "minitriton.passes.amd.block_pingpong",
            "tritonamdgpu-canonicalize-pointers": "minitriton.passes.amd.canonicalize_pointers",
            "tritonamdgpu-coalesce-async-copy": "minitriton.passes.amd.coalesce_async_copy",
            "tritonamdgpu-convert-buffer-ops": "minitriton.passes.amd.convert_buffer_ops",
            "tritonamdgpu-fold-true-cmpi": "minitriton.passes.amd.fold_true_cmpi",
            "tritonamdgpu-hoist-layout-conversions": "minitriton.passes.amd.reorder_instructions",
            "tritonamdgpu-in-thread-transpose": "minitriton.passes.amd.in_thread_transpose",
            "tritonamdgpu-optimize-dot-operands": "minitriton.passes.amd.optimize_dot_operands",
            "tritonamdgpu-optimize-epilogue": "minitriton.passes.amd.optimize_epilogue",
            "tritonamdgpu-pipeline": "minitriton.passes.amd.pipeline",
            "tritonamdgpu-schedule-loops": "minitriton.passes.amd.schedule_loops",
            "triton-amdgpu-insert-instruction-sched-hints": "minitriton.passes.amd.sched_hints",
            "triton-amdgpu-lower-insert-instruction-sched-hints": "minitriton.passes.amd.sched_hints",
            "tritonamdgpu-update-async-wait-count": "minitriton.passes.amd.update_async_wait_count",
            "tritonamdgpu-reorder-instructions": "minitriton.passes.amd.reorder_instructions",
        },
        dialects={"amdg": "minitriton.dialects.amdg:AMDG", "rocdl": "minitriton.dialects.rocdl:ROCDL"},
        emulator="minitriton.emulator.amdgcn.launch:run",
        stages=("amdgcn",),
        stages_when_asked=("hsaco",),
        binary="hsaco",
        binary_of="llir",
        assembly="minitriton.pipeline.amd_pipelines:assembly_step",
        driver="minitriton.runtime.hip_driver:HipActiveDriver",
        speeds="minitriton.target.amd:SPEEDS",
        devices=("/dev/kfd", "/dev/dxg", "$TRITON_LIBHIP_PATH"),
    ),
}
"""By name."""


def active_backend() -> str:
    """The back end whose GPU this machine has: of those added to NVIDIA's the first whose driver says so, else NVIDIA's."""
    others = (n for n, found in BACKENDS.items() if n != "cuda" and found.driver is not None and found.may_have_device)
    return next((name for name in others if BACKENDS[name].load("driver").is_active()), "cuda")


def backend(name: str) -> BackEnd:
    """The back end called `name`. Raises `MinitritonError` for an unknown one."""
    found = BACKENDS.get(name)
    if found is None:
        raise MinitritonError(f"unknown backend {name!r}", help="known back ends: " + ", ".join(BACKENDS))
    return found


# The stages of a compile, by name.

COMMON_STAGES = ("ttir", "ttgir", "llir")
"""Those of every target."""

STAGES = (*COMMON_STAGES, "ptx")
"""The representations that `CompiledKernel.asm` holds as text, in order; `cubin` follows as bytes."""

ALL_STAGES = (*STAGES, "cubin")


def stages_of(backend_name: str) -> tuple[str, ...]:
    """The stages of a back end that a compile runs, in order: those of every target, then its own."""
    return (*COMMON_STAGES, *backend(backend_name).stages)


def all_stages_of(backend_name: str) -> tuple[str, ...]:
    """Also the stage that is run when its binary is first asked for."""
    return (*stages_of(backend_name), *backend(backend_name).stages_when_asked)
