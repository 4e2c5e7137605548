"""Reports about sweeps: what commutes, what the best agree on, rankings, plots and the page; and the example experiment."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minitriton import lab
from minitriton.commands.cli import main
from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.references import references
from minitriton.lab.sweeping.table import spearman, spearman_beyond

KERNEL = "running_sums"
ROOT = Path(__file__).parents[2]


def test_what_commutes_and_what_does_not() -> None:
    found = lab.commutation([KERNEL])
    assert found.relation("cse", "symbol-dce") == "="
    assert found.relation("tritongpu-coalesce", "tritongpu-remove-layout-conversions") == "x"
    # Most pairs commute; those do not after which other properties hold (what is placed is to be placed again), or of which one order is refused.
    assert 0.8 < found.commuting() < 0.95
    assert found.relation("place-shared-memory", "canonicalize") == "x"
    assert "commute everywhere" in found.text()
    for row, column in found.counts:
        assert (found.relation(row, column) == "=") == (found.relation(column, row) == "=")


def test_the_best_points_agree_on_an_order() -> None:
    table = lab.sweep([KERNEL], lab.Space(), count=30, seed=4)
    agreed = lab.agreed_order(table, "instructions")
    place = [name for level in agreed.levels for name in level]
    assert place.index("inline") < place.index("tritongpu-coalesce") < place.index("insert-barriers")
    assert 0.5 < agreed.share <= 1
    assert agreed.voters == 10
    assert "votes are followed" in agreed.text()
    with pytest.raises(MinitritonError, match="speed"):
        lab.agreed_order(table, "speed")


def test_ranks() -> None:
    assert spearman([1, 2, 3], [10, 20, 30]) == 1
    assert spearman([1, 2, 3], [3, 2, 1]) == -1
    assert math.isnan(spearman([1, 1, 1], [1, 2, 3]))
    assert spearman_beyond([1, 3, 2], [10, 20, 30], [0, 0, 0]) == pytest.approx(spearman([1, 3, 2], [10, 20, 30]))
    assert spearman_beyond([2, 1, 3], [10, 11, 30], [1, 1, 1]) == pytest.approx(0.8)
    assert spearman([2, 1, 3], [10, 11, 30]) == 0.5
    assert math.isnan(spearman_beyond([1, 2], [10, 11], [1, 1]))
    records = [
        Evaluation("k", str(i), Class.RIGHT, program=str(i), metrics={"cycles": c, "microseconds": t})
        for i, (c, t) in enumerate([(1, 1.0), (2, 1.001), (3, 2.0), (3, 3.0)])
    ]
    row = lab.ranking(lab.Table(records), "cycles", "microseconds")[0]
    assert (row.programs, row.pairs, row.agreement) == (4, 5, 4.5 / 5)


def test_the_page_holds_what_the_store_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, page = tmp_path / "s.db", tmp_path / "s.html"
    table = lab.sweep([KERNEL], lab.Space(vary={"num_warps": (2, 4)}), count=6, metrics=["cycles"], store=store)
    assert main(["report", str(store), "--html", str(page)]) == 0
    assert str(page) in capsys.readouterr().out
    text = page.read_text()
    for part in (
        "Best by cycles",
        "Which passes commute",
        "Ablation of passes",
        KERNEL,
        "<canvas",
    ):
        assert part in text
    assert str(len(table)) in text
    assert re.search(r"\d changes?</summary>|the default is best", text)
    plots = json.loads(text.partition('id="plots">')[2].partition("</script>")[0])
    assert plots[0]["x"] == "registers" and sum(len(group["dots"]) for group in plots[0]["groups"]) > 1
    with pytest.raises(MinitritonError, match="no such store"):
        lab.write_page(tmp_path / "none.db", page)


def test_the_page_names_passes_that_make_numbers_wrong_and_needs_nothing_right(tmp_path: Path) -> None:
    (tmp_path / "loses.py").write_text(LOSES)
    reference = references(["log_sum_exp"], loads=(str(tmp_path / "loses.py"),))[0]
    own = str(reference.task().pipeline())
    lab.sweep(
        reference, [own.replace("tritongpu-coalesce", "tests-zeroes,tritongpu-coalesce", 1)], store=tmp_path / "s.db"
    )
    text = lab.write_page(tmp_path / "s.db", tmp_path / "s.html").read_text()
    assert "What is not right" in text
    assert "<td>wrong</td><td>tests-zeroes</td>" in text
    assert "Best by" not in text
    assert "<td>elements a thread of tt.load</td><td>1</td><td>1 (4), 2 (4), 4 (4)</td>" in text


LOSES = """
from dataclasses import dataclass
from minitriton.dialects import arith
from minitriton.pipeline.pass_registry import Pass, register_pass

