"""Two states compared: which ops are the same, changed, moved, new or gone.

In: two `Snapshot`s. Out: rows of a left and a right line. Ops that have the same number are the same op, wherever they stand; where a
pass has made all ops anew, lines are matched by their text.

    same      left and right              the op stands where it stood
    changed   left and right              the same op (or its line) with another text
    moved     left or right               the op stands elsewhere on the other side
    removed   left                        added    right
"""

from __future__ import annotations

import difflib
from bisect import bisect_left
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from minitriton.explorer.module_lines import Line
from minitriton.explorer.notebook import difference_html
from minitriton.explorer.snapshot import Snapshot


class Kind(StrEnum):
    """How a row differs."""

    SAME = "same"
    CHANGED = "changed"
    MOVED = "moved"
    REMOVED = "removed"
    ADDED = "added"


class Row(NamedTuple):
    """One row: indices of lines on either side, None where there is none. Of a moved op, `other` is its line on the other side."""

    kind: Kind
    left: int | None
    right: int | None
    other: int | None = None


@dataclass(frozen=True)
class Difference:
    """Rows in order, and the two states."""

    before: Snapshot
    after: Snapshot
    rows: tuple[Row, ...]

    def _repr_html_(self) -> str:
        """In a notebook."""
        return difference_html(self)

    def counts(self) -> dict[str, int]:
        """Lines by kind; a moved op counts once."""
        found = {str(kind): 0 for kind in Kind}
        for row in self.rows:
            found[str(row.kind)] += not (row.kind is Kind.MOVED and row.right is None)
        return {kind: count for kind, count in found.items() if count}


def compare(before: Snapshot, after: Snapshot) -> Difference:
    """How `after` differs from `before`."""
    left, right = before.lines, after.lines
    begin, end = _common_ends(left, right)
    by_op = {right[at].op: at for at in range(begin, len(right) - end) if right[at].op}
    pairs = {at: by_op[left[at].op] for at in range(begin, len(left) - end) if left[at].op in by_op}
    standing = _longest_increasing(pairs)
    moved = {a: b for a, b in pairs.items() if a not in standing}
    standing |= {at: at for at in range(begin)}
    standing |= {len(left) - at: len(right) - at for at in range(1, end + 1)}
    _match_between(left, right, standing, moved)
    moved_back = {b: a for a, b in moved.items()}
    rows: list[Row] = []
    i = j = 0
    for a, b in [*sorted(standing.items()), (len(left), len(right))]:
        rows += [Row(Kind.MOVED if k in moved else Kind.REMOVED, k, None, moved.get(k)) for k in range(i, a)]
        rows += [Row(Kind.MOVED if k in moved_back else Kind.ADDED, None, k, moved_back.get(k)) for k in range(j, b)]
        if a < len(left):
            rows.append(Row(Kind.SAME if left[a].text == right[b].text else Kind.CHANGED, a, b))
        i, j = a + 1, b + 1
    return Difference(before, after, tuple(rows))


def _common_ends(left: tuple[Line, ...], right: tuple[Line, ...]) -> tuple[int, int]:
    """How many lines at the beginning, and how many at the end, are alike in all that is known of them."""
    most = min(len(left), len(right))
    begin = next((at for at in range(most) if left[at] != right[at]), most)
    end = next((at for at in range(most - begin) if left[-1 - at] != right[-1 - at]), most - begin)
    return begin, end


def _match_between(
    left: tuple[Line, ...], right: tuple[Line, ...], standing: dict[int, int], moved: dict[int, int]
) -> None:
    """Adds to `standing` the lines that stand alike between ops that are the same, in each gap by itself."""
    taken = set(moved.values())
    i = j = 0
    for a, b in [*sorted(standing.items()), (len(left), len(right))]:
        free_left = [k for k in range(i, a) if k not in moved]
        free_right = [k for k in range(j, b) if k not in taken]
        if free_left and free_right:
            standing.update(_alike_pairs(left, right, free_left, free_right))
        i, j = a + 1, b + 1


def _alike_pairs(
    left: tuple[Line, ...], right: tuple[Line, ...], free_left: list[int], free_right: list[int]
) -> dict[int, int]:
    pairs: dict[int, int] = {}
    a, b = [_key(left[k]) for k in free_left], [_key(right[k]) for k in free_right]
    for kind, a0, a1, b0, b1 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal":
            pairs.update(zip(free_left[a0:a1], free_right[b0:b1], strict=True))
        elif kind == "replace":
            names = [_name(left[k]) for k in free_left[a0:a1]], [_name(right[k]) for k in free_right[b0:b1]]
            for x, y, size in difflib.SequenceMatcher(None, *names, autojunk=False).get_matching_blocks():
                pairs.update((free_left[a0 + x + k], free_right[b0 + y + k]) for k in range(size))
    return pairs


def _key(line: Line) -> str:
    return line.text.strip()


def _name(line: Line) -> str:
    """What two lines that differ must share to be shown next to each other: the name of the op, or of what is defined."""
    words = (line.text.partition(" = ")[2] if line.op and " = " in line.text else line.text).split()
    return words[0].partition("(")[0] if words else ""


def _longest_increasing(pairs: dict[int, int]) -> dict[int, int]:
    """The most pairs that keep their order (patience sorting): the ops that stand where they stood."""
    tails: list[int] = []
    ends: list[int] = []
    back: dict[int, int | None] = {}
    for a in sorted(pairs):
        at = bisect_left(tails, pairs[a])
        back[a] = ends[at - 1] if at else None
        tails[at : at + 1], ends[at : at + 1] = [pairs[a]], [a]
    standing: dict[int, int] = {}
    a: int | None = ends[-1] if ends else None
    while a is not None:
        standing[a] = pairs[a]
        a = back[a]
    return standing
