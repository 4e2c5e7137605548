"""PTX to cubin: by nvJitLink in this process where installed, else by a `ptxas` that is found.

In: PTX text, a target and options. Out: the cubin's bytes. Where neither assembler is at hand the driver compiles the PTX
when the kernel is loaded, so `assembler_available()` is asked first. `PTXAS_OPTIONS`, `DISABLE_PTXAS_OPT=1` and
`TRITON_DUMP_PTXAS_LOG=1` are heard as in Triton.
"""

from __future__ import annotations

import functools
import math
import re
from pathlib import Path
from typing import NamedTuple, Protocol

from minitriton import knobs
from minitriton.codegen import nvjitlink
from minitriton.codegen.cubin_resources import kernel_resources
from minitriton.codegen.occupancy import allotted
from minitriton.codegen.register_limits import ALL_REGISTERS, candidate_register_limits, expected_limit
from minitriton.errors import AssemblerError, MinitritonError, SourceLocation
from minitriton.target import GPUTarget


def find_ptxas() -> str | None:
    """`MINITRITON_PTXAS` or `TRITON_PTXAS_PATH` if set, else the one on the PATH or in a CUDA toolkit."""
    import shutil

    found = knobs.nvidia.ptxas_path or shutil.which("ptxas")
    in_toolkits = (Path(home) / "bin" / "ptxas" for home in knobs.cuda_homes())
    return found or next((str(path) for path in in_toolkits if path.exists()), None)


def chosen_assembler() -> str | None:
    """`"ptxas"`, `"nvjitlink"` or None (the driver compiles the PTX when it is loaded); `MINITRITON_ASSEMBLER` overrides."""
    given = knobs.nvidia.assembler
    if given in ("nvjitlink", "ptxas"):
        return given
    if given == "driver":
        return None
    if given:
        raise MinitritonError(f"MINITRITON_ASSEMBLER={given!r} is none of nvjitlink, ptxas, driver")
    if nvjitlink.load_library() is not None:
        return "nvjitlink"
    return "ptxas" if find_ptxas() is not None else None


def assembler_available(arch: str | None = None) -> bool:
    """Whether `ptx_to_cubin` can work here, for `arch` if given: the assemblers of CUDA 13 no longer know sm_70."""
    return chosen_assembler() is not None and arch != "sm70"


def assembler_settings() -> tuple[str, ...]:
    """What the environment has the assembler do: part of a kernel's cache key."""
    level = ("--opt-level=0",) if knobs.nvidia.disable_ptxas_opt else ()
    return (*level, *(knobs.nvidia.ptxas_options or "").split())


class Cubins(NamedTuple):
    """`cubin`, and where it was assembled under a limit of registers, `unlimited` without it: for launches whose blocks all run at
    once however many registers they take. Where `unlimited` is `ASSEMBLED_ON_DEMAND`, `assembled_without_limit` makes it."""

    cubin: bytes
    unlimited: bytes | None = None


ASSEMBLED_ON_DEMAND = b""
"""In place of a cubin that is assembled when a launch asks for it."""


class AssemblyOptions(Protocol):
    """What assembling asks of options: a `CUDAOptions`, or a kernel's metadata."""

    @property
    def enable_fp_fusion(self) -> bool: ...

    @property
    def maxnreg(self) -> int | None: ...

    @property
    def ptx_options(self) -> str | None: ...


def ptx_to_cubin(ptx: str, target: GPUTarget, options: AssemblyOptions) -> bytes:
    """The cubin of `ptx` for launches of any size (`assembled`)."""
    return assembled(ptx, target, options).cubin


