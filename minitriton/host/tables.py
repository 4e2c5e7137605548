"""Tables as text, and tables and texts as HTML for objects that display themselves in a notebook (`_repr_html_`).

aligned([("pass", "ms"), ("cse", "0.2")], right=[1])
table(["pass", "ms"], [["cse", "0.2"]])
folded("ptx, 300 lines", text)              a text under a title that opens it
coloured(text)                              IR, PTX or a report, its parts in colours that light and dark pages show
"""

import re
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
    return f"<details{' open' if opened else ''}><summary>{escape(title)}</summary>{coloured(text)}</details>"


_PARTS = re.compile(
    r"(?P<comment>(?:^|(?<=\s))//[^\n]*|\bloc\([^\n]*)|(?P<string>\"[^\"\n]*\")|(?P<added>^ *\+ [^\n]*)|(?P<removed>^ *- [^\n]*)"
    r"|(?P<setting>^ *\[[^\n]*\] -> \[[^\n]*\]$)"
    r"|(?P<encoding>#[a-z]\w*)|(?P<value>%[\w$#]+|\$\w+)|(?P<wrong>\b(?:wrong|broken|error|unsound|race)\b[^\n]*)"
    r"|(?P<op>\b(?:[a-z]\w*\.[a-z]\w*(?:\.[\w:]+)*)\b)|(?P<type>\b(?:tensor|i\d+|f\d+|bf16)\b)",
    re.MULTILINE,
)
_COLOURS = {
    "comment": "#808080", "string": "#a8622a", "added": "#2a8c4a", "setting": "#2a8c4a", "removed": "#c04040", "encoding": "#a050c0", "value": "#2b8a9e",
    "wrong": "#c04040", "op": "#3d78d6", "type": "#8a7a20",
}  # fmt: skip


def coloured(text: str) -> str:
    """A text of IR, assembly or a report."""
    return f"<pre>{spans(text)}</pre>"


def spans(text: str) -> str:
    """Likewise, within something else."""
    parts, at = list[str](), 0
    for found in _PARTS.finditer(text):
        colour = _COLOURS[str(found.lastgroup)]
        parts += [escape(text[at : found.start()]), f'<span style="color:{colour}">{escape(found[0])}</span>']
        at = found.end()
    return "".join(parts) + escape(text[at:])


class ShownAsText:
    """What displays its text in a notebook."""

    def text(self) -> str:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return coloured(self.text())
