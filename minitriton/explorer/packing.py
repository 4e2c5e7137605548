"""A compile as it is sent to a page or kept in a file: what states share is there once.

    packed(payload)["lines"]["text"][7]             a line; states name lines by their index: {"level": "ttir", "at": [0, 7, ...]}
    packed(payload)["steps"][6]["rows"][0]          ["same", 0, 0, null, 11]: eleven rows, each a line further on either side

Of 31 states of an attention most lines stand in many: 2.5 MB become 1.1. `web/src/payload.ts` has the reverse.
"""

from __future__ import annotations

from typing import Any

_COLUMNS = ("text", "op", "file", "line")


def packed(compile: dict[str, Any]) -> dict[str, Any]:
    """`payload(...)` with lines and runs of rows in place of texts and rows; what else it has stays."""
    lines: dict[str, Any] = {**{name: [] for name in _COLUMNS}, "defines": {}, "uses": {}}
    known: dict[tuple[Any, ...], int] = {}
    return {
        **compile,
        "lines": lines,
        "states": [_state(state, lines, known) for state in compile["states"]],
        "steps": [{**step, "rows": _runs(step["rows"])} for step in compile["steps"]],
    }


def _state(state: dict[str, Any], lines: dict[str, Any], known: dict[tuple[Any, ...], int]) -> dict[str, Any]:
    found: list[int] = []
    for at, line in enumerate(zip(*(state[name] for name in _COLUMNS), strict=True)):
        number = known.get(line)
        if number is None:
            number = known[line] = len(known)
            for name, value in zip(_COLUMNS, line, strict=True):
                lines[name].append(value)
            for name in ("defines", "uses"):
                if (values := state[name].get(str(at))) is not None:
                    lines[name][str(number)] = values
        found.append(number)
    kept = {name: state[name] for name in ("level", "ops", "number") if name in state}
    return {**kept, "at": found}


def _runs(rows: list[list[Any]]) -> list[list[Any]]:
    runs: list[list[Any]] = []
    for kind, left, right, other in rows:
        last = runs[-1] if runs else None
        if last is not None and other is None and last[:4] == [kind, _back(left, last[4]), _back(right, last[4]), None]:
            last[4] += 1
        else:
            runs.append([kind, left, right, other, 1])
    return runs


def _back(line: int | None, by: int) -> int | None:
    return None if line is None else line - by
