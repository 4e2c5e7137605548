"""Inline PTX by itself: the string of an `asm` run on arrays, one thread a group of registers. What the interpreter calls.

In: the string, LLVM's constraints, one array of words for every register that goes in. Out: one array for every register that
comes out.

    evaluate("shf.l.wrap.b32 $0, $1, $2, 8;", "=r,r,r", [low, high], [32])   →   [words]
    evaluate("ld.global.b32 $0, [$1];", "=r,l", [addresses], [32], memory=[array], pointers=(0,))

The string becomes the body of a kernel that loads its registers, and stores them after (PTX ISA for what it says, LLVM's language
reference, "Inline Assembler Expressions", for `$` and the constraints).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minitriton.emulator.launch import run
from minitriton.emulator.ptx.program import EmulationError
from minitriton.interpreter.errors import InterpreterError

THREADS = 128
_TYPES = {"h": "b16", "r": "b32", "l": "b64", "f": "b32", "d": "b64"}
"""By the letter of a constraint."""
_DECLARED = {"f": "f32", "d": "f64"}
_BETWEEN_THREADS = re.compile(
    r"%(?:n?tid|n?ctaid|laneid|n?warpid|lanemask_\w+|cluster\w*|nclusterid)\b"
    r"|\b(?:shfl|vote|match|redux|elect|activemask|bar|barrier|mbarrier|mma|wgmma|wmma|ldmatrix|stmatrix|movmatrix|mapa|setmaxnreg|cp|"
    r"tensormap|tcgen05)\.[\w.:]+|\b(?:ld|st|atom|red)\.(?:[\w:]+\.)*shared[\w.:]*"
)
"""What depends on a thread's index, on other threads, or on memory that they share."""
_PLACEHOLDER = re.compile(r"\$(?:\$|(\d+)|\{(\d+)(?::\w+)?\}|\{:uid\})")


@dataclass(frozen=True)
class Constraints:
    """The registers of an `asm`, by their letters; `tied` maps an input to the output whose register it shares."""

    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    tied: dict[int, int]

    @staticmethod
    def parse(text: str) -> Constraints:
        """Raises `EmulationError` for constraints of other kinds."""
        outputs: list[str] = []
        inputs: list[str] = []
        tied: dict[int, int] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            if part.startswith("~"):
                continue
            letter = part.lstrip("=&")
            if letter.isdigit() and int(letter) < len(outputs):
                tied[len(inputs)] = int(letter)
                letter = outputs[int(letter)]
            if letter not in _TYPES:
                raise EmulationError(
                    f"inline PTX has the constraint {part!r}, for which the emulator knows no register"
                )
            (outputs if part.startswith("=") else inputs).append(letter)
        return Constraints(tuple(outputs), tuple(inputs), tied)


