"""The cost model beside what was measured on an H200, and what each of its parts answers to."""

from __future__ import annotations

import csv
import math
import statistics
from pathlib import Path

import numpy as np
import pytest

from minitriton.lab.sweeping.cost_model import FITTED, KNOWN, MEGAHERTZ, estimated_cycles, parts
from minitriton.lab.sweeping.references import TEST, TRAIN
from minitriton.lab.sweeping.table import agreement, spearman

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
    assert statistics.fmean(correlations) > 0.72
    assert statistics.fmean(s for s in shares if not math.isnan(s)) > 0.91


def test_it_ranks_them_by_what_is_known_without_times(measured: dict[str, list[Program]]) -> None:
    found = [
        spearman([estimated_cycles(p, KNOWN) for p in programs], [p["microseconds"] for p in programs])
        for programs in measured.values()
    ]
    assert statistics.fmean(found) > 0.64


def test_many_programs_are_estimated_at_once(measured: dict[str, list[Program]]) -> None:
    programs = measured["bench_linear_relu"]
    arrays = {name: np.array([p[name] for p in programs]) for name in programs[0]}
    assert parts(arrays).total == pytest.approx([estimated_cycles(p) for p in programs])


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
    own = max(FITTED.cta, FITTED.warp * program["threads"] / 32)
    assert wide.dispatch == pytest.approx(before.dispatch * 32 * FITTED.warp / own)


def test_what_is_read_again_costs_as_far_as_it_is_no_longer_near(program: Program) -> None:
    again = {**program, "global_bytes": 2 * program["global_bytes"]}
    alone = parts({**again, "occupancy": program["threads"] / 2048}).cache
    assert alone == pytest.approx(FITTED.cache * program["footprint_bytes"])
    assert parts({**again, "occupancy": 1.0}).cache > 2 * alone


def test_spills_are_traffic(program: Program) -> None:
    spilled = parts({**program, "spill_bytes": 600.0})
    assert spilled.memory > parts(program).memory
    assert parts({**program, "spill_bytes": 0.0}) == parts({k: v for k, v in program.items() if k != "spill_bytes"})


def test_pieces_of_rows_are_more_memory_and_sectors_stored_to_again_more_cache(program: Program) -> None:
    whole = parts(program)
    pieces = {**program, "reached_lines": 4 * program["reached_lines"]}
    assert parts(pieces).memory > whole.memory
    assert parts({**pieces, "scale": 1.0, "footprint_bytes": 1e6}).memory < parts(pieces).memory / 10
    assert parts({**program, "read_lines": 4 * program["read_lines"]}).memory == whole.memory
    assert parts({**program, "written_again": program["sectors"]}).cache > 1.5 * whole.cache


def test_what_is_issued_once_is_counted_in_machine_code_and_loops_in_ptx(program: Program) -> None:
    each = program["instructions"] / program["programs"] / (program["threads"] / 32)
    straight = {**program, "ptx_instructions": each, "sass_instructions": 1.5 * each}
    assert parts(straight).issue == pytest.approx(1.5 * parts({**straight, "sass_instructions": each}).issue)
    loops = {**straight, "ptx_instructions": each / 10, "sass_instructions": each / 5}
    assert parts(loops).issue == pytest.approx(1.1 * parts({**straight, "sass_instructions": each}).issue)


def test_what_ctas_read_ahead_is_bounded_by_how_many_run_at_once(program: Program) -> None:
    few, many = ({**program, "turns": 1.0, "occupancy": share} for share in (0.25, 1.0))
    assert parts(few).memory < parts(many).memory
    assert parts({**many, "turns": 8.0}).memory < parts(many).memory


def test_copies_of_few_bytes_and_lines_cost_the_unit_that_loads(program: Program) -> None:
    for name in ("lines", "small_copies", "wavefronts"):
        assert parts({**program, name: program[name] + 1e3}).near > parts(program).near


def test_a_last_round_with_idle_multiprocessors_is_longer(program: Program) -> None:
    warps = program["threads"] / 32
    even = {**program, "occupancy": 8 * warps / 64, "scale": 132 * 16 / program["programs"]}
    uneven = {**even, "scale": 132 * 17 / program["programs"]}
    assert parts(even).idle == 0
    assert parts(uneven).total > parts(even).total * 17 / 16


def test_the_text_names_the_longest_cause(program: Program) -> None:
    causes = parts(program).causes()
    longest = max(causes, key=causes.__getitem__)
    assert f"{longest} {causes[longest]:.0f} (the longest)" in parts(program).text()
    assert parts(program).total > FITTED.launch + causes[longest]
