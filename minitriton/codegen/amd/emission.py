"""The last steps of a pipeline for AMD's GPUs: LLVM dialect → LLVM IR → optimised LLVM IR → assembly, and → object → code object.

llvmlite has no assembler for AMD's GPUs, so that the code object is made of the LLVM IR that the assembly was written from, which it keeps.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import ClassVar

import llvmlite.binding as llvm
from xdsl.dialects.builtin import ModuleOp, StringAttr

from minitriton.codegen import llvm_session
from minitriton.codegen.amd.code_object import link
from minitriton.codegen.amd.device_library import PREFIX, link_device_library
from minitriton.codegen.amd.text import KERNEL
from minitriton.codegen.emission import LLVMModule
from minitriton.codegen.llvm_session import CheckedLLVMIR, one_run
from minitriton.codegen.llvm_text import write_module
from minitriton.codegen.ptx import fusible
from minitriton.codegen.target_interface import target_info_of
from minitriton.errors import IRError, PipelineError, SourceLocation
from minitriton.pipeline.pass_registry import Property, Translation, register_pass
from minitriton.target.amd import ARCHITECTURES

TRIPLE = "amdgcn-amd-amdhsa"
_CODE_OBJECT_VERSION = '!{i32 1, !"amdhsa_code_object_version", i32 500}'


class Assembly(str):
    """AMDGCN text, with the LLVM IR that it was written from."""

    llvm_ir: str


@register_pass
class TranslateToAMDGPU(Translation, stage="llir", origin="required"):
    """Writes the `llvm` and `rocdl` dialects as the text of an LLVM module, with the attributes that options choose."""

    name = "translate-to-amdgpu-llvm-ir"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.LLVM_DIALECT})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.LLVM_IR})
    keeps: ClassVar[frozenset[Property]] = frozenset()
    line_info: bool = True
    waves_per_eu: int = 0
    """How many waves a SIMD shall hold; 0 leaves it to LLVM."""
    flush_denormals: bool = False
    strategy: str = ""
    """Of LLVM's scheduler; it chooses if this is empty."""

    def translate(self, source: object) -> str:
        if not isinstance(source, ModuleOp):
            raise PipelineError(f"{self.name} takes a module of the llvm dialect")
        target_info_of(source)  # its writers are registered from then on
        for op in source.ops:
            if KERNEL in op.attributes:
                op.attributes["amdgpu-waves-per-eu"] = StringAttr(f"{self.waves_per_eu}, {self.waves_per_eu}")
                op.attributes["denormal-fp-math-f32"] = StringAttr("preserve-sign" if self.flush_denormals else "ieee")
                if self.strategy:
                    op.attributes["amdgpu-sched-strategy"] = StringAttr(self.strategy)
        # `.loc` of AMDGCN cannot say where a function was inlined: lines are the user's own.
        text = write_module(
            source, line_info=self.line_info, reflect_ftz=False, names_callees=False, flags=(_CODE_OBJECT_VERSION,)
        )
        return CheckedLLVMIR(text)


@functools.cache
def _machine(arch: str) -> llvm.TargetMachine:
    """LLVM's code generator for a GPU. Raises `PipelineError` for a name that is not a GPU of AMD's here.

    The level is the one below Triton's: 0.93 of the time, 0.996 of the instructions (210 kernels, 2026-11-28). Its passes run at level 3: level 1
    takes 0.83 of their time, and 1.15 of the instructions of one kernel (`scaled_matmul_of_bytes`).
    """
    if arch not in ARCHITECTURES:
        raise PipelineError(f"{arch!r} is not a GPU of AMD's", help="known: " + ", ".join(ARCHITECTURES))
    llvm_session.initialize()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=arch, opt=2, reloc="pic")


