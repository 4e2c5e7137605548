"""What a store holds, as one HTML page: counts, the best configurations, Pareto fronts, what passes chose among which candidates, ablations of passes,
which commute, what the best agree on.

    write_page("tuning.db", "tuning.html")

The page holds everything itself: no scripts, no further files.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from minitriton.errors import MinitritonError
from minitriton.host.subcommands import check_writable, write_output
from minitriton.lab.sweeping import plots
from minitriton.lab.sweeping.ablation import commutation, leave_one_out
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.measuring import check_possible
from minitriton.lab.sweeping.metrics import METRICS, groups_of
from minitriton.lab.sweeping.references import Reference, of_store
from minitriton.lab.sweeping.search import difference
from minitriton.lab.sweeping.store import Store
from minitriton.lab.sweeping.table import Table, agreed_order, ranking
from minitriton.pipeline.choice import noting_choices
from minitriton.pipeline.pass_manager import PassManager

_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 72em; color: #1d2733 }
table { border-collapse: collapse; margin: .6em 0 } th, td { padding: .15em .7em; text-align: left; border-bottom: 1px solid #dde3ea }
td.n { text-align: right; font-variant-numeric: tabular-nums } code, pre { font: 12px ui-monospace, monospace }
pre { overflow-x: auto; background: #f5f7f9; padding: .6em } summary { cursor: pointer } .row { display: flex; flex-wrap: wrap }
"""

PREFERRED = ("microseconds", "cycles", "instructions", "ptx_instructions")
"""What configurations are best by, the first of these that the store has."""

PLOTTED = 12
"""Kernels with a plot of their own."""

FAULTS_SHOWN = 20
"""Kinds of configurations that are not right."""

Row = Sequence[str | float]
"""The cells of a table's row."""


