"""What a store holds, as one HTML page: counts, the best configurations, Pareto fronts, what passes chose among which candidates, ablations of passes,
which commute, what the best agree on.

    write_page("tuning.db", "tuning.html")

The page holds everything itself: its script (`report.js`, which `make page` builds from `web/src/report.ts`) draws the charts, by Chart.js, and sorts tables. Light and dark
are as the system says. Sections that have nothing to show are left out.
"""

import html
import json
import math
import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import TypedDict

from minitriton.errors import MinitritonError
from minitriton.host.subcommands import check_writable, write_output
from minitriton.lab.sweeping.ablation import DESTROYED, DIFFER, ENABLED, FAILS, Ablation, commutation, leave_one_out
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.measuring import check_possible
from minitriton.lab.sweeping.metrics import METRICS, groups_of
from minitriton.lab.sweeping.references import Reference, of_store
from minitriton.lab.sweeping.search import difference
from minitriton.lab.sweeping.store import Store
from minitriton.lab.sweeping.table import Table, agreed_order, ranking, undominated
from minitriton.pipeline.choice import noting_choices
from minitriton.pipeline.pass_manager import PassManager

_STYLE = """
:root { color-scheme: light dark; --back: light-dark(#fff, #16181d); --side: light-dark(#f4f5f7, #1c1f26); --line: light-dark(#d8dbe2, #333845);
  --text: light-dark(#1d2330, #d9dde6); --faint: light-dark(#586070, #a2abbb); --link: light-dark(#1d4ed8, #8fb6ff);
  --less: light-dark(#0a7a3d, #4ccf86); --more: light-dark(#c0392b, #ff8a7a); --wrong: light-dark(#fff1c9, #4a3d12) }
* { box-sizing: border-box }
body { font: 14px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1.5rem 1.2rem 4rem; max-width: 76rem; color: var(--text); background: var(--back) }
h1 { margin: 0; font-size: 1.5rem } h2 { margin: 2.2rem 0 .3rem; font-size: 1.15rem } p { margin: .3rem 0 .6rem; max-width: 60rem } a { color: var(--link) }
.about, .note { color: var(--faint) } nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: .8rem 0 }
.wide { overflow-x: auto; max-width: 100% } table { border-collapse: collapse; margin: .4rem 0 }
th, td { padding: .25rem .7rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line) }
thead th { color: var(--faint); font-weight: 500; vertical-align: bottom } tbody th { font-weight: 400; text-align: left }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap } th.n { text-align: right }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; text-align: inherit }
th[aria-sort=ascending] button::after { content: " ▲" } th[aria-sort=descending] button::after { content: " ▼" }
code, pre { font: 12px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere }
pre { overflow-x: auto; background: var(--side); padding: .6rem; max-width: 100%; white-space: pre-wrap } summary { cursor: pointer; color: var(--link) }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(24rem, 100%), 1fr)); gap: 1rem } figure { margin: 0; min-width: 0 }
figcaption { font-weight: 600 } .chart { position: relative; height: 20rem }
.cells td { text-align: right; font-variant-numeric: tabular-nums; border: 2px solid var(--back) } .cells thead th { max-width: 12rem }
.cells tbody th { font: 12px ui-monospace, monospace; position: sticky; left: 0; background: var(--back) }
.up { background: color-mix(in srgb, light-dark(#f3a99f, #70302a) var(--part), var(--back)); color: var(--text) } .down { background: color-mix(in srgb, light-dark(#9fd8b5, #1d5537) var(--part), var(--back)); color: var(--text) }
.breaks { background: var(--wrong); color: var(--text) } .key span { padding: .1rem .5rem; margin-right: .6rem; border-radius: 3px }
.less { color: var(--less) } .more { color: var(--more) } .less, .more { white-space: nowrap } :focus-visible { outline: 2px solid #3b82f6 }
@media (max-width: 600px) { body { padding: .8rem .6rem 3rem } th, td { padding: .2rem .4rem } .chart { height: 16rem } }
"""

PREFERRED = ("microseconds", "cycles", "instructions", "ptx_instructions")
"""What configurations are best by, the first of these that the store has."""

PLOTTED = 12
"""Kernels with a plot of their own."""

FAULTS_SHOWN = 20
"""Kinds of configurations that are not right."""

Row = Sequence[str | float]
"""The cells of a table's row."""


