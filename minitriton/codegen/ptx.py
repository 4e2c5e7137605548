"""LLVM IR text to PTX.

In: the text of an LLVM module (ours or Triton's), a target and options. Out: optimised LLVM IR, PTX, or both.

    llvm_ir, ptx = compile_llvm_ir(text, GPUTarget("cuda", 90), CUDAOptions())

LLVM runs its O3 pipeline with the target known (data layout, GPU, features) and without vectorisers: what should be a vector is
one already.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import llvmlite.binding as llvm

from minitriton.analysis.register_demand import DEMAND
from minitriton.codegen import llvm_session
from minitriton.codegen.llvm_session import chosen_passes
from minitriton.codegen.nvidia.device_library import link_device_library
from minitriton.errors import IRError, MinitritonError
from minitriton.target import CUDAOptions, GPUTarget

DEFAULT_PTX_VERSION = 87
"""PTX 8.7, of CUDA 12.8: what Triton 3.6.0 writes with the assembler it ships."""

SUPPORTED_PTX_VERSIONS = range(70, 89)
"""Versions whose names LLVM knows; an unknown feature would end the process."""


def ptx_version(options: CUDAOptions, target: GPUTarget) -> int:
    """The version of PTX to write. Raises if LLVM does not know it."""
    version = options.ptx_version or max(DEFAULT_PTX_VERSION, target.features.first_ptx_version)
    if version not in SUPPORTED_PTX_VERSIONS:
        known = f"{SUPPORTED_PTX_VERSIONS.start} to {SUPPORTED_PTX_VERSIONS.stop - 1}"
        raise MinitritonError(f"PTX version {version} is not supported", help=f"supported: {known} (87 is PTX 8.7)")
    return version


def machine_for(target: GPUTarget, options: CUDAOptions) -> llvm.TargetMachine:
    """LLVM's code generator for `target`, writing the PTX version of `options`. Raises if that does not know the target."""
    version, first = ptx_version(options, target), target.features.first_ptx_version
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
    """`llvm_ir` with the permission to make one fused operation of a multiplication and the addition or subtraction that takes it (Triton's
    `AllowFPOpFusion = Fast`); sums marked by `Builder.never_fused` stay without. Where nothing is multiplied there is nothing to permit."""
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
    return finish_ptx(machine.emit_assembly(parse_llvm_ir(text, machine)), text, keep_debug=keep_debug)


_DEMAND = re.compile(rf'"{DEMAND}"="([^"]*)"')
DEMAND_COMMENT = "// demand: "
"""Begins the line above the first kernel that says what it demands (`analysis.register_demand`), for the step that assembles it."""


def finish_ptx(ptx: str, llvm_ir: str, *, keep_debug: bool = False) -> str:
    """Adds what the kernel demands, as `llvm_ir` says, and drops what only debuggers read, unless asked to keep it: line tables (`.loc`, `.file`) are
    enough for profilers. Packed additions that ptxas assembles wrongly are split."""
    ptx = split_uneven_sums(ptx)
    demand = _DEMAND.search(llvm_ir)
    if demand is not None and demand[1]:
        ptx = ptx.replace(".visible .entry", f"{DEMAND_COMMENT}{demand[1]}\n.visible .entry", 1)
    if keep_debug:
        return ptx
    return ptx.replace(", debug", "", 1) if ", debug\n" in ptx else ptx


# Sums of two 16-bit numbers at once whose constants differ, taken apart: ptxas assembles them wrongly.
#
#     mov.b32 %r14, 8257536;                  the same
#     add.s16x2 %r15, %r12, %r14;       →     two add.s16 on the halves of %r12 and %r14
#
# Where only the upper half of the sum is read, ptxas 12.8 (of CUDA 12.8, which Triton 3.6.0 ships) adds the lower half of the constant to it: for
# 8257536, which is (0, 126), it writes `VIADD.16x2 R8, R8, 0x0`. nvJitLink 13.5 is right (2026-11-22).

_CONSTANT = re.compile(r"mov\.b32\s+(%r\d+), (-?\d+);")
_SUM = re.compile(r"add\.s16x2\s+(%r\d+), (%r\d+), (%r\d+|-?\d+);")


def split_uneven_sums(ptx: str) -> str:
    """`ptx` without packed sums of a constant whose halves differ."""
    if "add.s16x2" not in ptx:
        return ptx
    constants = {name: int(value) for name, value in _CONSTANT.findall(ptx)}
    return _SUM.sub(lambda found: _halves(found) if _is_uneven(found, constants) else found[0], ptx)


def _is_uneven(found: re.Match[str], constants: dict[str, int]) -> bool:
    """Whether a summand is a constant of two different halves."""
    for operand in (found[2], found[3]):
        value = constants.get(operand) if operand.startswith("%") else int(operand)
        if value is not None and (value & 0xFFFF) != (value >> 16 & 0xFFFF):
            return True
    return False


def _halves(found: re.Match[str]) -> str:
    result, left, right = found.groups()
    return (
        "{ .reg .b16 %half<6>; "
        f"mov.b32 {{%half0, %half1}}, {left}; mov.b32 {{%half2, %half3}}, {right}; "
        "add.s16 %half4, %half0, %half2; add.s16 %half5, %half1, %half3; "
        f"mov.b32 {result}, {{%half4, %half5}}; }}"
    )