def write_page(
    store: str | Path,
    path: str | Path,
    *,
    metric: str | None = None,
    compiler: str | None = None,
    passes: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Writes the page about `store`. `metric`: what configurations are best by; `passes`: whether kernels are compiled anew to see what each pass
    contributes and which commute. Raises `MinitritonError` for a store without records, and for a path that cannot be written."""
    check_writable(Path(path))
    table, kernels, name = _read(Path(store), compiler, compiled=passes)
    chosen = metric or next((m for m in PREFERRED if any(m in r.all_metrics for r in table.records)), PREFERRED[-1])
    say = progress or _say_nothing
    parts = [
        f"<h1>{html.escape(Path(store).name)}</h1><p>{len(table)} configurations of {len(table.kernels())} kernels, compiler "
        f"<code>{name[:12]}</code>. Less is better of every metric but {', '.join(n for n, m in METRICS.items() if m.more_is_better)}.</p>",
        _section("Configurations by class", _counts(table)),
        _section("What is not right", _faults(table)),
    ]
    if metric or any(record.result in (Class.RIGHT, Class.COMPILED) for record in table.records):
        parts += [
            _section(f"Best by {chosen}", _best(table, chosen)),
            _section("Pareto fronts", _pareto_fronts(table, chosen)),
            _section(
                "What the best pass orders agree on", f"<pre>{html.escape(agreed_order(table, chosen).text())}</pre>"
            ),
            _section("Estimate and time", _estimates(table)),
        ]
    if passes:
        few = list(kernels.values())[:PLOTTED]
        parts.append(_section("Choices", _choices(few)))
        say(f"ablation of passes for {len(few)} kernels")
        counted = _countable(chosen)
        ablation = plots.svg(plots.ablation_plot(leave_one_out(few, [counted]), counted))
        parts.append(_section("Ablation of passes", ablation))
        say(f"which passes commute on {min(4, len(few))} kernels")
        parts.append(_section("Which passes commute", _commutation(few[:4])))
    text = f"<!doctype html><meta charset='utf-8'><title>{html.escape(Path(store).name)}</title><style>{_STYLE}</style>"
    write_output(Path(path), text + "".join(parts))
    return Path(path)


def _read(path: Path, compiler: str | None, *, compiled: bool) -> tuple[Table, dict[str, Reference], str]:
    store = Store.of_file(path, compiler)
    records = list(store.records())
    kernels = of_store(store) if compiled else {}
    own = {name: configuration for name, (_, configuration) in store.kernels().items()}
    store.close()
    table = Table(sorted(records, key=lambda r: (r.kernel, r.pipeline)))
    table.own = own
    return table, kernels, store.compiler


def _countable(metric: str) -> str:
    """`metric` where programs can be asked for it here, one after the other; else instructions."""
    if metric not in METRICS or METRICS[metric].group in ("time", "seconds"):
        return "instructions"
    try:
        check_possible(groups_of([metric]))
    except MinitritonError:
        return "instructions"
    return metric


def _say_nothing(text: str) -> None:
    """For a caller that wants no progress."""


def _section(title: str, body: str) -> str:
    return f"<h2>{html.escape(title)}</h2>{body}" if body else ""


def _rows(head: Sequence[str], rows: Iterable[Row]) -> str:
    lines = ["<table><tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>"]
    for row in rows:
        cells = (f"<td class=n>{_number(c)}</td>" if isinstance(c, (int, float)) else f"<td>{c}</td>" for c in row)
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return "\n".join(lines) + "</table>"


def _number(value: float) -> str:
    return (
        "-" if math.isnan(value) else f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"
    )


def _counts(table: Table) -> str:
    rows: list[Row] = []
    for kernel in table.kernels():
        counts = table.counts(kernel)
        classes = ", ".join(f"{count} {name}" for name, count in counts.items())
        rows.append((html.escape(kernel), float(sum(counts.values())), float(table.programs(kernel)), classes))
    return _rows(("kernel", "configurations", "programs", "classes"), rows)


def _faults(table: Table) -> str:
    rows: list[Row] = []
    for found in table.faults()[:FAULTS_SHOWN]:
        first = found[0]
        shown = (
            f"<details><summary>{html.escape(first.kernel)}</summary><pre>{html.escape(first.pipeline)}</pre></details>"
        )
        rows.append(
            (str(first.result), html.escape(first.culprit), float(len(found)), html.escape(first.reason), shown)
        )
    return _rows(("class", "pass", "configurations", "reason", "first"), rows) if rows else ""


def _best(table: Table, metric: str) -> str:
    own = {r.kernel: r for r in table.records if r.pipeline == table.own.get(r.kernel)}
    rows: list[Row] = []
    for kernel, record in table.best(metric).items():
        before = own.get(kernel)
        first = before.all_metrics.get(metric, math.nan) if before else math.nan
        value = record.all_metrics[metric]
        rows.append(
            (
                html.escape(kernel),
                first,
                value,
                f"{100 * (value / first - 1):+.1f} %" if first else "",
                _how(before, record),
            )
        )
    return _rows(("kernel", "default pipeline", "best", "", "how"), rows)


def _how(before: Evaluation | None, record: Evaluation) -> str:
    lines = difference(before.pipeline, record.pipeline) if before else []
    shown = html.escape("\n".join(lines)) or "as it is"
    return f"<details><summary>{len(lines)} changes</summary><pre>{shown}\n\n{html.escape(record.pipeline)}</pre></details>"


def _pareto_fronts(table: Table, metric: str) -> str:
    other = "registers" if any("registers" in r.metrics for r in table.records) else "ptx_instructions"
    if metric == other:
        return ""
    pictures = [plots.svg(plots.pareto_plot(table, other, metric, kernel)) for kernel in table.kernels()[:PLOTTED]]
    return f"<div class=row>{''.join(pictures)}</div>"


def _estimates(table: Table) -> str:
    rows = ranking(table, "cycles", "microseconds")
    if not rows:
        return ""
    cells = [
        (html.escape(r.kernel), float(r.programs), r.spearman, f"{100 * r.agreement:.0f} % of {r.pairs}") for r in rows
    ]
    head = ("kernel", "programs", "Spearman", "pairs more than 3 % apart in the same order")
    return plots.svg(plots.rank_plot(table, "cycles", "microseconds")) + _rows(head, cells)


def _choices(kernels: Sequence[Reference]) -> str:
    """A row a choice of the default pipeline: what was taken, and the other candidates by cost."""
    rows: dict[Row, None] = {}
    for reference in kernels:
        task = reference.task()
        with noting_choices() as made:
            PassManager(task.pipeline()).run(task.context, task.make_ir())
        for choice in made:
            line = choice.location.line if choice.location else 0
            costs = ", ".join(f"{each.value} ({each.cost:g})" for each in choice.candidates)
            option = f"<code>{html.escape(choice.option)}</code>"
            texts = map(html.escape, (choice.subject, choice.taken, costs, choice.unit))
            rows[(html.escape(reference.name), float(line), *texts, option)] = None
    return _rows(("kernel", "line", "choice", "taken", "candidates (cost)", "unit", "option"), rows)


def _commutation(kernels: Sequence[Reference]) -> str:
    found = commutation(kernels)
    share = f"{100 * found.commuting():.0f} % of {len(found.counts)} pairs commute everywhere"
    note = "&gt; enables, &lt; is destroyed by, x differ, ! one order fails; row above column"
    return f"<p>{share}; {note}.</p>" + plots.svg(plots.commutation_plot(found))