class Dot(TypedDict):
    """A configuration in a chart, and what it changes."""

    x: float
    y: float
    says: str


class Group(TypedDict):
    """Points of one colour."""

    name: str
    kind: str
    dots: list[Dot]


class Plot(TypedDict):
    """A chart, as `web/src/report.ts` reads it."""

    id: str
    x: str
    y: str
    log: bool
    groups: list[Group]


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
    better = ", ".join(
        n for n, m in METRICS.items() if m.more_is_better and any(n in r.all_metrics for r in table.records)
    )
    plots: list[Plot] = []
    sections: list[tuple[str, str]] = [
        ("Configurations by class", _counts(table)),
        ("What is not right", _faults(table)),
    ]
    if metric or any(record.result in (Class.RIGHT, Class.COMPILED) for record in table.records):
        sections += [
            (f"Best by {chosen}", _best(table, chosen)),
            ("Pareto fronts", _pareto_fronts(table, chosen, plots)),
            ("What the best pass orders agree on", f"<pre>{html.escape(agreed_order(table, chosen).text())}</pre>"),
            ("Estimate and time", _estimates(table, plots)),
        ]
    if passes:
        few = list(kernels.values())[:PLOTTED]
        sections.append(("Choices", _choices(few)))
        say(f"ablation of passes for {len(few)} kernels")
        counted = _countable(chosen)
        sections.append(("Ablation of passes", _ablation(leave_one_out(few, [counted]), counted)))
        say(f"which passes commute on {min(4, len(few))} kernels")
        sections.append(("Which passes commute", _commutation(few[:4])))
    title = html.escape(Path(store).name)
    about = (
        f"<p class=about>{_many(len(table), 'configuration')} of {_many(len(table.kernels()), 'kernel')}, compiler <code>{name[:12]}</code>. "
        f"Less is better{f', but of {better} more' if better else ''}. Heads of tables sort them.</p>"
    )
    shown = [(head, body, f"s{at}") for at, (head, body) in enumerate(sections) if body]
    links = "".join(f'<a href="#{mark}">{html.escape(head)}</a>' for head, _, mark in shown)
    body = "".join(f'<section><h2 id="{mark}">{html.escape(head)}</h2>{body}</section>' for head, body, mark in shown)
    data = json.dumps(plots, separators=(",", ":")).replace("</", "<\\/")
    script = (
        (resources.files("minitriton.lab.sweeping") / "report.js").read_text("utf-8").replace("</script", "<\\/script")
    )
    write_output(
        Path(path),
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>'
        f'<link rel="icon" href="data:,"><style>{_STYLE}</style><main><h1>{title}</h1>{about}<nav aria-label="sections">{links}</nav>{body}</main>'
        f'<script type="application/json" id="plots">{data}</script><script>{script}</script></html>',
    )
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


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _rows(head: Sequence[str], rows: Iterable[Row]) -> str:
    """A table that its heads sort."""
    lines = list[str]()
    numbers: set[int] = set()
    for row in rows:
        numbers |= {at for at, cell in enumerate(row) if isinstance(cell, (int, float))}
        cells = (
            f'<td class=n data-value="{"" if math.isnan(c) else c}">{_number(c)}</td>'
            if isinstance(c, (int, float))
            else f"<td>{c}</td>"
            for c in row
        )
        lines.append("<tr>" + "".join(cells) + "</tr>")
    heads = "".join(f"<th{' class=n' * (at in numbers)}>{html.escape(cell)}</th>" for at, cell in enumerate(head))
    return f"<div class=wide tabindex=0><table class=sorts><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"


def _number(value: float) -> str:
    return (
        "not known"
        if math.isnan(value)
        else f"{value:,.0f}"
        if abs(value) >= 1000 or value == int(value)
        else f"{value:.3g}"
    )


def _counts(table: Table) -> str:
    counts = {kernel: table.counts(kernel) for kernel in table.kernels()}
    classes = [name for name in Class if any(count.get(name) for count in counts.values())]
    rows = [
        (
            html.escape(kernel),
            float(sum(found.values())),
            float(table.programs(kernel)),
            *(float(found.get(name, 0)) for name in classes),
        )
        for kernel, found in counts.items()
    ]
    words = ", ".join(f"{name}: {_CLASSES[name]}" for name in classes)
    return f"<p class=note>{words}.</p>" + _rows(("kernel", "configurations", "programs", *classes), rows)


