"""Each deliberately broken pass is named, wherever in the pipeline it stands, with the kernel's line and a reproducer."""

import time
from pathlib import Path
from typing import Any

import broken_passes as mistakes
import pytest
from broken_passes import broken
from checked_kernels import counted_down_call, loops_call, mixed_call

from minitriton.commands.shared_options import time_limit
from minitriton.dialects import arith
from minitriton.lab import CheckReport, check_call, with_passes
from minitriton.lab.comparison import Verdict
from minitriton.pipeline.pass_manager import read_reproducer

SHOWN_IN_MIXED: list[tuple[Any, str]] = [
    (mistakes.swap_subi, "distance = index - columns"),
    (mistakes.swap_subf, "scaled = x * scale - 0.5"),
    (mistakes.addi_to_subi, "third * 7 + rest"),
    (mistakes.muli_to_addi, "third * 7 + rest"),
    (mistakes.mulf_to_addf, "scaled = x * scale"),
    (mistakes.divsi_to_divui, "third = distance // 3"),
    (mistakes.remsi_to_remui, "rest = distance % 5"),
    (mistakes.shrsi_to_shrui, "shifted = distance >> 1"),
    (mistakes.andi_to_ori, "low = distance & 6"),
    (mistakes.signed_to_unsigned_conversion, "distance.to(tl.float32)"),
    (mistakes.flip_predicate, "distance > 2"),
    (mistakes.signless_predicate, "distance > 2"),
    (mistakes.mask_one_too_far, "mask = offsets < n"),
    (mistakes.drop_load_mask, "x = tl.load(x_ptr"),
    (mistakes.drop_other, "x = tl.load(x_ptr"),
    (mistakes.drop_store_mask, "tl.store(ints_ptr"),
    (mistakes.drop_store, "tl.store(ints_ptr"),
    (mistakes.wrong_reduction_axis, "tl.sum(change, axis=1)"),
    (mistakes.wrong_grid_axis, "rows = tl.program_id(0)"),
    (mistakes.swap_select_arms, "chosen = tl.where"),
    (mistakes.change_integer_constant, "third * 7"),
    (mistakes.change_float_constant, "scaled = x * scale - 0.5"),
    (mistakes.merge_constants, "low * 11"),
    (mistakes.hoist_load_over_store, "again = tl.load"),
    (mistakes.reuse_first_load, "again"),
    (mistakes.shift_range, "tl.arange"),
    (mistakes.wrong_combiner, "tl.sum(change"),
]
SHOWN_IN_LOOPS: list[tuple[Any, str]] = [
    (mistakes.loop_one_short, "for start in range"),
    (mistakes.forget_carried_value, "for start in range"),
    (mistakes.swap_branches, "if tl.program_id(0) == 0"),
]
NAMES = {mutate: broken(mutate) for mutate, _ in [*SHOWN_IN_MIXED, *SHOWN_IN_LOOPS]}
PLACES = ["cse", "tritongpu-remove-layout-conversions"]


def checked(call: dict[str, Any], after: dict[str, str], directory: Path | None = None) -> CheckReport:
    return check_call(**call, pipeline=with_passes(after), reproducers=directory)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("mutate", "line"), SHOWN_IN_MIXED, ids=lambda m: getattr(m, "__name__", ""))
def test_a_mistake_is_named_with_its_line(mutate: Any, line: str, place: str) -> None:
    report = checked(mixed_call(), {place: NAMES[mutate]})
    assert [row.name for row in report.broken] == [NAMES[mutate]]
    if mutate is mistakes.wrong_reduction_axis and place != "cse":
        # Once results have layouts, the axis is part of their types.
        assert "tt.reduce" in str(report.broken[0].invalid)
        return
    culprit = report.broken[0].culprit
    assert culprit is not None
    assert line in (culprit.source_line or "")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("mutate", "line"), SHOWN_IN_LOOPS, ids=lambda m: getattr(m, "__name__", ""))
def test_a_mistake_in_control_flow_is_named_with_its_line(mutate: Any, line: str, place: str) -> None:
    report = checked(loops_call(), {place: NAMES[mutate]})
    assert [row.name for row in report.broken] == [NAMES[mutate]]
    culprit = report.broken[0].culprit
    assert culprit is not None
    assert line in (culprit.source_line or "")


def test_a_mistake_in_the_llvm_dialect_is_named_with_the_store_that_shows_it() -> None:
    name = broken(mistakes.swap_llvm_subtraction)
    report = checked(mixed_call(), {"convert-triton-gpu-to-llvm": name})
    assert [row.name for row in report.broken] == [name]
    assert "tl.store(out_ptr" in str(report.broken[0].culprit)


def test_a_mistake_in_the_text_of_ptx_is_named() -> None:
    report = checked(mixed_call(), {"emit-ptx": "broken-ptx"})
    assert [row.name for row in report.broken] == ["broken-ptx"]
    assert "tl.store" in str(report.broken[0].culprit)


def test_a_pass_that_drops_a_barrier_is_named_by_the_race() -> None:
    name = broken(mistakes.drop_barriers)
    report = checked(mixed_call(), {"convert-triton-gpu-to-llvm": name})
    assert [row.name for row in report.broken] == [name]
    assert "shared-race" in report.broken[0].new_findings[0]


def test_a_pass_that_leaves_invalid_ir_is_named_and_ends_the_check() -> None:
    name = broken(mistakes.wrong_type)
    report = checked(mixed_call(), {"cse": name})
    assert report.rows[-1].name == name
    assert not report.ok
    assert "op requires one type: expected" in (report.rows[-1].invalid or "")


def test_a_pass_that_raises_is_named() -> None:
    name = broken(mistakes.raises)
    report = checked(mixed_call(), {"cse": name})
    assert [row.name for row in report.broken] == [name]
    assert "a pass's own mistake" in (report.broken[0].error or "")


def test_the_reproducer_is_smaller_and_holds_the_pass(tmp_path: Path) -> None:
    report = checked(mixed_call(), {"cse": NAMES[mistakes.swap_subi]}, tmp_path)
    row = report.broken[0]
    assert row.reproducer is not None
    pipeline, text = read_reproducer(row.reproducer)
    assert str(pipeline) == NAMES[mistakes.swap_subi]
    assert text.count("tt.store") == 1
    assert "arith.subi" in text
    assert "tt.reduce" not in text


def test_ir_that_nothing_can_run_is_reported_and_blamed_on_no_pass() -> None:
    from minitriton.interpreter import launch as meanings

    with meanings.PURE_OPS.replaced(arith.SIToFPOp, None):
        report = checked(mixed_call(), {})
    assert report.ok
    assert report.rows[0].against_before is Verdict.NOT_RUN
    assert "not executable: " in report.text()
    assert "does not support arith.sitofp" in report.text()


def test_smaller_reproducers_that_never_end_are_given_up_soon(tmp_path: Path) -> None:
    start = time.process_time()
    with time_limit(40):
        report = checked(counted_down_call(), {"cse": NAMES[mistakes.swap_subi]}, tmp_path)
    (row,) = report.broken
    assert row.reproducer is not None
    assert time.process_time() - start < 30
