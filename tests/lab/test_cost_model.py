"""The cost model beside what was measured on an H200, and what each of its parts answers to."""

from __future__ import annotations

import csv
import math
import statistics
from pathlib import Path

import pytest

from minitriton.lab.corpus.benchmark import TEST, TRAIN
from minitriton.lab.sweeping.cost_model import FITTED, MEGAHERTZ, estimated_cycles, parts
from minitriton.lab.sweeping.ranking import agreement, spearman

MEASURED = Path(__file__).parents[2] / "benchmarks" / "data" / "programs_on_h200.csv"

Program = dict[str, float]


@pytest.fixture(scope="module")
def measured() -> dict[str, list[Program]]:
    """The programs of each kernel of the benchmark, with their counts and times."""
    found: dict[str, list[Program]] = {}
    with MEASURED.open(newline="") as file:
        for row in csv.DictReader(file):
            kernel, _ = row.pop("kernel"), row.pop("settings")
            found.setdefault(kernel, []).append({name: float(text) for name, text in row.items()})
    return found


def test_it_ranks_the_programs_of_a_kernel_as_the_gpu_does(measured: dict[str, list[Program]]) -> None:
    assert set(measured) == {*TRAIN, *TEST}
    assert sum(map(len, measured.values())) == 450
    correlations, shares = [], []
    for programs in measured.values():
        estimates, times = [estimated_cycles(p) for p in programs], [p["microseconds"] for p in programs]
        correlations.append(spearman(estimates, times))
        shares.append(agreement(estimates, times, 0.03)[0])
    assert statistics.fmean(correlations) > 0.52
    assert statistics.fmean(s for s in shares if not math.isnan(s)) > 0.88


def test_its_cycles_are_those_of_the_clock(measured: dict[str, list[Program]]) -> None:
    ratios = [estimated_cycles(p) / MEGAHERTZ / p["microseconds"] for own in measured.values() for p in own]
    assert 0.8 < statistics.median(ratios) < 1.25


@pytest.fixture
def program(measured: dict[str, list[Program]]) -> Program:
    return measured["bench_rms_norm"][0]


def test_many_small_ctas_take_as_long_as_they_take_to_start(program: Program) -> None:
    before, after = parts(program), parts({**program, "scale": 8 * program["scale"]})
    assert after.dispatch == pytest.approx(8 * before.dispatch)
    wide = parts({**program, "threads": 1024.0})
    assert wide.dispatch == pytest.approx(before.dispatch * max(1.0, 32 * FITTED.warp / FITTED.cta))


def test_what_is_read_again_costs_as_far_as_it_is_no_longer_near(program: Program) -> None:
    again = {**program, "global_bytes": 2 * program["global_bytes"], "sectors": 2 * program["sectors"]}
    alone = parts({**again, "occupancy": program["threads"] / 2048}).cache
    assert alone == pytest.approx(FITTED.cache * program["footprint_bytes"])
    assert parts({**again, "occupancy": 1.0}).cache > 2 * alone


def test_spills_are_traffic(program: Program) -> None:
    spilled = parts({**program, "spill_bytes": 600.0})
    assert spilled.memory > parts(program).memory
    assert parts({**program, "spill_bytes": 0.0}) == parts({k: v for k, v in program.items() if k != "spill_bytes"})


def test_the_text_names_the_longest_cause(program: Program) -> None:
    causes = parts(program).causes()
    longest = max(causes, key=causes.__getitem__)
    assert f"{longest} {causes[longest]:.0f} (the longest)" in parts(program).text()
    assert parts(program).total > FITTED.launch + causes[longest]