_CLASSES = {
    Class.RIGHT: "compiles, and the numbers are right", Class.REFUSED: "its passes' contracts or options rule it out", Class.FAILED: "a pass fails",
    Class.WRONG: "other numbers", Class.UNSOUND: "a race or a read before a wait", Class.COMPILED: "compiled, its numbers not looked at",
    Class.UNEVALUATED: "could not be run here", Class.CRASHED: "ended its process",
}  # fmt: skip


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
                _change(value / first - 1) if first and not math.isnan(first) else "",
                _how(before, record),
            )
        )
    return _rows(("kernel", "default pipeline", "best", "change", "how"), rows)


def _how(before: Evaluation | None, record: Evaluation) -> str:
    lines = difference(before.pipeline, record.pipeline) if before else []
    if before and not lines:
        return "the default is best"
    shown = html.escape("\n".join(lines)) or "the default pipeline is not among the configurations"
    return f"<details><summary>{_many(len(lines), 'change') if before else 'configuration'}</summary><pre>{shown}\n\n{html.escape(record.pipeline)}</pre></details>"


def _change(part: float) -> str:
    return "none" if not part else f"<span class={'less' if part < 0 else 'more'}>{100 * part:+.1f} %</span>"


def _pareto_fronts(table: Table, metric: str, plots: list[Plot]) -> str:
    other = "registers" if any("registers" in r.metrics for r in table.records) else "ptx_instructions"
    if metric == other:
        return ""
    figures = list[str]()
    for kernel in table.kernels()[:PLOTTED]:
        records = [r for r in table.records if r.kernel == kernel and r.result is Class.RIGHT]
        known = [r for r in records if other in r.all_metrics and metric in r.all_metrics]
        if len({(r.all_metrics[other], r.all_metrics[metric]) for r in known}) < 2:
            continue
        own = [r for r in known if r.pipeline == table.own.get(kernel)]
        best = undominated(known, (other, metric))
        groups = [
            _group("other configurations", "all", known, other, metric, own), _group("nothing beats these", "best", best, other, metric, own),
            _group("default pipeline", "default", own, other, metric, own),
        ]  # fmt: skip
        figures.append(
            _figure(
                kernel,
                Plot(id="", x=_axis(other), y=_axis(metric), log=False, groups=[g for g in groups if g["dots"]]),
                plots,
            )
        )
    if not figures:
        return ""
    note = f"<p class=note>Each point is a configuration: {_axis(other)} and {_axis(metric)}. Point at one for what it changes of the default pipeline.</p>"
    return f"{note}<div class=charts>{''.join(figures)}</div>"


def _group(name: str, kind: str, records: Iterable[Evaluation], x: str, y: str, own: list[Evaluation]) -> Group:
    """Points, each with what it changes; of equal ones the first."""
    dots: dict[tuple[float, float], Dot] = {}
    for record in records:
        at = record.all_metrics[x], record.all_metrics[y]
        changes = difference(own[0].pipeline, record.pipeline) if own else []
        says = "\n".join(changes) or ("as the default pipeline" if own else record.pipeline[:_MOST_SAID])
        dots.setdefault(at, {"x": at[0], "y": at[1], "says": says})
    return {"name": name, "kind": kind, "dots": [dots[at] for at in sorted(dots)]}


_MOST_SAID = 200


def _figure(title: str, plot: Plot, plots: list[Plot]) -> str:
    plot["id"] = f"plot{len(plots)}"
    plots.append(plot)
    count = sum(len(group["dots"]) for group in plot["groups"])
    label = html.escape(f"{title}: {plot['y']} over {plot['x']}, {count} points")
    return f'<figure><figcaption>{html.escape(title)}</figcaption><div class=chart><canvas id={plot["id"]} role=img aria-label="{label}"></canvas></div></figure>'


def _axis(metric: str) -> str:
    unit = METRICS[metric].unit if metric in METRICS else metric
    return metric if unit == metric else f"{metric} ({unit})"