@register_pass
@dataclass(frozen=True)
class Zeroes(Pass):
    name = "tests-zeroes"
    def apply(self, ctx, op):
        for inner in list(op.walk()):
            if isinstance(inner, arith.AddfOp):
                difference = arith.SubfOp(inner.lhs, inner.rhs)
                inner.parent.insert_op_before(difference, inner)
                inner.result.replace_all_uses_with(difference.result)
                inner.detach()
                inner.erase()
"""


def test_of_equal_points_the_own_one_is_best() -> None:
    records = [
        Evaluation("k", line, Class.RIGHT, program="x", metrics={"cycles": 7}) for line in ("a", "b", "own", "z")
    ]
    table = lab.Table(records, own={"k": "own"})
    assert table.best("cycles")["k"].pipeline == "own"
    records[3].metrics["cycles"] = 6
    assert table.best("cycles")["k"].pipeline == "z"


def test_the_unit_of_an_axis_is_said_once() -> None:
    pytest.importorskip("matplotlib")
    from minitriton.lab import plots

    table = lab.Table([Evaluation("k", "p", Class.RIGHT, program="x", metrics={"cycles": 7, "registers": 8})])
    text = plots.svg(plots.pareto_plot(table, "registers", "cycles", "k"))
    assert "<!-- registers -->" in text
    assert "registers (registers)" not in text


def test_plots_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from minitriton.lab import plots

    found = lab.search(KERNEL, lab.Space(), "instructions", budget=6)
    plots.save(plots.convergence_plot([found]), tmp_path / "c.png")
    plots.save(
        plots.pareto_plot(lab.Table(found.records), "ptx_instructions", "instructions", KERNEL), tmp_path / "p.svg"
    )
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "p.svg").read_text()


def test_a_plot_is_a_page_too_and_another_suffix_is_named(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = lab.search(KERNEL, lab.Space(), "instructions", sampler="random", budget=4)
    figure = lab.plots.convergence_plot(found)
    lab.plots.save(figure, tmp_path / "c.html")
    text = (tmp_path / "c.html").read_text()
    assert text.startswith("<!doctype html>")
    assert "<svg" in text
    with pytest.raises(MinitritonError, match=r"cannot draw .*\.nothing"):
        lab.plots.save(figure, tmp_path / "c.nothing")


def test_a_plot_of_what_was_not_measured_is_refused() -> None:
    table = lab.sweep(KERNEL, count=2, run=False)
    for draw in (
        lambda: lab.plots.pareto_plot(table, "registers", "ptx_instructions", KERNEL),
        lambda: lab.plots.rank_plot(table, "ptx_instructions", "microseconds"),
    ):
        with pytest.raises(MinitritonError, match="no record has the metric"):
            draw()
    with pytest.raises(MinitritonError, match="the table lacks kernel 'other'"):
        lab.plots.pareto_plot(table, "ptx_bytes", "ptx_instructions", "other")


def test_the_example_is_an_experiment_in_ten_lines(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    example = ROOT / "examples" / "experiment.py"
    code = example.read_text().rpartition('"""')[2]
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 10
    done = subprocess.run(
        [sys.executable, str(example), KERNEL, "6"],
        cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True,
    )  # fmt: skip
    assert f"{KERNEL}: cycles" in done.stdout
    assert "tritongpu-coalesce" in done.stdout
    assert (tmp_path / "experiment.html").exists()
