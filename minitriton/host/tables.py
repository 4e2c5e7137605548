"""Tables as text, and tables and texts as HTML for objects that display themselves in a notebook (`_repr_html_`).

aligned([("pass", "ms"), ("cse", "0.2")], right=[1])
table(["pass", "ms"], [["cse", "0.2"]])
folded("ptx, 300 lines", text)              a text under a title that opens it
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """A line a row, the cells of a column equally wide; those of the columns `right` end together."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]  # fmt: skip


def table(heads: list[str], rows: list[list[str]], paints: list[str] | None = None, *, fits: bool = False) -> str:
    """An HTML table; cells are HTML already, `paints` the background of each row ("" for none). `fits`: as wide as its container, its
    columns equally, with long lines broken; without, as wide as its lines."""
    style = "text-align:left;font-family:monospace;color:#111;white-space:"
    style += "pre-wrap;overflow-wrap:anywhere;vertical-align:top" if fits else "pre"
    body = "".join(
        f'<tr style="background:{(paints or [""] * len(rows))[at] or "#fff"}">'
        + "".join(f'<td style="{style}">{cell}</td>' for cell in row)
        + "</tr>"
        for at, row in enumerate(rows)
    )
    width = ' style="table-layout:fixed;width:100%"' if fits else ""
    return f"<table{width}><thead><tr>{''.join(f'<th>{escape(head)}</th>' for head in heads)}</tr></thead><tbody>{body}</tbody></table>"


def folded(title: str, text: str, *, opened: bool = False) -> str:
    """A text under a title that opens it."""
    return f"<details{' open' if opened else ''}><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"
