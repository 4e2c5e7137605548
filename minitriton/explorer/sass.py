"""The machine code of a compile, as a state like any other: what ptxas makes of the PTX, each instruction with its line.

sass_state(ptx, target, options).lines[7]      `/*0010*/  S2UR UR6, SR_CTAID.X ;`, line 11 of the kernel
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass

from minitriton.as_triton.tools.disasm import find_tool
from minitriton.codegen.assemblers import assembler_available
from minitriton.codegen.cubin_resources import kernel_resources
from minitriton.errors import MinitritonError
from minitriton.explorer.module_lines import Line
from minitriton.explorer.snapshot import Snapshot
from minitriton.host.llvm_locations import Callers, FileLine
from minitriton.pipeline.pipelines import assembly_step
from minitriton.pipeline.request import environment_switches
from minitriton.pipeline.stages import assemble
from minitriton.target import CompileOptions, CUDAOptions, GPUTarget

_LOCATION = re.compile(r'"([^"]+)", line (\d+)')
_REGISTER = re.compile(r"\b(?:UR|R|UP|P)\d+\b")
_ADDRESS = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s*")


@dataclass(frozen=True)
class Resources:
    """What a kernel takes of a multiprocessor: registers a thread, bytes spilled, shared bytes a block; how many blocks fit."""

    registers: int
    spilled_bytes: int
    shared_bytes: int
    blocks: int
    warps: int
    occupancy: float
    """Warps that run at once, of those that a multiprocessor holds."""


def assembled(ptx: str, target: GPUTarget, options: CompileOptions) -> bytes:
    """The cubin. Raises `MinitritonError` where no assembler is installed, and for GPUs of others."""
    if not isinstance(options, CUDAOptions):
        raise MinitritonError(
            f"{target.ttg_target} lacks SASS", help="the assembly is its last text; registers are in its metadata"
        )
    if not assembler_available():
        raise MinitritonError(
            "no assembler of PTX is installed",
            help="install minitriton[cuda], or put ptxas on the PATH: SASS and registers come from it",
        )
    return assemble(ptx, assembly_step(target, options, environment_switches()))


def resources(cubin: bytes, ptx: str, name: str, target: GPUTarget, shared_bytes: int) -> Resources:
    """What the kernel takes. Its PTX says how many threads a block has, those of all partitions of warps."""
    taken = kernel_resources(cubin, name)
    found = re.search(r"\.reqntid\s+(\d+)", ptx)
    sm = target.features
    threads = int(found[1]) if found else sm.threads_per_cta
    blocks = sm.ctas_on_sm(taken.registers, threads, shared_bytes)
    warps = threads // target.warp_size
    return Resources(taken.registers, taken.local_bytes, shared_bytes, blocks, warps, blocks * warps / sm.warps_per_sm)


def sass_state(cubin: bytes, callers: dict[FileLine, list[FileLine]]) -> Snapshot:
    """The machine code in lines; `callers` as `Callers` takes them. Raises `MinitritonError` where no disassembler is installed."""
    path = find_tool("nvdisasm")
    if path is None:
        raise MinitritonError(
            "no disassembler is installed",
            help="install nvdisasm (CUDA toolkit, or the triton wheel), or name it by TRITON_NVDISASM_PATH",
        )
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([path, "-c", "-g", file.name], capture_output=True, text=True)
    if done.returncode:
        raise MinitritonError(f"nvdisasm failed: {done.stderr.strip()}")
    return Snapshot("sass", tuple(lines_of_sass(done.stdout, callers)), None, raw=done.stdout)


def lines_of_sass(text: str, callers: dict[FileLine, list[FileLine]]) -> list[Line]:
    """The instructions and labels of a disassembly with line numbers."""
    users = Callers(callers)
    location: tuple[str, int] | None = None
    lines: list[Line] = []
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped.startswith("//## File"):
            found = _LOCATION.findall(stripped)
            location = users.user_line((found[-1][0], int(found[-1][1]))) if found else None
        elif (instruction := _ADDRESS.match(line)) is not None:
            shown = "    " + " ".join(line[instruction.end() :].split())
            lines.append(
                Line(shown, source=location, uses=tuple(dict.fromkeys(_REGISTER.findall(shown))), number=number)
            )
        elif stripped.endswith(":") and not stripped.startswith(("//", ".text", ".nv")):
            lines.append(Line(stripped, number=number))
    return lines
