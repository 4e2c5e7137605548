"""What is measured of a configuration, by name, in groups that are asked for together.

    text       from the PTX                     ptx_instructions, ptx_bytes, shared_bytes
    seconds    of compiling it, by stage        ttir_seconds, ttgir_seconds, llir_seconds, ptx_seconds
    counts     from a run on the emulator       instructions, sectors, bank_conflicts, barriers, mix_float, ... (all programs)
    machine    from the cubin                   registers, spill_bytes, sass_instructions, cubin_bytes, occupancy, cubin_seconds
    sass       from its disassembly             sass_global, sass_shared, sass_math, sass_control
    estimate   by the cost model                cycles
    time       on a GPU                         microseconds, spread, speedup, sm_mhz, memory_mhz

Counts are issued by warps, over all programs of the launch. Less is better, but for `occupancy`, `speedup` and the clocks. `machine` and `sass` are of a
program of the store: assembled by what `codegen.assemblers` finds, nvJitLink or ptxas; no GPU is needed.
"""

import functools
import hashlib
import math
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from minitriton.codegen.assemblers import assembler_available
from minitriton.codegen.cubin_resources import kernel_resources, text_bytes
from minitriton.emulator import Report
from minitriton.errors import MinitritonError, did_you_mean
from minitriton.lab.sweeping.configuration import KernelProgram
from minitriton.pipeline.pipelines import assembly_step
from minitriton.pipeline.request import environment_switches
from minitriton.pipeline.stages import assemble
from minitriton.target import CUDAOptions, target_named
from minitriton.target.architectures import WARP_SIZE

_LOCATIONS = re.compile(r"^[^\S\n]*\.(?:loc|file)\s.*$|//.*$|^\$L__(?:tmp|func_begin|func_end)\d+:$", re.MULTILINE)
_DEBUG_SECTIONS = "\t.section\t.debug_"
_INSTRUCTION = re.compile(r"^[^\S\n]+(?:@!?%\w+\s+)?[a-z][\w.:]*(?:\s|;)", re.MULTILINE)


@dataclass(frozen=True)
class Metric:
    """One number of a configuration."""

    group: str
    unit: str
    meaning: str
    more_is_better: bool = False


MIX = {
    "float": "arithmetic of 32 bits or fewer",
    "double": "arithmetic of 64-bit floats",
    "integer": "integer arithmetic, comparisons, selections, moves",
    "special": "exponentials, roots, sines, divisions",
    "convert": "conversions between types",
    "shuffle": "exchanges within a warp",
    "global": "loads and stores of global memory",
    "shared": "loads and stores of shared memory",
    "async": "asynchronous copies and waits for them",
    "atomic": "atomics",
    "tensor": "tensor-core instructions",
    "control": "branches and barriers",
}
"""Categories of PTX instructions: the metrics `mix_...`."""