def assembled(ptx: str, target: GPUTarget, options: AssemblyOptions) -> Cubins:
    """What `ptx` becomes for `target`. `options` has `enable_fp_fusion`, `maxnreg` and `ptx_options` (a `CUDAOptions` or metadata).

    Raises `MinitritonError` with the assembler's message and the PTX line that it names.
    """
    flags, passed = _flags(ptx, options)
    try:
        if chosen_assembler() == "nvjitlink":
            return _link(ptx, _link_flags(target, flags, passed), getattr(options, "shared", 0) or 0)
        return Cubins(_run_ptxas(ptx, [f"--gpu-name={target.sm}", *flags, *passed]))
    except MinitritonError as error:
        raise _with_ptx_line(error, ptx) from None


def assembled_without_limit(ptx: str, target: GPUTarget, options: AssemblyOptions) -> bytes:
    """The cubin of `ptx` with all the registers that nvJitLink gives it: what stands for `ASSEMBLED_ON_DEMAND` in `assembled`'s answer."""
    try:
        return nvjitlink.assemble(ptx, _link_flags(target, *_flags(ptx, options))).cubin
    except MinitritonError as error:
        raise _with_ptx_line(error, ptx) from None


def _flags(ptx: str, options: AssemblyOptions) -> tuple[list[str], list[str]]:
    """What either assembler is given, and what is ptxas's own."""
    flags = ["-lineinfo"] if "\t.loc" in ptx else []
    if options.maxnreg:
        flags.append(f"-maxrregcount={options.maxnreg}")
    passed = [] if options.enable_fp_fusion else ["--fmad=false"]
    return flags, [*passed, *assembler_settings(), *(options.ptx_options or "").split()]


def _link_flags(target: GPUTarget, flags: list[str], passed: list[str]) -> list[str]:
    return [f"-arch={target.sm}", *flags, *(f"-Xptxas={flag}" for flag in passed)]


MOST_LINES = 4000
"""Longer PTX is not assembled twice: seconds of an assembler's time for kernels that spill."""


def _link(ptx: str, flags: list[str], shared_bytes: int = 0) -> Cubins:
    """Assembles by nvJitLink, and again under a register limit where that puts more threads on an SM without spilling.

    nvJitLink assembles relocatable code, for which ptxas schedules loads early and spends registers on it, without regard
    to occupancy. Big tiles gain by that (layer norm 16384x8192 runs at 1.21 of Triton's speed against 0.95 with the plain
    ptxas, row sums of 262144x1024 at 1.17 against 0.96), small ones lose a wave or their latency hiding (layer norm
    65536x1024 0.93 with 48 registers against 1.00 with 32; measured on an H200, 2026-11-21). A launch that has no more blocks
    than the GPU runs at once anyway keeps the early loads (row sums of 1023x32768 in 64 blocks: 1.29 against 0.83, of 34
    launches of this kind none slower; 2026-11-22). A limit under which products on tensor cores would run one by one is not taken.
    """
    entry = _first_entry(ptx)
    if entry is None or ".maxnreg" in ptx or ptx.count("\n") > MOST_LINES:
        free = nvjitlink.assemble(ptx, flags)
        _show(free.log)
        return Cubins(free.cubin)
    name, threads, end = entry

    @functools.cache
    def limited_to(limit: int) -> nvjitlink.Assembled | None:
        try:
            return nvjitlink.assemble(f"{ptx[:end]}.maxnreg {limit}\n{ptx[end:]}", flags)
        except MinitritonError:
            # A product of tensor cores takes all its registers at once; a limit below that is refused.
            return None

    expected = expected_limit(ptx, threads, shared_bytes)
    if expected is not None and _needs_all_of(limited_to(expected), expected, name):
        limited = limited_to(expected)
        assert limited is not None
        _show(limited.log)
        return Cubins(limited.cubin, ASSEMBLED_ON_DEMAND)
    free = nvjitlink.assemble(ptx, flags)
    _show(free.log)
    taken = kernel_resources(free.cubin, name)
    limits = candidate_register_limits(ptx, taken, threads, shared_bytes)
    chosen: bytes | None = None
    # Of a kernel that is given all registers a limit far below spills as a rule, after a long time; of others it is taken.
    likely_spills = bool(limits) and 2 * limits[0] < taken.registers and taken.registers >= ALL_REGISTERS
    for limit in reversed(limits) if likely_spills else limits:
        limited = limited_to(limit)
        if limited is None or _is_worse(limited, free, name):
            if likely_spills:
                break  # so would a kernel with fewer registers still be
            continue
        chosen = limited.cubin
        if not likely_spills:
            break
    return Cubins(free.cubin) if chosen is None else Cubins(chosen, free.cubin)


