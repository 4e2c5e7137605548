"""LLVM IR text to PTX.

In: the text of an LLVM module (ours or Triton's), a target and options. Out: optimised LLVM IR, PTX, or both.

    llvm_ir, ptx = compile_llvm_ir(text, GPUTarget("cuda", 90), CUDAOptions())

LLVM runs its O3 pipeline with the target known (data layout, GPU, features) and without vectorisers: what should be a vector is
one already.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import llvmlite.binding as llvm

from minitriton.codegen import llvm_session
from minitriton.codegen.device_library import link_device_library
from minitriton.codegen.llvm_passes import chosen_passes
from minitriton.codegen.packed_adds import split_uneven_sums
from minitriton.errors import IRError, MinitritonError
from minitriton.target import CUDAOptions, GPUTarget

DEFAULT_PTX_VERSION = 87
"""PTX 8.7, of CUDA 12.8: what Triton 3.6.0 writes with the assembler it ships."""

SUPPORTED_PTX_VERSIONS = range(70, 89)
"""Versions whose names LLVM knows; an unknown feature would end the process."""


def ptx_version(options: CUDAOptions) -> int:
    """The version of PTX to write. Raises if LLVM does not know it."""
    version = options.ptx_version or DEFAULT_PTX_VERSION
    if version not in SUPPORTED_PTX_VERSIONS:
        known = f"{SUPPORTED_PTX_VERSIONS.start} to {SUPPORTED_PTX_VERSIONS.stop - 1}"
        raise MinitritonError(f"PTX version {version} is not supported", help=f"supported: {known} (87 is PTX 8.7)")
    return version


_FIRST_VERSION = {70: 70, 75: 70, 80: 70, 86: 71, 87: 74, 89: 78, 90: 80, 100: 86, 120: 87}
"""The PTX that first knows each target (PTX ISA, "Release Notes"; 9.0 on as sm_90a): LLVM ends the process for an older one."""


def machine_for(target: GPUTarget, options: CUDAOptions) -> llvm.TargetMachine:
    """LLVM's code generator for `target`, writing the PTX version of `options`. Raises if that does not know the target."""
    version, first = ptx_version(options), _FIRST_VERSION.get(target.arch, DEFAULT_PTX_VERSION)
    if version < first:
        raise MinitritonError(
            f"PTX version {version} does not know {target.sm}", help=f"give ptx_version={first} or more, or none"
        )
    return llvm_session.target_machine(target.sm, f"+ptx{version}")


def parse_llvm_ir(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """`text` inside LLVM, its triple and data layout those of `machine`. Raises `IRError`."""
    try:
        module = llvm_session.parsed_alone(text)
    except RuntimeError as error:
        raise IRError(f"LLVM does not accept this module: {error}") from error
    module.triple = llvm_session.TRIPLE
    module.data_layout = str(machine.target_data)
    return module


def optimize(
    module: llvm.ModuleRef,
    machine: llvm.TargetMachine,
    level: int = 3,
    libraries: Sequence[Path] = (),
    passes: Sequence[str] = (),
) -> None:
    """Links the device functions that `module` lacks and runs LLVM's pipeline of `level` on it, in place; or, of LLVM's own,
    the `passes` named (`llvm_passes.LLVM_PASSES`)."""
    link_device_library(module, libraries)
    tuning = llvm.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_vectorization = False
    tuning.slp_vectorization = False
    tuning.loop_interleaving = False
    builder = llvm.create_pass_builder(machine, tuning)
    manager = chosen_passes(passes) if passes else builder.getModulePassManager()
    manager.run(module, builder)


_CONTRACTIBLE = re.compile(r"( = (?:fmul|fadd|fsub)) (?!arcp |contract )")
_CONTRACTED = re.compile(r"( = (?:fmul|fadd|fsub)) contract ")


def fusible(llvm_ir: str) -> str:
    """`llvm_ir` with the permission to make one fused operation of a product and the sum or difference that takes it (Triton's
    `AllowFPOpFusion = Fast`); sums marked by `Builder.never_fused` stay without. Where there is no product there is nothing to permit."""
    return _CONTRACTIBLE.sub(r"\1 contract ", llvm_ir) if " = fmul " in llvm_ir else llvm_ir


def is_ready(llvm_ir: str, *, fp_fusion: bool) -> bool:
    """Whether PTX can be made of `llvm_ir` as it stands."""
    if not fp_fusion:
        return _CONTRACTED.search(llvm_ir) is None
    return " = fmul " not in llvm_ir or _CONTRACTIBLE.search(llvm_ir) is None


def emit(llvm_ir: str, machine: llvm.TargetMachine, *, fp_fusion: bool, keep_debug: bool = False) -> str:
    """The PTX of a module that is optimised already. With `fp_fusion` a product and the sum or difference that takes it may
    become one fused operation, in device functions that were linked too."""
    text = fusible(llvm_ir) if fp_fusion else _CONTRACTED.sub(r"\1 ", llvm_ir)
    return finish_ptx(machine.emit_assembly(parse_llvm_ir(text, machine)), keep_debug=keep_debug)


def finish_ptx(ptx: str, *, keep_debug: bool = False) -> str:
    """Drops what only debuggers read, unless told to keep it: line tables (`.loc`, `.file`) are enough for profilers.

    Packed sums that ptxas assembles wrongly are taken apart.
    """
    ptx = split_uneven_sums(ptx)
    if keep_debug:
        return ptx
    return ptx.replace(", debug", "", 1) if ", debug\n" in ptx else ptx
