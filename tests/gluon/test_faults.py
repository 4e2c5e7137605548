"""A third of the planted faults of `benchmarks/gluon_faults.py`, and the right kernels: the other two thirds are `python benchmarks/gluon_faults.py`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from gluon_faults import FAULTS, LAUNCHES, SOURCE, Fault, complaint, verdict

from minitriton.errors import MinitritonError
from minitriton.language.gluon.layouts import BlockedLayout, SliceLayout, written


@pytest.mark.parametrize("kernel", LAUNCHES)
def test_a_right_kernel_is_clean(kernel: str, tmp_path: Path) -> None:
    assert complaint(kernel, SOURCE.read_text(), tmp_path) is None


@pytest.mark.parametrize("fault", FAULTS[::3], ids=lambda fault: fault.id)
def test_a_fault_is_found_at_its_line(fault: Fault, tmp_path: Path) -> None:
    found, what = verdict(fault, tmp_path)
    assert found, what


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.says == "proxy-fence"], ids=lambda fault: fault.id
)
def test_the_interpreter_finds_a_missing_fence_at_its_line(
    fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINITRITON_INTERPRET", "1")
    found, what = verdict(replace(fault, says="with no fence between them"), tmp_path)
    assert found, what


def test_a_deadlock_says_what_the_mbarrier_lacks_and_where_others_wait(tmp_path: Path) -> None:
    text = SOURCE.read_text().replace("        mbarrier.arrive(empty.index(slot), count=1)\n", "")
    error = complaint("loaded_and_added", text, tmp_path)
    assert isinstance(error, MinitritonError)
    assert "lacks 1 of 1 arrivals; others wait at" in error.message


def test_a_layout_is_written_as_kernels_write_it() -> None:
    layout = SliceLayout(1, BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0]))
    assert written(layout) == "ttgl.SliceLayout(1, ttgl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0]))"