def evaluate(
    asm: str,
    constraints: str,
    inputs: Sequence[np.ndarray],
    results: Sequence[int],
    memory: Sequence[np.ndarray] = (),
    pointers: Sequence[int] = (),
) -> list[np.ndarray]:
    """Runs `asm` for each element of the inputs (unsigned words, all of one length; a single time if there are none).

    `results` are the widths in bits of the words that come out. Of the arrays `memory`, the inputs numbered `pointers` hold addresses as
    the host knows them. Raises `EmulationError` for PTX that the emulator does not know or that depends on a thread's index or on
    other threads, `InterpreterError` for what traps or reaches beyond `memory`.
    """
    registers = Constraints.parse(constraints)
    if len(registers.inputs) != len(inputs) or len(registers.outputs) != len(results):
        raise EmulationError(
            f"inline PTX has the constraints {constraints!r} for {len(registers.outputs)} registers out and "
            f"{len(registers.inputs)} in; its types and packing ask for {len(results)} and {len(inputs)}",
            help="a register takes as many packed elements as fit into 32 bits, and one that is wider",
        )
    if found := _BETWEEN_THREADS.search(re.sub(r"//[^\n]*|/\*.*?\*/", "", asm, flags=re.S)):
        raise EmulationError(
            f"inline PTX with `{found[0]}` depends on which thread runs it, which whole tiles do not know",
            help="run the kernel's PTX: launch without MINITRITON_INTERPRET",
        )
    count = len(inputs[0]) if inputs else 1
    slots = np.zeros((max(1, len(inputs)), count), np.uint64)
    regions = np.zeros((max(1, len(inputs)), count), np.uint64)
    for number, words in enumerate(inputs):
        slots[number] = words
        if number in pointers:
            slots[number], regions[number] = _rebased(slots[number], memory)
    out = np.zeros((max(1, len(results)), count), np.uint64)
    text = _kernel(asm, registers, tuple(pointers), len(memory))
    grid = (-(-count // THREADS),)
    report = run(text, "inline_assembly", grid, [slots, regions, out, count, *memory], check=False)
    if report.findings:
        first = report.findings[0]
        raise InterpreterError(f"inline PTX: {first.kind} in `{first.text}`: {first.message}")
    return [out[n].astype(f"u{width // 8}") for n, width in enumerate(results)]


def _rebased(addresses: np.ndarray, memory: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Host addresses as bytes from the start of an array, and that array's number from 1; 0 and the address outside of all."""
    offsets, numbers = addresses.copy(), np.zeros_like(addresses)
    for number, array in enumerate(memory, 1):
        start = np.uint64(array.__array_interface__["data"][0])
        inside = (addresses >= start) & (addresses < start + np.uint64(array.nbytes))
        offsets[inside] = addresses[inside] - start
        numbers[inside] = number
    return offsets, numbers


def _kernel(asm: str, registers: Constraints, pointers: tuple[int, ...], arrays: int) -> str:
    """PTX: thread t loads word t of every input, runs the string, and stores word t of every output."""
    letters = (*registers.outputs, *registers.inputs)
    names = [f"%asm_{n}" for n in range(len(letters))]
    first = len(registers.outputs)
    for number, output in registers.tied.items():
        names[first + number] = names[output]
    kinds = {name: _DECLARED.get(letter, _TYPES[letter]) for name, letter in zip(names, letters, strict=True)}
    declared = "\n".join(f".reg .{kind} {name};" for name, kind in kinds.items())
    loads: list[str] = []
    stores: list[str] = []
    for number, letter in enumerate(registers.inputs):
        name = names[first + number]
        loads.append(f"ld.global.{_TYPES[letter]} {name}, [%asm_in];")
        if number in pointers:
            loads.append("ld.global.b64 %asm_region, [%asm_regions]; mov.b64 %asm_base, 0;")
            for array in range(arrays):
                loads.append(f"ld.param.u64 %asm_start, [a{array}]; setp.eq.u64 %asm_here, %asm_region, {array + 1};")
                loads.append("selp.b64 %asm_base, %asm_start, %asm_base, %asm_here;")
            loads.append(f"add.s64 {name}, {name}, %asm_base;")
        loads.append("add.s64 %asm_in, %asm_in, %asm_step; add.s64 %asm_regions, %asm_regions, %asm_step;")
    for number, letter in enumerate(registers.outputs):
        stores.append(f"st.global.{_TYPES[letter]} [%asm_out], {names[number]}; add.s64 %asm_out, %asm_out, %asm_step;")
    body = _PLACEHOLDER.sub(lambda m: _filled(m, names), asm)
    parameters = ", ".join(f".param .u64 {p}" for p in ("in", "regions", "out"))
    parameters += ", .param .u32 count" + "".join(f", .param .u64 a{n}" for n in range(arrays))
    newline = "\n"
    return f""".version 8.7
.target sm_90a
.address_size 64
.visible .entry inline_assembly({parameters})
.reqntid {THREADS}
{{
.reg .pred %asm_beyond, %asm_here; .reg .b32 %asm_thread, %asm_cta, %asm_count;
.reg .b64 %asm_in, %asm_regions, %asm_out, %asm_step, %asm_offset, %asm_region, %asm_base, %asm_start;
{declared}
mov.u32 %asm_thread, %tid.x; mov.u32 %asm_cta, %ctaid.x; mad.lo.s32 %asm_thread, %asm_cta, {THREADS}, %asm_thread;
ld.param.u32 %asm_count, [count]; setp.ge.u32 %asm_beyond, %asm_thread, %asm_count;
@%asm_beyond bra ASM_END;
ld.param.u64 %asm_in, [in]; ld.param.u64 %asm_regions, [regions]; ld.param.u64 %asm_out, [out];
mul.wide.u32 %asm_step, %asm_count, 8; mul.wide.u32 %asm_offset, %asm_thread, 8;
add.s64 %asm_in, %asm_in, %asm_offset; add.s64 %asm_regions, %asm_regions, %asm_offset; add.s64 %asm_out, %asm_out, %asm_offset;
{newline.join(loads)}
{body}
{newline.join(stores)}
ASM_END:
ret;
}}
"""


def _filled(placeholder: re.Match[str], names: Sequence[str]) -> str:
    if placeholder[0] == "$$":
        return "$"
    number = placeholder[1] or placeholder[2]
    if number is None:
        return "0"
    if int(number) >= len(names):
        raise EmulationError(f"inline PTX names ${number}, but its constraints only {len(names)} registers")
    return names[int(number)]
