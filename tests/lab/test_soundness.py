"""Barriers, waits and places in shared memory are looked after in TTGIR already, with the op's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from broken_passes import broken
from checked_kernels import normalized_call
from triton_test_passes import print_membar

from minitriton.dialects import ttg
from minitriton.dialects.attribute_values import i32_attr
from minitriton.dialects.facts.launch import ALLOCATION_OFFSET
from minitriton.lab import CheckReport, check_call, execution, with_passes

PLACED = print_membar.PrintMembar.name
"""Puts barriers into the IR, as the lowering does otherwise."""


def drop_local_barriers(module: Any) -> bool:
    barriers = [op for op in module.walk() if isinstance(op, ttg.LocalBarrierOp)]
    for op in barriers:
        op.detach()
        op.erase()
    return bool(barriers)


def place_buffers_too_far(module: Any) -> bool:
    placed = [op for op in module.walk() if ALLOCATION_OFFSET in op.attributes]
    for op in placed:
        op.attributes[ALLOCATION_OFFSET] = i32_attr(1 << 20)
    return bool(placed)


@dataclass
class Sound:
    """How a row's column reads."""

    report: CheckReport

    def __getitem__(self, name: str) -> bool | None:
        findings = next(row.findings for row in self.report.rows if row.name == name)
        return None if findings is None else not findings


def checked(*passes: str) -> CheckReport:
    return check_call(**normalized_call(), pipeline=with_passes({"tritongpu-reorder-instructions": ",".join(passes)}))


def test_the_column_says_so_from_ttgir_on() -> None:
    sound = Sound(check_call(**normalized_call()))
    assert sound["triton-combine"] is None
    assert sound["tritongpu-coalesce"] is True
    assert sound["emit-ptx"] is True


def test_a_pass_that_takes_barriers_away_is_named_with_the_op_and_its_line() -> None:
    name = broken(drop_local_barriers)
    report = checked(PLACED, name)
    assert [row.name for row in report.broken] == [name]
    fault = report.broken[0].new_findings[0]
    assert "tt.reduce" in fault and "tl.sum(x * x, axis=0)" in fault
    assert "with no barrier between them" in fault
    assert "checked_kernels.py:" in fault


def test_a_pass_that_places_buffers_beyond_shared_memory_is_named() -> None:
    name = broken(place_buffers_too_far)
    report = checked("place-shared-memory", name)
    assert report.broken[0].name == name
    assert "of shared memory, which ends at" in str(report.broken[0].error)


def test_barriers_that_the_analysis_forgets_show_in_ttgir(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "insert_barriers", lambda module, allocation: None)
    report = check_call(**normalized_call())
    assert report.broken[0].level == "interpreter"
    assert "with no barrier between them" in report.broken[0].new_findings[0]