def _parsed(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    try:
        module = llvm_session.parsed_alone(text)
    except RuntimeError as error:
        raise IRError(f"LLVM does not accept this module: {error}") from error
    module.triple = TRIPLE
    module.data_layout = str(machine.target_data)
    return module


def _checked(source: object) -> str:
    """The text of `source`; a child process is asked first about what minitriton has not written: bad LLVM IR ends the process."""
    if isinstance(source, str) and not isinstance(source, CheckedLLVMIR):
        llvm_session.check_in_child(source)
    if isinstance(source, (str, LLVMModule)):
        return str(source)
    raise PipelineError(f"this step takes LLVM IR, not a {type(source).__name__}")


_ASSEMBLY = " asm "
"""In a call of LLVM IR: of inline assembly."""
_CALL = re.compile(r"call .* asm .*!dbg !(\d+)")
_LOCATION = re.compile(
    r"!(\d+) = (?:distinct )?!DILocation\(line: (\d+), column: (\d+), scope: !(\d+)(?:, inlinedAt: !(\d+))?"
)
_FILE = re.compile(r'!DIFile\(filename: "([^"]*)", directory: "([^"]*)"')


def _where_assembly_is(text: str) -> SourceLocation | None:
    """The kernel's line with the first inline assembly, by the debug information of LLVM IR; None without it."""
    call, file = _CALL.search(text), _FILE.search(text)
    if call is None or file is None:
        return None
    lines = {found[1]: found for found in _LOCATION.finditer(text)}
    found = lines.get(call[1])
    while found is not None and found[5] in lines:
        found = lines[found[5]]
    path = str(Path(file[2]) / file[1])
    return None if found is None else SourceLocation(path, int(found[2]), int(found[3]))


def _check_assembly(text: str, arch: str) -> None:
    """Raises `IRError`, at the kernel's line, for inline assembly at which LLVM would end the process: a child process is asked."""
    try:
        llvm_session.check_in_child(text, "inline assembly", (arch, ""), TRIPLE)
    except IRError as error:
        error.location = _where_assembly_is(text)
        raise


@register_pass
class OptimizeAMDGPU(Translation, stage="llir", origin="required"):
    """Runs LLVM's pipeline of the given level, the target known to it, without vectorisers: what should be a vector is one already."""

    name = "optimize-amdgpu-llvm-ir"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.LLVM_IR})
    arch: str = "gfx942"
    level: int = 3
    enable_fp_fusion: bool = True
    flags: tuple[str, ...] = ()

    def translate(self, source: object) -> LLVMModule:
        with llvm_session.LOCK, one_run(self.flags):
            machine = _machine(self.arch)
            text = _checked(source)
            module = _parsed(fusible(text) if self.enable_fp_fusion else text, machine)
            if PREFIX in text:
                link_device_library(module, self.arch, ARCHITECTURES[self.arch].warp_size)
            tuning = llvm.create_pipeline_tuning_options(speed_level=self.level)
            tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_interleaving = False
            builder = llvm.create_pass_builder(machine, tuning)
            builder.getModulePassManager().run(module, builder)
        return LLVMModule(module, None)


@register_pass
class EmitAMDGCN(Translation, stage="amdgcn", origin="required"):
    """The assembly of LLVM's AMDGPU code generator."""

    name = "emit-amdgcn"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.LLVM_IR})
    keeps: ClassVar[frozenset[Property]] = frozenset()
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.PTX})
    arch: str = "gfx942"
    flags: tuple[str, ...] = ()

    def may_wait(self, source: object) -> bool:
        """The code object is made of LLVM IR, too; inline assembly that LLVM refuses is an error of the compile."""
        return isinstance(source, LLVMModule) and _ASSEMBLY not in str(source)

    def translate(self, source: object) -> str:
        with llvm_session.LOCK, one_run(self.flags):
            machine = _machine(self.arch)
            text = _checked(source)
            if _ASSEMBLY in text:
                _check_assembly(text, self.arch)
            made = Assembly(machine.emit_assembly(_parsed(text, machine)))
        made.llvm_ir = text
        return made


@register_pass
class LinkHsaco(Translation, stage="hsaco", origin="required"):
    """The code object: LLVM's relocatable object, linked."""

    name = "link-hsaco"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.PTX})
    keeps: ClassVar[frozenset[Property]] = frozenset()
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.MACHINE_CODE})
    arch: str = "gfx942"
    flags: tuple[str, ...] = ()

    def translate(self, source: object) -> bytes:
        text = source.llvm_ir if isinstance(source, Assembly) else str(source)
        if ".amdgcn_target" in text:
            raise PipelineError(
                "text of AMDGCN cannot be assembled here", help="begin at LLVM IR: a code object is made of that"
            )
        if _ASSEMBLY in text:
            raise PipelineError(
                "a kernel with inline assembly becomes AMDGCN text, and no code object: LLVM's assembler for it is missing here",
                _where_assembly_is(text), help="replace the inline assembly by operations of tl, or run the stage amdgcn on the emulator",
            )  # fmt: skip
        with llvm_session.LOCK, one_run(self.flags):
            machine = _machine(self.arch)
            return link(machine.emit_object(_parsed(text, machine)))
