"""The last steps of a pipeline, each a `Translation`: LLVM dialect → LLVM IR → optimised LLVM IR → PTX.

Between the steps LLVM IR is text where it is text anyway and an `LLVMModule` after LLVM has had it; `str(module)` prints it.
Bad LLVM IR ends the process: text is `CheckedLLVMIR` if minitriton wrote it, and of any other a child process is asked first.
"""

import re
from pathlib import Path
from typing import ClassVar

import llvmlite.binding as llvm
from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Operation

from minitriton.codegen import llvm_session
from minitriton.codegen.llvm_session import CheckedLLVMIR, check_llvm_passes, one_run
from minitriton.codegen.llvm_text import write_module
from minitriton.codegen.ptx import (
    DEFAULT_PTX_VERSION,
    emit,
    finish_ptx,
    fusible,
    is_ready,
    machine_for,
    optimize,
    parse_llvm_ir,
    ptx_version,
)
from minitriton.codegen.target_interface import target_info_of
from minitriton.dialects.facts.launch import TARGET, target_arch
from minitriton.dialects.locations import source_location
from minitriton.errors import LoweringError, PipelineError
from minitriton.pipeline.pass_registry import Property, Translation, register_pass
from minitriton.target import CUDAOptions, GPUTarget
from minitriton.target.architectures import LIMITS

_SPELLED_FOR_TRITON_S_LLVM = {
    " nocreateundeforpoison": "",
    "@llvm.nvvm.ex2.approx.f32": "@llvm.nvvm.ex2.approx.f",
    "@llvm.nvvm.ex2.approx.ftz.f32": "@llvm.nvvm.ex2.approx.ftz.f",
}
"""What LLVM 22.1 prints and Triton 3.6.0's LLVM (22.0git) does not know: an implied attribute, and new names of
intrinsics whose old names both understand."""


class LLVMModule:
    """A module inside LLVM. `str()` gives its text as of now, in a form that Triton's LLVM reads too."""

    def __init__(self, module: llvm.ModuleRef, arch: int | None) -> None:
        self.module, self.arch = module, arch
        self._text: str | None = None

    def __str__(self) -> str:
        if self._text is None:
            with llvm_session.LOCK:
                text = str(self.module)
            for newer, known in _SPELLED_FOR_TRITON_S_LLVM.items():
                text = text.replace(newer, known)
            self._text = text
        return self._text


def _text(source: object, arch: int, version: int) -> str:
    made_for = getattr(source, "arch", None)
    if made_for is not None and made_for > arch:
        raise PipelineError(
            f"the module is for sm_{made_for}, and sm_{arch} lacks instructions of it",
            help=f"give optimize-llvm-ir and emit-ptx arch={made_for}, or convert-triton-to-tritongpu target=cuda:{arch}",
        )
    if isinstance(source, str) and not isinstance(source, CheckedLLVMIR):
        llvm_session.check_in_child(source, machine=(GPUTarget("cuda", arch).sm, f"+ptx{version}"))
    if isinstance(source, (str, LLVMModule)):
        return str(source)
    raise PipelineError(f"expected LLVM IR, not {type(source).__name__}", help="run translate-to-llvm-ir before it")


@register_pass
class TranslateToLLVMIR(Translation, stage="llir", origin="required"):
    """Writes the `llvm` and `nvvm` dialects as the text of an LLVM module.

    `local-variables` adds to the lines which variable of the source holds which value (Triton's `extract-variable-info`).
    """

    name = "translate-to-llvm-ir"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.LLVM_DIALECT})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.LLVM_IR})
    keeps: ClassVar[frozenset[Property]] = frozenset()
    line_info: bool = True
    local_variables: bool = False
    reflect_ftz: bool = True
    ptx_version: int = DEFAULT_PTX_VERSION

    def translate(self, source: object) -> str:
        if not isinstance(source, ModuleOp):
            raise PipelineError("translate-to-llvm-ir takes a module of the llvm dialect")
        target_info_of(source)  # its writers are registered from then on
        check_llvm_module(source)
        text = write_module(
            source,
            line_info=self.line_info,
            local_variables=self.local_variables,
            ptx_version=self.ptx_version,
            reflect_ftz=self.reflect_ftz,
        )
        checked = CheckedLLVMIR(text)
        checked.arch = target_arch(source) if TARGET in source.attributes else None
        return checked


@register_pass
class OptimizeLLVMIR(Translation, stage="llir", origin="required"):
    """Runs LLVM's pipeline of the given level, the target known to it, without vectorisers; or just the LLVM `passes` named.

    Device functions are taken from `libraries` (paths of bitcode or LLVM IR text) before libdevice. `flags` are LLVM's own.
    """

    name = "optimize-llvm-ir"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.LLVM_IR})
    arch: int = 90
    level: int = 3
    libraries: tuple[str, ...] = ()
    passes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_llvm_passes(self.passes)
        if self.level not in range(4):
            raise PipelineError(f"optimize-llvm-ir: unknown level {self.level}", help="LLVM's levels are 0, 1, 2 and 3")

    def translate(self, source: object) -> LLVMModule:
        with llvm_session.LOCK, one_run(self.flags):
            target, options = GPUTarget("cuda", self.arch), CUDAOptions()
            machine = machine_for(target, options)
            # Marked before it is read, so that code generation need not read it again; no pass of LLVM's fuses.
            module = parse_llvm_ir(fusible(_text(source, self.arch, ptx_version(options, target))), machine)
            optimize(module, machine, self.level, [Path(library) for library in self.libraries], self.passes)
        return LLVMModule(module, getattr(source, "arch", None))


