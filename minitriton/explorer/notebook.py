"""How compiles, layouts and differences look in a notebook: what `_repr_html_` gives there.

recording.difference(6)         a table, before and after, changed ops marked
layout_fact(encoding, shape)    the tile, coloured by warp
"""

from __future__ import annotations

from html import escape
from typing import Any

from minitriton.host.tables import spans, table
from minitriton.target import target_named

_COLOURS = {"changed": "#fff1c9", "moved": "#dcebff", "removed": "#fde0de", "added": "#d9f5dd"}
_MOST_CELLS = 4096


def difference_html(difference: Any, context: int = 2) -> str:
    """Before and after next to each other, what is alike folded away."""
    rows = difference.rows
    near = {near for at, row in enumerate(rows) if row.kind != "same" for near in range(at - context, at + context + 1)}
    cells: list[list[str]] = []
    paints: list[str] = []
    skipped = 0
    for at, row in enumerate([*rows, None]):
        if row is not None and at not in near:
            skipped += 1
            continue
        if skipped:
            cells.append([f"<i>{skipped} lines alike</i>", ""])
            paints.append("#f4f5f7")
            skipped = 0
        if row is not None:
            before = "" if row.left is None else difference.before.lines[row.left].text
            after = "" if row.right is None else difference.after.lines[row.right].text
            cells.append([spans(before), spans(after)])
            paints.append(_COLOURS.get(str(row.kind), ""))
    return table(["before", "after"], cells, paints, fits=True)


def recording_html(recording: Any) -> str:
    """The passes that changed something, each to be opened."""
    parts = [f"<b>{escape(recording.kernel)}</b>, {target_named(recording.arch).sm.rstrip('a')}"]
    for at, step in enumerate(recording.steps):
        if at and step.changed:
            counts = ", ".join(
                f"{kind} {count}" for kind, count in recording.difference(at).counts().items() if kind != "same"
            )
            inside = difference_html(recording.difference(at))
            parts.append(f"<details><summary>{escape(step.name)}: {counts}</summary>{inside}</details>")
        if step.error:
            parts.append(f"<pre>{escape(step.name)}: {escape(step.error)}</pre>")
    return "".join(parts)


def layout_html(fact: Any) -> str:
    """The tile: in each cell the thread and register of its element, coloured by warp; of shared memory the offset."""
    found = fact.homes()
    columns = fact.shape[-1]
    shown = {dim: numbers.reshape(-1, columns) for dim, numbers in found.items()}
    rows = min(next(iter(shown.values())).shape[0], max(1, _MOST_CELLS // columns))
    lines: list[str] = []
    for row in range(rows):
        cells: list[str] = []
        for column in range(columns):
            if fact.kind == "shared":
                number, text = int(shown["offset"][row, column]) % 32, str(shown["offset"][row, column])
            else:
                number = int(shown["warp"][row, column])
                text = f"T{shown['lane'][row, column] + number * fact.sizes['lane']}:{shown['register'][row, column]}"
            cells.append(
                f'<td style="background:hsl({number * 137 % 360} 65% 78%);color:#111;font-size:9px;padding:1px">{text}</td>'
            )
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return f"<p><code>{escape(fact.encoding)}</code> on {'x'.join(map(str, fact.shape))}</p><table>{''.join(lines)}</table>"
