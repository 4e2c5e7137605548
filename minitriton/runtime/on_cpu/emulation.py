"""Running a compiled kernel without a GPU: its PTX, on the emulator, over arrays in host memory.

In: a `StoredKernel`, a grid and a launch's arguments. Out: the arrays, written in place; what the kernel printed, on stdout; a
`Report` as the kernel's `last_report`. What the emulator finds wrong is a `KernelFault` at the kernel's line:

    softmax.py:12:8: error: out-of-bounds: 4 bytes at byte 4000 of `x_ptr` (4000 bytes) (CTA (3, 0, 0), thread 8) (120 times)
"""

from __future__ import annotations

import functools
import inspect
import struct
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from minitriton import knobs
from minitriton.errors import MinitritonError, SourceLocation
from minitriton.host.llvm_locations import called_at
from minitriton.host.locks import finished_before_forks
from minitriton.host.source_text import line_at
from minitriton.runtime.launching.arguments import Argument, data_address, is_array
from minitriton.runtime.launching.described_tiles import described_tiles, plain_kernel, tensor_maps
from minitriton.runtime.launching.descriptor_arguments import TENSOR_MAP_TYPE
from minitriton.runtime.launching.launcher import PACK_CODES, half_bits
from minitriton.runtime.on_cpu.emulation_cost import TIMING
from minitriton.runtime.on_cpu.host_arrays import arrays_pointed_at, host_view, may_handle_addresses, memory_around
from minitriton.target.backends import backend
from minitriton.target.tensor_map import GRAIN

if TYPE_CHECKING:
    from minitriton.emulator import Finding, Report
    from minitriton.emulator.kernel_arguments import Value
    from minitriton.runtime.stored_kernel import StoredKernel

PACKAGE = Path(__file__).parents[2]
"""The folder of minitriton."""

RACES = ("warn", "error")
"""What a race between programs may be."""

TO_INTERPRETER = "MINITRITON_INTERPRET=1 runs the kernel's TTIR on the interpreter instead"

_HELP = {
    "out-of-bounds": "check the mask, the strides and the sizes that the kernel was given",
    "misaligned": "a pointer was cast to a wider type, a hint such as tl.multiple_of promises more than holds, or a block of a descriptor begins elsewhere "
    "than at a multiple of 16 bytes",
    "read-only": "pass a copy of the array",
    "thread-race": "use an atomic, or tl.debug_barrier() between a store and what other threads load",
    "global-race": "use an atomic, or give each program addresses of its own; MINITRITON_RACES=warn lets programs race",
    "shared-race": "order the two by a barrier of the CTA, an arrival at an mbarrier and its wait, or the wait for a copy",
    "async-read": "wait for what writes this before: commit_group and wait_group, mbarrier.wait, warpgroup_mma_wait, store_wait",
    "async-write": "wait for what reads or writes this before: wait_group, store_wait, warpgroup_mma_wait, an mbarrier that its reader arrives at",
    "proxy-fence": "fence_async_shared() after the store, or after the wait for the copy, before what reads it",
    "uninitialised": "store the memory, or initialise the mbarrier, before it is used",
    "poison": "give that load `other=` (of a block pointer `padding_option=`), or mask this access too",
    "deadlock": "check the phases, arrivals and bytes that the threads wait for; programs that wait for each other need launch_cooperative_grid=True",
}


class KernelFault(MinitritonError, RuntimeError):
    """The emulator found a kernel doing something wrong; `report` holds all that it found.

    A `RuntimeError`, as failures on a device are for torch's users, with the driver's words for a failed assertion.
    """

    def __init__(self, finding: Finding, report: Report) -> None:
        self.finding, self.report = finding, report
        times = f" ({finding.count} times)" if finding.count > 1 else ""
        location = finding.source
        line = line_at(location.file, location.line) if location is not None else None
        help = _HELP.get(finding.kind)
        if location is None:
            help = f"at line {finding.line} of the PTX: {finding.text}" + (f"; {help}" if help else "")
        kind = "device-side assert triggered" if finding.kind == "assert" else finding.kind
        super().__init__(f"{kind}: {finding.message}{times}", location, help=help, source_line=line)

    def __reduce__(self) -> tuple[type, tuple[Finding, Report]]:
        return type(self), (self.finding, self.report)