@register_pass
class EmitPTX(Translation, stage="ptx", origin="required"):
    """LLVM's NVPTX code generator at its highest level.

    `keep-debug` keeps the word `debug` in `.target`, without which assemblers drop what debuggers read. `flags` are LLVM's own.
    """

    name = "emit-ptx"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.LLVM_IR})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.PTX})
    keeps: ClassVar[frozenset[Property]] = frozenset()
    arch: int = 90
    enable_fp_fusion: bool = True
    ptx_version: int = DEFAULT_PTX_VERSION
    keep_debug: bool = False
    flags: tuple[str, ...] = ()

    def translate(self, source: object) -> str:
        options = CUDAOptions(enable_fp_fusion=self.enable_fp_fusion, ptx_version=self.ptx_version)
        with llvm_session.LOCK, one_run(self.flags):
            target = GPUTarget("cuda", self.arch)
            machine = machine_for(target, options)
            text = _text(source, self.arch, ptx_version(options, target))
            if isinstance(source, LLVMModule) and is_ready(text, fp_fusion=self.enable_fp_fusion):
                return finish_ptx(machine.emit_assembly(source.module), text, keep_debug=self.keep_debug)
            return emit(text, machine, fp_fusion=self.enable_fp_fusion, keep_debug=self.keep_debug)


# What LLVM ends the process for, checked before it sees a module.
#
# LLVM's code generator meets a symbol that PTX cannot spell, or a number in an attribute that it cannot read, by `abort` or `exit`.
# Such a function is refused here, at its location:
#
#     llvm.func @"a b"() attributes {nvvm.kernel}     →   k.ttir:2:3: error: a kernel cannot be called "a b" in PTX

_PTX_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_$]*|[_$][A-Za-z0-9_$]+")
"""An identifier of PTX (PTX ISA, 4.4 "Identifiers"); `%` begins registers."""
MOST_CHARACTERS = 4096
"""Of a name: assemblers take no limit on trust."""
_BOUNDS = {
    "nvvm.maxnreg": (LIMITS.registers_per_sm, "registers a thread"),
    "nvvm.reqntid": (LIMITS.threads_per_cta, "threads a block"),
    "nvvm.cluster_dim": (LIMITS.ctas_per_cluster, "CTAs a cluster"),
}


def check_llvm_module(module: ModuleOp) -> None:
    """Raises `LoweringError`, at the function, for what LLVM would end the process for."""
    named: dict[str, Operation] = {}
    for op in module.ops:
        name = op.properties.get("sym_name")
        if isinstance(name, StringAttr):
            _check_name(op, name.data)
            if (other := named.setdefault(name.data, op)) is not op:
                own = other if "nvvm.kernel" in other.attributes else op
                raise LoweringError(
                    f"the lowering has something else called {_shown(name.data)}", source_location(own.location),
                    help="give the function another name",
                )  # fmt: skip
        if isinstance(op, L.FuncOp):
            for attribute, (most, what) in _BOUNDS.items():
                for number in _numbers(op, attribute):
                    if not 1 <= number <= most:
                        raise LoweringError(
                            f"{number} {what} are not between 1 and {most}",
                            source_location(op.location),
                        )


def _check_name(op: Operation, name: str) -> None:
    if "nvvm.kernel" in op.attributes and not _PTX_NAME.fullmatch(name):
        raise LoweringError(
            f"a kernel cannot be called {_shown(name)} in PTX", source_location(op.location),
            help="letters, digits, `_` and `$`, with a letter first or `_` or `$` before another",
        )  # fmt: skip
    if not name or "\0" in name or len(name) > MOST_CHARACTERS:
        raise LoweringError(f"LLVM cannot take the name {_shown(name)}", source_location(op.location), help="rename it")
    if name.startswith("llvm.") and isinstance(op, L.FuncOp) and op.regions[0].blocks:
        raise LoweringError(
            f"{name} is a function of LLVM's own", source_location(op.location), help="give the function another name"
        )


def _shown(name: str) -> str:
    return '"' + (name if len(name) <= 60 else name[:60] + "...") + '"'


def _numbers(op: Operation, attribute: str) -> tuple[int, ...]:
    value = op.attributes.get(attribute)
    if isinstance(value, IntegerAttr):
        return (value.value.data,)
    return tuple(map(int, value.get_values())) if isinstance(value, DenseArrayBase) else ()
