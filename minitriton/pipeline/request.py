"""What is asked of a compile: all that its result depends on in addition to the compiler itself.

A request is made for every kernel, and its key looked up in the cache; nothing of the compiler is imported for that.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from minitriton import knobs
from minitriton.codegen.assemblers import environment_flags, ptxas_identity
from minitriton.errors import MinitritonError
from minitriton.host.whole_file import stem_of
from minitriton.pipeline.ast_source import ASTSource
from minitriton.target import CompileOptions, GPUTarget
from minitriton.target.backends import STAGES

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from minitriton.pipeline.ir_source import IRSource


class Switches(NamedTuple):
    """What the environment may switch in every kernel's pipeline. Read once, where a compile begins; a value from then on."""

    line_info: bool = True
    optimize_llvm: bool = True
    llvm_flags: tuple[str, ...] = ()
    local_variables: bool = False
    assembler: str = ""
    """`nvjitlink` or `ptxas` where the environment chooses one."""
    assembler_flags: str = ""
    ptxas: str = ""
    """Which ptxas there is."""
    async_copy: bool = False
    """AMD's GPUs: loops copy to LDS without registers in between."""
    block_pingpong: bool | None = None
    in_thread_transpose: bool | None = None
    """Likewise: None where the target decides."""


def environment_switches(target: GPUTarget | None = None) -> Switches:
    """What the environment switches in every pipeline; an assembler of NVIDIA's is not looked for where `target` needs none."""
    without = knobs.compilation.disable_llvm_opt
    return Switches(
        line_info=not knobs.compilation.disable_line_info,
        optimize_llvm=without is not True,
        llvm_flags=tuple(flag.strip() for flag in without.split(",") if flag.strip())
        if isinstance(without, str)
        else (),
        local_variables=knobs.compilation.dump_ir_extract_di_local_variables,
        assembler=knobs.nvidia.assembler or "",
        assembler_flags=environment_flags(),
        ptxas=ptxas_identity() if target is None or target.backend == "cuda" else "",
        async_copy=knobs.amd.use_async_copy,
        block_pingpong=knobs.amd.use_block_pingpong,
        in_thread_transpose=knobs.amd.use_in_thread_transpose,
    )


class Request(NamedTuple):
    """All that a result depends on in addition to the compiler itself."""

    source: ASTSource | IRSource
    target: GPUTarget
    options: CompileOptions
    switches: Switches
    overrides: Overrides


def overrides_for_source(source: ASTSource | IRSource, options: CompileOptions) -> Overrides:
    """Nothing is overridden where nothing can be: the hash of a source is made only if files are looked for."""
    wanted = knobs.compilation.override or options.ir_override is not None
    return overrides_for(source.name.removeprefix("@"), source.hash(), options) if wanted else Overrides({})


# Stages taken from files instead of from the compiler: a kernel's dump, edited by hand, or a tuned configuration's IR.
#
# TRITON_KERNEL_DUMP=1 python program.py                         writes ~/.triton/dump/HASH/kernel.ttgir and the other stages
# (copy HASH to ~/.triton/override, edit kernel.ttgir)
# TRITON_KERNEL_OVERRIDE=1 python program.py                     continues the compile of that kernel from the edited file
#
# The option `ir_override="kernel.ttgir"` of a launch or a `Config` names such a file for one kernel.

_REPLACEABLE = (*STAGES, "cubin")


class Overrides(NamedTuple):
    """The files that take the place of stages, by stage. `announced`: whether their use is said on standard output."""

    files: dict[str, Path]
    announced: bool = False

    def digest(self) -> str:
        """Changes with what the files hold: part of a kernel's cache key."""
        contents = (f"{stage}{hashlib.sha256(path.read_bytes()).hexdigest()}" for stage, path in self.files.items())
        return "-".join(contents)

    def _file(self, stage: str) -> Path | None:
        path = self.files.get(stage)
        if path is not None and self.announced:
            print(f"\nOverriding kernel with file {path}")
        return path

    def cubin(self) -> bytes | None:
        """What the file for the cubin holds, if there is one."""
        path = self._file("cubin")
        return None if path is None else path.read_bytes()

    def replace(self, stage: str, value: object, options: CompileOptions) -> object:
        """`value`, or what the file for `stage` holds: a module or text."""
        path = self._file(stage)
        if path is None:
            return value
        text = path.read_text("utf-8")
        if stage not in ("ttir", "ttgir"):
            return text
        from minitriton.dialects.text import parse_module

        module = parse_module(text, str(path))
        _check_num_warps(module, options, path)
        return module


def overrides_for(name: str, source_hash: str, options: CompileOptions) -> Overrides:
    """The files for kernel `name`: those below `TRITON_OVERRIDE_DIR` if `TRITON_KERNEL_OVERRIDE` is set, else `ir_override`.

    Raises `MinitritonError` if `ir_override` names no stage or no file.
    """
    if knobs.compilation.override:
        folder = Path(knobs.cache.override_dir) / source_hash
        found = {stage: folder / f"{stem_of(name)}.{stage}" for stage in _REPLACEABLE}
        return Overrides({stage: path for stage, path in found.items() if path.exists()}, announced=True)
    if options.ir_override is None:
        return Overrides({})
    path = Path(options.ir_override)
    stage = path.suffix[1:]
    if stage not in _REPLACEABLE:
        raise MinitritonError(
            f"ir_override={str(path)!r} names no stage", help="use a file named *." + ", *.".join(_REPLACEABLE)
        )
    if not path.exists():
        raise MinitritonError(f"ir_override={str(path)!r}: no such file")
    return Overrides({stage: path})


def _check_num_warps(module: ModuleOp, options: CompileOptions, path: Path) -> None:
    from minitriton.dialects.facts.launch import maybe_num_warps

    written = maybe_num_warps(module)
    if written is not None and written != options.num_warps:
        raise MinitritonError(
            f"{path} is for {written} warps, the launch for {options.num_warps}",
            help=f"launch with num_warps={written}",
        )