def _first_entry(ptx: str) -> tuple[str, int, int] | None:
    """The name and the threads of the first kernel, where it says how many it has, and the end of that line."""
    named = re.search(r"\.entry ([\w$]+)", ptx)
    if named is None:
        return None
    sized = re.compile(r"\.reqntid ([\d, ]+)[^\n]*\n").search(ptx, named.end(), max(ptx.find("{", named.end()), 0))
    return sized and (named[1], math.prod(int(n) for n in sized[1].split(",") if n.strip()), sized.end())


def _needs_all_of(limited: nvjitlink.Assembled | None, limit: int, entry: str) -> bool:
    """Whether a kernel keeps within `limit` without spilling or waiting, and takes all that is allotted under it: if it had taken more, no other
    limit would be chosen, and if not, it is what it is without one."""
    if limited is None or _dots_are_serialized(limited.log):
        return False
    taken = kernel_resources(limited.cubin, entry)
    return not taken.local_bytes and allotted(taken.registers) == allotted(limit)


def _is_worse(limited: nvjitlink.Assembled, free: nvjitlink.Assembled, entry: str) -> bool:
    """Whether the limit makes the kernel spill more, or its products on tensor cores run one by one."""
    spills_more = kernel_resources(limited.cubin, entry).local_bytes > kernel_resources(free.cubin, entry).local_bytes
    return spills_more or _dots_are_serialized(limited.log) > _dots_are_serialized(free.log)


def _dots_are_serialized(log: str) -> bool:
    """Whether ptxas says that it waits for each `wgmma` before the next, for want of registers (C7511, C7512) or otherwise."""
    return "wgmma.mma_async instructions are serialized" in log


def _run_ptxas(ptx: str, flags: list[str]) -> bytes:
    import subprocess
    import tempfile

    ptxas = find_ptxas()
    if ptxas is None:
        raise MinitritonError(
            "no assembler for PTX found",
            help="install nvidia-nvjitlink, or put ptxas on the PATH or name it by MINITRITON_PTXAS",
        )
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(ptx, "utf-8")
        verbose = ["-v"] if knobs.nvidia.dump_ptxas_log else []
        try:
            done = subprocess.run(
                [ptxas, *verbose, *flags, str(source), "-o", str(output)], capture_output=True, text=True
            )
        except OSError as error:
            raise MinitritonError(f"cannot run {ptxas}: {error.strerror}") from error
        if done.returncode:
            raise MinitritonError(f"ptxas: {(done.stderr or done.stdout).strip()}")
        _show(done.stderr)
        return output.read_bytes()


def _show(log: str) -> None:
    """`TRITON_DUMP_PTXAS_LOG=1`: what the assembler says of registers, spills and shared memory."""
    if knobs.nvidia.dump_ptxas_log and log.strip():
        print(log.strip())


def _with_ptx_line(refused: MinitritonError, ptx: str) -> AssemblerError:
    """`refused` with the text of the PTX line that its message names."""
    error = AssemblerError(refused.message, refused.location, help=refused.help)
    named = re.search(r"line (\d+)", error.message)
    lines = ptx.splitlines()
    if named and 0 < int(named[1]) <= len(lines):
        error.location = SourceLocation("<ptx>", int(named[1]))
        error.source_line = lines[int(named[1]) - 1]
    if error.location is None:
        error.message = f"the assembler refuses the PTX: {error.message}"
    error.help = error.help or "the PTX is in the kernel's asm['ptx']; a .ptx file of your own must be for this target"
    return error
