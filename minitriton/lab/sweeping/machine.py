"""What the machine code of a program says: metrics of the groups `machine` and `sass`.

In: a program of the store. Out: numbers by name. Assembles by what `codegen.assemblers` finds, nvJitLink or ptxas; no GPU is needed.
"""

from __future__ import annotations

import functools
import math
import re
import time

from minitriton.codegen.assemblers import assembler_available
from minitriton.codegen.cubin_resources import kernel_resources, text_bytes
from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.program import KernelProgram
from minitriton.pipeline.pipelines import assembly_step
from minitriton.pipeline.request import environment_switches
from minitriton.pipeline.stages import assemble
from minitriton.target import GPUTarget
from minitriton.target.architectures import WARP_SIZE

_SASS_BYTES = 16
"""Of one instruction, from compute capability 7.0 on."""

_ENTRY = re.compile(r"\.entry ([\w$]+)")
_THREADS = re.compile(r"\.reqntid ([\d, ]+)")
_OPCODE = re.compile(r"^[^\S\n]*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", re.MULTILINE)


def check_assembler() -> None:
    """Raises `MinitritonError` where nothing can assemble."""
    if not assembler_available():
        raise MinitritonError(
            "metrics of machine code need an assembler for PTX, and there is none",
            help="install nvidia-nvjitlink, or put ptxas on the PATH",
        )


def cubin_of(program: KernelProgram) -> bytes:
    """The machine code: what is known of it, else assembled as a compile assembles it. Raises `MinitritonError` with the
    assembler's message."""
    return program.cubin or _assembled(program)


@functools.lru_cache(maxsize=256)
def _assembled(program: KernelProgram) -> bytes:
    target = GPUTarget("cuda", program.arch)
    return assemble(program.ptx, assembly_step(target, program.options, environment_switches()))


def entry_of(ptx: str) -> str:
    """The kernel's name in the PTX."""
    found = _ENTRY.search(ptx)
    if found is None:
        raise MinitritonError("the PTX lacks a kernel")
    return found[1]


def threads_of(ptx: str) -> int:
    """Threads of a CTA, from the PTX."""
    found = _THREADS.search(ptx)
    return math.prod(int(n) for n in found[1].split(",") if n.strip()) if found else 0


def machine_metrics(program: KernelProgram) -> dict[str, float]:
    """`registers`, `spill_bytes`, `sass_instructions`, `cubin_bytes`, `occupancy` and `cubin_seconds`."""
    check_assembler()
    start = time.perf_counter()
    cubin = cubin_of(program)
    seconds = time.perf_counter() - start
    name, threads = entry_of(program.ptx), threads_of(program.ptx)
    taken = kernel_resources(cubin, name)
    warps, sm = max(1, -(-threads // WARP_SIZE)), GPUTarget("cuda", program.arch).features
    return {
        "registers": taken.registers,
        "spill_bytes": taken.local_bytes,
        "sass_instructions": text_bytes(cubin, name) // _SASS_BYTES,
        "cubin_bytes": len(cubin),
        "occupancy": sm.ctas_on_sm(taken.registers, threads, program.shared) * warps / sm.warps_per_sm,
        "cubin_seconds": seconds,
    }


_SASS = {
    "sass_global": ("LDG", "STG", "LDL", "STL", "ATOMG", "RED", "LDGSTS", "UTMALDG", "UTMASTG", "LD", "ST", "ATOM"),
    "sass_shared": ("LDS", "STS", "LDSM", "STSM", "ATOMS"),
    "sass_control": ("BRA", "BAR", "EXIT", "BSSY", "BSYNC", "CALL", "RET", "WARPSYNC", "SYNCS", "BRX", "NOP", "DEPBAR"),
}


def sass_metrics(program: KernelProgram) -> dict[str, float]:
    """How many instructions of each kind the disassembly has; what is no memory access and no control is `sass_math`."""
    from minitriton.as_triton.tools.disasm import get_sass

    check_assembler()
    kinds = {opcode: name for name, opcodes in _SASS.items() for opcode in opcodes}
    counts = dict.fromkeys([*_SASS, "sass_math"], 0.0)
    for opcode in _OPCODE.findall(get_sass(cubin_of(program))):
        counts[kinds.get(opcode.partition(".")[0], "sass_math")] += 1
    return counts
