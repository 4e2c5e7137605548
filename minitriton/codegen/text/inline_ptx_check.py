"""Refuses inline PTX that LLVM would end the process for.

In: the text and the constraints of `tl.inline_asm_elementwise`, and how many registers go in and come out. Out: nothing, or a
`LoweringError`.

    "add.s32 $0, $1, $5;", "=r,r,r"      →  the text names operand $5, but there are 3 operands
    "add.s32 $0, $1;", "=z,r"            →  '=z' is no constraint

LLVM's code generator reports such mistakes by leaving the process (`report_fatal_error`, and errors without a handler).
"""

from __future__ import annotations

import re

from minitriton.errors import LoweringError

_CONSTRAINT = re.compile(r"=?&?[bchrlfdqniX]|\d+|=?\{\w+\}")
"""NVPTX's registers by width, immediates, an operand shared with an output, a register by name."""

_REFERENCE = re.compile(r"\$(?:(\d+)|\{(\d+)(?::r)?\}|([$(|)])|\{:\w+\}|(.{0,3}))", re.DOTALL)
"""`$1`, `${1}`, the escapes `$$`, `$(`, `$|`, `$)`, LLVM's `${:uid}`; the last group holds what follows a `$` that is none of these."""

_HELP = "outputs first, then inputs, as in asm='add.s32 $0, $1, $2;', constraints='=r,r,r'"


def check_inline_ptx(text: str, constraints: str, outputs: int, inputs: int) -> None:
    """Raises `LoweringError` unless `constraints` describe `outputs` and `inputs` and `text` names none but those."""
    parts = [part.strip() for part in constraints.split(",") if part.strip()]
    operands = [part for part in parts if not part.startswith("~")]
    for part in operands:
        if not _CONSTRAINT.fullmatch(part):
            raise LoweringError(
                f"{part!r} in {constraints!r} is no constraint of inline PTX",
                help="registers: c and h (16 bits), r (32), l (64), f (float), d (double), b (predicate); n: an immediate",
            )
    given_outputs = sum(part.startswith("=") for part in operands)
    given_inputs = len(operands) - given_outputs
    if (given_outputs, given_inputs) != (outputs, inputs):
        raise LoweringError(
            f"constraints {constraints!r} describe {given_outputs} outputs and {given_inputs} inputs, "
            f"but the operation has {outputs} and {inputs} registers",
            help=_HELP,
        )
    if any(part.startswith("=") for part in operands[outputs:]):
        raise LoweringError(f"constraints {constraints!r} name an output after an input", help=_HELP)
    for match in _REFERENCE.finditer(text):
        number = match[1] or match[2]
        if match[4] is not None:
            raise LoweringError(
                f"malformed operand '${match[4]}' in inline PTX {text!r}", help="write $0, ${0}, or $$ for $"
            )
        if number is not None and int(number) >= len(operands):
            raise LoweringError(
                f"inline PTX {text!r} names operand ${number}, but there are {len(operands)} operands", help=_HELP
            )