METRICS: dict[str, Metric] = {
    "ptx_instructions": Metric("text", "instructions", "in the text of the PTX"),
    "ptx_bytes": Metric("text", "bytes", "of PTX without comments and locations"),
    "shared_bytes": Metric("text", "bytes", "of shared memory a CTA"),
    "ttir_seconds": Metric("seconds", "s", "in passes over TTIR"),
    "ttgir_seconds": Metric("seconds", "s", "in passes over TTGIR and the lowering"),
    "llir_seconds": Metric("seconds", "s", "writing LLVM IR"),
    "ptx_seconds": Metric("seconds", "s", "in LLVM"),
    "instructions": Metric("counts", "instructions", "issued by warps"),
    "barriers": Metric("counts", "instructions", "that wait for other warps"),
    "sectors": Metric("counts", "32 bytes", "of global memory touched"),
    "global_bytes": Metric("counts", "bytes", "of global memory asked for"),
    "lines": Metric("counts", "128 bytes", "of global memory that requests of warps touched"),
    "read_requests": Metric("counts", "requests", "of warps to read global memory, asynchronous copies among them"),
    "read_bytes": Metric("counts", "bytes", "of global memory that they asked for"),
    "read_sectors": Metric("counts", "32 bytes", "that they touched"),
    "read_lines": Metric("counts", "128 bytes", "that they touched"),
    "partial_bytes": Metric("counts", "bytes", "of sectors that stores filled in part only"),
    "reached_sectors": Metric("counts", "32 bytes", "of global memory that CTAs read, each once a CTA"),
    "reached_lines": Metric("counts", "128 bytes", "of global memory that CTAs read, each once a CTA"),
    "written_again": Metric("counts", "32 bytes", "of global memory stored to by a CTA that had stored to them before"),
    "small_copies": Metric("counts", "requests", "of warps to copy 4 or 8 bytes a lane asynchronously"),
    "turns": Metric("counts", "times", "that a warp executed one access to global memory, at most"),
    "wavefronts": Metric("counts", "passes", "over the banks of shared memory"),
    "bank_conflicts": Metric("counts", "passes", "that conflicts cost"),
    "tensor_flops": Metric("counts", "operations", "of tensor cores"),
    "programs": Metric("counts", "CTAs", "of the launch that was counted"),
    "threads": Metric("counts", "threads", "of a CTA"),
    "scale": Metric("counts", "ratio", "of the CTAs of the launch that is timed to those counted"),
    "footprint_bytes": Metric("counts", "bytes", "of the arrays of the launch that is timed"),
    **{f"mix_{name}": Metric("counts", "instructions", meaning) for name, meaning in MIX.items()},
    "registers": Metric("machine", "registers", "of a thread"),
    "spill_bytes": Metric("machine", "bytes", "of local memory a thread"),
    "sass_instructions": Metric("machine", "instructions", "in the machine code, padding included"),
    "cubin_bytes": Metric("machine", "bytes", "of the cubin"),
    "occupancy": Metric("machine", "ratio", "of the warps that an SM can hold", more_is_better=True),
    "cubin_seconds": Metric("machine", "s", "assembling"),
    "sass_global": Metric("sass", "instructions", "of global and local memory in the machine code"),
    "sass_shared": Metric("sass", "instructions", "of shared memory in the machine code"),
    "sass_math": Metric("sass", "instructions", "of arithmetic in the machine code"),
    "sass_control": Metric("sass", "instructions", "of branches and barriers in the machine code"),
    "cycles": Metric("estimate", "cycles", "that the cost model expects of the launch that is timed"),
    "microseconds": Metric("time", "µs", "of one launch, the median of interleaved rounds"),
    "spread": Metric("time", "ratio", "of the middle half of the rounds to the median"),
    "speedup": Metric(
        "time", "ratio", "of the default pipeline's time to this one's in the same rounds", more_is_better=True
    ),
    "sm_mhz": Metric("time", "MHz", "of the multiprocessors after the rounds", more_is_better=True),
    "memory_mhz": Metric("time", "MHz", "of the memory after the rounds", more_is_better=True),
}

GROUPS = tuple(dict.fromkeys(metric.group for metric in METRICS.values()))

LATER = ("machine", "sass", "estimate", "time")
"""Groups that are measured of each different program once all configurations are evaluated, in this order."""

_NEEDS = {"estimate": ("counts", "machine")}


def groups_of(names: Iterable[str]) -> tuple[str, ...]:
    """The groups that `names` (of metrics or groups) need, in order. Raises `MinitritonError` for a name that is neither."""
    wanted: set[str] = set()
    for name in names:
        if name not in METRICS and name not in GROUPS:
            raise MinitritonError(f"no metric is called {name!r}", help=unknown_metric_help(name))
        group = METRICS[name].group if name in METRICS else name
        wanted |= {group, *_NEEDS.get(group, ())}
    return tuple(group for group in GROUPS if group in wanted)


def unknown_metric_help(name: str) -> str:
    """What to write instead of `name`."""
    return f"{did_you_mean(name, [*METRICS, *GROUPS])} metrics: {', '.join(METRICS)}".strip()


def program_digest(ptx: str, shared: int, launch: str = "") -> str:
    """Equal for PTX that differs in places and comments only, with as much shared memory, in the same kind of launch."""
    return hashlib.blake2b(f"{shared} {launch}\n{_without_locations(ptx)}".encode(), digest_size=12).hexdigest()


def _without_locations(ptx: str) -> str:
    """What is left of PTX without comments, lines of the source, their labels and sections, and empty lines."""
    return "\n".join(filter(str.strip, _LOCATIONS.sub("", ptx.partition(_DEBUG_SECTIONS)[0]).splitlines()))


def static_metrics(ptx: str, shared: int) -> dict[str, float]:
    """What the text says."""
    text = _without_locations(ptx)
    return {"ptx_instructions": len(_INSTRUCTION.findall(text)), "ptx_bytes": len(text), "shared_bytes": shared}


def run_metrics(report: Report, scale: float = 1.0, footprint: float = 0.0) -> dict[str, float]:
    """What the emulator counted. `scale`: CTAs of the launch that would be timed for each of those that ran; `footprint`: bytes of
    its arrays."""
    mix = report.mix(in_ptx=True)
    memory, shared = report.total("global"), report.total("shared")
    categories = dict.fromkeys(MIX, 0)
    flops = 0
    for opcode, count in mix.items():
        categories[category(opcode)] += count
        flops += count * tensor_flops(opcode)
    return {
        "instructions": sum(mix.values()),
        "barriers": sum(count for opcode, count in mix.items() if opcode.startswith(("bar.", "barrier."))),
        "sectors": memory.sectors,
        "global_bytes": memory.bytes,
        **global_metrics(report),
        **reach_metrics(report),
        "wavefronts": shared.wavefronts,
        "bank_conflicts": shared.conflicts,
        "tensor_flops": flops,
        "programs": float(np.prod(report.grid)),
        "threads": float(np.prod(report.kernel.threads)),
        "scale": scale,
        "footprint_bytes": footprint,
        **{f"mix_{name}": count for name, count in categories.items()},
    }


