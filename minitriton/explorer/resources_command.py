"""`minitriton explain KERNEL`: what a kernel takes of a multiprocessor and how many instructions it has, next to Triton's with `--triton`.

minitriton explain running_sums --triton
                                    minitriton    Triton 3.6.0
    registers a thread                      30              32
    bytes spilled                            0               0

In: the names of a program. Out: a column for each compile; of ours also under which limits of registers it was assembled, and what each gave.
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import replace
from typing import Any

from minitriton.codegen.assembled_code import Cubin
from minitriton.errors import MinitritonError
from minitriton.explorer.program import RequestedProgram
from minitriton.explorer.recording import Recording
from minitriton.explorer.sass import assembled, resources, sass_state
from minitriton.explorer.terminal import BOLD, is_coloured, painted
from minitriton.explorer.triton_reference import triton_recording

_OF_AMD = {"vgpr_count": "registers a thread", "agpr_count": "accumulation registers a thread", "sgpr_count": "scalar registers", "vgpr_spill_count": "registers spilled", "group_segment_fixed_size": "bytes of shared memory a block"}  # fmt: skip


def run_resources(program: RequestedProgram, recording: Recording, given: argparse.Namespace) -> int:
    """Prints the table. Exit code 0."""
    columns = {"minitriton": taken_by(program, recording)}
    if given.triton:
        theirs = triton_recording(program)
        launched = replace(program.options, num_warps=program.default_warps or program.options.num_warps)
        columns[theirs.pipeline] = taken_by(replace(program, options=launched), theirs)
    if given.json:
        print(json.dumps({"kernel": recording.kernel, "target": program.target.ttg_target, "resources": columns}))
        return 0
    print(painted(f"{recording.kernel} for {program.target.ttg_target}", BOLD, is_coloured()))
    print("\n".join(_table(columns)))
    if (default := program.default_warps) not in (None, program.options.num_warps):
        print(
            f"\n{program.options.num_warps} warps are chosen: with the default of {default}, tiles would not stay in registers."
            " To take another number: --option num_warps=N here, num_warps=N in the launch"
        )
    attempts = columns["minitriton"]["attempts"]
    if attempts:
        print("\nassembled with these limits of registers a thread, -> is the one taken:\n" + attempts)
    return 0


def taken_by(program: RequestedProgram, recording: Recording) -> dict[str, Any]:
    """What the kernel of one compile takes, by name; `attempts`: limits of registers, as text. Raises `MinitritonError` where none is known."""
    state = recording.stage(recording.assembly)
    text = state.raw or ""
    instructions = sum(is_instruction(line) for line in text.splitlines())
    if recording.assembly != "ptx":
        found = {name: re.search(rf"\.{field}:\s*(\d+)", text) for field, name in _OF_AMD.items()}
        taken = {name: int(number[1]) for name, number in found.items() if number}
        taken["bytes of shared memory a block"] = recording.shared
        return {**taken, "warps a block": program.options.num_warps, "instructions": instructions, "attempts": ""}
    cubin = recording.cubin or assembled(text, program.target, program.options)
    taken = resources(cubin, text, recording.kernel, program.target, recording.shared)
    found: dict[str, Any] = {
        "registers a thread": taken.registers, "bytes spilled": taken.spilled_bytes, "bytes of shared memory a block": taken.shared_bytes,
        "warps a block": taken.warps, "blocks on an SM": taken.blocks, "warps that fit, of all (%)": round(100 * taken.occupancy),
        "instructions of PTX": instructions,
    }  # fmt: skip
    try:
        found["instructions of SASS"] = sum(is_instruction(line.text) for line in sass_state(cubin, {}).lines)
    except MinitritonError as error:
        found["instructions of SASS"] = f"{error.message}: {error.help}"
    return {**found, "attempts": cubin.table() if isinstance(cubin, Cubin) and len(cubin.attempts) > 1 else ""}


def is_instruction(line: str) -> bool:
    """Whether a line of PTX, SASS or AMD's assembly is one: no label, directive, comment or brace."""
    code = re.split(r"//|;\s*\*/|;", line, maxsplit=1)[0].strip()
    return bool(re.match(r"(@!?%?[\w.]+\s+)?[A-Za-z_][\w.:]*(\s|$)", code)) and not code.endswith(":")


def _table(columns: dict[str, dict[str, Any]]) -> list[str]:
    names = [name for name in next(iter(columns.values())) if name != "attempts"]
    wide = max(map(len, names))
    lines = [" " * wide + "".join(f"  {title:>14}" for title in columns)]
    return lines + [
        f"{name:{wide}}" + "".join(f"  {column.get(name, '')!s:>14}" for column in columns.values()) for name in names
    ]
