"""Plots of sweeps and searches, as SVG text or files (matplotlib).

figure = pareto_plot(table, "registers", "cycles", kernel="tiled_dot")
save(figure, "pareto.png")           .png, .svg, .pdf or .html
"""

from __future__ import annotations

import html
import io
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from minitriton.errors import MinitritonError, optional_library
from minitriton.host.whole_file import write_whole
from minitriton.lab.sweeping.ablation import DESTROYED, DIFFER, ENABLED, FAILS, SAME, Ablation, Commutation
from minitriton.lab.sweeping.correctness import Class
from minitriton.lab.sweeping.metrics import METRICS
from minitriton.lab.sweeping.search import Found
from minitriton.lab.sweeping.table import Table, check_measured, undominated

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_RELATIONS = (SAME, ENABLED, DESTROYED, DIFFER, FAILS)


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    figure = optional_library("matplotlib.figure", "a plot").Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def save(figure: Figure, path: str | Path) -> None:
    """Writes a figure in the format of the file's suffix; `.html` is a page of it, with the figure as SVG. Raises `MinitritonError` for a
    suffix that says no format."""
    if Path(path).suffix == ".html":
        title = html.escape(Path(path).stem)
        write_whole(Path(path), f'<!doctype html><meta charset="utf-8"><title>{title}</title>\n{svg(figure)}')
        return
    drawn = io.BytesIO()
    try:
        figure.savefig(drawn, format=Path(path).suffix[1:] or None)
    except ValueError as error:
        raise MinitritonError(f"cannot draw {path}: {error}", help="name the file .png, .svg, .pdf or .html") from error
    write_whole(Path(path), drawn.getvalue())


def svg(figure: Figure) -> str:
    """A figure as an element for an HTML page."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def pareto_plot(table: Table, x: str, y: str, kernel: str) -> Figure:
    """The right configurations of one kernel by two metrics, those joined that nothing beats. Raises `MinitritonError` for a metric that was not
    measured, and a kernel that the table does not have."""
    if kernel not in table.kernels():
        raise MinitritonError(
            f"the table lacks kernel {kernel!r}", help="it has: " + (", ".join(table.kernels()) or "none")
        )
    check_measured(table.records, x, y)
    figure, axes = _figure(5, 3.5)
    records = [r for r in table.records if r.kernel == kernel and r.result is Class.RIGHT]
    known = [r.all_metrics for r in records if x in r.all_metrics and y in r.all_metrics]
    axes.scatter([m[x] for m in known], [m[y] for m in known], s=14, color="#9aa5b1")
    best = [r.all_metrics for r in undominated(records, (x, y))]
    axes.plot([m[x] for m in best], [m[y] for m in best], "o-", color="#c0392b", markersize=4)
    axes.set_xlabel(_label(x))
    axes.set_ylabel(_label(y))
    axes.set_title(kernel)
    return figure


def convergence_plot(found: Found | Sequence[Found]) -> Figure:
    """The least value of the objective after each configuration, a line a search."""
    found = [found] if isinstance(found, Found) else found
    figure, axes = _figure(5, 3.5)
    for one in found:
        axes.step(range(1, len(one.records) + 1), one.convergence(), where="post", label=one.kernel)
    axes.set_xlabel("configurations")
    axes.set_ylabel(_label(found[0].objective) if found else "")
    axes.legend(fontsize="small")
    return figure


def ablation_plot(ablation: Ablation, metric: str) -> Figure:
    """By pass and kernel, how much more of `metric` there is without the pass; where that is no right program, `no`."""
    kernels = list(ablation.whole)
    names = [n for n in ablation.passes() if any(_matters(ablation, k, n, metric) for k in kernels)]
    figure, axes = _figure(4 + 0.55 * len(kernels), 2.5 + 0.24 * max(len(names), 1))
    numbers = [[ablation.change(k, n, metric) if n in ablation.without[k] else None for k in kernels] for n in names]
    shown = [[0.0 if value is None else max(-1.0, min(1.0, value)) for value in row] for row in numbers]
    if names:
        axes.imshow(shown, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    for y, row in enumerate(numbers):
        for x, value in enumerate(row):
            text = "no" if value is None else "" if value == 0 else f"{100 * value:+.0f}"
            axes.text(x, y, text, ha="center", va="center", fontsize=6)
    axes.set_xticks(range(len(kernels)), kernels, rotation=60, ha="right", fontsize=7)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_title(f"% more {metric} without the pass", fontsize=8)
    return figure


def _matters(ablation: Ablation, kernel: str, name: str, metric: str) -> bool:
    return name in ablation.without[kernel] and ablation.change(kernel, name, metric) != 0


def commutation_plot(found: Commutation) -> Figure:
    """The matrix of relations between passes."""
    names = [n for n in found.passes() if any(found.relation(n, o) not in (SAME, "") for o in found.passes())]
    figure, axes = _figure(4 + 0.24 * len(names), 4 + 0.24 * len(names))
    numbers = [[_RELATIONS.index(found.relation(a, b) or SAME) for b in names] for a in names]
    if names:
        axes.imshow(numbers, cmap="Blues", vmin=0, vmax=3 * len(_RELATIONS))
    for y, a in enumerate(names):
        for x, b in enumerate(names):
            relation = found.relation(a, b)
            axes.text(x, y, "" if relation == SAME else relation, ha="center", va="center", fontsize=6)
    axes.set_xticks(range(len(names)), names, rotation=70, ha="right", fontsize=6)
    axes.set_yticks(range(len(names)), names, fontsize=6)
    return figure


def rank_plot(table: Table, x: str, y: str) -> Figure:
    """Two metrics of all configurations against each other, a colour a kernel, both relative to the kernel's median. Raises `MinitritonError` for
    one that was not measured."""
    check_measured(table.records, x, y)
    figure, axes = _figure(5, 4)
    for kernel in table.kernels():
        known = [r.all_metrics for r in table.records if r.kernel == kernel and r.result is Class.RIGHT]
        pairs = sorted({(m[x], m[y]) for m in known if x in m and y in m})
        if len(pairs) > 1:
            middle = [statistics.median(pair[i] for pair in pairs) or 1.0 for i in (0, 1)]
            axes.scatter([a / middle[0] for a, _ in pairs], [b / middle[1] for _, b in pairs], s=8, label=kernel)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(f"{x} by the median")
    axes.set_ylabel(f"{y} by the median")
    return figure


def _label(metric: str) -> str:
    return f"{metric} ({METRICS[metric].unit})" if metric in METRICS and METRICS[metric].unit != metric else metric