def run_on_emulator(kernel: StoredKernel, grid: tuple[int, int, int], arguments: list[Argument]) -> None:
    """Launches `kernel` over `grid`.

    `knobs.emulator.check` says whether races, uninitialised reads and what is asynchronous are looked after, and costs counted;
    if so, the `Report` is kept as `kernel.last_report`, which is None after a launch that was not checked.
    Raises `KernelFault` for what is found, after the kernel has run to its end; a race between programs is a warning.
    """
    with finished_before_forks():
        from minitriton import emulator
        from minitriton.emulator.poison import UNDEFINED_LANES, run_with_poison

    checked = _checks(kernel)
    kernel.last_report = None
    values = [emulator_value(argument) for argument in arguments]
    described = described_tiles(kernel)
    if described is not None:
        maps = tensor_maps(described, kernel.metadata.tensordesc_meta, lambda i: int(arguments[i].value))  # pyright: ignore[reportArgumentType]
        if maps is None or any(data_address(arguments[tile["base"]].value) % GRAIN for tile in described["tiles"]):
            plain = plain_kernel(kernel, assemble=False)
            run_on_emulator(plain, grid, arguments)
            kernel.last_report = plain.last_report
            return
        for tile, map in zip(described["tiles"], maps, strict=True):
            values.append(emulator.MappedArray(host_view(arguments[tile["base"]].value, "emulator"), map))
    reachable = memory_around(argument.value for argument in arguments) or None
    if may_handle_addresses(kernel.asm):
        reachable = [*(reachable or ()), *arrays_pointed_at(values)]
    metadata = kernel.metadata
    found = backend(metadata.target.backend)
    text = kernel.asm[found.text_stage]
    grid = (grid[0] * metadata.num_ctas, *grid[1:])
    scratch = getattr(metadata, "global_scratch_size", 0)
    if scratch:
        values.append(np.zeros(scratch * grid[0] * grid[1] * grid[2], np.uint8))
    run = functools.partial(
        found.load("emulator"),
        text,
        None,
        grid,
        values,
        metadata.shared,
        check=checked,
        names=[argument.name for argument in arguments],
        resident=metadata.launch_cooperative_grid,
        programs=TIMING.programs,
        reachable=reachable,
        fences_by_author=kernel.src.ext == "gluon",
    )
    try:
        if isinstance(text, str) and UNDEFINED_LANES in text:
            report = run_with_poison(run, [*values, *(reachable or ())], knobs.emulator.seconds)
        else:
            report = run(seconds=knobs.emulator.seconds)
    except emulator.EmulationError as error:
        error.help = f"{error.help}; {TO_INTERPRETER}" if error.help else TO_INTERPRETER
        raise
    if report is None:
        return
    if checked:
        kernel.last_report, kernel.checked_on_emulator = report, True
        TIMING.note(report)
    llvm_ir = kernel.asm.get("llir", "")
    for finding in report.findings:
        if isinstance(text, str) and (user := called_at(text, finding.line, llvm_ir)) is not None:
            finding.source = SourceLocation(*user)
    for line in report.output:
        print(line)
    if report.share < 1:
        _tell_of_the_rest(report)
    _complain(report)


def _location_of_launch() -> tuple[str, int]:
    """The file and line of the program that launches, outside of minitriton and what is imported for it."""
    frame = inspect.currentframe()
    assert frame is not None
    while frame.f_back is not None and frame.f_code.co_filename.startswith((str(PACKAGE), "<")):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _warn_at_launch(text: str) -> None:
    file, line = _location_of_launch()
    warnings.warn_explicit(text, RuntimeWarning, file, line)


_warn_once = functools.cache(_warn_at_launch)


def _tell_of_the_rest(report: Report) -> None:
    """That a launch whose time is asked for has not stored all that it would have."""
    _warn_once(
        f"to estimate the time of `{report.kernel.name}` only some programs of its grid run, {knobs.emulator.timed_programs} at most: "
        "what the others would have stored is missing (MINITRITON_EMULATOR_TIMED_PROGRAMS=0 runs all)"
    )


def _checks(kernel: StoredKernel) -> bool:
    when = knobs.emulator.check
    if when not in _CHECKS:
        raise MinitritonError(
            f"MINITRITON_EMULATOR_CHECK is {when!r}", help="set one of " + ", ".join(repr(name) for name in _CHECKS)
        )
    return not kernel.checked_on_emulator if when == "first" else _CHECKS[when]


_CHECKS = {"first": True, "1": True, "0": False}


def _complain(report: Report) -> None:
    """Warns of or raises what was found. The first fault in the order of the run is the cause of others as a rule."""
    if knobs.emulator.races not in RACES:
        raise MinitritonError(f"MINITRITON_RACES is {knobs.emulator.races!r}", help="set one of " + ", ".join(RACES))
    for finding in report.findings:
        if finding.kind != "global-race" or knobs.emulator.races == "error":
            raise KernelFault(finding, report)
    for finding in report.findings:
        file, line = _location_of_launch()
        launch = f"launch of {report.kernel.name} over {'x'.join(map(str, report.grid))} programs at {file}:{line}"
        _warn_at_launch(
            f"{str(finding).partition(chr(10))[0]}, in the {launch} (MINITRITON_RACES=error makes it an error)"
        )


def emulator_value(argument: Argument) -> Value:
    """What the emulator takes: an array, or the bytes of a number."""
    type_name, value = argument.type_name, argument.value
    if type_name == TENSOR_MAP_TYPE:
        from minitriton.emulator import MappedArray

        return MappedArray(host_view(value.base, "emulator"), value.map)
    if type_name[0] == "*":
        return None if value is None else host_view(value, "emulator") if is_array(value) else int(value)
    code = PACK_CODES.get(type_name)
    if code is None:
        raise MinitritonError(
            f"parameter {argument.name!r}: the emulator takes no argument of type {type_name!r}", help=TO_INTERPRETER
        )
    if type_name in ("fp16", "bf16"):
        value = half_bits(float(value), type_name)
    elif code in "fd":
        value = float(value)
    else:
        value = int(value)
    try:
        return struct.pack("<" + code, value)
    except struct.error as error:
        raise MinitritonError(
            f"parameter {argument.name!r}: {argument.value!r} does not fit its type {type_name} ({error})"
        ) from error