def reach_metrics(report: Report) -> dict[str, float]:
    """What each CTA reads and writes of global memory, however often it asks, where the run was asked to count that."""
    reach = report.reach
    if reach is None:
        return {}
    stored = sum(t.sectors for i, t in report.traffic.items() if t.space == "global" and is_store(report, i))
    return {
        "reached_sectors": reach.read_sectors,
        "reached_lines": reach.read_lines,
        "written_again": max(0, stored - reach.written_sectors),
    }


def is_store(report: Report, index: int) -> bool:
    """Whether an instruction is a store."""
    return report.kernel.instructions[index].ptx_opcode.startswith("st.")


_WIDE_COPY = 16
"""Bytes a lane of the asynchronous copies that pass the L1 cache by (PTX ISA, `cp.async.cg`)."""


def global_metrics(report: Report) -> dict[str, float]:
    """How global memory was asked: what of it was read, in how many parts, and how often at most by one instruction."""
    found = dict.fromkeys(
        ("lines", "read_requests", "read_bytes", "read_sectors", "read_lines", "partial_bytes", "small_copies"), 0.0
    )
    most = 0
    for index, traffic in report.traffic.items():
        if traffic.space != "global":
            continue
        opcode = report.kernel.instructions[index].ptx_opcode
        found["lines"] += traffic.lines
        most = max(most, traffic.requests)
        if opcode.startswith("st."):
            found["partial_bytes"] += max(0, 32 * traffic.sectors - traffic.bytes)
        elif opcode.startswith(("ld.", "cp.")) and ".global.shared" not in opcode:
            found["read_requests"] += traffic.requests
            found["read_bytes"] += traffic.bytes
            found["read_sectors"] += traffic.sectors
            found["read_lines"] += traffic.lines
            is_small = opcode.startswith("cp.") and traffic.bytes < _WIDE_COPY * traffic.threads
            found["small_copies"] += traffic.requests if is_small else 0
    warps = np.prod(report.grid) * -(-np.prod(report.kernel.threads) // report.kernel.warp_size)
    return {**found, "turns": max(1.0, most / float(warps))}


_SPECIAL = ("ex2", "lg2", "rsqrt", "sqrt", "sin", "cos", "tanh", "rcp", "div", "rem")
_CONTROL = ("bra", "brx", "call", "ret", "exit", "bar", "barrier", "membar", "fence", "trap", "nanosleep", "mbarrier")
_ASYNC = ("cp", "wgmma.wait", "wgmma.commit", "wgmma.fence", "griddepcontrol", "prefetch")
_STARTS = {
    "tensor": ("mma", "wgmma.mma_async"),
    "async": _ASYNC,
    "shuffle": ("shfl", "vote", "match", "redux", "elect", "activemask"),
    "atomic": ("atom", "red"),
    "convert": ("cvt",),
    "control": _CONTROL,
    "special": _SPECIAL,
}
_SHAPE = re.compile(r"\.m(\d+)n(\d+)k(\d+)")


def category(opcode: str) -> str:
    """Which of `MIX` a PTX opcode is counted in."""
    first = opcode.partition(".")[0]
    if opcode.startswith(("ldmatrix", "stmatrix")):
        return "shared"
    if first in ("ld", "st", "ldu"):
        spaces = opcode.split(".")
        return (
            "shared" if any(s.startswith("shared") for s in spaces) else "global" if "global" in spaces else "integer"
        )
    for name, starts in _STARTS.items():
        if any(opcode == start or opcode.startswith(start + ".") for start in starts):
            return name
    if ".f64" in opcode:
        return "double"
    return "float" if re.search(r"\.(?:f|bf)(?:16|32)", opcode) else "integer"


def tensor_flops(opcode: str) -> int:
    """Multiplications and additions of one tensor-core instruction, issued by one warp."""
    shape = _SHAPE.search(opcode) if opcode.startswith(_STARTS["tensor"]) else None
    if shape is None:
        return 0
    m, n, k = (int(size) for size in shape.groups())
    return 2 * m * n * k // (4 if opcode.startswith("wgmma") else 1)


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
    target = target_named(program.arch)
    if not isinstance(program.options, CUDAOptions):
        raise MinitritonError(f"metrics of machine code are those of SASS, which {target.ttg_target} lacks")
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
    warps, sm = max(1, -(-threads // WARP_SIZE)), target_named(program.arch).features
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