def _estimates(table: Table, plots: list[Plot]) -> str:
    rows = ranking(table, "cycles", "microseconds")
    if not rows:
        return ""
    groups = list[Group]()
    for kernel in table.kernels():
        known = [r.all_metrics for r in table.records if r.kernel == kernel and r.result is Class.RIGHT]
        pairs = sorted({(m["cycles"], m["microseconds"]) for m in known if "cycles" in m and "microseconds" in m})
        if len(pairs) > 1:
            middle = [statistics.median(pair[i] for pair in pairs) or 1.0 for i in (0, 1)]
            dots: list[Dot] = [
                {"x": a / middle[0], "y": b / middle[1], "says": f"{a:,.0f} cycles, {b:.3g} µs"} for a, b in pairs
            ]
            groups.append({"name": kernel, "kind": "kernel", "dots": dots})
    cells = [
        (html.escape(r.kernel), float(r.programs), r.spearman, f"{100 * r.agreement:.0f} % of {r.pairs}") for r in rows
    ]
    head = ("kernel", "programs", "Spearman", "pairs more than 3 % apart in the same order")
    plot = Plot(id="", x="estimated cycles by their median", y="measured time by its median", log=True, groups=groups)
    return (f"<div class=charts>{_figure('all kernels', plot, plots)}</div>" if groups else "") + _rows(head, cells)


def _ablation(found: Ablation, metric: str) -> str:
    """By pass and kernel, how much more of `metric` there is without the pass."""
    kernels = list(found.whole)
    changes = {
        name: {k: found.change(k, name, metric) for k in kernels if name in found.without[k]} for name in found.passes()
    }
    rows = {name: row for name, row in changes.items() if any(value != 0 for value in row.values())}
    if not rows:
        return f"<p>No pass changes {metric} of these kernels.</p>"
    lines = "".join(
        f"<tr><th scope=row>{html.escape(name)}</th>{''.join(_ablated(row, k) for k in kernels)}</tr>"
        for name, row in rows.items()
    )
    broken = (re.sub("([:_./])", r"\1<wbr>", html.escape(kernel)) for kernel in kernels)
    heads = "".join(f"<th scope=col>{each}</th>" for each in broken)
    key = (
        f'<p class="note key">How much more or less of {metric} there is without the pass: <span class=up style="--part:60%">more: the pass helps</span>'
        '<span class=down style="--part:60%">less: it costs</span><span class=breaks>breaks: without it there is no right program</span>'
        "empty: no change, or the pass is not in the kernel's pipeline</p>"
    )
    return f"{key}<div class=wide tabindex=0><table class=cells><thead><tr><th>pass</th>{heads}</tr></thead><tbody>{lines}</tbody></table></div>"


def _ablated(row: dict[str, float | None], kernel: str) -> str:
    value = row.get(kernel, 0.0)
    if value is None:
        return "<td class=breaks>breaks</td>"
    if not value:
        return "<td></td>"
    part = round(25 + 75 * min(1.0, abs(value)))
    return f'<td class={"up" if value > 0 else "down"} style="--part:{part}%">{100 * value:+.0f} %</td>'


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
    shown = _rows(("kernel", "line", "choice", "taken", "candidates (cost)", "unit", "option"), rows)
    return _folded(shown, _many(len(rows), "choice"), len(rows)) if rows else ""


def _commutation(kernels: Sequence[Reference]) -> str:
    """Of each pass, the passes with which it does not commute, by what the order changes."""
    found = commutation(kernels)
    rows: list[Row] = []
    for name in found.passes():
        others = {
            relation: [html.escape(o) for o in found.passes() if found.relation(name, o) == relation]
            for relation in _RELATIONS
        }
        if any(others.values()):
            rows.append(
                (f"<code>{html.escape(name)}</code>", *("<br>".join(others[relation]) for relation in _RELATIONS))
            )
    share = f"{100 * found.commuting():.0f} % of {len(found.counts)} pairs of passes commute everywhere"
    shown = _rows(("pass", *_RELATIONS.values()), rows) if rows else ""
    return f"<p class=note>{share}; the others:</p>" + _folded(shown, f"{len(rows)} passes with an order", len(rows))


def _folded(body: str, title: str, rows: int) -> str:
    """What is long is opened by who wants it."""
    return f"<details><summary>{title}</summary>{body}</details>" if rows > _MOST_ROWS else body


_MOST_ROWS = 12


_RELATIONS = {
    ENABLED: "changes something only after", DESTROYED: "changes something only before", DIFFER: "both change something, and differ", FAILS: "one order fails",
}  # fmt: skip
