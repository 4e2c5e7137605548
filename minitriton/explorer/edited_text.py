"""Text that someone has changed, back to a program, with what the unchanged lines were kept: places, identities, names.

In: a state, and its text with some lines edited. Out: a module, or the text of LLVM IR or PTX with what is not shown put back.

    %5 = arith.addi %3, %4 : i32        unchanged: the same op as before, at the same line of the kernel
    %6 = arith.muli %5, %5 : i32        was `arith.addi`: another op, at the place of the one that it stands for
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Operation

from minitriton.codegen.llvm_session import CheckedLLVMIR, check_in_child
from minitriton.dialects.text import parse_module
from minitriton.errors import MinitritonError
from minitriton.explorer.identities import Identities
from minitriton.explorer.snapshot import Snapshot

_NAME = "edited"


def parse_edited(before: Snapshot, text: str, identities: Identities) -> ModuleOp | CheckedLLVMIR | str:
    """The program that `text` is, an edit of `before`. Raises `MinitritonError` with the line of the text that is wrong."""
    if before.level == "llir":
        return _llvm_ir(before, text)
    if before.level == "ptx":
        return _with_hidden_lines(before, text)
    module = parse_module(text, _NAME, ignore_locations=True)
    shown = text.split("\n")
    begun: dict[int, Operation] = {}
    for op in module.walk():
        if isinstance(op.location, FileLineColLoc):
            begun.setdefault(op.location.line.data - 1, op)
    pairs = _pairs([line.text for line in before.lines], shown)
    last = None
    for at in sorted(begun):
        op, old = begun[at], pairs.get(at)
        line = before.lines[old] if old is not None else None
        if line is not None and line.op:
            original = identities.op(line.op)
            op.location = last = original.location
            identities.adopt(op, line.op if original.name == op.name else 0, line.defines)
        elif last is not None:
            op.location = last
    return module


def _pairs(before: Sequence[str], after: Sequence[str]) -> dict[int, int]:
    """For lines of `after` those of `before` that they are, or stand in the place of."""
    found: dict[int, int] = {}
    for kind, a0, a1, b0, b1 in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal" or (kind == "replace" and a1 - a0 == b1 - b0):
            found.update(zip(range(b0, b1), range(a0, a1), strict=True))
    return found


def _with_hidden_lines(before: Snapshot, text: str) -> str:
    """`text` with the lines of the whole text that `before` does not show, before those that they stood before."""
    assert before.raw is not None
    raw, shown = before.raw.split("\n"), text.split("\n")
    pairs = _pairs([line.text for line in before.lines], shown)
    end_of_shown = before.lines[-1].number if before.lines else 0
    put: list[str] = []
    for at, line in enumerate(shown):
        old = pairs.get(at)
        if old is not None:
            previous = before.lines[old - 1].number if old else 0
            put += raw[previous : before.lines[old].number - 1]
        put.append(raw[before.lines[old].number - 1] if old is not None and before.lines[old].text == line else line)
    metadata = [line for line in raw[end_of_shown:] if line.startswith("!")] if before.level == "llir" else []
    return "\n".join([*put, *metadata]).rstrip("\n") + "\n"


def _llvm_ir(before: Snapshot, text: str) -> CheckedLLVMIR:
    whole = _with_hidden_lines(before, text)
    try:
        check_in_child(whole, _NAME)
    except MinitritonError as error:
        error.help = error.help or "the text is LLVM IR, read by LLVM's own parser"
        raise
    return CheckedLLVMIR(whole)
