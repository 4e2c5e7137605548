"""A recording in a terminal: the list of passes, and one pass before and after, folded, coloured where it is a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from minitriton.explorer.difference import Difference, Kind, Row
from minitriton.explorer.recording import Recording

_MARKS = {Kind.SAME: " ", Kind.CHANGED: "~", Kind.MOVED: ">", Kind.REMOVED: "-", Kind.ADDED: "+"}
_COLOURS = {Kind.CHANGED: "33", Kind.MOVED: "36", Kind.REMOVED: "31", Kind.ADDED: "32"}
CONTEXT = 2


def pass_table(recording: Recording, *, changed_only: bool = False) -> str:
    """A row a pass: number, milliseconds, ops before and after, lines that changed, name."""
    rows = ["  #        ms   ops            lines  pass"]
    for index, step in enumerate(recording.steps):
        if index == 0 or (changed_only and not step.changed and step.error is None):
            continue
        before, after = recording.steps[index - 1].after.ops, step.after.ops
        ops = f"{_number(before):>5} -> {_number(after):<5}" if step.changed else f"{_number(after):>5}{'':9}"
        counts = recording.difference(index).counts() if step.changed else {}
        marks = " ".join(f"{_MARKS[kind]}{counts[kind]}" for kind in _MARKS if kind is not Kind.SAME and kind in counts)
        failed = f"   failed: {step.error.splitlines()[0]}" if step.error else ""
        rows.append(f"{index:>3} {step.milliseconds:>9.2f} {ops} {marks:>14}  {step.text}{failed}")
    return "\n".join(rows)


def _number(count: int | None) -> str:
    return "-" if count is None else str(count)


def difference_text(difference: Difference, *, colour: bool, context: int = CONTEXT) -> str:
    """Before and after in one column: `-` gone, `+` new, `~` changed, `>` moved (shown where it stands now and where it stood)."""
    return "\n".join(_rendered(difference, colour, context))


def _rendered(difference: Difference, colour: bool, context: int) -> Iterator[str]:
    rows = difference.rows
    shown = {
        k for at, row in enumerate(rows) if row.kind is not Kind.SAME for k in range(at - context, at + context + 1)
    }
    skipped = 0
    for at, row in enumerate(rows):
        if at not in shown:
            skipped += 1
            continue
        if skipped:
            yield painted(f"    ... {skipped} lines alike", "2", colour)
            skipped = 0
        yield from _row(row, difference, colour)
    if skipped:
        yield painted(f"    ... {skipped} lines alike", "2", colour)


def _row(row: Row, difference: Difference, colour: bool) -> Iterator[str]:
    before, after = difference.before.lines, difference.after.lines
    paint = _COLOURS.get(row.kind, "")
    if row.kind is Kind.CHANGED:
        assert row.left is not None and row.right is not None
        yield painted(f"- {before[row.left].text}", _COLOURS[Kind.REMOVED], colour)
        yield painted(f"+ {after[row.right].text}", _COLOURS[Kind.ADDED], colour)
    elif row.right is None:
        assert row.left is not None
        away = f"    (moved to line {row.other + 1})" if row.kind is Kind.MOVED and row.other is not None else ""
        yield painted(f"{'<' if away else _MARKS[row.kind]} {before[row.left].text}{away}", paint, colour)
    else:
        yield painted(f"{_MARKS[row.kind]} {after[row.right].text}", paint, colour)


# Colour on a terminal, nothing but text in a pipe (https://no-color.org).
#
# painted("12", "31", is_coloured())      red on a terminal

RED, GREEN, YELLOW, BLUE, CYAN, BOLD, FAINT = "31", "32", "33", "34", "36", "1", "2"


def is_coloured() -> bool:
    """Whether standard output is a terminal, and NO_COLOR is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def painted(text: str, code: str, colour: bool) -> str:
    """`text` in the colour that `code` says, where `colour` does."""
    return f"\x1b[{code}m{text}\x1b[0m" if colour and code else text


def background(number: int, of: int) -> str:
    """A code that tells `number` of `of` from its neighbours by its background, in the 256 colours of terminals."""
    wheel = (203, 114, 221, 75, 176, 80, 215, 150, 210, 117, 186, 141, 116, 223, 181, 152)
    return f"30;48;5;{wheel[number % len(wheel)] if of <= len(wheel) else 17 + (number * 37) % 214}"
