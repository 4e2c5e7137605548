"""The programs that make machine code of PTX: nvJitLink in this process where it is installed, else a `ptxas` that is found.

In: PTX text and flags of ptxas. Out: the cubin's bytes and what the assembler says. Where neither is at hand the driver compiles the PTX when the kernel is
loaded, so `assembler_available()` is asked first. `MINITRITON_ASSEMBLER`, `PTXAS_OPTIONS`, `DISABLE_PTXAS_OPT=1` and `TRITON_DUMP_PTXAS_LOG=1` as in Triton.
"""

import os
import re
import sys
import warnings
from pathlib import Path

from minitriton import knobs
from minitriton.codegen import nvjitlink
from minitriton.errors import AssemblerError, MinitritonError, SourceLocation

ASSEMBLERS = ("nvjitlink", "ptxas")


def find_ptxas() -> str | None:
    """`MINITRITON_PTXAS` or `TRITON_PTXAS_PATH` if set, else that of a wheel (nvidia-cuda-nvcc, Triton's), on the PATH, or in a CUDA toolkit.

    Of the wheels CUDA 12's come first: `benchmarks/results/gluon-2026-11.md` has what 13.0 costs a kernel with wgmma.
    """
    if knobs.nvidia.ptxas_path:
        return knobs.nvidia.ptxas_path
    in_wheels = (os.path.join(path, wheel, "bin", "ptxas") for wheel in _WHEELS for path in sys.path)
    in_toolkits = (os.path.join(home, "bin", "ptxas") for home in knobs.cuda_homes())
    if (found := next(filter(os.path.exists, in_wheels), None)) is not None:
        return found
    import shutil

    return shutil.which("ptxas") or next(filter(os.path.exists, in_toolkits), None)


_WHEELS = ("nvidia/cuda_nvcc", "triton/backends/nvidia", "nvidia/cu13")


def ptxas_identity() -> str:
    """Path, size and time of change of the ptxas that would be used: another one makes other machine code."""
    found = find_ptxas()
    if found is None or not (path := Path(found)).exists():
        return found or ""
    state = path.stat()
    return f"{found} {state.st_size} {state.st_mtime_ns}"


def assembler_for(ptx: str) -> str:
    """`chosen_assembler()`; but where registers move between warps, `ptxas` if there is one and nothing else is asked for.

    nvJitLink makes relocatable code, in which ptxas ignores `setmaxnreg` (its message C7504): the warps that need most would spill, and wait
    for each `wgmma` before the next (C7512).
    """
    chosen = chosen_assembler() or "ptxas"
    if chosen != "nvjitlink" or knobs.nvidia.assembler or "setmaxnreg" not in ptx:
        return chosen
    if find_ptxas() is not None:
        return "ptxas"
    warnings.warn("nvJitLink ignores setmaxnreg: install nvidia-cuda-nvcc-cu12, whose ptxas does not", stacklevel=2)
    return chosen


def chosen_assembler() -> str | None:
    """`"ptxas"`, `"nvjitlink"` or None (the driver compiles the PTX when it is loaded); `MINITRITON_ASSEMBLER` overrides."""
    given = knobs.nvidia.assembler
    if given in ASSEMBLERS:
        return given
    if given == "driver":
        return None
    if given:
        raise MinitritonError(f"MINITRITON_ASSEMBLER={given!r} is not one of nvjitlink, ptxas, driver")
    if nvjitlink.load_library() is not None:
        return "nvjitlink"
    return "ptxas" if find_ptxas() is not None else None


def assembler_available(arch: str | None = None) -> bool:
    """Whether PTX can be assembled here, for `arch` if given: the assemblers of CUDA 13 no longer know sm_70."""
    return chosen_assembler() is not None and arch != "sm70"


def environment_flags() -> str:
    """What the environment has the assembler do, as flags of ptxas."""
    level = "--opt-level=0" if knobs.nvidia.disable_ptxas_opt else ""
    return f"{level} {knobs.nvidia.ptxas_options or ''}".strip()


def assemble(ptx: str, sm: str, flags: list[str], assembler: str) -> nvjitlink.Assembled:
    """The cubin of `ptx` for `sm` (`sm_90a`). `flags` are ptxas's. Raises `AssemblerError` with the message and the PTX line that it names."""
    lines = ["-lineinfo"] if "\t.loc" in ptx else []
    try:
        if assembler == "nvjitlink":
            return nvjitlink.assemble(ptx, [f"-arch={sm}", *lines, *(f"-Xptxas={flag}" for flag in flags)])
        return _run_ptxas(ptx, [f"--gpu-name={sm}", *lines, *flags])
    except MinitritonError as error:
        raise _with_ptx_line(error, ptx) from None


def _run_ptxas(ptx: str, flags: list[str]) -> nvjitlink.Assembled:
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
        return nvjitlink.Assembled(output.read_bytes(), done.stderr)


def show_log(log: str) -> None:
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
