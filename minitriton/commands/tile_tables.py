"""What a search for tile sizes says as tables: of `minitriton tune --html`, and of the explorer's page.

tables_of(json.loads(ranking.explain(as_json=True)), "")["rows"][0]      [1, 128, 256, 64, 8, 3, ..., "61.2 us by ..."]
"""

from __future__ import annotations

from html import escape
from typing import Any, TypedDict

_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em } table { border-collapse: collapse; margin: .6em 0 }
th, td { padding: .15em .7em; text-align: left; border-bottom: 1px solid #dde3ea } td.n { text-align: right; font-variant-numeric: tabular-nums }
"""
_COLUMNS = {
    "microseconds": "µs expected", "limit": "longest cause", "ctas": "CTAs", "waves": "waves", "ctas_on_sm": "CTAs on an SM",
    "shared_bytes": "shared bytes", "registers": "registers", "registers_spilled": "registers spilled", "instruction": "instruction",
}  # fmt: skip


class Tables(TypedDict):
    """What a search says, as tables: what it knows of constants and limits, configurations that fit, the fastest first, and dropped ones."""

    title: str
    said: list[str]
    head: list[str]
    rows: list[list[Any]]
    dropped_head: list[str]
    dropped: list[list[Any]]


def tables_of(found: dict[str, Any], made_up: str) -> Tables:
    """Of what `explain` says as JSON."""
    constants = list(dict.fromkeys(name for each in found["candidates"] for name in each["config"]))
    rows = [
        [
            number + 1,
            *(each["config"].get(name, "") for name in constants),
            *(each[name] for name in _COLUMNS),
            each["why"],
        ]
        for number, each in enumerate(found["candidates"])
    ]
    dropped = [[each[name] for name in ("config", "what", "needed", "limit", "why")] for each in found["dropped"]]
    unit = "an SM" if found["target"].startswith("cuda") else "a compute unit"
    columns = [name.replace("an SM", unit) for name in _COLUMNS.values()]
    said = [f"{name}: {what}" for name, what in found["roles"].items()]
    said.append("there are " + ", ".join(f"{n} {what.replace('_', ' ')}" for what, n in found["limits"].items()))
    said += [made_up] if made_up else []
    title = ", ".join([f"{found['kernel']} for {found['target']}", *(f"{n}={v}" for n, v in found["sizes"].items())])
    return {
        "title": title, "said": said, "head": ["", *constants, *columns, "why"], "rows": rows,
        "dropped_head": ["configuration", "for", "needed", "limit", "why"], "dropped": dropped,
    }  # fmt: skip


def page_of(made: Tables) -> str:
    """The tables as a page that needs nothing else."""
    title = escape(made["title"])
    return (
        f"<!doctype html><meta charset='utf-8'><title>{title}</title><style>{_STYLE}</style><h1>{title}</h1><ul>"
        + "".join(f"<li>{escape(line)}</li>" for line in made["said"])
        + f"</ul><h2>{len(made['rows'])} configurations fit</h2>"
        + _table(made["head"], made["rows"])
        + f"<h2>{len(made['dropped'])} are dropped</h2>"
        + _table(made["dropped_head"], made["dropped"])
    )


def _table(head: list[str], rows: list[list[Any]]) -> str:
    def cell(value: object) -> str:
        if isinstance(value, int | float):
            return f"<td class=n>{value if isinstance(value, int) else format(value, '.2f')}</td>"
        return f"<td>{escape(str(value))}</td>"

    lines = ["<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows]
    return (
        "<table><tr>" + "".join(f"<th>{escape(name)}</th>" for name in head) + "</tr>" + "\n".join(lines) + "</table>"
    )
